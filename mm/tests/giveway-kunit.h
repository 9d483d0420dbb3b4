/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Displaced slabs: which slab displaces which, how often, and the steady state of a client whose
 * slabs do not all fit.
 */
#include <kunit/test.h>

#include "slab/activity.h"

enum {
	CLIENT_SLABS = 40,
	CLIENT_ROOM = 20,
	CLIENT_HOTSLAB = 2,
};

/*
 * A client in a full cluster. The first slabs are mapped.
 */
static struct client {
	struct farswap_average activity[CLIENT_SLABS];
	bool mapped[CLIENT_SLABS];
	struct farswap_giveway_past past[CLIENT_SLABS];
	struct farswap_giveway giveway;
	u32 second, pages, remote, given, most;
	int last;
} client;

static u64 giveway_seed = 88172645463325252ULL;

static u32 giveway_random(u32 below)
{
	giveway_seed ^= giveway_seed << 13;
	giveway_seed ^= giveway_seed >> 7;
	giveway_seed ^= giveway_seed << 17;
	return (giveway_seed >> 16) % below;
}

static void client_begin(void)
{
	int i;

	memset(&client, 0, sizeof(client));
	/* Make the clock wrap. */
	client.second = U32_MAX - 100;
	for (i = 0; i < CLIENT_SLABS; i++) {
		client.activity[i].second = client.second;
		client.mapped[i] = i < CLIENT_ROOM;
	}
}

static void client_use(int slab, u32 pages)
{
	farswap_activity_account(&client.activity[slab], client.second, pages);
	client.pages += pages;
	client.remote += client.mapped[slab] ? pages : 0;
}

static void client_look(struct farswap_giveway_pair *pair)
{
	int i;

	memset(pair, 0, sizeof(*pair));
	for (i = 0; i < CLIENT_SLABS; i++) {
		const struct farswap_average *a = &client.activity[i];

		if (client.mapped[i])
			farswap_giveway_mapped(pair, &client.mapped[i],
					       farswap_activity_longer(a, client.second),
					       client.second - a->second);
		else
			farswap_giveway_waiting(pair, &client.mapped[i],
						farswap_activity_read(a, client.second));
	}
}

static void client_give(struct farswap_giveway_pair *pair)
{
	int from = (bool *)pair->coldest - client.mapped;
	int to = (bool *)pair->hottest - client.mapped;

	client.mapped[from] = false;
	client.past[from].second = client.second;
	client.past[from].hot = pair->hot;
	client.mapped[to] = true;
	client.past[to].hot = 0;
	client.last = to;
	client.given++;
}

/* The end of a second. */
static void client_end(void)
{
	struct farswap_giveway_pair pair;
	u32 before = client.given;
	int i;

	for (i = 0; i < CLIENT_SLABS; i++)
		if (!client.mapped[i])
			farswap_giveway_wanted(&client.giveway, &client.past[i],
					       farswap_activity_read(&client.activity[i],
								     client.second),
					       client.second);
	while (farswap_giveway_is_due(&client.giveway, client.second)) {
		client_look(&pair);
		if (!farswap_giveway_is_worth(&pair, CLIENT_HOTSLAB))
			break;
		client_give(&pair);
		farswap_giveway_done(&client.giveway, client.second);
	}
	client.most = max(client.most, client.given - before);
	client.second++;
}

static u32 client_percent_remote(void)
{
	u32 percent = client.pages ? 100 * client.remote / client.pages : 0;

	client.pages = 0;
	client.remote = 0;
	return percent;
}

/* The hottest slab displaces the coldest, if it is four times as busy, and hot. */
static void giveway_test_pair(struct kunit *test)
{
	struct farswap_giveway_pair pair = {};
	int slab[4];

	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_is_worth(&pair, 0), "there is no slab");
	farswap_giveway_waiting(&pair, &slab[0], 20);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_is_worth(&pair, 0), "none could give way");
	farswap_giveway_waiting(&pair, &slab[1], 40);
	farswap_giveway_waiting(&pair, &slab[2], 39);
	KUNIT_EXPECT_TRUE_MSG(test, pair.hottest == &slab[1], "the hottest is the first");
	farswap_giveway_mapped(&pair, &slab[0], 10, 0);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_is_worth(&pair, 2),
			      "four times as busy is not enough");
	farswap_giveway_mapped(&pair, &slab[2], 11, 9);
	KUNIT_EXPECT_TRUE_MSG(test, pair.coldest == &slab[0], "a busier one does not give way");
	farswap_giveway_mapped(&pair, &slab[2], 9, 0);
	KUNIT_EXPECT_TRUE_MSG(test, pair.coldest == &slab[2] && farswap_giveway_is_worth(&pair, 2),
			      "more than four times is");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_is_worth(&pair, 41), "but it must be hot");
	farswap_giveway_mapped(&pair, &slab[0], 0, 5);
	farswap_giveway_mapped(&pair, &slab[3], 0, 7);
	farswap_giveway_mapped(&pair, &slab[1], 0, 6);
	KUNIT_EXPECT_TRUE_MSG(test, pair.coldest == &slab[3], "of idle ones the longest idle does");
	pair.hot = 0;
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_is_worth(&pair, 0),
			      "an idle slab waits for nothing");
}

