// SPDX-License-Identifier: GPL-2.0
/*
 * Remote writes. A store, a promotion, a rebuild and a copy all write to regions through this
 * file, so that one place orders a write against evictions, against loads, and against the
 * runs of guard.c.
 *
 * Locking: none. The owner of a write is its only user until it is submitted, and then
 * farswap_write_submit() and the completion are.
 */
#include <linux/farswap-transport.h>
#include <linux/rcupdate.h>

#include "internal.h"
#include "slab/write.h"

/* The last remote write of a mapping has ended. */
DECLARE_WAIT_QUEUE_HEAD(farswap_stores_ended);

/**
 * farswap_write_begin() - begin a write
 * @write:	set to the write
 * @slab:	a slab with bitmaps
 * @nth:	the place of the mapping in the slab
 * @slot:	the first slot
 * @nr:		number of slots
 * @sole:	the device may not get the page
 *
 * Context: process context; does not sleep.
 * Return: true if farswap_write_end() must follow; false if there is no mapping, it is
 * evacuating or dead, or its donor is suspect.
 */
bool farswap_write_begin(struct farswap_write *write, struct farswap_slab *slab,
			 unsigned int nth, unsigned int slot, unsigned int nr, bool sole)
{
	struct farswap_mapping *mapping;

	if (!rcu_access_pointer(slab->mapping[nth]))
		return false;
	mapping = farswap_mapping_get(slab, nth);
	if (!mapping)
		return false;
	write->mapping = mapping;
	write->slot = slot;
	write->nr = nr;
	write->room = FARSWAP_ROOM_NONE;
	write->failed = false;
	write->run = NULL;
	write->bounces = NULL;
	if (sole && !READ_ONCE(slab->sole))
		WRITE_ONCE(slab->sole, true);
	/*
	 * slab->sole and the count are written before the states are read. Pairs with
	 * farswap_unmap_start(), farswap_evacuate_work() and farswap_evacuate_mapping_start(),
	 * which do both in the other order: at least one side sees the other.
	 */
	atomic_inc_return(&raw_cpu_ptr(mapping->counts)->stores_begun);
	if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED) {
		/*
		 * slab->state is read before slab->mapping[]: the slab may have been mapped again
		 * without this mapping.
		 */
		smp_rmb();
		if (rcu_access_pointer(slab->mapping[nth]) == mapping &&
		    !farswap_mapping_goes(mapping) &&
		    !farswap_donor_is_suspect(mapping->donor))
			return true;
	}
	farswap_write_end(write);
	return false;
}

/**
 * farswap_write_begin_any() - begin a write to one region of a slab
 * @write:	set to the write
 * @slab:	a slab with bitmaps
 * @places:	bit mask of the places of mappings that may be used
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * A repair copies the pages to the other regions.
 *
 * Context: process context; does not sleep.
 * Return: as farswap_write_begin().
 */
bool farswap_write_begin_any(struct farswap_write *write, struct farswap_slab *slab,
			     unsigned int places, unsigned int slot, unsigned int nr)
{
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		if (places & BIT(nth) &&
		    farswap_write_begin(write, slab, nth, slot, nr, false))
			return true;
	return false;
}

/**
 * farswap_write_mark() - mark slots stale in all mappings before they are written
 * @slab:	a slab with bitmaps
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * The bits of a mapping stay set until a write to it has succeeded; runs of guard.c do not clear
 * them, because the slots are stale there. A mapping that is added later has all its bits set. A
 * single mapping needs no mark: if the write to it fails the slots get no remote bit. A slot that
 * has the remote bit stays valid where it is: it is written again because its donor is suspect.
 *
 * Context: process context; does not sleep; between farswap_write_begin() and
 * farswap_write_submit().
 */
void farswap_write_mark(struct farswap_slab *slab, unsigned int slot, unsigned int nr)
{
	struct farswap_mapping *mapping;
	unsigned int nth, i, there = 0;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		there += !!rcu_access_pointer(slab->mapping[nth]);
	if (there <= 1)
		return;
	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		if (!mapping)
			continue;
		for (i = slot; i < slot + nr; i++)
			if (!test_bit(i, slab->bits.remote))
				set_bit(i, mapping->missing);
	}
	rcu_read_unlock();
}

static void write_ended(struct farswap_write *write, int error)
{
	farswap_write_leave(write);
	write->failed = error;
	if (!error && write->run)
		farswap_slotbits_set(&write->run->arrived, write->slot - write->run->first,
				     write->nr);
	else if (!error)
		farswap_slotbits_clear(write->mapping->missing, write->slot, write->nr);
	write->done(write, error);
}

static void write_done(struct farswap_io *io, int error)
{
	write_ended(container_of(io, struct farswap_write, io), error);
}

static void write_part_ended(struct farswap_write *write, int error)
{
	if (error)
		WRITE_ONCE(write->error, error);
	/* Fully ordered: the errors of the others are seen. */
	if (atomic_dec_and_test(&write->parts))
		write_ended(write, READ_ONCE(write->error));
}

static void write_part_done(struct farswap_io *io, int error)
{
	write_part_ended(container_of(io, struct farswap_bounce_write, io)->write, error);
}

/* Start the write of a large folio page by page; return false if all were refused. */
static bool write_submit_parts(struct farswap_write *write)
{
	struct farswap_mapping *mapping = write->mapping;
	unsigned int slot = write->slot, refused = 0;
	struct farswap_bounce *bounce;
	struct farswap_io *io;
	bool all;

	write->error = 0;
	atomic_set(&write->parts, write->nr + 1);
	for (bounce = write->bounces; bounce; bounce = bounce->next) {
		io = &bounce->write[write->nth].io;
		bounce->write[write->nth].write = write;
		farswap_slab_io(mapping->slab, io, FARSWAP_IO_WRITE, bounce->page, slot++, 1);
		io->done = write_part_done;
		if (farswap_mapping_submit(mapping, io)) {
			refused++;
			write_part_ended(write, -EHOSTDOWN);
		}
	}
	all = refused == write->nr;
	write_part_ended(write, 0);
	return !all;
}

/**
 * farswap_write_submit() - start a write
 * @write:	the write, with its destination, its slots and @done
 * @page:	the first of the pages, which are contiguous
 *
 * Context: any up to softirq.
 * Return: false if the transport refused the write; @done has been called with an error then.
 */
bool farswap_write_submit(struct farswap_write *write, struct page *page)
{
	struct farswap_io *io = &write->io;

	if (write->bounces)
		return write_submit_parts(write);
	farswap_slab_io(write->mapping->slab, io, FARSWAP_IO_WRITE, page, write->slot,
			write->nr);
	io->done = write_done;
	if (!farswap_mapping_submit(write->mapping, io))
		return true;
	write_done(io, -EHOSTDOWN);
	return false;
}
