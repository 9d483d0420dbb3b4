/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How busy a slab is: numbers in, numbers out, no kernel types.
 */
#ifndef _FARSWAP_ACTIVITY_H
#define _FARSWAP_ACTIVITY_H

#include <linux/types.h>

/**
 * struct farswap_average - moving average of a slab's page I/Os a second
 * @average:	A(s) up to the end of @second - 1, fixed point, 8 bits of fraction
 * @longer:	the same over about a minute
 * @count:	page I/Os in @second so far
 * @second:	the second that @count is about, wrapping
 *
 * The average is brought up to date when it is looked at, so an idle slab costs
 * nothing. Infiniswap, section 4.1.
 */
struct farswap_average {
	u32 average;
	u32 longer;
	u32 count;
	u32 second;
};

void farswap_activity_account(struct farswap_average *activity, u32 second,
			      u32 pages);
u32 farswap_activity_read(const struct farswap_average *activity, u32 second);
u32 farswap_activity_longer(const struct farswap_average *activity, u32 second);
bool farswap_activity_is_hot(const struct farswap_average *activity,
			     u32 second, u32 threshold);

#endif /* _FARSWAP_ACTIVITY_H */
