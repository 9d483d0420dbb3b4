// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of regions: moves memory between states. Callers decide when. Does not depend on the
 * network.
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

/*
 * An id is the number of the loan, shifted, plus the index of the region, permuted: a client learns
 * neither how many loans there were nor where in the pool its regions are.
 */
#define REGION_INDEX_BITS	24
/* Together with evict_ms this is less than TimeoutStopSec of the unit. */
#define REGION_WIPE_MS		10000
/* Addresses stay below 2^63. */
#define REGION_ADDRESS_BITS	63

struct region_pool pool;
static const struct region_events *events;

#define BIT(n)	(1U << (n))

/* For each state, the legal next states. */
static const unsigned int region_moves[REGION_STATES] = {
	[REGION_EMPTY] = BIT(REGION_DIRTY),
	[REGION_DIRTY] = BIT(REGION_FREE) | BIT(REGION_EMPTY),
	[REGION_FREE] = BIT(REGION_STAGING) | BIT(REGION_EMPTY),
	[REGION_STAGING] = BIT(REGION_STAGED) | BIT(REGION_FREE) | BIT(REGION_DIRTY),
	[REGION_STAGED] = BIT(REGION_MAPPED) | BIT(REGION_REVOKING),
	[REGION_MAPPED] = BIT(REGION_EVICT_WAIT) | BIT(REGION_RETURNED) | BIT(REGION_REVOKING) |
			  BIT(REGION_BROKEN),
	[REGION_EVICT_WAIT] = BIT(REGION_EVICTING) | BIT(REGION_RETURNED) | BIT(REGION_REVOKING) |
			      BIT(REGION_BROKEN),
	[REGION_EVICTING] = BIT(REGION_EVICT_WAIT) | BIT(REGION_RETURNED) | BIT(REGION_REVOKING) |
			    BIT(REGION_BROKEN),
	[REGION_RETURNED] = BIT(REGION_REVOKING),
	[REGION_REVOKING] = BIT(REGION_DIRTY) | BIT(REGION_BROKEN),
};

static struct list *region_list(struct region *region)
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
	return state >= REGION_STAGING && state <= REGION_REVOKING;
}

static bool region_is_lent(enum region_state state)
{
	return state >= REGION_MAPPED && state <= REGION_EVICTING;
}

static void region_account(const struct region_owner *owner, enum region_state state, int change)
{
	if (region_is_lent(state) && owner->account)
		owner->account->lent += change;
}

void region_set_state(struct region *region, enum region_state state)
{
	assert(region_moves[region->state] & BIT(state));
	pool.nr[region->state]--;
	pool.nr_huge[region->state] -= region->huge;
	if (region_is_owned(region->state))
		region->owner->nr[region->state]--;
	region_account(region->owner, region->state, -1);
	list_del(&region->link);

	region->state = state;
	pool.nr[state]++;
	pool.nr_huge[state] += region->huge;
	region_account(region->owner, state, 1);
	if (region_is_owned(state))
		region->owner->nr[state]++;
	else
		region->owner = NULL;
	list_add_tail(&region->link, region_list(region));
}

static void region_changed(struct region_owner *owner)
{
	if (!events)
		return;
	if (events->idle && !region_owner_is_busy(owner))
		events->idle(owner);
	if (events->changed)
		events->changed();
}

static void region_run_register(struct worker_job *job)
{
	struct region *region = container_of(job, struct region, job);

	region->call.err = mr_register(region->call.pd, region->addr, pool.slab, region->iova,
				       &region->call.mr, &region->call.rkey);
}

static void region_registered(struct worker_job *job)
{
	struct region *region = container_of(job, struct region, job);
	struct region_owner *owner = region->owner;
	int err = region->call.err;

	if (!err) {
		region->unchecked = false;
		region->mr = region->call.mr;
		region->rkey = region->call.rkey;
		region_set_state(region, REGION_STAGED);
		if (owner->leaving)
			region_return(region);
	} else if (err == -EFAULT && !region->unchecked) {
		/* The page may have an uncorrectable error, which zeroing will find. */
		region->unchecked = true;
		stats_inc(STAT_REGISTER_FAILED);
		region->zeroed = 0;
		region_set_state(region, REGION_DIRTY);
	} else {
		stats_inc(STAT_REGISTER_FAILED);
		if (!owner->stage_failed)
			log_err("cannot register a region: %s", strerror(-err));
		owner->stage_failed = true;
		region_set_state(region, REGION_FREE);
	}
	region_changed(owner);
}

