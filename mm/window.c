// SPDX-License-Identifier: GPL-2.0
/*
 * The bound on what is being written to one donor. A queue that grows without
 * bound adds nothing to the throughput: it makes page-ins wait behind page-outs
 * and in the end makes a busy donor look dead.
 *
 * Locking: none; an atomic count, and a wait queue for those that found no room.
 */
#include <linux/jiffies.h>

#include "internal.h"

/*
 * Several times what a link has under way: 100 Gb/s times 10 us are 32 pages.
 * A folio is let in as long as there is any room, however large it is.
 */
#define WINDOW_PAGES	64
/*
 * After this a store goes to the swap device alone, and those behind it don't
 * wait until a write has ended.
 */
#define WINDOW_WAIT	(HZ / 5)

/**
 * farswap_window_init() - nothing is being written
 * @window:	a donor's
 */
void farswap_window_init(struct farswap_window *window)
{
	atomic_set(&window->pages, 0);
	window->stalled = false;
	init_waitqueue_head(&window->room);
}

static void window_give(struct farswap_window *window, unsigned int pages)
{
	/* The subtraction is fully ordered before the look at the waiters. */
	if (atomic_sub_return(pages, &window->pages) < WINDOW_PAGES &&
	    wq_has_sleeper(&window->room))
		wake_up(&window->room);
}

/**
 * farswap_window_try() - take room for a write, if there is some
 * @window:	a donor's
 * @pages:	how many are to be written
 *
 * Context: any.
 * Return: true when they may be written; then farswap_window_leave() must follow.
 */
bool farswap_window_try(struct farswap_window *window, unsigned int pages)
{
	if (atomic_add_return(pages, &window->pages) - (int)pages < WINDOW_PAGES)
		return true;
	window_give(window, pages);
	return false;
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
bool farswap_window_enter(struct farswap_window *window, unsigned int pages)
{
	if (likely(farswap_window_try(window, pages)))
		return true;
	if (READ_ONCE(window->stalled))
		return false;
	if (wait_event_timeout(window->room, farswap_window_try(window, pages),
			       WINDOW_WAIT))
		return true;
	WRITE_ONCE(window->stalled, true);
	return false;
}

/**
 * farswap_window_leave() - a write has ended
 * @window:	a donor's
 * @pages:	as many as were entered
 *
 * Context: any.
 */
void farswap_window_leave(struct farswap_window *window, unsigned int pages)
{
	if (READ_ONCE(window->stalled))
		WRITE_ONCE(window->stalled, false);
	window_give(window, pages);
}
