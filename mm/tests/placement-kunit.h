/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placement: who is asked, and who gets the slab.
 */
#include <kunit/test.h>

#define GB BIT_ULL(30)

static u64 seed = 88172645463325252ULL;

static u32 random_below(u32 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % below;
}

/* New donors come first, as long as there are any. */
static void placement_test_fresh_first(struct kunit *test)
{
	struct farswap_candidate c[6] = {
		{ .slabs = 3 }, { .slabs = 0 }, { .slabs = 1 },
		{ .slabs = 0 }, { .slabs = 9 }, { .slabs = 0 },
	};
	int pick[2], i, seen[6] = { 0 };
	bool good = true;

	for (i = 0; i < 3000; i++) {
		if (farswap_placement_pick(c, 6, random_below, pick) != 2 ||
		    pick[0] == pick[1] || c[pick[0]].slabs || c[pick[1]].slabs)
			good = false;
		seen[pick[0]]++;
		seen[pick[1]]++;
	}
	KUNIT_EXPECT_TRUE_MSG(test, good,
			      "two different donors without slabs, as long as there are two");
	KUNIT_EXPECT_TRUE_MSG(test, seen[1] > 1700 && seen[3] > 1700 && seen[5] > 1700,
			      "each of them about as often");
}

/* One new donor: it and an old one. None: two old ones. */
static void placement_test_fill_up(struct kunit *test)
{
	struct farswap_candidate c[3] = {
		{ .slabs = 3 }, { .slabs = 0 }, { .slabs = 1 },
	};
	int pick[2];

	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_pick(c, 3, random_below, pick) == 2 &&
			      pick[0] == 1 && pick[1] != 1,
			      "one new donor is completed by an old one");
	c[1].tried = true;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_pick(c, 3, random_below, pick) == 2 &&
			      pick[0] != 1 && pick[1] != 1 && pick[0] != pick[1],
			      "what was tried is not asked again");
	c[0].tried = true;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_pick(c, 3, random_below, pick) == 1 &&
			      pick[0] == 2, "one donor alone");
	c[2].tried = true;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_pick(c, 3, random_below, pick) == 0,
			      "none left");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_pick(c, 0, random_below, pick) == 0,
			      "none at all");
}

/* More free memory wins; who lacks room or did not answer never does. */
static void placement_test_choose(struct kunit *test)
{
	struct farswap_candidate c[3] = {
		{ .free_bytes = GB }, { .free_bytes = 3 * GB }, { .free_bytes = 9 * GB },
	};
	int pick[2] = { 0, 1 };

	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_choose(c, pick, 2, GB) == 1,
			      "more free memory wins");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_choose(c, pick, 2, 4 * GB) == -ENOSPC,
			      "nobody picked has the room");
	c[1].tried = true;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_choose(c, pick, 2, GB) == 0,
			      "who did not answer is out");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_choose(c, pick, 1, GB + 1) == -ENOSPC,
			      "one byte short is short");
}

/* Many clients that place this way keep donors even: within a few slabs. */
static void placement_test_balance(struct kunit *test)
{
	enum { DONORS = 32, SLABS = 3200, ROOM = 400 };
	static struct farswap_candidate c[DONORS]; /* too large for the stack */
	u32 held[DONORS] = { 0 }, worst = 0;
	int pick[2], i, j, nr, best;

	for (i = 0; i < SLABS; i++) {
		for (j = 0; j < DONORS; j++)
			c[j] = (struct farswap_candidate){
				.free_bytes = (ROOM - held[j]) * GB };
		nr = farswap_placement_pick(c, DONORS, random_below, pick);
		best = farswap_placement_choose(c, pick, nr, GB);
		if (best < 0)
			break;
		held[best]++;
	}
	for (j = 0; j < DONORS; j++)
		worst = max(worst, held[j]);
	KUNIT_EXPECT_TRUE_MSG(test, i == SLABS && worst <= SLABS / DONORS + 5,
			      "the fullest of 32 donors has hardly more than the average");
}

static struct kunit_case placement_cases[] = {
	KUNIT_CASE(placement_test_fresh_first),
	KUNIT_CASE(placement_test_fill_up),
	KUNIT_CASE(placement_test_choose),
	KUNIT_CASE(placement_test_balance),
	{}
};

static struct kunit_suite placement_suite = {
	.name		= "farswap_placement",
	.test_cases	= placement_cases,
};

kunit_test_suite(placement_suite);
