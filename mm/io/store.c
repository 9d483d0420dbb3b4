// SPDX-License-Identifier: GPL-2.0
/*
 * Page-out: writes a folio of a mapped slab to the slab's regions.
 *
 * The backup policy decides what else the folio's writeback waits for. It waits for nothing else
 * if the swap device gets the pages later, from staging copies, or does not get them at all. It
 * waits for the device's write of the same pages if the staging pool is empty. If every remote
 * write fails, or one of the writes that replace the device's copy, the device has the folio when
 * its writeback ends. The kernel writes a folio to the device itself if farswap_store() refuses it.
 *
 * Two stores of one slot never overlap in a region: the second store needs a folio that is not
 * under writeback, and the writeback ends only after the remote writes of the first store.
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
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/vmstat.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "io/fanout.h"
#include "io/reqpool.h"
#include "io/seal.h"

/* Requests in reserve: this many stores can be in flight even without free memory. */
#define STORE_POOL	512

/*
 * Fan-out: writes the folio of a store to every region of its slab. With replicas a slab has
 * several regions. This section chooses the regions and counts the writes that succeed;
 * store_written() decides what the result means.
 *
 * Locking: none. The count of pending writes is atomic, and the context that completes the last
 * write owns the other fields.
 */

static void store_written(struct farswap_fanout *fanout);

static void fanout_write_done(struct farswap_write *write, int error)
{
	struct farswap_fanout *fanout = write->owner;

	if (!error)
		atomic_inc(&fanout->good);
	/*
	 * Fully ordered: the missing bits are cleared before store_account() sets the remote
	 * bits. load_remotely(), with the folio locked, tests them in the opposite order.
	 */
	if (atomic_dec_and_test(&fanout->pending))
		store_written(fanout);
}

/*
 * Wait for room in the window that is full, while no other room is held, then retry the other
 * windows. A write that finds no room is dropped.
 */
static noinline bool fanout_enter_late(struct farswap_fanout *fanout, unsigned int full)
{
	struct farswap_write *write, *keep = fanout->writes;
	unsigned int i;

	for (i = 0; i < full; i++)
		farswap_write_leave(&fanout->writes[i]);
	farswap_write_enter(&fanout->writes[full]);
	for (i = 0; i < fanout->nr_writes; i++) {
		write = &fanout->writes[i];
		if (i == full ? write->room : farswap_write_try(write))
			*keep++ = *write;
		else
			farswap_write_end(write);
	}
	fanout->nr_writes = keep - fanout->writes;
	return fanout->nr_writes;
}

/**
 * fanout_begin() - begin a write to each region of a slab
 * @fanout:	fan-out of the store
 * @slab:	a slab with bitmaps
 * @slot:	first slot; its remote bit is clear
 * @nr:		number of slots
 * @avoid:	bit mask of the places of mappings that are not written
 * @sole:	the swap device may not get the pages
 *
 * Context: process context; does not sleep.
 * Return: true if at least one region can be written to; fanout_enter() must follow. False
 * otherwise; farswap_write_begin() lists the reasons.
 */
static bool fanout_begin(struct farswap_fanout *fanout, struct farswap_slab *slab,
			 unsigned int slot, unsigned int nr, unsigned int avoid,
			 bool sole)
{
	unsigned int nth;

	fanout->nr_writes = 0;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		if (!(avoid & BIT(nth)) &&
		    farswap_write_begin(&fanout->writes[fanout->nr_writes], slab, nth, slot, nr,
					sole))
			fanout->nr_writes++;
	return fanout->nr_writes;
}

/**
 * fanout_enter() - take room for each write in its donor's window
 * @fanout:	fan-out that fanout_begin() has set up
 *
 * A write that finds no room is dropped. The function waits for one window at most, and holds no
 * other room during that wait, so that no other store waits for this one.
 *
 * Context: process context; may sleep, as farswap_window_enter() does.
 * Return: true if a write is left; fanout_submit() or fanout_cancel() must follow. False
 * otherwise.
 */
static bool fanout_enter(struct farswap_fanout *fanout)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++)
		if (unlikely(!farswap_write_try(&fanout->writes[i])))
			return fanout_enter_late(fanout, i);
	return true;
}

