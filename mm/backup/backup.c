// SPDX-License-Identifier: GPL-2.0
/*
 * Backup: a store copies its pages into staging pages, which are written to the swap
 * device after the store's writeback has ended (Infiniswap, section 4.3). Loads are served
 * from the copy until the device has it.
 *
 * This file has the copies and their device writes. table.c has the table of copies; staging.c
 * has the staging pool, and the fetching of pages that only regions have.
 *
 * Locking: see table.c.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/error-injection.h>
#include <linux/highmem.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <kunit/static_stub.h>

#include "internal.h"

static struct farswap_backup_shard *backup_shard_of(const struct farswap_slab *slab,
						    unsigned int slot)
{
	return farswap_backup_shard(&slab->device->backups, farswap_slab_offset(slab, slot));
}

/**
 * farswap_backup_put_all() - return the pages of removed copies to the staging pool
 * @drop:	the copies
 *
 * A device may be freed once its last copy is removed, so this touches no device.
 *
 * Context: any, without a device's lock.
 */
void farswap_backup_put_all(struct list_head *drop)
{
	struct farswap_backup *backup;

	list_for_each_entry(backup, drop, entry) {
		if (backup->css)
			css_put(backup->css);
		backup->css = NULL;
	}
	farswap_staging_put_all(drop);
}

/**
 * farswap_backup_css() - get the cgroup to which a folio's device write is charged
 * @folio:	locked or under writeback
 *
 * The write is charged to the folio's cgroup rather than to the reclaiming task's.
 *
 * Context: any.
 * Return: a reference, to be dropped by css_put(); or NULL if there is no cgroup.
 */
struct cgroup_subsys_state *farswap_backup_css(struct folio *folio)
{
	struct cgroup_subsys_state *css = NULL;
#if defined(CONFIG_MEMCG) && defined(CONFIG_BLK_CGROUP)
	struct mem_cgroup *memcg;

	/* RCU keeps the memcg: later kernels do not pin it by the folio. */
	rcu_read_lock();
	memcg = folio_memcg(folio);
	if (memcg)
		css = cgroup_get_e_css(memcg->css.cgroup, &io_cgrp_subsys);
	rcu_read_unlock();
#endif
	return css;
}

static int backup_copy_page(struct page *to, struct page *from)
{
	void *vto = kmap_local_page(to);
	int err = farswap_page_read(vto, from);

	kunmap_local(vto);
	return err;
}

/* This is a separate function so that tests can inject an error. */
static noinline int backup_stage_page(struct farswap_backup *backup, struct page *page)
{
	return backup_copy_page(backup->page, page);
}
ALLOW_ERROR_INJECTION(backup_stage_page, ERRNO);

/**
 * farswap_backup_copy() - copy a folio that is being stored
 * @folio:	locked, not under writeback
 * @staged:	one staging page for each of its pages
 *
 * Context: process context; does not sleep.
 * Return: false if the memory of one of its pages can't be read.
 */
bool farswap_backup_copy(struct folio *folio, struct list_head *staged)
{
	struct farswap_backup *backup;
	unsigned int i = 0;

	list_for_each_entry(backup, staged, entry)
		if (backup_stage_page(backup, folio_page(folio, i++)))
			return false;
	return true;
}

/**
 * farswap_backup_add() - queue the device writes of a folio that is being stored
 * @slab:	the slab of its slots
 * @slot:	its first slot in @slab
 * @folio:	locked, not under writeback
 * @staged:	its copies, from farswap_backup_copy(); empty afterwards
 * @sector:	sector of its first page on the block device, in units of 512 bytes
 *
 * This sets the unbacked bits.
 *
 * Context: process context; does not sleep.
 */
