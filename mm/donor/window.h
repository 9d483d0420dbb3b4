/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window: a bound on the pages that are being written to one donor.
 */
#ifndef _FARSWAP_WINDOW_H
#define _FARSWAP_WINDOW_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/types.h>
#include <linux/wait.h>

/**
 * enum farswap_room - room of a write in a window
 * @FARSWAP_ROOM_NONE:	there is none
 * @FARSWAP_ROOM_BOUND:	within the bound that follows from the latency of reads
 * @FARSWAP_ROOM_FAULT:	counted separately, because its task is in a fault
 * @FARSWAP_ROOMS:	number of kinds of room
 */
enum farswap_room {
	FARSWAP_ROOM_NONE,
	FARSWAP_ROOM_BOUND,
	FARSWAP_ROOM_FAULT,
	FARSWAP_ROOMS,
};

/**
 * struct farswap_window - pages that are being written to a donor
 * @limit:	bound on the pages in FARSWAP_ROOM_BOUND while pages are read, sixteenths of a page
 * @best_ns:	best latency of a read, ns
 * @learnt_at:	time of the last read, jiffies
 * @pages:	number of pages, by room; it changes with each write, while the fields above rarely
 *		change, so it has a cache line of its own
 * @stalled:	a store has waited until its timeout since a write last ended
 * @waiters:	stores that wait for room, by room
 */
struct farswap_window {
	unsigned int limit;
	u32 best_ns;
	unsigned long learnt_at;
	atomic_t pages[FARSWAP_ROOMS] ____cacheline_aligned_in_smp;
	bool stalled;
	wait_queue_head_t waiters[FARSWAP_ROOMS];
};

void farswap_window_init(struct farswap_window *window);
void farswap_window_learn(struct farswap_window *window, u32 ns);
enum farswap_room farswap_window_try(struct farswap_window *window, unsigned int pages);
enum farswap_room farswap_window_enter(struct farswap_window *window, unsigned int pages);
void farswap_window_leave(struct farswap_window *window, unsigned int pages,
			  enum farswap_room room);

#endif /* _FARSWAP_WINDOW_H */
