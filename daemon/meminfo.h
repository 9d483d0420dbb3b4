/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel says of the machine's memory. Bytes; 0 if it doesn't say.
 */
#ifndef MEMINFO_H
#define MEMINFO_H

#include <stdint.h>

/* Without what is reserved for huge pages. */
uint64_t meminfo_total(void);
/* What new users can have, of that. */
uint64_t meminfo_available(void);
/* Reserved huge pages that nobody has. */
uint64_t meminfo_huge_free(void);

/* A number from a file of "Name: number" lines; 0 if it isn't there. */
uint64_t meminfo_read(const char *path, const char *name, int base);

/* The number that a file begins with; 0 if there is none. */
uint64_t meminfo_number(const char *path);

#endif
