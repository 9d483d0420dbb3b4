// SPDX-License-Identifier: GPL-2.0
/*
 * The trend of a stream of faults: the distance that most of the last accesses had from the
 * one before (Leap, section 3.2.1), and how many pages to read ahead by how many of the
 * last ones were of use (3.2.2). What was of use causes no fault, so it is looked for in the
 * page table, and counts as accesses.
 *
 * Faults now and then that are none of the stream's are told from those with which it goes on
 * elsewhere by what such faults led to before.
 *
 * Locking: none; the caller owns the memory.
 */
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "io/trend.h"

/* Two accesses may go the same way by chance. */
#define TREND_FIRST	2
/* Faults elsewhere after which a stream is looked for, and not waited for if it rests. */
#define TREND_STRAYS	4
#define TREND_TRUST	3

/**
 * farswap_trend_init() - the first fault of a stream
 * @trend:	the stream
 * @page:	its number
 */
void farswap_trend_init(struct farswap_trend *trend, unsigned long page)
{
	memset(trend, 0, sizeof(*trend));
	trend->page = page;
	trend->last = page;
	trend->run = 1;
}

static void trend_push(struct farswap_trend *trend, s16 delta)
{
	trend->deltas[trend->next] = delta;
	trend->next = (trend->next + 1) % FARSWAP_TREND_DELTAS;
}

/*
 * Is it the next access of the stream? Between them may lie accesses that were no faults, and
 * pages that needn't be read.
 */
static bool trend_is_followed(const struct farswap_trend *trend, unsigned long page)
{
	long delta = page - trend->page;

	return trend->window && trend->stride && delta % trend->stride == 0 &&
	       delta / trend->stride >= 1 && delta / trend->stride <= trend->window + 1;
}

/* The distance from the last fault; 0 if it is too long to be one of a stream. */
static s16 trend_delta(const struct farswap_trend *trend, unsigned long page)
{
	long delta = page - trend->last;

	return delta >= S16_MIN && delta <= S16_MAX ? delta : 0;
}

/* The vote of Boyer and Moore: what more than half of them are, or 0. */
static s16 trend_majority(const struct farswap_trend *trend)
{
	unsigned int i, votes = 0, nr = 0;
	s16 delta = 0;

	for (i = 0; i < FARSWAP_TREND_DELTAS; i++) {
		if (!votes)
			delta = trend->deltas[i];
		if (trend->deltas[i] == delta)
			votes++;
		else
			votes--;
	}
	for (i = 0; i < FARSWAP_TREND_DELTAS; i++)
		nr += trend->deltas[i] == delta;
	return nr > FARSWAP_TREND_DELTAS / 2 ? delta : 0;
}

/* Without a majority: two that are the same, or neighbours, may be the begin of one. */
static s16 trend_begin(s16 delta, s16 before)
{
	return delta == before || abs(delta) == 1 ? delta : 0;
}

/* Of a stream that goes on as it did. */
static unsigned int trend_window_on(const struct farswap_trend *trend, unsigned int hits)
{
	if (hits)
		return roundup_pow_of_two(hits + 1);
	/* Nothing ahead had to be read: that says nothing. */
	return trend->asked ? 1 : trend->window;
}

/*
 * Of one that goes on elsewhere. Unlike Leap's it is taken to go as far there as it did before:
 * things of one size are gone through one after the other.
 */
static unsigned int trend_window_elsewhere(const struct farswap_trend *trend, bool sure)
{
	if (sure)
		return max(trend->run - 2, TREND_FIRST);
	return trend->trust > 0 ? trend->run - 1 : 0;
}

static void trend_learn(struct farswap_trend *trend, bool follows, bool sure, unsigned int hits)
{
	if (trend->jumped && trend->asked)
		trend->trust += 2 * hits >= hweight64(trend->asked) ? 1 : -1;
	/* It was waited for while it was elsewhere; or it has come back. */
	if (trend->strays)
		trend->trust += sure - follows;
	trend->trust = clamp(trend->trust, -TREND_TRUST, TREND_TRUST);
}

/**
 * farswap_trend_stray() - is a fault none of the stream's
 * @trend:	the stream
 * @page:	the fault's
 *
 * Then the stream is waited for, and what was asked for ahead of it stays so.
 *
 * Return: whether it is; if not, farswap_trend_fault() is to follow.
 */
bool farswap_trend_stray(struct farswap_trend *trend, unsigned long page)
{
	if (!trend->window || trend->trust > 0 || trend->strays == TREND_STRAYS ||
	    trend_is_followed(trend, page) || trend_delta(trend, page) == trend->stride)
		return false;
	trend->last = page;
	trend->strays++;
	return true;
}

/**
 * farswap_trend_fault() - the next fault of a stream
 * @trend:	the stream; the pages to read ahead are farswap_trend_ahead() now
 * @page:	its number
 * @used:	which of those that were asked for last were of use since
 * @max:	pages ahead at most, up to FARSWAP_TREND_MAX
 *
 * Return: how many pages to read ahead; 0 if there is no trend, the last ones were of no use
 * and this is not one of them either, or it is a stray one after all: only then what was asked
 * for is still to be.
 */
unsigned int farswap_trend_fault(struct farswap_trend *trend, unsigned long page, u64 used,
				 unsigned int max)
{
	s16 before = trend->deltas[(trend->next + FARSWAP_TREND_DELTAS - 1) % FARSWAP_TREND_DELTAS];
	unsigned int hits = hweight64(used), window = 0, i;
	bool follows = trend_is_followed(trend, page), sure;
	s16 delta;

	delta = follows ? trend->stride : trend_delta(trend, page);
	if (trend->strays == TREND_STRAYS && !follows && delta != trend->stride &&
	    hits > trend->hits) {
		trend->hits = hits;
		trend->strays = 1;
		trend->last = page;
		return 0;
	}
	for (i = 0; i < min(hits, FARSWAP_TREND_DELTAS - 1U); i++)
		trend_push(trend, trend->stride);
	trend_push(trend, delta);
	if (!follows)
		trend->stride = trend_majority(trend) ?: trend_begin(delta, before);
	sure = !follows && delta && delta == trend->stride;
	trend_learn(trend, follows, sure, hits);

	trend->run = min(trend->run + hits, FARSWAP_TREND_MAX + 1U);
	if (follows)
		window = trend_window_on(trend, hits);
	else if (trend->stride)
		window = trend_window_elsewhere(trend, sure);
	trend->window = min(window, max);
	trend->run = follows ? trend->run + 1 : sure ? 2 : 1;
	trend->jumped = !follows && !sure && trend->window;
	trend->strays = 0;
	trend->hits = 0;
	trend->page = page;
	trend->last = page;
	trend->asked = 0;
	return trend->window;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/trend-kunit.h"
#endif
