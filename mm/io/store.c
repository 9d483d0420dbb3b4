// SPDX-License-Identifier: GPL-2.0
/*
 * Page-out: a folio of a mapped slab is written to its regions. What else its
 * writeback waits for is up to the backup policy: nothing when the device gets
 * it from staging copies, or not at all; the device's write from the same pages
 * when the staging pool is empty. If every remote write fails, or one of those that
 * were to stand for the device, that has the folio when its writeback ends. What can't
 * go to a region is left to the kernel's own device write.
 *
 * Two stores of one slot never meet in a region: the second needs the folio
 * without writeback, which ends only after the remote writes of the first.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/farswap.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/vmstat.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "io/fanout.h"
#include "io/reqpool.h"

/* Stores that never lack a request, however little memory there is. */
#define STORE_POOL	512

/*
 * Fan-out: a store writes its folio to every region that the slab has; with
 * backup=replica these are several. Which of them are written to, and how many writes
 * have succeeded, is known here; what follows from that is up to store.c.
 *
 * Locking: none; an atomic count, and who ends the last write has the rest to itself.
 */

static void store_written(struct farswap_fanout *fanout);

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
		store_written(fanout);
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
 * fanout_begin() - begin a write to each region that a slab has
 * @fanout:	the store's
 * @slab:	a slab that has bits
 * @slot:	the first slot, without the remote bit
 * @nr:		how many
 * @sole:	the device may not get it
 *
 * Context: process context; does not sleep.
 * Return: false if there is none that can be written to; see
 * farswap_mapping_store_begin(). Otherwise fanout_enter() must follow.
 */
static bool fanout_begin(struct farswap_fanout *fanout, struct farswap_slab *slab,
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
 * fanout_enter() - take room for each write in its donor's window
 * @fanout:	one that has begun
 * @nr:		how many pages each write has
 *
 * A write for which there is no room is left out. At most one window is waited for, and
 * nothing held meanwhile that another store could wait for.
 *
 * Context: process context; may sleep, as farswap_window_enter() does.
 * Return: false if no write is left. Otherwise fanout_submit() must follow, or
 * fanout_cancel().
 */
static bool fanout_enter(struct farswap_fanout *fanout, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++)
		if (unlikely(!fanout_try(&fanout->writes[i], nr)))
			return fanout_enter_late(fanout, i, nr);
	return true;
}

/**
 * fanout_cancel() - nothing is written after all
 * @fanout:	one that has room
 * @nr:		how many pages each write would have had
 *
 * Context: process context; does not sleep.
 */
static void fanout_cancel(struct farswap_fanout *fanout, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++) {
		fanout_leave(&fanout->writes[i], nr);
		farswap_mapping_store_end(fanout->writes[i].mapping);
	}
}

/**
 * fanout_submit() - write the folio to every region
 * @fanout:	one that has room
 * @folio:	under writeback
 * @slot:	its first slot
 *
 * store_written() is called when all writes have ended, perhaps before this
 * returns: @fanout may be gone then.
 *
 * Context: process context; does not sleep; after farswap_mapping_store_mark().
 */
static void fanout_submit(struct farswap_fanout *fanout, struct folio *folio,
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
		store_written(fanout);
}

/**
 * enum store_mode - what the device gets
 * @STORE_STAGED:	copies, later
 * @STORE_UNSTAGED:	the folio, now; its writeback waits for both
 * @STORE_SOLE:		nothing, unless the remote write fails
 */
enum store_mode {
	STORE_STAGED,
	STORE_UNSTAGED,
	STORE_SOLE,
};

/*
 * One store.
 * @fanout:	the remote writes
 * @owner:	of the staging copies that it waits for
 * @bio:	the device write from the folio, if any
 * @bvec:	its only segment
 * @work:	begins that, should it turn out to be needed
 * @folio:	what is stored; locked until submission, then under writeback
 * @slab:	whose folio it is
 * @start:	when it was submitted, ns
 * @sector:	of the folio on the device
 * @slot:	the first slot in @slab
 * @mode:	what the device gets
 * @all:	@mode is STORE_SOLE because there are replicas: one region is not enough
 * @pending:	what the writeback waits for and that has not ended: the remote writes
 *		together, and those to the device
 * @error:	of the device's write
 * @remote_error: of the remote writes, if all failed
 */
