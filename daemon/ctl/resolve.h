/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of donors: addresses, and lists in the DNS and in Avahi.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdbool.h>

/* An address without brackets and port, with the interface of a link-local one. */
#define RESOLVE_HOST	96
/* "[HOST]:PORT" */
#define RESOLVE_ADDRESS	(RESOLVE_HOST + 9)
#define RESOLVE_ERROR	256
#define RESOLVE_KEY	64
/* The port of farswapd, which an address needs not name. */
#define RESOLVE_PORT	9400

struct target {
	char address[RESOLVE_ADDRESS];
	/* A lower tier is used first. In a tier a target is chosen as often as its weight says. */
	unsigned int tier;
	unsigned int weight;
	char key[RESOLVE_KEY];		/* "#" and the public key, or "" */
};

struct targets {
	struct target *of;
	unsigned int nr;
};

/* Add an address, unless it is there already. Exits if there are too many. */
void targets_add(struct targets *targets, const struct target *target);
const struct target *targets_find(const struct targets *targets, const char *address);
void targets_free(struct targets *targets);

/* Write an address in the one spelling in which addresses are compared. */
void resolve_spell(char address[RESOLVE_ADDRESS], const char *host, unsigned int port);

/*
 * Each adds what it finds. Return false with a reason in @error if the answer is empty or there is
 * none: then the last answer is to be used.
 */

/* The IPv4 addresses of a host, or the IPv6 addresses of one without. */
bool resolve_host(const char *host, unsigned int port, struct targets *targets,
		  char error[RESOLVE_ERROR]);
/* The targets of the SRV records of a name such as _farswap._tcp.example.org. */
bool resolve_srv(const char *name, struct targets *targets, char error[RESOLVE_ERROR]);
/* The services of a type such as _farswap._tcp that Avahi knows. */
bool resolve_avahi(const char *type, struct targets *targets, char error[RESOLVE_ERROR]);

#endif
