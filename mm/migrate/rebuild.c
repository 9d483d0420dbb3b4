// SPDX-License-Identifier: GPL-2.0
/*
 * Rebuild. A slab whose donor died is mapped again, empty, and its pages are on the swap device,
 * where page-ins would read them one at a time. A rebuild reads many pages at once, ahead of
 * those page-ins, and writes them to the new region. Infiniswap (section 4.5) leaves this to the
 * faults.
 *
 * slab/guard.c protects the pages against concurrent stores and promotions.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/farswap.h>
#include <linux/ioprio.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "internal.h"
#include "migrate/mover.h"

/*
 * Passes over a slab. A page that is in the swap cache during one pass is rebuilt by a later
 * one, when it has left the cache. After the last pass the rest is left to promotion. The pause
 * between passes doubles after the third, up to 16 s: passes go on for seven minutes.
 */
#define REBUILD_PASSES	32
#define REBUILD_PAUSE	HZ
#define REBUILD_PAUSE_SHIFT	4
/* Failed device reads after which a rebuild stops: the device is partly or entirely bad. */
#define REBUILD_ERRORS	4
/* Time to wait until a copy of the same slots to the same region has ended. */
#define REBUILD_WAIT	(HZ / 4)

/**
 * struct rebuild - a slab that is being rebuilt
 * @slab:	the slab
 * @mover:	moves the pages
 * @bio:	the device read
 * @bvecs:	the segments of @bio
 * @errors:	reads of the device that failed
 * @cached:	slots were skipped because they are in the swap cache
 * @late:	the rebuild has to be retried later, because no region accepts pages or the donor's
 *		window has no room
 */
struct rebuild {
	struct farswap_slab *slab;
	struct farswap_mover *mover;
	struct bio bio;
	struct bio_vec bvecs[FARSWAP_GUARD_SLOTS];
	unsigned int errors;
	bool cached;
	bool late;
};

/* Slabs are rebuilt one at a time. Only the removal of a device waits for this queue. */
static struct workqueue_struct *rebuild_wq;

/* Return how many slots, from @slot to a wanted one, a single bio can read. */
static unsigned int rebuild_span(const struct rebuild *rebuild, unsigned int slot)
{
	const struct farswap_slab *slab = rebuild->slab;
	sector_t sector = farswap_device_sector(slab->device, farswap_slab_offset(slab, slot));
	unsigned int most = min(rebuild->mover->nr, slab->nr_slots - slot), nr, span = 1;

	for (nr = 1; nr < most; nr++) {
		if (farswap_device_sector(slab->device, farswap_slab_offset(slab, slot + nr)) !=
		    sector + ((sector_t)nr << PAGE_SECTORS_SHIFT))
			break;
		if (farswap_guard_rebuild_is_wanted(slab, slot + nr))
			span = nr + 1;
	}
	return span;
}

static bool rebuild_read(struct rebuild *rebuild, unsigned int first, unsigned int nr)
{
	struct farswap_slab *slab = rebuild->slab;
	struct bio *bio = &rebuild->bio;
	unsigned int i, part;
	struct page *page;
	int err;

	bio_init(bio, slab->device->si->bdev, rebuild->bvecs, ARRAY_SIZE(rebuild->bvecs),
		 REQ_OP_READ);
	bio->bi_iter.bi_sector =
		farswap_device_sector(slab->device, farswap_slab_offset(slab, first));
	/* Reads that a task waits for take precedence, but do not starve this one. */
	bio->bi_ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_NR_LEVELS - 1);
	for (i = 0; i < nr; i += part) {
		part = nr - i;
		page = farswap_mover_page(rebuild->mover, i, &part);
		__bio_add_page(bio, page, part << PAGE_SHIFT, 0);
	}
	err = submit_bio_wait(bio);
	bio_uninit(bio);
	if (err)
		rebuild->errors++;
	return !err;
}

