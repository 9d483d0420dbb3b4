/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window: a bound on the pages that are being written to one donor.
 */
#ifndef _FARSWAP_WINDOW_H
#define _FARSWAP_WINDOW_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/percpu.h>
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
 * struct farswap_window_cpu - a CPU's share of a window
 * @pages:	pages for which room was taken on this CPU less those returned on it, as far as
 *		they are not in the window's own count; by room
 * @best_ns:	best latency of a read that ended on this CPU, ns
 * @reads:	reads that ended on this CPU; wraps
 * @gain:	units by which reads have raised the bound, and that are not added to it yet
 */
struct farswap_window_cpu {
	atomic_t pages[FARSWAP_ROOMS];
	u32 best_ns;
	unsigned int reads;
	unsigned int gain;
};

/**
 * struct farswap_window - pages that are being written to a donor
 * @cpu:	each CPU's share
 * @limit:	bound on the pages in FARSWAP_ROOM_BOUND while pages are read, sixteenths of a page
 * @learnt_at:	time of the last read, jiffies
 * @batch_shift: log2 of the ratio of the bound to the pages that a CPU may keep in its share
 * @stalled:	a store has waited until its timeout since a write last ended
 * @pages:	number of pages, by room, without those in @cpu
 * @waiters:	stores that wait for room, by room
 *
 * Every write reads the fields, and few write one.
 */
struct farswap_window {
	struct farswap_window_cpu __percpu *cpu;
	unsigned int limit;
	unsigned int batch_shift;
	unsigned long learnt_at;
	bool stalled;
	atomic_t pages[FARSWAP_ROOMS] ____cacheline_aligned_in_smp;
	wait_queue_head_t waiters[FARSWAP_ROOMS];
};

bool farswap_window_init(struct farswap_window *window);
void farswap_window_exit(struct farswap_window *window);
unsigned int farswap_window_reads(const struct farswap_window *window);
void farswap_window_learn(struct farswap_window *window, u32 ns);
enum farswap_room farswap_window_try(struct farswap_window *window, unsigned int pages);
enum farswap_room farswap_window_enter(struct farswap_window *window, unsigned int pages);
void farswap_window_leave(struct farswap_window *window, unsigned int pages,
			  enum farswap_room room);

#endif /* _FARSWAP_WINDOW_H */
