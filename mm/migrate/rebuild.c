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
#include <linux/gfp.h>
#include <linux/ioprio.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "internal.h"
#include "slab/guard.h"

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
/* Order of the memory for one device read; a lower order serves if there is none. */
#define REBUILD_ORDER	ilog2(FARSWAP_GUARD_SLOTS)

/**
 * struct rebuild - a slab that is being rebuilt
 * @slab:	the slab
 * @pages:	the memory that the pages pass through
 * @order:	the order of @pages
 * @bio:	the device read
 * @bvec:	the only segment of @bio
 * @tags:	the tags of @writes
 * @run:	takes the region and the room in the window for all @writes of a run
 * @arrived:	bit mask of the run's slots that the region has
 * @errors:	reads of the device that failed
 * @cached:	slots were skipped because they are in the swap cache
 * @late:	the rebuild has to be retried later: a write failed, or slots were skipped because
 *		no region accepts pages or the donor's window has no room
 * @writes:	the writes of a run; they have gaps between them, so there are at most half as many
 *		as slots
 */
struct rebuild {
	struct farswap_slab *slab;
	struct page *pages;
	unsigned int order;
	struct bio bio;
	struct bio_vec bvec;
	struct farswap_tags tags;
	struct farswap_write run;
	unsigned long arrived;
	unsigned int errors;
	bool cached;
	bool late;
	struct farswap_write writes[FARSWAP_GUARD_SLOTS / 2];
};

/* Slabs are rebuilt one at a time. Only the removal of a device waits for this queue. */
static struct workqueue_struct *rebuild_wq;

/* Return how many slots, from @slot to a wanted one, a single bio can read. */
static unsigned int rebuild_span(const struct rebuild *rebuild, unsigned int slot)
{
	const struct farswap_slab *slab = rebuild->slab;
	sector_t sector = farswap_device_sector(slab->device, farswap_slab_offset(slab, slot));
	unsigned int most = min(1U << rebuild->order, slab->nr_slots - slot), nr, span = 1;

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
	int err;

	bio_init(bio, slab->device->si->bdev, &rebuild->bvec, 1, REQ_OP_READ);
	bio->bi_iter.bi_sector =
		farswap_device_sector(slab->device, farswap_slab_offset(slab, first));
	/* Reads that a task waits for take precedence, but do not starve this one. */
	bio->bi_ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_NR_LEVELS - 1);
	__bio_add_page(bio, rebuild->pages, nr << PAGE_SHIFT, 0);
	err = submit_bio_wait(bio);
	bio_uninit(bio);
	return !err;
}

static void rebuild_write_done(struct farswap_write *write, int error)
{
	struct rebuild *rebuild = write->owner;

	if (error)
		WRITE_ONCE(rebuild->late, true);
	else
		farswap_slotbits_set(&rebuild->arrived, write->slot - rebuild->run.slot, write->nr);
	/* This comes last, because the waiter frees @rebuild. */
	farswap_tags_put(&rebuild->tags, write - rebuild->writes);
}

static void rebuild_submit(struct rebuild *rebuild, unsigned int start, unsigned int end)
{
	struct farswap_write *write = &rebuild->writes[farswap_tags_get(&rebuild->tags)];

	*write = (struct farswap_write) {
		.mapping = rebuild->run.mapping,
		.slot = rebuild->run.slot + start,
		.nr = end - start,
		.guarded = true,
		.owner = rebuild,
		.done = rebuild_write_done,
	};
	farswap_write_mark(rebuild->slab, write->slot, write->nr);
	farswap_write_submit(write, rebuild->pages + start);
}

static void rebuild_write(struct rebuild *rebuild)
{
	unsigned long wanted = farswap_guard_rebuild_write();
	unsigned int start, end;

	rebuild->arrived = 0;
	for_each_set_bitrange(start, end, &wanted, FARSWAP_GUARD_SLOTS)
		rebuild_submit(rebuild, start, end);
	farswap_tags_wait(&rebuild->tags);
}

static void rebuild_one_run(struct rebuild *rebuild, unsigned int first, unsigned int nr)
{
	bool begun;

	farswap_guard_rebuild_begin(rebuild->slab, first, nr);
	if (!rebuild_read(rebuild, first, nr)) {
		rebuild->errors++;
		farswap_guard_rebuild_cancel();
		return;
	}
	/* The mapping is taken only now, so that an eviction does not wait for the device read. */
	begun = farswap_write_begin_any(&rebuild->run, rebuild->slab, first, nr);
	if (begun && farswap_write_enter(&rebuild->run)) {
		rebuild_write(rebuild);
		farswap_guard_rebuild_end(rebuild->run.mapping, rebuild->arrived);
	} else {
		rebuild->late = true;
		farswap_guard_rebuild_cancel();
	}
	if (begun)
		farswap_write_end(&rebuild->run);
}

static bool rebuild_may_go_on(const struct farswap_slab *slab)
{
	const struct farswap_device *device = slab->device;

	return READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED && farswap_may_store() &&
	       !READ_ONCE(device->closing) && farswap_device_writable(device) &&
	       !farswap_hook_zswap_holds();
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
		if (!rebuild_may_go_on(slab) || READ_ONCE(rebuild->late))
			return false;
		begun = ktime_get();
		nr = rebuild_span(rebuild, slot);
		rebuild_one_run(rebuild, slot, nr);
		farswap_copy_rest(nr, READ_ONCE(farswap_settings.repair_mb), begun);
		slot += nr;
	}
	return !rebuild->late;
}

static void rebuild_free(struct rebuild *rebuild)
{
	if (rebuild->pages)
		__free_pages(rebuild->pages, rebuild->order);
	kfree(rebuild);
}

static struct rebuild *rebuild_alloc(struct farswap_slab *slab)
{
	gfp_t gfp = GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY;
	struct rebuild *rebuild = kzalloc(sizeof(*rebuild), gfp);
	unsigned int i;

	if (!rebuild)
		return NULL;
	rebuild->slab = slab;
	farswap_tags_init(&rebuild->tags, ARRAY_SIZE(rebuild->writes));
	for (i = REBUILD_ORDER + 1; i-- && !rebuild->pages;) {
		rebuild->order = i;
		rebuild->pages = alloc_pages(gfp | __GFP_COMP, i);
	}
	if (rebuild->pages)
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
