/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trend: streams that continue, streams that end, and accesses without a stream.
 */
#include <kunit/test.h>

#define TREND_TEST_MAX	32

/* Result of that many accesses, beginning at @page. */
struct trend_test_run {
	unsigned int faults;
	unsigned int hits;
	unsigned int wasted;
};

/*
 * Accesses as a task makes them: a prefetched page causes no fault. This keeps the mask of those,
 * as the page table would.
 */
static void trend_test_access(struct farswap_trend *trend, u64 *used, unsigned long page,
			      struct trend_test_run *run)
{
	unsigned int nth, wasted;

	for (nth = 0; nth < trend->window; nth++) {
		if (farswap_trend_ahead(trend, nth) == page && trend->asked & BIT_ULL(nth)) {
			*used |= BIT_ULL(nth);
			run->hits++;
			return;
		}
	}
	run->faults++;
	if (farswap_trend_stray(trend, page))
		return;
	wasted = hweight64(trend->asked & ~*used);
	nth = farswap_trend_fault(trend, page, *used, TREND_TEST_MAX);
	if (trend->asked)
		return;
	run->wasted += wasted;
	trend->asked = nth < 64 ? BIT_ULL(nth) - 1 : U64_MAX;
	*used = 0;
}

static struct trend_test_run trend_test_walk(struct farswap_trend *trend, u64 *used,
					     unsigned long page, int stride, unsigned int nr)
{
	struct trend_test_run run = {};

	for (; nr--; page += stride)
		trend_test_access(trend, used, page, &run);
	return run;
}

static u32 trend_test_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* In any direction, with any stride: few faults, and no useless prefetch. */
static void trend_test_strides(struct kunit *test)
{
	static const int strides[] = { 1, -1, 2, 7, -8, 64, 511, -1000, 32767, -32768 };
	struct trend_test_run run;
	struct farswap_trend trend;
	unsigned int i;
	u64 used;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		used = 0;
		farswap_trend_init(&trend, 100000000);
		run = trend_test_walk(&trend, &used, 100000000 + strides[i], strides[i], 2000);
		KUNIT_EXPECT_LE_MSG(test, run.faults, 2000 / (TREND_TEST_MAX + 1) + 10,
				    "stride %d", strides[i]);
		KUNIT_EXPECT_EQ_MSG(test, run.wasted, 0, "stride %d", strides[i]);
		KUNIT_EXPECT_EQ(test, trend.stride, strides[i]);
		KUNIT_EXPECT_EQ(test, trend.window, TREND_TEST_MAX);
	}
}

/* No trend where there is none. */
static void trend_test_none(struct kunit *test)
{
	struct trend_test_run run = {};
	struct farswap_trend trend;
	unsigned int i;
	u32 state = 1;
	u64 used = 0;

	farswap_trend_init(&trend, 1000);
	for (i = 0; i < 10000; i++)
		trend_test_access(&trend, &used, trend_test_random(&state) % 4096, &run);
	KUNIT_EXPECT_GE(test, run.faults, 9900);
	KUNIT_EXPECT_LE(test, run.wasted, 100);
}

/* After the end of a stream, at most one window is useless. */
static void trend_test_misses(struct kunit *test)
{
	struct trend_test_run run = {};
	struct farswap_trend trend;
	unsigned int i;
	u32 state = 1;
	u64 used = 0;

	farswap_trend_init(&trend, 0);
	trend_test_walk(&trend, &used, 1, 1, 1000);
	for (i = 0; i < 100; i++)
		trend_test_access(&trend, &used, 5000 + trend_test_random(&state) % 100000,
				  &run);
	KUNIT_EXPECT_LE(test, run.wasted, 2 * TREND_TEST_MAX + 8);
	KUNIT_EXPECT_EQ(test, trend.window, 0);
	/* The stream is recognised again. */
	run = trend_test_walk(&trend, &used, 200000, 3, 1000);
	KUNIT_EXPECT_LE(test, run.faults, 1000 / (TREND_TEST_MAX + 1) + 20);
}

/* Objects of 16 pages in random order: one fault for most of them. */
static void trend_test_runs(struct kunit *test)
{
	struct trend_test_run run, sum = {};
	struct farswap_trend trend;
	unsigned int i;
	u32 state = 7;
	u64 used = 0;

	farswap_trend_init(&trend, 0);
	for (i = 0; i < 200; i++) {
		run = trend_test_walk(&trend, &used,
				      trend_test_random(&state) % 100000 * 16, 1, 16);
		sum.faults += run.faults;
		sum.wasted += run.wasted;
	}
	KUNIT_EXPECT_LE(test, sum.faults, 200 + 20);
	KUNIT_EXPECT_LE(test, sum.wasted, 100);
}

