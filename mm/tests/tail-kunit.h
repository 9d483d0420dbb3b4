/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tail: its estimate, which donor is slow, and the budget of hedges.
 */
#include <kunit/test.h>

#define TAIL_TEST_READS	1000U

static bool others_well = true;

/*
 * Steps of reads of which one in fifty takes @tail_ns and the others a tenth of it. The other
 * donor's tail is @usual_ns.
 */
static unsigned int tail_test_steps(struct farswap_tail *tail, unsigned int steps,
				    unsigned int reads, u32 tail_ns, u32 usual_ns,
				    enum farswap_tail_news news)
{
	struct farswap_tail_counts counts;
	unsigned int found = 0;

	while (steps--) {
		counts = (struct farswap_tail_counts) { .reads = reads };
		if (tail_ns > tail->late_ns)
			counts.late += reads / 50;
		if (tail_ns / 10 > tail->late_ns)
			counts.late += reads - reads / 50;
		if (tail_ns > tail->slow_ns)
			counts.slow += reads / 50;
		if (tail_ns / 10 > tail->slow_ns)
			counts.slow += reads - reads / 50;
		farswap_tail_note(tail, &counts);
		found += farswap_tail_step(tail, usual_ns, others_well) == news;
	}
	return found;
}

static void tail_test_estimate(struct kunit *test)
{
	struct farswap_tail tail;

	farswap_tail_init(&tail);
	KUNIT_EXPECT_EQ(test, farswap_tail_usual(&tail), 0U);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, TAIL_MS, 0, FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_GE(test, farswap_tail_usual(&tail), TAIL_MS / 4 * 3);
	KUNIT_EXPECT_LE(test, farswap_tail_usual(&tail), TAIL_MS / 2 * 3);
	KUNIT_EXPECT_EQ_MSG(test, tail.hedge_ns, TAIL_HEDGE_MIN,
			    "a read is not hedged before the next scan could find it");
	tail_test_steps(&tail, 60, TAIL_TEST_READS, 10 * TAIL_MS, 0, FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_GE(test, tail.hedge_ns, 22 * TAIL_MS);
	KUNIT_EXPECT_LE(test, tail.hedge_ns, 45 * TAIL_MS);
	/* Few reads of which one is late now and then do not raise it for good. */
	tail_test_steps(&tail, 200, 10, TAIL_MS, 0, FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_LE(test, tail.late_ns, 2 * TAIL_MS);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, U32_MAX, 0, FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_LE(test, tail.late_ns, TAIL_MAX);
}

static void tail_test_slow(struct kunit *test)
{
	struct farswap_tail tail;

	farswap_tail_init(&tail);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, 2 * TAIL_MS, 2 * TAIL_MS, FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_EQ(test, tail.slow_ns, 10 * 2 * TAIL_MS);
	KUNIT_EXPECT_EQ(test, tail_test_steps(&tail, 60, TAIL_TEST_READS, 19 * TAIL_MS,
					      2 * TAIL_MS, FARSWAP_TAIL_BECAME_SLOW), 0U);
	KUNIT_EXPECT_LE_MSG(test, tail.hedge_ns, tail.slow_ns,
			    "reads of a donor that becomes slow are hedged all the same");
	KUNIT_EXPECT_EQ_MSG(test, tail_test_steps(&tail, TAIL_STEPS - 1, TAIL_TEST_READS,
						  21 * TAIL_MS, 2 * TAIL_MS,
						  FARSWAP_TAIL_BECAME_SLOW), 0U,
			    "a donor is not slow after a short time");
	KUNIT_EXPECT_EQ(test, tail_test_steps(&tail, 1, TAIL_TEST_READS, 21 * TAIL_MS,
					      2 * TAIL_MS, FARSWAP_TAIL_BECAME_SLOW), 1U);
	KUNIT_EXPECT_TRUE_MSG(test, tail.slow, "ten times the other's tail is slow");
	KUNIT_EXPECT_EQ_MSG(test, farswap_tail_usual(&tail), 0U,
			    "a slow donor is no measure for others");
}

/* All donors become slow at once, and then there is no other one. */
static void tail_test_compare(struct kunit *test)
{
	struct farswap_tail tail;

	farswap_tail_init(&tail);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, TAIL_MS, TAIL_MS, FARSWAP_TAIL_SAME);
	others_well = false;
	KUNIT_EXPECT_EQ(test, tail_test_steps(&tail, 60, TAIL_TEST_READS, 200 * TAIL_MS, TAIL_MS,
					      FARSWAP_TAIL_BECAME_SLOW), 0U);
	KUNIT_EXPECT_EQ(test, tail_test_steps(&tail, 60, TAIL_TEST_READS, 500 * TAIL_MS, 0,
					      FARSWAP_TAIL_BECAME_SLOW), 0U);
	others_well = true;
}

/* A donor that answers nothing has no read that could count as slow. */
static void tail_test_silent(struct kunit *test)
{
	struct farswap_tail_counts silent = { .waiting = TAIL_SLOWS - 1 };
	unsigned int steps, found = 0;
	struct farswap_tail tail;

	farswap_tail_init(&tail);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, TAIL_MS, TAIL_MS, FARSWAP_TAIL_SAME);
	for (steps = 0; steps < 40; steps++) {
		farswap_tail_note(&tail, &silent);
		found += farswap_tail_step(&tail, TAIL_MS, true) != FARSWAP_TAIL_SAME;
	}
	KUNIT_EXPECT_EQ(test, found, 0U);
	KUNIT_EXPECT_EQ(test, farswap_tail_is_well(&tail), false);
	silent.waiting++;
	for (steps = 0; steps < TAIL_STEPS; steps++) {
		farswap_tail_note(&tail, &silent);
		found += farswap_tail_step(&tail, TAIL_MS, true) == FARSWAP_TAIL_BECAME_SLOW;
	}
	KUNIT_EXPECT_EQ(test, found, 1U);
}