struct farswap_store {
	struct farswap_fanout fanout;
	struct farswap_backup_owner owner;
	struct bio bio;
	struct bio_vec bvec;
	struct work_struct work;
	struct folio *folio;
	struct farswap_slab *slab;
	u64 start;
	sector_t sector;
	unsigned int slot;
	enum store_mode mode;
	bool all;
	atomic_t pending;
	int error;
	int remote_error;
};

static struct farswap_requests store_requests;

/* As the kernel does for a failed device write: the page stays, dirty. */
static void store_keep_dirty(struct farswap_store *store)
{
	struct folio *folio = store->folio;

	farswap_stat_add(FARSWAP_STAT_STORE_DEVICE_FAILED, folio_nr_pages(folio));
	farswap_backup_forget(store->slab, store->slot, folio_nr_pages(folio));
	folio_mark_dirty(folio);
	pr_alert_ratelimited("write error on swap device %pg at sector %llu\n",
			     store->slab->device->si->bdev,
			     (unsigned long long)store->sector);
	folio_clear_reclaim(folio);
}

/*
 * The device gets a page and the region does not: farswap_rebuild_look() has the page copied to
 * the region later.
 */
static void store_note_stray(struct farswap_slab *slab)
{
	/* In this order farswap_rebuild_look() can be too early, but never misses the page. */
	WRITE_ONCE(slab->stray_at, jiffies);
	WRITE_ONCE(slab->strayed, true);
}

/* What has become of it. */
static void store_account(struct farswap_store *store)
{
	unsigned int nr = folio_nr_pages(store->folio);

	if (store->error) {
		store_keep_dirty(store);
	} else if (store->remote_error) {
		store_note_stray(store->slab);
		farswap_stat_add(store->fanout.refused ? FARSWAP_STAT_STORE_REFUSED :
				 FARSWAP_STAT_STORE_WRITE_FAILED, nr);
	} else {
		farswap_slotbits_set(store->slab->bits.remote, store->slot, nr);
		farswap_stat_add(FARSWAP_STAT_STORE_REMOTE, nr);
	}
}

static void store_free(struct farswap_store *store)
{
	struct farswap_mapping *last;

	/* After this the folio may be gone; swapoff still waits for the slab. */
	folio_end_writeback(store->folio);
	last = farswap_fanout_end(&store->fanout);
	farswap_request_free(&store_requests, store);
	farswap_mapping_put(last);
}

/* All that the writeback waited for has ended. Any context up to interrupts. */
static void store_end(struct farswap_store *store)
{
	store_account(store);
	store_free(store);
}

/* The same, if that was nothing but the remote writes. Who fetches pages must see the bits. */
static void store_end_written(struct farswap_store *store)
{
	store_account(store);
	farswap_fanout_written(&store->fanout);
	store_free(store);
}

/* One of several writes has ended; orders what each left in @store. */
static void store_write_ended(struct farswap_store *store)
{
	if (atomic_dec_and_test(&store->pending))
		store_end(store);
}

/* A write from a staging copy has ended. */
static void store_backed(struct farswap_backup_owner *owner, int error)
{
	struct farswap_store *store = container_of(owner, struct farswap_store, owner);

	if (error)
		WRITE_ONCE(store->error, error);
	store_write_ended(store);
}

/* The copies are on their way to the device anyway: wait for them. */
static void store_adopt(struct farswap_store *store)
{
	unsigned int nr = folio_nr_pages(store->folio), adopted;
	int error = 0;

	store->owner.backed = store_backed;
	atomic_set(&store->pending, nr + 1);
	adopted = farswap_backup_adopt(store->slab, store->slot, nr, &store->owner, &error);
	if (error)
		WRITE_ONCE(store->error, error);
	if (atomic_sub_and_test(nr + 1 - adopted, &store->pending))
		store_end(store);
}

static void store_device_done(struct bio *bio)
{
	struct farswap_store *store = container_of(bio, struct farswap_store, bio);

	farswap_latency_add(FARSWAP_LATENCY_DEVICE, ktime_get_ns() - store->start);
	store->error = blk_status_to_errno(bio->bi_status);
	bio_uninit(bio);
	store_write_ended(store);
}

static void store_associate_blkg(struct bio *bio, struct folio *folio)
{
	struct cgroup_subsys_state *css = farswap_backup_css(folio);

	if (!css)
		return;
	bio_associate_blkg_from_css(bio, css);
	css_put(css);
}