/**
 * fanout_cancel() - end the writes before they are submitted
 * @fanout:	fan-out that has room
 *
 * Context: process context; does not sleep.
 */
static void fanout_cancel(struct farswap_fanout *fanout)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++)
		farswap_write_end(&fanout->writes[i]);
}

/**
 * fanout_submit() - write a folio to every region of a fan-out
 * @fanout:	fan-out that has room
 * @page:	first page of the folio, which is under writeback; or its compressed or sealed page
 * @bounces:	the sealed pages of a large folio, or NULL
 *
 * store_written() is called when all writes have ended. This may happen before the function
 * returns, and @fanout may be freed then.
 *
 * Context: process context; does not sleep; after farswap_write_mark().
 */
static void fanout_submit(struct farswap_fanout *fanout, struct page *page,
			  struct farswap_bounce *bounces)
{
	unsigned int nr_writes = fanout->nr_writes, refused = 0, i;
	struct farswap_write *write;

	/* The extra count delays store_written() until @refused is set. */
	atomic_set(&fanout->pending, nr_writes + 1);
	atomic_set(&fanout->good, 0);
	for (i = 0; i < nr_writes; i++) {
		write = &fanout->writes[i];
		write->owner = fanout;
		write->done = fanout_write_done;
		write->bounces = bounces;
		write->nth = i;
		refused += !farswap_write_submit(write, page);
	}
	fanout->refused = refused == nr_writes;
	if (atomic_dec_and_test(&fanout->pending))
		store_written(fanout);
}

/**
 * enum store_mode - how the swap device gets the folio
 * @STORE_STAGED:	later, from staging copies
 * @STORE_UNSTAGED:	now, from the folio; the writeback waits for this write, too
 * @STORE_SOLE:		not at all, unless a remote write fails
 */
enum store_mode {
	STORE_STAGED,
	STORE_UNSTAGED,
	STORE_SOLE,
};

/*
 * struct farswap_store - one store
 * @fanout:	the remote writes
 * @owner:	gets the results of the device writes from staging copies
 * @bio:	the device write from @folio, if there is one
 * @bvec:	the only segment of @bio
 * @work:	starts @bio after a remote write of a STORE_SOLE store has failed
 * @folio:	the folio; locked until submission, then under writeback
 * @slab:	slab of @folio
 * @packed:	the compressed page, or NULL
 * @bounces:	the sealed pages, or NULL
 * @start:	when the store was submitted, ns
 * @sector:	sector of @folio on the swap device
 * @slot:	first slot of @folio in @slab
 * @nr:		number of its slots: pages, or units of a packed slab
 * @mode:	how the swap device gets the folio
 * @all:	the policy is backup=replica: every remote write must succeed, or else the
 *		writeback waits for the device
 * @pending:	what the writeback still waits for: the remote writes together count as one,
 *		each write to the device counts as one
 * @error:	result of the device writes, 0 or -errno
 * @remote_error: -EIO if no remote write counts as successful, else 0
 */
struct farswap_store {
	struct farswap_fanout fanout;
	struct farswap_backup_owner owner;
	struct bio bio;
	struct bio_vec bvec;
	struct work_struct work;
	struct folio *folio;
	struct farswap_slab *slab;
	struct page *packed;
	struct farswap_bounce *bounces;
	u64 start;
	sector_t sector;
	unsigned int slot;
	unsigned int nr;
	enum store_mode mode;
	bool all;
	atomic_t pending;
	int error;
	int remote_error;
};

/*
 * struct store_place - where a folio is to be stored
 * @slab:	a slab, packed or not
 * @packed:	the compressed page, or NULL
 * @slot:	the first slot
 * @nr:		number of slots
 * @avoid:	what farswap_guard_look() returned for them
 */
struct store_place {
	struct farswap_slab *slab;
	struct page *packed;
	unsigned int slot;
	unsigned int nr;
	unsigned int avoid;
};

static struct farswap_requests store_requests;

/* Keep the page in memory, dirty, as the kernel does after a failed device write. */
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

static void store_uncharge(struct farswap_store *store)
{
	farswap_cgroup_uncharge(store->slab->device, swp_offset(store->folio->swap),
				folio_nr_pages(store->folio));
}

