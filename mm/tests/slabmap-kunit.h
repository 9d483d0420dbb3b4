/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slab map: geometry, publication of slabs, and the bits of slots.
 */
#include <kunit/test.h>

struct farswap_slab {
	int number;
};

static struct farswap_slab *slabmap_at(const struct farswap_slabmap *map, unsigned long offset)
{
	unsigned int slot;

	return farswap_slabmap_find(map, offset, &slot);
}

static unsigned int slabmap_slot(const struct farswap_slabmap *map, unsigned long offset)
{
	unsigned int slot;

	farswap_slabmap_find(map, offset, &slot);
	return slot;
}

static void slabmap_test_geometry(struct kunit *test)
{
	struct farswap_slabmap *map = farswap_slabmap_alloc(1000, 9, 9, 0, 0);
	struct farswap_slab a, b;

	KUNIT_EXPECT_TRUE_MSG(test, map && map->nr_slabs == 2, "1000 slots are two slabs of 512");
	KUNIT_EXPECT_TRUE_MSG(test, !slabmap_at(map, 0), "no slab at first");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slabmap_insert(map, 0, &a) == &a,
			      "a slab is put in its place");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_slabmap_insert(map, 0, &b) == &a,
			      "who comes second gets the first's");
	KUNIT_EXPECT_TRUE_MSG(test, slabmap_at(map, 0) == &a &&
			      slabmap_at(map, 511) == &a,
			      "it covers its first and its last slot");
	KUNIT_EXPECT_TRUE_MSG(test, !slabmap_at(map, 512), "and not the next");
	farswap_slabmap_insert(map, 1, &b);
	KUNIT_EXPECT_TRUE_MSG(test, slabmap_at(map, 999) == &b,
			      "the last slot of a short slab");
	KUNIT_EXPECT_TRUE_MSG(test, !slabmap_at(map, 1000) &&
			      !slabmap_at(map, 1UL << 40), "past the end there is none");
	KUNIT_EXPECT_TRUE_MSG(test, slabmap_slot(map, 513) == 1 &&
			      slabmap_slot(map, 511) == 511, "a slot's place in its slab");
	farswap_slabmap_free(map);
}

/* With any geometry, there are as many slots as positions. */
static unsigned int slabmap_wrong_places(const struct farswap_slabmap *map, unsigned long nr)
{
	unsigned long offset, index, first;
	unsigned int wrong = 0, slot;

	for (offset = 0; offset < nr; offset++) {
		index = farswap_slabmap_place(map, offset) >> map->shift;
		slot = slabmap_slot(map, offset);
		first = offset >> map->cluster_shift << map->cluster_shift;
		wrong += index >= map->nr_slabs ||
			 farswap_slabmap_offset(map, index, slot) != offset ||
			 slabmap_slot(map, first) + offset - first != slot;
	}
	for (index = 0; index < map->nr_slabs; index++)
		for (slot = 0; slot < 1U << map->shift; slot++)
			nr -= farswap_slabmap_offset(map, index, slot) < map->nr_slots;
	return wrong + (nr > 0);
}

/* Slabs that are not followed by the slab of the next slot. */
static unsigned int slabmap_wrong_next(const struct farswap_slabmap *map)
{
	unsigned long index, next, end = map->nr_slots;
	unsigned int slot, wrong = 0;

	for (index = map->nr_slabs; index--;) {
		next = farswap_slabmap_next(map, index);
		wrong += next != end && (next < map->nr_slots || end < map->nr_slots);
		for (slot = 1U << map->shift; slot--;)
			if (farswap_slabmap_offset(map, index, slot) < map->nr_slots)
				end = farswap_slabmap_offset(map, index, slot);
	}
	return wrong;
}

static void slabmap_test_positions(struct kunit *test)
{
	static const struct {
		unsigned long nr;
		unsigned int shift, cluster_shift, columns_shift;
	} maps[] = {
		{ 1000, 9, 9, 0 },
		{ 5000, 9, 9, 3 },
		{ 5000, 10, 8, 2 },
		{ 5000, 8, 9, 3 },
		{ 3, 9, 9, 5 },
		{ (4 << 14) + 600, 9, 9, 5 },
		{ (4 << 14) + 600, 11, 9, 5 },
		{ 1 << 14, 11, 9, 5 },
		{ (3 << 14) + 700, 14, 9, 5 },
		{ (2 << 14) + (9 << 9), 10, 9, 5 },
	};
	struct farswap_slabmap *map;
	unsigned int i, wrong;

	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		map = farswap_slabmap_alloc(maps[i].nr, maps[i].shift, maps[i].cluster_shift,
					    maps[i].columns_shift, 0);
		KUNIT_EXPECT_TRUE_MSG(test, map, "a map is made");
		if (!map)
			continue;
		wrong = slabmap_wrong_places(map, maps[i].nr) + slabmap_wrong_next(map);
		farswap_slabmap_free(map);
		KUNIT_EXPECT_EQ(test, wrong, 0);
	}
}

/* The order in which 6.12 hands out clusters fills one slab after the other. */
static void slabmap_test_order(struct kunit *test)
{
	struct farswap_slabmap *map = farswap_slabmap_alloc(5 << 14, 14, 9, 5, 0);
	unsigned long column, row, n = 0, wrong = 0;

	KUNIT_EXPECT_TRUE_MSG(test, map, "a map is made");
	for (column = 0; map && column < 32; column++)
		for (row = 0; row < 5; row++, n++)
			wrong += farswap_slabmap_place(map, (row * 32 + column) << 9) != n << 9;
	farswap_slabmap_free(map);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, n, 5 * 32);
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
	struct farswap_slabmap *map = farswap_slabmap_alloc(1 << 20, 14, 9, 5, 0);

	KUNIT_EXPECT_TRUE_MSG(test, map->nr_slabs == 64 &&
			      struct_size(map, slab, map->nr_slabs) <= 64 * 8 + 64,
			      "the map takes a pointer a slab");
	farswap_slabmap_free(map);
}

static struct kunit_case slabmap_cases[] = {
	KUNIT_CASE(slabmap_test_geometry),
	KUNIT_CASE(slabmap_test_positions),
	KUNIT_CASE(slabmap_test_order),
	KUNIT_CASE(slabmap_test_bits),
	KUNIT_CASE(slabmap_test_size),
	{}
};

static struct kunit_suite slabmap_suite = {
	.name		= "farswap_slabmap",
	.test_cases	= slabmap_cases,
};

kunit_test_suite(slabmap_suite);