void farswap_backup_add(struct farswap_slab *slab, unsigned int slot,
			struct folio *folio, struct list_head *staged,
			sector_t sector)
{
	struct cgroup_subsys_state *css = farswap_backup_css(folio);
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup_shard *shard = farswap_backup_shard(&slab->device->backups, offset);
	unsigned int nr = folio_nr_pages(folio), i = 0;
	struct farswap_backup *backup, *next, *old;
	LIST_HEAD(drop);

	list_for_each_entry(backup, staged, entry) {
		if (css)
			css_get(css);
		backup->css = css;
		backup->slab = slab;
		backup->slot = slot + i;
		backup->offset = offset + i;
		backup->sector = sector + ((sector_t)i << PAGE_SECTORS_SHIFT);
		i++;
	}
	spin_lock_irq(&shard->lock);
	list_for_each_entry_safe(backup, next, staged, entry) {
		old = farswap_backup_find(shard, backup->offset);
		if (old)
			farswap_backup_retire(shard, old, &drop);
		farswap_backup_queue(shard, backup);
		farswap_backup_insert(shard, backup);
	}
	farswap_slotbits_set(slab->bits.unbacked, slot, nr);
	spin_unlock_irq(&shard->lock);
	/* The locked folio keeps the device. */
	farswap_backup_kick(shard);
	farswap_backup_put_all(&drop);
	if (css)
		css_put(css);
}

static noinline void backup_forget(struct farswap_backup_shard *shard,
				   struct farswap_slab *slab, unsigned int slot,
				   unsigned int nr)
{
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;
	unsigned long flags;
	LIST_HEAD(drop);

	spin_lock_irqsave(&shard->lock, flags);
	for (; nr--; slot++, offset++) {
		backup = farswap_backup_find(shard, offset);
		if (backup)
			farswap_backup_retire(shard, backup, &drop);
		clear_bit(slot, slab->bits.unbacked);
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	farswap_backup_put_all(&drop);
}

/**
 * farswap_backup_forget() - discard the copies of slots that are freed or overwritten
 * @slab:	the slots' slab, which has bits
 * @slot:	the first slot
 * @nr:		number of slots, in one cluster
 *
 * This clears the unbacked bits. Writes in flight continue: see farswap_backup_settle(). An empty
 * table is not locked, so that page-outs that are not staged do not share the lock's cache line.
 *
 * Context: any, also with interrupts off.
 */
void farswap_backup_forget(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr)
{
	struct farswap_backup_shard *shard;

	if (!farswap_slotbits_any(slab->bits.unbacked, slot, nr))
		return;
	shard = backup_shard_of(slab, slot);
	if (!READ_ONCE(shard->nr)) {
		farswap_slotbits_clear(slab->bits.unbacked, slot, nr);
		/*
		 * The bits are cleared before the count is read again. Pairs with
		 * farswap_backup_fetch_begin(), which counts a copy before it reads the bits
		 * again. Nothing else adds a copy of these slots now.
		 */
		smp_mb();
		if (likely(!READ_ONCE(shard->nr)))
			return;
	}
	backup_forget(shard, slab, slot, nr);
}

/**
 * farswap_backup_is_settled() - check that no device write of slots is in flight
 * @slab:	the slots' slab, which has bits
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: process context; does not sleep.
 * Return: true if none is. After farswap_backup_forget() none starts until the slots are
 * stored to again.
 */
bool farswap_backup_is_settled(struct farswap_slab *slab, unsigned int slot,
			       unsigned int nr)
{
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup_shard *shard = farswap_backup_shard(&slab->device->backups, offset);
	bool settled = true;

	spin_lock_irq(&shard->lock);
	for (; nr-- && settled; offset++)
		settled = !farswap_backup_inflight(shard, offset);
	spin_unlock_irq(&shard->lock);
	return settled;
}

/**
 * farswap_backup_settle() - quiesce slots before another writer writes them to the device
 * @slab:	the slots' slab
 * @slot:	the first slot
 * @nr:		number of slots, in one cluster
 *
 * This discards the slots' copies and waits until no backup write of them is in flight: such
 * a write could otherwise overtake the caller's and overwrite it.
 *
 * Context: process context; may sleep, as long as the device takes.
 */
void farswap_backup_settle(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr)
{
	if (farswap_slab_has_bits(slab))
		farswap_backup_forget(slab, slot, nr);
	if (READ_ONCE(backup_shard_of(slab, slot)->nr))
		wait_event(slab->device->backups.settled,
			   farswap_backup_is_settled(slab, slot, nr));
}

/**
 * farswap_backup_read() - read a folio from its staging copies
 * @device:	its swap device
 * @folio:	locked, in the swap cache, not up to date
 *
 * A slot without a copy is on the device, and its unbacked bit reads clear after this call;
 * or else only regions have it.
 *
 * Context: process context; does not sleep.
 * Return: false if one of its pages has no copy that can be read.
 */
bool farswap_backup_read(struct farswap_device *device, struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio), i;
	/* Not by its slots: repack.c may have moved the page since they were looked up. */
	pgoff_t offset = swp_offset(folio->swap);
	struct farswap_backup_shard *shard = farswap_backup_shard(&device->backups, offset);
	struct farswap_backup *backup;

	spin_lock_irq(&shard->lock);
	for (i = 0; i < nr; i++) {
		backup = farswap_backup_find(shard, offset + i);
		if (!backup || backup->state == FARSWAP_BACKUP_FETCHING ||
		    backup_copy_page(folio_page(folio, i), backup->page))
			break;
	}
	spin_unlock_irq(&shard->lock);
	return i == nr;
}

