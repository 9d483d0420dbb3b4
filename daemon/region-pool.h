/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool, shared by region.c, which lends regions, and fill.c, which provides their memory.
 */
#ifndef REGION_POOL_H
#define REGION_POOL_H

#include "permute.h"
#include "region.h"

struct region_pool {
	struct region *regions;
	unsigned int total;
	unsigned int limit;		/* number of regions that may have memory */
	unsigned int ordinary_limit;	/* of those not on reserved huge pages */
	uint64_t keep;			/* bytes to leave available when a region gets memory */
	bool refused;			/* the kernel has refused memory since region_refused() */
	bool logged_refused;
	uint64_t present;		/* bytes allocated by the kernel */
	uint64_t present_huge;
	bool hugepages;
	bool logged_ordinary;
	uint64_t slab;			/* bytes per region */
	unsigned int ahead;		/* regions staged for each client */
	uint64_t loans;
	uint64_t registrations;
	struct permute ids;		/* of loans */
	struct permute addresses;	/* of registrations, in regions */
	struct list owners;
	struct list empty;
	struct list dirty;
	struct list free;
	struct list broken;
	unsigned int nr[REGION_STATES];
	unsigned int nr_huge[REGION_STATES];
};

extern struct region_pool pool;

/* region.c */
/* Number of regions that have memory, or are about to lose it. */
unsigned int region_filled(void);
/* Number of those on ordinary memory. */
unsigned int region_ordinary(void);
/* Take a staged region back from the owner that has most; if @ordinary, on ordinary memory. */
void region_take_back(bool ordinary);

/* fill.c: each does a bounded piece of work, and returns false if there is none. */
/* Return the memory of one region to the kernel. */
bool fill_shrink_step(void);
/* Zero a part of one region, which allocates the memory if it has none. */
bool fill_zero_step(void);
/* Assign an address to one region; zeroing it allocates the memory. */
bool fill_grow_step(void);
/* Zero all that clients have written and that nobody has, for at most @ms. */
void fill_wipe(uint64_t ms);

#endif
