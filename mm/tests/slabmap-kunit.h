/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slab map: geometry, publication of slabs, and the bits of slots.
 */
#include <kunit/test.h>

struct farswap_slab {
	int number;
};

static void slabmap_test_geometry(struct kunit *test)
{
	struct farswap_slabmap *map = farswap_slabmap_alloc(1000, 9);
	struct farswap_slab a, b;

	KUNIT_EXPECT_TRUE_MSG(test, map && map->nr_slabs == 2, "1000 slots are two slabs of 512");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_slabmap_find(map, 0), "no slab at first");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slabmap_insert(map, 511, &a) == &a,
			      "a slab is put in its place");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slabmap_insert(map, 3, &b) == &a,
			      "who comes second gets the first's");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slabmap_find(map, 0) == &a &&
			      farswap_slabmap_find(map, 511) == &a,
			      "it covers its first and its last slot");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_slabmap_find(map, 512), "and not the next");
	farswap_slabmap_insert(map, 999, &b);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slabmap_find(map, 999) == &b,
			      "the last slot of a short slab");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_slabmap_find(map, 1000) &&
			      !farswap_slabmap_find(map, 1UL << 40), "past the end there is none");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slabmap_slot(map, 513) == 1 &&
			      farswap_slabmap_slot(map, 511) == 511, "a slot's place in its slab");
	farswap_slabmap_free(map);
}

static void slabmap_test_bits(struct kunit *test)
{
	struct farswap_slotbits bits;

	KUNIT_EXPECT_TRUE_MSG(test, !farswap_slotbits_alloc(&bits, 512), "bits are made");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_slotbits_any(bits.remote, 0, 512) &&
			      !farswap_slotbits_any(bits.unbacked, 0, 512), "clear at first");
	farswap_slotbits_set(bits.remote, 60, 10);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slotbits_full(bits.remote, 60, 10),
			      "a range over two words is set");
	KUNIT_EXPECT_TRUE_MSG(test, !test_bit(59, bits.remote) && !test_bit(70, bits.remote),
			      "its neighbours are not");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_slotbits_any(bits.unbacked, 0, 512),
			      "nor is anything in the other map");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_slotbits_full(bits.remote, 59, 3),
			      "a range with a hole is not full");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slotbits_any(bits.remote, 58, 3) &&
			      !farswap_slotbits_any(bits.remote, 50, 10),
			      "but it has some, and the one before it none");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slotbits_clear(bits.remote, 0, 64) == 4,
			      "clearing tells how many were set");
	KUNIT_EXPECT_TRUE_MSG(test, !test_bit(63, bits.remote) && test_bit(64, bits.remote),
			      "it clears no other slot's");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slotbits_clear(bits.remote, 0, 64) == 0,
			      "clearing twice clears nothing");
	farswap_slotbits_free(&bits);
}

/* Two bits a slot, and little else. */
static void slabmap_test_size(struct kunit *test)
{
	struct farswap_slabmap *map = farswap_slabmap_alloc(1 << 20, 14);

	KUNIT_EXPECT_TRUE_MSG(test, map->nr_slabs == 64 &&
			      struct_size(map, slab, map->nr_slabs) <= 64 * 8 + 64,
			      "the map takes a pointer a slab");
	farswap_slabmap_free(map);
}

static struct kunit_case slabmap_cases[] = {
	KUNIT_CASE(slabmap_test_geometry),
	KUNIT_CASE(slabmap_test_bits),
	KUNIT_CASE(slabmap_test_size),
	{}
};

static struct kunit_suite slabmap_suite = {
	.name		= "farswap_slabmap",
	.test_cases	= slabmap_cases,
};

kunit_test_suite(slabmap_suite);
