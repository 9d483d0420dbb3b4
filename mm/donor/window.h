/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bound on what is being written to one donor.
 */
#ifndef _FARSWAP_WINDOW_H
#define _FARSWAP_WINDOW_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/types.h>
#include <linux/wait.h>

/**
 * enum farswap_room - what a write has of a window
 * @FARSWAP_ROOM_NONE:	nothing
 * @FARSWAP_ROOM_BOUND:	within the bound that follows from how long reads take
 * @FARSWAP_ROOM_FAULT:	apart from that, as its task is in a fault
 * @FARSWAP_ROOMS:	how many there are
 */
enum farswap_room {
	FARSWAP_ROOM_NONE,
	FARSWAP_ROOM_BOUND,
	FARSWAP_ROOM_FAULT,
	FARSWAP_ROOMS,
};

/**
 * struct farswap_window - what is being written to a donor
 * @limit:	how many pages within the bound there may be while pages are read, sixteenths
 * @best_ns:	what reading one takes at best
 * @learnt_at:	when one was read last, jiffies
 * @pages:	how many pages, by room. Changes with each of them, the others mostly don't
 * @stalled:	somebody waited in vain since a write ended last
 * @waiters:	who waits until there are fewer, by room
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
