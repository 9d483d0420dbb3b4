// SPDX-License-Identifier: GPL-2.0
/*
 * The window bounds the pages that are being written to one donor. An unbounded queue adds no
 * throughput: page-ins wait behind page-outs, and in the end I/O to a busy donor times out.
 *
 * While pages are read from the donor, the bound follows from their latency, as in delay-based
 * congestion control (TCP Vegas). The share of slow reads decides, and not the average latency. A
 * read that takes three times the best latency lowers the bound by an eighth; any other read raises
 * it by a sixteenth of a page. So the bound settles where about 50 / bound of a hundred reads are
 * slow.
 *
 * Stores by a task in a fault are limited to WINDOW_MAX pages only, as if nothing was read: such a
 * store frees the memory that the fault reads into, and readahead slows reads down by itself. These
 * pages are counted separately, or they would leave no room for kswapd.
 *
 * Each CPU has a share of the counts and learns by itself, because a line that every page writes
 * would go from CPU to CPU. Each CPU may exceed the bound by a page, so that pages that are written
 * one by one do not touch the count of all CPUs; and by a few if the bound is large.
 *
 * Locking: none; there are atomic counts, and wait queues for stores that found no room. If two
 * CPUs change the bound at once, one of the changes may be lost. If two readers hash to the same
 * slot, one of them may be overwritten.
 */
#include <linux/farswap.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "internal.h"

/*
 * Several times the pages that a link has in flight: 100 Gb/s times 10 us are 32 pages. A folio of
 * any size is admitted if there is any room.
 */
#define WINDOW_MAX	256
/* Enough to fill 100 Gb/s where the round trip takes 2.5 us. */
#define WINDOW_MIN	8
/* Pages that reclaim takes at a time: SWAP_CLUSTER_MAX. */
#define WINDOW_BATCH	32
/* If no page was read for this time, the bound is WINDOW_MAX. */
#define WINDOW_QUIET	(HZ / 10)
/* The best latency falls to each lower sample, and rises by at most 1/64 at each other one. */
#define WINDOW_BEST_SHIFT	6
/* A read is slow, presumably because of writes, if it takes this many times the best latency. */
#define WINDOW_SLOW	3
/* Longer latencies count as this one. */
#define WINDOW_NS_MAX	(U32_MAX / 2)
/* A slow read lowers the bound by this fraction (log2); any other adds a unit of 1/16 page. */
#define WINDOW_LESS_SHIFT	3
#define WINDOW_UNITS	16
/*
 * A CPU keeps less than so many pages in its share: half of the bound on all CPUs together, but at
 * least and at most these.
 */
#define WINDOW_CPU_PAGES_MIN	2
#define WINDOW_CPU_PAGES	8
/*
 * A store that waited for this time goes to the swap device alone. Later stores then do not wait
 * until a write has ended.
 */
#define WINDOW_WAIT	(HZ / 5)
/* log2 of the slots for tasks that are in a fault. */
#define WINDOW_READERS_BITS	7

/**
 * struct window_reader - a task that is in a fault that reads a page
 * @task:	the task; NULL if there is none, or if another task has used the slot since
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
 * farswap_swapin_begin() - mark the current task as being in a fault that reads a page
 *
 * Until farswap_swapin_end() its stores use FARSWAP_ROOM_FAULT of every window.
 *
 * Context: process context; not nested.
 */
void farswap_swapin_begin(void)
{
	WRITE_ONCE(window_reader()->task, current);
}

/**
 * farswap_swapin_end() - clear the mark, once the read and its readahead have begun
 *
 * Context: process context.
 */
void farswap_swapin_end(void)
{
	struct window_reader *reader = window_reader();

	/* Another task may have taken the slot since then. */
	if (READ_ONCE(reader->task) == current)
		WRITE_ONCE(reader->task, NULL);
}

/**
 * farswap_window_init() - initialise an empty window
 * @window:	window of a donor
 *
 * Context: may sleep.
 * Return: false if there is no memory.
 */
bool farswap_window_init(struct farswap_window *window)
{
	enum farswap_room room;
	int cpu;

	window->cpu = alloc_percpu_gfp(struct farswap_window_cpu, GFP_KERNEL | __GFP_NOWARN);
	if (!window->cpu)
		return false;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(window->cpu, cpu)->best_ns = WINDOW_NS_MAX;
	window->limit = WINDOW_MAX * WINDOW_UNITS;
	window->batch_shift = order_base_2(2 * num_possible_cpus());
	window->learnt_at = jiffies - WINDOW_QUIET;
	window->stalled = false;
	for (room = 0; room < FARSWAP_ROOMS; room++) {
		atomic_set(&window->pages[room], 0);
		init_waitqueue_head(&window->waiters[room]);
	}
	return true;
}

/**
 * farswap_window_exit() - undo farswap_window_init()
 * @window:	window of a donor, without pages
 */
void farswap_window_exit(struct farswap_window *window)
{
	free_percpu(window->cpu);
}

