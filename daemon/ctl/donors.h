/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The list of donors in sysfs.
 */
#ifndef DONORS_H
#define DONORS_H

#include <stdbool.h>

#define DONORS_MAX	64
#define DONORS_LINE	16384

struct donors {
	char line[DONORS_LINE];
	char *address[DONORS_MAX + 1];
	unsigned int nr;
};

void donors_read(struct donors *donors);
void donors_write(const struct donors *donors);
/* Add ADDRESS[#KEY], or give the donor that key. Exits if there are too many. */
void donors_add(struct donors *donors, const char *spec);
/* Return whether files in /etc/farswap/donors.d name donors. */
bool donors_has_files(void);

/* Return the length of an address, which "#" and the donor's public key may follow. */
int donors_length(const char *spec);
/*
 * Split "host:port" and "[host]:port". An address of IPv6 without brackets has no port.
 * Return the port, or NULL.
 */
char *donors_split(char *spec, char **host);
/* Return whether @host is a name, which the kernel does not resolve. */
bool donors_is_name(const char *host);

/* Make the list what the files in /etc/farswap/donors.d say. Return the exit status. */
int donors_sync(void);
/*
 * Resolve what the files in /etc/farswap/donors.d name, and change nothing. Call @fail for each name
 * that can't be resolved, and with NULL for a file that is wrong.
 */
void donors_check(void (*fail)(const char *source, const char *error));

#endif
