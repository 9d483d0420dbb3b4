// SPDX-License-Identifier: GPL-2.0
/*
 * Backup: what a store has written to a region goes to the swap device too, from
 * a staging copy, after its writeback has ended (Infiniswap, section 4.3). Until
 * the device has it, reads are served from the copy.
 *
 * The block layer does not order two writes of a sector, and once its writeback
 * has ended nothing keeps a slot from being freed and stored anew. Hence the
 * table: one write of a slot is in flight at most, the next is held until it ends,
 * and of those that aren't only the newest is kept. A copy in the table that isn't
 * stale is what its slot holds, and then the slot's unbacked bit is set; both end
 * together.
 *
 * The writing itself is in backup/backup.c, the reading of what only regions have in
 * backup/staging.c.
 *
 * Locking: see struct farswap_backups. Nests inside the kernel's si->lock, with
 * interrupts off; staging_lock nests inside nothing.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/error-injection.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include <kunit/static_stub.h>

#include "internal.h"

static struct hlist_head *backup_bucket(struct farswap_backups *backups,
					pgoff_t offset)
{
	return &backups->table[hash_long(offset, FARSWAP_BACKUP_BUCKETS_SHIFT)];
}

/**
 * farswap_backup_find() - look for a slot's copy
 * @backups:	its device's
 * @offset:	its swap offset
 *
 * Context: under @backups->lock.
 * Return: the copy of what the slot holds, or NULL.
 */
struct farswap_backup *farswap_backup_find(struct farswap_backups *backups,
					   pgoff_t offset)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&backups->lock);
	hlist_for_each_entry(backup, backup_bucket(backups, offset), node)
		if (backup->offset == offset && !backup->stale)
			return backup;
	return NULL;
}

/* Is a write of the slot in flight, of whatever contents? */
static bool backup_inflight(struct farswap_backups *backups, pgoff_t offset)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&backups->lock);
	hlist_for_each_entry(backup, backup_bucket(backups, offset), node)
		if (backup->offset == offset &&
		    backup->state == FARSWAP_BACKUP_INFLIGHT)
			return true;
	return false;
}

/**
 * farswap_backup_insert() - put a copy into the table
 * @backups:	the device's
 * @backup:	the copy
 *
 * Context: under @backups->lock.
 */
void farswap_backup_insert(struct farswap_backups *backups,
			   struct farswap_backup *backup)
{
	lockdep_assert_held(&backups->lock);
	hlist_add_head(&backup->node, backup_bucket(backups, backup->offset));
	WRITE_ONCE(backups->nr, backups->nr + 1);
}

/**
 * farswap_backup_remove() - take a copy out of the table
 * @backups:	the device's
 * @backup:	the copy
 * @drop:	a list that it goes to, for farswap_backup_put_all()
 *
 * Context: under @backups->lock.
 */
void farswap_backup_remove(struct farswap_backups *backups,
			   struct farswap_backup *backup, struct list_head *drop)
{
	lockdep_assert_held(&backups->lock);
	hlist_del(&backup->node);
	list_move(&backup->entry, drop);
	WRITE_ONCE(backups->nr, backups->nr - 1);
	if (backup->state == FARSWAP_BACKUP_KEPT)
		backups->nr_kept--;
}

/**
 * farswap_backup_put_all() - give the pages back of copies that were removed
 * @drop:	the copies
 *
 * Nothing may be touched any more of a device whose last copy was removed.
 *
 * Context: any; not under a device's lock.
 */
void farswap_backup_put_all(struct list_head *drop)
{
	struct farswap_backup *backup, *next;

	list_for_each_entry_safe(backup, next, drop, entry) {
		if (backup->css)
			css_put(backup->css);
		backup->css = NULL;
		farswap_staging_put(backup);
	}
}

/**
 * farswap_backup_queue() - have a copy written, behind a write of the same slot that
 * is in flight
 * @backups:	the device's
 * @backup:	the copy
 *
 * Context: under @backups->lock.
 */
void farswap_backup_queue(struct farswap_backups *backups,
			  struct farswap_backup *backup)
{
	lockdep_assert_held(&backups->lock);
	if (backup_inflight(backups, backup->offset)) {
		backup->state = FARSWAP_BACKUP_HELD;
		list_del_init(&backup->entry);
		return;
	}
	backup->state = FARSWAP_BACKUP_QUEUED;
	list_move_tail(&backup->entry, &backups->queue);
}

/**
 * backup_retire() - a slot's contents change: its copy is of no use any more
 * @backups:	the device's
 * @backup:	the copy
 * @drop:	a list that it goes to, unless somebody still reads or writes it
 *
 * Context: under @backups->lock.
 */