/* Make one read in the first of every @every steps. */
static unsigned int tail_test_few(struct farswap_tail *tail, unsigned int steps, unsigned int every,
				  unsigned int slow)
{
	struct farswap_tail_counts counts = {};
	unsigned int step, found = 0;

	for (step = 0; step < steps; step++) {
		counts.reads = !(step % every);
		counts.late = counts.reads;
		counts.slow = counts.reads ? slow : 0;
		farswap_tail_note(tail, &counts);
		found += farswap_tail_step(tail, TAIL_MS, true) == FARSWAP_TAIL_BECAME_SLOW;
	}
	return found;
}

/* A single task that waits for each read of a slow donor reads little. */
static void tail_test_few_reads(struct kunit *test)
{
	struct farswap_tail_counts burst = { .reads = 16, .late = 16, .slow = 16 };
	struct farswap_tail tail;
	unsigned int round;

	farswap_tail_init(&tail);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, TAIL_MS, TAIL_MS, FARSWAP_TAIL_SAME);
	tail_test_few(&tail, 40, 1, 0);
	KUNIT_EXPECT_EQ(test, tail_test_few(&tail, TAIL_SLOWS, 2, 1), 0U);
	KUNIT_EXPECT_EQ_MSG(test, tail_test_few(&tail, TAIL_SLOWS + 1, 2, 1), 1U,
			    "eight slow reads in eight steps are enough");

	farswap_tail_init(&tail);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, TAIL_MS, TAIL_MS, FARSWAP_TAIL_SAME);
	tail_test_few(&tail, 40, 1, 0);
	for (round = 0; round < 20; round++) {
		farswap_tail_note(&tail, &burst);
		KUNIT_EXPECT_EQ_MSG(test, farswap_tail_step(&tail, TAIL_MS, true),
				    FARSWAP_TAIL_SAME, "occasional stalls are not enough");
		tail_test_few(&tail, 3, 1, 0);
	}
	KUNIT_EXPECT_EQ_MSG(test, tail_test_few(&tail, 4, 1, 1) +
			    tail_test_few(&tail, TAIL_STEPS, TAIL_STEPS + 1, 0) +
			    tail_test_few(&tail, 4, 1, 1), 0U,
			    "slow reads before a pause do not count");
}

