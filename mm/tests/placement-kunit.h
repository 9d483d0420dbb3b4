/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placement: the donors that are queried, the one that gets the slab, and the balance of a whole
 * cluster.
 */
#include <kunit/test.h>

#define GB		BIT_ULL(30)
#define PLACEMENT_MANY	64

static u64 seed = 88172645463325252ULL;

static u32 random_below(u32 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % below;
}

/* Donors that hold nothing, and never reported that they are full. */
static void placement_fresh(struct farswap_candidate *c, int nr)
{
	while (nr--)
		c[nr] = (struct farswap_candidate){ .full_ms = FARSWAP_PLACEMENT_NEVER };
}

/*
 * A whole attempt with honest donors. Returns the donor that gets the slab, or -ENOSPC;
 * *queries grows by the number of donors queried. full_ms of donors without room becomes 0.
 */
static int placement_place(struct farswap_candidate *c, int nr, const u64 *free, int *queries)
{
	struct farswap_placement p;
	int pick[FARSWAP_PLACEMENT_ASK], n, i, best;

	farswap_placement_begin(&p, c, nr, GB, random_below);
	while ((n = farswap_placement_next(&p, pick)) > 0) {
		*queries += n;
		for (i = 0; i < n; i++)
			if (!farswap_placement_answered(&p, pick[i], free[pick[i]]))
				c[pick[i]].full_ms = 0;
		best = farswap_placement_best(&p);
		if (best >= 0)
			return best;
	}
	return -ENOSPC;
}

/* Three different donors, each equally often, even those without slabs. */
static void placement_test_candidates(struct kunit *test)
{
	struct farswap_candidate c[6];
	struct farswap_placement p;
	int pick[FARSWAP_PLACEMENT_ASK], i, seen[6] = { 0 };
	bool good = true;

	for (i = 0; i < 3000; i++) {
		placement_fresh(c, 6);
		c[0].slabs = 3;
		c[4].slabs = 9;
		farswap_placement_begin(&p, c, 6, GB, random_below);
		if (farswap_placement_next(&p, pick) != 3 || pick[0] == pick[1] ||
		    pick[1] == pick[2] || pick[0] == pick[2])
			good = false;
		seen[pick[0]]++;
		seen[pick[1]]++;
		seen[pick[2]]++;
	}
	KUNIT_EXPECT_TRUE_MSG(test, good, "three different donors are asked");
	for (i = 0; i < 6; i++)
		if (seen[i] < 1380 || seen[i] > 1620)
			good = false;
	KUNIT_EXPECT_TRUE_MSG(test, good, "each donor is asked equally often");
}

/* More free memory for each slab held wins. */
static void placement_test_best(struct kunit *test)
{
	struct farswap_candidate c[3];
	struct farswap_placement p;
	int pick[FARSWAP_PLACEMENT_ASK], i, first[3] = { 0 };

	placement_fresh(c, 3);
	c[1].slabs = 3;
	farswap_placement_begin(&p, c, 3, GB, random_below);
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_best(&p), -ENOSPC, "nobody is asked yet");
	farswap_placement_next(&p, pick);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_answered(&p, 0, 2 * GB), "there is room");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_answered(&p, 1, 7 * GB), "there too");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_placement_answered(&p, 2, GB - 1),
			      "one byte too few is too few");
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_best(&p), 0,
			    "2 GB of a donor without a slab beat 7 GB of one with three");
	c[1].free_bytes = 9 * GB;
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_best(&p), 1, "9 GB of that one do not lose");
	farswap_placement_refused(&p, 1);
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_best(&p), 0,
			    "when the best refuses, the next best is taken");
	farswap_placement_failed(&p, 0);
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_best(&p), -ENOSPC, "none is left");
	for (i = 0; i < 3000; i++) {
		placement_fresh(c, 3);
		farswap_placement_begin(&p, c, 3, GB, random_below);
		farswap_placement_next(&p, pick);
		farswap_placement_answered(&p, 0, 2 * GB);
		farswap_placement_answered(&p, 1, 2 * GB);
		farswap_placement_answered(&p, 2, 2 * GB);
		first[farswap_placement_best(&p)]++;
	}
	KUNIT_EXPECT_TRUE_MSG(test, first[0] > 900 && first[1] > 900 && first[2] > 900,
			      "of equal donors each wins equally often");
}