/*
 * Register a free region for @owner. A device may reuse a revoked rkey for the next registration,
 * perhaps of a client that does not know yet that it was revoked. So no address is used twice.
 * Addresses are also random, because an rkey and a queue pair number can be guessed.
 */
static void region_stage(struct region *region, struct region_owner *owner)
{
	do {
		region->iova = permute_number(&pool.addresses, ++pool.registrations) * pool.slab;
	} while (!region->iova);
	region->evict_job = 0;
	region->revoked = false;
	region->owner = owner;
	region_set_state(region, REGION_STAGING);
	region->call.pd = owner->pd;
	region->job.run = region_run_register;
	region->job.done = region_registered;
	worker_queue(&region->job);
}

static void region_run_revoke(struct worker_job *job)
{
	struct region *region = container_of(job, struct region, job);

	/* Without an MR the device was removed, and the rkey with it. */
	region->call.err = region->call.mr ? mr_unregister(region->call.mr) : 0;
}

static void region_break(struct region *region, int err)
{
	log_err("cannot revoke the rkey of a region, which is never lent again: %s", strerror(-err));
	stats_inc(STAT_BROKEN);
	region_set_state(region, REGION_BROKEN);
}

static void region_revoked(struct worker_job *job)
{
	struct region *region = container_of(job, struct region, job);
	struct region_owner *owner = region->owner;

	if (region->call.err) {
		region_break(region, region->call.err);
	} else {
		region->zeroed = 0;
		region_set_state(region, REGION_DIRTY);
	}
	if (events && events->back)
		events->back(region, !region->call.err);
	region_changed(owner);
}

/* Return a region staged for @owner; if @ordinary, one on ordinary memory. */
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

/* Revoke a region that was just returned without waiting for the end of its lingering. */
static bool region_expedite(bool ordinary)
{
	struct list *pos, *of;

	if (!pool.nr[REGION_RETURNED])
		return false;
	list_for_each(pos, &pool.owners) {
		struct region_owner *owner = container_of(pos, struct region_owner, link);

		list_for_each(of, &owner->regions[REGION_RETURNED]) {
			struct region *region = container_of(of, struct region, link);

			if (ordinary && region->huge)
				continue;
			region_return(region);
			return true;
		}
	}
	return false;
}

/* The owner does not know the rkey of a staged region, but could guess it, so it is revoked. */
void region_take_back(bool ordinary)
{
	struct region *region;
	struct list *pos;

	if (pool.nr[REGION_REVOKING] || region_expedite(ordinary))
		return;
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
		region_return(region);
	} while (region->state == REGION_BROKEN);
	stats_inc(STAT_TAKEN_BACK);
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

/* Try to make a staged region for @owner. Return -EAGAIN while that is pending, or -ENOSPC. */
static int region_obtain(struct region_owner *owner)
{
	struct region *region;

	if (owner->nr[REGION_STAGING])
		return -EAGAIN;
	region = list_first(&pool.free, struct region, link);
	if (!region && list_empty(&pool.dirty) && region_filled() == pool.limit)
		region_take_back(false);
	if (!region)
		return list_empty(&pool.dirty) && region_filled() == pool.limit &&
			!pool.nr[REGION_STAGING] && !pool.nr[REGION_REVOKING] ? -ENOSPC : -EAGAIN;
	if (owner->stage_failed)
		return -ENOSPC;
	stats_inc(STAT_MAPS_UNSTAGED);
	region_stage(region, owner);
	return owner->stage_failed ? -ENOSPC : -EAGAIN;
}

int region_lend(struct region_owner *owner, struct region **out)
{
	struct region *region = list_first(&owner->regions[REGION_STAGED], struct region, link);
	int err;

	if (region_is_over())
		return -ENOSPC;
	if (!region) {
		err = region_obtain(owner);
		region = list_first(&owner->regions[REGION_STAGED], struct region, link);
		if (!region)
			return err;
	}
	do {
		region->id = permute_number(&pool.ids, ++pool.loans << REGION_INDEX_BITS |
					    (region - pool.regions));
	} while (!region->id);
	region->evict_at_ms = 0;
	region->evict_seq = 0;
	region->claimed = true;
	region_set_state(region, REGION_MAPPED);
	*out = region;
	return 0;
}

