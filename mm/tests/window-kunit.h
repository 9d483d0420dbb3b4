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

static unsigned int window_test_room(struct farswap_window *window)
{
	unsigned int room = 0;

	while (farswap_window_try(window, 1))
		room++;
	farswap_window_leave(window, room);
	return room;
}

static void window_test_quiet(struct kunit *test)
{
	struct farswap_window window;

	farswap_window_init(&window);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_window_try(&window, 1000),
			      "a folio is let in however large it is");
	KUNIT_EXPECT_FALSE(test, farswap_window_try(&window, 1));
	farswap_window_leave(&window, 1000);
	KUNIT_EXPECT_EQ(test, atomic_read(&window.pages), 0);
}

/* As slow as they ever were is not slow. */
static void window_test_steady(struct kunit *test)
{
	struct farswap_window window;

	farswap_window_init(&window);
	window_test_learn(&window, WINDOW_TEST_NS, 1000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_learn(&window, WINDOW_TEST_NS * 2, 1000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
}

static void window_test_slower(struct kunit *test)
{
	struct farswap_window window;

	farswap_window_init(&window);
	window_test_learn(&window, WINDOW_TEST_NS, 100);
	window_test_learn(&window, WINDOW_TEST_NS * 6, 40);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN);
	/* Nobody reads any more: nobody waits for the writes. */
	window.learnt_at = jiffies - WINDOW_QUIET - 1;
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	/* They are as fast again as they were: room comes back, a page in so many reads. */
	window_test_learn(&window, WINDOW_TEST_NS, 40 * WINDOW_UNITS);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN + 40);
	window_test_learn(&window, WINDOW_TEST_NS, WINDOW_MAX * WINDOW_UNITS);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
}

/* One in a hundred is slow. */
static void window_test_tail(struct kunit *test)
{
	struct farswap_window window;
	unsigned int i;

	farswap_window_init(&window);
	for (i = 0; i < 100; i++) {
		window_test_learn(&window, WINDOW_TEST_NS, 99);
		window_test_learn(&window, WINDOW_TEST_NS * 4, 1);
	}
	KUNIT_EXPECT_GE(test, window_test_room(&window), 40);
	KUNIT_EXPECT_LE(test, window_test_room(&window), 50);
}

/* What takes long for long is how the network is, and no single look at the clock decides. */
static void window_test_forget(struct kunit *test)
{
	struct farswap_window window;

	farswap_window_init(&window);
	window_test_learn(&window, 0, 1);
	window_test_learn(&window, WINDOW_TEST_NS, 10000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_learn(&window, WINDOW_TEST_NS * 100, 10000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	window_test_learn(&window, U32_MAX, 10000);
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
}

/* What a reader puts out makes the room that it reads into. */
static void window_test_reader(struct kunit *test)
{
	const struct task_struct *other = &init_task;
	struct farswap_window window;

	farswap_window_init(&window);
	window_test_learn(&window, WINDOW_TEST_NS, 100);
	window_test_learn(&window, WINDOW_TEST_NS * 6, 40);
	farswap_window_read_begin();
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MAX);
	farswap_window_read_end();
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN);

	/* Another task, whose slot that is too, began after it: that one's mark stays. */
	farswap_window_read_begin();
	window_reader()->task = other;
	KUNIT_EXPECT_EQ(test, window_test_room(&window), WINDOW_MIN);
	farswap_window_read_end();
	KUNIT_EXPECT_PTR_EQ(test, window_reader()->task, other);
	window_reader()->task = NULL;
}

static struct kunit_case window_test_cases[] = {
	KUNIT_CASE(window_test_quiet),
	KUNIT_CASE(window_test_steady),
	KUNIT_CASE(window_test_slower),
	KUNIT_CASE(window_test_tail),
	KUNIT_CASE(window_test_forget),
	KUNIT_CASE(window_test_reader),
	{}
};

static struct kunit_suite window_test_suite = {
	.name		= "farswap_window",
	.test_cases	= window_test_cases,
};

kunit_test_suite(window_test_suite);