/**
 * farswap_window_reads() - get the number of reads that farswap_window_learn() has seen
 * @window:	window of a donor
 *
 * Context: any.
 * Return: the number, which wraps.
 */
unsigned int farswap_window_reads(const struct farswap_window *window)
{
	unsigned int reads = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		reads += READ_ONCE(per_cpu_ptr(window->cpu, cpu)->reads);
	return reads;
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
 * farswap_window_learn() - adjust the bound to the latency of a read that a task waited for
 * @window:	window of the donor that was read
 * @ns:		latency, nanoseconds
 *
 * Context: any.
 */
void farswap_window_learn(struct farswap_window *window, u32 ns)
{
	struct farswap_window_cpu *mine = raw_cpu_ptr(window->cpu);
	unsigned int old_limit = READ_ONCE(window->limit), limit = old_limit;
	unsigned int gain = READ_ONCE(mine->gain);
	u32 best = READ_ONCE(mine->best_ns);
	unsigned long now = jiffies;

	ns = min(ns, WINDOW_NS_MAX);
	best = min(ns, best + (best >> WINDOW_BEST_SHIFT) + 1);
	WRITE_ONCE(mine->best_ns, best);
	WRITE_ONCE(mine->reads, mine->reads + 1);
	if (ns / WINDOW_SLOW > best)
		limit = max(limit - (limit >> WINDOW_LESS_SHIFT), WINDOW_MIN * WINDOW_UNITS);
	else if (limit < WINDOW_MAX * WINDOW_UNITS)
		gain++;
	if (gain == WINDOW_UNITS) {
		limit = min(limit + gain, WINDOW_MAX * WINDOW_UNITS);
		gain = 0;
	}
	WRITE_ONCE(mine->gain, gain);
	/* Stores on other CPUs read these fields, so write them only if they change. */
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

/* Returns the pages for which room is taken, on all CPUs. */
static int window_pages(const struct farswap_window *window, enum farswap_room room)
{
	int pages = atomic_read(&window->pages[room]), cpu;

	for_each_possible_cpu(cpu)
		pages += atomic_read(&per_cpu_ptr(window->cpu, cpu)->pages[room]);
	return pages;
}

/* Returns about as many pages as are taken now. Fully ordered. */
static int window_add(struct farswap_window *window, int pages, enum farswap_room room, int limit)
{
	atomic_t *mine = &raw_cpu_ptr(window->cpu)->pages[room];
	int batch = limit >> window->batch_shift;
	int kept = atomic_add_return(pages, mine);

	if (abs(kept) < clamp(batch, WINDOW_CPU_PAGES_MIN, WINDOW_CPU_PAGES))
		return atomic_read(&window->pages[room]) + kept;
	return atomic_add_return(atomic_xchg(mine, 0), &window->pages[room]);
}

static void window_give(struct farswap_window *window, unsigned int pages,
			enum farswap_room room)
{
	int limit = window_limit(window, room);

	/*
	 * The count is written before the wait queue is read below. Pairs with
	 * wait_event_timeout() in farswap_window_enter(), which joins the queue before it reads
	 * the counts.
	 */
	window_add(window, -(int)pages, room, limit);
	/* Fully ordered, see above. */
	if (likely(!waitqueue_active(&window->waiters[room])))
		return;
	/* Wake waiters when a batch of reclaim fits, not at each page. */
	if (window_pages(window, room) <= limit - min(limit / 2, WINDOW_BATCH))
		wake_up(&window->waiters[room]);
}

static bool window_try(struct farswap_window *window, unsigned int pages,
		       enum farswap_room room)
{
	int limit = window_limit(window, room), most = limit + (int)pages;

	/* Other CPUs may have returned more than the window's own count says. */
	if (likely(window_add(window, pages, room, limit) < most) ||
	    window_pages(window, room) < most)
		return true;
	window_give(window, pages, room);
	return false;
}

/**
 * farswap_window_try() - take room for a write, if there is any
 * @window:	window of a donor
 * @pages:	number of pages to be written
 *
 * Context: any.
 * Return: the kind of room, to be passed to farswap_window_leave() when the write has ended;
 * FARSWAP_ROOM_NONE, which is 0, if there is none.
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
 * farswap_window_enter() - take room for a write; wait a short time for it
 * @window:	window of a donor
 * @pages:	number of pages to be written
 *
 * The wait throttles reclaim, like the wait for a free request of a block device, but lasts a
 * fifth of a second at most.
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
	/* Read the mark once: a task that shares the slot may overwrite it during the wait. */
	room = window_room();
	if (wait_event_timeout(window->waiters[room], window_try(window, pages, room),
			       WINDOW_WAIT))
		return room;
	WRITE_ONCE(window->stalled, true);
	return FARSWAP_ROOM_NONE;
}

/**
 * farswap_window_leave() - return the room of a write that has ended
 * @window:	window of a donor
 * @pages:	number of pages for which room was taken
 * @room:	the kind of room that was taken
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
