/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies: while a run of slots is copied to a mapping, whoever stores to one of them, and nobody
 * else, is to leave that mapping out; and that slot's copy has been in vain.
 */
#include <kunit/test.h>

#define SLOTS	128
#define FIRST	COPY_RUN

static struct farswap_mapping *copy_test_mapping(struct kunit *test)
{
	struct farswap_mapping *mapping =
		kunit_kzalloc(test, struct_size(mapping, missing, BITS_TO_LONGS(SLOTS)),
			      GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mapping);
	bitmap_fill(mapping->missing, SLOTS);
	return mapping;
}

/* Of all stores there are, near it and not. */
static void copy_test_excludes(struct kunit *test)
{
	struct farswap_mapping *to = copy_test_mapping(test), *other = copy_test_mapping(test);
	unsigned int slot, nr, wrong = 0;
	struct copy_run *run;

	KUNIT_EXPECT_FALSE(test, farswap_copy_excludes(to, FIRST, 1));
	KUNIT_ASSERT_TRUE(test, copy_try_begin(to, FIRST, &run));
	for (slot = 0; slot < SLOTS; slot++)
		for (nr = 1; nr <= SLOTS - slot; nr++) {
			wrong += farswap_copy_excludes(to, slot, nr) !=
				 (slot < FIRST + COPY_RUN && slot + nr > FIRST);
			wrong += farswap_copy_excludes(other, slot, nr);
		}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	bitmap_zero(other->missing, SLOTS);
	copy_end(run, to, other->missing);
	KUNIT_EXPECT_FALSE(test, farswap_copy_excludes(to, FIRST, COPY_RUN));
}

/* What was stored to meanwhile has not arrived, nor has what could not be copied. */
static void copy_test_stale(struct kunit *test)
{
	struct farswap_mapping *to = copy_test_mapping(test);
	DECLARE_BITMAP(moved, SLOTS);
	struct copy_run *run;
	unsigned int i;

	for (i = 0; i < COPY_RUN; i++) {
		bitmap_fill(to->missing, SLOTS);
		bitmap_zero(moved, SLOTS);
		bitmap_set(moved, FIRST, COPY_RUN - 1);
		KUNIT_ASSERT_TRUE(test, copy_try_begin(to, FIRST, &run));
		/* A large folio, of which it may have a part. */
		KUNIT_EXPECT_TRUE(test, farswap_copy_excludes(to, FIRST + i, 16));
		copy_end(run, to, moved);
		KUNIT_EXPECT_TRUE(test, bitmap_empty(moved, SLOTS));
		KUNIT_EXPECT_EQ(test, find_first_zero_bit(to->missing, SLOTS), i ? FIRST :
				FIRST + 16);
		KUNIT_EXPECT_EQ(test, bitmap_weight(to->missing, SLOTS),
				SLOTS - (COPY_RUN - 1) + min(16U, COPY_RUN - 1 - i));
		KUNIT_EXPECT_EQ(test, find_next_zero_bit(to->missing, FIRST + i + 16, FIRST + i),
				FIRST + i + 16);
		KUNIT_EXPECT_TRUE(test, test_bit(FIRST + COPY_RUN - 1, to->missing));
	}
}

/* One at a time to a mapping, and so many to all. */
static void copy_test_places(struct kunit *test)
{
	struct farswap_mapping *to[COPY_COPIES + 1];
	struct copy_run *runs[COPY_COPIES], *none;
	DECLARE_BITMAP(moved, SLOTS) = {};
	unsigned int i;

	for (i = 0; i <= COPY_COPIES; i++)
		to[i] = copy_test_mapping(test);
	for (i = 0; i < COPY_COPIES; i++) {
		KUNIT_ASSERT_TRUE(test, copy_try_begin(to[i], FIRST, &runs[i]));
		KUNIT_EXPECT_FALSE(test, copy_try_begin(to[i], 0, &none));
		KUNIT_EXPECT_EQ(test, farswap_copying, i + 1);
	}
	KUNIT_EXPECT_FALSE(test, copy_try_begin(to[COPY_COPIES], FIRST, &none));
	KUNIT_EXPECT_FALSE(test, farswap_copy_excludes(to[COPY_COPIES], FIRST, 1));
	copy_end(runs[2], to[2], moved);
	KUNIT_EXPECT_TRUE(test, copy_try_begin(to[COPY_COPIES], FIRST, &runs[2]));
	KUNIT_EXPECT_TRUE(test, farswap_copy_excludes(to[COPY_COPIES], FIRST, 1));
	to[2] = to[COPY_COPIES];
	for (i = 0; i < COPY_COPIES; i++)
		copy_end(runs[i], to[i], moved);
	KUNIT_EXPECT_EQ(test, farswap_copying, 0);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE(copy_test_excludes),
	KUNIT_CASE(copy_test_stale),
	KUNIT_CASE(copy_test_places),
	{}
};

static struct kunit_suite copy_suite = {
	.name		= "farswap_copy",
	.test_cases	= copy_cases,
};

kunit_test_suite(copy_suite);
