/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Donors: every move from one state to another.
 */
#include <kunit/test.h>
#include <linux/hash.h>

static const bool donor_legal_moves[FARSWAP_DONOR_STATES][FARSWAP_DONOR_STATES] = {
	[FARSWAP_DONOR_CONNECTING][FARSWAP_DONOR_LIVE] = true,
	[FARSWAP_DONOR_CONNECTING][FARSWAP_DONOR_LEAVING] = true,
	[FARSWAP_DONOR_LIVE][FARSWAP_DONOR_CONNECTING] = true,
	[FARSWAP_DONOR_LIVE][FARSWAP_DONOR_SUSPECT] = true,
	[FARSWAP_DONOR_LIVE][FARSWAP_DONOR_LEAVING] = true,
	[FARSWAP_DONOR_SUSPECT][FARSWAP_DONOR_CONNECTING] = true,
	[FARSWAP_DONOR_SUSPECT][FARSWAP_DONOR_LIVE] = true,
	[FARSWAP_DONOR_SUSPECT][FARSWAP_DONOR_LEAVING] = true,
	[FARSWAP_DONOR_LEAVING][FARSWAP_DONOR_CONNECTING] = true,
	[FARSWAP_DONOR_LEAVING][FARSWAP_DONOR_LIVE] = true,
	[FARSWAP_DONOR_LEAVING][FARSWAP_DONOR_SUSPECT] = true,
};

static void donor_test_moves(struct kunit *test)
{
	unsigned int from, to;

	for (from = 0; from < FARSWAP_DONOR_STATES; from++)
		for (to = 0; to < FARSWAP_DONOR_STATES; to++)
			KUNIT_EXPECT_EQ_MSG(test, donor_may_become(from, to),
					    donor_legal_moves[from][to], "from %s to %s",
					    farswap_donor_state_names[from],
					    farswap_donor_state_names[to]);
}

/* An illegal move changes nothing; a legal one changes the state and the count of live donors. */
static void donor_test_refused(struct kunit *test)
{
	struct farswap_donor *donor = kunit_kzalloc(test, sizeof(*donor), GFP_KERNEL);
	unsigned int from, to, live;
	bool moved;

	KUNIT_ASSERT_NOT_NULL(test, donor);
	mutex_lock(&farswap_main_lock);
	live = farswap_donors_nr_live;
	for (from = 0; from < FARSWAP_DONOR_STATES; from++)
		for (to = 0; to < FARSWAP_DONOR_STATES; to++) {
			donor->state = from;
			WRITE_ONCE(farswap_donors_nr_live, live + (from == FARSWAP_DONOR_LIVE));
			spin_lock(&farswap_state_lock);
			moved = donor_become(donor, to);
			spin_unlock(&farswap_state_lock);
			KUNIT_EXPECT_EQ(test, moved, donor_legal_moves[from][to]);
			KUNIT_EXPECT_EQ(test, donor->state, moved ? to : from);
			KUNIT_EXPECT_EQ(test, farswap_donors_nr_live,
					live + (donor->state == FARSWAP_DONOR_LIVE));
		}
	WRITE_ONCE(farswap_donors_nr_live, live);
	mutex_unlock(&farswap_main_lock);
}

/* Names that share a bucket of a table without a key, which a donor could choose, are spread. */
static void donor_test_region_hash(struct kunit *test)
{
	unsigned int i, bucket, most = 0, same = 0;
	u64 inverse = GOLDEN_RATIO_64;
	unsigned int *count;

	count = kunit_kcalloc(test, 256, sizeof(*count), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, count);
	/* By Newton's method; each step doubles the number of right bits. */
	for (i = 0; i < 6; i++)
		inverse *= 2 - GOLDEN_RATIO_64 * inverse;
	for (i = 0; i < 4096; i++) {
		same += !hash_64(i * inverse, 8);
		bucket = hash_64(farswap_region_hash(i * inverse), 8);
		most = max(most, ++count[bucket]);
	}
	KUNIT_EXPECT_EQ(test, same, 4096);
	/* Each has 16 on average. */
	KUNIT_EXPECT_LT(test, most, 64);
	KUNIT_EXPECT_EQ(test, farswap_region_hash(7), farswap_region_hash(7));
}

static struct kunit_case donor_cases[] = {
	KUNIT_CASE(donor_test_region_hash),
	KUNIT_CASE(donor_test_moves),
	KUNIT_CASE(donor_test_refused),
	{}
};

static struct kunit_suite donor_suite = {
	.name		= "farswap_donor",
	.test_cases	= donor_cases,
};

kunit_test_suite(donor_suite);