/**
 * farswap_backup_state_of() - get the state of a slot's copy
 * @slab:	the slot's slab, which has bits
 * @slot:	the slot
 *
 * Context: process context; does not sleep.
 * Return: enum farswap_backup_state, or -ENOENT if the slot has no copy.
 */
int farswap_backup_state_of(struct farswap_slab *slab, unsigned int slot)
{
	struct farswap_backup_shard *shard = backup_shard_of(slab, slot);
	struct farswap_backup *backup;
	int state;

	KUNIT_STATIC_STUB_REDIRECT(farswap_backup_state_of, slab, slot);
	spin_lock_irq(&shard->lock);
	backup = farswap_backup_find(shard, farswap_slab_offset(slab, slot));
	state = backup ? backup->state : -ENOENT;
	spin_unlock_irq(&shard->lock);
	return state;
}

/**
 * farswap_backup_adopt() - make a store wait for its backup writes after a remote write failed
 * @slab:	the slab of the stored slots
 * @slot:	the first slot
 * @nr:		number of slots
 * @owner:	part of the store, under writeback; its @backed is called once for each write
 *		that is still pending
 * @error:	set to -EIO if a write has failed already
 *
 * Context: any up to interrupts.
 * Return: number of pending writes.
 */
unsigned int farswap_backup_adopt(struct farswap_slab *slab, unsigned int slot,
				  unsigned int nr, struct farswap_backup_owner *owner,
				  int *error)
{
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup_shard *shard = farswap_backup_shard(&slab->device->backups, offset);
	struct farswap_backup *backup;
	unsigned int adopted = 0;
	unsigned long flags;

	spin_lock_irqsave(&shard->lock, flags);
	for (; nr--; offset++) {
		backup = farswap_backup_find(shard, offset);
		if (!backup)
			continue;
		if (backup->state == FARSWAP_BACKUP_KEPT) {
			*error = -EIO;
			continue;
		}
		backup->owner = owner;
		adopted++;
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	return adopted;
}

/*
 * Device writes: a worker for each shard puts queued copies into bios, contiguous ones into
 * one bio. A copy whose write fails, and which no region has either, is kept and retried.
 *
 * Locking: see struct farswap_backup_shard.
 */

/* Most pages in one device write. */
#define BACKUP_BIO_PAGES	16
/* The reserve of each device: so many writes make progress when memory is short. */
#define BACKUP_BIOS		16
#define BACKUP_RETRY		HZ

/**
 * struct backup_bio - a device write
 * @backups:	the copies that it writes, contiguous on the device
 * @shard:	the shard of the copies
 * @start:	time of submission, ns
 * @bio:	the bio; the last field, as bio_alloc_bioset() requires
 */
struct backup_bio {
	struct list_head backups;
	struct farswap_backup_shard *shard;
	u64 start;
	struct bio bio;
};

/*
 * A work runs on the CPU that queued it, because that CPU has the copies in its cache. The works
 * may block on a device, and do not delay those of other devices.
 */
static struct workqueue_struct *backup_wq;

/**
 * farswap_backup_kick() - start the worker that submits queued copies
 * @shard:	the shard of the copies
 *
 * Context: any.
 */
void farswap_backup_kick(struct farswap_backup_shard *shard)
{
	struct work_struct *work = &shard->work;

	/*
	 * The copy was queued before the work is looked at. Pairs with the workqueue, which marks
	 * the work as no longer pending before it runs: it then finds the copy. Most stores find
	 * the work pending, and leave its cache line as it is.
	 */
	smp_mb();
	if (!work_pending(work))
		queue_work(backup_wq, work);
}

/*
 * Returns whether a copy whose write failed can be dropped, because a region that stays has
 * the slot. If it returns false, the copy is the only one, or a region may have it only later.
 */
static bool backup_is_remote(const struct farswap_backup *backup)
{
	struct farswap_slab *slab = backup->slab;

	WRITE_ONCE(slab->sole, true);
	/*
	 * The write of slab->sole above comes before the read of slab->state below. Pairs with
	 * the barrier in farswap_unmap_start(), which writes the state before it reads sole: so
	 * either it sees that a page must be fetched before the region is returned, or the copy
	 * is kept here.
	 */
	smp_mb();
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED)
		return false;
	/*
	 * The slab may have been mapped again: the read of its state above comes before the reads
	 * of its mappings below. Pairs with farswap_state_lock: the old mappings are removed in an
	 * earlier critical section than the one that sets FARSWAP_SLAB_MAPPED.
	 */
	smp_rmb();
	return farswap_mapping_stays(slab, backup->slot);
}