/*
 * Return true if each region of the slab that has the pages was written: farswap_write_mark() may
 * leave out a slab's only mapping, and a mapping that is removed.
 */
static bool __maybe_unused store_is_current(const struct farswap_store *store)
{
	const struct farswap_write *write;
	unsigned int i;

	for (i = 0; i < store->fanout.nr_writes; i++) {
		write = &store->fanout.writes[i];
		if (write->failed && farswap_mapping_is_slabs(write->mapping) &&
		    !farswap_slotbits_full(write->mapping->missing, store->slot,
					   store->nr))
			return false;
	}
	return true;
}

/* Count the result. Set the remote bits after success, keep the folio dirty after an error. */
static void store_account(struct farswap_store *store)
{
	unsigned int nr = folio_nr_pages(store->folio);

	if (store->error) {
		store_keep_dirty(store);
		store_uncharge(store);
	} else if (store->remote_error) {
		store_note_stray(store->slab);
		store_uncharge(store);
		farswap_stat_add(store->fanout.refused ? FARSWAP_STAT_STORE_REFUSED :
				 FARSWAP_STAT_STORE_WRITE_FAILED, nr);
	} else {
		farswap_assert(store_is_current(store));
		farswap_write_publish(store->slab, store->slot, store->nr);
		farswap_stat_add(FARSWAP_STAT_STORE_REMOTE, nr);
	}
}

static void store_free(struct farswap_store *store)
{
	struct farswap_mapping *last;

	/* The folio may be freed after this. The slab remains, because swapoff waits for it. */
	folio_end_writeback(store->folio);
	last = farswap_fanout_end(&store->fanout);
	farswap_compress_free(store->packed);
	farswap_bounce_put(store->bounces);
	if (store->slab->pack)
		farswap_pack_put(store->slab->pack);
	farswap_request_free(&store_requests, store);
	farswap_mapping_put(last);
}

/* Everything that the writeback waited for has ended. Context: any up to interrupts. */
static void store_end(struct farswap_store *store)
{
	store_account(store);
	store_free(store);
}

/*
 * End a store that waited for remote writes only. The remote bits are set before the write counts
 * drop, so that an evacuation that waits for the counts sees the bits.
 */
static void store_end_written(struct farswap_store *store)
{
	store_account(store);
	farswap_fanout_written(&store->fanout);
	store_free(store);
}

/*
 * One of several writes has ended. The decrement is fully ordered: each write stores its result
 * before it, and the caller that ends the store reads all results after it.
 */
static void store_write_ended(struct farswap_store *store)
{
	if (atomic_dec_and_test(&store->pending))
		store_end(store);
}

/* A device write from a staging copy has ended. */
static void store_backed(struct farswap_backup_owner *owner, int error)
{
	struct farswap_store *store = container_of(owner, struct farswap_store, owner);

	if (error)
		WRITE_ONCE(store->error, error);
	store_write_ended(store);
}

/* Make the writeback wait for the device writes from the staging copies; these run anyway. */
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

/* A remote write of a STORE_SOLE store has failed: write the folio to the device. */
static void store_fall_back(struct farswap_store *store)
{
	INIT_WORK(&store->work, store_fallback_work);
	queue_work(farswap_wq, &store->work);
}

/* Return how many of the successful remote writes count. */
static unsigned int store_good(const struct farswap_store *store)
{
	unsigned int nr = folio_nr_pages(store->folio), good = atomic_read(&store->fanout.good);

	/* The regions that have a sole copy may be lost by now, or about to be evicted. */
	if (!good || (store->mode == STORE_SOLE &&
		      !farswap_fanout_is_there(&store->fanout, store->slot, store->nr)))
		return 0;
	if (unlikely(good < store->fanout.nr_writes))
		farswap_stat_add(FARSWAP_STAT_STORE_PARTIAL, nr);
	return good;
}

/**
 * store_written() - continue a store whose remote writes have all ended
 * @fanout:	fan-out of the store
 *
 * Context: any up to softirq.
 */
