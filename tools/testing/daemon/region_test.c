// SPDX-License-Identifier: GPL-2.0
/*
 * The pool: data of one client never reaches another, no memory is lent while an older rkey is
 * valid, and staged regions can be taken back. The device is a list of registrations by
 * owner.
 */
#include "region.c"
#include "fill.c"
#include "permute.c"
#include "json.c"
#include "metrics.c"
#include "stats.c"

/* The kernel's memory: mem.c, with some of it treated as reserved huge pages. */
#define mem_map		real_map
#define mem_populate	real_populate
#define mem_zero	real_zero
#define mem_unmap	real_unmap
#include "mem.c"
#undef mem_map
#undef mem_populate
#undef mem_zero
#undef mem_unmap

#include "at-once.h"
#include "quiet.h"
#include "tap.h"

#define SLAB	(8UL << 20)
#define TOTAL	6
#define MRS	64

/* The registrations of the device. An rkey is the index plus 1. */
static struct mr {
	void *pd;
	void *addr;
	bool live;
} mrs[MRS];
static bool fail_register, fail_unregister, fault_register;
static void *bad_memory;	/* memory of one region */
static unsigned int registers, unregisters;
static uint64_t iovas[4096];
static unsigned int nr_iovas;
static bool iova_again, iova_follows;

int mr_register(void *pd, void *addr, size_t bytes, uint64_t iova, void **mr, uint32_t *rkey)
{
	int i = 0;

	if (fail_register)
		return -ENOMEM;
	if (fault_register)
		return -EFAULT;
	if (bad_memory && (char *)addr <= (char *)bad_memory &&
	    (char *)bad_memory < (char *)addr + bytes)
		return -EFAULT;
	iova_again |= !iova || iova % bytes || nr_iovas == MRS * MRS;
	for (i = 0; i < (int)nr_iovas; i++)
		iova_again |= iova == iovas[i];
	iova_follows |= nr_iovas && iova == iovas[nr_iovas - 1] + bytes;
	iovas[nr_iovas++] = iova;
	i = 0;
	while (mrs[i].live)
		i++;
	mrs[i] = (struct mr){ pd, addr, true };
	*mr = &mrs[i];
	*rkey = i + 1;
	registers++;
	return 0;
}

int mr_unregister(void *mr)
{
	if (fail_unregister)
		return -EBUSY;
	((struct mr *)mr)->live = false;
	unregisters++;
	return 0;
}

static unsigned int huge_left;	/* reserved huge pages left, in regions */
static int refuse_after = -1;	/* steps until the kernel refuses memory */

void *mem_map(size_t offset, size_t bytes, bool *huge)
{
	bool ordinary = false;

	*huge = *huge && huge_left;
	huge_left -= *huge;
	return real_map(offset, bytes, &ordinary);
}

int mem_populate(void *addr, size_t bytes)
{
	if (!refuse_after)
		return -ENOMEM;
	refuse_after -= refuse_after > 0;
	return real_populate(addr, bytes);
}

int mem_zero(void *addr, size_t bytes)
{
	char *bad = bad_memory;

	if (bad && (char *)addr <= bad && bad < (char *)addr + bytes)
		return -EFAULT;
	return real_zero(addr, bytes);
}

/* What the kernel gets back is zero. */
static bool unmapped_used;
static unsigned int unmaps;

static bool bytes_are_zero(const uint8_t *addr, size_t bytes)
{
	return !*addr && !memcmp(addr, addr + 1, bytes - 1);
}

void mem_unmap(void *addr, size_t bytes)
{
	/* Memory that was never touched is zero as well. */
	unmapped_used |= !bytes_are_zero(addr, bytes);
	unmaps++;
	real_unmap(addr, bytes);
}

static uint64_t available;	/* to others */

struct meminfo meminfo_now(void)
{
	return (struct meminfo){ .available = available };
}

static struct region_owner a, b;
static char pd_a, pd_b;

