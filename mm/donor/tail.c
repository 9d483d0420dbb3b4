// SPDX-License-Identifier: GPL-2.0
/*
 * The tail of a donor's reads decides when a read is hedged, and which donor is avoided.
 *
 * Completions count reads, and those that take longer than two limits. They write nothing for a
 * read that is neither late nor slow but the count of their CPU. Four times a second a step
 * compares the counts:
 *
 * - late_ns follows the latency that one read of a hundred exceeds. It rises by a quarter if more
 *   reads do, and falls by a sixteenth if fewer do.
 * - A read is hedged at three times late_ns. In a donor that becomes slow late_ns would follow, so
 *   the limit is that of a slow read at most.
 * - A read is slow if it takes ten times another donor's late_ns. A donor is slow if one of a
 *   hundred of its reads is for two seconds, so that its own tail is ten times the other's, and if
 *   another donor is well at the same time: a machine that is busy itself sees all donors' reads
 *   slow down. A task that waits for a slow donor reads little, so steps without a read do not
 *   count.
 *
 * A slow donor gets few reads that could show that it has recovered. It is slow for five seconds,
 * and then it is tried; each time that this fails doubles the time, up to three minutes.
 *
 * Locking: none here; the caller makes one step at a time.
 */
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "donor/tail.h"

#define TAIL_MS			1000000U	/* ns */
/* One of so many reads is above the estimate of the tail. */
#define TAIL_SHARE		100U
/* A read is hedged at this multiple of the tail, and slow at that one of another donor's. */
#define TAIL_HEDGE		3U
#define TAIL_SLOW		10U
/* The scan for late reads runs once a jiffy, which can be 10 ms. */
#define TAIL_HEDGE_MIN		(5U * TAIL_MS)
/* A shorter delay may come from this machine's own scheduling. */
#define TAIL_SLOW_MIN		(20U * TAIL_MS)
#define TAIL_MIN		(TAIL_MS / 1000)
#define TAIL_MAX		(2000U * TAIL_MS)
/* The estimate for a donor until its reads are known. */
#define TAIL_FIRST		(50U * TAIL_MS)
/* Fewer slow reads, or those of fewer steps in a row, may be bad luck. */
#define TAIL_SLOWS		8U
#define TAIL_STEPS		8U
/*
 * After so many steps with reads, most of them late, the estimate is too low: it is no measure for
 * other donors before it has caught up.
 */
#define TAIL_RISING		3U
/* So many good reads in a row show that a slow donor has recovered. */
#define TAIL_GOODS		64U
/* Five seconds, in steps, and log2 of the largest multiple of it. */
#define TAIL_HOLD		20U
#define TAIL_RELAPSES		5U
/* After so many steps as a donor that is not slow, or without a read, its past is forgotten. */
#define TAIL_FORGET		240U

/* Hundredths of a read that may be hedged at once, after a time without any. */
#define TAIL_BURST		3200U
#define TAIL_TOKEN		100U
/* A refill makes at least one hedge possible, so that a few reads a second can be. */
#define TAIL_TRICKLE		100U

/**
 * farswap_tail_init() - initialise the tail of a donor that is new
 * @tail:	the tail
 */
void farswap_tail_init(struct farswap_tail *tail)
{
	*tail = (struct farswap_tail) {
		.late_ns = TAIL_FIRST,
		.hedge_ns = TAIL_HEDGE * TAIL_FIRST,
		.slow_ns = FARSWAP_TAIL_NEVER,
		.quiet = TAIL_FORGET,
	};
}

/**
 * farswap_tail_usual() - get the tail of a donor, for comparison with another one's
 * @tail:	the tail
 *
 * Context: any.
 * Return: latency in ns; 0 if it is not known, or if the donor is slow.
 */
u32 farswap_tail_usual(const struct farswap_tail *tail)
{
	return tail->known && !tail->slow && tail->quiet < TAIL_FORGET ? tail->late_ns : 0;
}

static void tail_estimate(struct farswap_tail *tail)
{
	const struct farswap_tail_counts *counts = &tail->now;
	u32 ns = tail->late_ns;

	if (!counts->reads)
		return;
	if (counts->late * TAIL_SHARE > counts->reads) {
		tail->known = true;
		ns += ns / 4;
	} else {
		/* Approach the first read that is late in large steps. */
		ns -= ns / (tail->known ? 16 : 2);
	}
	/* Reads may be faster than any that could be late. */
	if (ns <= TAIL_MIN)
		tail->known = true;
	WRITE_ONCE(tail->late_ns, clamp(ns, TAIL_MIN, TAIL_MAX));
}

static void tail_limits(struct farswap_tail *tail, u32 usual_ns)
{
	u32 slow = FARSWAP_TAIL_NEVER, hedge;

	if (usual_ns)
		slow = clamp(usual_ns, TAIL_SLOW_MIN / TAIL_SLOW, TAIL_MAX / TAIL_SLOW) * TAIL_SLOW;
	hedge = max(min(tail->late_ns, TAIL_MAX / TAIL_HEDGE) * TAIL_HEDGE, TAIL_HEDGE_MIN);
	WRITE_ONCE(tail->slow_ns, slow);
	WRITE_ONCE(tail->hedge_ns, min(hedge, slow));
}

static unsigned int tail_bad(const struct farswap_tail *tail)
{
	return tail->slows + tail->now.waiting;
}