/* Returns whether the copy is kept. It stays in the table: @nr must not be 0 in between. */
static bool backup_failed(struct farswap_backup_shard *shard,
			  struct farswap_backup *backup)
{
	struct farswap_backups *backups = farswap_backups_of(shard);

	lockdep_assert_held(&shard->lock);
	farswap_stat_add(FARSWAP_STAT_BACKUP_FAILED, 1);
	/* The waiting store keeps its folio and reports the error. */
	if (backup->owner)
		return false;
	atomic_inc(&backups->nr_failed);
	pr_alert_ratelimited("write error on swap device %pg at sector %llu\n",
			     backup->slab->device->si->bdev,
			     (unsigned long long)backup->sector);
	if (backup_is_remote(backup))
		return false;
	list_del_init(&backup->entry);
	backup->state = FARSWAP_BACKUP_KEPT;
	shard->nr_kept++;
	if (!shard->flushing)
		queue_delayed_work(backup_wq, &backups->retry, BACKUP_RETRY);
	return true;
}

static void backup_ended(struct farswap_backup_shard *shard,
			 struct farswap_backup *backup, int error,
			 struct list_head *drop)
{
	struct farswap_backup *next;

	lockdep_assert_held(&shard->lock);
	if (!backup->stale && error && backup_failed(shard, backup))
		return;
	farswap_backup_remove(shard, backup, drop);
	if (backup->stale) {
		farswap_stat_add(FARSWAP_STAT_BACKUP_STALE, 1);
		next = farswap_backup_find(shard, backup->offset);
		if (next && next->state == FARSWAP_BACKUP_HELD)
			farswap_backup_queue(shard, next);
	} else if (!error) {
		clear_bit(backup->slot, backup->slab->bits.unbacked);
		farswap_stat_add(FARSWAP_STAT_BACKUP_WRITTEN, 1);
	}
}

