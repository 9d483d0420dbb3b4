// SPDX-License-Identifier: GPL-2.0
/*
 * Placement: who is asked, and who gets the slab.
 */
#include "shim/kernel.h"
#include "tap.h"

#include "../../../mm/placement.c"

#define GB (1ULL << 30)

static u64 seed = 88172645463325252ULL;

static u32 random_below(u32 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % below;
}

/* New donors come first, as long as there are any. */
static void test_fresh_first(void)
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
	ok(good, "two different donors without slabs, as long as there are two");
	ok(seen[1] > 1700 && seen[3] > 1700 && seen[5] > 1700,
	   "each of them about as often");
}

/* One new donor: it and an old one. None: two old ones. */
static void test_fill_up(void)
{
	struct farswap_candidate c[3] = {
		{ .slabs = 3 }, { .slabs = 0 }, { .slabs = 1 },
	};
	int pick[2];

	ok(farswap_placement_pick(c, 3, random_below, pick) == 2 &&
	   pick[0] == 1 && pick[1] != 1, "one new donor is completed by an old one");
	c[1].tried = true;
	ok(farswap_placement_pick(c, 3, random_below, pick) == 2 &&
	   pick[0] != 1 && pick[1] != 1 && pick[0] != pick[1],
	   "what was tried is not asked again");
	c[0].tried = true;
	ok(farswap_placement_pick(c, 3, random_below, pick) == 1 && pick[0] == 2,
	   "one donor alone");
	c[2].tried = true;
	ok(farswap_placement_pick(c, 3, random_below, pick) == 0, "none left");
	ok(farswap_placement_pick(c, 0, random_below, pick) == 0, "none at all");
}

/* More free memory wins; who lacks room or did not answer never does. */
static void test_choose(void)
{
	struct farswap_candidate c[3] = {
		{ .free_bytes = GB }, { .free_bytes = 3 * GB }, { .free_bytes = 9 * GB },
	};
	int pick[2] = { 0, 1 };

	ok(farswap_placement_choose(c, pick, 2, GB) == 1, "more free memory wins");
	ok(farswap_placement_choose(c, pick, 2, 4 * GB) == -ENOSPC,
	   "nobody picked has the room");
	c[1].tried = true;
	ok(farswap_placement_choose(c, pick, 2, GB) == 0, "who did not answer is out");
	ok(farswap_placement_choose(c, pick, 1, GB + 1) == -ENOSPC,
	   "one byte short is short");
}

/* Many clients that place this way keep donors even: within a few slabs. */
static void test_balance(void)
{
	enum { DONORS = 32, SLABS = 3200, ROOM = 400 };
	struct farswap_candidate c[DONORS];
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
	ok(i == SLABS && worst <= SLABS / DONORS + 5,
	   "the fullest of 32 donors has hardly more than the average");
}

int main(void)
{
	test_fresh_first();
	test_fill_up();
	test_choose();
	test_balance();
	return tap_done();
}