static void settle(void)
{
	while (region_step())
		;
}

static void setup_huge(unsigned int ahead, unsigned int huge)
{
	memset(mrs, 0, sizeof(mrs));
	fail_register = false;
	fail_unregister = false;
	fault_register = false;
	registers = 0;
	unregisters = 0;
	nr_iovas = 0;
	huge_left = huge;
	refuse_after = -1;
	if (region_init(TOTAL * SLAB, SLAB, ahead, huge) || region_reserve())
		ok(false, "pool");
	region_set_limit(TOTAL);
	settle();
	region_owner_add(&a, &pd_a);
	region_owner_add(&b, &pd_b);
}

static void setup(unsigned int ahead)
{
	setup_huge(ahead, 0);
}

static void return_all(struct region_owner *owner)
{
	int state;

	for (state = REGION_STAGED; state <= REGION_RETURNED; state++)
		while (!list_empty(&owner->regions[state]))
			region_return(list_first(&owner->regions[state], struct region, link));
}

static void teardown(void)
{
	region_owner_leave(&a);
	region_owner_leave(&b);
	return_all(&a);
	return_all(&b);
	region_owner_del(&a);
	region_owner_del(&b);
	region_exit();
}

static bool is_zero(const struct region *region)
{
	return !region->addr[0] && !memcmp(region->addr, region->addr + 1, SLAB - 1);
}

/* Count regions without a valid registration of their owner, and wrong counts. */
static bool consistent(void)
{
	unsigned int i, live = 0, owned = 0, sum = 0;

	for (i = 0; i < MRS; i++)
		live += mrs[i].live;
	for (i = 0; i < REGION_STATES; i++)
		sum += region_count(i);
	for (i = 0; i < region_total(); i++) {
		struct region *region = region_at(i);
		struct mr *mr = region->mr;

		/* While the worker has it, it may be registered or not. */
		if (region->state == REGION_STAGING || region->state == REGION_REVOKING) {
			if (region->state == REGION_REVOKING)
				owned++;
			continue;
		}
		if (region_is_owned(region->state)) {
			owned++;
			if (!mr->live || mr->pd != region->owner->pd || mr->addr != region->addr)
				return false;
		}
		if (region->state == REGION_FREE && !is_zero(region))
			return false;
	}
	return sum == region_total() && live == owned + region_count(REGION_BROKEN);
}

static void test_stage(void)
{
	struct region *region;

	setup(2);
	ok(region_free_bytes() == TOTAL * SLAB, "all can be lent");
	settle();
	ok(a.nr[REGION_STAGED] == 2 && b.nr[REGION_STAGED] == 2 && consistent(),
	   "two staged for each");
	ok(region_free_bytes() == TOTAL * SLAB, "what is staged can still be lent");
	registers = 0;
	ok(!region_lend(&a, &region) && !registers, "lent without a registration");
	ok(region->state == REGION_MAPPED && region->owner == &a && is_zero(region) && consistent(), "it is mapped, zero, and registered for its owner");
	ok(region_free_bytes() == (TOTAL - 1) * SLAB, "and no longer to be lent");
	settle();
	ok(a.nr[REGION_STAGED] == 2 && consistent(), "another is staged in its place");
	ok(region_find(&a, region->id) == region && !region_find(&b, region->id),
	   "its owner finds it, the other does not");
	ok(!region_find(&a, 0) && !region_find(&a, region->id + 1) &&
	   !region_find(&a, ~0ULL),
	   "other ids find nothing");
	teardown();
}

