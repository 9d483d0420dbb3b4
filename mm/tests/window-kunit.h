/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window: its bound, as reads become slower and faster.
 */
#include <kunit/test.h>
#include <linux/sched/task.h>

#define WINDOW_TEST_NS	10000

static void window_test_learn(struct farswap_window *window, u32 ns, unsigned int reads)
{
	while (reads--)
		farswap_window_learn(window, ns);
}

/* On one CPU until window_test_exit(), so that the counts and the bound are exact. */
static void window_test_init(struct kunit *test, struct farswap_window *window)
{
	KUNIT_ASSERT_TRUE(test, farswap_window_init(window));
	migrate_disable();
}

static void window_test_exit(struct farswap_window *window)
{
	migrate_enable();
	farswap_window_exit(window);
}

static unsigned int window_test_pages(struct farswap_window *window)
{
	return window_pages(window, FARSWAP_ROOM_BOUND) + window_pages(window, FARSWAP_ROOM_FAULT);
}

static unsigned int window_test_room(struct farswap_window *window)
{
	enum farswap_room room = FARSWAP_ROOM_NONE, last;
	unsigned int pages = 0;

	while ((last = farswap_window_try(window, 1))) {
		room = last;
		pages++;
	}
	farswap_window_leave(window, pages, room);
	return pages;
}

static void window_test_quiet(struct kunit *test)
{
	struct farswap_window window;

	window_test_init(test, &window);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_window_try(&window, 1000),
			      "a folio is let in however large it is");
	KUNIT_EXPECT_FALSE(test, farswap_window_try(&window, 1));
	farswap_window_leave(&window, 1000, FARSWAP_ROOM_BOUND);
	KUNIT_EXPECT_EQ(test, window_test_pages(&window), 0);
	window_test_exit(&window);
}

/* Reads that were always slow do not count as slow. */
static void window_test_steady(struct kunit *test)
{
	struct farswap_window window;

	window_test_init(test, &window);
	window_test_learn(&window, WINDOW_TEST_NS, 1000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_learn(&window, WINDOW_TEST_NS * 2, 1000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_exit(&window);
}

static void window_test_slower(struct kunit *test)
{
	struct farswap_window window;

	window_test_init(test, &window);
	window_test_learn(&window, WINDOW_TEST_NS, 100);
	window_test_learn(&window, WINDOW_TEST_NS * 6, 40);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN);
	/* Without readers, writes are not limited. */
	window.learnt_at = jiffies - WINDOW_QUIET - 1;
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	/* Reads are fast again: the window grows by a page per round of reads. */
	window_test_learn(&window, WINDOW_TEST_NS, 40 * WINDOW_UNITS);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN + 40);
	window_test_learn(&window, WINDOW_TEST_NS, WINDOW_MAX * WINDOW_UNITS);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_exit(&window);
}

/* One in a hundred is slow. */
static void window_test_tail(struct kunit *test)
{
	struct farswap_window window;
	unsigned int i;

	window_test_init(test, &window);
	for (i = 0; i < 100; i++) {
		window_test_learn(&window, WINDOW_TEST_NS, 99);
		window_test_learn(&window, WINDOW_TEST_NS * 4, 1);
	}
	KUNIT_EXPECT_GE(test, window_test_room(&window), 40);
	KUNIT_EXPECT_LE(test, window_test_room(&window), 50);
	window_test_exit(&window);
}

