/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trend of a stream of faults, computed from numbers only, without types of the kernel.
 */
#ifndef _FARSWAP_TREND_H
#define _FARSWAP_TREND_H

#include <linux/types.h>

#define FARSWAP_TREND_DELTAS	8
/* Limit of the window, pages: the number of bits in a mask. */
#define FARSWAP_TREND_MAX	64

/**
 * struct farswap_trend - the trend of a stream of faults
 * @asked:	mask of the pages ahead of @page that were asked for; bit 0 is the next page
 * @page:	page number of the last fault that was not stray
 * @last:	page number of the last fault
 * @stride:	distance from one access to the next, pages; 0 without a trend
 * @window:	number of pages ahead that were to be asked for
 * @run:	number of accesses since the stream last went elsewhere, up to
 *		FARSWAP_TREND_MAX + 1 plus the last fault
 * @strays:	number of stray faults since @page, or since the last sign of progress
 * @hits:	number of pages in @asked that were used until that sign of progress
 * @trust:	if over 0, the stream is expected to go on elsewhere with the same stride
 * @jumped:	the fault at @page went elsewhere in that way
 * @next:	index of the oldest of @deltas
 * @deltas:	the last distances between accesses, pages; 0 for a distance without meaning
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
 * farswap_trend_ahead() - get a page of the window
 * @trend:	the stream
 * @nth:	index in the window, from 0
 *
 * Return: the page number; it may have wrapped below 0.
 */
static inline unsigned long farswap_trend_ahead(const struct farswap_trend *trend,
						unsigned int nth)
{
	return trend->page + (long)trend->stride * (nth + 1);
}

#endif /* _FARSWAP_TREND_H */
