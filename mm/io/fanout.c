// SPDX-License-Identifier: GPL-2.0
/*
 * Fan-out: a store writes its folio to every region that the slab has; with
 * backup=replica these are several. Which of them are written to, and how many writes
 * have succeeded, is known here; what follows from that is up to store.c.
 *
 * Locking: none; an atomic count, and who ends the last write has the rest to itself.
 */
#include <linux/mm.h>

#include "io/fanout.h"
#include "internal.h"

static bool fanout_try(struct farswap_fanout_write *write, unsigned int nr)
{
	write->room = farswap_window_try(&write->mapping->donor->window, nr);
	return write->room;
}

static void fanout_leave(const struct farswap_fanout_write *write, unsigned int nr)
{
	farswap_window_leave(&write->mapping->donor->window, nr, write->room);
}

static void fanout_write_done(struct farswap_io *io, int error)
{
	struct farswap_fanout_write *write = container_of(io, struct farswap_fanout_write,
							  io);
	struct farswap_fanout *fanout = write->fanout;
	unsigned int slot = io->offset >> PAGE_SHIFT, nr = io->length >> PAGE_SHIFT;

	fanout_leave(write, nr);
	if (!error) {
		farswap_slotbits_clear(write->mapping->missing, slot, nr);
		atomic_inc(&fanout->good);
	}
	/* Orders what was cleared before the remote bits. */
	if (atomic_dec_and_test(&fanout->pending))
		farswap_store_written(fanout);
}

static void fanout_write_init(struct farswap_fanout_write *write,
			      struct farswap_fanout *fanout, struct folio *folio,
			      unsigned int slot)
{
	struct farswap_io *io = &write->io;

	write->fanout = fanout;
	io->page = folio_page(folio, 0);
	io->offset = slot << PAGE_SHIFT;
	io->length = folio_size(folio);
	io->op = FARSWAP_IO_WRITE;
	io->urgent = false;
	io->done = fanout_write_done;
}

/* Room in all windows but one, which may be waited for; nothing is held meanwhile. */
static noinline bool fanout_enter_late(struct farswap_fanout *fanout, unsigned int full,
				       unsigned int nr)
{
	struct farswap_fanout_write *write = &fanout->writes[full], *keep = fanout->writes;
	unsigned int i;

	for (i = 0; i < full; i++)
		fanout_leave(&fanout->writes[i], nr);
	write->room = farswap_window_enter(&write->mapping->donor->window, nr);
	for (i = 0; i < fanout->nr_writes; i++) {
		write = &fanout->writes[i];
		if (i == full ? write->room : fanout_try(write, nr)) {
			keep->mapping = write->mapping;
			keep++->room = write->room;
		} else {
			farswap_mapping_store_end(write->mapping);
		}
	}
	fanout->nr_writes = keep - fanout->writes;
	return fanout->nr_writes;
}

/**
 * farswap_fanout_begin() - begin a write to each region that a slab has
 * @fanout:	the store's
 * @slab:	a slab that has bits
 * @slot:	the first slot, without the remote bit
 * @nr:		how many
 * @sole:	the device may not get it
 *
 * Context: process context; does not sleep.
 * Return: false if there is none that can be written to; see
 * farswap_mapping_store_begin(). Otherwise farswap_fanout_enter() must follow.
 */
bool farswap_fanout_begin(struct farswap_fanout *fanout, struct farswap_slab *slab,
			  unsigned int slot, unsigned int nr, bool sole)
{
	struct farswap_mapping *mapping;
	unsigned int nth;

	fanout->nr_writes = 0;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		if (!rcu_access_pointer(slab->mapping[nth]))
			continue;
		mapping = farswap_mapping_store_begin(slab, nth, slot, nr, sole);
		if (mapping)
			fanout->writes[fanout->nr_writes++].mapping = mapping;
	}
	return fanout->nr_writes;
}

/**
 * farswap_fanout_enter() - take room for each write in its donor's window
 * @fanout:	one that has begun
 * @nr:		how many pages each write has
 *
 * A write for which there is no room is left out. At most one window is waited for, and
 * nothing held meanwhile that another store could wait for.
 *
 * Context: process context; may sleep, as farswap_window_enter() does.
 * Return: false if no write is left. Otherwise farswap_fanout_submit() must follow, or
 * farswap_fanout_cancel().
 */
bool farswap_fanout_enter(struct farswap_fanout *fanout, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++)
		if (unlikely(!fanout_try(&fanout->writes[i], nr)))
			return fanout_enter_late(fanout, i, nr);
	return true;
}

/**
 * farswap_fanout_cancel() - nothing is written after all
 * @fanout:	one that has room
 * @nr:		how many pages each write would have had
 *
 * Context: process context; does not sleep.
 */
void farswap_fanout_cancel(struct farswap_fanout *fanout, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++) {
		fanout_leave(&fanout->writes[i], nr);
		farswap_mapping_store_end(fanout->writes[i].mapping);
	}
}

/**
 * farswap_fanout_submit() - write the folio to every region
 * @fanout:	one that has room
 * @folio:	under writeback
 * @slot:	its first slot
 *
 * farswap_store_written() is called when all writes have ended, perhaps before this
 * returns: @fanout may be gone then.
 *
 * Context: process context; does not sleep; after farswap_mapping_store_mark().
 */
void farswap_fanout_submit(struct farswap_fanout *fanout, struct folio *folio,
			   unsigned int slot)
{
	unsigned int nr_writes = fanout->nr_writes, refused = 0, i;
	struct farswap_fanout_write *write;

	/* One more, so that it is known what was refused when all have ended. */
	atomic_set(&fanout->pending, nr_writes + 1);
	atomic_set(&fanout->good, 0);
	for (i = 0; i < nr_writes; i++) {
		write = &fanout->writes[i];
		fanout_write_init(write, fanout, folio, slot);
		if (!farswap_mapping_submit(write->mapping, &write->io))
			continue;
		refused++;
		fanout_write_done(&write->io, -EHOSTDOWN);
	}
	fanout->refused = refused == nr_writes;
	if (atomic_dec_and_test(&fanout->pending))
		farswap_store_written(fanout);
}