static void store_to_device(struct farswap_store *store)
{
	struct folio *folio = store->folio;
	struct bio *bio = &store->bio;

	bio_init(bio, store->slab->device->si->bdev, &store->bvec, 1,
		 REQ_OP_WRITE | REQ_SWAP);
	bio->bi_iter.bi_sector = store->sector;
	bio->bi_end_io = store_device_done;
	bio_add_folio_nofail(bio, folio, folio_size(folio), 0);
	store_associate_blkg(bio, folio);
	submit_bio(bio);
}

static void store_fallback_work(struct work_struct *work)
{
	struct farswap_store *store = container_of(work, struct farswap_store, work);

	/* An older write of the slot may still be in flight. */
	farswap_backup_settle(store->slab, store->slot, folio_nr_pages(store->folio));
	store_to_device(store);
}

/* A remote write has failed, and the device was to get nothing. */
static void store_fall_back(struct farswap_store *store)
{
	INIT_WORK(&store->work, store_fallback_work);
	queue_work(farswap_wq, &store->work);
}

/* How many of the writes that have succeeded count. */
static unsigned int store_good(const struct farswap_store *store)
{
	unsigned int nr = folio_nr_pages(store->folio), good = atomic_read(&store->fanout.good);

	/* The regions that have it may be lost by now, or too close to that. */
	if (!good || (store->mode == STORE_SOLE &&
		      !farswap_fanout_is_there(&store->fanout, store->slot, nr)))
		return 0;
	if (unlikely(good < store->fanout.nr_writes))
		farswap_stat_add(FARSWAP_STAT_STORE_PARTIAL, nr);
	return good;
}

/**
 * store_written() - all remote writes have ended
 * @fanout:	the store's
 *
 * Context: any up to softirq.
 */
static void store_written(struct farswap_fanout *fanout)
{
	struct farswap_store *store = container_of(fanout, struct farswap_store, fanout);
	unsigned int nr = folio_nr_pages(store->folio), good = store_good(store);
	u64 ns = ktime_get_ns() - store->start;

	store->remote_error = good ? 0 : -EIO;
	if (good)
		farswap_latency_add(FARSWAP_LATENCY_STORE, ns);
	trace_farswap_store_end(store->folio->swap.val, nr, store->remote_error, ns);
	if (store->mode != STORE_UNSTAGED &&
	    (good == fanout->nr_writes || (good && !store->all))) {
		store_end_written(store);
		return;
	}
	/* The device may take long, and a donor may want its region back. */
	farswap_fanout_written(fanout);
	if (store->mode == STORE_UNSTAGED)
		store_write_ended(store);
	else if (store->mode == STORE_STAGED)
		store_adopt(store);
	else
		store_fall_back(store);
}

/* Everything that could fail has been done. */
static void store_submit(struct farswap_store *store, struct list_head *staged)
{
	struct farswap_slab *slab = store->slab;
	struct folio *folio = store->folio;
	enum store_mode mode = store->mode;

	store->error = 0;
	store->remote_error = 0;
	store->start = ktime_get_ns();
	atomic_set(&store->pending, mode == STORE_UNSTAGED ? 2 : 1);

	farswap_hook_count(folio);
	farswap_mapping_store_mark(slab, store->slot, folio_nr_pages(folio));
	/* Known to the table before anyone could read the slot. */
	if (mode == STORE_STAGED) {
		farswap_backup_add(slab, store->slot, folio, staged, store->sector);
		/* As long as the folio is locked the device stays. */
		farswap_backup_kick(slab->device);
	} else if (mode == STORE_SOLE) {
		farswap_slotbits_set(slab->bits.unbacked, store->slot,
				     folio_nr_pages(folio));
	}
	folio_start_writeback(folio);
	folio_unlock(folio);

	fanout_submit(&store->fanout, folio, store->slot);
	if (mode == STORE_UNSTAGED)
		store_to_device(store);
}

/* A request whose folio may be written to the slab now, or why not. */
static enum farswap_stat store_prepare(struct folio *folio,
				       struct farswap_slab *slab, unsigned int slot,
				       enum farswap_backup_policy policy,
				       struct farswap_store **prepared)
{
	unsigned int nr = folio_nr_pages(folio);
	enum farswap_stat outcome;
	struct farswap_store *store;

