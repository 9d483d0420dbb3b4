/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of regions, and its registration with a device.
 */
#ifndef MEM_H
#define MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mem.c: deliver uncorrectable memory errors only to a process that accesses the page. */
void mem_init(void);
/*
 * Reserve address space for @bytes of regions; if @huge, on reserved huge pages as well. All
 * regions share one or two mappings, since the kernel limits the mappings of a process.
 */
int mem_reserve(size_t bytes, bool huge);
void mem_release(void);
/* Does the kernel's overcommit policy require a mapping for each region? */
bool mem_is_scattered(void);
/*
 * Return @bytes of the reserved space at @offset. The kernel allocates the memory, zeroed, on the
 * first access. *@huge requests reserved huge pages, which are allocated at once, and returns
 * whether they were available.
 */
void *mem_map(size_t offset, size_t bytes, bool *huge);
/* Allocate memory that was never accessed. Return 0 or -errno. */
int mem_populate(void *addr, size_t bytes);
/* Zero memory that was accessed before. Return -EFAULT after an uncorrectable error in it. */
int mem_zero(void *addr, size_t bytes);
/* Return the memory to the kernel. */
void mem_unmap(void *addr, size_t bytes);

/* mr.c: allow remote access to the memory through queue pairs of @pd, at address @iova. */
int mr_register(void *pd, void *addr, size_t bytes, uint64_t iova, void **mr, uint32_t *rkey);
/* Revoke the rkey. Return 0 when it is revoked. */
int mr_unregister(void *mr);

#endif