/* Long slowness is the network's normal, and no single measurement decides. */
static void window_test_forget(struct kunit *test)
{
	struct farswap_window window;

	window_test_init(test, &window);
	window_test_learn(&window, 0, 1);
	window_test_learn(&window, WINDOW_TEST_NS, 10000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_learn(&window, WINDOW_TEST_NS * 100, 10000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_learn(&window, U32_MAX, 10000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_exit(&window);
}

/* The bound is at its minimum, and stays there for a while. */
static void window_test_slow(struct kunit *test, struct farswap_window *window)
{
	window_test_init(test, window);
	window_test_learn(window, WINDOW_TEST_NS, 100);
	window_test_learn(window, WINDOW_TEST_NS * 6, 40);
	window->learnt_at = jiffies + HZ;
}

/* Page-outs of a reader make room for its own page-ins. */
static void window_test_reader(struct kunit *test)
{
	const struct task_struct *other = &init_task;
	struct farswap_window window;

	window_test_slow(test, &window);
	farswap_swapin_begin();
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	KUNIT_EXPECT_EQ(test, window_test_pages(&window), 0);

	/* Whatever their number, other tasks keep their bound. */
	KUNIT_EXPECT_EQ(test, farswap_window_try(&window, WINDOW_MAX), FARSWAP_ROOM_FAULT);
	KUNIT_EXPECT_EQ(test, farswap_window_try(&window, 1), FARSWAP_ROOM_NONE);
	farswap_swapin_end();
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN);
	KUNIT_EXPECT_EQ(test, window_test_pages(&window), WINDOW_MAX);
	farswap_window_leave(&window, WINDOW_MAX, FARSWAP_ROOM_FAULT);

	/* Another task with the same slot began later: its mark stays. */
	farswap_swapin_begin();
	window_reader()->task = other;
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN);
	farswap_swapin_end();
	KUNIT_EXPECT_PTR_EQ(test, window_reader()->task, other);
	window_reader()->task = NULL;
	window_test_exit(&window);
}

/* A task that waits for room. */
struct window_test_waiter {
	struct wait_queue_entry entry;
	unsigned int woken;
};

static int window_test_wake(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	container_of(entry, struct window_test_waiter, entry)->woken++;
	return 0;
}

static void window_test_wait(struct window_test_waiter *waiter, struct wait_queue_head *queue)
{
	waiter->woken = 0;
	init_waitqueue_func_entry(&waiter->entry, window_test_wake);
	add_wait_queue(queue, &waiter->entry);
}

static void window_test_set(struct farswap_window *window, enum farswap_room room, int pages)
{
	atomic_set(&raw_cpu_ptr(window->cpu)->pages[room], 0);
	atomic_set(&window->pages[room], pages);
}

/* Each window has its own waiters, which wait until a batch fits. */
static void window_test_wakeups(struct kunit *test)
{
	struct window_test_waiter reader, other;
	struct farswap_window window;

	window_test_slow(test, &window);
	window_test_wait(&other, &window.waiters[FARSWAP_ROOM_BOUND]);
	window_test_wait(&reader, &window.waiters[FARSWAP_ROOM_FAULT]);
	window_test_set(&window, FARSWAP_ROOM_BOUND, WINDOW_MIN);
	window_test_set(&window, FARSWAP_ROOM_FAULT, WINDOW_MAX);

	farswap_window_leave(&window, WINDOW_BATCH - 1, FARSWAP_ROOM_FAULT);
	KUNIT_EXPECT_EQ(test, reader.woken, 0);
	farswap_window_leave(&window, 1, FARSWAP_ROOM_FAULT);
	KUNIT_EXPECT_EQ(test, reader.woken, 1);
	KUNIT_EXPECT_EQ(test, other.woken, 0);

	farswap_window_leave(&window, WINDOW_MIN / 2 - 1, FARSWAP_ROOM_BOUND);
	KUNIT_EXPECT_EQ(test, other.woken, 0);
	farswap_window_leave(&window, 1, FARSWAP_ROOM_BOUND);
	KUNIT_EXPECT_EQ(test, other.woken, 1);
	KUNIT_EXPECT_EQ(test, reader.woken, 1);

	/* A failed attempt wakes nobody: the task may be a waiter itself. */
	window_test_set(&window, FARSWAP_ROOM_BOUND, WINDOW_MIN);
	window_test_set(&window, FARSWAP_ROOM_FAULT, WINDOW_MAX);
	KUNIT_EXPECT_FALSE(test, farswap_window_try(&window, 512));
	farswap_swapin_begin();
	KUNIT_EXPECT_FALSE(test, farswap_window_try(&window, 512));
	farswap_swapin_end();
	KUNIT_EXPECT_EQ(test, other.woken, 1);
	KUNIT_EXPECT_EQ(test, reader.woken, 1);
	remove_wait_queue(&window.waiters[FARSWAP_ROOM_FAULT], &reader.entry);
	remove_wait_queue(&window.waiters[FARSWAP_ROOM_BOUND], &other.entry);
	window_test_exit(&window);
}

/* Writes that begin and end on one CPU do not touch the count that all CPUs share. */
static void window_test_share(struct kunit *test)
{
	enum farswap_room room = FARSWAP_ROOM_BOUND;
	struct farswap_window window;
	unsigned int i;

	window_test_slow(test, &window);
	KUNIT_EXPECT_EQ(test, farswap_window_try(&window, 1), room);
	KUNIT_EXPECT_EQ(test, atomic_read(&window.pages[room]), 0);
	KUNIT_EXPECT_EQ(test, window_test_pages(&window), 1);
	farswap_window_leave(&window, 1, room);
	KUNIT_EXPECT_EQ(test, atomic_read(&window.pages[room]), 0);
	KUNIT_EXPECT_EQ(test, window_test_pages(&window), 0);
	window_test_exit(&window);

	window_test_init(test, &window);
	window.batch_shift = order_base_2(WINDOW_MAX / WINDOW_CPU_PAGES);
	for (i = 0; i < WINDOW_CPU_PAGES - 1; i++)
		KUNIT_EXPECT_EQ(test, farswap_window_try(&window, 1), room);
	KUNIT_EXPECT_EQ(test, atomic_read(&window.pages[room]), 0);
	KUNIT_EXPECT_EQ(test, window_test_pages(&window), WINDOW_CPU_PAGES - 1);
	KUNIT_EXPECT_EQ(test, farswap_window_try(&window, 1), room);
	KUNIT_EXPECT_EQ(test, atomic_read(&window.pages[room]), WINDOW_CPU_PAGES);

	/* Pages that other CPUs have returned are found when there seems to be no room. */
	atomic_set(&window.pages[room], WINDOW_MAX);
	atomic_set(&raw_cpu_ptr(window.cpu)->pages[room], 1 - WINDOW_CPU_PAGES);
	KUNIT_EXPECT_EQ(test, farswap_window_try(&window, WINDOW_CPU_PAGES), room);
	KUNIT_EXPECT_EQ(test, window_test_pages(&window), WINDOW_MAX + 1);
	KUNIT_EXPECT_EQ(test, farswap_window_try(&window, 1), FARSWAP_ROOM_NONE);
	window_test_exit(&window);
}

static struct kunit_case window_test_cases[] = {
	KUNIT_CASE(window_test_quiet),
	KUNIT_CASE(window_test_steady),
	KUNIT_CASE(window_test_slower),
	KUNIT_CASE(window_test_tail),
	KUNIT_CASE(window_test_forget),
	KUNIT_CASE(window_test_reader),
	KUNIT_CASE(window_test_wakeups),
	KUNIT_CASE(window_test_share),
	{}
};

static struct kunit_suite window_test_suite = {
	.name		= "farswap_window",
	.test_cases	= window_test_cases,
};

kunit_test_suite(window_test_suite);