static void store_written(struct farswap_fanout *fanout)
{
	struct farswap_store *store = container_of(fanout, struct farswap_store, fanout);
	unsigned int good = store_good(store);
	u64 ns = ktime_get_ns() - store->start;

	store->remote_error = good ? 0 : -EIO;
	if (good)
		farswap_latency_add(FARSWAP_LATENCY_STORE, ns);
	if (trace_farswap_store_end_enabled())
		trace_farswap_store_end(store->folio->swap.val, folio_nr_pages(store->folio),
					store->remote_error, ns,
					farswap_cgroup_id(store->folio));
	if (store->mode != STORE_UNSTAGED &&
	    (good == fanout->nr_writes || (good && !store->all))) {
		store_end_written(store);
		return;
	}
	/* Drop the write counts now: the device may be slow, and an eviction waits for them. */
	farswap_fanout_written(fanout);
	if (store->mode == STORE_UNSTAGED)
		store_write_ended(store);
	else if (store->mode == STORE_STAGED)
		store_adopt(store);
	else
		store_fall_back(store);
}

/* Submit a store after every step that could refuse it. */
static void store_submit(struct farswap_store *store, struct list_head *staged)
{
	struct farswap_slab *slab = store->slab;
	struct folio *folio = store->folio;
	enum store_mode mode = store->mode;
	struct page *page = store->packed ?: folio_page(folio, 0);

	store->error = 0;
	store->remote_error = 0;
	store->start = ktime_get_ns();
	atomic_set(&store->pending, mode == STORE_UNSTAGED ? 2 : 1);

	farswap_hook_count(folio);
	farswap_write_mark(slab, store->slot, store->nr);
	/* The table of backups must have the copies before any task can read the slot. */
	if (mode == STORE_STAGED) {
		farswap_backup_add(slab, store->slot, folio, staged, store->sector);
	} else if (mode == STORE_SOLE) {
		/* Without a copy in the table, no other thread writes these unbacked bits. */
		farswap_assert(!farswap_slotbits_any(slab->bits.unbacked, store->slot,
						     folio_nr_pages(folio)));
		farswap_slotbits_set(slab->bits.unbacked, store->slot,
				     folio_nr_pages(folio));
	}
	folio_start_writeback(folio);
	folio_unlock(folio);

	if (store->bounces)
		page = store->bounces->page;
	fanout_submit(&store->fanout, page, folio_test_large(folio) ? store->bounces : NULL);
	if (mode == STORE_UNSTAGED)
		store_to_device(store);
}

/* Return true if the swap device may not get the pages. */
static bool store_is_sole(enum farswap_backup_policy policy)
{
	return policy == FARSWAP_BACKUP_REPLICA || policy == FARSWAP_BACKUP_NONE;
}

/*
 * Prepare a request to write the folio to its slab. Return FARSWAP_STAT_STORE_REMOTE, or the reason
 * for refusing the folio.
 */
static enum farswap_stat store_prepare(struct folio *folio, const struct store_place *place,
				       enum farswap_backup_policy policy,
				       struct farswap_store **prepared)
{
	struct farswap_slab *slab = place->slab;
	enum farswap_stat outcome;
	struct farswap_store *store;

	store = farswap_request_alloc(&store_requests, GFP_NOWAIT | __GFP_NOWARN);
	if (!store)
		return FARSWAP_STAT_STORE_NO_REQUEST;
	/* A region that an older page is on its way to can take the next store. */
	outcome = place->avoid ? FARSWAP_STAT_STORE_BUSY : FARSWAP_STAT_STORE_NO_SLAB;
	store->sector = farswap_device_sector(slab->device, swp_offset(folio->swap));
	if (WARN_ON_ONCE(store->sector == (sector_t)-1))
		goto out_free;
	store->folio = folio;
	store->slab = slab;
	store->slot = place->slot;
	store->nr = place->nr;
	store->packed = place->packed;
	store->bounces = NULL;
	if (!fanout_begin(&store->fanout, slab, place->slot, place->nr, place->avoid,
			  store_is_sole(policy)))
		goto out_free;
	outcome = FARSWAP_STAT_STORE_BUSY;
	if (!fanout_enter(&store->fanout))
		goto out_free;
	*prepared = store;
	return FARSWAP_STAT_STORE_REMOTE;

out_free:
	farswap_request_free(&store_requests, store);
	return outcome;
}

/* If the slab has fewer regions than there should be replicas, the device serves as a replica. */
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
	fanout_cancel(&store->fanout);
	farswap_request_free(&store_requests, store);
}