	store = farswap_request_alloc(&store_requests, GFP_NOWAIT | __GFP_NOWARN);
	if (!store)
		return FARSWAP_STAT_STORE_NO_REQUEST;
	outcome = FARSWAP_STAT_STORE_NO_SLAB;
	store->sector = farswap_device_sector(slab->device, swp_offset(folio->swap));
	if (WARN_ON_ONCE(store->sector == (sector_t)-1))
		goto out_free;
	store->folio = folio;
	store->slab = slab;
	store->slot = slot;
	if (!fanout_begin(&store->fanout, slab, slot, nr,
			  policy != FARSWAP_BACKUP_DISK))
		goto out_free;
	outcome = FARSWAP_STAT_STORE_BUSY;
	if (!fanout_enter(&store->fanout, nr))
		goto out_free;
	*prepared = store;
	return FARSWAP_STAT_STORE_REMOTE;

out_free:
	farswap_request_free(&store_requests, store);
	return outcome;
}

/* With fewer regions than there should be, the device is the replica. */
static enum store_mode store_choose_mode(const struct farswap_store *store,
					 enum farswap_backup_policy policy,
					 struct list_head *staged)
{
	if (policy == FARSWAP_BACKUP_NONE ||
	    (policy == FARSWAP_BACKUP_REPLICA &&
	     store->fanout.nr_writes >= READ_ONCE(farswap_settings.replicas)))
		return STORE_SOLE;
	return farswap_staging_take(staged, store->folio) ?
		STORE_STAGED : STORE_UNSTAGED;
}

static void store_cancel(struct farswap_store *store)
{
	fanout_cancel(&store->fanout, folio_nr_pages(store->folio));
	farswap_request_free(&store_requests, store);
}

/* Likewise, with its mode. Who waits for the device holds no region that a donor may want. */
static enum farswap_stat store_begin(struct folio *folio, struct farswap_slab *slab,
				     unsigned int slot, struct farswap_store **begun,
				     struct list_head *staged)
{
	enum farswap_backup_policy policy = READ_ONCE(farswap_settings.backup);
	unsigned int nr = folio_nr_pages(folio);
	enum farswap_stat outcome;
	struct farswap_store *store;

	for (;;) {
		outcome = store_prepare(folio, slab, slot, policy, begun);
		if (outcome != FARSWAP_STAT_STORE_REMOTE)
			return outcome;
		store = *begun;
		store->mode = store_choose_mode(store, policy, staged);
		store->all = policy == FARSWAP_BACKUP_REPLICA;
		if (store->mode == STORE_STAGED && !farswap_backup_copy(folio, staged)) {
			farswap_backup_put_all(staged);
			store_cancel(store);
			return FARSWAP_STAT_STORE_UNREADABLE;
		}
		if (store->mode != STORE_STAGED)
			farswap_backup_forget(slab, slot, nr);
		if (store->mode != STORE_UNSTAGED || farswap_backup_is_settled(slab, slot, nr))
			return outcome;
		store_cancel(store);
		farswap_backup_settle(slab, slot, nr);
	}
}

/* Try to store remotely; on failure tell why not. */
static enum farswap_stat store_try(struct folio *folio, struct farswap_slab *slab,
				   unsigned int slot)
{
	struct farswap_store *store;
	enum farswap_stat outcome;
	LIST_HEAD(staged);

	if (!farswap_may_store())
		return FARSWAP_STAT_STORE_DISABLED;
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED)
		return FARSWAP_STAT_STORE_NO_SLAB;

	outcome = store_begin(folio, slab, slot, &store, &staged);
	if (outcome != FARSWAP_STAT_STORE_REMOTE)
		return outcome;
	if (store->mode == STORE_UNSTAGED)
		farswap_stat_add(FARSWAP_STAT_STORE_UNSTAGED, folio_nr_pages(folio));
	farswap_slab_ahead(slab, slot, folio_nr_pages(folio));
	store_submit(store, &staged);
	return FARSWAP_STAT_STORE_REMOTE;
}

/**
 * farswap_store() - a folio goes to swap
 * @folio:	locked, in the swap cache, clean, not under writeback; what it
 *		holds is neither all zero nor in zswap
 *
 * Context: process context; may sleep as submit_bio() does, a fifth of a second for
 * room, and, when it is the device's, as long as that takes for an older write of
 * the slot. May be in reclaim, so nothing here waits for memory.
 * Return: true when the folio was taken: it is unlocked and its writeback has
 * begun, or even ended. False when the caller must write it to the device; what
 * was known of its slots has then been forgotten.
 */
