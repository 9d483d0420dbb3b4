// SPDX-License-Identifier: GPL-2.0
/*
 * The bound on what is being written to one donor. A queue that grows without
 * bound adds nothing to the throughput: it makes page-ins wait behind page-outs
 * and in the end makes a busy donor look dead.
 *
 * While pages are read from the donor, the bound follows from how long that takes, as in delay
 * based congestion control (TCP Vegas). Not their average counts but how many are slow: each that
 * takes three times what one takes at best takes an eighth from the bound, and each other one
 * adds a sixteenth of a page. So it settles where, of a hundred reads, some 50 / bound are slow.
 *
 * What a task puts out in a fault is let in up to as many as while nothing is read: it makes the
 * room that the task reads into, and reads ahead make each other slow. Such pages are counted
 * apart, or kswapd would find no room beside them.
 *
 * Locking: none; two atomic counts, and wait queues for those that found no room. Two CPUs that
 * learn at once may lose a read's time, and of two readers that share a slot one may be forgotten.
 */
#include <linux/farswap.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "internal.h"

/*
 * Several times what a link has under way: 100 Gb/s times 10 us are 32 pages.
 * A folio is let in as long as there is any room, however large it is.
 */
#define WINDOW_MAX	256
/* Enough to fill 100 Gb/s where the network answers within 2.5 us. */
#define WINDOW_MIN	8
/* What reclaim takes at a time: SWAP_CLUSTER_MAX. */
#define WINDOW_BATCH	32
/* When no page has been read for so long, none is made to wait. */
#define WINDOW_QUIET	(HZ / 10)
/* What reads take at best is less each time, or 1/64 more. */
#define WINDOW_BEST_SHIFT	6
/* That is slow, and taken for a WRITE's fault. */
#define WINDOW_SLOW	3
/* Longer times are not told apart. */
#define WINDOW_NS_MAX	(U32_MAX / 2)
/* What is taken from the bound at once; what is added is one of its units. */
#define WINDOW_LESS_SHIFT	3
#define WINDOW_UNITS	16
/*
 * After this a store goes to the swap device alone, and those behind it don't
 * wait until a write has ended.
 */
#define WINDOW_WAIT	(HZ / 5)
/* Tasks that may read at once without being taken for others. */
#define WINDOW_READERS_BITS	7

/**
 * struct window_reader - a task in the midst of a fault that reads a page
 * @task:	whose; NULL: nobody's, or of one that another has followed
 */
struct window_reader {
	const struct task_struct *task;
} ____cacheline_aligned_in_smp;

static struct window_reader window_readers[1 << WINDOW_READERS_BITS];

static struct window_reader *window_reader(void)
{
	return &window_readers[hash_ptr(current, WINDOW_READERS_BITS)];
}

/**
 * farswap_swapin_begin() - a fault of the current task is about to read a page
 *
 * Until farswap_swapin_end() its stores have the room of faults in every window.
 *
 * Context: process context; not nested.
 */
void farswap_swapin_begin(void)
{
	WRITE_ONCE(window_reader()->task, current);
}

/**
 * farswap_swapin_end() - it has begun, and so has what is read ahead
 *
 * Context: process context.
 */
void farswap_swapin_end(void)
{
	struct window_reader *reader = window_reader();

	/* Not of another who has come since. */
	if (READ_ONCE(reader->task) == current)
		WRITE_ONCE(reader->task, NULL);
}

/**
 * farswap_window_init() - nothing is being written
 * @window:	a donor's
 */
void farswap_window_init(struct farswap_window *window)
{
	enum farswap_room room;

	window->limit = WINDOW_MAX * WINDOW_UNITS;
	window->best_ns = WINDOW_NS_MAX;
	window->learnt_at = jiffies - WINDOW_QUIET;
	window->stalled = false;
	for (room = 0; room < FARSWAP_ROOMS; room++) {
		atomic_set(&window->pages[room], 0);
		init_waitqueue_head(&window->waiters[room]);
	}
}

static int window_limit(const struct farswap_window *window, enum farswap_room room)
{
	if (room == FARSWAP_ROOM_FAULT)
		return WINDOW_MAX;
	if (time_after(jiffies, READ_ONCE(window->learnt_at) + WINDOW_QUIET))
		return WINDOW_MAX;
	return READ_ONCE(window->limit) / WINDOW_UNITS;
}