static enum farswap_tail_news tail_judge(struct farswap_tail *tail, bool others_well)
{
	bool bad = tail->now.slow || tail->now.waiting;

	if (!others_well || tail->quiet >= TAIL_STEPS || (!bad && tail->now.reads) ||
	    (bad && tail_bad(tail) * TAIL_SHARE < tail->reads)) {
		tail->bad = 0;
		tail->bad_reads = 0;
	} else if (bad) {
		tail->bad++;
		tail->bad_reads += tail->now.slow;
	}
	if (tail->bad < TAIL_STEPS || tail->bad_reads + tail->now.waiting < TAIL_SLOWS)
		return FARSWAP_TAIL_SAME;
	tail->bad = 0;
	tail->bad_reads = 0;
	WRITE_ONCE(tail->slow, true);
	tail->hold = TAIL_HOLD << tail->relapses;
	tail->relapses = min(tail->relapses + 1, TAIL_RELAPSES);
	tail->good = 0;
	return FARSWAP_TAIL_BECAME_SLOW;
}

static enum farswap_tail_news tail_recover(struct farswap_tail *tail)
{
	WRITE_ONCE(tail->slow, false);
	tail->slows = 0;
	tail->reads = 0;
	tail->good = 0;
	return FARSWAP_TAIL_RECOVERED;
}

/**
 * farswap_tail_note() - record the reads of a quarter of a second
 * @tail:	the tail of a donor
 * @counts:	its reads since the last call
 *
 * The caller does this for all donors, and then calls farswap_tail_step() for each.
 *
 * Context: any; one call at a time.
 */
void farswap_tail_note(struct farswap_tail *tail, const struct farswap_tail_counts *counts)
{
	tail->now = *counts;
	tail->quiet = counts->reads || counts->waiting ? 0 : min(tail->quiet + 1, TAIL_FORGET);
	if (counts->reads)
		tail->rising = 2 * counts->late > counts->reads ?
			       min(tail->rising + 1, TAIL_RISING) : 0;
	tail->reads = tail->reads / 2 + counts->reads;
	tail->slows = tail->slows / 2 + counts->slow;
}

/**
 * farswap_tail_is_well() - tell whether a donor had reads lately, and hardly any slow one
 * @tail:	the tail
 *
 * Context: as farswap_tail_step().
 * Return: whether it had. Not if its estimate is still far too low.
 */
bool farswap_tail_is_well(const struct farswap_tail *tail)
{
	return !tail->slow && tail->quiet < TAIL_STEPS && tail->rising < TAIL_RISING &&
	       (!tail_bad(tail) || tail_bad(tail) * TAIL_SHARE < tail->reads);
}

/**
 * farswap_tail_step() - learn from the reads that were recorded last
 * @tail:	the tail of a donor
 * @usual_ns:	the lowest farswap_tail_usual() of the other donors; 0 if there is none
 * @others_well: farswap_tail_is_well() for any other donor
 *
 * Context: any; one step at a time.
 * Return: whether the donor has become slow, or has recovered.
 */
enum farswap_tail_news farswap_tail_step(struct farswap_tail *tail, u32 usual_ns,
					 bool others_well)
{
	bool bad = tail->now.slow || tail->now.waiting;

	tail_estimate(tail);
	tail_limits(tail, usual_ns);
	if (!tail->slow) {
		tail->good = bad ? 0 : min(tail->good + 1, TAIL_FORGET);
		if (tail->good == TAIL_FORGET)
			tail->relapses = 0;
		return tail_judge(tail, others_well);
	}
	tail->good = bad ? 0 : tail->good + tail->now.reads;
	/* Pages that only this donor has are read from it all the same. */
	if (bad)
		tail->hold = max(tail->hold, TAIL_HOLD);
	else if (tail->hold)
		tail->hold--;
	return tail->good < TAIL_GOODS && tail->hold ? FARSWAP_TAIL_SAME : tail_recover(tail);
}

/**
 * farswap_tail_budget_refill() - allow a share of the reads since the last refill to be hedged
 * @budget:	the budget
 * @reads:	count of all reads until now
 * @percent:	the share
 *
 * Context: any; one call at a time. The caller refills the budget a few times a second.
 */
void farswap_tail_budget_refill(struct farswap_tail_budget *budget, unsigned long reads,
				unsigned int percent)
{
	/* Bound it first, so that the product does not overflow. */
	unsigned int more = min_t(unsigned long, reads - budget->reads, TAIL_BURST) * percent;

	budget->reads = reads;
	budget->tokens = percent ? min(TAIL_BURST, budget->tokens + more + TAIL_TRICKLE) : 0;
}

/**
 * farswap_tail_budget_has() - tell whether farswap_tail_budget_take() would succeed
 * @budget:	the budget
 *
 * Context: as that.
 * Return: whether it would.
 */
bool farswap_tail_budget_has(const struct farswap_tail_budget *budget)
{
	return budget->tokens >= TAIL_TOKEN;
}

/**
 * farswap_tail_budget_take() - take what one hedge needs
 * @budget:	the budget
 *
 * Context: any; one call at a time.
 * Return: false if the budget does not allow it.
 */
bool farswap_tail_budget_take(struct farswap_tail_budget *budget)
{
	if (!farswap_tail_budget_has(budget))
		return false;
	budget->tokens -= TAIL_TOKEN;
	return true;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/tail-kunit.h"
#endif
