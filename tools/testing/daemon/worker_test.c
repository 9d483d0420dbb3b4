// SPDX-License-Identifier: GPL-2.0
/*
 * The worker: the loop continues while a job hangs, as a registration does when its adapter takes
 * seconds, and is notified in its own thread when the job is done.
 */
#include "loop.c"
#include "worker.c"

#include <semaphore.h>

#include "tap.h"
#include "turn.h"

#define JOBS	8
#define URGENT	2

struct test_job {
	struct worker_job job;
	unsigned int number;
	pthread_t ran_in;
};

static sem_t begun, hang;
static struct test_job jobs[JOBS];
static unsigned int run_next, done_next, pongs;
static bool ran_in_order = true, in_order = true, in_loop = true, elsewhere = true;
static pthread_t loop_thread;

static void job_run(struct worker_job *job)
{
	struct test_job *test = container_of(job, struct test_job, job);

	if (!test->number) {
		sem_post(&begun);
		sem_wait(&hang);
	}
	ran_in_order &= test->number == run_next++;
	test->ran_in = pthread_self();
}

static void job_done(struct worker_job *job)
{
	struct test_job *test = container_of(job, struct test_job, job);

	in_order &= test->number == done_next++;
	in_loop &= pthread_equal(pthread_self(), loop_thread);
	elsewhere &= !pthread_equal(test->ran_in, loop_thread);
	if (done_next == JOBS)
		loop_stop();
}

static void ping_answered(void *arg)
{
	pongs++;
	loop_timer_set(arg, 1);
}

int main(void)
{
	struct loop_timer ping, release;
	unsigned int i;

	loop_thread = pthread_self();
	if (loop_init() || worker_init() || sem_init(&begun, 0, 0) || sem_init(&hang, 0, 0))
		return 1;
	loop_timer_init(&ping, ping_answered, &ping);
	loop_timer_set(&ping, 1);
	for (i = 0; i < JOBS; i++) {
		jobs[i].job.run = job_run;
		jobs[i].job.done = job_done;
		jobs[i].number = i;
		/* The first jobs after the one that hangs are queued last. */
		if (!i || i > URGENT)
			worker_queue(&jobs[i].job);
	}
	sem_wait(&begun);
	for (i = 1; i <= URGENT; i++)
		worker_queue_urgent(&jobs[i].job);
	turn_ms(50);
	ok(pongs > 1 && !done_next, "the loop turns while a job hangs");
	sem_post(&hang);
	loop_timer_init(&release, turn_end, NULL);
	loop_timer_set(&release, 20000);
	loop_run();
	loop_timer_stop(&release);
	ok(done_next == JOBS && ran_in_order && in_order,
	   "jobs are done one after the other, urgent ones before the rest");
	ok(in_loop && elsewhere, "each runs in the thread, and ends in the loop");
	worker_exit();
	ok(worker.event.fd < 0, "it ends");
	loop_exit();
	return tap_done();
}
