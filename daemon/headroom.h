/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much of a machine's memory may be held for lending: numbers in, a number
 * out.
 */
#ifndef HEADROOM_H
#define HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

struct headroom {
	uint64_t total;		/* bytes the machine has */
	uint64_t keep;		/* bytes to be left available */
	uint64_t extra;		/* more of them, since there was pressure */
	uint64_t used;		/* by others: the moving average */
	uint64_t last;		/* what was measured when that was last moved */
	uint64_t rise;		/* by how much more than the time before */
	uint64_t seen;		/* what was measured by the last look */
	unsigned int look_ms;	/* until the next, where little is available */
	bool begun;
};

void headroom_init(struct headroom *headroom, uint64_t total, uint64_t keep);
void headroom_set_keep(struct headroom *headroom, uint64_t keep);
/* What is to be left available now. */
uint64_t headroom_keep(const struct headroom *headroom);
/*
 * What may be held now, if @available bytes are, and @held are held. @second: a second
 * has passed since it was last true, so the average moves.
 */
uint64_t headroom_sample(struct headroom *headroom, uint64_t available, uint64_t held,
			 bool second);
/* When to look again after that, ms. */
unsigned int headroom_look_ms(const struct headroom *headroom, uint64_t available);
/* Someone had to wait for memory. */
void headroom_pressure(struct headroom *headroom);

#endif
