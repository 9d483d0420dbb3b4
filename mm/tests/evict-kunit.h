/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A donor evicts a region, or reports it as revoked, at any time: before a slab uses the region,
 * while a slab depends on it, alone or with another region, and while it is being given back. And
 * the deadline of an eviction while the donor is suspect.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <kunit/test-bug.h>

#include <linux/ktime.h>
#include <linux/slab.h>

#include "io/fanout.h"

#define SLOTS		64
/* Pages of the largest slab, 1 GiB. */
#define SLOTS_MAX	262144
#define REGION		4711
#define DEADLINE_MS	60000

/**
 * struct place - one slab, at one donor
 * @donor:	live, without a session
 * @device:	has counts, and no copies
 * @map:	the device's slab map, without slots
 * @slab:	mapped
 * @mappings:	the linked regions
 * @nr:		number of @mappings
 */
struct place {
	struct farswap_donor *donor;
	struct farswap_device device;
	struct farswap_slabmap map;
	struct farswap_slab slab;
	struct farswap_mapping *mappings[FARSWAP_REPLICAS_MAX];
	unsigned int nr;
};

static struct place *place_make_of(struct kunit *test, unsigned int nr_slots)
{
	struct place *place = kunit_kzalloc(test, sizeof(*place), GFP_KERNEL);
	unsigned int nth;

	KUNIT_ASSERT_NOT_NULL(test, place);
	place->donor = farswap_donor_alloc("192.0.2.1");
	KUNIT_ASSERT_NOT_NULL(test, place->donor);
	place->donor->state = FARSWAP_DONOR_LIVE;
	place->map.rows = 1;
	place->device.map = &place->map;
	for (nth = 0; nth < ARRAY_SIZE(place->device.backups.shards); nth++) {
		place->device.backups.shards[nth].nth = nth;
		spin_lock_init(&place->device.backups.shards[nth].lock);
	}
	place->slab.device = &place->device;
	place->slab.nr_slots = nr_slots;
	place->slab.state = FARSWAP_SLAB_MAPPED;
	test->priv = place;
	KUNIT_ASSERT_EQ(test, farswap_slotbits_alloc(&place->slab.bits, nr_slots), 0);
	return place;
}

static struct place *place_make(struct kunit *test)
{
	return place_make_of(test, SLOTS);
}

/* A region that becomes the slab's; it stays until place_end(). */
static struct farswap_mapping *place_link(struct kunit *test, u64 id)
{
	struct place *place = test->priv;
	struct farswap_mapping *mapping;
	bool linked, added;

	mapping = kunit_kzalloc(test, struct_size(mapping, missing,
						  BITS_TO_LONGS(place->slab.nr_slots)),
				GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mapping);
	KUNIT_ASSERT_TRUE(test, farswap_mapping_counts_alloc(mapping, GFP_KERNEL));
	/* The test holds a reference, so it is never given back. */
	farswap_mapping_hold(mapping);
	mapping->slab = &place->slab;
	mapping->donor = place->donor;
	mapping->id = id;
	farswap_evict_init(mapping);
	spin_lock(&farswap_state_lock);
	linked = farswap_mapping_link(mapping, place->donor->epoch);
	added = farswap_mapping_add(mapping);
	spin_unlock(&farswap_state_lock);
	KUNIT_EXPECT_TRUE(test, linked);
	KUNIT_EXPECT_TRUE(test, added);
	place->mappings[place->nr++] = mapping;
	return mapping;
}

static bool place_link_is_revoked(struct kunit *test, u64 id)
{
	return farswap_mapping_is(place_link(test, id), FARSWAP_MAPPING_REVOKED);
}

static void place_lose(struct place *place, u64 id)
{
	spin_lock(&farswap_state_lock);
	farswap_slabs_lose_one(place->donor, id);
	spin_unlock(&farswap_state_lock);
	farswap_slabs_count_lost(place->donor);
}

static void place_suspend(struct place *place)
{
	unsigned int i;

	spin_lock(&farswap_state_lock);
	for (i = 0; i < place->nr; i++)
		farswap_evict_suspend(place->mappings[i]);
	spin_unlock(&farswap_state_lock);
}

static bool place_knows(struct place *place, u64 id)
{
	bool knows;

	spin_lock(&farswap_state_lock);
	knows = farswap_mapping_by_id(place->donor, id);
	spin_unlock(&farswap_state_lock);
	return knows;
}

static void place_end(struct kunit *test)
{
	struct place *place = test->priv;
	struct farswap_mapping *mapping;

	if (!place)
		return;
	while (place->nr) {
		mapping = place->mappings[--place->nr];
		spin_lock(&farswap_state_lock);
		list_del(&mapping->donor_entry);
		hash_del(&mapping->id_entry);
		spin_unlock(&farswap_state_lock);
		farswap_evict_exit(mapping);
		free_percpu(mapping->counts);
		farswap_donor_put(place->donor);
	}
	farswap_slotbits_free(&place->slab.bits);
	farswap_donor_put(place->donor);
}