static void backup_retire(struct farswap_backups *backups,
			  struct farswap_backup *backup, struct list_head *drop)
{
	lockdep_assert_held(&backups->lock);
	switch (backup->state) {
	case FARSWAP_BACKUP_FETCHING:
	case FARSWAP_BACKUP_INFLIGHT:
		backup->stale = true;
		break;
	default:
		farswap_backup_remove(backups, backup, drop);
		farswap_stat_add(FARSWAP_STAT_BACKUP_SPARED, 1);
		/* Who waits looks under the lock, when it is on the queue already. */
		if (waitqueue_active(&backups->settled))
			wake_up_all(&backups->settled);
	}
}

/**
 * farswap_backup_css() - whose device write is a folio's: its cgroup's, not the reclaimer's
 * @folio:	locked or under writeback
 *
 * Context: any.
 * Return: a reference for css_put(); or NULL for nobody's.
 */
struct cgroup_subsys_state *farswap_backup_css(struct folio *folio)
{
	struct cgroup_subsys_state *css = NULL;
#if defined(CONFIG_MEMCG) && defined(CONFIG_BLK_CGROUP)
	struct mem_cgroup *memcg;

	/* In later kernels the folio does not keep it. */
	rcu_read_lock();
	memcg = folio_memcg(folio);
	if (memcg)
		css = cgroup_get_e_css(memcg->css.cgroup, &io_cgrp_subsys);
	rcu_read_unlock();
#endif
	return css;
}

/*
 * Copies a page that nobody may have touched for long: a memory error that was not found until
 * now is an error here, where the architecture can do that, and not the machine's end. Not
 * copy_mc_highpage(), which copies tags too (arm64): they would stay with the staging page.
 */
static int backup_copy_page(struct page *to, struct page *from)
{
#ifdef copy_mc_to_kernel
	void *vfrom = kmap_local_page(from), *vto = kmap_local_page(to);
	unsigned long left = copy_mc_to_kernel(vto, vfrom, PAGE_SIZE);

	kunmap_local(vto);
	kunmap_local(vfrom);
	if (!left)
		return 0;
	memory_failure_queue(page_to_pfn(from), 0);
	return -EIO;
#else
	memcpy_page(to, 0, from, 0, PAGE_SIZE);
	return 0;
#endif
}

/* A function of its own, so that memory can be said to fail. */
static noinline int backup_stage_page(struct farswap_backup *backup, struct page *page)
{
	return backup_copy_page(backup->page, page);
}
ALLOW_ERROR_INJECTION(backup_stage_page, ERRNO);

/**
 * farswap_backup_copy() - copy a folio that is being stored
 * @folio:	locked, not under writeback
 * @staged:	as many staging pages as it has
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
 * farswap_backup_add() - the device is to have a folio that is being stored
 * @slab:	its slab
 * @slot:	its first slot there
 * @folio:	locked, not under writeback
 * @staged:	its copies, from farswap_backup_copy(); empty afterwards
 * @sector:	of its first page
 *
 * Sets the unbacked bits. farswap_backup_kick() must follow.
 *
 * Context: process context; does not sleep.
 */
void farswap_backup_add(struct farswap_slab *slab, unsigned int slot,
			struct folio *folio, struct list_head *staged,
			sector_t sector)
{
	struct farswap_backups *backups = &slab->device->backups;
	struct cgroup_subsys_state *css = farswap_backup_css(folio);
	pgoff_t offset = farswap_slab_offset(slab, slot);
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
	spin_lock_irq(&backups->lock);
	list_for_each_entry_safe(backup, next, staged, entry) {
		old = farswap_backup_find(backups, backup->offset);
		if (old)
			backup_retire(backups, old, &drop);
		farswap_backup_queue(backups, backup);
		farswap_backup_insert(backups, backup);
	}
	farswap_slotbits_set(slab->bits.unbacked, slot, nr);
	spin_unlock_irq(&backups->lock);
	farswap_backup_put_all(&drop);
	if (css)
		css_put(css);
}

static noinline void backup_forget(struct farswap_slab *slab, unsigned int slot,
				   unsigned int nr)
{
	struct farswap_backups *backups = &slab->device->backups;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;
	unsigned long flags;
	LIST_HEAD(drop);

	spin_lock_irqsave(&backups->lock, flags);
	for (; nr--; slot++, offset++) {
		if (!test_bit(slot, slab->bits.unbacked))
			continue;
		backup = farswap_backup_find(backups, offset);
		if (backup)
			backup_retire(backups, backup, &drop);
		clear_bit(slot, slab->bits.unbacked);
	}
	spin_unlock_irqrestore(&backups->lock, flags);
	farswap_backup_put_all(&drop);
}

/**
 * farswap_backup_forget() - slots have been freed, or will hold something else
 * @slab:	their slab, which has bits
 * @slot:	the first
 * @nr:		how many, of one cluster
 *
 * Clears the unbacked bits. A write in flight goes on: see farswap_backup_settle().
 *
 * Context: any, also with interrupts off.
 */