static void backup_bio_done(struct bio *bio)
{
	struct backup_bio *write = container_of(bio, struct backup_bio, bio);
	struct farswap_backup_shard *shard = write->shard;
	int error = blk_status_to_errno(bio->bi_status);
	struct farswap_backup *backup, *next;
	unsigned long flags;
	LIST_HEAD(drop);

	farswap_latency_add(FARSWAP_LATENCY_DEVICE, ktime_get_ns() - write->start);
	spin_lock_irqsave(&shard->lock, flags);
	list_for_each_entry_safe(backup, next, &write->backups, entry)
		backup_ended(shard, backup, error, &drop);
	if (!list_empty(&shard->queue))
		farswap_backup_kick(shard);
	/* Still locked: the task that waits for the last write frees the device's bioset. */
	bio_put(bio);
	farswap_backup_wake(shard);
	spin_unlock_irqrestore(&shard->lock, flags);

	list_for_each_entry(backup, &drop, entry)
		if (backup->owner)
			backup->owner->backed(backup->owner, error);
	farswap_backup_put_all(&drop);
}

/* Returns the next copy that belongs in the same write, or NULL. */
static struct farswap_backup *backup_following(struct farswap_backup_shard *shard,
					       const struct farswap_backup *last)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&shard->lock);
	backup = list_first_entry_or_null(&shard->queue, struct farswap_backup,
					  entry);
	if (!last || !backup)
		return backup;
	return backup->sector == last->sector + PAGE_SECTORS &&
	       backup->css == last->css ? backup : NULL;
}

static bool backup_fill(struct backup_bio *write)
{
	struct farswap_backup_shard *shard = write->shard;
	struct farswap_backup *backup, *last = NULL;

	spin_lock_irq(&shard->lock);
	while (write->bio.bi_vcnt < BACKUP_BIO_PAGES &&
	       (backup = backup_following(shard, last))) {
		if (!last)
			write->bio.bi_iter.bi_sector = backup->sector;
		farswap_assert(!farswap_backup_inflight(shard, backup->offset));
		backup->state = FARSWAP_BACKUP_INFLIGHT;
		list_move_tail(&backup->entry, &write->backups);
		__bio_add_page(&write->bio, backup->page, PAGE_SIZE, 0);
		last = backup;
	}
	spin_unlock_irq(&shard->lock);
	if (last && last->css)
		bio_associate_blkg_from_css(&write->bio, last->css);
	return last;
}

static void backup_work_fn(struct work_struct *work)
{
	struct farswap_backup_shard *shard = container_of(work, struct farswap_backup_shard, work);
	struct farswap_backups *backups = farswap_backups_of(shard);
	struct farswap_device *device = container_of(backups, struct farswap_device,
						     backups);
	struct backup_bio *write;
	struct blk_plug plug;
	struct bio *bio;

	blk_start_plug(&plug);
	for (;;) {
		bio = bio_alloc_bioset(device->si->bdev, BACKUP_BIO_PAGES,
				       REQ_OP_WRITE | REQ_SWAP, GFP_NOIO,
				       &backups->bios);
		write = container_of(bio, struct backup_bio, bio);
		INIT_LIST_HEAD(&write->backups);
		write->shard = shard;
		write->start = ktime_get_ns();
		bio->bi_end_io = backup_bio_done;
		if (!backup_fill(write))
			break;
		submit_bio(bio);
	}
	bio_put(bio);
	blk_finish_plug(&plug);
}

static void backup_retry_bucket(struct farswap_backup_shard *shard, struct hlist_head *bucket,
				struct list_head *drop)
{
	struct farswap_backup *backup;
	struct hlist_node *next;

	lockdep_assert_held(&shard->lock);
	hlist_for_each_entry_safe(backup, next, bucket, node) {
		if (backup->state != FARSWAP_BACKUP_KEPT)
			continue;
		if (backup_is_remote(backup)) {
			farswap_backup_remove(shard, backup, drop);
			continue;
		}
		/* No write of the slot is in flight: this copy's own has ended. */
		shard->nr_kept--;
		backup->state = FARSWAP_BACKUP_QUEUED;
		list_move_tail(&backup->entry, &shard->queue);
	}
}

