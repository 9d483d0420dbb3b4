// SPDX-License-Identifier: GPL-2.0
/*
 * When no donor has room, the first slabs that were mapped would stay mapped for ever, and
 * those that came later stay on the disk, however busy they are. So the coldest slab gives
 * way to the hottest that waits, if that is much busier.
 *
 * A program that goes through more memory than fits, in order, always waits for what it gave
 * away longest ago. Slabs that are wanted again after they gave way show that: then the next
 * one gives way later.
 */
#include <linux/minmax.h>

#include "migrate/giveway.h"

/*
 * Seconds from one to the next. A slab that gives way to no purpose costs as many disk reads
 * as it has pages.
 */
#define GIVEWAY_PAUSE_MIN	1U
#define GIVEWAY_PAUSE_MAX	64U
/* A slab that is wanted again so many seconds after it gave way should have stayed. */
#define GIVEWAY_REGRET		600
/* The pause halves after so many seconds without such a slab. */
#define GIVEWAY_EASE		60
/* So many times as busy must the waiting one be, or two that are alike would take turns. */
#define GIVEWAY_FACTOR		4

/**
 * farswap_giveway_is_due() - may a slab give way now
 * @giveway:	how often they do
 * @second:	the present second, any monotonic clock, may wrap
 *
 * Context: any; one at a time, as for the others that change @giveway.
 * Return: whether one may.
 */
bool farswap_giveway_is_due(struct farswap_giveway *giveway, u32 second)
{
	while (giveway->pause > GIVEWAY_PAUSE_MIN && second - giveway->eased >= GIVEWAY_EASE) {
		giveway->pause /= 2;
		giveway->eased += GIVEWAY_EASE;
	}
	return !giveway->pause || (s32)(second - giveway->next) >= 0;
}

/**
 * farswap_giveway_done() - a slab gives way
 * @giveway:	how often they do
 * @second:	the present second
 *
 * Context: any.
 */
void farswap_giveway_done(struct farswap_giveway *giveway, u32 second)
{
	giveway->pause = max(giveway->pause, GIVEWAY_PAUSE_MIN);
	giveway->next = second + giveway->pause;
}

/**
 * farswap_giveway_wanted() - a slab is wanted, and no donor has room
 * @giveway:	how often slabs give way
 * @past:	when it gave way, if it did; forgotten if that is regretted
 * @activity:	page I/Os a second
 * @second:	the present second
 *
 * A slab that would be too busy to give way now should have stayed.
 *
 * Context: any.
 * Return: true if it should have; then the next one gives way later.
 */
bool farswap_giveway_wanted(struct farswap_giveway *giveway, struct farswap_giveway_past *past,
			    u32 activity, u32 second)
{
	if (!past->hot || second - past->second > GIVEWAY_REGRET ||
	    (u64)GIVEWAY_FACTOR * activity < past->hot)
		return false;
	past->hot = 0;
	giveway->pause = min(2 * giveway->pause, GIVEWAY_PAUSE_MAX);
	giveway->next = second + giveway->pause;
	giveway->eased = second;
	return true;
}

/**
 * farswap_giveway_mapped() - note a slab that could give way
 * @pair:	what was noted; zeroed before the first slab
 * @slab:	the caller's name for it
 * @activity:	page I/Os a second over about a minute
 * @idle:	seconds since its last page I/O
 *
 * Context: any.
 */
void farswap_giveway_mapped(struct farswap_giveway_pair *pair, void *slab, u32 activity, u32 idle)
{
	if (pair->coldest && (activity > pair->cold ||
			      (activity == pair->cold && idle <= pair->idle)))
		return;
	pair->coldest = slab;
	pair->cold = activity;
	pair->idle = idle;
}

/**
 * farswap_giveway_waiting() - note a slab for which no donor has room
 * @pair:	what was noted; zeroed before the first slab
 * @slab:	the caller's name for it
 * @activity:	page I/Os a second
 *
 * Context: any.
 */
void farswap_giveway_waiting(struct farswap_giveway_pair *pair, void *slab, u32 activity)
{
	if (pair->hottest && activity <= pair->hot)
		return;
	pair->hottest = slab;
	pair->hot = activity;
}

/**
 * farswap_giveway_is_worth() - should the coldest slab give way to the hottest that waits
 * @pair:	the two
 * @hotslab:	page I/Os a second from which on a slab is mapped
 *
 * Context: any.
 * Return: whether it should; if so, both exist.
 */
bool farswap_giveway_is_worth(const struct farswap_giveway_pair *pair, u32 hotslab)
{
	return pair->coldest && pair->hottest && pair->hot >= max(hotslab, 1U) &&
	       pair->hot > (u64)GIVEWAY_FACTOR * pair->cold;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/giveway-kunit.h"
#endif
