/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a stream of faults is going: numbers in, numbers out, no kernel types.
 */
#ifndef _FARSWAP_TREND_H
#define _FARSWAP_TREND_H

#include <linux/types.h>

#define FARSWAP_TREND_DELTAS	8
/* Pages ahead at most: as many as a mask has bits. */
#define FARSWAP_TREND_MAX	64

/**
 * struct farswap_trend - what a stream of faults has shown
 * @asked:	pages ahead of @page that were asked for; bit 0 is the next
 * @page:	of the last fault that was not stray
 * @last:	of the last one
 * @stride:	pages from one access to the next; 0: there is no trend
 * @window:	pages ahead that were to be asked for
 * @run:	accesses since it last went elsewhere, up to FARSWAP_TREND_MAX and that one
 * @strays:	faults since @page, or since it was last seen to go on
 * @hits:	pages of @asked that had been of use by then
 * @trust:	over 0: where it goes elsewhere it goes on in the same way
 * @jumped:	@page is where it went on so
 * @next:	the oldest of @deltas
 * @deltas:	the last distances between accesses; 0: one that says nothing
 */
struct farswap_trend {
	u64 asked;
	unsigned long page;
	unsigned long last;
	s16 stride;
	u8 window;
	u8 run;
	u8 strays;
	u8 hits;
	s8 trust;
	bool jumped;
	u8 next;
	s16 deltas[FARSWAP_TREND_DELTAS];
};

void farswap_trend_init(struct farswap_trend *trend, unsigned long page);
bool farswap_trend_stray(struct farswap_trend *trend, unsigned long page);
unsigned int farswap_trend_fault(struct farswap_trend *trend, unsigned long page, u64 used,
				 unsigned int max);

/**
 * farswap_trend_ahead() - a page of the window
 * @trend:	the stream
 * @nth:	which one, from 0
 *
 * Return: its number; it may be less than 0, wrapped.
 */
static inline unsigned long farswap_trend_ahead(const struct farswap_trend *trend,
						unsigned int nth)
{
	return trend->page + (long)trend->stride * (nth + 1);
}

#endif /* _FARSWAP_TREND_H */
