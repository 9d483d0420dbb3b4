// SPDX-License-Identifier: GPL-2.0
/*
 * How memory is divided: who has most for its weight loses first, reserves go last, and those
 * without connections before the others.
 */
#include "share.c"

#include <string.h>

#include "tap.h"

static struct share shares[4];

static void setup(unsigned int a, unsigned int b, unsigned int c)
{
	int i;

	memset(shares, 0, sizeof(shares));
	shares[0].lent = a;
	shares[1].lent = b;
	shares[2].lent = c;
	for (i = 0; i < 3; i++)
		shares[i].weight = 1;
}

static bool takes(unsigned int count, bool spare, unsigned int a, unsigned int b, unsigned int c)
{
	int i;

	for (i = 0; i < 3; i++)
		shares[i].take = shares[i].take_lost = 0;
	share_take(shares, 3, count, spare);
	if (shares[0].take == a && shares[1].take == b && shares[2].take == c)
		return true;
	printf("# takes %u, %u, %u\n", shares[0].take, shares[1].take, shares[2].take);
	return false;
}

int main(void)
{
	setup(10, 4, 2);
	ok(takes(6, false, 6, 0, 0), "who has most loses first");
	ok(takes(8, false, 7, 1, 0), "until others have as much");
	ok(takes(16, false, 10, 4, 2) && takes(99, false, 10, 4, 2), "all");
	ok(takes(0, false, 0, 0, 0), "none");

	setup(32, 32, 0);
	shares[1].random = 1;
	ok(takes(24, false, 12, 12, 0), "equal clients lose equally");
	ok(takes(1, false, 0, 1, 0), "chance decides between equals");

	setup(12, 12, 12);
	shares[0].weight = 3;
	ok(takes(8, false, 0, 4, 4), "weight counts");
	ok(takes(26, false, 6, 10, 10), "in proportion");

	setup(10, 4, 2);
	shares[0].min = 8;
	ok(takes(6, false, 2, 3, 1), "reserves go last");
	ok(takes(12, false, 6, 4, 2), "but they go");
	shares[1].min = 4;
	ok(takes(12, true, 2, 0, 2), "unless they are spared");
	setup(10, 0, 0);
	shares[0].min = 10;
	ok(takes(3, true, 0, 0, 0), "then there may be nothing");

	setup(10, 4, 4);
	shares[1].lost = 3;
	ok(takes(3, false, 0, 3, 0) && shares[1].take_lost == 3, "who has no connections first");
	ok(takes(5, false, 2, 3, 0) && shares[1].take_lost == 3, "then others");
	shares[2].lost = 4;
	ok(takes(5, false, 0, 3, 2), "one client's that have none before another's");
	shares[2].lost = 0;
	shares[1].min = 4;
	ok(takes(2, false, 2, 0, 0), "but not a reserve");
	setup(3, 5, 0);
	shares[1].min = 9;
	shares[1].lost = 2;
	ok(takes(6, false, 3, 3, 0) && shares[1].take_lost == 2,
	   "of a client those without connections first");

	ok(share_fair(64, 1, 4) == 16 && share_fair(64, 3, 4) == 48 && share_fair(64, 1, 0) == 64,
	   "the part of a client");

	ok(share_left(5, 0, 100, 8, 0) == 8, "what is free is left");
	ok(share_left(5, 0, 100, 8, 3) == 5 && !share_left(5, 0, 100, 8, 9),
	   "less the reserves of others");
	ok(share_left(5, 0, 7, 8, 0) == 2 && !share_left(9, 0, 7, 8, 0), "up to the limit");
	ok(share_left(5, 9, 100, 0, 0) == 4 && share_left(5, 9, 100, 8, 8) == 4,
	   "its own reserve in any case");
	ok(share_left(5, 9, 7, 0, 0) == 2 && share_left(5, 9, 100, 8, 0) == 8,
	   "but not beyond the limit, and more if there is more");
	return tap_done();
}
