/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Latencies: the bucket of each, its bound, and percentiles.
 */
#include <kunit/test.h>

static u64 latency_test_first(unsigned int bucket)
{
	return bucket ? latency_bound(bucket - 1) : 0;
}

/* Every nanosecond is in one bucket: each begins where the one before it ends. */
static void latency_test_edges(struct kunit *test)
{
	unsigned int bucket;

	for (bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
		u64 first = latency_test_first(bucket), last = latency_bound(bucket) - 1;

		KUNIT_EXPECT_LE_MSG(test, first, last, "bucket %u is not empty", bucket);
		KUNIT_EXPECT_EQ_MSG(test, latency_bucket(first), bucket,
				    "bucket %u begins", bucket);
		KUNIT_EXPECT_EQ_MSG(test, latency_bucket(last), bucket,
				    "bucket %u ends", bucket);
	}
}

/* A bound is at most an eighth above any value of its bucket. */
static void latency_test_width(struct kunit *test)
{
	unsigned int bucket;

	for (bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
		u64 first = latency_test_first(bucket);

		KUNIT_EXPECT_LE_MSG(test, latency_bound(bucket) - first, first / 8 + 1,
				    "bucket %u is narrow", bucket);
	}
}

/* A minute has a bucket of its own; anything longer is in the last bucket. */
static void latency_test_longest(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, 60ULL * NSEC_PER_SEC, latency_test_first(LATENCY_BUCKETS - 1));
	KUNIT_EXPECT_EQ(test, latency_bucket(latency_bound(LATENCY_BUCKETS - 1)),
			LATENCY_BUCKETS - 1);
	KUNIT_EXPECT_EQ(test, latency_bucket(U64_MAX), LATENCY_BUCKETS - 1);
}

/* That many percent took no longer than the bound, and the bucket below has fewer. */
static void latency_test_percentile(struct kunit *test)
{
	static struct latency_histogram sum;
	unsigned int i;

	memset(&sum, 0, sizeof(sum));
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 0, 50), 0);
	sum.count[40] = 1;
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 1, 50), latency_bound(40));
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 1, 99), latency_bound(40));
	/* The median of two values is the first. */
	sum.count[50] = 1;
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 2, 50), latency_bound(40));
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 2, 51), latency_bound(50));
	/* A hundred, one in each. */
	memset(&sum, 0, sizeof(sum));
	for (i = 1; i <= 100; i++)
		sum.count[i] = 1;
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 100, 50), latency_bound(50));
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 100, 99), latency_bound(99));
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 100, 100), latency_bound(100));
	/* One in a hundred is slow: the 99th is not, and with two it is. */
	memset(&sum, 0, sizeof(sum));
	sum.count[8] = 990;
	sum.count[LATENCY_BUCKETS - 1] = 10;
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 1000, 99), latency_bound(8));
	sum.count[LATENCY_BUCKETS - 1] = 11;
	KUNIT_EXPECT_EQ(test, latency_percentile(&sum, 1001, 99),
			latency_bound(LATENCY_BUCKETS - 1));
}

static struct kunit_case latency_cases[] = {
	KUNIT_CASE(latency_test_edges),
	KUNIT_CASE(latency_test_width),
	KUNIT_CASE(latency_test_longest),
	KUNIT_CASE(latency_test_percentile),
	{}
};

static struct kunit_suite latency_suite = {
	.name		= "farswap_latency",
	.test_cases	= latency_cases,
};

kunit_test_suite(latency_suite);
