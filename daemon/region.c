// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of regions. Only moves memory between states; when is decided by
 * its callers, and nothing of a network is in here.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mem.h"
#include "region-pool.h"
#include "stats.h"

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

/* An id is the number of the loan above the region's place. */
#define REGION_INDEX_BITS	24

struct region_pool pool;

#define BIT(n)	(1U << (n))

/* The legal moves. */
static const unsigned int region_moves[REGION_STATES] = {
	[REGION_EMPTY] = BIT(REGION_DIRTY),
	[REGION_DIRTY] = BIT(REGION_FREE) | BIT(REGION_EMPTY),
	[REGION_FREE] = BIT(REGION_STAGED) | BIT(REGION_EMPTY) | BIT(REGION_DIRTY),
	[REGION_STAGED] = BIT(REGION_DIRTY) | BIT(REGION_MAPPED) | BIT(REGION_BROKEN),
	[REGION_MAPPED] = BIT(REGION_EVICT_WAIT) | BIT(REGION_DIRTY) | BIT(REGION_BROKEN),
	[REGION_EVICT_WAIT] = BIT(REGION_EVICTING) | BIT(REGION_DIRTY) | BIT(REGION_BROKEN),
	[REGION_EVICTING] = BIT(REGION_DIRTY) | BIT(REGION_BROKEN) | BIT(REGION_EVICT_WAIT),
};

static struct list *region_home(struct region *region)
{
	switch (region->state) {
	case REGION_EMPTY:
		return &pool.empty;
	case REGION_DIRTY:
		return &pool.dirty;
	case REGION_FREE:
		return &pool.free;
	case REGION_BROKEN:
		return &pool.broken;
	default:
		return &region->owner->regions[region->state];
	}
}

static bool region_is_owned(enum region_state state)
{
	return state >= REGION_STAGED && state <= REGION_EVICTING;
}

void region_set_state(struct region *region, enum region_state state)
{
	assert(region_moves[region->state] & BIT(state));
	pool.nr[region->state]--;
	pool.nr_huge[region->state] -= region->huge;
	if (region_is_owned(region->state))
		region->owner->nr[region->state]--;
	list_del(&region->link);

	region->state = state;
	pool.nr[state]++;
	pool.nr_huge[state] += region->huge;
	if (region_is_owned(state))
		region->owner->nr[state]++;
	else
		region->owner = NULL;
	list_add_tail(&region->link, region_home(region));
}

/*
 * A free region for @owner. Devices may give a key that was killed to who comes next, perhaps to
 * the same client, who may not have heard yet that it was: so no address is given twice.
 */
static int region_stage(struct region *region, struct region_owner *owner)
{
	int err;

	region->iova = ++pool.registrations * pool.slab;
	err = mr_register(owner->pd, region->addr, pool.slab, region->iova, &region->mr,
			  &region->rkey);
	if (err == -EFAULT && !region->doubted) {
		/* The machine may have lost some of it: who zeroes it finds out. */
		region->doubted = true;
		stats_inc(STAT_REGISTER_FAILED);
		region->zeroed = 0;
		region_set_state(region, REGION_DIRTY);
		return err;
	}
	if (err) {
		stats_inc(STAT_REGISTER_FAILED);
		if (!owner->stage_failed)
			log_err("cannot register a region: %s", strerror(-err));
		owner->stage_failed = true;
		return err;
	}
	region->doubted = false;
	region->owner = owner;
	region_set_state(region, REGION_STAGED);
	return 0;
}

/* False: the key lives on, the region is lost. */
static bool region_kill(struct region *region)
{
	int err = region->mr ? mr_unregister(region->mr) : 0;

	region->mr = NULL;
	if (!err)
		return true;
	log_err("cannot kill the key of a region, so it is never lent again: %s", strerror(-err));
	stats_inc(STAT_BROKEN);
	region_set_state(region, REGION_BROKEN);
	return false;
}

/* One of those staged for @owner; on ordinary memory, if that is what is wanted. */
static struct region *region_staged(const struct region_owner *owner, bool ordinary)
{
	struct list *pos;

	list_for_each(pos, &owner->regions[REGION_STAGED]) {
		struct region *region = container_of(pos, struct region, link);

		if (!ordinary || !region->huge)
			return region;
	}
	return NULL;
}

