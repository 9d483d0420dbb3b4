/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Polling: the moving average of the time of a read.
 */
#include <kunit/test.h>

static u32 poll_test_learn(u32 average, u32 ns, unsigned int reads)
{
	while (reads--)
		average = poll_average(average, ns);
	return average;
}

/* The average converges to the time of reads, from below and from above. */
static void poll_test_steady(struct kunit *test)
{
	static const u32 times[] = { 0, 8, 1000, 20000, 1000000, U32_MAX };
	unsigned int i;
	u32 average;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		average = poll_test_learn(0, times[i], 300);
		KUNIT_EXPECT_LE(test, average, times[i]);
		KUNIT_EXPECT_GE(test, average, times[i] & ~7U);
		KUNIT_EXPECT_EQ(test, poll_average(average, times[i]), average);
		average = poll_test_learn(U32_MAX, times[i], 300);
		KUNIT_EXPECT_GE(test, average, times[i] & ~7U);
		KUNIT_EXPECT_LE(test, average, times[i] | 7U);
		KUNIT_EXPECT_EQ(test, poll_average(average, times[i]), average);
	}
}

/* A read counts an eighth; half of the average is replaced after six. */
static void poll_test_weight(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, poll_average(8000, 16000), 9000);
	KUNIT_EXPECT_EQ(test, poll_average(8000, 0), 7000);
	KUNIT_EXPECT_EQ(test, poll_average(0, 8000), 1000);
	KUNIT_EXPECT_GE(test, poll_test_learn(1 << 20, 0, 5), 1 << 19);
	KUNIT_EXPECT_LE(test, poll_test_learn(1 << 20, 0, 6), 1 << 19);
}

/* An endless read neither overflows nor is remembered for long. */
static void poll_test_extreme(struct kunit *test)
{
	u32 average = poll_average(20000, U32_MAX);

	KUNIT_EXPECT_EQ(test, average, 17500 + (U32_MAX >> 3));
	KUNIT_EXPECT_LE(test, poll_test_learn(average, 20000, 150), 20100);
	KUNIT_EXPECT_EQ(test, poll_average(U32_MAX, U32_MAX), U32_MAX);
	KUNIT_EXPECT_EQ(test, poll_average(0, 0), 0);
}

static struct kunit_case poll_cases[] = {
	KUNIT_CASE(poll_test_steady),
	KUNIT_CASE(poll_test_weight),
	KUNIT_CASE(poll_test_extreme),
	{}
};

static struct kunit_suite poll_suite = {
	.name		= "farswap_poll",
	.test_cases	= poll_cases,
};

kunit_test_suite(poll_suite);
