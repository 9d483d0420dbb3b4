/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Activity: the moving average, its decay, and the crossing of a threshold.
 */
#include <kunit/test.h>

/* The average of a steady rate becomes that rate. */
static void activity_test_steady(struct kunit *test)
{
	struct farswap_average a = { .second = 100 };
	u32 second, value;

	for (second = 100; second < 160; second++)
		farswap_activity_account(&a, second, 1000);
	value = farswap_activity_read(&a, 159);
	KUNIT_EXPECT_TRUE_MSG(test, value >= 990 && value <= 1000,
			      "a steady 1000 a second reads as 1000");
}

/* One second of n gives alpha * n; each later second keeps (1 - alpha) of it. */
static void activity_test_decay(struct kunit *test)
{
	struct farswap_average a = { .second = 7 };
	u32 before, after;

	farswap_activity_account(&a, 7, 1000);
	before = farswap_activity_read(&a, 7);
	KUNIT_EXPECT_TRUE_MSG(test, before >= 198 && before <= 201, "alpha is 0.2");
	after = farswap_activity_read(&a, 8);
	KUNIT_EXPECT_TRUE_MSG(test, after >= before - 2 && after <= before + 1,
			      "a second that has just ended counts in full");
	after = farswap_activity_read(&a, 9);
	KUNIT_EXPECT_TRUE_MSG(test, after >= before * 78 / 100 && after <= before * 82 / 100,
			      "an idle second leaves 0.8");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_activity_read(&a, 7 + 1000) == 0, "long idle is 0");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_activity_read(&a, 7 + 40) <= 1,
			      "40 idle seconds leave nothing");
}

/* Reading the average does not change it; lazy and eager updates agree. */
static void activity_test_lazy(struct kunit *test)
{
	struct farswap_average lazy = { .second = 0 }, eager = { .second = 0 };
	u32 second;

	farswap_activity_account(&lazy, 0, 5000);
	farswap_activity_account(&eager, 0, 5000);
	for (second = 1; second < 12; second++) {
		farswap_activity_account(&eager, second, 0);
		farswap_activity_read(&lazy, second);
	}
	KUNIT_EXPECT_EQ(test, farswap_activity_read(&lazy, 12), farswap_activity_read(&eager, 12));
}

/* The crossing is noticed within the second that brings it. */
static void activity_test_hot(struct kunit *test)
{
	struct farswap_average a = { .second = 1 };
	int pages = 0;

	KUNIT_EXPECT_TRUE_MSG(test, farswap_activity_is_hot(&a, 1, 0),
			      "threshold 0: hot from the beginning");
	while (!farswap_activity_is_hot(&a, 1, 20) && pages < 1000) {
		farswap_activity_account(&a, 1, 1);
		pages++;
	}
	KUNIT_EXPECT_TRUE_MSG(test, pages > 99 && pages < 105,
			      "20 a second is crossed by the 100th page at once");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_activity_is_hot(&a, 2, 20),
			      "still hot just after the second");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_activity_is_hot(&a, 9, 20), "no longer hot when idle");
}

/* The clock wraps; absurd counts don't overflow. */
static void activity_test_limits(struct kunit *test)
{
	struct farswap_average a = { .second = U32_MAX };
	u32 value;

	farswap_activity_account(&a, U32_MAX, 1000);
	value = farswap_activity_read(&a, 0);
	KUNIT_EXPECT_TRUE_MSG(test, value >= 198 && value <= 201, "the second's counter may wrap");
	farswap_activity_account(&a, 1, U32_MAX);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_activity_read(&a, 1) <= 1 << 22,
			      "a huge count is capped");
}

/* The longer average separates a resting slab from an unused one. */
static void activity_test_longer(struct kunit *test)
{
	struct farswap_average busy = { .second = 0 }, brief = { .second = 0 };
	u32 second, value;

	for (second = 0; second < 600; second++)
		farswap_activity_account(&busy, second, 1000);
	for (second = 595; second < 600; second++)
		farswap_activity_account(&brief, second, 1000);
	value = farswap_activity_longer(&busy, 599);
	KUNIT_EXPECT_TRUE_MSG(test, value >= 990 && value <= 1000, "a steady rate is that rate");
	KUNIT_EXPECT_EQ_MSG(test, farswap_activity_longer(&brief, 599),
			    farswap_activity_read(&brief, 599),
			    "a burst counts as it does in the moving average");
	KUNIT_EXPECT_EQ_MSG(test, farswap_activity_read(&busy, 644), 1,
			    "that has forgotten all after 44 seconds");
	value = farswap_activity_longer(&busy, 644);
	KUNIT_EXPECT_TRUE_MSG(test, value >= 480 && value <= 520, "and the longer one half");
	value = farswap_activity_longer(&brief, 644);
	KUNIT_EXPECT_TRUE_MSG(test, value >= 30 && value <= 42, "of a burst, little");
	value = farswap_activity_longer(&busy, 600 + 440);
	KUNIT_EXPECT_LE_MSG(test, value, 1, "after minutes nothing is left");
	for (second = 600; second < 644; second++)
		farswap_activity_account(&busy, second, 0);
	value = farswap_activity_longer(&busy, 644);
	KUNIT_EXPECT_TRUE_MSG(test, value >= 480 && value <= 520,
			      "it is the same when it is brought up to date each second");
}

static struct kunit_case activity_cases[] = {
	KUNIT_CASE(activity_test_steady),
	KUNIT_CASE(activity_test_decay),
	KUNIT_CASE(activity_test_lazy),
	KUNIT_CASE(activity_test_hot),
	KUNIT_CASE(activity_test_limits),
	KUNIT_CASE(activity_test_longer),
	{}
};

static struct kunit_suite activity_suite = {
	.name		= "farswap_activity",
	.test_cases	= activity_cases,
};

kunit_test_suite(activity_suite);