/* Good donors first, then those that failed recently, then those that reported to be full. */
static void placement_test_order(struct kunit *test)
{
	struct farswap_candidate c[5];
	struct farswap_placement p;
	int pick[FARSWAP_PLACEMENT_ASK], nr;

	placement_fresh(c, 5);
	c[0].full_ms = 100;
	c[1].full_ms = 3000;
	c[2].shaky = true;
	c[3].full_ms = 5000;
	c[4].full_ms = 3000;
	c[4].shaky = true;
	farswap_placement_begin(&p, c, 5, GB, random_below);
	nr = farswap_placement_next(&p, pick);
	KUNIT_EXPECT_TRUE_MSG(test, nr == 1 && pick[0] == 3,
			      "a donor that was full five seconds ago is as good as any");
	farswap_placement_failed(&p, 3);
	nr = farswap_placement_next(&p, pick);
	KUNIT_EXPECT_TRUE_MSG(test, nr == 1 && pick[0] == 2,
			      "one that failed recently is asked when no other is left");
	farswap_placement_failed(&p, 2);
	nr = farswap_placement_next(&p, pick);
	KUNIT_EXPECT_TRUE_MSG(test, nr == 2 && pick[0] + pick[1] == 5 && pick[0] * pick[1] == 4,
			      "then those that were full three seconds ago");
	farswap_placement_failed(&p, 1);
	farswap_placement_failed(&p, 4);
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_next(&p, pick), 0,
			    "one that was full just now is not asked");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_placement_is_full(&p), "but counts as full");

	placement_fresh(c, 5);
	farswap_placement_begin(&p, c, 2, GB, random_below);
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_next(&p, pick), 2, "both of two donors");
	farswap_placement_failed(&p, 0);
	farswap_placement_failed(&p, 1);
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_next(&p, pick), 0, "none is left");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_placement_is_full(&p),
			      "donors that don't answer are not full");
	farswap_placement_begin(&p, c, 0, GB, random_below);
	KUNIT_EXPECT_EQ_MSG(test, farswap_placement_next(&p, pick), 0, "without a donor none");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_placement_is_full(&p), "and none is full");
}

/* One donor, many, all full, all but one. */
static void placement_test_edges(struct kunit *test)
{
	static struct farswap_candidate c[PLACEMENT_MANY];
	static u64 free[PLACEMENT_MANY];
	int i, nth, queries = 0;
	bool good = true;

	placement_fresh(c, 1);
	free[0] = GB;
	KUNIT_EXPECT_EQ_MSG(test, placement_place(c, 1, free, &queries), 0,
			    "the only donor gets the slab");
	for (i = 0; i < PLACEMENT_MANY; i++)
		free[i] = GB - 1;
	placement_fresh(c, PLACEMENT_MANY);
	queries = 0;
	KUNIT_EXPECT_EQ_MSG(test, placement_place(c, PLACEMENT_MANY, free, &queries), -ENOSPC,
			    "no room anywhere");
	KUNIT_EXPECT_EQ_MSG(test, queries, PLACEMENT_MANY, "each of 64 donors was asked once");
	for (nth = 0; nth < PLACEMENT_MANY && good; nth++) {
		placement_fresh(c, PLACEMENT_MANY);
		free[nth] = GB;
		good = placement_place(c, PLACEMENT_MANY, free, &queries) == nth;
		free[nth] = 0;
	}
	KUNIT_EXPECT_TRUE_MSG(test, good, "the only donor of 64 with room is found");
}

