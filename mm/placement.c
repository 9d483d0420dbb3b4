// SPDX-License-Identifier: GPL-2.0
/*
 * Power of two choices (Infiniswap, section 4.2): ask two donors at random,
 * take the one with more free memory. Donors that hold none of this client's
 * slabs come first, so that slabs spread before they pile up.
 */
#include <linux/errno.h>

#include "placement.h"

/* The @nth candidate not yet tried that is (or is not) new to this client. */
static int placement_nth(const struct farswap_candidate *candidates, int nr,
			 bool fresh, u32 nth, int except)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (candidates[i].tried || i == except)
			continue;
		if (!candidates[i].slabs != fresh)
			continue;
		if (!nth--)
			return i;
	}
	return -ENOENT;
}

static int placement_draw(const struct farswap_candidate *candidates, int nr,
			  u32 (*random)(u32 below), int except)
{
	int fresh = 0, old = 0, i;

	for (i = 0; i < nr; i++) {
		if (candidates[i].tried || i == except)
			continue;
		if (candidates[i].slabs)
			old++;
		else
			fresh++;
	}
	if (fresh)
		return placement_nth(candidates, nr, true, random(fresh), except);
	if (old)
		return placement_nth(candidates, nr, false, random(old), except);
	return -ENOENT;
}

/**
 * farswap_placement_pick() - which donors to ask
 * @candidates:	the donors that could take the slab
 * @nr:		how many there are
 * @random:	a number from 0 to @below - 1, evenly
 * @pick:	where the indices of the chosen ones go
 *
 * Two of those that hold no slab of this client; when there aren't two, the
 * others fill up.
 *
 * Context: any.
 * Return: how many were picked, 0 to 2.
 */
int farswap_placement_pick(const struct farswap_candidate *candidates, int nr,
			   u32 (*random)(u32 below), int pick[2])
{
	pick[0] = placement_draw(candidates, nr, random, -1);
	if (pick[0] < 0)
		return 0;
	pick[1] = placement_draw(candidates, nr, random, pick[0]);
	return pick[1] < 0 ? 1 : 2;
}

/**
 * farswap_placement_choose() - which of the picked donors gets the slab
 * @candidates:	the donors, with free_bytes of the picked ones filled in
 * @pick:	what farswap_placement_pick() chose
 * @nr:		how many it chose
 * @need_bytes:	size of a slab
 *
 * Context: any.
 * Return: an index into @candidates, or -ENOSPC when none has the room.
 */
int farswap_placement_choose(const struct farswap_candidate *candidates,
			     const int pick[2], int nr, u64 need_bytes)
{
	int best = -ENOSPC, i;

	for (i = 0; i < nr; i++) {
		const struct farswap_candidate *c = &candidates[pick[i]];

		if (c->tried || c->free_bytes < need_bytes)
			continue;
		if (best < 0 || c->free_bytes > candidates[best].free_bytes)
			best = pick[i];
	}
	return best;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/placement-kunit.h"
#endif
