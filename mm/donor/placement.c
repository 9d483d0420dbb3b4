// SPDX-License-Identifier: GPL-2.0
/*
 * Infiniswap (section 4.2) asks two donors at random, those without a slab of this client
 * first, and takes the one with more free memory. A client that has slabs everywhere but at
 * full donors then asks full donors only. So here three of all donors are asked, and the
 * highest ratio of free memory to slabs held wins: slabs still spread, and full donors are
 * no more likely to be asked than others.
 *
 * An attempt ends when a donor has room, or when each has said within the last five seconds
 * that it has none.
 */
#include <linux/errno.h>

#include "donor/placement.h"

/* A donor that said "no room" is left out for so long, if another may have room. */
#define PLACEMENT_FULL_MS	5000
/*
 * For so long it is not asked at all. That bounds the queries of a client in a full cluster,
 * however many slabs it wants to map.
 */
#define PLACEMENT_QUIET_MS	1000

/* Groups of donors in the order in which they are asked. */
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
	/* One that fails each time it is used would win each time, with all its memory free. */
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

/* One of a tier at random that is not among the @nr picked ones. */
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
 * @random:	returns a number from 0 to @below - 1, each equally likely
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
 * farswap_placement_next() - choose the donors to ask in the next round
 * @placement:	the attempt
 * @pick:	where the indices of the chosen ones go
 *
 * Donors that failed recently are asked when no other is left, and of those that said "no
 * room" recently one round after that. Each call must be followed by
 * farswap_placement_answered() or farswap_placement_failed() for every chosen one.
 *
 * Context: any.
 * Return: how many were chosen; 0 ends the attempt.
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
 * farswap_placement_answered() - a donor said how much memory it has free
 * @placement:	the attempt
 * @nth:	the donor
 * @free_bytes:	its answer
 *
 * Context: any.
 * Return: whether the slab fits.
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
 * farswap_placement_failed() - a donor did not answer
 * @placement:	the attempt
 * @nth:	the donor
 *
 * Context: any.
 */
void farswap_placement_failed(struct farswap_placement *placement, int nth)
{
	placement->candidates[nth].state = FARSWAP_CANDIDATE_FAILED;
}

/**
 * farswap_placement_refused() - a donor that had room refused the slab after all
 * @placement:	the attempt
 * @nth:	the donor
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
	/* In MiB, so that the products fit. */
	u64 score_a = (a->free_bytes >> 20) * ((u64)b->slabs + 1);
	u64 score_b = (b->free_bytes >> 20) * ((u64)a->slabs + 1);

	/* That order is random, so no donor is preferred for its place in the donors line. */
	return score_a > score_b || (score_a == score_b && a->asked < b->asked);
}

/**
 * farswap_placement_best() - choose the donor that gets the slab
 * @placement:	the attempt
 *
 * If that one refuses, the next call gives the next best of those that were asked.
 *
 * Context: any.
 * Return: an index into the candidates, or -ENOSPC if none of those asked has room.
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
 * farswap_placement_is_full() - did the attempt fail for want of room
 * @placement:	an attempt that has ended without a donor
 *
 * Context: any.
 * Return: true if a donor has no room; false if none answered.
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
