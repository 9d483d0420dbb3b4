// SPDX-License-Identifier: GPL-2.0
/*
 * The event loop: epoll for all descriptors, one timerfd for all timers, one signalfd. Does
 * not depend on RDMA.
 *
 * A turn waits, handles what is ready, runs the timers that are due, and runs the work that
 * was queued before. Work queued by a handler runs at the end of the turn, work queued by work
 * in the next turn. So two works that always queue themselves again alternate with each
 * other and with every descriptor.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define LOOP_EVENTS	64

static struct {
	int epoll;
	struct loop_fd timerfd;
	struct loop_fd signals;
	void (*signal_fn)(int signo);
	struct list timers;		/* by at_ms */
	struct list works;
	bool stop;
	int err;
	/* Result of epoll_wait(), kept here so that a removed descriptor can be dropped from it. */
	struct epoll_event events[LOOP_EVENTS];
	int nr_events;
} loop = {
	.epoll = -1,
	.timerfd = { .fd = -1 },
	.signals = { .fd = -1 },
};

uint64_t loop_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t loop_now_ms(void)
{
	return loop_now_ns() / 1000000;
}

int loop_fd_add(struct loop_fd *lf, int fd, uint32_t events,
		void (*fn)(void *arg, uint32_t events), void *arg)
{
	struct epoll_event ev = { .events = events, .data.ptr = lf };

	lf->fd = fd;
	lf->fn = fn;
	lf->arg = arg;
	if (epoll_ctl(loop.epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		lf->fd = -1;
		return -errno;
	}
	return 0;
}

int loop_fd_events(struct loop_fd *lf, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = lf };

	return epoll_ctl(loop.epoll, EPOLL_CTL_MOD, lf->fd, &ev) < 0 ? -errno : 0;
}

void loop_fd_del(struct loop_fd *lf)
{
	int i;

	if (lf->fd < 0)
		return;
	epoll_ctl(loop.epoll, EPOLL_CTL_DEL, lf->fd, NULL);
	lf->fd = -1;
	for (i = 0; i < loop.nr_events; i++)
		if (loop.events[i].data.ptr == lf)
			loop.events[i].data.ptr = NULL;
}

/* Set the timerfd to the first timer. */
static void loop_timer_arm(void)
{
	struct loop_timer *first = list_first(&loop.timers, struct loop_timer, link);
	struct itimerspec when = { 0 };

	if (first) {
		when.it_value.tv_sec = (time_t)(first->at_ms / 1000);
		when.it_value.tv_nsec = (long)(first->at_ms % 1000 * 1000000);
		/* Zero would disarm the timerfd. */
		if (!first->at_ms)
			when.it_value.tv_nsec = 1;
	}
	timerfd_settime(loop.timerfd.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void loop_timer_init(struct loop_timer *timer, void (*fn)(void *arg), void *arg)
{
	list_init(&timer->link);
	timer->fn = fn;
	timer->arg = arg;
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	struct list *pos;

	list_del(&timer->link);
	timer->at_ms = loop_now_ms() + ms;
	/* Search from the end: most timers are set for later than all others. */
	for (pos = loop.timers.prev; pos != &loop.timers; pos = pos->prev)
		if (container_of(pos, struct loop_timer, link)->at_ms <= timer->at_ms)
			break;
	list_add_tail(&timer->link, pos->next);
	loop_timer_arm();
}

void loop_timer_stop(struct loop_timer *timer)
{
	list_del(&timer->link);
}

/* Run the timers that are due now. A timer that sets itself again runs in a later turn. */
static void loop_timer_fire(void *arg, uint32_t events)
{
	uint64_t now = loop_now_ms(), count;
	struct loop_timer *timer;
	struct list due;

	(void)arg;
	(void)events;
	if (read(loop.timerfd.fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;

	list_init(&due);
	while ((timer = list_first(&loop.timers, struct loop_timer, link)) &&
	       timer->at_ms <= now) {
		list_del(&timer->link);
		list_add_tail(&timer->link, &due);
	}
	while ((timer = list_first(&due, struct loop_timer, link))) {
		list_del(&timer->link);
		timer->fn(timer->arg);
	}
	loop_timer_arm();
}

void loop_work_init(struct loop_work *work, void (*fn)(void *arg), void *arg)
{
	list_init(&work->link);
	work->fn = fn;
	work->arg = arg;
}

void loop_work_queue(struct loop_work *work)
{
	if (list_empty(&work->link))
		list_add_tail(&work->link, &loop.works);
}

void loop_work_cancel(struct loop_work *work)
{
	list_del(&work->link);
}

static void loop_work_run(void)
{
	struct loop_work *work;
	struct list batch;

	if (list_empty(&loop.works))
		return;
	/* Move the whole list to @batch. */
	list_init(&batch);
	list_add_tail(&batch, &loop.works);
	list_del(&loop.works);
	while ((work = list_first(&batch, struct loop_work, link))) {
		list_del(&work->link);
		work->fn(work->arg);
	}
}

static void loop_signal_read(void *arg, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)arg;
	(void)events;
	if (read(loop.signals.fd, &info, sizeof(info)) == sizeof(info))
		loop.signal_fn((int)info.ssi_signo);
}

int loop_signals(const sigset_t *set, void (*fn)(int signo))
{
	int fd;

	if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	loop.signal_fn = fn;
	return loop_fd_add(&loop.signals, fd, EPOLLIN, loop_signal_read, NULL);
}

int loop_run(void)
{
	int i;

	loop.stop = false;
	loop.err = 0;
	while (!loop.stop) {
		loop.nr_events = epoll_wait(loop.epoll, loop.events, LOOP_EVENTS,
					    list_empty(&loop.works) ? -1 : 0);
		if (loop.nr_events < 0 && errno != EINTR)
			return -errno;
		for (i = 0; i < loop.nr_events; i++) {
			struct loop_fd *lf = loop.events[i].data.ptr;

			if (lf)
				lf->fn(lf->arg, loop.events[i].events);
		}
		loop.nr_events = 0;
		loop_work_run();
	}
	return loop.err;
}

void loop_stop(void)
{
	loop.stop = true;
}

void loop_fail(int err)
{
	loop.err = err;
	loop_stop();
}

int loop_init(void)
{
	int err, fd;

	list_init(&loop.timers);
	list_init(&loop.works);
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop.epoll < 0)
		return -errno;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		goto out_close_epoll;
	}
	err = loop_fd_add(&loop.timerfd, fd, EPOLLIN, loop_timer_fire, NULL);
	if (err)
		goto out_close_timerfd;
	return 0;

out_close_timerfd:
	close(fd);
out_close_epoll:
	close(loop.epoll);
	loop.epoll = -1;
	return err;
}

void loop_exit(void)
{
	int fd = loop.signals.fd;

	if (fd >= 0) {
		loop_fd_del(&loop.signals);
		close(fd);
	}
	fd = loop.timerfd.fd;
	if (fd >= 0) {
		loop_fd_del(&loop.timerfd);
		close(fd);
	}
	if (loop.epoll >= 0)
		close(loop.epoll);
	loop.epoll = -1;
}
