// SPDX-License-Identifier: GPL-2.0
/*
 * Decides which slab gives way to which. When no donor has room, the slabs that were mapped first
 * would stay mapped for ever, and later ones would stay on the disk, however busy they are. So the
 * coldest slab gives way to the hottest slab that waits, if that one is much busier.
 *
 * A program that walks through more memory than fits, in order, always waits for the slab that
 * gave way longest ago. In that case slabs are wanted again soon after they gave way, so the pause
 * before the next one gives way becomes longer.
 */
#include <linux/minmax.h>

#include "migrate/giveway.h"

/*
 * Seconds between two slabs that give way. A slab that gives way without benefit costs as many
 * disk reads as it has pages.
 */
#define GIVEWAY_PAUSE_MIN	1U
#define GIVEWAY_PAUSE_MAX	64U
/* A slab that is wanted again within so many seconds should not have given way. */
#define GIVEWAY_REGRET		600
/* The pause halves after so many seconds without such a slab. */
#define GIVEWAY_EASE		60
/* The waiting slab must be busier by this factor; otherwise two similar slabs would alternate. */
#define GIVEWAY_FACTOR		4

/**
 * farswap_giveway_is_due() - check whether a slab may give way now
 * @giveway:	the pause between slabs that give way
 * @second:	the present second of any monotonic clock; it may wrap
 *
 * Context: any; callers of the functions that change @giveway serialise them.
 * Return: true if one may.
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
 * farswap_giveway_done() - record that a slab gives way
 * @giveway:	the pause between slabs that give way
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
 * farswap_giveway_wanted() - check whether a slab that waits for room should have stayed
 * @giveway:	the pause between slabs that give way
 * @past:	when the slab gave way, if it did; cleared if it should have stayed
 * @activity:	page I/Os per second
 * @second:	the present second
 *
 * A slab that would be too busy to give way now should have stayed. In that case the next slab
 * gives way later.
 *
 * Context: any.
 * Return: true if it should have stayed.
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
 * farswap_giveway_mapped() - record a slab that could give way
 * @pair:	the coldest and the hottest slab so far; zeroed before the first call
 * @slab:	the caller's handle of the slab
 * @activity:	page I/Os per second over about a minute
 * @idle:	seconds since the slab's last page I/O
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
 * farswap_giveway_waiting() - record a slab for which no donor has room
 * @pair:	the coldest and the hottest slab so far; zeroed before the first call
 * @slab:	the caller's handle of the slab
 * @activity:	page I/Os per second
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
 * farswap_giveway_is_worth() - check whether the coldest slab should give way to the hottest
 * @pair:	the two slabs
 * @hotslab:	the activity from which on a slab is mapped, page I/Os per second
 *
 * Context: any.
 * Return: true if it should; in that case both slabs exist.
 */
bool farswap_giveway_is_worth(const struct farswap_giveway_pair *pair, u32 hotslab)
{
	return pair->coldest && pair->hottest && pair->hot >= max(hotslab, 1U) &&
	       pair->hot > (u64)GIVEWAY_FACTOR * pair->cold;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/giveway-kunit.h"
#endif
