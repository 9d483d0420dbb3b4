// SPDX-License-Identifier: GPL-2.0
/*
 * The trend of a stream of faults is the distance between accesses that most of the last accesses
 * have in common (Leap, section 3.2.1). The number of pages to read ahead follows from how many of
 * the pages read ahead last were used (section 3.2.2). An access to a page that was read ahead
 * causes no fault, so such accesses are found in the page table.
 *
 * A fault off the trend is either a stray one, which is not part of the stream, or it shows that
 * the stream goes on elsewhere. The results of earlier faults of this kind decide between the two.
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

/* The first window of a new trend is small, because two accesses may agree by chance. */
#define TREND_FIRST	2
/*
 * After this many stray faults, the stream is checked for progress. A stream without progress is
 * taken to go on elsewhere.
 */
#define TREND_STRAYS	4
#define TREND_TRUST	3

/**
 * farswap_trend_init() - begin a stream with its first fault
 * @trend:	the stream
 * @page:	page number of the fault
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
 * Return true if the page is the next access of the stream. Accesses without a fault, and pages
 * that need not be read, may lie between.
 */
static bool trend_is_followed(const struct farswap_trend *trend, unsigned long page)
{
	long delta = page - trend->page;

	return trend->window && trend->stride && delta % trend->stride == 0 &&
	       delta / trend->stride >= 1 && delta / trend->stride <= trend->window + 1;
}

/* Return the distance from the last fault; 0 if it is too long for a stream. */
static s16 trend_delta(const struct farswap_trend *trend, unsigned long page)
{
	long delta = page - trend->last;

	return delta >= S16_MIN && delta <= S16_MAX ? delta : 0;
}

/* Return the distance that more than half of the last ones are equal to, or 0 (Boyer-Moore). */
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

/* Without a majority, two equal distances, or two adjacent pages, may begin a trend. */
static s16 trend_begin(s16 delta, s16 before)
{
	return delta == before || abs(delta) == 1 ? delta : 0;
}

/* Return the window of a stream that goes on as before. */
static unsigned int trend_window_on(const struct farswap_trend *trend, unsigned int hits)
{
	if (hits)
		return roundup_pow_of_two(hits + 1);
	/* If no page was asked for, nothing is known about the use of the window. */
	return trend->asked ? 1 : trend->window;
}

/*
 * Return the window of a stream that goes on elsewhere. Unlike in Leap, it is expected to go as far
 * there as it did before, because objects of one size are often traversed one after the other.
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
	/* Waiting was wrong if the stream goes on elsewhere, and right if it has come back. */
	if (trend->strays)
		trend->trust += sure - follows;
	trend->trust = clamp(trend->trust, -TREND_TRUST, TREND_TRUST);
}

/**
 * farswap_trend_stray() - check whether a fault is a stray one
 * @trend:	the stream
 * @page:	page number of the fault
 *
 * After a stray fault the stream waits for its next access, and the pages that were asked for ahead
 * of it remain valid.
 *
 * Return: true for a stray fault; otherwise farswap_trend_fault() must follow.
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
 * farswap_trend_fault() - add the next fault of a stream and choose the window
 * @trend:	the stream; farswap_trend_ahead() gives the pages to read ahead afterwards
 * @page:	page number of the fault
 * @used:	mask of the pages asked for last that have been used since
 * @max:	limit of the window, pages; at most FARSWAP_TREND_MAX
 *
 * Return: number of pages to read ahead. It is 0 if there is no trend, if none of the pages asked
 * for last were used and this one is not among them, or if the fault is a stray one after all. Only
 * in the last case the pages that were asked for remain so in @trend.
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
