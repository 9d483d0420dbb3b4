/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel says of the machine's memory. Bytes; 0 if it doesn't say.
 */
#ifndef MEMINFO_H
#define MEMINFO_H

#include <stdint.h>

/**
 * struct meminfo - what /proc/meminfo says
 * @total:	without what is reserved for huge pages
 * @available:	what new users can have of that
 * @huge_page:	the size of one such page
 * @huge_free:	in those that nobody has, or has asked for
 */
struct meminfo {
	uint64_t total;
	uint64_t available;
	uint64_t huge_page;
	uint64_t huge_free;
};

struct meminfo meminfo_now(void);

/* A number from a file of lines "Name: number", or with another sign @after it; 0 if it isn't there. */
uint64_t meminfo_read(const char *path, const char *name, char after, int base);

/* The number that a file begins with; 0 if there is none. */
uint64_t meminfo_number(const char *path, int base);

#endif
