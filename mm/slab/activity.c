// SPDX-License-Identifier: GPL-2.0
/*
 * The activity of a slab: A(s) = alpha * measured + (1 - alpha) * old, with alpha = 0.2 and a
 * period of one second (Infiniswap, section 4.1).
 *
 * Locking: none. If two CPUs account at once, a few counts may be lost, which barely changes a
 * moving average. The caller owns the memory.
 */
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/minmax.h>

#include "slab/activity.h"

#define ACTIVITY_SHIFT		8	/* bits of fraction */
#define ACTIVITY_ALPHA		51	/* 0.2 in 1/256 */
#define ACTIVITY_LONGER_ALPHA	4	/* 1/64 in 1/256 */
#define ACTIVITY_ONE		256
/* After this many idle seconds less than 0.01 % of the average remains. */
#define ACTIVITY_FORGET		64
/* This many idle seconds halve the longer average. */
#define ACTIVITY_LONGER_HALF	44
/* Higher rates, in page I/Os a second, count as this one. */
#define ACTIVITY_MAX		BIT(22)

static u32 activity_fold_by(u32 average, u32 count, u32 alpha)
{
	u64 measured = (u64)min_t(u64, count, ACTIVITY_MAX) << ACTIVITY_SHIFT;

	return (measured * alpha + (u64)average * (ACTIVITY_ONE - alpha)) / ACTIVITY_ONE;
}

static u32 activity_fold(u32 average, u32 count)
{
	return activity_fold_by(average, count, ACTIVITY_ALPHA);
}

/* Returns the average as of the start of @second. */
static u32 activity_average(const struct farswap_average *activity, u32 second)
{
	u32 average = READ_ONCE(activity->average);
	s32 idle = second - READ_ONCE(activity->second);

	/* Another CPU may have advanced to the next second already. */
	if (idle <= 0)
		return average;
	if (idle > ACTIVITY_FORGET)
		return 0;
	average = activity_fold(average, READ_ONCE(activity->count));
	while (--idle)
		average = activity_fold(average, 0);
	return average;
}

/* Returns the longer average as of the start of @second. */
static u32 activity_longer(const struct farswap_average *activity, u32 second)
{
	u32 longer = READ_ONCE(activity->longer);
	s32 idle = second - READ_ONCE(activity->second);

	if (idle <= 0)
		return longer;
	longer = activity_fold_by(longer, READ_ONCE(activity->count), ACTIVITY_LONGER_ALPHA);
	idle--;
	longer >>= min(idle / ACTIVITY_LONGER_HALF, 31);
	for (idle %= ACTIVITY_LONGER_HALF; idle; idle--)
		longer = activity_fold_by(longer, 0, ACTIVITY_LONGER_ALPHA);
	return longer;
}

/* Returns the average as it would be if @second ended now. */
static u32 activity_now(const struct farswap_average *activity, u32 second)
{
	u32 count = 0;

	if ((s32)(second - READ_ONCE(activity->second)) <= 0)
		count = READ_ONCE(activity->count);
	return activity_fold(activity_average(activity, second), count);
}

/**
 * farswap_activity_account() - count page I/Os
 * @activity:	activity of a slab
 * @second:	the present second, by any monotonic clock; may wrap
 * @pages:	number of page I/Os
 *
 * Context: any.
 */
void farswap_activity_account(struct farswap_average *activity, u32 second,
			      u32 pages)
{
	if ((s32)(second - READ_ONCE(activity->second)) > 0) {
		u32 average = activity_average(activity, second);
		u32 longer = activity_longer(activity, second);

		WRITE_ONCE(activity->average, average);
		WRITE_ONCE(activity->longer, longer);
		WRITE_ONCE(activity->count, 0);
		WRITE_ONCE(activity->second, second);
	}
	WRITE_ONCE(activity->count, READ_ONCE(activity->count) + pages);
}

/**
 * farswap_activity_read() - get the moving average
 * @activity:	activity of a slab
 * @second:	the present second
 *
 * Context: any.
 * Return: page I/Os a second, rounded up, so that only an idle slab has 0.
 */
u32 farswap_activity_read(const struct farswap_average *activity, u32 second)
{
	u32 now = max(activity_average(activity, second),
		      activity_now(activity, second));

	return (now + (1U << ACTIVITY_SHIFT) - 1) >> ACTIVITY_SHIFT;
}

/**
 * farswap_activity_longer() - get the activity of a slab in about the last minute
 * @activity:	activity of a slab
 * @second:	the present second
 *
 * The moving average decays within five seconds, so a slab that is idle for a moment looks like
 * an unused one. The longer average tells the two apart for some minutes.
 *
 * Context: any.
 * Return: page I/Os a second, rounded up; the result of farswap_activity_read() if that is more.
 */
u32 farswap_activity_longer(const struct farswap_average *activity, u32 second)
{
	u32 longer = activity_longer(activity, second);

	return max((longer + (1U << ACTIVITY_SHIFT) - 1) >> ACTIVITY_SHIFT,
		   farswap_activity_read(activity, second));
}

/**
 * farswap_activity_is_hot() - check whether a slab has crossed a threshold
 * @activity:	activity of a slab
 * @second:	the present second
 * @threshold:	page I/Os a second; 0 makes any slab hot
 *
 * The I/Os of the present second count already, so a burst is detected as it happens.
 *
 * Context: any.
 * Return: true if the slab should be mapped.
 */
bool farswap_activity_is_hot(const struct farswap_average *activity,
			     u32 second, u32 threshold)
{
	return activity_now(activity, second) >=
	       ((u64)threshold << ACTIVITY_SHIFT) ||
	       activity_average(activity, second) >=
	       ((u64)threshold << ACTIVITY_SHIFT);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/activity-kunit.h"
#endif