bool farswap_store(struct folio *folio)
{
	struct farswap_device *device = farswap_device_find(swp_type(folio->swap));
	unsigned int nr = folio_nr_pages(folio);
	enum farswap_stat outcome = FARSWAP_STAT_STORE_NO_MEMORY;
	enum farswap_slab_state state;
	struct farswap_slab *slab;
	unsigned int slot;
	bool excluded;

	if (!device)
		return false;
	slab = farswap_slab_lookup(device, swp_offset(folio->swap), &slot);
	if (slab)
		farswap_slab_account(slab, nr);
	if (slab && farswap_slab_has_bits(slab)) {
		/* The copies of before are stale whatever happens now. */
		excluded = farswap_guard_rebuild_excludes(slab, slot, nr);
		farswap_slotbits_clear(slab->bits.remote, slot, nr);
		outcome = excluded ? FARSWAP_STAT_STORE_BUSY :
				     store_try(folio, slab, slot);
		if (outcome == FARSWAP_STAT_STORE_REMOTE)
			return true;
		farswap_backup_settle(slab, slot, nr);
	} else if (slab) {
		outcome = farswap_may_store() ? FARSWAP_STAT_STORE_NO_SLAB :
						FARSWAP_STAT_STORE_DISABLED;
	}
	state = slab ? READ_ONCE(slab->state) : FARSWAP_SLAB_UNMAPPED;
	if (state == FARSWAP_SLAB_MAPPING || state == FARSWAP_SLAB_MAPPED)
		store_note_stray(slab);
	/* Map the next slab now: a fast writer would otherwise fill this one before that. */
	if (state == FARSWAP_SLAB_MAPPING)
		farswap_slab_ahead(slab, slot, nr);
	farswap_stat_add(outcome, nr);
	farswap_stat_add(FARSWAP_STAT_STORE_DEVICE, nr);
	return false;
}

/**
 * farswap_store_init() - make the requests
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_store_init(void)
{
	return farswap_requests_init(&store_requests, "farswap_store",
				     sizeof(struct farswap_store), STORE_POOL);
}

/**
 * farswap_store_exit() - free it; no store is in flight
 */
void farswap_store_exit(void)
{
	farswap_requests_exit(&store_requests);
}

/*
 * Forgets copies: slots are freed, or zswap has taken something newer.
 */

/* Forget the copies of slots, if there are any. */
static unsigned int forget_slots(unsigned int type, pgoff_t offset,
				 unsigned long nr)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int cleared = 0;

	rcu_read_lock();
	device = farswap_device_find(type);
	while (device && nr) {
		unsigned int mask = device->map->cluster_mask, slot;
		unsigned int part = min(nr, mask + 1UL - (offset & mask));

		slab = farswap_slabmap_find(device->map, offset, &slot);
		if (slab && farswap_slab_has_bits(slab)) {
			farswap_guard_rebuild_excludes(slab, slot, part);
			cleared += farswap_slotbits_clear(slab->bits.remote, slot,
							  part);
			farswap_backup_forget(slab, slot, part);
		}
		offset += part;
		nr -= part;
	}
	rcu_read_unlock();
	return cleared;
}

/**
 * farswap_forget() - a newer copy of a folio went to zswap
 * @folio:	locked, in the swap cache
 *
 * Context: any.
 */
void farswap_forget(struct folio *folio)
{
	farswap_zswap_note();
	farswap_stat_add(FARSWAP_STAT_ZSWAP_ACCEPTED,
			 forget_slots(swp_type(folio->swap),
				      swp_offset(folio->swap),
				      folio_nr_pages(folio)));
}

/**
 * farswap_invalidate() - slots were freed, or hold zeroes from now on
 * @type:	their swap type
 * @first:	the first
 * @last:	the last
 *
 * Context: any, also with interrupts off. Under the kernel's lock of the slots, or the
 * folio's lock if they are still in use, so they can't be used again before this returns.
 */
void farswap_invalidate(unsigned int type, pgoff_t first, pgoff_t last)
{
	farswap_stat_add(FARSWAP_STAT_FREED,
			 forget_slots(type, first, last - first + 1));
}
