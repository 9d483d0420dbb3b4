/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Staging: one memory cgroup cannot take all pages from another, pages that are given back are
 * available again, and a page is fetched under its own offset.
 */
#include "tests/packed.h"

#define PAGES	500

/* Surplus pages of the pool are freed when they are given back. */
static void staging_test_add(struct kunit *test)
{
	struct farswap_backup *backup;
	unsigned int i;

	for (i = 0; i < PAGES + STAGING_RESERVE; i++) {
		backup = staging_make(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, backup);
		spin_lock_irq(&staging_lock);
		staging_total++;
		staging_add(backup);
		spin_unlock_irq(&staging_lock);
	}
}

static bool staging_test_enough(unsigned int share, unsigned int nr)
{
	bool enough;

	spin_lock_irq(&staging_lock);
	enough = staging_is_enough(share, nr);
	spin_unlock_irq(&staging_lock);
	return enough;
}

static void staging_test_share(struct kunit *test)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);
	unsigned int share, taken = 0, all, free;
	LIST_HEAD(staged);
	LIST_HEAD(one);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	share = staging_share_of(folio);
	staging_test_add(test);
	/* Pages in the stock of another CPU would be missed. */
	migrate_disable();
	all = staging_nr_free - STAGING_RESERVE;
	while (farswap_staging_take(&one, folio)) {
		list_splice_init(&one, &staged);
		taken++;
	}
	free = staging_nr_free - STAGING_RESERVE;
	KUNIT_EXPECT_EQ(test, taken + free, all);
	KUNIT_EXPECT_EQ(test, taken, all * STAGING_SHARE / (STAGING_SHARE + 1));
	KUNIT_EXPECT_EQ(test, staging_shares[share], taken);
	/* A cgroup that arrives now. */
	KUNIT_EXPECT_TRUE(test, staging_test_enough((share + 1) % STAGING_NOBODY, free / 2));
	KUNIT_EXPECT_FALSE(test, staging_test_enough((share + 1) % STAGING_NOBODY, free + 1));
	KUNIT_EXPECT_FALSE(test, staging_test_enough(share, 1));
	farswap_backup_put_all(&staged);
	KUNIT_EXPECT_EQ(test, staging_shares[share], 0);
	migrate_enable();
	staging_shrink();
	folio_put(folio);
}

static void staging_test_want(unsigned int wanted)
{
	spin_lock_irq(&staging_lock);
	staging_wanted = wanted;
	spin_unlock_irq(&staging_lock);
}

/* A CPU keeps some of the pages that it has used, for the same cgroup, while there are plenty. */
static void staging_test_keep(struct kunit *test)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);
	unsigned int wanted = staging_wanted, used = farswap_staging_used(), share, i;
	struct staging_stock *stock;
	LIST_HEAD(staged);
	LIST_HEAD(one);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	share = staging_share_of(folio);
	staging_test_add(test);
	staging_test_want(staging_total);
	migrate_disable();
	stock = raw_cpu_ptr(&staging_stocks);
	for (i = 0; i < 2 * STAGING_STOCK_MAX; i++) {
		KUNIT_EXPECT_TRUE(test, farswap_staging_take(&one, folio));
		list_splice_init(&one, &staged);
	}
	farswap_backup_put_all(&staged);
	KUNIT_EXPECT_EQ(test, stock->nr, STAGING_STOCK_MAX);
	KUNIT_EXPECT_EQ(test, stock->share, share);
	KUNIT_EXPECT_EQ(test, staging_shares[share], STAGING_STOCK_MAX);
	KUNIT_EXPECT_EQ(test, farswap_staging_used(), used);
	/* The next store uses one of them. */
	KUNIT_EXPECT_TRUE(test, farswap_staging_take(&one, folio));
	KUNIT_EXPECT_EQ(test, stock->nr, STAGING_STOCK_MAX - 1);
	/* A page that another CPU has used is not kept, because that CPU has it in its cache. */
	list_first_entry(&one, struct farswap_backup, entry)->cpu = STAGING_NO_CPU;
	farswap_backup_put_all(&one);
	KUNIT_EXPECT_EQ(test, stock->nr, STAGING_STOCK_MAX - 1);
	/* A pool that has become smaller keeps none. */
	staging_test_want(wanted);
	KUNIT_EXPECT_TRUE(test, farswap_staging_take(&one, folio));
	farswap_backup_put_all(&one);
	KUNIT_EXPECT_EQ(test, stock->nr, STAGING_STOCK_MAX - 2);
	migrate_enable();
	staging_shrink();
	KUNIT_EXPECT_EQ(test, staging_shares[share], 0);
	folio_put(folio);
}

/*
 * A fetch has read the offset of a unit. Before it has the lock, that page is freed, and another
 * one gets the unit.
 */
static void staging_test_reused(struct kunit *test)
{
	struct packed *packed = packed_begin(test);
	struct farswap_object before = packed_store(test, packed, 7, PACKED_SMALL), after, found;
	pgoff_t offset = farswap_slab_offset(before.slab, before.slot);

	KUNIT_EXPECT_EQ(test, offset, 7);
	KUNIT_EXPECT_TRUE(test, backup_find_object(before.slab, before.slot, offset, &found));
	farswap_forget_object(&packed->device, 7);
	after = packed_store(test, packed, 8, PACKED_SMALL);
	KUNIT_ASSERT_EQ(test, after.slot, before.slot);
	KUNIT_EXPECT_FALSE_MSG(test, backup_find_object(after.slab, after.slot, offset, &found),
			       "the other page is not fetched under the offset of the first");
	KUNIT_EXPECT_TRUE(test, backup_find_object(after.slab, after.slot, 8, &found));
	packed_end(packed);
}

static struct kunit_case staging_cases[] = {
	KUNIT_CASE(staging_test_share),
	KUNIT_CASE(staging_test_keep),
	KUNIT_CASE(staging_test_reused),
	{}
};

static struct kunit_suite staging_suite = {
	.name		= "farswap_staging",
	.test_cases	= staging_cases,
};

kunit_test_suite(staging_suite);