/* The pause doubles with each slab that was displaced wrongly, and halves each minute. */
static void giveway_test_pause(struct kunit *test)
{
	struct farswap_giveway_past past = { .second = U32_MAX, .hot = 40 };
	struct farswap_giveway g = {};
	u32 second = U32_MAX, i;
	bool good = true;

	KUNIT_EXPECT_TRUE_MSG(test, farswap_giveway_is_due(&g, second), "the first one at once");
	farswap_giveway_done(&g, second);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_is_due(&g, second) &&
			      farswap_giveway_is_due(&g, second + 1),
			      "the next one a second later");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_wanted(&g, &past, 100, second + 601) &&
			      farswap_giveway_is_due(&g, second + 1),
			      "what gave way long ago is not regretted");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_giveway_wanted(&g, &past, 9, second) &&
			      farswap_giveway_is_due(&g, second + 1),
			      "nor what would give way again");
	for (i = 0; i < 10; i++) {
		past.second = second - 5;
		past.hot = 40;
		good = good && farswap_giveway_wanted(&g, &past, 10, second) && !past.hot &&
		       g.pause == min(2U << i, 64U) &&
		       !farswap_giveway_is_due(&g, second + min(g.pause, 60U) - 1);
		second++;
		farswap_giveway_done(&g, second);
	}
	KUNIT_EXPECT_TRUE_MSG(test, good, "each regret doubles the pause, up to a minute or so");
	good = true;
	for (i = 0; i < 6; i++) {
		good = good && g.pause == 64U >> i;
		second += 60;
		farswap_giveway_is_due(&g, second);
	}
	KUNIT_EXPECT_TRUE_MSG(test, good && g.pause == 1, "each minute without one halves it");
}

/* The program moves to another part of its memory, whose slabs displace the first. */
static void giveway_test_moves(struct kunit *test)
{
	u32 i, second;
	bool good = true;

	client_begin();
	for (second = 0; second < 60; second++) {
		for (i = 0; i < CLIENT_ROOM; i++)
			client_use(i, 100);
		client_end();
	}
	KUNIT_EXPECT_EQ_MSG(test, client.given, 0, "none gives way while none waits");
	client_percent_remote();
	for (second = 0; second < 200; second++) {
		for (i = CLIENT_ROOM; i < CLIENT_SLABS; i++)
			client_use(i, 50 + i);
		client_end();
		if (client.given == 1 && client.last != CLIENT_SLABS - 1)
			good = false;
	}
	KUNIT_EXPECT_TRUE_MSG(test, good, "the hottest is the first");
	KUNIT_EXPECT_EQ_MSG(test, client.most, 1, "one a second at most");
	KUNIT_EXPECT_EQ_MSG(test, client.given, CLIENT_ROOM, "each slab gives way once");
	client_percent_remote();
	for (second = 0; second < 600; second++) {
		for (i = CLIENT_ROOM; i < CLIENT_SLABS; i++)
			client_use(i, 50 + i);
		client_end();
	}
	KUNIT_EXPECT_EQ_MSG(test, client_percent_remote(), 100, "all that is used is remote");
	KUNIT_EXPECT_EQ_MSG(test, client.given, CLIENT_ROOM, "no more give way");
}

/* All memory is accessed equally often. */
static void giveway_test_uniform(struct kunit *test)
{
	u32 i, second;

	client_begin();
	for (second = 0; second < 3600; second++) {
		for (i = 0; i < CLIENT_SLABS; i++)
			client_use(i, giveway_random(100));
		client_end();
	}
	/* In the first seconds the slabs have no history. */
	KUNIT_EXPECT_LE_MSG(test, client.given, 3, "no slab gives way to one like it");

	/* Each is busy for ten seconds of seventy. */
	client_begin();
	for (second = 0; second < 3600; second++) {
		for (i = 0; i < CLIENT_SLABS; i++)
			if ((second + 7 * i) % 70 < 10)
				client_use(i, 100);
		client_end();
	}
	KUNIT_EXPECT_LE_MSG(test, client.given, 100, "by turns: seldom, for it is regretted");
	KUNIT_EXPECT_TRUE_MSG(test, client_percent_remote() >= 40,
			      "so half of the pages stay remote");
}

/* A program that goes through twice as much memory as fits, in order. */
static void giveway_test_scan(struct kunit *test)
{
	u32 second;

	client_begin();
	for (second = 0; second < 3600; second++) {
		client_use(second / 5 % CLIENT_SLABS, 200);
		client_end();
	}
	KUNIT_EXPECT_LE_MSG(test, client.given, 100, "in order: seldom, for it is regretted");
	KUNIT_EXPECT_TRUE_MSG(test, client_percent_remote() >= 35,
			      "so much of what would stay remote otherwise does");
	/* Then the program stays in one place. */
	for (second = 0; second < 300; second++) {
		client_use(CLIENT_SLABS - 1 - second % 5, 200);
		client_end();
	}
	client_percent_remote();
	for (second = 0; second < 100; second++) {
		client_use(CLIENT_SLABS - 1 - second % 5, 200);
		client_end();
	}
	KUNIT_EXPECT_EQ_MSG(test, client_percent_remote(), 100, "where it stays is remote soon");
}

static struct kunit_case giveway_cases[] = {
	KUNIT_CASE(giveway_test_pair),
	KUNIT_CASE(giveway_test_pause),
	KUNIT_CASE(giveway_test_moves),
	KUNIT_CASE(giveway_test_uniform),
	KUNIT_CASE(giveway_test_scan),
	{}
};

static struct kunit_suite giveway_suite = {
	.name		= "farswap_giveway",
	.test_cases	= giveway_cases,
};

kunit_test_suite(giveway_suite);