static void test_zero(void)
{
	struct region *region, *again;
	unsigned int i, steps = 0;
	uint64_t id;
	bool all = true;

	setup(0);
	for (i = 0; i < TOTAL; i++)
		all &= !region_lend(&a, &region);
	ok(all && consistent(), "all are lent");
	ok(region_lend(&b, &again) == -ENOSPC, "then there are no more");
	memset(region->addr, 0x5a, SLAB);
	region->addr[SLAB - 1] = 1;
	id = region->id;
	unregisters = 0;
	region_return(region);
	ok(unregisters == 1 && region->state == REGION_DIRTY && !region->owner && consistent(),
	   "when it comes back its key is dead");
	ok(region_lend(&b, &again) == -EAGAIN, "dirty, it is not lent");
	ok(!is_zero(region), "nothing has been zeroed yet");
	while (region->state == REGION_DIRTY && region_step())
		steps++;
	ok(steps == SLAB / FILL_ZERO_STEP, "zeroed in bounded pieces (%u)", steps);
	ok(is_zero(region), "every byte is zero");
	ok(!region_lend(&b, &again) && again == region && is_zero(again), "lent to another");
	ok(again->id != id && !region_find(&b, id) && !region_find(&a, id),
	   "under a name never used before");
	ok(consistent(), "and registered for no one else");
	teardown();
}

static void test_evict_states(void)
{
	struct region *region;

	setup(1);
	settle();
	region_lend(&a, &region);
	region_set_state(region, REGION_EVICT_WAIT);
	ok(region_find(&a, region->id) == region && consistent(), "evict_wait is still the owner's");
	region_set_state(region, REGION_EVICTING);
	ok(a.nr[REGION_EVICTING] == 1 && a.nr[REGION_MAPPED] == 0 && consistent(), "and evicting");
	region_return(region);
	ok(region->state == REGION_DIRTY && consistent(), "and then dirty");
	teardown();
}

/* A command of a device takes seconds: other regions neither wait for it nor are used again. */
static void test_hangs(void)
{
	struct region *region, *other, *none;

	setup(1);
	settle();
	region_lend(&a, &region);
	worker_hangs = true;
	settle();
	ok(a.nr[REGION_STAGING] == 1 && region_owner_is_busy(&a) && !region_owner_is_busy(&b) &&
	   consistent(), "one is being registered");
	ok(region_lend(&a, &none) == -EAGAIN, "its client waits for it");
	ok(!region_lend(&b, &other) && other->state == REGION_MAPPED, "the other client does not");
	unregisters = 0;
	region->addr[0] = 1;
	region_return(region);
	settle();
	ok(region->state == REGION_REVOKING && !unregisters && region->addr[0] == 1 && consistent(),
	   "while a key is being killed the region is not zeroed");
	ok(list_first(&worker_held, struct worker_job, link) == &region->job,
	   "which does not wait for what is to be registered");
	region_set_limit(0);
	settle();
	ok(region->state == REGION_REVOKING && region->addr, "nor given back to the kernel");
	region_set_limit(TOTAL);
	worker_go_on();
	ok(unregisters && region->state == REGION_DIRTY && !region->owner &&
	   !region_owner_is_busy(&a) && consistent(), "when it is dead it is");
	settle();
	ok(consistent() && a.nr[REGION_STAGED] == 1, "and all goes on");
	/* A client disconnects while a region is being registered for it. */
	region_lend(&a, &region);
	worker_hangs = true;
	settle();
	region_owner_leave(&a);
	worker_go_on();
	ok(!a.nr[REGION_STAGED] && !a.nr[REGION_STAGING] && consistent(),
	   "one that is registered for a client that has gone is free again");
	teardown();
}

/* A returned region keeps its rkey for a moment, unless its memory is needed. */
static void test_returned(void)
{
	struct region *region[TOTAL], *none;
	unsigned int i;

	setup(0);
	for (i = 0; i < TOTAL; i++)
		region_lend(&a, &region[i]);
	unregisters = 0;
	region_return_later(region[0], 1);
	region_return_later(region[1], 1);
	settle();
	ok(!unregisters && a.nr[REGION_RETURNED] == 2 && consistent() &&
	   !region_find(&a, 0) && region_free_bytes() == 2 * SLAB,
	   "what is given back has its key, but no name");
	ok(region_lend(&b, &none) == -EAGAIN && unregisters == 1 && region[0]->state == REGION_DIRTY,
	   "who needs memory gets it at once");
	settle();
	ok(!region_lend(&b, &region[0]) && is_zero(region[0]) && consistent(), "zeroed");
	region_set_limit(TOTAL - 1);
	settle();
	ok(region_count(REGION_EMPTY) == 1 && !a.nr[REGION_RETURNED] && unregisters == 2,
	   "so does the machine");
	teardown();
}

