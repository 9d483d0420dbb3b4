/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard of copies: while a run of slots is copied to a mapping, a store to one of them skips
 * that mapping, other stores don't, and the copy of that slot is discarded.
 */
#include <kunit/test.h>

#define SLOTS	128
#define FIRST	FARSWAP_GUARD_SLOTS

static struct farswap_mapping *guard_test_mapping(struct kunit *test)
{
	struct farswap_mapping *mapping =
		kunit_kzalloc(test, struct_size(mapping, missing, BITS_TO_LONGS(SLOTS)),
			      GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mapping);
	mapping->slab = kunit_kzalloc(test, sizeof(*mapping->slab), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mapping->slab);
	bitmap_fill(mapping->missing, SLOTS);
	return mapping;
}

/* Try stores at every position and of every length, inside and outside the run. */
static void guard_test_excludes(struct kunit *test)
{
	struct farswap_mapping *to = guard_test_mapping(test), *other = guard_test_mapping(test);
	unsigned int slot, nr, wrong = 0;
	struct farswap_guard_copy *run;

	KUNIT_EXPECT_FALSE(test, farswap_guard_copy_excludes(to, FIRST, 1));
	KUNIT_ASSERT_TRUE(test, guard_copy_try_begin(to, FIRST, &run));
	for (slot = 0; slot < SLOTS; slot++)
		for (nr = 1; nr <= SLOTS - slot; nr++) {
			wrong += farswap_guard_copy_excludes(to, slot, nr) !=
				 (slot < FIRST + FARSWAP_GUARD_SLOTS && slot + nr > FIRST);
			wrong += farswap_guard_copy_excludes(other, slot, nr);
		}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	bitmap_zero(other->missing, SLOTS);
	farswap_guard_copy_end(run, to, other->missing);
	KUNIT_EXPECT_FALSE(test, farswap_guard_copy_excludes(to, FIRST, FARSWAP_GUARD_SLOTS));
}

/* A slot counts as copied unless it was stored to or its copy failed. */
static void guard_test_stale(struct kunit *test)
{
	struct farswap_mapping *to = guard_test_mapping(test);
	DECLARE_BITMAP(moved, SLOTS);
	struct farswap_guard_copy *run;
	unsigned int i;

	for (i = 0; i < FARSWAP_GUARD_SLOTS; i++) {
		bitmap_fill(to->missing, SLOTS);
		bitmap_zero(moved, SLOTS);
		bitmap_set(moved, FIRST, FARSWAP_GUARD_SLOTS - 1);
		KUNIT_ASSERT_TRUE(test, guard_copy_try_begin(to, FIRST, &run));
		/* A store of a large folio that may overlap the run in part. */
		KUNIT_EXPECT_TRUE(test, farswap_guard_copy_excludes(to, FIRST + i, 16));
		farswap_guard_copy_end(run, to, moved);
		KUNIT_EXPECT_TRUE(test, bitmap_empty(moved, SLOTS));
		KUNIT_EXPECT_EQ(test, find_first_zero_bit(to->missing, SLOTS), i ? FIRST :
				FIRST + 16);
		KUNIT_EXPECT_EQ(test, bitmap_weight(to->missing, SLOTS),
				SLOTS - (FARSWAP_GUARD_SLOTS - 1) +
				min(16U, FARSWAP_GUARD_SLOTS - 1 - i));
		KUNIT_EXPECT_EQ(test, find_next_zero_bit(to->missing, FIRST + i + 16, FIRST + i),
				FIRST + i + 16);
		KUNIT_EXPECT_TRUE(test, test_bit(FIRST + FARSWAP_GUARD_SLOTS - 1, to->missing));
	}
}

/* One at a time to a mapping, and so many to all. */
static void guard_test_places(struct kunit *test)
{
	struct farswap_mapping *to[FARSWAP_GUARD_COPIES + 1];
	struct farswap_guard_copy *runs[FARSWAP_GUARD_COPIES], *none;
	DECLARE_BITMAP(moved, SLOTS) = {};
	unsigned int i;

	for (i = 0; i <= FARSWAP_GUARD_COPIES; i++)
		to[i] = guard_test_mapping(test);
	for (i = 0; i < FARSWAP_GUARD_COPIES; i++) {
		KUNIT_ASSERT_TRUE(test, guard_copy_try_begin(to[i], FIRST, &runs[i]));
		KUNIT_EXPECT_FALSE(test, guard_copy_try_begin(to[i], 0, &none));
		KUNIT_EXPECT_EQ(test, farswap_guard_copying, i + 1);
	}
	KUNIT_EXPECT_FALSE(test, guard_copy_try_begin(to[FARSWAP_GUARD_COPIES], FIRST, &none));
	KUNIT_EXPECT_FALSE(test, farswap_guard_copy_excludes(to[FARSWAP_GUARD_COPIES], FIRST, 1));
	farswap_guard_copy_end(runs[2], to[2], moved);
	KUNIT_EXPECT_TRUE(test, guard_copy_try_begin(to[FARSWAP_GUARD_COPIES], FIRST, &runs[2]));
	KUNIT_EXPECT_TRUE(test, farswap_guard_copy_excludes(to[FARSWAP_GUARD_COPIES], FIRST, 1));
	to[2] = to[FARSWAP_GUARD_COPIES];
	for (i = 0; i < FARSWAP_GUARD_COPIES; i++)
		farswap_guard_copy_end(runs[i], to[i], moved);
	KUNIT_EXPECT_EQ(test, farswap_guard_copying, 0);
}

static struct kunit_case guard_cases[] = {
	KUNIT_CASE(guard_test_excludes),
	KUNIT_CASE(guard_test_stale),
	KUNIT_CASE(guard_test_places),
	{}
};

static struct kunit_suite guard_suite = {
	.name		= "farswap_guard",
	.test_cases	= guard_cases,
};

kunit_test_suite(guard_suite);