/* The other donor has few reads, too. */
static void tail_test_other(struct kunit *test)
{
	struct farswap_tail tail;

	farswap_tail_init(&tail);
	KUNIT_EXPECT_EQ(test, farswap_tail_is_well(&tail), false);
	tail_test_few(&tail, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, farswap_tail_is_well(&tail), true);
	tail_test_few(&tail, TAIL_STEPS - 1, TAIL_STEPS, 0);
	KUNIT_EXPECT_EQ(test, farswap_tail_is_well(&tail), true);
	tail_test_steps(&tail, TAIL_STEPS, 0, 0, TAIL_MS, FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_EQ_MSG(test, farswap_tail_is_well(&tail), false,
			    "a donor without recent reads is not well");
}

/*
 * This machine is slow, so reads of both donors take 40 ms. One task reads, with pauses of 100 ms,
 * twice as much from the first one.
 */
static void tail_test_both(struct kunit *test)
{
	struct farswap_tail tails[2];
	unsigned int step, i, nth = 0, slow = 0, ms = 0;

	for (i = 0; i < 2; i++) {
		farswap_tail_init(&tails[i]);
		tail_test_steps(&tails[i], 60, TAIL_TEST_READS, TAIL_MS / 10, TAIL_MS / 10,
				FARSWAP_TAIL_SAME);
	}
	for (step = 0; step < 400; step++) {
		struct farswap_tail_counts counts[2] = {};
		bool well[2];
		u32 usual[2];

		for (; ms < 250; ms += 140) {
			i = nth++ % 3 / 2;
			counts[i].reads++;
			counts[i].late += 40 * TAIL_MS > tails[i].late_ns;
			counts[i].slow += 40 * TAIL_MS > tails[i].slow_ns;
		}
		ms -= 250;
		for (i = 0; i < 2; i++)
			farswap_tail_note(&tails[i], &counts[i]);
		for (i = 0; i < 2; i++) {
			well[i] = farswap_tail_is_well(&tails[i]);
			usual[i] = farswap_tail_usual(&tails[i]);
		}
		for (i = 0; i < 2; i++)
			slow += farswap_tail_step(&tails[i], usual[!i], well[!i]) ==
				FARSWAP_TAIL_BECAME_SLOW;
	}
	KUNIT_EXPECT_EQ_MSG(test, slow, 0U, "no donor is blamed for what both have");
}

static void tail_test_recovery(struct kunit *test)
{
	struct farswap_tail tail;
	unsigned int round;

	farswap_tail_init(&tail);
	tail_test_steps(&tail, 60, TAIL_TEST_READS, TAIL_MS, TAIL_MS, FARSWAP_TAIL_SAME);
	for (round = 0; round < 3; round++) {
		tail_test_steps(&tail, TAIL_STEPS, TAIL_TEST_READS, 600 * TAIL_MS, TAIL_MS,
				FARSWAP_TAIL_SAME);
		KUNIT_EXPECT_EQ(test, tail_test_steps(&tail, (TAIL_HOLD << round) - 1, 0, 0,
						      TAIL_MS, FARSWAP_TAIL_RECOVERED), 0U);
		KUNIT_EXPECT_EQ_MSG(test, tail_test_steps(&tail, 2, 0, 0, TAIL_MS,
							  FARSWAP_TAIL_RECOVERED), 1U,
				    "it is tried again, each time later");
	}
	tail_test_steps(&tail, TAIL_FORGET + 1, TAIL_TEST_READS, TAIL_MS, TAIL_MS,
			FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_EQ_MSG(test, tail.relapses, 0U, "a good minute makes up for it");
	/* Sole copies are read from a slow donor. */
	tail_test_steps(&tail, TAIL_STEPS, TAIL_TEST_READS, 600 * TAIL_MS, TAIL_MS,
			FARSWAP_TAIL_SAME);
	KUNIT_EXPECT_EQ(test, tail_test_steps(&tail, 100, TAIL_TEST_READS, 600 * TAIL_MS,
					      TAIL_MS, FARSWAP_TAIL_RECOVERED), 0U);
	KUNIT_EXPECT_EQ(test, tail_test_steps(&tail, 1, TAIL_TEST_READS, TAIL_MS, TAIL_MS,
					      FARSWAP_TAIL_RECOVERED), 1U);
}

static unsigned int tail_test_take(struct farswap_tail_budget *budget)
{
	unsigned int taken = 0;

	while (farswap_tail_budget_take(budget))
		taken++;
	return taken;
}

static void tail_test_budget(struct kunit *test)
{
	struct farswap_tail_budget budget = {};
	unsigned long reads = ~0UL - 5000;
	unsigned int step, taken = 0;

	budget.reads = reads;
	for (step = 0; step < 100; step++) {
		reads += 500;
		farswap_tail_budget_refill(&budget, reads, 2);
		taken += tail_test_take(&budget);
	}
	KUNIT_EXPECT_LE_MSG(test, taken, 100 * 500 / 50 + 100, "a share of the reads at most");
	KUNIT_EXPECT_GE(test, taken, 100U * 500 / 50);
	reads += 1000000;
	farswap_tail_budget_refill(&budget, reads, 2);
	KUNIT_EXPECT_LE_MSG(test, tail_test_take(&budget), TAIL_BURST / TAIL_TOKEN,
			    "what was not used is not saved up");
	for (step = 0; step < 10; step++)
		farswap_tail_budget_refill(&budget, reads, 2);
	KUNIT_EXPECT_EQ_MSG(test, tail_test_take(&budget), 10U, "few reads can be hedged, too");
	farswap_tail_budget_refill(&budget, reads + 100000, 0);
	KUNIT_EXPECT_EQ_MSG(test, tail_test_take(&budget), 0U, "none if it is off");
}

static struct kunit_case tail_cases[] = {
	KUNIT_CASE(tail_test_estimate),
	KUNIT_CASE(tail_test_slow),
	KUNIT_CASE(tail_test_compare),
	KUNIT_CASE(tail_test_silent),
	KUNIT_CASE(tail_test_few_reads),
	KUNIT_CASE(tail_test_other),
	KUNIT_CASE(tail_test_both),
	KUNIT_CASE(tail_test_recovery),
	KUNIT_CASE(tail_test_budget),
	{}
};

static struct kunit_suite tail_suite = {
	.name		= "farswap_tail",
	.test_cases	= tail_cases,
};

kunit_test_suite(tail_suite);
