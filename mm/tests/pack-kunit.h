/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packed slabs: one for which there is no memory is not taken for a full one.
 */
#include "tests/packed.h"

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
	KUNIT_CASE(pack_test_starved),
	{}
};

static struct kunit_suite pack_suite = {
	.name		= "farswap_pack",
	.test_cases	= pack_cases,
};

kunit_test_suite(pack_suite);