/* Slots whose pages are not on the device. */
static void place_store(struct place *place, unsigned int nr)
{
	bitmap_set(place->slab.bits.remote, 0, nr);
	bitmap_set(place->slab.bits.unbacked, 0, nr);
	place->slab.sole = true;
}

static void evict_test_requested_early(struct kunit *test)
{
	struct place *place = place_make(test);

	farswap_evict_begin(place->donor, REGION, DEADLINE_MS);
	KUNIT_EXPECT_TRUE(test, place_link_is_revoked(test, REGION));
	KUNIT_EXPECT_FALSE(test, place_link_is_revoked(test, REGION + 1));
}

static void evict_test_lost_early(struct kunit *test)
{
	struct place *place = place_make(test);

	place_lose(place, REGION);
	KUNIT_EXPECT_TRUE(test, place_link_is_revoked(test, REGION));
	KUNIT_EXPECT_EQ(test, place->slab.state, FARSWAP_SLAB_MAPPED);
}

/* The last revoked regions are remembered, as many as a donor may have pending. */
static void evict_test_many_early(struct kunit *test)
{
	struct place *place = place_make(test);
	unsigned int i;

	for (i = 0; i <= FARSWAP_EARLY_EVICTS; i++)
		farswap_evict_begin(place->donor, REGION + i, DEADLINE_MS);
	KUNIT_EXPECT_FALSE(test, place_link_is_revoked(test, REGION));
	KUNIT_EXPECT_TRUE(test, place_link_is_revoked(test, REGION + 1));
	KUNIT_EXPECT_TRUE(test, place_link_is_revoked(test, REGION + FARSWAP_EARLY_EVICTS));
}

static void evict_test_requested(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);

	if (!READ_ONCE(farswap_settings.hotslab))
		kunit_skip(test, "with hotslab 0 all pages are worth moving");
	farswap_evict_begin(place->donor, REGION, DEADLINE_MS);
	KUNIT_EXPECT_EQ(test, place->slab.state, FARSWAP_SLAB_DRAINING);
	KUNIT_EXPECT_EQ(test, mapping->state, FARSWAP_MAPPING_DEAD);
	KUNIT_EXPECT_FALSE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED));
	KUNIT_EXPECT_TRUE(test, timer_pending(&mapping->evict_timer));
	KUNIT_EXPECT_FALSE(test, farswap_evict_is_near(mapping));

	/* A second EVICT has no effect: the region is being given back already. */
	farswap_evict_begin(place->donor, REGION, DEADLINE_MS);
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_REVOKED));
	KUNIT_EXPECT_EQ(test, farswap_mapping_in_use(mapping), 1);
}

static void evict_test_lost(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);

	place_lose(place, REGION);
	KUNIT_EXPECT_EQ(test, place->slab.state, FARSWAP_SLAB_LOST);
	KUNIT_EXPECT_NE(test, place->slab.rebuilds, 0);
	KUNIT_EXPECT_EQ(test, mapping->state, FARSWAP_MAPPING_DEAD);
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED));
	KUNIT_EXPECT_FALSE(test, place_knows(place, REGION));

	/* A page without a copy is not lost twice. */
	place_lose(place, REGION);
	KUNIT_EXPECT_EQ(test, farswap_mapping_in_use(mapping), 1);
	KUNIT_EXPECT_FALSE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_REVOKED));
}

static void evict_test_lost_of_two(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);
	struct farswap_mapping *other = place_link(test, REGION + 1);

	place_lose(place, REGION);
	KUNIT_EXPECT_EQ(test, place->slab.state, FARSWAP_SLAB_MAPPED);
	KUNIT_EXPECT_NE(test, place->slab.rebuilds, 0);
	KUNIT_EXPECT_EQ(test, mapping->state, FARSWAP_MAPPING_DEAD);
	KUNIT_EXPECT_FALSE(test, farswap_mapping_is_slabs(mapping));
	KUNIT_EXPECT_FALSE(test, farswap_mapping_ends(other));
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is_slabs(other));
	KUNIT_EXPECT_TRUE(test, place_knows(place, REGION + 1));
	KUNIT_EXPECT_EQ(test, farswap_mapping_in_use(mapping), 1);
}

