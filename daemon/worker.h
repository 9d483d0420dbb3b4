/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread for calls that may take long, so that the event loop doesn't wait for them.
 */
#ifndef WORKER_H
#define WORKER_H

#include "list.h"

/*
 * @run is called in the thread, and touches nothing but what is in the job; @done is called
 * from the loop after it. The job is its owner's, who keeps it until then.
 */
struct worker_job {
	struct list link;
	void (*run)(struct worker_job *job);
	void (*done)(struct worker_job *job);
};

int worker_init(void);
/* Waits for the job that runs; the others are not run. */
void worker_exit(void);
/* Jobs run in the order in which they were queued. */
void worker_queue(struct worker_job *job);
/* The job runs before all that were queued by worker_queue(). */
void worker_queue_urgent(struct worker_job *job);

#endif
