/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients, by the names of their keys or by address: what each may use of the donor, and what it
 * uses.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "address.h"
#include "auth.h"
#include "region.h"

/* Limits of the client with this name or, without a name, of those in a range of addresses. */
struct client_rule {
	char name[AUTH_NAME_MAX];
	struct address_range range;
	unsigned int weight;
	uint64_t min;			/* bytes */
	uint64_t max;			/* bytes */
};

struct client_config {
	struct client_rule usual;	/* of clients without a rule; its range is not used */
	struct client_rule *rules;	/* the first that matches is used */
	unsigned int nr_rules;
	bool listed_only;		/* refuse clients without a rule */
	unsigned int sessions;		/* most sessions of a client */
	unsigned int clients;		/* most sessions in all */
};

/* A client; exists while it has sessions. */
struct client {
	struct list link;
	struct list line;		/* in the list of clients with waiting MAPs */
	struct list maps;		/* its waiting MAPs, oldest first */
	unsigned int served;		/* MAPs served since it came to the head of the list */
	char name[AUTH_NAME_MAX];	/* empty: it has no key, and is known by its address */
	struct sockaddr_storage address;
	struct region_account account;
	unsigned int weight;
	unsigned int min;		/* regions */
	unsigned int max;
	unsigned int share;		/* used by evict.c while it begins an eviction */
	unsigned int sessions;
	unsigned int half_open;		/* sessions without HELLO */
};

extern struct list client_list;

/* @config must stay valid. Return 0 or -errno. */
int client_init(const struct client_config *config);
/* Apply a changed @config of client_init() to the clients that are there. */
void client_apply(void);
/* Is the address one that may connect? */
bool client_is_allowed(const struct sockaddr *address);
/*
 * Return the client with this name or, if it is empty, with this address, for another session; or
 * NULL without memory. Each call needs a client_put().
 */
struct client *client_get(const char *name, const struct sockaddr *address);
void client_put(struct client *client);
/* Return the client of client_get(), or NULL if it has no session. */
struct client *client_find(const char *name, const struct sockaddr *address);
/* Write the name or else the address. */
void client_name(const struct client *client, char name[ADDRESS_NAME_MAX]);
/* Count a connect request. Return false if this address has made too many. */
bool client_count_connect(const struct sockaddr *address);
/*
 * Return false if the client has too many sessions; the limit is doubled for one that @resumes,
 * because its old sessions still count.
 */
bool client_may_connect(const char *name, const struct sockaddr *address, bool resumes);
void client_half_open(struct client *client, int change);
/* Number of sessions without HELLO in all, and their limit. */
unsigned int client_nr_half_open(void);
unsigned int client_half_open_max(void);
/* Its reserve, in regions, or less while the pool is too small for it. */
unsigned int client_reserve(const struct client *client);
/* Number of regions that the client can still get. */
unsigned int client_left(const struct client *client);
/* Its share of the pool, in regions, among all connected clients. */
unsigned int client_fair(const struct client *client);

#endif