/*
 * A full cluster. Two hundred slabs a second are to be mapped; after twenty seconds one donor
 * has room.
 */
static void placement_test_full(struct kunit *test)
{
	enum { STEP_MS = 5, ROOM_MS = 20000, END_MS = 27000 };
	static struct farswap_candidate c[PLACEMENT_MANY];
	static u64 free[PLACEMENT_MANY];
	int ms, i, queries = 0, found = -1;

	placement_fresh(c, PLACEMENT_MANY);
	for (i = 0; i < PLACEMENT_MANY; i++)
		free[i] = 0;
	for (ms = 0; ms < END_MS && found < 0; ms += STEP_MS) {
		if (ms == ROOM_MS)
			free[7] = GB;
		if (placement_place(c, PLACEMENT_MANY, free, &queries) >= 0)
			found = ms;
		for (i = 0; i < PLACEMENT_MANY; i++)
			if (c[i].full_ms != FARSWAP_PLACEMENT_NEVER)
				c[i].full_ms += STEP_MS;
		if (ms == ROOM_MS)
			KUNIT_EXPECT_LE_MSG(test, queries, PLACEMENT_MANY * (ROOM_MS / 1000 + 1),
					    "each donor is asked once a second at most");
	}
	KUNIT_EXPECT_TRUE_MSG(test, found >= ROOM_MS && found <= ROOM_MS + 5000,
			      "room is found within five seconds");
}

/*
 * Clusters, as large as the debug kernel bears: every machine has CLUSTER_GB and uses a part
 * of them; the rest but an eighth is lent. Slabs are 1 GB.
 */
enum {
	CLUSTER_MOST = 128,
	CLUSTER_DONORS = 32,
	CLUSTER_GB = 64,
};

static struct cluster {
	int nr, donors;
	u32 used[CLUSTER_MOST], room[CLUSTER_MOST], lent[CLUSTER_MOST];
	u16 donor[CLUSTER_MOST][CLUSTER_DONORS];
	u16 held[CLUSTER_MOST][CLUSTER_DONORS];
	u32 full_at[CLUSTER_MOST][CLUSTER_DONORS];
	u32 now, refused, queries, placed;
} cluster;

static bool cluster_names(int client, int nr, int donor)
{
	while (nr--)
		if (cluster.donor[client][nr] == donor)
			return true;
	return donor == client;
}

/* Each machine names others at random as donors. Returns the number of slabs that fit. */
static u32 cluster_make(int nr, int donors)
{
	u32 room = 0;
	int i, j, donor;

	memset(&cluster, 0, sizeof(cluster));
	cluster.nr = nr;
	cluster.donors = donors;
	for (i = 0; i < nr; i++) {
		cluster.used[i] = 4 + random_below(20) + random_below(20);
		cluster.room[i] = CLUSTER_GB * 7 / 8 - cluster.used[i];
		room += cluster.room[i];
		for (j = 0; j < donors; j++) {
			do {
				donor = random_below(nr);
			} while (cluster_names(i, j, donor));
			cluster.donor[i][j] = donor;
		}
	}
	return room;
}

static void cluster_place(int client)
{
	static struct farswap_candidate c[CLUSTER_DONORS];
	static u64 free[CLUSTER_DONORS];
	int i, best, queries = 0;
	u64 room = 0;

	for (i = 0; i < cluster.donors; i++) {
		int donor = cluster.donor[client][i];
		u32 full_at = cluster.full_at[client][i];

		free[i] = (cluster.room[donor] - cluster.lent[donor]) * GB;
		room += free[i];
		c[i].slabs = cluster.held[client][i];
		c[i].full_ms = full_at ? cluster.now - full_at : FARSWAP_PLACEMENT_NEVER;
	}
	best = placement_place(c, cluster.donors, free, &queries);
	for (i = 0; i < cluster.donors; i++)
		if (!c[i].full_ms)
			cluster.full_at[client][i] = cluster.now;
	cluster.queries += queries;
	cluster.placed++;
	if (best < 0) {
		cluster.refused += !!room;
		return;
	}
	cluster.held[client][best]++;
	cluster.lent[cluster.donor[client][best]]++;
}

