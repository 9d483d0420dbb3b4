// SPDX-License-Identifier: GPL-2.0
/*
 * The worker: one thread, two lists of jobs to run and a list of finished jobs. All other state of
 * the daemon belongs to the event loop. A job gets its input when it is queued, and passes its
 * result to the loop.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loop.h"
#include "worker.h"

/* Jobs call libibverbs, which allocates commands on the stack. */
#define WORKER_STACK	(256UL << 10)

static struct {
	pthread_t thread;
	pthread_mutex_t lock;		/* protects the next four fields */
	struct list urgent;
	struct list todo;
	struct list finished;
	bool stop;
	pthread_cond_t more;
	struct loop_fd event;
} worker = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER,
	.event = { .fd = -1 },
};

static void *worker_main(void *arg)
{
	const uint64_t one = 1;
	struct worker_job *job;

	(void)arg;
	pthread_mutex_lock(&worker.lock);
	while (!worker.stop) {
		job = list_first(&worker.urgent, struct worker_job, link);
		if (!job)
			job = list_first(&worker.todo, struct worker_job, link);
		if (!job) {
			pthread_cond_wait(&worker.more, &worker.lock);
			continue;
		}
		list_del(&job->link);
		pthread_mutex_unlock(&worker.lock);
		job->run(job);
		pthread_mutex_lock(&worker.lock);
		list_add_tail(&job->link, &worker.finished);
		if (write(worker.event.fd, &one, sizeof(one)) < 0)
			continue;	/* the counter is full, so the loop wakes up anyway */
	}
	pthread_mutex_unlock(&worker.lock);
	return NULL;
}

static void worker_finished(void *arg, uint32_t events)
{
	struct worker_job *job;
	struct list finished;
	uint64_t count;

	(void)arg;
	(void)events;
	if (read(worker.event.fd, &count, sizeof(count)) < 0)
		return;
	list_init(&finished);
	pthread_mutex_lock(&worker.lock);
	while ((job = list_first(&worker.finished, struct worker_job, link))) {
		list_del(&job->link);
		list_add_tail(&job->link, &finished);
	}
	pthread_mutex_unlock(&worker.lock);
	while ((job = list_first(&finished, struct worker_job, link))) {
		list_del(&job->link);
		job->done(job);
	}
}

static void worker_add(struct worker_job *job, struct list *list)
{
	pthread_mutex_lock(&worker.lock);
	list_add_tail(&job->link, list);
	pthread_cond_signal(&worker.more);
	pthread_mutex_unlock(&worker.lock);
}

void worker_queue(struct worker_job *job)
{
	worker_add(job, &worker.todo);
}

void worker_queue_urgent(struct worker_job *job)
{
	worker_add(job, &worker.urgent);
}

int worker_init(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), err;
	pthread_attr_t attr;

	if (fd < 0)
		return -errno;
	list_init(&worker.urgent);
	list_init(&worker.todo);
	list_init(&worker.finished);
	worker.stop = false;
	err = loop_fd_add(&worker.event, fd, EPOLLIN, worker_finished, NULL);
	if (err)
		goto out_close;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	err = -pthread_create(&worker.thread, &attr, worker_main, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		return 0;
	loop_fd_del(&worker.event);
out_close:
	close(fd);
	return err;
}

void worker_exit(void)
{
	int fd = worker.event.fd;

	if (fd < 0)
		return;
	pthread_mutex_lock(&worker.lock);
	worker.stop = true;
	pthread_cond_signal(&worker.more);
	pthread_mutex_unlock(&worker.lock);
	pthread_join(worker.thread, NULL);
	loop_fd_del(&worker.event);
	close(fd);
}