/* Return which of the slots are wanted, as a bit mask. */
static unsigned long rebuild_wanted(const struct farswap_slab *slab, unsigned int first,
				    unsigned int nr)
{
	unsigned long wanted = 0;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (farswap_guard_rebuild_is_wanted(slab, first + i))
			wanted |= BIT(i);
	return wanted;
}

static void rebuild_one_run(struct rebuild *rebuild, unsigned int first, unsigned int nr)
{
	struct farswap_slab *slab = rebuild->slab;
	struct farswap_write write;
	unsigned int moved = 0;
	unsigned long wanted;
	bool begun = false;

	rebuild->late = !farswap_mover_begin(rebuild->mover, first);
	if (rebuild->late)
		return;
	wanted = rebuild_wanted(slab, first, nr);
	if (wanted && rebuild_read(rebuild, first, nr)) {
		/* The region is taken only now: an eviction does not wait for the device. */
		begun = farswap_write_begin_any(&write, slab, ~0U, first, nr);
		rebuild->late = !begun || !farswap_write_enter(&write);
	} else {
		wanted = 0;
	}
	if (wanted && !rebuild->late)
		moved = farswap_mover_write(rebuild->mover, &write, wanted, REBUILD_WAIT);
	else
		farswap_mover_cancel(rebuild->mover);
	farswap_stat_add(FARSWAP_STAT_REBUILT, moved);
	if (begun)
		farswap_write_end(&write);
}

static bool rebuild_may_go_on(const struct farswap_slab *slab)
{
	const struct farswap_device *device = slab->device;

	return READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED && farswap_may_store() &&
	       !READ_ONCE(device->closing) && farswap_device_writable(device) &&
	       !farswap_hook_zswap_holds();
}

static bool rebuild_is_late(const struct rebuild *rebuild)
{
	return rebuild->late || READ_ONCE(rebuild->mover->failed);
}

/* Rebuild as much as possible now; return false if the rest has to be retried later. */
static bool rebuild_all(struct rebuild *rebuild)
{
	struct farswap_slab *slab = rebuild->slab;
	unsigned int slot = 0, nr;
	ktime_t begun;

	while (slot < slab->nr_slots && rebuild->errors < REBUILD_ERRORS) {
		cond_resched();
		if (!farswap_guard_rebuild_is_wanted(slab, slot)) {
			rebuild->cached |= farswap_guard_rebuild_is_cached(slab, slot);
			slot++;
			continue;
		}
		if (!rebuild_may_go_on(slab) || rebuild_is_late(rebuild))
			return false;
		begun = ktime_get();
		nr = rebuild_span(rebuild, slot);
		rebuild_one_run(rebuild, slot, nr);
		farswap_copy_rest(nr, READ_ONCE(farswap_settings.repair_mb), begun);
		slot += nr;
	}
	return !rebuild_is_late(rebuild);
}

static void rebuild_free(struct rebuild *rebuild)
{
	if (rebuild->mover)
		farswap_mover_free(rebuild->mover);
	kfree(rebuild);
}

static struct rebuild *rebuild_alloc(struct farswap_slab *slab)
{
	struct rebuild *rebuild = kzalloc(sizeof(*rebuild),
					  GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY);

	if (!rebuild)
		return NULL;
	rebuild->slab = slab;
	rebuild->mover = farswap_mover_alloc(slab);
	if (rebuild->mover)
		return rebuild;
	rebuild_free(rebuild);
	return NULL;
}

/**
 * farswap_rebuild_work() - write a slab's pages from the device to its region
 * @work:	the slab's work
 *
 * The work is best effort. If it could not complete, farswap_rebuild_look() queues it again.
 *
 * Context: may sleep, as long as the reads, the writes and the pauses between them take.
 */