/**
 * farswap_window_learn() - a page has been read that a task waited for
 * @window:	the donor's
 * @ns:		how long it took
 *
 * Context: any.
 */
void farswap_window_learn(struct farswap_window *window, u32 ns)
{
	u32 old_best = READ_ONCE(window->best_ns), best = old_best;
	unsigned int old_limit = READ_ONCE(window->limit), limit = old_limit;
	unsigned long now = jiffies;

	ns = min(ns, WINDOW_NS_MAX);
	best = min(ns, best + (best >> WINDOW_BEST_SHIFT) + 1);
	if (ns / WINDOW_SLOW > best)
		limit = max(limit - (limit >> WINDOW_LESS_SHIFT), WINDOW_MIN * WINDOW_UNITS);
	else if (limit < WINDOW_MAX * WINDOW_UNITS)
		limit++;
	/* Stores look at them too, on other processors. */
	if (best != old_best)
		WRITE_ONCE(window->best_ns, best);
	if (limit != old_limit)
		WRITE_ONCE(window->limit, limit);
	if (READ_ONCE(window->learnt_at) != now)
		WRITE_ONCE(window->learnt_at, now);
}

static enum farswap_room window_room(void)
{
	return READ_ONCE(window_reader()->task) == current ? FARSWAP_ROOM_FAULT :
							     FARSWAP_ROOM_BOUND;
}

static void window_give(struct farswap_window *window, unsigned int pages,
			enum farswap_room room)
{
	int left = atomic_sub_return(pages, &window->pages[room]), limit;

	/* The subtraction is fully ordered before the look at the waiters. */
	if (likely(!waitqueue_active(&window->waiters[room])))
		return;
	/* They go on with room for a batch of reclaim's, not with each page's. */
	limit = window_limit(window, room);
	if (left <= limit - min(limit / 2, WINDOW_BATCH))
		wake_up(&window->waiters[room]);
}

static bool window_try(struct farswap_window *window, unsigned int pages,
		       enum farswap_room room)
{
	int there = atomic_add_return(pages, &window->pages[room]) - (int)pages;

	if (likely(there < window_limit(window, room)))
		return true;
	window_give(window, pages, room);
	return false;
}

/**
 * farswap_window_try() - take room for a write, if there is some
 * @window:	a donor's
 * @pages:	how many are to be written
 *
 * Context: any.
 * Return: which room, for farswap_window_leave(), which must follow; FARSWAP_ROOM_NONE, which
 * is 0, if there is none.
 */
enum farswap_room farswap_window_try(struct farswap_window *window, unsigned int pages)
{
	enum farswap_room room = window_room();

	if (unlikely(!window_try(window, pages, room)))
		return FARSWAP_ROOM_NONE;
	if (room == FARSWAP_ROOM_FAULT)
		farswap_stat_add(FARSWAP_STAT_STORE_IN_FAULT, 1);
	return room;
}

/**
 * farswap_window_enter() - take room for a write, and wait for it a little
 * @window:	a donor's
 * @pages:	how many are to be written
 *
 * As a block device makes reclaim wait for a free request, but for a fifth of a
 * second at most.
 *
 * Context: process context; may sleep.
 * Return: as farswap_window_try().
 */
enum farswap_room farswap_window_enter(struct farswap_window *window, unsigned int pages)
{
	enum farswap_room room = farswap_window_try(window, pages);

	if (likely(room))
		return room;
	if (READ_ONCE(window->stalled))
		return FARSWAP_ROOM_NONE;
	farswap_stat_add(FARSWAP_STAT_STORE_WAITED, 1);
	/* Looked at once: who shares the slot may take the mark away. */
	room = window_room();
	if (wait_event_timeout(window->waiters[room], window_try(window, pages, room),
			       WINDOW_WAIT))
		return room;
	WRITE_ONCE(window->stalled, true);
	return FARSWAP_ROOM_NONE;
}

/**
 * farswap_window_leave() - a write has ended
 * @window:	a donor's
 * @pages:	as many as were entered
 * @room:	which room they had
 *
 * Context: any.
 */
void farswap_window_leave(struct farswap_window *window, unsigned int pages,
			  enum farswap_room room)
{
	if (READ_ONCE(window->stalled))
		WRITE_ONCE(window->stalled, false);
	window_give(window, pages, room);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/window-kunit.h"
#endif
