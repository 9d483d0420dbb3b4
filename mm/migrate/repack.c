// SPDX-License-Identifier: GPL-2.0
/*
 * Compaction. If two packed slabs of a device each have less than a quarter of their units in use,
 * the objects of the emptier one move to other packed slabs, as they are, and the sweep gives its
 * region back. The slab is closed meanwhile; slab/pack.c says why no load sees another page's bytes
 * then. A page that is stored or freed during its move has another entry in the table of places,
 * or none, so its copy is dropped.
 *
 * Only pages that the device has move. So a load that finds the object between two regions reads
 * the device, and a region that is lost costs no page. The bytes of a page do not change, nor does
 * its seal if it is protected. A slab with a page that the device does not have is left alone: its
 * region could not be given back.
 *
 * An object moves from one slab to another, while the mover stays within one. The move needs no run
 * of slab/guard.c: no store goes to the units, which no page has before the move.
 */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "internal.h"
#include "slab/write.h"

/* A slab that was mapped more recently than this is being filled. */
#define REPACK_AGE	(10 * HZ)

/**
 * struct repack_io - the I/O of a move; not on a stack, because a transport may queue it
 * @page:	the object's copy
 * @read:	the READ of it
 * @write:	the WRITE of it
 * @done:	either has ended
 * @error:	its result
 */
struct repack_io {
	struct page *page;
	struct farswap_io read;
	struct farswap_write write;
	struct completion done;
	int error;
};

static void repack_read_done(struct farswap_io *read, int error)
{
	struct repack_io *io = container_of(read, struct repack_io, read);

	io->error = error;
	complete(&io->done);
}

/* Read an object from one of its regions. */
static bool repack_read(const struct farswap_object *object, struct repack_io *io)
{
	struct farswap_slab *slab = object->slab;
	struct farswap_mapping *mapping;

	mapping = farswap_mapping_find(slab, object->slot, object->nr, NULL);
	if (!mapping)
		return false;
	io->error = -EHOSTDOWN;
	reinit_completion(&io->done);
	farswap_slab_io(slab, &io->read, FARSWAP_IO_READ, io->page, object->slot, object->nr);
	io->read.done = repack_read_done;
	if (!farswap_donor_is_suspect(mapping->donor) &&
	    !farswap_mapping_submit(mapping, &io->read))
		wait_for_completion(&io->done);
	farswap_mapping_put(mapping);
	return !io->error;
}

static void repack_write_done(struct farswap_write *write, int error)
{
	struct repack_io *io = write->owner;

	io->error = error;
	complete(&io->done);
}

/* Write the copy of an object to a region, and let its page have the copy. */
static bool repack_write(const struct farswap_object *from, const struct farswap_object *to,
			 struct repack_io *io)
{
	struct farswap_write *write = &io->write;
	bool moved = false;

	if (!farswap_write_begin_any(write, to->slab, ~to->avoid, to->slot, to->nr))
		return false;
	/* Page-outs take precedence. */
	if (farswap_write_try(write)) {
		farswap_write_mark(to->slab, to->slot, to->nr);
		io->error = -EHOSTDOWN;
		reinit_completion(&io->done);
		write->owner = io;
		write->done = repack_write_done;
		farswap_write_submit(write, io->page);
		wait_for_completion(&io->done);
		if (!io->error) {
			farswap_write_publish(to->slab, to->slot, to->nr);
			moved = farswap_object_move(from, to);
		}
	}
	farswap_write_end(write);
	return moved;
}

/* Return true if the device and a region have the object. */
static bool repack_is_wanted(const struct farswap_object *object)
{
	struct farswap_slab *slab = object->slab;

	if (!farswap_slotbits_full(slab->bits.remote, object->slot, object->nr))
		return false;
	/* A store sets the unbacked bit before the remote bits, with a full barrier in between. */
	smp_rmb();
	return !test_bit(object->slot, slab->bits.unbacked);
}

/* Move the object that begins at a unit; return false if no other slab has room. */
static bool repack_object(struct farswap_slab *slab, unsigned int unit, struct repack_io *io)
{
	pgoff_t offset = farswap_pack_offset(slab, unit);
	struct farswap_object from, to;
	bool room = true;

	if (!farswap_object_get(slab->device, offset, &from))
		return true;
	/* The page may have been stored elsewhere, and the slab may be open again. */
	if (from.slab == slab && from.slot == unit && farswap_pack_is_closed(slab) &&
	    repack_is_wanted(&from) && repack_read(&from, io)) {
		room = farswap_object_reserve(&from, offset, &to);
		if (room && repack_write(&from, &to, io))
			farswap_stat_add(FARSWAP_STAT_REPACKED, 1);
		else if (room)
			farswap_object_drop(&to);
		if (room)
			farswap_pack_put(to.slab->pack);
	}
	farswap_pack_put(from.slab->pack);
	return room;
}