static void backup_retry_shard(struct farswap_backup_shard *shard)
{
	unsigned int i;

	/* The lock is dropped for each bucket: I/O needs it, and the copies may be gigabytes. */
	for (i = 0; READ_ONCE(shard->nr_kept) && i < ARRAY_SIZE(shard->table); i++) {
		LIST_HEAD(drop);

		spin_lock_irq(&shard->lock);
		backup_retry_bucket(shard, &shard->table[i], &drop);
		spin_unlock_irq(&shard->lock);
		farswap_backup_put_all(&drop);
		cond_resched();
	}
	spin_lock_irq(&shard->lock);
	if (!list_empty(&shard->queue))
		farswap_backup_kick(shard);
	farswap_backup_wake(shard);
	spin_unlock_irq(&shard->lock);
}

/* Retries the failed writes, except those of slots that a region has now. */
static void backup_retry(struct farswap_backups *backups)
{
	unsigned int nth;

	for (nth = 0; nth < ARRAY_SIZE(backups->shards); nth++)
		backup_retry_shard(&backups->shards[nth]);
}

static void backup_retry_fn(struct work_struct *work)
{
	backup_retry(container_of(to_delayed_work(work), struct farswap_backups,
				  retry));
}

/**
 * farswap_backups_kept() - check for copies whose device write has failed
 * @backups:	the backup state of a device
 *
 * Context: any.
 * Return: true if there are any; this may change at any time.
 */
bool farswap_backups_kept(const struct farswap_backups *backups)
{
	unsigned int nth;

	for (nth = 0; nth < ARRAY_SIZE(backups->shards); nth++)
		if (READ_ONCE(backups->shards[nth].nr_kept))
			return true;
	return false;
}

static bool backup_is_flushed(struct farswap_backups *backups)
{
	struct farswap_backup_shard *shard;
	bool flushed = true;
	unsigned int nth;

	for (nth = 0; nth < ARRAY_SIZE(backups->shards) && flushed; nth++) {
		shard = &backups->shards[nth];
		spin_lock_irq(&shard->lock);
		flushed = shard->nr == shard->nr_kept;
		spin_unlock_irq(&shard->lock);
	}
	return flushed;
}

static void backup_set_flushing(struct farswap_backups *backups, bool flushing)
{
	struct farswap_backup_shard *shard;
	unsigned int nth;

	for (nth = 0; nth < ARRAY_SIZE(backups->shards); nth++) {
		shard = &backups->shards[nth];
		spin_lock_irq(&shard->lock);
		shard->flushing = flushing;
		spin_unlock_irq(&shard->lock);
	}
}

/**
 * farswap_backup_failures() - get the number of failed device writes
 * @device:	the device
 *
 * Context: any.
 * Return: writes that have failed so far, without those that a store waited for.
 */
unsigned int farswap_backup_failures(struct farswap_device *device)
{
	return atomic_read(&device->backups.nr_failed);
}

/**
 * farswap_backup_flush() - wait until the device has all staged pages
 * @device:	the device; nothing is stored to it during the call
 * @failed:	result of farswap_backup_failures() before
 *
 * Context: one caller at a time; may sleep, as long as the device takes.
 * Return: 0, or -EIO if a write has failed since. Pages that could not be written stay staged,
 * or in their region if that has them.
 */
int farswap_backup_flush(struct farswap_device *device, unsigned int failed)
{
	struct farswap_backups *backups = &device->backups;
	bool kept;

	backup_set_flushing(backups, true);
	cancel_delayed_work_sync(&backups->retry);

	backup_retry(backups);
	wait_event(backups->settled, backup_is_flushed(backups));

	backup_set_flushing(backups, false);
	kept = farswap_backups_kept(backups);
	if (kept)
		queue_delayed_work(backup_wq, &backups->retry, BACKUP_RETRY);
	return kept || farswap_backup_failures(device) != failed ? -EIO : 0;
}