/* Fill that share of the memory with slabs of random clients, twenty a second. */
static void cluster_fill(u32 room, u32 percent, u32 slabs)
{
	u32 total = room * percent / 100, clients = total / slabs, i;

	if (clients > (u32)cluster.nr)
		clients = cluster.nr;
	for (i = 0; i < total; i++) {
		cluster.now += 50;
		cluster_place(random_below(clients) * cluster.nr / clients);
	}
}

/* Average over the clients of the largest share of one donor; in thousandths. */
static u32 cluster_largest_share(void)
{
	u32 sum = 0, nr = 0, most, all;
	int i, j;

	for (i = 0; i < cluster.nr; i++) {
		most = 0;
		all = 0;
		for (j = 0; j < cluster.donors; j++) {
			most = max_t(u32, most, cluster.held[i][j]);
			all += cluster.held[i][j];
		}
		if (all) {
			sum += 1000 * most / all;
			nr++;
		}
	}
	return sum / nr;
}

/* Use of the fullest machine over use of the emptiest; in hundredths. */
static u32 cluster_balance(void)
{
	u32 most = 0, least = CLUSTER_GB, use;
	int i;

	for (i = 0; i < cluster.nr; i++) {
		use = cluster.used[i] + cluster.lent[i];
		most = max(most, use);
		least = min(least, use);
	}
	return 100 * most / least;
}

/* A map succeeds whenever there is memory, at any fill, with few queries. */
static void placement_test_fill(struct kunit *test)
{
	static const u32 fills[] = { 50, 90, 95, 100 };
	u32 i, room, refused = 0, queries = 0;

	for (i = 0; i < ARRAY_SIZE(fills); i++) {
		room = cluster_make(32, 31);
		cluster_fill(room, fills[i], 12);
		refused += cluster.refused;
		if (fills[i] == 90)
			queries = 100 * cluster.queries / cluster.placed;
	}
	for (i = 0; i < ARRAY_SIZE(fills); i++) {
		room = cluster_make(CLUSTER_MOST, 16);
		cluster_fill(room, fills[i], 30);
		refused += cluster.refused;
	}
	KUNIT_EXPECT_EQ_MSG(test, refused, 0, "no slab is refused while a donor has room");
	KUNIT_EXPECT_LE_MSG(test, queries, 320, "hardly more than three queries a slab");
}

/* Slabs spread over the donors, and the donors' memory is used evenly. */
static void placement_test_spread(struct kunit *test)
{
	u32 room, share, balance = 0, run;

	room = cluster_make(CLUSTER_MOST, 32);
	cluster_fill(room, 90, 30);
	share = cluster_largest_share();
	for (run = 0; run < 10; run++) {
		room = cluster_make(32, 31);
		cluster_fill(room, 90, 12);
		balance += cluster_balance();
	}
	KUNIT_EXPECT_LE_MSG(test, share, 90, "no donor has much more than its part of a client");
	KUNIT_EXPECT_LE_MSG(test, balance, 1200,
			    "the fullest machine has hardly more than the emptiest");
}

static struct kunit_case placement_cases[] = {
	KUNIT_CASE(placement_test_candidates),
	KUNIT_CASE(placement_test_best),
	KUNIT_CASE(placement_test_order),
	KUNIT_CASE(placement_test_edges),
	KUNIT_CASE(placement_test_full),
	KUNIT_CASE(placement_test_fill),
	KUNIT_CASE(placement_test_spread),
	{}
};

static struct kunit_suite placement_suite = {
	.name		= "farswap_placement",
	.test_cases	= placement_cases,
};

kunit_test_suite(placement_suite);
