/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event loop: file descriptors, timers, deferred work and signals. There
 * is one loop, and everything the daemon does is called from it, but for the jobs
 * of worker.c. A handler never blocks. The structures are the callers', embedded in
 * what they serve; any of them may be removed, and its memory freed, from any handler.
 */
#ifndef LOOP_H
#define LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "list.h"

struct loop_fd {
	int fd;			/* -1: not in the loop */
	void (*fn)(void *arg, uint32_t events);
	void *arg;
};

struct loop_timer {
	struct list link;
	uint64_t at_ms;
	void (*fn)(void *arg);
	void *arg;
};

/* Runs once in the turn after it was queued. */
struct loop_work {
	struct list link;
	void (*fn)(void *arg);
	void *arg;
};

int loop_init(void);
void loop_exit(void);
/* Until loop_stop(), then 0; or -errno: loop_fail()'s, or the loop itself broke. */
int loop_run(void);
void loop_stop(void);
void loop_fail(int err);
/* Since some time; neither goes back. */
uint64_t loop_now_ns(void);
uint64_t loop_now_ms(void);

int loop_fd_add(struct loop_fd *lf, int fd, uint32_t events,
		void (*fn)(void *arg, uint32_t events), void *arg);
int loop_fd_events(struct loop_fd *lf, uint32_t events);
/* Does not close it. */
void loop_fd_del(struct loop_fd *lf);

void loop_timer_init(struct loop_timer *timer, void (*fn)(void *arg), void *arg);
/* Fires once, that many milliseconds from now; moves a timer already set. */
void loop_timer_set(struct loop_timer *timer, uint64_t ms);
void loop_timer_stop(struct loop_timer *timer);

void loop_work_init(struct loop_work *work, void (*fn)(void *arg), void *arg);
void loop_work_queue(struct loop_work *work);
void loop_work_cancel(struct loop_work *work);

/* From now on the signals in @set are blocked and come to @fn. */
int loop_signals(const sigset_t *set, void (*fn)(int signo));

#endif
