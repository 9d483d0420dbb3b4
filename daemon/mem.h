/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a region's bytes come from, and their registration with a device.
 */
#ifndef MEM_H
#define MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mem.c: of a page that the machine has lost only who uses it is to be told. */
void mem_init(void);
/*
 * Address space for @bytes of regions, twice where @huge: on reserved huge pages too. All of
 * them are in a mapping or two of the kernel, of which a process can have but so many.
 */
int mem_reserve(size_t bytes, bool huge);
void mem_release(void);
/* Does the kernel's way to count memory need a mapping for each region? */
bool mem_is_scattered(void);
/*
 * @bytes of that, @offset from its start; the kernel gives the memory, zero, when it is touched.
 * *@huge says, and is told, if on reserved huge pages, which are given at once.
 */
void *mem_map(size_t offset, size_t bytes, bool *huge);
/* Has the kernel give the memory now, never before touched: 0, or why it doesn't. */
int mem_populate(void *addr, size_t bytes);
/* Zeroes memory that was touched before: 0, or -EFAULT if the machine has lost some of it. */
int mem_zero(void *addr, size_t bytes);
/* Gives the memory back. */
void mem_unmap(void *addr, size_t bytes);

/* mr.c: makes the memory reachable by whoever is connected in @pd, from @iova on. */
int mr_register(void *pd, void *addr, size_t bytes, uint64_t iova, void **mr, uint32_t *rkey);
/* When this returned 0 the key is dead. */
int mr_unregister(void *mr);

#endif
