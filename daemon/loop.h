/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event loop: file descriptors, timers, deferred work and signals. There is one loop, and
 * the whole daemon runs in it, except the jobs of worker.c. A handler never blocks. Callers
 * embed these structures in their own. Any handler may remove any of them and free its memory.
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

/* Runs once, in the turn after it was queued. */
struct loop_work {
	struct list link;
	void (*fn)(void *arg);
	void *arg;
};

int loop_init(void);
void loop_exit(void);
/* Run until loop_stop(), then return 0; or -errno from loop_fail() or the loop itself. */
int loop_run(void);
void loop_stop(void);
void loop_fail(int err);
/* Monotonic time. */
uint64_t loop_now_ns(void);
uint64_t loop_now_ms(void);

int loop_fd_add(struct loop_fd *lf, int fd, uint32_t events,
		void (*fn)(void *arg, uint32_t events), void *arg);
int loop_fd_events(struct loop_fd *lf, uint32_t events);
/* Does not close the descriptor. */
void loop_fd_del(struct loop_fd *lf);

void loop_timer_init(struct loop_timer *timer, void (*fn)(void *arg), void *arg);
/* Fire once, after @ms milliseconds; a timer that is set already is moved. */
void loop_timer_set(struct loop_timer *timer, uint64_t ms);
void loop_timer_stop(struct loop_timer *timer);

void loop_work_init(struct loop_work *work, void (*fn)(void *arg), void *arg);
void loop_work_queue(struct loop_work *work);
void loop_work_cancel(struct loop_work *work);

/* Block the signals in @set and pass them to @fn. */
int loop_signals(const sigset_t *set, void (*fn)(int signo));

#endif