void region_return(struct region *region)
{
	region->id = 0;
	region_set_state(region, REGION_REVOKING);
	region->call.mr = region->mr;
	region->mr = NULL;
	region->job.run = region_run_revoke;
	region->job.done = region_revoked;
	/* Not behind all registrations, which would take long: memory may be short. */
	worker_queue_urgent(&region->job);
}

void region_return_later(struct region *region, uint64_t at_ms)
{
	region->id = 0;
	region->evict_at_ms = at_ms;
	region_set_state(region, REGION_RETURNED);
}

bool region_owner_is_busy(const struct region_owner *owner)
{
	return owner->nr[REGION_STAGING] || owner->nr[REGION_REVOKING];
}

bool region_unregister(struct region *region)
{
	int err = region->mr ? mr_unregister(region->mr) : 0;

	region->mr = NULL;
	if (err)
		region_break(region, err);
	return !err;
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

static uint64_t region_index(uint64_t id)
{
	return permute_inverse(&pool.ids, id) & ((1ULL << REGION_INDEX_BITS) - 1);
}

struct region *region_find(const struct region_owner *owner, uint64_t id)
{
	uint64_t index = region_index(id);
	struct region *region;

	if (!id || index >= pool.total)
		return NULL;
	region = &pool.regions[index];
	if (region->owner != owner || region->id != id || region->state < REGION_MAPPED ||
	    region->state > REGION_EVICTING)
		return NULL;
	return region;
}

bool region_was_lent(uint64_t id)
{
	uint64_t loan = permute_inverse(&pool.ids, id) >> REGION_INDEX_BITS;

	return loan && loan <= pool.loans && region_index(id) < pool.total;
}

static bool region_stage_step(void)
{
	struct region *region = list_first(&pool.free, struct region, link);
	struct region_owner *least = NULL;
	unsigned int fewest = 0;
	struct list *pos;

	if (!region)
		return false;
	list_for_each(pos, &pool.owners) {
		struct region_owner *owner = container_of(pos, struct region_owner, link);

		unsigned int staged = owner->nr[REGION_STAGED] + owner->nr[REGION_STAGING];

		if (staged < pool.ahead && !owner->stage_failed && !owner->leaving &&
		    (!least || staged < fewest)) {
			least = owner;
			fewest = staged;
		}
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

unsigned int region_limit(void)
{
	return pool.limit;
}

void region_set_keep(uint64_t bytes)
{
	pool.keep = bytes;
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

	for (i = REGION_STAGING; i <= REGION_REVOKING; i++) {
		/* Without a domain the worker's jobs stay with the old owner. */
		if (!from->pd && (i == REGION_STAGING || i == REGION_REVOKING))
			continue;
		assert(!to->nr[i]);
		while ((region = list_first(&from->regions[i], struct region, link))) {
			list_del(&region->link);
			region->owner = to;
			region->claimed = false;
			list_add_tail(&region->link, &to->regions[i]);
			region_account(from, i, -1);
			region_account(to, i, 1);
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
		[REGION_STAGING] = "staging",
		[REGION_STAGED] = "staged",
		[REGION_MAPPED] = "mapped",
		[REGION_EVICT_WAIT] = "evict_wait",
		[REGION_EVICTING] = "evicting",
		[REGION_RETURNED] = "returned",
		[REGION_REVOKING] = "revoking",
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
	if (permute_init(&pool.ids, 64) ||
	    permute_init(&pool.addresses, REGION_ADDRESS_BITS - __builtin_ctzll(slab)))
		return -EIO;
	pool.regions = calloc(total, sizeof(*pool.regions));
	if (!pool.regions)
		return -ENOMEM;
	for (pool.total = 0; pool.total < total; pool.total++)
		list_add_tail(&pool.regions[pool.total].link, &pool.empty);
	pool.nr[REGION_EMPTY] = total;
	return 0;
}

void region_listen(const struct region_events *of)
{
	events = of;
}

int region_reserve(void)
{
	return mem_reserve(pool.total * pool.slab, pool.hugepages);
}

void region_exit(void)
{
	/* After the process has ended the kernel frees the pages, but does not zero them. */
	fill_wipe(REGION_WIPE_MS);
	mem_release();
	free(pool.regions);
	pool.regions = NULL;
	pool.total = 0;
}