/*
 * Prepare a request and choose its mode. A request is cancelled before it waits for the device, so
 * that it does not delay the eviction of a region.
 */
static enum farswap_stat store_begin(struct folio *folio, const struct store_place *place,
				     struct farswap_store **begun, struct list_head *staged)
{
	enum farswap_backup_policy policy = farswap_cgroup_backup(place->slab->device,
								  swp_offset(folio->swap));
	unsigned int nr = folio_nr_pages(folio), slot = place->slot;
	struct farswap_slab *slab = place->slab;
	enum farswap_stat outcome;
	struct farswap_store *store;

	for (;;) {
		outcome = store_prepare(folio, place, policy, begun);
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

/* Try to store remotely. Return FARSWAP_STAT_STORE_REMOTE, or the reason for refusing the folio. */
static enum farswap_stat store_to(struct folio *folio, const struct store_place *place)
{
	struct farswap_store *store;
	enum farswap_stat outcome;
	LIST_HEAD(staged);

	outcome = store_begin(folio, place, &store, &staged);
	if (outcome != FARSWAP_STAT_STORE_REMOTE)
		return outcome;
	if (place->slab->device->protect)
		outcome = farswap_seal(store->slab, folio, store->packed, store->nr,
				       &store->bounces);
	if (outcome != FARSWAP_STAT_STORE_REMOTE) {
		farswap_backup_put_all(&staged);
		farswap_bounce_put(store->bounces);
		store_cancel(store);
		return outcome;
	}
	if (store->mode == STORE_UNSTAGED)
		farswap_stat_add(FARSWAP_STAT_STORE_UNSTAGED, folio_nr_pages(folio));
	if (!place->slab->pack)
		farswap_slab_ahead(place->slab, place->slot, place->nr);
	store_submit(store, &staged);
	return FARSWAP_STAT_STORE_REMOTE;
}

/* Try to store to a slab whose slots are pages. Return as store_to() does. */
static enum farswap_stat store_linear(struct folio *folio, struct farswap_slab *slab,
				      unsigned int slot, unsigned int avoid)
{
	struct store_place place = {
		.slab = slab, .slot = slot, .nr = folio_nr_pages(folio), .avoid = avoid,
	};

	if (!farswap_may_store())
		return FARSWAP_STAT_STORE_DISABLED;
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED)
		return FARSWAP_STAT_STORE_NO_SLAB;
	return store_to(folio, &place);
}

/*
 * Try to store a page to a packed slab. Return as store_to() does; FARSWAP_STAT_STORE_NO_SLAB if
 * no packed slab has room.
 */
static enum farswap_stat store_packed(struct folio *folio, struct farswap_device *device)
{
	enum farswap_stat outcome = FARSWAP_STAT_STORE_NO_SLAB;
	swp_entry_t entry = folio->swap;
	pgoff_t offset = swp_offset(entry);
	struct farswap_object object;
	struct store_place place;
	unsigned int bytes;