void farswap_rebuild_work(struct work_struct *work)
{
	struct farswap_slab *slab = container_of(work, struct farswap_slab, rebuild_work);
	struct rebuild *rebuild = rebuild_alloc(slab);
	unsigned int passes, left;

	if (!rebuild)
		return;
	spin_lock(&farswap_state_lock);
	passes = slab->rebuilds;
	slab->rebuilds = 0;
	spin_unlock(&farswap_state_lock);

	left = !rebuild_all(rebuild) ? passes : rebuild->cached && passes ? passes - 1 : 0;

	spin_lock(&farswap_state_lock);
	/* The slab may have been lost again in the meantime. */
	if (!slab->rebuilds) {
		slab->rebuilds = left;
		slab->rebuild_at = jiffies +
			(REBUILD_PAUSE << clamp(REBUILD_PASSES - 3 - (int)left, 0,
						REBUILD_PAUSE_SHIFT));
	}
	spin_unlock(&farswap_state_lock);
	rebuild_free(rebuild);
}

/**
 * farswap_rebuild_want() - request a rebuild of a slab whose pages are on the device
 * @slab:	the slab
 *
 * Context: under farswap_state_lock.
 */
void farswap_rebuild_want(struct farswap_slab *slab)
{
	lockdep_assert_held(&farswap_state_lock);
	slab->rebuilds = REBUILD_PASSES;
	slab->rebuild_at = jiffies;
}

/*
 * Did the device get pages instead of the region, but none within the last second? Then the donor
 * accepts pages again, and most of these have left the swap cache.
 */
static bool rebuild_has_strays(const struct farswap_slab *slab)
{
	return READ_ONCE(slab->strayed) &&
	       time_after(jiffies, READ_ONCE(slab->stray_at) + REBUILD_PAUSE);
}

static bool rebuild_is_due(const struct farswap_slab *slab)
{
	return READ_ONCE(slab->rebuilds) && !time_before(jiffies, READ_ONCE(slab->rebuild_at));
}

/**
 * farswap_rebuild_look() - queue the rebuild of a slab, if one is requested
 * @slab:	a slab that has bits
 *
 * Its region was lost, or could not take what was stored.
 *
 * Context: process context; does not sleep.
 */
void farswap_rebuild_look(struct farswap_slab *slab)
{
	bool strays = rebuild_has_strays(slab);

	/* Packed pages come back one by one, as they are read or stored. */
	if ((!strays && !rebuild_is_due(slab)) || farswap_zswap_seen() || slab->pack)
		return;
	spin_lock(&farswap_state_lock);
	/* The work is cancelled only after one of these conditions has become false. */
	if (slab->state == FARSWAP_SLAB_MAPPED && !slab->device->closing &&
	    farswap_may_store() && farswap_device_writable(slab->device)) {
		if (strays) {
			WRITE_ONCE(slab->strayed, false);
			farswap_rebuild_want(slab);
		}
		queue_work(rebuild_wq, &slab->rebuild_work);
	}
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_rebuild_cancel() - cancel all rebuilds from a device
 * @device:	a device on which no new rebuild starts
 *
 * Context: under farswap_devices_lock; may sleep, until the device and a donor complete the I/O
 * in flight.
 */
void farswap_rebuild_cancel(struct farswap_device *device)
{
	struct farswap_slab *slab;
	unsigned long i;

	/* After this, a farswap_rebuild_look() that saw the old state has queued its work. */
	spin_lock(&farswap_state_lock);
	spin_unlock(&farswap_state_lock);
	for (i = 0; i < device->map->nr_slabs; i++) {
		slab = READ_ONCE(device->map->slab[i]);
		if (slab)
			cancel_work_sync(&slab->rebuild_work);
	}
}

/**
 * farswap_rebuild_init() - allocate the workqueue
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_rebuild_init(void)
{
	rebuild_wq = alloc_ordered_workqueue("farswap_rebuild", WQ_MEM_RECLAIM);
	return rebuild_wq ? 0 : -ENOMEM;
}

/**
 * farswap_rebuild_exit() - free the workqueue
 */
void farswap_rebuild_exit(void)
{
	destroy_workqueue(rebuild_wq);
}
