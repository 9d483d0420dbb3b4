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
 * struct farswap_window - what is being written to a donor
 * @limit:	how many pages there may be while pages are read, sixteenths
 * @best_ns:	what reading one takes at best
 * @learnt_at:	when one was read last, jiffies
 * @pages:	how many pages, without @in_fault; with each of them it changes, others hardly do
 * @in_fault:	how many more, of tasks in a fault
 * @stalled:	somebody waited in vain since a write ended last
 * @room:	who waits until there are fewer @pages
 * @readers:	who waits in a fault until there are fewer of both
 */
struct farswap_window {
	unsigned int limit;
	u32 best_ns;
	unsigned long learnt_at;
	atomic_t pages ____cacheline_aligned_in_smp;
	atomic_t in_fault;
	bool stalled;
	wait_queue_head_t room;
	wait_queue_head_t readers;
};

/**
 * enum farswap_room - what a write has of a window
 * @FARSWAP_ROOM_NONE:	nothing
 * @FARSWAP_ROOM_BOUND:	within the bound
 * @FARSWAP_ROOM_FAULT:	beside it, as its task was in a fault
 */
enum farswap_room {
	FARSWAP_ROOM_NONE,
	FARSWAP_ROOM_BOUND,
	FARSWAP_ROOM_FAULT,
};

void farswap_window_init(struct farswap_window *window);
void farswap_window_learn(struct farswap_window *window, u32 ns);
enum farswap_room farswap_window_try(struct farswap_window *window, unsigned int pages);
enum farswap_room farswap_window_enter(struct farswap_window *window, unsigned int pages);
void farswap_window_leave(struct farswap_window *window, unsigned int pages,
			  enum farswap_room room);

#endif /* _FARSWAP_WINDOW_H */