	if (!farswap_may_store())
		return FARSWAP_STAT_STORE_DISABLED;
	if (!farswap_pack_is_ready(device))
		return FARSWAP_STAT_STORE_NO_SLAB;
	bytes = farswap_compress_folio(folio, &place.packed);
	if (!farswap_object_take(device, offset, bytes, &object))
		goto out_free;
	place.slab = object.slab;
	place.slot = object.slot;
	place.nr = object.nr;
	place.avoid = object.avoid;
	outcome = store_to(folio, &place);
	trace_farswap_pack(entry.val, bytes, outcome == FARSWAP_STAT_STORE_REMOTE);
	if (outcome == FARSWAP_STAT_STORE_REMOTE) {
		farswap_stat_add(bytes ? FARSWAP_STAT_STORE_PACKED : FARSWAP_STAT_STORE_RAW, 1);
		return outcome;
	}
	farswap_forget_object(device, offset);
	farswap_pack_put(object.slab->pack);
out_free:
	farswap_compress_free(place.packed);
	return outcome;
}

/*
 * Forget the copy of a page in its slab, and try to store the page to a packed slab. Return as
 * store_packed() does.
 */
static enum farswap_stat store_repack(struct folio *folio, struct farswap_slab *slab,
				      unsigned int slot)
{
	unsigned int avoid;

	if (farswap_slab_has_bits(slab)) {
		/* The older copies are stale from now on, whether this store succeeds or not. */
		farswap_guard_invalidate(slab, slot, 1, &avoid);
		farswap_backup_forget(slab, slot, 1);
	}
	return store_packed(folio, slab->device);
}

/* Large folios are not packed, so that they can be read as a whole. */
static bool store_may_pack(const struct folio *folio, const struct farswap_slab *slab)
{
	return farswap_packs_on() && !folio_test_large(folio) && slab->device->places;
}

/**
 * farswap_store() - page out a folio to remote memory
 * @folio:	locked, in the swap cache, clean, not under writeback; its contents are
 *		neither all zero nor in zswap
 *
 * Context: process context, possibly in reclaim, so it never waits for memory. It may sleep as
 * submit_bio() does, up to 200 ms for room in a window, and, if the folio goes to the device,
 * until an older device write of the slot has ended.
 * Return: true if the folio was taken: it is unlocked, and its writeback has begun or has even
 * ended. False if the caller must write the folio to the device; all copies of its slots have been
 * forgotten then.
 */
bool farswap_store(struct folio *folio)
{
	struct farswap_device *device = farswap_device_find(swp_type(folio->swap));
	unsigned int nr = folio_nr_pages(folio);
	enum farswap_stat outcome = FARSWAP_STAT_STORE_NO_MEMORY;
	enum farswap_slab_state state;
	struct farswap_slab *slab;
	unsigned int slot, avoid;
	bool charged;

	if (!device)
		return false;
	farswap_hedge_drop(swp_type(folio->swap), swp_offset(folio->swap),
			   swp_offset(folio->swap) + nr - 1);
	slab = farswap_slab_lookup(device, swp_offset(folio->swap), &slot);
	charged = farswap_cgroup_charge(device, folio);
	if (farswap_packs_used())
		farswap_forget_objects(device, swp_offset(folio->swap), nr);
	if (slab && charged && store_may_pack(folio, slab)) {
		if (farswap_slab_may_pack(slab) &&
		    store_repack(folio, slab, slot) == FARSWAP_STAT_STORE_REMOTE)
			return true;
		/* Otherwise the page goes to its own slab if that is mapped, or to the device. */
	} else if (slab && charged) {
		/* Pages that must not go to a donor do not make the slab hot either. */
		farswap_slab_account(slab, nr);
	}
	if (slab && farswap_slab_has_bits(slab)) {
		/* The older copies are stale from now on, whether this store succeeds or not. */
		farswap_guard_invalidate(slab, slot, nr, &avoid);
		outcome = charged ? store_linear(folio, slab, slot, avoid) :
				    FARSWAP_STAT_STORE_DENIED;
		if (outcome == FARSWAP_STAT_STORE_REMOTE) {
			if (farswap_packs_on())
				farswap_stat_add(FARSWAP_STAT_STORE_UNPACKED, nr);
			return true;
		}
		farswap_backup_settle(slab, slot, nr);
	} else if (slab) {
		outcome = !charged ? FARSWAP_STAT_STORE_DENIED :
			  farswap_may_store() ? FARSWAP_STAT_STORE_NO_SLAB :
						FARSWAP_STAT_STORE_DISABLED;
		/* A device write of the page's object may be in flight. */
		if (farswap_packs_used())
			farswap_backup_settle(slab, slot, nr);
	}
	farswap_cgroup_uncharge(device, swp_offset(folio->swap), nr);
	if (outcome == FARSWAP_STAT_STORE_NO_SLAB)
		farswap_cgroup_lacked(folio);
	state = slab && charged ? READ_ONCE(slab->state) : FARSWAP_SLAB_UNMAPPED;
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
 * farswap_store_init() - allocate the pool of store requests
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_store_init(void)
{
	return farswap_requests_init(&store_requests, "farswap_store",
				     sizeof(struct farswap_store), STORE_POOL, mempool_alloc_slab,
				     mempool_free_slab);
}

/**
 * farswap_store_exit() - free the pool of store requests
 *
 * Context: may sleep; no store is in flight.
 */
void farswap_store_exit(void)
{
	farswap_requests_exit(&store_requests);
}