static void test_take_back(void)
{
	struct region *region;
	unsigned int i;
	bool all = true;

	setup(3);
	settle();
	ok(a.nr[REGION_STAGED] == 3 && b.nr[REGION_STAGED] == 3, "everything is staged");
	list_first(&a.regions[REGION_STAGED], struct region, link)->addr[5] = 1;
	for (i = 0; i < 3; i++)
		all &= !region_lend(&b, &region);
	ok(all && region_lend(&b, &region) == -EAGAIN && a.nr[REGION_STAGED] == 2,
	   "what is staged for another is taken back");
	ok(region_lend(&b, &region) == -EAGAIN && region_count(REGION_DIRTY) == 1,
	   "one at a time");
	for (; i < TOTAL; i++) {
		while (region_lend(&b, &region) == -EAGAIN)
			region_step();
		all &= is_zero(region) && consistent();
	}
	ok(all && b.nr[REGION_MAPPED] == TOTAL && !a.nr[REGION_STAGED],
	   "and zeroed before it is lent");
	settle();
	ok(consistent() && !a.nr[REGION_STAGED], "nothing is taken from those who have it");
	ok(region_lend(&a, &region) == -ENOSPC, "the other is refused");
	teardown();
}

static void test_staged_return(void)
{
	unsigned int dirty;

	setup(2);
	settle();
	region_owner_leave(&a);
	return_all(&a);
	dirty = region_count(REGION_DIRTY);
	settle();
	ok(dirty == 2 && !region_count(REGION_DIRTY) && !a.nr[REGION_STAGED] && consistent(),
	   "what was staged for who leaves is zeroed, and not staged for it again");
	teardown();
}

static void test_register_fails(void)
{
	struct region *region;

	setup(2);
	fail_register = true;
	settle();
	ok(!registers && a.stage_failed && b.stage_failed, "staging that fails is not repeated");
	ok(region_lend(&a, &region) == -ENOSPC && consistent(), "MAP is refused then");
	fail_register = false;
	settle();
	ok(!registers, "not even when it would succeed");
	region_retry();
	settle();
	ok(a.nr[REGION_STAGED] == 2 && b.nr[REGION_STAGED] == 2 && consistent(),
	   "until it is tried again");
	teardown();
}

static void test_unregister_fails(void)
{
	struct region *region;

	setup(0);
	region_lend(&a, &region);
	fail_unregister = true;
	region_return(region);
	fail_unregister = false;
	settle();
	ok(region->state == REGION_BROKEN && consistent(), "a key that can't be killed: broken");
	ok(region_free_bytes() == (TOTAL - 1) * SLAB, "it can't be lent again");
	teardown();
}

