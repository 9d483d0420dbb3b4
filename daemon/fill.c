// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of regions: allocates and zeroes it, and returns it to the kernel, zeroed.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "mem.h"
#include "meminfo.h"
#include "region-pool.h"
#include "stats.h"

/* Bytes zeroed in one turn of the loop, about a millisecond. */
#define FILL_ZERO_STEP	(4UL << 20)

static void fill_set_present(struct region *region, size_t bytes)
{
	pool.present += bytes - region->present;
	if (region->huge)
		pool.present_huge += bytes - region->present;
	region->present = bytes;
}

static void fill_empty(struct region *region)
{
	mem_unmap(region->addr, pool.slab);
	region->addr = NULL;
	region->unchecked = false;
	fill_set_present(region, 0);
	region_set_state(region, REGION_EMPTY);
}

/* The kernel refused more memory. The regions that have memory stay in use. */
static void fill_refuse(int err)
{
	pool.limit = region_filled();
	pool.refused = true;
	if (pool.logged_refused)
		return;
	pool.logged_refused = true;
	log_warn("cannot allocate %" PRIu64 "M more memory to lend, %" PRIu64 "M are held: %s; check the limits of the cgroup",
		 pool.slab >> 20, pool.present >> 20, strerror(-err));
}

static uint64_t fill_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void fill_zero(struct region *region)
{
	size_t bytes;
	int err = 0;

	bytes = pool.slab - region->zeroed;
	if (bytes > FILL_ZERO_STEP)
		bytes = FILL_ZERO_STEP;
	if (region->zeroed < region->present) {
		if (mem_zero(region->addr + region->zeroed, bytes)) {
			log_err("uncorrectable error in lent memory: its region is returned to the kernel");
			fill_empty(region);
			return;
		}
	} else {
		err = mem_populate(region->addr + region->zeroed, bytes);
	}
	if (err) {
		fill_empty(region);
		fill_refuse(err);
		return;
	}
	region->zeroed += bytes;
	if (region->zeroed > region->present)
		fill_set_present(region, region->zeroed);
	if (region->zeroed == pool.slab) {
		pool.logged_refused = false;
		stats_inc(STAT_ZEROED);
		region_set_state(region, REGION_FREE);
	}
}

bool fill_zero_step(void)
{
	struct region *region = list_first(&pool.dirty, struct region, link);

	if (region)
		fill_zero(region);
	return region;
}

/* Are there still contents of a client? */
static bool fill_is_used(const struct region *region)
{
	return region->state == REGION_DIRTY && region->zeroed < region->present;
}

static struct region *fill_used(void)
{
	struct list *pos;

	list_for_each(pos, &pool.dirty) {
		struct region *region = container_of(pos, struct region, link);

		if (fill_is_used(region))
			return region;
	}
	return NULL;
}

void fill_wipe(uint64_t ms)
{
	uint64_t end = fill_now_ms() + ms;
	struct region *region;

	while ((region = fill_used()) && fill_now_ms() < end)
		fill_zero(region);
	if (region)
		log_warn("not all lent memory could be zeroed within %" PRIu64 " ms", ms);
}

/* Return the region to give up first: ordinary pages are more useful to other programs. */
static struct region *fill_prefer(struct list *list, struct region *other)
{
	struct list *pos;

	list_for_each(pos, list) {
		struct region *region = container_of(pos, struct region, link);

		if (!other || (other->huge && !region->huge))
			other = region;
	}
	return other;
}

bool fill_shrink_step(void)
{
	bool ordinary = region_ordinary() > pool.ordinary_limit;
	struct region *region;

	if (!region_is_over())
		return false;
	region = fill_prefer(&pool.free, fill_prefer(&pool.dirty, NULL));
	if (!region || (ordinary && region->huge)) {
		region_take_back(ordinary);
		region = fill_prefer(&pool.free, fill_prefer(&pool.dirty, NULL));
	}
	if (!region || (region->huge && region_filled() <= pool.limit))
		return false;
	/* The kernel may keep the pages as they are for long, and a dump of it would have them. */
	if (fill_is_used(region))
		fill_zero(region);
	else
		fill_empty(region);
	return true;
}

/* Would the machine keep its headroom with one more region on ordinary memory? */
static bool fill_leaves_enough(void)
{
	return !pool.keep || meminfo_now().available >= pool.keep + pool.slab;
}

bool fill_grow_step(void)
{
	struct region *region = list_first(&pool.empty, struct region, link);
	bool huge = pool.hugepages;

	if (!region || region_filled() >= pool.limit)
		return false;
	region->addr = mem_map((region - pool.regions) * pool.slab, pool.slab, &huge);
	if (!region->addr) {
		fill_refuse(-errno);
		return false;
	}
	/*
	 * Other processes may have taken the huge pages since they were counted, or ordinary memory
	 * since the limit was set.
	 */
	if (!huge && (region_ordinary() >= pool.ordinary_limit || !fill_leaves_enough())) {
		mem_unmap(region->addr, pool.slab);
		region->addr = NULL;
		pool.limit = region_filled();
		return false;
	}
	if (pool.hugepages && !huge && !pool.logged_ordinary) {
		pool.logged_ordinary = true;
		log_info("too few reserved huge pages: some regions use ordinary pages");
	}
	region->zeroed = 0;
	pool.nr_huge[REGION_EMPTY] += huge - region->huge;
	region->huge = huge;
	region_set_state(region, REGION_DIRTY);
	return true;
}
