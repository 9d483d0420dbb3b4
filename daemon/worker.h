/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread for calls that may take long and must not block the event loop.
 */
#ifndef WORKER_H
#define WORKER_H

#include "list.h"

/*
 * @run is called in the thread and may access only the job; afterwards @done is called from the
 * event loop. The owner keeps the job until then.
 */
struct worker_job {
	struct list link;
	void (*run)(struct worker_job *job);
	void (*done)(struct worker_job *job);
};

int worker_init(void);
/* Waits for the running job; queued jobs are dropped. */
void worker_exit(void);
/* Jobs run in the order queued. */
void worker_queue(struct worker_job *job);
/* Run the job before all those queued by worker_queue(). */
void worker_queue_urgent(struct worker_job *job);

#endif