/* Losing the last region of a slab loses the slab; earlier ones are counted as regions. */
static void evict_test_donor_lost(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);
	struct farswap_mapping *last = place_link(test, REGION + 1);

	place_store(place, 5);
	/* Only the first region has two of the pages. */
	bitmap_set(last->missing, 0, 2);
	farswap_slabs_lose(place->donor);
	KUNIT_EXPECT_EQ(test, place->slab.state, FARSWAP_SLAB_LOST);
	KUNIT_EXPECT_EQ(test, mapping->state, FARSWAP_MAPPING_DEAD);
	KUNIT_EXPECT_EQ(test, last->state, FARSWAP_MAPPING_DEAD);
	KUNIT_EXPECT_FALSE(test, farswap_mapping_is_slabs(mapping));
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is_slabs(last));
	KUNIT_EXPECT_EQ(test, farswap_mapping_in_use(mapping), 2);
	farswap_slabs_count_lost(place->donor);
	KUNIT_EXPECT_EQ(test, mapping->lost, 2);
	KUNIT_EXPECT_EQ(test, last->lost, 0);
	KUNIT_EXPECT_EQ(test, place->slab.nr_uncounted, 0);
	KUNIT_EXPECT_EQ(test, farswap_mapping_in_use(mapping), 1);
	KUNIT_EXPECT_EQ(test, farswap_mapping_in_use(last), 1);
	/* Both are still in the donor's list. */
	KUNIT_EXPECT_EQ(test, list_count_nodes(&place->donor->mappings), 2);
}

/* Pages of two regions, both lost before either was counted, are counted once. */
static void evict_test_two_lost(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);
	struct farswap_mapping *other = place_link(test, REGION + 1);
	struct farswap_mapping *left = place_link(test, REGION + 2);

	place_store(place, 5);
	bitmap_set(left->missing, 0, 3);
	spin_lock(&farswap_state_lock);
	farswap_slabs_lose_one(place->donor, REGION);
	farswap_slabs_lose_one(place->donor, REGION + 1);
	spin_unlock(&farswap_state_lock);
	KUNIT_EXPECT_EQ(test, place->slab.nr_uncounted, 2);
	farswap_slabs_count_lost(place->donor);
	KUNIT_EXPECT_EQ(test, place->slab.nr_uncounted, 0);
	KUNIT_EXPECT_EQ(test, mapping->lost, 0);
	KUNIT_EXPECT_EQ(test, other->lost, 3);
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is_slabs(left));
}

/* A mapping that is being evacuated has the pages of a lost one that is not counted yet. */
static void evict_test_lost_is_no_copy(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);
	struct farswap_mapping *leaves = place_link(test, REGION + 1);
	struct farswap_mapping *left = place_link(test, REGION + 2);
	unsigned int generation = place->slab.generation;

	place_store(place, 5);
	bitmap_set(left->missing, 0, 3);
	KUNIT_EXPECT_FALSE(test, farswap_unmap_would_lose(leaves));
	spin_lock(&farswap_state_lock);
	farswap_slabs_lose_one(place->donor, REGION);
	spin_unlock(&farswap_state_lock);
	KUNIT_EXPECT_NE(test, place->slab.generation, generation);
	KUNIT_EXPECT_TRUE(test, farswap_unmap_would_lose(leaves));
	farswap_slabs_count_lost(place->donor);
	KUNIT_EXPECT_EQ(test, mapping->lost, 0);
	KUNIT_EXPECT_TRUE(test, farswap_unmap_would_lose(leaves));
	bitmap_zero(left->missing, SLOTS);
	KUNIT_EXPECT_FALSE(test, farswap_unmap_would_lose(leaves));
}

static unsigned int looks, looks_locked;

/* Whether farswap_state_lock is contended. Other holders are brief. */
static bool state_is_locked(void)
{
	ktime_t until = ktime_add_ms(ktime_get(), 100);

	while (!spin_trylock(&farswap_state_lock))
		if (ktime_after(ktime_get(), until))
			return true;
	spin_unlock(&farswap_state_lock);
	return false;
}

static int look_unlocked(struct farswap_slab *slab, unsigned int slot)
{
	if (!(looks++ % BITS_PER_LONG) && !looks_locked)
		looks_locked += state_is_locked();
	return -ENOENT;
}