/* The other was not told its key, but could have guessed it. */
void region_take_back(bool ordinary)
{
	struct region *region;
	struct list *pos;

	do {
		region = NULL;
		list_for_each(pos, &pool.owners) {
			struct region_owner *owner = container_of(pos, struct region_owner, link);
			struct region *staged = region_staged(owner, ordinary);

			if (staged && (!region || owner->nr[REGION_STAGED] >
						  region->owner->nr[REGION_STAGED]))
				region = staged;
		}
		if (!region)
			return;
	} while (!region_kill(region));
	stats_inc(STAT_TAKEN_BACK);
	region->zeroed = 0;
	region_set_state(region, REGION_DIRTY);
}

unsigned int region_filled(void)
{
	return pool.total - pool.nr[REGION_EMPTY];
}

unsigned int region_ordinary(void)
{
	return region_filled() - region_huge();
}

bool region_is_over(void)
{
	return region_filled() > pool.limit || region_ordinary() > pool.ordinary_limit;
}

static unsigned int region_lent_of(const unsigned int nr[REGION_STATES])
{
	return nr[REGION_MAPPED] + nr[REGION_EVICT_WAIT] + nr[REGION_EVICTING] +
	       nr[REGION_BROKEN];
}

static unsigned int region_lent(void)
{
	return region_lent_of(pool.nr);
}

int region_lend(struct region_owner *owner, struct region **out)
{
	struct region *region = list_first(&owner->regions[REGION_STAGED], struct region, link);
	int err;

	if (region_is_over())
		return -ENOSPC;
	while (!region) {
		region = list_first(&pool.free, struct region, link);
		if (!region && list_empty(&pool.dirty) && region_filled() == pool.limit)
			region_take_back(false);
		if (!region)
			return list_empty(&pool.dirty) && region_filled() == pool.limit ?
			       -ENOSPC : -EAGAIN;
		err = region_stage(region, owner);
		if (err && region->state == REGION_FREE)
			return -ENOSPC;
		if (err)
			region = NULL;
		else
			stats_inc(STAT_MAPS_UNSTAGED);
	}
	region->id = ++pool.loans << REGION_INDEX_BITS | (region - pool.regions);
	region->evict_at_ms = 0;
	region->evict_seq = 0;
	region->evict_job = 0;
	region->claimed = true;
	region_set_state(region, REGION_MAPPED);
	*out = region;
	return 0;
}

bool region_return(struct region *region)
{
	if (!region_kill(region))
		return false;
	region->id = 0;
	region->zeroed = 0;
	region_set_state(region, REGION_DIRTY);
	return true;
}

bool region_unregister(struct region *region)
{
	return region_kill(region);
}

int region_register(struct region *region)
{
	int err;

	if (region->mr)
		return 0;
	err = mr_register(region->owner->pd, region->addr, pool.slab, region->iova, &region->mr,
			  &region->rkey);
	if (err) {
		stats_inc(STAT_REGISTER_FAILED);
		log_err("cannot register a region: %s", strerror(-err));
	}
	return err;
}

struct region *region_find(const struct region_owner *owner, uint64_t id)
{
	uint64_t index = id & ((1ULL << REGION_INDEX_BITS) - 1);
	struct region *region;

	if (index >= pool.total)
		return NULL;
	region = &pool.regions[index];
	if (region->owner != owner || region->id != id || region->state == REGION_STAGED)
		return NULL;
	return region;
}

bool region_was_lent(uint64_t id)
{
	uint64_t loan = id >> REGION_INDEX_BITS;

	return loan && loan <= pool.loans && (id & ((1ULL << REGION_INDEX_BITS) - 1)) < pool.total;
}

static bool region_stage_step(void)
{
	struct region *region = list_first(&pool.free, struct region, link);
	struct region_owner *least = NULL;
	struct list *pos;

	if (!region)
		return false;
	list_for_each(pos, &pool.owners) {
		struct region_owner *owner = container_of(pos, struct region_owner, link);

		if (owner->nr[REGION_STAGED] < pool.ahead &&
		    !owner->stage_failed && !owner->leaving &&
		    (!least || owner->nr[REGION_STAGED] < least->nr[REGION_STAGED]))
			least = owner;
	}
	if (!least)
		return false;
	region_stage(region, least);
	return true;
}

bool region_step(void)
{
	return fill_shrink_step() || region_stage_step() || fill_zero_step() || fill_grow_step();
}

void region_set_limit(unsigned int limit)
{
	pool.limit = limit < pool.total ? limit : pool.total;
}

void region_set_ordinary_limit(unsigned int limit)
{
	pool.ordinary_limit = limit;
}

bool region_refused(void)
{
	bool refused = pool.refused;

	pool.refused = false;
	return refused;
}

unsigned int region_excess(void)
{
	return region_lent() > pool.limit ? region_lent() - pool.limit : 0;
}

