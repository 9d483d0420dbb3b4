/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The units of a packed slab: objects are aligned, never overlap, and are adjacent where they are
 * allocated one after the other; freed units can be allocated again.
 */
#include <kunit/test.h>

#define PACKMAP_UNITS	1024U

static void packmap_test_classes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, farswap_packmap_class(1, 4096), 0U);
	KUNIT_EXPECT_EQ(test, farswap_packmap_class(512, 4096), 0U);
	KUNIT_EXPECT_EQ(test, farswap_packmap_class(513, 4096), 1U);
	KUNIT_EXPECT_EQ(test, farswap_packmap_class(1024, 4096), 1U);
	KUNIT_EXPECT_EQ(test, farswap_packmap_class(1025, 4096), 2U);
	KUNIT_EXPECT_EQ(test, farswap_packmap_class(2048, 4096), 2U);
	KUNIT_EXPECT_EQ(test, farswap_packmap_class(2049, 4096), 3U);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_packmap_class(0, 4096) == FARSWAP_CLASS_RAW,
			      "a page that is not compressed takes all units of a page");
}

static void packmap_test_adjacent(struct kunit *test)
{
	struct farswap_packmap *map = farswap_packmap_alloc(PACKMAP_UNITS);
	unsigned int class, i, apart = 0;
	int first[FARSWAP_CLASSES], unit;

	for (class = 0; class < FARSWAP_CLASSES; class++)
		first[class] = farswap_packmap_take(map, class);
	/* The classes take turns, as the pages of a batch do. */
	for (i = 1; i < BITS_PER_LONG >> FARSWAP_CLASS_RAW; i++)
		for (class = 0; class < FARSWAP_CLASSES; class++) {
			unit = farswap_packmap_take(map, class);
			apart += unit != first[class] + (int)(i << class);
		}
	KUNIT_EXPECT_TRUE_MSG(test, !apart, "objects of a class are adjacent");
	farswap_packmap_free(map);
}

static void packmap_test_full(struct kunit *test)
{
	struct farswap_packmap *map = farswap_packmap_alloc(PACKMAP_UNITS);
	unsigned int class, nr, left, i;
	int unit;

	for (class = 0; class < FARSWAP_CLASSES; class++) {
		for (nr = 0; (unit = farswap_packmap_take(map, class)) >= 0; nr++)
			;
		KUNIT_EXPECT_TRUE_MSG(test, nr == PACKMAP_UNITS >> class && unit == -ENOSPC,
				      "class %u fills all units, and no more", class);
		KUNIT_EXPECT_TRUE_MSG(test, !farswap_packmap_is_ample(map), "no room is left");
		for (i = 0; i < PACKMAP_UNITS; i += 1U << class)
			farswap_packmap_put(map, i, class);
		for (left = 0, i = 0; i < map->nr_words; i++)
			left += map->used[i] || map->first[i];
		KUNIT_EXPECT_TRUE_MSG(test, !left && !atomic_read(&map->nr_used),
				      "all units of class %u are free again", class);
	}
	farswap_packmap_free(map);
}

/* Small objects everywhere leave no room for a page, and one block that they leave is found. */
static void packmap_test_holes(struct kunit *test)
{
	struct farswap_packmap *map = farswap_packmap_alloc(PACKMAP_UNITS);
	unsigned int i;

	for (i = 0; i < PACKMAP_UNITS; i++)
		farswap_packmap_take(map, 0);
	for (i = 0; i < PACKMAP_UNITS; i++)
		if (i % FARSWAP_UNITS)
			farswap_packmap_put(map, i, 0);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_packmap_take(map, FARSWAP_CLASS_RAW) == -ENOSPC,
			      "a page does not fit between small objects");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_packmap_take(map, 2) >= 0, "half a page does");
	for (i = 0; i < PACKMAP_UNITS; i += FARSWAP_UNITS)
		if (i != 4 * FARSWAP_UNITS)
			farswap_packmap_put(map, i, 0);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_packmap_take(map, FARSWAP_CLASS_RAW) >= 0,
			      "a page fits into a block that became free");
	farswap_packmap_free(map);
}

static struct kunit_case packmap_cases[] = {
	KUNIT_CASE(packmap_test_classes),
	KUNIT_CASE(packmap_test_adjacent),
	KUNIT_CASE(packmap_test_full),
	KUNIT_CASE(packmap_test_holes),
	{}
};

static struct kunit_suite packmap_suite = {
	.name = "farswap_packmap",
	.test_cases = packmap_cases,
};

kunit_test_suite(packmap_suite);