static void test_limit(void)
{
	struct region *region[TOTAL], *none;
	unsigned int i;
	bool all = true;

	setup(1);
	settle();
	region_set_limit(4);
	settle();
	ok(region_count(REGION_EMPTY) == 2 && region_count(REGION_STAGED) == 2 &&
	   region_present_bytes() == 4 * SLAB && region_free_bytes() == 4 * SLAB && consistent(),
	   "with a limit of 4, two of 6 give their memory back");
	region_set_limit(1);
	settle();
	ok(region_count(REGION_EMPTY) == 5 && region_present_bytes() == SLAB && consistent(),
	   "with a limit of 1, what is staged does too");
	region_set_limit(0);
	settle();
	ok(!region_present_bytes() && !region_free_bytes() &&
	   region_lend(&a, &none) == -ENOSPC, "with 0, there is none");
	region_set_keep(2 * SLAB);
	available = 3 * SLAB - 1;
	region_set_limit(TOTAL);
	settle();
	ok(!region_present_bytes() && region_lend(&a, &none) == -ENOSPC && consistent(),
	   "no region gets memory that others took since the limit was set");
	available = 3 * SLAB;
	region_set_limit(TOTAL + 5);
	ok(region_free_bytes() == TOTAL * SLAB && region_lend(&a, &none) == -EAGAIN,
	   "when it rises, it will come");
	settle();
	ok(!region_count(REGION_EMPTY) && region_present_bytes() == TOTAL * SLAB && consistent(),
	   "and comes, zero");
	for (i = 0; i < TOTAL; i++) {
		while (region_lend(&a, &region[i]) == -EAGAIN)
			region_step();
		memset(region[i]->addr, 0xa5, SLAB);
	}
	region_set_limit(4);
	settle();
	ok(region_excess() == 2 && !region_count(REGION_EMPTY) && !region_free_bytes(),
	   "what is lent stays, and is known to be too much");
	region_return(region[0]);
	region_return(region[1]);
	ok(region_lend(&b, &none) == -ENOSPC && !region_excess(), "what comes back is not lent");
	settle();
	ok(region_count(REGION_EMPTY) == 2 && region_present_bytes() == 4 * SLAB && consistent(),
	   "but given back to the machine");
	region_set_limit(TOTAL);
	for (i = 0; i < 2; i++) {
		while (region_lend(&b, &region[i]) == -EAGAIN)
			region_step();
		all &= is_zero(region[i]);
	}
	ok(all && consistent(), "and zero when it is lent to another");
	teardown();
}

/* Ordinary memory is short; reserved huge pages don't compensate for that. */
/* The kernel gets no client's contents back, neither while the pool shrinks nor at the end. */
static void test_wipe(void)
{
	struct region *region[2];
	unsigned int i;

	setup(1);
	settle();
	for (i = 0; i < 2; i++) {
		while (region_lend(&a, &region[i]) == -EAGAIN)
			region_step();
		memset(region[i]->addr, 0xa5, SLAB);
	}
	unmapped_used = false;
	unmaps = 0;
	region_return(region[0]);
	region_set_limit(0);
	settle();
	ok(unmaps && region[0]->state == REGION_EMPTY && !unmapped_used && consistent(),
	   "memory that goes back to the kernel is zero");
	region_return(region[1]);
	ok(region[1]->state == REGION_DIRTY && region[1]->addr[SLAB - 1], "memory that was used");
	fill_wipe(60000);
	ok(bytes_are_zero(region[1]->addr, SLAB) && consistent(), "is zeroed before the end");
	teardown();
}

static void test_huge(void)
{
	struct region *region[TOTAL], *none;
	unsigned int i;

	setup_huge(0, 2);
	ok(region_huge() == 2 && region_huge_bytes() == 2 * SLAB, "two of 6 are on huge pages");
	region_set_ordinary_limit(3);
	settle();
	ok(region_count(REGION_EMPTY) == 1 && region_huge() == 2 && consistent(),
	   "with a limit of 3 on ordinary memory one of 4 goes");
	region_set_limit(4);
	settle();
	ok(region_count(REGION_EMPTY) == 2 && region_huge() == 2 && consistent(),
	   "with one of 4 on all, another one on ordinary memory");
	region_set_limit(TOTAL);
	settle();
	ok(region_count(REGION_EMPTY) == 1 && consistent(),
	   "it comes back up to the lower limit of the two");
	huge_left = 1;
	region_set_limit(TOTAL);
	settle();
	ok(!region_count(REGION_EMPTY) && region_huge() == 3 && consistent(),
	   "more come when there are more huge pages");
	for (i = 0; i < TOTAL; i++)
		while (region_lend(&a, &region[i]) == -EAGAIN)
			region_step();
	region_set_ordinary_limit(1);
	settle();
	ok(!region_excess() && region_excess_ordinary() == 2 && !region_count(REGION_EMPTY),
	   "of those that are lent it is known that two are too many");
	for (i = 0; region[i]->huge; i++)
		;
	region_set_state(region[i], REGION_EVICT_WAIT);
	ok(region_leaving(true) == 1 && region_leaving(false) == 1, "one is to come back");
	region_return(region[i]);
	settle();
	ok(region_excess_ordinary() == 1 && region_count(REGION_EMPTY) == 1 && consistent(),
	   "and is given back to the machine");
	for (i = 0; !region[i]->huge; i++)
		;
	region_set_state(region[i], REGION_EVICT_WAIT);
	ok(!region_leaving(true) && region_leaving(false) == 1, "one on huge pages is no help");
	region_return(region[i]);
	settle();
	ok(region_count(REGION_EMPTY) == 1 && region_huge() == 3 && consistent(),
	   "and stays");
	ok(region_lend(&b, &none) == -ENOSPC, "nothing is lent while there is too much");
	teardown();
}