void farswap_backup_forget(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr)
{
	if (farswap_slotbits_any(slab->bits.unbacked, slot, nr))
		backup_forget(slab, slot, nr);
}

/**
 * farswap_backup_is_settled() - is no write of slots to the device in flight
 * @slab:	their slab, which has bits
 * @slot:	the first slot
 * @nr:		how many
 *
 * Context: process context; does not sleep.
 * Return: whether none is. After farswap_backup_forget() none begins either, unless they are
 * stored anew.
 */
bool farswap_backup_is_settled(struct farswap_slab *slab, unsigned int slot,
			       unsigned int nr)
{
	struct farswap_backups *backups = &slab->device->backups;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	bool settled = true;

	spin_lock_irq(&backups->lock);
	for (; nr-- && settled; offset++)
		settled = !backup_inflight(backups, offset);
	spin_unlock_irq(&backups->lock);
	return settled;
}

/**
 * farswap_backup_settle() - somebody else is about to write slots to the device
 * @slab:	their slab, which has bits
 * @slot:	the first
 * @nr:		how many, of one cluster
 *
 * Forgets what is staged, and waits until no write of ours is in flight, which
 * might otherwise come last.
 *
 * Context: process context; may sleep, as long as the device takes.
 */
void farswap_backup_settle(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr)
{
	struct farswap_backups *backups = &slab->device->backups;

	farswap_backup_forget(slab, slot, nr);
	if (READ_ONCE(backups->nr))
		wait_event(backups->settled, farswap_backup_is_settled(slab, slot, nr));
}

/**
 * farswap_backup_read() - read a folio from its staging copies
 * @slab:	its slab, which has bits
 * @slot:	its first slot there
 * @folio:	locked, not up to date
 *
 * When a page's copy is gone, the device has it, and its unbacked bit is seen
 * clear after this; or it is remote only.
 *
 * Context: process context; does not sleep.
 * Return: false if not all of its pages have one that can be read.
 */
bool farswap_backup_read(struct farswap_slab *slab, unsigned int slot,
			 struct folio *folio)
{
	struct farswap_backups *backups = &slab->device->backups;
	unsigned int nr = folio_nr_pages(folio), i;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;

	spin_lock_irq(&backups->lock);
	for (i = 0; i < nr; i++) {
		backup = farswap_backup_find(backups, offset + i);
		if (!backup || backup->state == FARSWAP_BACKUP_FETCHING ||
		    backup_copy_page(folio_page(folio, i), backup->page))
			break;
	}
	spin_unlock_irq(&backups->lock);
	return i == nr;
}

/**
 * farswap_backup_state_of() - is there a copy of a slot
 * @slab:	its slab, which has bits
 * @slot:	the slot
 *
 * Context: process context; does not sleep.
 * Return: enum farswap_backup_state, or -ENOENT when there is none.
 */
int farswap_backup_state_of(struct farswap_slab *slab, unsigned int slot)
{
	struct farswap_backups *backups = &slab->device->backups;
	struct farswap_backup *backup;
	int state;

	KUNIT_STATIC_STUB_REDIRECT(farswap_backup_state_of, slab, slot);
	spin_lock_irq(&backups->lock);
	backup = farswap_backup_find(backups, farswap_slab_offset(slab, slot));
	state = backup ? backup->state : -ENOENT;
	spin_unlock_irq(&backups->lock);
	return state;
}

/**
 * farswap_backup_adopt() - a store's remote write has failed: only these are left
 * @slab:	its slab
 * @slot:	its first slot
 * @nr:		how many
 * @owner:	of the store, under writeback; its @backed will be called for
 *		each write that is still to end
 * @error:	set to -EIO if one has failed already
 *
 * Context: any up to interrupts.
 * Return: how many are still to end.
 */
unsigned int farswap_backup_adopt(struct farswap_slab *slab, unsigned int slot,
				  unsigned int nr, struct farswap_backup_owner *owner,
				  int *error)
{
	struct farswap_backups *backups = &slab->device->backups;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;
	unsigned int adopted = 0;
	unsigned long flags;

	spin_lock_irqsave(&backups->lock, flags);
	for (; nr--; offset++) {
		backup = farswap_backup_find(backups, offset);
		if (!backup)
			continue;
		if (backup->state == FARSWAP_BACKUP_KEPT) {
			*error = -EIO;
			continue;
		}
		backup->owner = owner;
		adopted++;
	}
	spin_unlock_irqrestore(&backups->lock, flags);
	return adopted;
}

/*
 * The device writes of backups: a worker for each device takes what is queued, with
 * its neighbours, into bios. What the device can't take, and nobody else has, is kept
 * and tried again.
 *
 * Locking: see struct farswap_backups.
 */

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
			backup_retire(backups, backup, &drop);
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
