/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: a store makes its slots stale in all runs that have them, and avoids a region to
 * which a run writes them. A stale slot is neither written nor counted as written.
 */
#include <kunit/test.h>

#define SLOTS	128
#define FIRST	FARSWAP_GUARD_SLOTS
#define ALL	GENMASK(FARSWAP_GUARD_SLOTS - 1, 0)

struct guard_test {
	struct farswap_device device;
	struct farswap_slab slab;
	struct farswap_mapping *to[2];
};

static struct farswap_mapping *guard_test_mapping(struct kunit *test, struct farswap_slab *slab)
{
	struct farswap_mapping *mapping =
		kunit_kzalloc(test, struct_size(mapping, missing, BITS_TO_LONGS(SLOTS)),
			      GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mapping);
	mapping->slab = slab;
	bitmap_fill(mapping->missing, SLOTS);
	return mapping;
}

/* A slab with two mappings, and with all remote bits set. */
static struct guard_test *guard_test_slab(struct kunit *test)
{
	struct guard_test *place = kunit_kzalloc(test, sizeof(*place), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, place);
	place->device.map = kunit_kzalloc(test, sizeof(*place->device.map), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, place->device.map);
	place->device.map->rows = 1;
	place->device.map->cluster_shift = ilog2(SLOTS);
	place->device.map->nr_slots = SLOTS;
	place->slab.device = &place->device;
	place->slab.slot_shift = PAGE_SHIFT;
	place->slab.nr_slots = SLOTS;
	place->slab.bits.remote = kunit_kzalloc(test, SLOTS / BITS_PER_BYTE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, place->slab.bits.remote);
	bitmap_fill(place->slab.bits.remote, SLOTS);
	for (i = 0; i < ARRAY_SIZE(place->to); i++) {
		place->to[i] = guard_test_mapping(test, &place->slab);
		RCU_INIT_POINTER(place->slab.mapping[i], place->to[i]);
	}
	return place;
}

/* Try stores of every position and length, inside the run and outside. */
static void guard_test_avoids(struct kunit *test)
{
	struct guard_test *place = guard_test_slab(test), *other = guard_test_slab(test);
	unsigned int slot, nr, wrong = 0;
	struct farswap_guard_run *run;

	KUNIT_EXPECT_EQ(test, farswap_guard_look(&place->slab, FIRST, 1), 0);
	for (slot = 0; slot < SLOTS; slot++)
		for (nr = 1; nr <= SLOTS - slot; nr++) {
			run = farswap_guard_begin(&place->slab, FIRST);
			KUNIT_ASSERT_NOT_NULL(test, run);
			farswap_guard_write(run, place->to[1], ALL, NULL, 0);
			wrong += farswap_guard_look(&place->slab, slot, nr) !=
				 (slot < FIRST + FARSWAP_GUARD_SLOTS && slot + nr > FIRST ?
				  BIT(1) : 0);
			wrong += farswap_guard_look(&other->slab, slot, nr);
			farswap_guard_end(run, place->to[1], false);
		}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, farswap_guard_look(&place->slab, FIRST, FARSWAP_GUARD_SLOTS), 0);
}

/* A slot counts as written unless it was stored to or its write failed. */
static void guard_test_stale(struct kunit *test)
{
	struct guard_test *place = guard_test_slab(test);
	struct farswap_mapping *to = place->to[0];
	struct farswap_guard_run *run;
	unsigned int i, avoid, nr;

	for (i = 0; i < FARSWAP_GUARD_SLOTS; i++) {
		bitmap_fill(to->missing, SLOTS);
		bitmap_fill(place->slab.bits.remote, SLOTS);
		run = farswap_guard_begin(&place->slab, FIRST);
		KUNIT_ASSERT_NOT_NULL(test, run);
		KUNIT_EXPECT_EQ(test, farswap_guard_write(run, to, ALL, NULL, 0), ALL);
		run->arrived = ALL >> 1;
		/* A store of a large folio that may overlap the run in part. */
		nr = farswap_guard_invalidate(&place->slab, FIRST + i, 16, &avoid);
		KUNIT_EXPECT_EQ(test, nr, 16);
		KUNIT_EXPECT_EQ(test, avoid, BIT(0));
		nr = farswap_guard_end(run, to, true);
		KUNIT_EXPECT_EQ(test, nr, FARSWAP_GUARD_SLOTS - 1 -
				min(16U, FARSWAP_GUARD_SLOTS - 1 - i));
		KUNIT_EXPECT_EQ(test, find_first_zero_bit(to->missing, SLOTS), i ? FIRST :
				FIRST + 16);
		KUNIT_EXPECT_EQ(test, bitmap_weight(to->missing, SLOTS), SLOTS - nr);
		KUNIT_EXPECT_EQ(test, find_next_zero_bit(to->missing, FIRST + i + 16, FIRST + i),
				FIRST + i + 16);
		/* The end sets no remote bit that the store has cleared. */
		KUNIT_EXPECT_GE(test, find_next_bit(place->slab.bits.remote, SLOTS, FIRST + i),
				FIRST + i + 16);
		KUNIT_EXPECT_TRUE(test, test_bit(FIRST + FARSWAP_GUARD_SLOTS - 1, to->missing));
	}
}