/* A free region on huge pages does not protect staged regions on ordinary memory. */
static void test_huge_staged(void)
{
	struct region *first, *second, *staged;

	setup_huge(1, 3);
	settle();
	ok(!region_lend(&a, &first) && !region_lend(&b, &second) && first->huge && second->huge,
	   "two on huge pages are lent");
	settle();
	staged = list_first(&b.regions[REGION_STAGED], struct region, link);
	ok(staged && !staged->huge, "and what is staged for one is not on such");
	region_return(first);
	region_return(second);
	region_set_ordinary_limit(0);
	settle();
	ok(region_count(REGION_EMPTY) == 3 && region_huge() == 3 && consistent(),
	   "with a limit of 0 on ordinary memory all of that goes");
	ok(a.nr[REGION_STAGED] == 1 && b.nr[REGION_STAGED] == 1, "and what is staged is on the rest");
	ok(!region_lend(&b, &first) && first->huge, "which is lent");
	teardown();
}

/* The limit of a cgroup is reached. */
static void test_bad_memory(void)
{
	struct region *region;
	uint8_t *addr;

	setup(0);
	ok(!region_lend(&a, &region), "a region is lent");
	addr = region->addr;
	bad_memory = addr + SLAB - 1;
	region_return(region);
	ok(region_lend(&a, &region) || region->addr != addr, "memory that can't be zeroed is not lent");
	settle();
	ok(region_count(REGION_DIRTY) == 0 && region_filled() == TOTAL && consistent(),
	   "it goes back to the kernel, which gives other memory");
	bad_memory = NULL;
	teardown();
}

/* An uncorrectable error in a free region: the device can't register it. */
static void test_bad_free(void)
{
	struct region *region[TOTAL + 1];
	unsigned int i, lent = 0;

	setup(0);
	bad_memory = list_first(&pool.free, struct region, link)->addr + SLAB / 2;
	for (i = 0; i < TOTAL; i++)
		lent += !region_lend(&a, &region[i]);
	ok(lent == TOTAL - 1 && !a.stage_failed && region_count(REGION_DIRTY) == 1 && consistent(),
	   "free memory that is bad keeps nobody from what is good");
	settle();
	bad_memory = NULL;
	ok(region_count(REGION_FREE) == 1 && !region_lend(&a, &region[i]) && consistent(),
	   "and other memory is lent in its place");
	teardown();

	setup(0);
	bad_memory = list_first(&pool.free, struct region, link)->addr;
	pool.ahead = 1;
	settle();
	ok(a.nr[REGION_STAGED] == 1 && b.nr[REGION_STAGED] == 1 && !a.stage_failed &&
	   !b.stage_failed && !region_count(REGION_DIRTY) && consistent(),
	   "nor from what is registered ahead");
	bad_memory = NULL;
	teardown();
}

