/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pool of regions without a device: registrations are simulated and deregistrations
 * counted. Used with region.c and mem.c.
 */
#ifndef POOL_H
#define POOL_H

#include <errno.h>
#include <limits.h>

#include "at-once.h"
#include "mem.h"
#include "meminfo.h"
#include "permute.c"
#include "region.h"

#define POOL_SLAB	(2UL << 20)

static unsigned int keys_killed;
static unsigned int keys_made;
static bool refuse_keys;
static unsigned int unbroken = UINT_MAX;	/* deregistrations that will succeed */

int mr_register(void *pd, void *addr, size_t bytes, uint64_t iova, void **mr, uint32_t *rkey)
{
	(void)pd;
	(void)bytes;
	(void)iova;
	if (refuse_keys)
		return -ENOMEM;
	*mr = addr;
	*rkey = ++keys_made;
	return 0;
}

int mr_unregister(void *mr)
{
	(void)mr;
	if (!unbroken)
		return -EBUSY;
	unbroken -= unbroken != UINT_MAX;
	keys_killed++;
	return 0;
}

struct meminfo meminfo_now(void)
{
	return (struct meminfo){ .available = UINT64_MAX };
}

/* Create a pool in which all regions are free and none is staged. */
static void pool_init(unsigned int regions)
{
	region_init(regions * POOL_SLAB, POOL_SLAB, 0, false);
	region_reserve();
	region_set_limit(regions);
	while (region_step())
		;
	keys_killed = 0;
}

#endif
