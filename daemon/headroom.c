// SPDX-License-Identifier: GPL-2.0
/*
 * Headroom (Infiniswap, section 5.1): of what others use a moving average is kept,
 * U = 0.2 measured + 0.8 U, once a second; what the machine has, less U, less the
 * headroom, may be held. Two rules are not the paper's:
 *
 * - When less than three quarters of the headroom are available, what is measured
 *   counts instead of a lower U: whoever grows fast is not to wait for an average.
 * - Each time somebody has to wait for memory, the headroom grows by a quarter, to
 *   twice what was asked for at most. A second later it shrinks again, by 1/32 of
 *   the extra.
 */
#include "headroom.h"

void headroom_init(struct headroom *headroom, uint64_t total, uint64_t keep)
{
	*headroom = (struct headroom){ .total = total, .keep = keep };
}

uint64_t headroom_sample(struct headroom *headroom, uint64_t available, uint64_t held)
{
	uint64_t free = available + held < headroom->total ? available + held : headroom->total;
	uint64_t measured = headroom->total - free;
	uint64_t keep = headroom->keep + headroom->extra;
	uint64_t used;

	headroom->extra -= (headroom->extra + 31) / 32;
	headroom->used = headroom->begun ? (measured + 4 * headroom->used) / 5 : measured;
	headroom->begun = true;
	used = headroom->used;
	if (available < keep / 4 * 3 && used < measured)
		used = measured;
	return headroom->total > used + keep ? headroom->total - used - keep : 0;
}

void headroom_pressure(struct headroom *headroom)
{
	headroom->extra += headroom->keep / 4;
	if (headroom->extra > headroom->keep)
		headroom->extra = headroom->keep;
}
