// SPDX-License-Identifier: GPL-2.0
/*
 * Divides memory among clients. A client's reports about its regions do not count here: a client
 * that lies gains nothing from others.
 */
#include <stdint.h>
#include <stddef.h>

#include "share.h"

static unsigned int share_rest(const struct share *share)
{
	return share->lent - share->take;
}

/* Does @a have more for its weight than @b, or than nobody? */
static bool share_is_more(const struct share *a, const struct share *b)
{
	uint64_t left, right;

	if (!b)
		return true;
	left = (uint64_t)share_rest(a) * b->weight;
	right = (uint64_t)share_rest(b) * a->weight;
	return left > right || (left == right && a->random > b->random);
}

static bool share_has_lost(const struct share *share)
{
	return share->take_lost < share->lost && share_rest(share) > share->min;
}

/* Return the client that loses the next region, or NULL. @last: the one that has lost one. */
static struct share *share_next(struct share *shares, unsigned int nr, struct share *last,
				bool spare)
{
	struct share *lost = NULL, *most = NULL, *reserved = NULL;
	unsigned int i;

	if (last && share_has_lost(last))
		return last;
	for (i = 0; i < nr; i++) {
		struct share *share = &shares[i];

		if (share_has_lost(share) && share_is_more(share, lost))
			lost = share;
		if (share_rest(share) > share->min && share_is_more(share, most))
			most = share;
		if (share_rest(share) && share_is_more(share, reserved))
			reserved = share;
	}
	if (lost)
		return lost;
	return most || spare ? most : reserved;
}

void share_take(struct share *shares, unsigned int nr, unsigned int count, bool spare)
{
	struct share *share = NULL;

	while (count-- && (share = share_next(shares, nr, share, spare))) {
		share->take++;
		share->take_lost += share->take_lost < share->lost;
	}
}

unsigned int share_fair(unsigned int limit, unsigned int weight, unsigned int weights)
{
	return weights ? (uint64_t)limit * weight / weights : limit;
}

unsigned int share_left(unsigned int lent, unsigned int min, unsigned int max, unsigned int free,
			unsigned int owed)
{
	unsigned int left = free > owed ? free - owed : 0;

	/* The reserve is evicted from others if necessary. */
	if (lent < min && left < min - lent)
		left = min - lent;
	if (lent >= max)
		return 0;
	return left < max - lent ? left : max - lent;
}
