/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page-in: a load that is delayed while its page moves reads no other page.
 */
#include "tests/packed.h"

static struct folio *load_test_folio(struct kunit *test, pgoff_t offset)
{
	struct folio *folio = folio_alloc(GFP_KERNEL | __GFP_ZERO, 0);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	folio->swap = swp_entry(0, offset);
	__folio_set_locked(folio);
	return folio;
}

static void load_test_put(struct folio *folio)
{
	if (folio_test_locked(folio))
		folio_unlock(folio);
	folio->swap.val = 0;
	folio_put(folio);
}

/* Make a staging copy of a page. */
static void load_test_stage(struct kunit *test, struct packed *packed,
			    const struct farswap_object *object, struct folio *folio)
{
	struct farswap_backup_shard *shard = farswap_backup_shard(&packed->device.backups,
								  swp_offset(folio->swap));
	struct farswap_backup *backup;
	LIST_HEAD(staged);

	/* This allocates memory at once if the pool is empty. */
	shard->nr_kept++;
	backup = farswap_staging_wait(&packed->device, false);
	shard->nr_kept--;
	list_add(&backup->entry, &staged);
	KUNIT_ASSERT_TRUE(test, farswap_backup_copy(folio, &staged));
	farswap_backup_add(object->slab, object->slot, folio, &staged, 0);
}

/*
 * A load has found the object of a page. Then the page moves, and its former units lie behind an
 * object whose page is staged.
 */
static void load_test_moved(struct kunit *test)
{
	struct packed *packed = packed_begin(test);
	struct farswap_object other = packed_store(test, packed, 41, PACKED_SMALL);
	struct farswap_object from = packed_store(test, packed, 40, PACKED_SMALL), to;
	struct folio *folio = load_test_folio(test, 40), *staged = load_test_folio(test, 41);

	KUNIT_ASSERT_EQ(test, from.slot, other.slot + 1);
	memset(folio_address(staged), 0x5a, PAGE_SIZE);
	load_test_stage(test, packed, &other, staged);
	/* The load has seen this bit before the device got the page. */
	set_bit(from.slot, from.slab->bits.unbacked);

	farswap_pack_close(from.slab);
	KUNIT_ASSERT_TRUE(test, farswap_object_reserve(&from, 40, &to));
	farswap_slotbits_set(to.slab->bits.remote, to.slot, to.nr);
	KUNIT_ASSERT_TRUE(test, farswap_object_move(&from, &to));
	farswap_pack_put(to.slab->pack);

	KUNIT_EXPECT_FALSE_MSG(test, load_staged(folio, from.slab, from.slot),
			       "the load gets no copy");
	KUNIT_EXPECT_FALSE_MSG(test, memchr_inv(folio_address(folio), 0, PAGE_SIZE),
			       "the load gets no other page's bytes");
	memset(folio_address(staged), 0, PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, farswap_backup_read(&packed->device, staged));
	KUNIT_EXPECT_FALSE_MSG(test, memchr_inv(folio_address(staged), 0x5a, PAGE_SIZE),
			       "the other page has its own copy");
	farswap_backup_forget(other.slab, other.slot, 1);
	load_test_put(folio);
	load_test_put(staged);
	packed_end(packed);
}

static struct kunit_case load_cases[] = {
	KUNIT_CASE(load_test_moved),
	{}
};

static struct kunit_suite load_suite = {
	.name		= "farswap_load",
	.test_cases	= load_cases,
};

kunit_test_suite(load_suite);