/* One access in four goes elsewhere. */
static void trend_test_noise(struct kunit *test)
{
	struct trend_test_run run = {};
	struct farswap_trend trend;
	unsigned long page = 1000000;
	unsigned int i;
	u32 state = 3;
	u64 used = 0;

	farswap_trend_init(&trend, page);
	for (i = 0; i < 2000; i++) {
		if (i % 4 == 3)
			trend_test_access(&trend, &used, trend_test_random(&state) % 100000, &run);
		else
			trend_test_access(&trend, &used, page++, &run);
	}
	KUNIT_EXPECT_GE(test, run.hits, 1300);
	KUNIT_EXPECT_LE(test, run.wasted, 100);
}

/* Pages that need no read do not end a window; a bound does, even of one page or none. */
static void trend_test_bounds(struct kunit *test)
{
	struct farswap_trend trend;
	unsigned int i;

	farswap_trend_init(&trend, 0);
	for (i = 1; i < 20; i++)
		farswap_trend_fault(&trend, i, 0, TREND_TEST_MAX);
	KUNIT_EXPECT_EQ(test, trend.window, TREND_FIRST);
	KUNIT_EXPECT_EQ(test, farswap_trend_fault(&trend, 20, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, farswap_trend_fault(&trend, 21, 1, 0), 0);
	KUNIT_EXPECT_GE(test, farswap_trend_fault(&trend, 22, 0, FARSWAP_TREND_MAX), TREND_FIRST);
	trend.window = FARSWAP_TREND_MAX;
	trend.asked = U64_MAX;
	KUNIT_EXPECT_EQ(test, farswap_trend_fault(&trend, 87, U64_MAX, FARSWAP_TREND_MAX),
			FARSWAP_TREND_MAX);
	KUNIT_EXPECT_EQ(test, farswap_trend_ahead(&trend, FARSWAP_TREND_MAX - 1),
			87 + FARSWAP_TREND_MAX);
}

/* The last distance before the ring wrapped completes the pair. */
static void trend_test_two(struct kunit *test)
{
	static const u8 deltas[] = { 10, 20, 30, 40, 50, 60, 7, 7 };
	struct farswap_trend trend;
	unsigned long page = 1000;
	unsigned int i, nr = 0;

	farswap_trend_init(&trend, page);
	for (i = 0; i < ARRAY_SIZE(deltas); i++) {
		page += deltas[i];
		nr = farswap_trend_fault(&trend, page, 0, TREND_TEST_MAX);
	}
	KUNIT_EXPECT_EQ(test, trend.stride, 7);
	KUNIT_EXPECT_EQ(test, nr, TREND_FIRST);
	/* These need no read. */
	nr = farswap_trend_fault(&trend, page + 21, 0, TREND_TEST_MAX);
	KUNIT_EXPECT_EQ(test, trend.stride, 7);
	KUNIT_EXPECT_GE(test, nr, TREND_FIRST);
	KUNIT_EXPECT_GE(test, farswap_trend_fault(&trend, page + 28, 0, TREND_TEST_MAX), 1);
}

/* For any input: no window without a stride, none above the bound, no undefined arithmetic. */
static void trend_test_fuzz(struct kunit *test)
{
	static const s16 strides[] = { 0, 1, -1, 2, 7, 3000, S16_MAX, S16_MIN };
	struct farswap_trend trend;
	unsigned long page = 0;
	unsigned int i, max, bad = 0;
	u32 state = 11;

	farswap_trend_init(&trend, page);
	for (i = 0; i < 200000; i++) {
		u32 dice = trend_test_random(&state);

		page += strides[dice % ARRAY_SIZE(strides)];
		if (dice % 37 == 0)
			page = (unsigned long)dice * dice;
		else if (dice % 5)
			page = farswap_trend_ahead(&trend, dice % 70);
		if (farswap_trend_stray(&trend, page))
			continue;
		max = dice % (FARSWAP_TREND_MAX + 1);
		if (farswap_trend_fault(&trend, page, trend.asked & ((u64)dice * dice), max) > max)
			bad++;
		bad += trend.window && !trend.stride;
		if (trend.window && dice % 3 && !trend.asked)
			trend.asked = U64_MAX >> (64 - trend.window);
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static struct kunit_case trend_test_cases[] = {
	KUNIT_CASE(trend_test_strides),
	KUNIT_CASE(trend_test_none),
	KUNIT_CASE(trend_test_misses),
	KUNIT_CASE(trend_test_runs),
	KUNIT_CASE(trend_test_noise),
	KUNIT_CASE(trend_test_bounds),
	KUNIT_CASE(trend_test_two),
	KUNIT_CASE(trend_test_fuzz),
	{}
};

static struct kunit_suite trend_test_suite = {
	.name		= "farswap_trend",
	.test_cases	= trend_test_cases,
};

kunit_test_suite(trend_test_suite);
