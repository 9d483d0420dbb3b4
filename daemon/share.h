/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How memory is divided among clients: numbers in, decision out. All numbers are of regions.
 */
#ifndef SHARE_H
#define SHARE_H

#include <stdbool.h>

#define SHARE_WEIGHT_MAX	1000

/* A client as seen by an eviction. */
struct share {
	unsigned int lent;	/* regions that can be evicted */
	unsigned int lost;	/* of these, regions whose sessions have no connections */
	unsigned int min;	/* its reserve */
	unsigned int weight;
	unsigned int random;	/* decides between equals */
	unsigned int take;	/* result: regions to evict */
	unsigned int take_lost;	/* result: of these, how many without connections */
};

/*
 * Choose whose regions are evicted, @count or as many as there are. Take regions without
 * connections first, client by client, then one at a time from the client that has most for its
 * weight. Reserves are taken last; with @spare they are not taken.
 */
void share_take(struct share *shares, unsigned int nr, unsigned int count, bool spare);
/* The client's part of @limit regions, among clients of @weights in all. */
unsigned int share_fair(unsigned int limit, unsigned int weight, unsigned int weights);
/*
 * Return how many more regions a client may get. @free: regions that are not lent; @owed: unused
 * reserves of the others.
 */
unsigned int share_left(unsigned int lent, unsigned int min, unsigned int max, unsigned int free,
			unsigned int owed);

#endif
