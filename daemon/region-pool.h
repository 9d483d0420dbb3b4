/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool, for region.c, which lends what is in it, and fill.c, which brings memory into it.
 */
#ifndef REGION_POOL_H
#define REGION_POOL_H

#include "region.h"

struct region_pool {
	struct region *regions;
	unsigned int total;
	unsigned int limit;		/* regions that may have memory */
	unsigned int ordinary_limit;	/* those not on reserved huge pages */
	uint64_t keep;			/* bytes that must stay available when a region gets memory */
	bool refused;			/* the kernel has, since this was asked for */
	bool told_refused;
	uint64_t present;		/* bytes that the kernel has given */
	uint64_t present_huge;
	bool hugepages;
	bool told_ordinary;
	uint64_t slab;			/* bytes of a region */
	unsigned int ahead;		/* staged for each client */
	uint64_t loans;
	uint64_t registrations;
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
/* Regions that have memory, or are about to lose it. */
unsigned int region_filled(void);
/* Those of them that are on ordinary memory. */
unsigned int region_ordinary(void);
bool region_is_over(void);
/* Something staged for another, from who has most of it; on ordinary memory, if told. */
void region_take_back(bool ordinary);

/* fill.c: each is a bounded piece of work, if there is any: true */
/* One region gives its memory back to the kernel. */
bool fill_shrink_step(void);
/* A part of one gets memory, and is zero. */
bool fill_zero_step(void);
/* One region gets an address. Zeroing it brings the memory. */
bool fill_grow_step(void);

#endif
