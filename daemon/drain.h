/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Draining: lends nothing, evicts all lent regions and returns the memory to the machine,
 * until undrained or the daemon stops.
 */
#ifndef DRAIN_H
#define DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

enum drain_state {
	DRAIN_NOT,
	DRAIN_RUNS,
	DRAIN_DONE,
};

enum drain_end {
	DRAIN_END_DONE,
	DRAIN_END_TIMEOUT,		/* the drain continues */
	DRAIN_END_UNDRAINED,
	DRAIN_END_LEAVING,		/* the daemon is stopping */
};

/* Progress of a drain. */
struct drain_result {
	enum drain_end end;
	unsigned int lent;		/* regions lent when it began */
	unsigned int left;		/* regions still lent */
	unsigned int revoked;		/* regions revoked from clients that were late */
	unsigned int gone;		/* regions of clients that had disconnected */
	unsigned int broken;		/* regions that can't be recovered */
	uint64_t ms;			/* time since it began */
};

/* A waiter for the end of a drain. */
struct drain_wait {
	struct list link;
	struct loop_timer timer;
	void (*done)(void *arg, const struct drain_result *result);
	void *arg;
};

/* Return 0, also if already drained; or -ENOMEM with nothing changed. */
int drain_begin(void);
/* @end: the result for the waiters. */
void drain_stop(enum drain_end end);
/*
 * Call @done once from the event loop (never from within this function), after @ms at the
 * latest; 0: after the time that a drain should take.
 */
void drain_wait(struct drain_wait *wait, uint64_t ms,
		void (*done)(void *arg, const struct drain_result *result), void *arg);
/* Cancel a wait: @done is not called. */
void drain_forget(struct drain_wait *wait);
/* Check for the end of the drain, when the pool is out of work. */
void drain_check(void);
enum drain_state drain_state(void);

#endif
