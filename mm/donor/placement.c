// SPDX-License-Identifier: GPL-2.0
/*
 * Placement: the choice of the donor that gets a slab.
 *
 * Infiniswap (section 4.2) queries two donors at random, preferably donors without a slab of this
 * client, and chooses the one with more free memory. A client that has slabs at all donors but the
 * full ones then queries full donors only. farswap therefore queries three of all donors, and the
 * highest ratio of free memory to slabs held wins. Slabs still spread, and full donors are no more
 * likely to be queried than others.
 *
 * An attempt ends when a donor has room, or when each donor has reported within the last five
 * seconds that it has none.
 */
#include <linux/errno.h>

#include "donor/placement.h"

/* For this time after a donor reported "no room" it is skipped, if another may have room. */
#define PLACEMENT_FULL_MS	5000
/*
 * For this time it is not queried at all. That bounds the queries of a client in a full cluster,
 * however many slabs it tries to map.
 */
#define PLACEMENT_QUIET_MS	1000

/* Groups of donors in the order in which they are queried. */
enum placement_tier {
	PLACEMENT_TIER_GOOD,
	PLACEMENT_TIER_SHAKY,
	PLACEMENT_TIER_FULL,
	PLACEMENT_TIER_OUT,
};

static enum placement_tier placement_tier(const struct farswap_placement *placement, int nth)
{
	const struct farswap_candidate *c = &placement->candidates[nth];

	if (c->state != FARSWAP_CANDIDATE_UNKNOWN || c->full_ms < PLACEMENT_QUIET_MS)
		return PLACEMENT_TIER_OUT;
	if (c->full_ms < PLACEMENT_FULL_MS)
		return placement->asked_full ? PLACEMENT_TIER_OUT : PLACEMENT_TIER_FULL;
	/* A donor that fails on each use has all its memory free, so it would win each time. */
	return c->shaky ? PLACEMENT_TIER_SHAKY : PLACEMENT_TIER_GOOD;
}

static enum placement_tier placement_first_tier(const struct farswap_placement *placement)
{
	enum placement_tier first = PLACEMENT_TIER_OUT, tier;
	int i;

	for (i = 0; i < placement->nr; i++) {
		tier = placement_tier(placement, i);
		if (tier < first)
			first = tier;
	}
	return first;
}

static bool placement_is_picked(const int *pick, int nr, int nth)
{
	while (nr--)
		if (pick[nr] == nth)
			return true;
	return false;
}

/* Returns a random donor of a tier that is not among the @nr picked ones, or -ENOENT. */
static int placement_draw(const struct farswap_placement *placement, enum placement_tier tier,
			  const int *pick, int nr)
{
	int i, left = 0;
	u32 nth;

	for (i = 0; i < placement->nr; i++)
		left += placement_tier(placement, i) == tier && !placement_is_picked(pick, nr, i);
	if (!left)
		return -ENOENT;
	nth = placement->random(left);
	for (i = 0; i < placement->nr; i++)
		if (placement_tier(placement, i) == tier && !placement_is_picked(pick, nr, i) &&
		    !nth--)
			return i;
	return -ENOENT;
}

/**
 * farswap_placement_begin() - begin to place a slab
 * @placement:	the attempt
 * @candidates:	the donors that may hold the slab; slabs, full_ms and shaky filled in
 * @nr:		how many there are
 * @need_bytes:	size of the slab
 * @random:	returns a number from 0 to @below - 1, uniformly distributed
 *
 * Context: any.
 */
void farswap_placement_begin(struct farswap_placement *placement,
			     struct farswap_candidate *candidates, int nr, u64 need_bytes,
			     u32 (*random)(u32 below))
{
	int i;

	placement->candidates = candidates;
	placement->nr = nr;
	placement->need_bytes = need_bytes;
	placement->random = random;
	placement->nr_asked = 0;
	placement->asked_full = false;
	for (i = 0; i < nr; i++)
		candidates[i].state = FARSWAP_CANDIDATE_UNKNOWN;
}

