/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packed slabs: a slab that is mapped again keeps the pages that only this machine has, and one
 * for which there is no memory is not taken for a full one.
 */
#include "tests/packed.h"

/* Time in which another task would have begun. */
#define PACK_TEST_MS	200

/**
 * struct pack_test_map - a slab that is mapped again
 * @work:	does it
 * @slab:	the slab
 * @ready:	result
 */
struct pack_test_map {
	struct work_struct work;
	struct farswap_slab *slab;
	bool ready;
};

static void pack_test_map_fn(struct work_struct *work)
{
	struct pack_test_map *map = container_of(work, struct pack_test_map, work);

	map->ready = farswap_pack_prepare(map->slab);
}

static bool pack_test_has(struct packed *packed, pgoff_t offset,
			  const struct farswap_object *expected)
{
	struct farswap_object object;

	return farswap_object_find(&packed->device, offset, &object) &&
	       object.value == expected->value;
}

/*
 * A store to a region that its slab has lost goes on while the slab is mapped again. The slab waits
 * until the store has made the page's staging copy known, and then keeps the page.
 */
static void pack_test_store(struct kunit *test)
{
	struct packed *packed = packed_begin(test);
	struct farswap_slab *slab = packed->slab[0];
	struct pack_test_map map = { .slab = slab };
	struct farswap_object stored, other;

	other = packed_store(test, packed, 7, PACKED_SMALL);
	KUNIT_ASSERT_TRUE(test, farswap_object_take(&packed->device, 8, PACKED_SMALL, &stored));
	slab->state = FARSWAP_SLAB_MAPPING;
	INIT_WORK_ONSTACK(&map.work, pack_test_map_fn);
	queue_work(system_unbound_wq, &map.work);
	msleep(PACK_TEST_MS);
	KUNIT_EXPECT_TRUE_MSG(test, pack_test_has(packed, 8, &stored),
			      "the page keeps its object while it is stored");
	set_bit(stored.slot, slab->bits.unbacked);
	farswap_pack_put(slab->pack);
	flush_work(&map.work);
	destroy_work_on_stack(&map.work);
	KUNIT_EXPECT_TRUE(test, map.ready);
	KUNIT_EXPECT_TRUE_MSG(test, pack_test_has(packed, 8, &stored),
			      "the page keeps its object after that");
	KUNIT_EXPECT_FALSE_MSG(test, pack_test_has(packed, 7, &other),
			       "a page that the device has is left to it");
	KUNIT_EXPECT_EQ(test, atomic_read(&slab->pack->map->nr_used), 1);
	packed_end(packed);
}

/* All units of pages that the device has are free again, whatever the sizes of the objects. */
static void pack_test_empty(struct kunit *test)
{
	struct packed *packed = packed_begin(test);
	struct farswap_packmap *map = packed->slab[0]->pack->map;
	unsigned int bytes = PACKED_SMALL, i;

	for (i = 1; i <= 64; i++) {
		packed_store(test, packed, i, bytes);
		bytes = bytes < PAGE_SIZE / 2 ? 2 * bytes : bytes ? 0 : PACKED_SMALL;
	}
	/* Objects of one unit fill the gaps between the others. */
	for (; i <= 128; i++)
		packed_store(test, packed, i, PACKED_SMALL);
	packed->slab[0]->state = FARSWAP_SLAB_MAPPING;
	KUNIT_EXPECT_TRUE(test, farswap_pack_prepare(packed->slab[0]));
	KUNIT_EXPECT_EQ(test, atomic_read(&map->nr_used), 0);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(map->used, map->nr_units));
	KUNIT_EXPECT_TRUE(test, bitmap_empty(map->first, map->nr_units));
	packed_end(packed);
}

static bool pack_test_no_owner(const struct farswap_slab *slab, unsigned int unit)
{
	return false;
}

/*
 * Without memory for an owner the page goes elsewhere, but no slab counts as full, and no other one
 * is wanted.
 */
static void pack_test_starved(struct kunit *test)
{
	struct packed *packed = packed_begin(test);
	struct farswap_slab *next = packed->slab[1];
	unsigned int class = farswap_packmap_class(PACKED_SMALL, PAGE_SIZE);
	unsigned long full_until = packed->device.pack_full_until[class];
	struct farswap_object object;

	next->state = FARSWAP_SLAB_UNMAPPED;
	kunit_activate_static_stub(test, pack_make_owner, pack_test_no_owner);
	KUNIT_EXPECT_FALSE(test, farswap_object_take(&packed->device, 7, PACKED_SMALL, &object));
	kunit_deactivate_static_stub(test, pack_make_owner);
	KUNIT_EXPECT_EQ(test, packed->device.pack_full_until[class], full_until);
	KUNIT_EXPECT_EQ(test, next->activity.count, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&packed->slab[0]->pack->map->nr_used), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&packed->slab[0]->pack->users), 0);
	packed_store(test, packed, 7, PACKED_SMALL);
	packed_end(packed);
}

static struct kunit_case pack_cases[] = {
	KUNIT_CASE(pack_test_store),
	KUNIT_CASE(pack_test_empty),
	KUNIT_CASE(pack_test_starved),
	{}
};

static struct kunit_suite pack_suite = {
	.name		= "farswap_pack",
	.test_cases	= pack_cases,
};

kunit_test_suite(pack_suite);