/* A slot that is stored to before the run begins to write is not written. */
static void guard_test_early(struct kunit *test)
{
	struct guard_test *place = guard_test_slab(test);
	struct farswap_guard_run *run = farswap_guard_begin(&place->slab, FIRST);
	unsigned int avoid;

	KUNIT_ASSERT_NOT_NULL(test, run);
	farswap_guard_invalidate(&place->slab, FIRST + 1, 1, &avoid);
	KUNIT_EXPECT_EQ(test, avoid, 0);
	KUNIT_EXPECT_EQ(test, farswap_guard_write(run, place->to[0], ALL, NULL, 0), ALL & ~BIT(1));
	KUNIT_EXPECT_EQ(test, farswap_guard_look(&place->slab, FIRST + 1, 1), 0);
	KUNIT_EXPECT_EQ(test, farswap_guard_look(&place->slab, FIRST + 2, 1), BIT(0));
	run->arrived = ALL & ~BIT(1);
	KUNIT_EXPECT_EQ(test, farswap_guard_end(run, place->to[0], true),
			FARSWAP_GUARD_SLOTS - 2);
}

/* The slots that a rebuild writes become stale in all regions, those of a copy do not. */
static void guard_test_marks(struct kunit *test)
{
	struct guard_test *place = guard_test_slab(test);
	struct farswap_guard_run *run = farswap_guard_begin(&place->slab, FIRST);

	KUNIT_ASSERT_NOT_NULL(test, run);
	bitmap_zero(place->to[1]->missing, SLOTS);
	clear_bit(FIRST + 2, place->slab.bits.remote);
	farswap_guard_write(run, place->to[0], ALL, NULL, 0);
	KUNIT_EXPECT_EQ(test, bitmap_weight(place->to[1]->missing, SLOTS), 1);
	KUNIT_EXPECT_TRUE(test, test_bit(FIRST + 2, place->to[1]->missing));
	run->arrived = ALL;
	KUNIT_EXPECT_EQ(test, farswap_guard_end(run, place->to[0], true), FARSWAP_GUARD_SLOTS);
	KUNIT_EXPECT_TRUE(test, test_bit(FIRST + 2, place->slab.bits.remote));
	KUNIT_EXPECT_EQ(test, bitmap_weight(place->to[1]->missing, SLOTS), 1);
}

/* One run at a time writes a slot to a region; many runs write to others. */
static void guard_test_places(struct kunit *test)
{
	struct guard_test *place = guard_test_slab(test);
	struct farswap_guard_run *runs[FARSWAP_GUARD_RUNS];
	unsigned int i;

	for (i = 0; i < FARSWAP_GUARD_RUNS; i++) {
		runs[i] = farswap_guard_begin(&place->slab, i == 3 ? 0 : FIRST);
		KUNIT_ASSERT_NOT_NULL(test, runs[i]);
		KUNIT_EXPECT_EQ(test, guard_running, i + 1);
	}
	KUNIT_EXPECT_NULL(test, farswap_guard_begin(&place->slab, 0));
	KUNIT_EXPECT_TRUE(test, guard_try_write(runs[0], place->to[0], ALL, NULL));
	KUNIT_EXPECT_FALSE(test, guard_try_write(runs[1], place->to[0], ALL, NULL));
	KUNIT_EXPECT_TRUE(test, guard_try_write(runs[2], place->to[1], ALL, NULL));
	KUNIT_EXPECT_TRUE(test, guard_try_write(runs[3], place->to[0], ALL, NULL));
	KUNIT_EXPECT_EQ(test, farswap_guard_look(&place->slab, FIRST, 1), BIT(0) | BIT(1));
	farswap_guard_end(runs[0], place->to[0], false);
	KUNIT_EXPECT_TRUE(test, guard_try_write(runs[1], place->to[0], ALL, NULL));
	for (i = 1; i < FARSWAP_GUARD_RUNS; i++)
		farswap_guard_end(runs[i], NULL, false);
	KUNIT_EXPECT_EQ(test, guard_running, 0);
}

static struct kunit_case guard_cases[] = {
	KUNIT_CASE(guard_test_avoids),
	KUNIT_CASE(guard_test_stale),
	KUNIT_CASE(guard_test_early),
	KUNIT_CASE(guard_test_marks),
	KUNIT_CASE(guard_test_places),
	{}
};

static struct kunit_suite guard_suite = {
	.name		= "farswap_guard",
	.test_cases	= guard_cases,
};

kunit_test_suite(guard_suite);
