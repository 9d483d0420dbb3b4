/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A worker that runs each job at once, or on request. Used with region.c.
 */
#ifndef AT_ONCE_H
#define AT_ONCE_H

#include "worker.h"

static struct list worker_held = { &worker_held, &worker_held };
static bool worker_hangs;

void worker_queue(struct worker_job *job)
{
	if (worker_hangs) {
		list_add_tail(&job->link, &worker_held);
		return;
	}
	job->run(job);
	job->done(job);
}

void worker_queue_urgent(struct worker_job *job)
{
	if (worker_hangs)
		list_add(&job->link, &worker_held);
	else
		worker_queue(job);
}

static inline void worker_go_on(void)
{
	struct worker_job *job;

	worker_hangs = false;
	while ((job = list_first(&worker_held, struct worker_job, link))) {
		list_del(&job->link);
		job->run(job);
		job->done(job);
	}
}

#endif