/**
 * farswap_placement_next() - choose the donors to query in the next round
 * @placement:	the attempt
 * @pick:	set to the indices of the chosen donors
 *
 * Donors that failed recently are queried when no other is left. Donors that reported "no room"
 * recently are queried last, in one round. After each call the caller must call
 * farswap_placement_answered() or farswap_placement_failed() for every chosen donor.
 *
 * Context: any.
 * Return: number of chosen donors; 0 ends the attempt.
 */
int farswap_placement_next(struct farswap_placement *placement, int pick[FARSWAP_PLACEMENT_ASK])
{
	enum placement_tier tier = placement_first_tier(placement);
	int nr = 0, nth;

	if (tier == PLACEMENT_TIER_OUT)
		return 0;
	while (nr < FARSWAP_PLACEMENT_ASK) {
		nth = placement_draw(placement, tier, pick, nr);
		if (nth < 0)
			break;
		placement->candidates[nth].asked = placement->nr_asked++;
		pick[nr++] = nth;
	}
	if (tier == PLACEMENT_TIER_FULL)
		placement->asked_full = true;
	return nr;
}

/**
 * farswap_placement_answered() - record how much free memory a donor reported
 * @placement:	the attempt
 * @nth:	index of the donor
 * @free_bytes:	its answer, bytes
 *
 * Context: any.
 * Return: true if the slab fits.
 */
bool farswap_placement_answered(struct farswap_placement *placement, int nth, u64 free_bytes)
{
	struct farswap_candidate *c = &placement->candidates[nth];
	bool fits = free_bytes >= placement->need_bytes;

	c->free_bytes = free_bytes;
	c->state = fits ? FARSWAP_CANDIDATE_ROOM : FARSWAP_CANDIDATE_FULL;
	return fits;
}

/**
 * farswap_placement_failed() - record that a donor did not answer
 * @placement:	the attempt
 * @nth:	index of the donor
 *
 * Context: any.
 */
void farswap_placement_failed(struct farswap_placement *placement, int nth)
{
	placement->candidates[nth].state = FARSWAP_CANDIDATE_FAILED;
}

/**
 * farswap_placement_refused() - record that a donor with room refused the slab after all
 * @placement:	the attempt
 * @nth:	index of the donor
 *
 * Context: any.
 */
void farswap_placement_refused(struct farswap_placement *placement, int nth)
{
	placement->candidates[nth].state = FARSWAP_CANDIDATE_FULL;
}

static bool placement_is_better(const struct farswap_candidate *a,
				const struct farswap_candidate *b)
{
	/* Use MiB, so that the products do not overflow. */
	u64 score_a = (a->free_bytes >> 20) * ((u64)b->slabs + 1);
	u64 score_b = (b->free_bytes >> 20) * ((u64)a->slabs + 1);

	/* The order of queries is random, so the donors line does not decide between equals. */
	return score_a > score_b || (score_a == score_b && a->asked < b->asked);
}

/**
 * farswap_placement_best() - choose the donor that gets the slab
 * @placement:	the attempt
 *
 * If that donor refuses, the next call returns the next best of the donors that were queried.
 *
 * Context: any.
 * Return: index of the candidate, or -ENOSPC if no queried donor has room.
 */
int farswap_placement_best(const struct farswap_placement *placement)
{
	const struct farswap_candidate *c = placement->candidates;
	int best = -ENOSPC, i;

	for (i = 0; i < placement->nr; i++) {
		if (c[i].state != FARSWAP_CANDIDATE_ROOM)
			continue;
		if (best < 0 || placement_is_better(&c[i], &c[best]))
			best = i;
	}
	return best;
}

/**
 * farswap_placement_is_full() - check whether an attempt failed for lack of room
 * @placement:	an attempt that has ended without a donor
 *
 * Context: any.
 * Return: true if a donor has no room; false if none has answered.
 */
bool farswap_placement_is_full(const struct farswap_placement *placement)
{
	const struct farswap_candidate *c = placement->candidates;
	int i;

	for (i = 0; i < placement->nr; i++)
		if (c[i].state == FARSWAP_CANDIDATE_FULL ||
		    (c[i].state == FARSWAP_CANDIDATE_UNKNOWN && c[i].full_ms < PLACEMENT_FULL_MS))
			return true;
	return false;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/placement-kunit.h"
#endif