static bool repack_may_go_on(const struct farswap_slab *slab)
{
	return READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED && farswap_may_store() &&
	       !READ_ONCE(slab->device->closing);
}

/* Move as many objects of a closed slab as possible now. */
static void repack_slab(struct farswap_slab *slab, struct repack_io *io)
{
	unsigned int unit;
	ktime_t begun;

	for_each_set_bit(unit, slab->pack->map->first, slab->nr_slots) {
		cond_resched();
		if (!test_bit(unit, slab->bits.remote))
			continue;
		begun = ktime_get();
		if (!repack_may_go_on(slab) || !repack_object(slab, unit, io))
			break;
		farswap_copy_rest(1, READ_ONCE(farswap_settings.repair_mb), begun);
	}
}

/* Return true if a slab is mapped, and the device has all of its pages. */
static bool repack_may_empty(const struct farswap_slab *slab)
{
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED || !farswap_slab_has_bits(slab))
		return false;
	/* A bit that is set during this scan keeps its object where it is. */
	return data_race(bitmap_empty(slab->bits.unbacked, slab->nr_slots));
}

/* Return true if a slab has few objects, but has some. */
static bool repack_is_sparse(const struct farswap_slab *slab)
{
	return farswap_packmap_is_sparse(slab->pack->map) &&
	       atomic_read(&slab->pack->map->nr_used) &&
	       time_after(jiffies, READ_ONCE(slab->mapped_at) + REPACK_AGE);
}

static struct farswap_slab *repack_nth(const struct farswap_device *device, unsigned int nth)
{
	return READ_ONCE(device->map->slab[device->map->nr_linear + nth]);
}

/*
 * Return the slab whose objects are to move: one that is closed already, or the emptier one of two
 * with few objects; NULL if there is none.
 */
static struct farswap_slab *repack_choose(const struct farswap_device *device)
{
	unsigned int nr_packs = READ_ONCE(device->nr_packs), nr_sparse = 0, nth;
	struct farswap_slab *slab, *least = NULL;

	for (nth = 0; nth < nr_packs; nth++) {
		slab = repack_nth(device, nth);
		if (!repack_may_empty(slab))
			continue;
		if (READ_ONCE(slab->pack->closed))
			return slab;
		if (!repack_is_sparse(slab))
			continue;
		nr_sparse++;
		if (!least || atomic_read(&slab->pack->map->nr_used) <
			      atomic_read(&least->pack->map->nr_used))
			least = slab;
	}
	return nr_sparse > 1 ? least : NULL;
}

static void repack_work_fn(struct work_struct *work)
{
	struct farswap_device *device = container_of(work, struct farswap_device, repack_work);
	struct farswap_slab *slab = repack_choose(device);
	struct repack_io *io;

	if (!slab || !repack_may_go_on(slab))
		return;
	farswap_pack_close(slab);
	io = kzalloc(sizeof(*io), GFP_KERNEL);
	if (!io)
		return;
	init_completion(&io->done);
	io->page = alloc_page(GFP_KERNEL | __GFP_NOWARN);
	if (io->page) {
		repack_slab(slab, io);
		__free_page(io->page);
	}
	kfree(io);
}

/**
 * farswap_repack_init() - set up the compaction of a device's packed slabs
 * @device:	a device that nobody else uses yet
 */
void farswap_repack_init(struct farswap_device *device)
{
	INIT_WORK(&device->repack_work, repack_work_fn);
}

/**
 * farswap_repack_look() - have a packed slab emptied if there are two with few objects
 * @device:	the device
 *
 * Best effort: what could not move now is left to a later call.
 *
 * Context: process context; does not sleep.
 */
void farswap_repack_look(struct farswap_device *device)
{
	if (!repack_choose(device))
		return;
	spin_lock(&farswap_state_lock);
	if (!device->closing)
		queue_work(system_unbound_wq, &device->repack_work);
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_repack_cancel() - end the compaction of a device's packed slabs
 * @device:	a device that is closing
 *
 * Context: may sleep, as long as an I/O with a donor takes.
 */
void farswap_repack_cancel(struct farswap_device *device)
{
	cancel_work_sync(&device->repack_work);
}
