/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Draining: nothing is lent any more, what is lent is taken back, and the memory
 * goes to the machine; until undrained, or the daemon ends.
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
	DRAIN_END_TIMEOUT,		/* it goes on */
	DRAIN_END_UNDRAINED,
	DRAIN_END_LEAVING,		/* the daemon stops */
};

/* Of the drain so far. */
struct drain_result {
	enum drain_end end;
	unsigned int lent;		/* regions, when it began */
	unsigned int left;		/* still lent */
	unsigned int killed;		/* keys of clients that were too late */
	unsigned int gone;		/* of clients that had gone */
	unsigned int broken;		/* not to be had back */
	uint64_t ms;			/* since it began */
};

/* Someone who waits for the end. */
struct drain_wait {
	struct list link;
	struct loop_timer timer;
	void (*done)(void *arg, const struct drain_result *result);
	void *arg;
};

/* 0, also where it is drained already; -ENOMEM: nothing has changed. */
int drain_begin(void);
/* @end: what those who wait are told. */
void drain_stop(enum drain_end end);
/*
 * @done is called once, from the loop and never from here, at the latest after @ms;
 * 0: after the time that it should take.
 */
void drain_wait(struct drain_wait *wait, uint64_t ms,
		void (*done)(void *arg, const struct drain_result *result), void *arg);
/* @done won't be called. */
void drain_forget(struct drain_wait *wait);
/* The pool has nothing to do for the moment. */
void drain_look(void);
enum drain_state drain_state(void);

#endif
