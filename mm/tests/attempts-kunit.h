/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attempts to compress pages: few are made where they fail, and all are made again after one that
 * succeeds.
 */
#include <kunit/test.h>

/* Store @nr pages; return how many of them were attempted. */
static unsigned int attempts_test_pages(struct farswap_attempts *attempts, unsigned int nr,
					bool success)
{
	unsigned int made = 0;

	for (; nr--;) {
		if (!farswap_attempts_are_due(attempts))
			continue;
		made++;
		farswap_attempts_note(attempts, success);
	}
	return made;
}

static void attempts_test_fail(struct kunit *test)
{
	struct farswap_attempts attempts = {};
	unsigned int made;

	made = attempts_test_pages(&attempts, ATTEMPTS_FAILURES, false);
	KUNIT_EXPECT_TRUE_MSG(test, made == ATTEMPTS_FAILURES, "the first pages are all attempted");
	made = attempts_test_pages(&attempts, ATTEMPTS_PAUSE, false);
	KUNIT_EXPECT_TRUE_MSG(test, !made, "after these fail, the next pages are not attempted");
	made = attempts_test_pages(&attempts, 1, false);
	KUNIT_EXPECT_TRUE_MSG(test, made == 1, "one more is attempted after the pause");
	made = attempts_test_pages(&attempts, 2 * ATTEMPTS_PAUSE, false);
	KUNIT_EXPECT_TRUE_MSG(test, !made, "the next pause is twice as long");
	attempts_test_pages(&attempts, 1000, false);
	made = attempts_test_pages(&attempts, 65 * 100, false);
	KUNIT_EXPECT_TRUE_MSG(test, made == 100, "in the end, one of 65 pages is attempted: %u",
			      made);
}

static void attempts_test_recover(struct kunit *test)
{
	struct farswap_attempts attempts = {};
	unsigned int made;

	attempts_test_pages(&attempts, 1000, false);
	made = attempts_test_pages(&attempts, 1000, true);
	KUNIT_EXPECT_TRUE_MSG(test, made >= 1000 - 64,
			      "an area whose data changes is compressed after a pause");
	made = attempts_test_pages(&attempts, 1000, true);
	KUNIT_EXPECT_TRUE_MSG(test, made == 1000, "and then all of its pages are attempted");
}

static void attempts_test_mixed(struct kunit *test)
{
	struct farswap_attempts attempts = {};
	unsigned int i, made = 0;

	for (i = 0; i < 1000; i++)
		made += attempts_test_pages(&attempts, 1, i % 4 == 0);
	KUNIT_EXPECT_TRUE_MSG(test, made == 1000,
			      "pages are all attempted where one of four compresses");
}

static struct kunit_case attempts_cases[] = {
	KUNIT_CASE(attempts_test_fail),
	KUNIT_CASE(attempts_test_recover),
	KUNIT_CASE(attempts_test_mixed),
	{}
};

static struct kunit_suite attempts_suite = {
	.name = "farswap_attempts",
	.test_cases = attempts_cases,
};

kunit_test_suite(attempts_suite);