static bool backup_is_empty(struct farswap_backups *backups)
{
	struct farswap_backup_shard *shard;
	unsigned int nth;
	bool empty = true;

	for (nth = 0; nth < ARRAY_SIZE(backups->shards) && empty; nth++) {
		shard = &backups->shards[nth];
		spin_lock_irq(&shard->lock);
		empty = !shard->nr;
		spin_unlock_irq(&shard->lock);
	}
	return empty;
}

/**
 * farswap_backup_drain() - wait until no backup write can reach the device any more
 * @device:	the device; none of its slots is in use, or it is being turned on
 *
 * The remaining copies are of freed slots, and end with the write in flight. The wait ends
 * early, and no copy is discarded, if the device turns out to be writable.
 *
 * Context: may sleep, as long as the device takes for writes in flight.
 */
void farswap_backup_drain(struct farswap_device *device)
{
	struct farswap_backups *backups = &device->backups;

	/* No wakeup comes when the device becomes writable, so poll. */
	while (!wait_event_timeout(backups->settled,
				   backup_is_empty(backups) || farswap_device_writable(device),
				   HZ / 10))
		;
}

static void backup_cancel_shard(struct farswap_backup_shard *shard)
{
	struct farswap_backup *backup;
	struct hlist_node *next;
	LIST_HEAD(drop);
	unsigned int i;

	spin_lock_irq(&shard->lock);
	for (i = 0; i < ARRAY_SIZE(shard->table); i++)
		hlist_for_each_entry_safe(backup, next, &shard->table[i], node)
			farswap_backup_retire(shard, backup, &drop);
	spin_unlock_irq(&shard->lock);
	farswap_backup_put_all(&drop);
}

/**
 * farswap_backup_cancel() - discard all copies of a device and wait for writes in flight
 * @device:	the device; none of its slots is in use
 *
 * Context: may sleep, as long as the device takes for writes in flight.
 */
void farswap_backup_cancel(struct farswap_device *device)
{
	struct farswap_backups *backups = &device->backups;
	unsigned int nth;

	for (nth = 0; nth < ARRAY_SIZE(backups->shards); nth++)
		backup_cancel_shard(&backups->shards[nth]);
	wait_event(backups->settled, backup_is_empty(backups));
	cancel_delayed_work_sync(&backups->retry);
	for (nth = 0; nth < ARRAY_SIZE(backups->shards); nth++)
		cancel_work_sync(&backups->shards[nth].work);
}

/**
 * farswap_backups_init() - initialise the backup state of a device
 * @backups:	the state
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_backups_init(struct farswap_backups *backups)
{
	struct farswap_backup_shard *shard;
	unsigned int nth;

	for (nth = 0; nth < ARRAY_SIZE(backups->shards); nth++) {
		shard = &backups->shards[nth];
		shard->nth = nth;
		spin_lock_init(&shard->lock);
		INIT_LIST_HEAD(&shard->queue);
		INIT_WORK(&shard->work, backup_work_fn);
	}
	INIT_DELAYED_WORK(&backups->retry, backup_retry_fn);
	init_waitqueue_head(&backups->settled);
	return bioset_init(&backups->bios, BACKUP_BIOS,
			   offsetof(struct backup_bio, bio), BIOSET_NEED_BVECS);
}

/**
 * farswap_backups_exit() - undo farswap_backups_init()
 * @backups:	state of a device whose writes were cancelled
 */
void farswap_backups_exit(struct farswap_backups *backups)
{
	bioset_exit(&backups->bios);
}

/**
 * farswap_backup_init() - create the workqueue of device writes
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_backup_init(void)
{
	farswap_staging_init();
	backup_wq = alloc_workqueue("farswap_backup", WQ_MEM_RECLAIM | WQ_CPU_INTENSIVE, 0);
	return backup_wq ? 0 : -ENOMEM;
}

/**
 * farswap_backup_exit() - undo farswap_backup_init()
 */
void farswap_backup_exit(void)
{
	destroy_workqueue(backup_wq);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/backup-kunit.h"
#endif
