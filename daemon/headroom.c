// SPDX-License-Identifier: GPL-2.0
/*
 * Headroom (Infiniswap, section 5.1): of what others use a moving average is kept,
 * U = 0.2 measured + 0.8 U, once a second; what the machine has, less U, less the
 * headroom, may be held. Two rules are not the paper's:
 *
 * - U is never taken to be less than what is measured and what a further second of
 *   its growth would add, less a quarter of the headroom: whoever grows fast is
 *   not to wait for an average, which lags by some four seconds.
 * - Each time somebody has to wait for memory, the headroom grows by a quarter, to
 *   twice what was asked for at most. A second later it shrinks again, by 1/32 of
 *   the extra.
 *
 * Where less than twice the headroom is available, a look that finds others to have grown by
 * 1/64 of it is followed by one a tenth of a second later, any other by one after twice as
 * long as the last, to a second: a machine that lends all it can is looked at for nothing
 * as long as its own use stays as it is.
 */
#include "headroom.h"

#define LOOK_MS		1000
#define LOOK_GROWING_MS	100

void headroom_init(struct headroom *headroom, uint64_t total, uint64_t keep)
{
	*headroom = (struct headroom){
		.total = total,
		.keep = keep,
		.look_ms = LOOK_GROWING_MS,
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
	headroom->look_ms = headroom->look_ms * 2 < LOOK_MS ? headroom->look_ms * 2 : LOOK_MS;
	if (growth(headroom->seen, measured) > keep / 64)
		headroom->look_ms = LOOK_GROWING_MS;
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

unsigned int headroom_look_ms(const struct headroom *headroom, uint64_t available)
{
	return available < 2 * headroom_keep(headroom) ? headroom->look_ms : LOOK_MS;
}

void headroom_pressure(struct headroom *headroom)
{
	headroom->extra += headroom->keep / 4;
	if (headroom->extra > headroom->keep)
		headroom->extra = headroom->keep;
}
