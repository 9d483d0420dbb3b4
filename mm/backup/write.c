// SPDX-License-Identifier: GPL-2.0
/*
 * The device writes of backups: a worker for each device takes what is queued, with
 * its neighbours, into bios. What the device can't take, and nobody else has, is kept
 * and tried again.
 *
 * Locking: see struct farswap_backups.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>

#include "internal.h"

/* Pages in one device write. */
#define BACKUP_BIO_PAGES	16
/* Writes that never lack memory, of each device. */
#define BACKUP_BIOS		16
#define BACKUP_RETRY		HZ

/**
 * struct backup_bio - a device write
 * @backups:	what it writes, contiguous on the device
 * @device:	where to
 * @start:	when it was submitted, ns
 * @bio:	last, as bio_alloc_bioset() wants it
 */
struct backup_bio {
	struct list_head backups;
	struct farswap_device *device;
	u64 start;
	struct bio bio;
};

/* May wait for a device; one that stalls does not hold up another's. */
static struct workqueue_struct *backup_wq;

/**
 * farswap_backup_kick() - have what is queued submitted
 * @device:	where to
 *
 * Context: any.
 */
void farswap_backup_kick(struct farswap_device *device)
{
	queue_work(backup_wq, &device->backups.work);
}

/*
 * May a copy that the device can't take be let go, and the slot stay remote only?
 * If not, there is nothing else, or not yet.
 */
static bool backup_is_remote(const struct farswap_backup *backup)
{
	struct farswap_slab *slab = backup->slab;

	WRITE_ONCE(slab->sole, true);
	/*
	 * Pairs with farswap_drain_start(): either that sees that there is a page to
	 * be fetched before the region goes, or the copy stays.
	 */
	smp_mb();
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED)
		return false;
	/* Mapped again, perhaps: the look at the mappings comes second. */
	smp_rmb();
	return farswap_mapping_stays(slab, backup->slot);
}

static void backup_failed(struct farswap_backups *backups,
			  struct farswap_backup *backup)
{
	lockdep_assert_held(&backups->lock);
	farswap_stat_add(FARSWAP_STAT_BACKUP_FAILED, 1);
	/* A store waits for it, and keeps its folio. */
	if (backup->owner)
		return;
	backups->nr_failed++;
	pr_alert_ratelimited("write error on swap device %pg at sector %llu\n",
			     backup->slab->device->si->bdev,
			     (unsigned long long)backup->sector);
	if (backup_is_remote(backup))
		return;
	list_del_init(&backup->entry);
	backup->state = FARSWAP_BACKUP_KEPT;
	farswap_backup_insert(backups, backup);
	backups->nr_kept++;
	if (!backups->flushing)
		queue_delayed_work(backup_wq, &backups->retry, BACKUP_RETRY);
}

static void backup_ended(struct farswap_backups *backups,
			 struct farswap_backup *backup, int error,
			 struct list_head *drop)
{
	struct farswap_backup *next;

	lockdep_assert_held(&backups->lock);
	farswap_backup_remove(backups, backup, drop);
	if (backup->stale) {
		farswap_stat_add(FARSWAP_STAT_BACKUP_STALE, 1);
		next = farswap_backup_find(backups, backup->offset);
		if (next && next->state == FARSWAP_BACKUP_HELD)
			farswap_backup_queue(backups, next);
	} else if (!error) {
		clear_bit(backup->slot, backup->slab->bits.unbacked);
		farswap_stat_add(FARSWAP_STAT_BACKUP_WRITTEN, 1);
	} else {
		backup_failed(backups, backup);
	}
}

static void backup_bio_done(struct bio *bio)
{
	struct backup_bio *write = container_of(bio, struct backup_bio, bio);
	struct farswap_backups *backups = &write->device->backups;
	int error = blk_status_to_errno(bio->bi_status);
	struct farswap_backup *backup, *next;
	unsigned long flags;
	LIST_HEAD(drop);

	farswap_latency_add(FARSWAP_LATENCY_DEVICE, ktime_get_ns() - write->start);
	spin_lock_irqsave(&backups->lock, flags);
	list_for_each_entry_safe(backup, next, &write->backups, entry)
		backup_ended(backups, backup, error, &drop);
	if (!list_empty(&backups->queue))
		queue_work(backup_wq, &backups->work);
	/* Still locked: who waits for the last one frees the device, and its bios. */
	bio_put(bio);
	wake_up_all(&backups->settled);
	spin_unlock_irqrestore(&backups->lock, flags);

	list_for_each_entry(backup, &drop, entry)
		if (backup->owner)
			backup->owner->backed(backup->owner, error);
	farswap_backup_put_all(&drop);
}