/* A device that can't register anything any more may report the same error for good memory. */
static void test_fault_of_device(void)
{
	struct region *region;
	unsigned int steps = 0;

	setup(1);
	fault_register = true;
	while (steps < 1000 && region_step())
		steps++;
	ok(steps < 1000 && a.stage_failed && b.stage_failed && consistent(),
	   "a device that fails is not asked again and again");
	ok(region_lend(&a, &region) == -ENOSPC && consistent(), "and MAP is refused");
	fault_register = false;
	region_retry();
	settle();
	ok(a.nr[REGION_STAGED] == 1 && b.nr[REGION_STAGED] == 1 && !region_lend(&a, &region) &&
	   consistent(), "until it can");
	teardown();
}

static void test_refused(void)
{
	setup(0);
	region_set_limit(2);
	settle();
	ok(!region_refused(), "the kernel gives what it is asked for");
	refuse_after = 1;
	region_set_limit(TOTAL);
	settle();
	ok(region_refused() && !region_refused(), "until it doesn't, which is told once");
	ok(region_count(REGION_EMPTY) == TOTAL - 2 && region_present_bytes() == 2 * SLAB &&
	   region_free_bytes() == 2 * SLAB && consistent(), "what was begun goes back");
	refuse_after = -1;
	region_set_limit(TOTAL);
	settle();
	ok(!region_count(REGION_EMPTY) && region_present_bytes() == TOTAL * SLAB && consistent(),
	   "and comes when there is some");
	teardown();
}

static uint64_t loan_of(const struct region *region)
{
	return permute_inverse(&pool.ids, region->id) >> REGION_INDEX_BITS;
}

/* A client that knows its regions' ids and addresses knows nothing of others'. */
static void test_unguessable(void)
{
	unsigned int i, near = 0;
	struct region *region;
	uint64_t last = 0;

	setup(0);
	iova_follows = false;
	for (i = 0; i < 100; i++) {
		settle();
		if (region_lend(&a, &region)) {
			settle();
			if (region_lend(&a, &region))
				continue;
		}
		near += region->id - last < 1ULL << 32 || region_index(region->id) >= TOTAL;
		near += region_was_lent(region->id + 1) || !region_was_lent(region->id);
		last = region->id;
		region_return(region);
	}
	ok(i == 100 && last && !near, "ids do not follow each other, and their neighbours never were one");
	ok(!iova_follows, "nor do addresses");
	teardown();
}

/* A thousand random moves, each followed by a check. */
static void test_random(void)
{
	struct region_owner *owner;
	struct region *region;
	unsigned int seed = 1, i;
	uint64_t last = 0;
	bool good = true;

	setup(1);
	for (i = 0; i < 1000 && good; i++) {
		seed = seed * 1103515245 + 12345;
		owner = seed & 0x10000 ? &a : &b;
		switch (seed >> 20 & 3) {
		case 0:
			if (region_lend(owner, &region))
				break;
			good &= !region->addr[0] && !region->addr[SLAB - 1] &&
				loan_of(region) > last;
			last = loan_of(region);
			region->addr[0] = 0xff;
			region->addr[SLAB - 1] = 0xff;
			break;
		case 1:
			region = list_first(&owner->regions[REGION_MAPPED], struct region, link);
			if (region)
				region_return(region);
			break;
		default:
			if (!(seed >> 24 & 15))
				region_set_limit(seed >> 28 & 7);
			region_step();
		}
		good &= i % 50 || consistent();
	}
	ok(good && consistent(), "a thousand random moves");
	teardown();
}

int main(void)
{
	test_stage();
	test_zero();
	test_evict_states();
	test_hangs();
	test_returned();
	test_take_back();
	test_staged_return();
	test_register_fails();
	test_unregister_fails();
	test_limit();
	test_wipe();
	test_huge();
	test_huge_staged();
	test_refused();
	test_bad_memory();
	test_bad_free();
	test_fault_of_device();
	test_unguessable();
	test_random();
	ok(!iova_again, "no address was ever given to a client twice");
	return tap_done();
}
