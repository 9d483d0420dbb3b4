/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the machine as reported by the kernel, in bytes; 0 if unknown.
 */
#ifndef MEMINFO_H
#define MEMINFO_H

#include <stdint.h>

/**
 * struct meminfo - values of /proc/meminfo
 * @total:	all memory except reserved huge pages
 * @available:	part of that which programs could allocate
 * @huge_page:	size of a reserved huge page
 * @huge_free:	reserved huge pages that are neither used nor promised
 */
struct meminfo {
	uint64_t total;
	uint64_t available;
	uint64_t huge_page;
	uint64_t huge_free;
};

struct meminfo meminfo_now(void);

/* Read a number from a file of lines "Name: number"; @after is the sign after the name. */
uint64_t meminfo_read(const char *path, const char *name, char after, int base);

/* Read the number at the start of a file; 0 if there is none. */
uint64_t meminfo_number(const char *path, int base);

#endif
