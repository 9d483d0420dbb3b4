/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The activity of a slab. This code uses no kernel types other than integers.
 */
#ifndef _FARSWAP_ACTIVITY_H
#define _FARSWAP_ACTIVITY_H

#include <linux/types.h>

/**
 * struct farswap_average - moving average of a slab's page I/Os a second
 * @average:	A(s) up to the end of @second - 1, fixed point, 8 bits of fraction
 * @longer:	average with alpha = 1/64, over about a minute, in the same format
 * @count:	page I/Os in @second so far
 * @second:	the second to which @count belongs; may wrap
 *
 * The averages are brought up to date when they are read, so an idle slab costs no time.
 * Infiniswap, section 4.1.
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
