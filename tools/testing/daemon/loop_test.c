// SPDX-License-Identifier: GPL-2.0
/*
 * The event loop: what runs, in which order, and that any handler may remove anything.
 * No test depends on how long something takes.
 */
#include "loop.c"

#include <stdlib.h>

#include "tap.h"
#include "turn.h"

static char order[64];
static unsigned int nr;

static void note(char c)
{
	if (nr < sizeof(order) - 1)
		order[nr++] = c;
}

static bool was(const char *expected)
{
	bool same = !strcmp(order, expected);

	if (!same)
		printf("# it was %s\n", order);
	memset(order, 0, sizeof(order));
	nr = 0;
	return same;
}

static void note_timer(void *arg)
{
	note(*(char *)arg);
}

/* Stop the loop after what is due and queued now. */
static void run(void)
{
	turn_ms(30);
}

static struct loop_timer ta, tb, tc;

static void test_timer_order(void)
{
	loop_timer_init(&ta, note_timer, "a");
	loop_timer_init(&tb, note_timer, "b");
	loop_timer_init(&tc, note_timer, "c");
	loop_timer_set(&tc, 9);
	loop_timer_set(&ta, 3);
	loop_timer_set(&tb, 6);
	run();
	ok(was("abc"), "timers fire in the order of their times");
	run();
	ok(was(""), "and once");
	loop_timer_set(&ta, 1);
	loop_timer_set(&tb, 2);
	loop_timer_set(&ta, 10);
	run();
	ok(was("ba"), "a timer set again moves");
	loop_timer_set(&ta, 1);
	loop_timer_set(&tb, 2);
	loop_timer_stop(&ta);
	loop_timer_stop(&ta);
	run();
	ok(was("b"), "a timer stopped does not fire");
	loop_timer_set(&ta, 0);
	run();
	ok(was("a"), "a timer of no time fires");
}

static void stop_b(void *arg)
{
	(void)arg;
	note('a');
	loop_timer_stop(&tb);
}

static unsigned int rounds;

static void again(void *arg)
{
	note('r');
	if (++rounds < 3)
		loop_timer_set(arg, 0);
	else
		loop_stop();
}

static void test_timer_nested(void)
{
	uint64_t now = loop_now_ms();

	loop_timer_init(&ta, stop_b, NULL);
	loop_timer_set(&ta, 2);
	loop_timer_set(&tb, 2);
	loop_timer_set(&tc, 2);
	/* All timers are due at once. */
	while (loop_now_ms() < now + 4)
		;
	run();
	ok(was("ac"), "a timer that is due as well can be stopped");
	loop_timer_init(&ta, again, &ta);
	loop_timer_set(&ta, 0);
	loop_run();
	ok(was("rrr"), "a timer can set itself");
}

static struct loop_work wa, wb;

static void work_again(void *arg)
{
	note(*(char *)arg);
	if (++rounds < 6)
		loop_work_queue(*(char *)arg == 'x' ? &wa : &wb);
	else if (rounds == 7)
		loop_stop();
}

static void cancel_b(void *arg)
{
	(void)arg;
	note('k');
	loop_work_cancel(&wb);
}

static void test_work(void)
{
	rounds = 0;
	loop_work_init(&wa, work_again, "x");
	loop_work_init(&wb, work_again, "y");
	loop_work_queue(&wa);
	loop_work_queue(&wa);
	loop_work_queue(&wb);
	loop_run();
	ok(was("xyxyxyx"), "work takes turns, and is queued once");
	loop_work_init(&wa, cancel_b, NULL);
	loop_work_queue(&wa);
	loop_work_queue(&wb);
	run();
	ok(was("k"), "work cancelled by other work does not run");
}

struct end {
	struct loop_fd fd;
	int pipe[2];
	struct end *other;
	char name;
};

static void on_end(void *arg, uint32_t events)
{
	struct end *end = arg;

	(void)events;
	note(end->name);
	loop_fd_del(&end->fd);
	if (!end->other)
		return;
	/* This one is ready too: its memory must not be accessed any more. */
	loop_fd_del(&end->other->fd);
	close(end->other->pipe[0]);
	close(end->other->pipe[1]);
	free(end->other);
}

static struct end *make_end(char name)
{
	struct end *end = calloc(1, sizeof(*end));

	if (!end || pipe(end->pipe) || write(end->pipe[1], "x", 1) != 1)
		abort();
	end->name = name;
	return end;
}

static void test_fd(void)
{
	struct end *one = make_end('1'), *two = make_end('2');

	ok(!loop_fd_add(&one->fd, one->pipe[0], EPOLLIN, on_end, one) &&
	   !loop_fd_add(&two->fd, two->pipe[0], EPOLLIN, on_end, two), "descriptors are added");
	one->other = two;
	/* Added again, it runs after the other. */
	loop_fd_del(&two->fd);
	ok(two->fd.fd == -1, "a descriptor is removed");
	loop_fd_del(&two->fd);
	loop_fd_add(&two->fd, two->pipe[0], EPOLLIN, on_end, two);
	run();
	ok(!strncmp(order, "1", 1), "who is removed and freed by another is not called");
	was("1");
	close(one->pipe[0]);
	close(one->pipe[1]);
	free(one);
	ok(loop_fd_add(&(struct loop_fd){ 0 }, -1, EPOLLIN, on_end, NULL) == -EBADF,
	   "a wrong descriptor is an error");
}

static void on_signal(int signo)
{
	note(signo == SIGUSR1 ? 'u' : '?');
	loop_stop();
}

static void test_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	ok(!loop_signals(&set, on_signal), "signals");
	raise(SIGUSR1);
	loop_run();
	ok(was("u"), "a signal comes to its handler");
}

int main(void)
{
	ok(!loop_init(), "loop");
	test_timer_order();
	test_timer_nested();
	test_work();
	test_fd();
	test_signal();
	loop_exit();
	return tap_done();
}
