/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Remote writes: every write to a region is one of these.
 *
 * A writer calls, in this order:
 *
 * 1. farswap_guard_invalidate(), if the slots change, or a run of slab/guard.c if they do not
 * 2. farswap_write_begin() for each region, or farswap_write_begin_any() for one of them
 * 3. farswap_write_try() or farswap_write_enter(), to take room in the window of the donor
 * 4. farswap_write_mark(), which makes the slots stale in every region of the slab; for a run
 *    farswap_guard_write() does it
 * 5. farswap_write_submit(); at the end of the write the region has the slots, if it succeeded
 * 6. farswap_write_publish() sets the remote bits after a success
 * 7. farswap_write_end(), or farswap_write_written() and farswap_mapping_put()
 *
 * Each function has the barriers that order it against the next one and against other CPUs.
 */
#ifndef _FARSWAP_WRITE_H
#define _FARSWAP_WRITE_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/farswap-transport.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "donor/window.h"
#include "slab/bounce.h"
#include "slab/guard.h"
#include "slab/mapping.h"
#include "slab/slab.h"
#include "state.h"

/**
 * struct farswap_write - a write of consecutive slots to a region
 * @io:		the remote I/O
 * @mapping:	the destination; a reference is held
 * @slot:	the first slot
 * @nr:		number of slots
 * @room:	room that the write occupies in the window of the donor
 * @failed:	the write has ended with an error
 * @run:	the run of guard.c that the slots are in, or NULL; its end decides if the region
 *		has them
 * @bounces:	the sealed pages of a large folio, which are not contiguous; NULL otherwise
 * @nth:	which of the writes of @bounces are this one's
 * @parts:	number of those that have not ended, plus one while they are submitted
 * @error:	an error of one of them, or 0
 * @owner:	for @done
 * @done:	called once for each submitted write; may free the write. Any context up to softirq
 */
struct farswap_write {
	struct farswap_io io;
	struct farswap_mapping *mapping;
	unsigned int slot;
	unsigned int nr;
	enum farswap_room room;
	bool failed;
	struct farswap_guard_run *run;
	struct farswap_bounce *bounces;
	unsigned int nth;
	atomic_t parts;
	int error;
	void *owner;
	void (*done)(struct farswap_write *write, int error);
};

extern wait_queue_head_t farswap_stores_ended;

bool farswap_write_begin(struct farswap_write *write, struct farswap_slab *slab,
			 unsigned int nth, unsigned int slot, unsigned int nr, bool sole);
bool farswap_write_begin_any(struct farswap_write *write, struct farswap_slab *slab,
			     unsigned int places, unsigned int slot, unsigned int nr);
void farswap_write_mark(struct farswap_slab *slab, unsigned int slot, unsigned int nr);
bool farswap_write_submit(struct farswap_write *write, struct page *page);

/* Returns the number of pages for which a write occupies room; windows count pages. */
static inline unsigned int farswap_write_pages(const struct farswap_write *write)
{
	return farswap_slab_pages(write->mapping->slab, write->nr);
}

/**
 * farswap_write_try() - take room in the window of the donor, if there is any
 * @write:	a write that has begun
 *
 * Context: any.
 * Return: true if the write has room.
 */
static inline bool farswap_write_try(struct farswap_write *write)
{
	write->room = farswap_window_try(&write->mapping->donor->window,
					 farswap_write_pages(write));
	return write->room;
}

/**
 * farswap_write_enter() - take room in the window of the donor; wait a short time for it
 * @write:	a write that has begun
 *
 * Context: process context; may sleep, as farswap_window_enter() does.
 * Return: true if the write has room.
 */
static inline bool farswap_write_enter(struct farswap_write *write)
{
	write->room = farswap_window_enter(&write->mapping->donor->window,
					   farswap_write_pages(write));
	return write->room;
}

/**
 * farswap_write_leave() - return the room of a write, if it has any
 * @write:	a write
 *
 * Context: any.
 */
static inline void farswap_write_leave(struct farswap_write *write)
{
	if (!write->room)
		return;
	farswap_window_leave(&write->mapping->donor->window, farswap_write_pages(write),
			     write->room);
	write->room = FARSWAP_ROOM_NONE;
}

/**
 * farswap_write_publish() - set the remote bits of slots that a region has now
 * @slab:	the slab
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: any; before farswap_write_written().
 */
static inline void farswap_write_publish(struct farswap_slab *slab, unsigned int slot,
					 unsigned int nr)
{
	/*
	 * The missing bits are cleared at the end of the writes, before the remote bits are set
	 * here. Pairs with farswap_mapping_find(), load_remotely() and backup_is_sole(), which
	 * read the remote bits first: a reader that sees a remote bit sees which mappings miss
	 * the slot. unmap_is_elsewhere() relies on it, too.
	 */
	smp_mb__before_atomic();
	farswap_slotbits_set(slab->bits.remote, slot, nr);
}

/**
 * farswap_write_written() - note that a write has ended
 * @write:	the write; farswap_mapping_put() must follow
 *
 * The caller has set the remote bit already, or sets it only after the device has the page. So
 * an evacuation that sees no pending store misses no sole copy.
 *
 * Context: any.
 */
static inline void farswap_write_written(struct farswap_write *write)
{
	farswap_assert(farswap_mapping_has_stores(write->mapping));
	/*
	 * The count is written after the remote bits, and before the read of the wait queue. A
	 * waiter adds itself to the queue before it reads the counts, and reads the bits after.
	 */
	atomic_inc_return(&raw_cpu_ptr(write->mapping->counts)->stores_ended);
	/* Fully ordered, see above. */
	if (unlikely(waitqueue_active(&farswap_stores_ended)) &&
	    !farswap_mapping_has_stores(write->mapping))
		wake_up_all(&farswap_stores_ended);
}

/**
 * farswap_write_end() - end a write, return its room, and drop its reference
 * @write:	the write
 *
 * Context: any.
 */
static inline void farswap_write_end(struct farswap_write *write)
{
	farswap_write_leave(write);
	farswap_write_written(write);
	farswap_mapping_put(write->mapping);
}

#endif /* _FARSWAP_WRITE_H */
