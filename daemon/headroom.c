// SPDX-License-Identifier: GPL-2.0
/*
 * Headroom (Infiniswap, section 5.1). A moving average of the memory that others use is
 * updated once a second: U = 0.2 measured + 0.8 U. The pool may hold the machine's memory
 * less U and less the headroom. Two rules are added to the paper's:
 *
 * - U is at least the measured value plus its growth in another second, less a quarter of
 *   the headroom: a program that grows fast must not wait for the average, which lags by
 *   about four seconds.
 * - Each time a task has to wait for memory the headroom grows by a quarter, up to twice
 *   the configured value. Every second the extra part shrinks by 1/32.
 *
 * The interval between samples adapts while less than twice the headroom is available. It is
 * 0.1 s after a sample in which others have grown by 1/64 of the headroom, and doubles after any
 * other sample, up to 1 s. So a machine that lends all it can is not sampled often as long as
 * its own use does not change.
 */
#include "headroom.h"

#define INTERVAL_MS		1000
#define INTERVAL_GROWING_MS	100

void headroom_init(struct headroom *headroom, uint64_t total, uint64_t keep)
{
	*headroom = (struct headroom){
		.total = total,
		.keep = keep,
		.interval_ms = INTERVAL_GROWING_MS,
	};
}

void headroom_set_keep(struct headroom *headroom, uint64_t keep)
{
	headroom->keep = keep;
	headroom->extra = 0;
}

static uint64_t growth(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

uint64_t headroom_keep(const struct headroom *headroom)
{
	return headroom->keep + headroom->extra;
}

uint64_t headroom_sample(struct headroom *headroom, uint64_t available, uint64_t held,
			 bool second)
{
	uint64_t free = available + held < headroom->total ? available + held : headroom->total;
	uint64_t measured = headroom->total - free;
	uint64_t keep = headroom_keep(headroom);
	uint64_t used, rise;

	if (!headroom->begun)
		headroom->used = headroom->last = headroom->seen = measured;
	headroom->interval_ms = headroom->interval_ms * 2 < INTERVAL_MS ? headroom->interval_ms * 2 : INTERVAL_MS;
	if (growth(headroom->seen, measured) > keep / 64)
		headroom->interval_ms = INTERVAL_GROWING_MS;
	headroom->seen = measured;
	rise = growth(headroom->last, measured);
	if (rise < headroom->rise)
		rise = headroom->rise;
	if (second || !headroom->begun) {
		headroom->extra -= (headroom->extra + 31) / 32;
		headroom->used = (measured + 4 * headroom->used) / 5;
		headroom->rise = growth(headroom->last, measured);
		headroom->last = measured;
		headroom->begun = true;
	}
	if (rise > keep)
		rise = keep;
	used = growth(keep / 4, measured + rise);
	if (used < headroom->used)
		used = headroom->used;
	return headroom->total > used + keep ? headroom->total - used - keep : 0;
}

unsigned int headroom_interval_ms(const struct headroom *headroom, uint64_t available)
{
	return available < 2 * headroom_keep(headroom) ? headroom->interval_ms : INTERVAL_MS;
}

void headroom_pressure(struct headroom *headroom)
{
	headroom->extra += headroom->keep / 4;
	if (headroom->extra > headroom->keep)
		headroom->extra = headroom->keep;
}
