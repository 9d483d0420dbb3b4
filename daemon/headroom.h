/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Computes how much of a machine's memory may be held for lending. A pure function of
 * numbers.
 */
#ifndef HEADROOM_H
#define HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

struct headroom {
	uint64_t total;		/* bytes the machine has */
	uint64_t keep;		/* bytes to leave available, as configured */
	uint64_t extra;		/* further bytes, because of memory pressure */
	uint64_t used;		/* moving average of the bytes that others use */
	uint64_t last;		/* measured at the last update of the average */
	uint64_t rise;		/* growth in the second before that */
	uint64_t seen;		/* measured by the last sample */
	unsigned int interval_ms;	/* interval to the next sample if little is available */
	bool begun;
};

void headroom_init(struct headroom *headroom, uint64_t total, uint64_t keep);
void headroom_set_keep(struct headroom *headroom, uint64_t keep);
/* Bytes to leave available now. */
uint64_t headroom_keep(const struct headroom *headroom);
/*
 * Return how many bytes may be held if @available are available and @held are held now. @second:
 * a second has passed since it was last true, so the average is updated.
 */
uint64_t headroom_sample(struct headroom *headroom, uint64_t available, uint64_t held,
			 bool second);
/* Interval until the next sample, ms. */
unsigned int headroom_interval_ms(const struct headroom *headroom, uint64_t available);
/* Report that a task had to wait for memory. */
void headroom_pressure(struct headroom *headroom);

#endif