unsigned int region_excess_ordinary(void)
{
	unsigned int lent = region_lent() - region_lent_of(pool.nr_huge);

	return lent > pool.ordinary_limit ? lent - pool.ordinary_limit : 0;
}

unsigned int region_leaving(bool ordinary)
{
	unsigned int leaving = pool.nr[REGION_EVICT_WAIT] + pool.nr[REGION_EVICTING];

	if (ordinary)
		leaving -= pool.nr_huge[REGION_EVICT_WAIT] + pool.nr_huge[REGION_EVICTING];
	return leaving;
}

void region_retry(void)
{
	struct list *pos;

	list_for_each(pos, &pool.owners)
		container_of(pos, struct region_owner, link)->stage_failed = false;
}

void region_owner_add(struct region_owner *owner, void *pd)
{
	int i;

	memset(owner, 0, sizeof(*owner));
	owner->pd = pd;
	for (i = 0; i < REGION_STATES; i++)
		list_init(&owner->regions[i]);
	list_add_tail(&owner->link, &pool.owners);
}

void region_owner_leave(struct region_owner *owner)
{
	owner->leaving = true;
}

void region_owner_move(struct region_owner *from, struct region_owner *to)
{
	struct region *region;
	int i;

	for (i = REGION_STAGED; i <= REGION_EVICTING; i++) {
		assert(!to->nr[i]);
		while ((region = list_first(&from->regions[i], struct region, link))) {
			list_del(&region->link);
			region->owner = to;
			region->claimed = false;
			list_add_tail(&region->link, &to->regions[i]);
		}
		to->nr[i] = from->nr[i];
		from->nr[i] = 0;
	}
	if (from->pd)
		to->pd = from->pd;
}

void region_owner_del(struct region_owner *owner)
{
	int i;

	for (i = REGION_STAGED; i <= REGION_EVICTING; i++)
		assert(!owner->nr[i]);
	list_del(&owner->link);
}

uint64_t region_free_bytes(void)
{
	return region_lent() < pool.limit ? (pool.limit - region_lent()) * pool.slab : 0;
}

uint64_t region_present_bytes(void)
{
	return pool.present;
}

uint64_t region_huge_bytes(void)
{
	return pool.present_huge;
}

unsigned int region_huge(void)
{
	unsigned int huge = 0;
	int i;

	for (i = REGION_EMPTY + 1; i < REGION_STATES; i++)
		huge += pool.nr_huge[i];
	return huge;
}

uint64_t region_bytes(void)
{
	return pool.slab;
}

unsigned int region_count(enum region_state state)
{
	return pool.nr[state];
}

unsigned int region_total(void)
{
	return pool.total;
}

uint64_t region_loans(void)
{
	return pool.loans;
}

struct region *region_at(unsigned int index)
{
	return &pool.regions[index];
}

const char *region_state_name(enum region_state state)
{
	static const char *const names[] = {
		[REGION_EMPTY] = "empty",
		[REGION_DIRTY] = "dirty",
		[REGION_FREE] = "free",
		[REGION_STAGED] = "staged",
		[REGION_MAPPED] = "mapped",
		[REGION_EVICT_WAIT] = "evict_wait",
		[REGION_EVICTING] = "evicting",
		[REGION_BROKEN] = "broken",
	};

	static_assert(ARRAY_SIZE(names) == REGION_STATES, "a name for every state");
	return names[state];
}

int region_init(uint64_t memory, uint64_t slab, unsigned int ahead, bool hugepages)
{
	uint64_t total = memory / slab;

	memset(&pool, 0, sizeof(pool));
	list_init(&pool.owners);
	list_init(&pool.empty);
	list_init(&pool.dirty);
	list_init(&pool.free);
	list_init(&pool.broken);
	pool.slab = slab;
	pool.ahead = ahead;
	pool.hugepages = hugepages;
	pool.ordinary_limit = UINT_MAX;
	if (total > 1U << REGION_INDEX_BITS)
		return -E2BIG;
	pool.regions = calloc(total, sizeof(*pool.regions));
	if (!pool.regions)
		return -ENOMEM;
	for (pool.total = 0; pool.total < total; pool.total++)
		list_add_tail(&pool.regions[pool.total].link, &pool.empty);
	pool.nr[REGION_EMPTY] = total;
	return 0;
}

int region_reserve(void)
{
	return mem_reserve(pool.total * pool.slab, pool.hugepages);
}

void region_exit(void)
{
	mem_release();
	free(pool.regions);
	pool.regions = NULL;
	pool.total = 0;
}