/* The next page of the same write, or NULL. */
static struct farswap_backup *backup_following(struct farswap_backups *backups,
					       const struct farswap_backup *last)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&backups->lock);
	backup = list_first_entry_or_null(&backups->queue, struct farswap_backup,
					  entry);
	if (!last || !backup)
		return backup;
	return backup->sector == last->sector + PAGE_SECTORS &&
	       backup->css == last->css ? backup : NULL;
}

static bool backup_fill(struct backup_bio *write)
{
	struct farswap_backups *backups = &write->device->backups;
	struct farswap_backup *backup, *last = NULL;

	spin_lock_irq(&backups->lock);
	while (write->bio.bi_vcnt < BACKUP_BIO_PAGES &&
	       (backup = backup_following(backups, last))) {
		if (!last)
			write->bio.bi_iter.bi_sector = backup->sector;
		backup->state = FARSWAP_BACKUP_INFLIGHT;
		list_move_tail(&backup->entry, &write->backups);
		__bio_add_page(&write->bio, backup->page, PAGE_SIZE, 0);
		last = backup;
	}
	spin_unlock_irq(&backups->lock);
	if (last && last->css)
		bio_associate_blkg_from_css(&write->bio, last->css);
	return last;
}

static void backup_work_fn(struct work_struct *work)
{
	struct farswap_backups *backups = container_of(work, struct farswap_backups,
						       work);
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
		write->device = device;
		write->start = ktime_get_ns();
		bio->bi_end_io = backup_bio_done;
		if (!backup_fill(write))
			break;
		submit_bio(bio);
	}
	bio_put(bio);
	blk_finish_plug(&plug);
}

/* Those that could not be written: once more, unless a region has them by now. */
static void backup_retry(struct farswap_backups *backups)
{
	struct farswap_backup *backup;
	struct hlist_node *next;
	int i;

	/* There may be gigabytes, and stores, loads and frees want the lock. */
	for (i = 0; READ_ONCE(backups->nr_kept) && i < ARRAY_SIZE(backups->table); i++) {
		LIST_HEAD(drop);

		spin_lock_irq(&backups->lock);
		hlist_for_each_entry_safe(backup, next, &backups->table[i], node) {
			if (backup->state != FARSWAP_BACKUP_KEPT)
				continue;
			if (backup_is_remote(backup)) {
				farswap_backup_remove(backups, backup, &drop);
				continue;
			}
			/* No write of the slot is in flight: its own has ended. */
			backups->nr_kept--;
			backup->state = FARSWAP_BACKUP_QUEUED;
			list_move_tail(&backup->entry, &backups->queue);
		}
		spin_unlock_irq(&backups->lock);
		farswap_backup_put_all(&drop);
		cond_resched();
	}
	spin_lock_irq(&backups->lock);
	queue_work(backup_wq, &backups->work);
	wake_up_all(&backups->settled);
	spin_unlock_irq(&backups->lock);
}

static void backup_retry_fn(struct work_struct *work)
{
	backup_retry(container_of(to_delayed_work(work), struct farswap_backups,
				  retry));
}

static bool backup_is_flushed(struct farswap_backups *backups)
{
	bool flushed;

	spin_lock_irq(&backups->lock);
	flushed = backups->nr == backups->nr_kept;
	spin_unlock_irq(&backups->lock);
	return flushed;
}

/**
 * farswap_backup_failures() - writes of the device's that have failed
 * @device:	the device
 *
 * Context: process context; does not sleep.
 * Return: how many, so far.
 */