/* Counting the lost pages of a donor never blocks others on the state lock. */
static void evict_test_counts_unlocked(struct kunit *test)
{
	struct place *place = place_make_of(test, SLOTS_MAX);
	struct farswap_mapping *mapping = place_link(test, REGION);
	struct farswap_mapping *other = place_link(test, REGION + 1);
	struct farswap_mapping *left = place_link(test, REGION + 2);
	u64 begun;

	place_store(place, SLOTS_MAX);
	bitmap_fill(left->missing, SLOTS_MAX);
	kunit_activate_static_stub(test, farswap_backup_state_of, look_unlocked);
	looks = 0;
	looks_locked = 0;
	begun = ktime_get_ns();
	place_lose(place, REGION);
	place_lose(place, REGION + 1);
	kunit_info(test, "%u looks at slots in %llu us\n", looks,
		   (ktime_get_ns() - begun) / 1000);
	kunit_deactivate_static_stub(test, farswap_backup_state_of);
	KUNIT_EXPECT_EQ(test, mapping->lost, 0);
	KUNIT_EXPECT_EQ(test, other->lost, SLOTS_MAX);
	KUNIT_EXPECT_GE(test, looks, SLOTS_MAX);
	KUNIT_EXPECT_EQ(test, looks_locked, 0);
}

/* It is given back, but its pages must be fetched first. */
static void evict_test_lost_while_draining(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);

	place->slab.state = FARSWAP_SLAB_DRAINING;
	place_lose(place, REGION);
	KUNIT_EXPECT_EQ(test, place->slab.state, FARSWAP_SLAB_DRAINING);
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED));
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_REVOKED));
	KUNIT_EXPECT_NE(test, mapping->state, FARSWAP_MAPPING_DEAD);
	KUNIT_EXPECT_FALSE(test, place_knows(place, REGION));
}

/* A late write counts only for regions that stay. */
static void evict_test_written_late(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);
	struct farswap_fanout fanout = { .nr_writes = 1 };

	fanout.writes[0].mapping = mapping;
	place->slab.state = FARSWAP_SLAB_DRAINING;
	KUNIT_EXPECT_TRUE(test, farswap_fanout_is_there(&fanout, 0, 1));
	farswap_evict_begin(place->donor, REGION, DEADLINE_MS);
	KUNIT_EXPECT_TRUE(test, farswap_fanout_is_there(&fanout, 0, 1));
	mapping->hurry_at = jiffies;
	KUNIT_EXPECT_FALSE(test, farswap_fanout_is_there(&fanout, 0, 1));
	fanout.writes[fanout.nr_writes++].mapping = place_link(test, REGION + 1);
	KUNIT_EXPECT_TRUE(test, farswap_fanout_is_there(&fanout, 0, 1));
}

/* A resumed donor requests evictions again; regions that it reports as revoked are gone. */
static void evict_test_suspect(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);
	struct farswap_mapping *lost = place_link(test, REGION + 1);

	place_lose(place, REGION + 1);
	place->slab.state = FARSWAP_SLAB_DRAINING;
	farswap_evict_begin(place->donor, REGION, DEADLINE_MS);
	evict_due(&mapping->evict_timer);
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED));
	place_suspend(place);
	KUNIT_EXPECT_FALSE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED));
	KUNIT_EXPECT_FALSE(test, timer_pending(&mapping->evict_timer));
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is(lost, FARSWAP_MAPPING_DEADLINE_PASSED));
}

/* The request came on a connection that failed before it was used. */
static void evict_test_requested_while_suspect(struct kunit *test)
{
	struct place *place = place_make(test);
	struct farswap_mapping *mapping = place_link(test, REGION);

	place->slab.state = FARSWAP_SLAB_DRAINING;
	place->donor->io = FARSWAP_DONOR_IO_SUSPENDED;
	farswap_evict_begin(place->donor, REGION, DEADLINE_MS);
	evict_due(&mapping->evict_timer);
	KUNIT_EXPECT_FALSE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED));
	KUNIT_EXPECT_TRUE(test, timer_pending(&mapping->evict_timer));
	place->donor->io = FARSWAP_DONOR_IO_WORKS;
	evict_due(&mapping->evict_timer);
	KUNIT_EXPECT_TRUE(test, farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED));
}

static struct kunit_case evict_cases[] = {
	KUNIT_CASE(evict_test_requested_early),
	KUNIT_CASE(evict_test_lost_early),
	KUNIT_CASE(evict_test_many_early),
	KUNIT_CASE(evict_test_requested),
	KUNIT_CASE(evict_test_lost),
	KUNIT_CASE(evict_test_lost_of_two),
	KUNIT_CASE(evict_test_donor_lost),
	KUNIT_CASE(evict_test_two_lost),
	KUNIT_CASE(evict_test_lost_is_no_copy),
	KUNIT_CASE_SLOW(evict_test_counts_unlocked),
	KUNIT_CASE(evict_test_lost_while_draining),
	KUNIT_CASE(evict_test_written_late),
	KUNIT_CASE(evict_test_suspect),
	KUNIT_CASE(evict_test_requested_while_suspect),
	{}
};

static struct kunit_suite evict_suite = {
	.name		= "farswap_evict",
	.exit		= place_end,
	.test_cases	= evict_cases,
};

kunit_test_suite(evict_suite);