unsigned int farswap_backup_failures(struct farswap_device *device)
{
	struct farswap_backups *backups = &device->backups;
	unsigned int failed;

	spin_lock_irq(&backups->lock);
	failed = backups->nr_failed;
	spin_unlock_irq(&backups->lock);
	return failed;
}

/**
 * farswap_backup_flush() - wait until the device has all that is staged
 * @device:	the device, to which nothing is stored meanwhile
 * @failed:	what farswap_backup_failures() said before
 *
 * Context: one caller at a time; may sleep, as long as the device takes.
 * Return: 0, or -EIO if the device has failed since to write some of it, which stays
 * staged, or in its region if that has it.
 */
int farswap_backup_flush(struct farswap_device *device, unsigned int failed)
{
	struct farswap_backups *backups = &device->backups;
	int err = 0;

	spin_lock_irq(&backups->lock);
	backups->flushing = true;
	spin_unlock_irq(&backups->lock);
	cancel_delayed_work_sync(&backups->retry);

	backup_retry(backups);
	wait_event(backups->settled, backup_is_flushed(backups));

	spin_lock_irq(&backups->lock);
	backups->flushing = false;
	if (backups->nr_kept)
		queue_delayed_work(backup_wq, &backups->retry, BACKUP_RETRY);
	if (backups->nr_kept || backups->nr_failed != failed)
		err = -EIO;
	spin_unlock_irq(&backups->lock);
	return err;
}

static bool backup_is_empty(struct farswap_backups *backups)
{
	bool empty;

	spin_lock_irq(&backups->lock);
	empty = !backups->nr;
	spin_unlock_irq(&backups->lock);
	return empty;
}

/**
 * farswap_backup_drain() - wait until no write of ours is to reach the device any more
 * @device:	the device, of which no slot is in use, or that is just being turned on
 *
 * What is still there is of slots that were freed, and ends with the write that is under
 * way. Nothing is waited for, nor given up, if the device can be stored to after all.
 *
 * Context: may sleep, as long as the device takes for what is in flight.
 */
void farswap_backup_drain(struct farswap_device *device)
{
	struct farswap_backups *backups = &device->backups;

	/* Nobody wakes us when it comes to be writable. */
	while (!wait_event_timeout(backups->settled,
				   backup_is_empty(backups) || farswap_device_writable(device),
				   HZ / 10))
		;
}

/**
 * farswap_backup_cancel() - have no write of ours reach the device any more
 * @device:	the device, of which no slot is in use
 *
 * Context: may sleep, as long as the device takes for what is in flight.
 */
void farswap_backup_cancel(struct farswap_device *device)
{
	struct farswap_backups *backups = &device->backups;
	struct farswap_backup *backup;
	struct hlist_node *next;
	LIST_HEAD(drop);
	int i;

	spin_lock_irq(&backups->lock);
	for (i = 0; i < ARRAY_SIZE(backups->table); i++)
		hlist_for_each_entry_safe(backup, next, &backups->table[i], node)
			farswap_backup_retire(backups, backup, &drop);
	spin_unlock_irq(&backups->lock);
	farswap_backup_put_all(&drop);
	wait_event(backups->settled, backup_is_empty(backups));
	cancel_delayed_work_sync(&backups->retry);
	cancel_work_sync(&backups->work);
}

/**
 * farswap_backups_init() - a device is owed nothing yet
 * @backups:	its
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_backups_init(struct farswap_backups *backups)
{
	spin_lock_init(&backups->lock);
	INIT_LIST_HEAD(&backups->queue);
	INIT_WORK(&backups->work, backup_work_fn);
	INIT_DELAYED_WORK(&backups->retry, backup_retry_fn);
	init_waitqueue_head(&backups->settled);
	return bioset_init(&backups->bios, BACKUP_BIOS,
			   offsetof(struct backup_bio, bio), BIOSET_NEED_BVECS);
}

/**
 * farswap_backups_exit() - undo farswap_backups_init()
 * @backups:	of a device whose writes were cancelled
 */
void farswap_backups_exit(struct farswap_backups *backups)
{
	bioset_exit(&backups->bios);
}

/**
 * farswap_backup_init() - make the worker
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_backup_init(void)
{
	backup_wq = alloc_workqueue("farswap_backup", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
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
