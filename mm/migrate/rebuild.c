// SPDX-License-Identifier: GPL-2.0
/*
 * Rebuild. A slab whose donor died is mapped again, empty, and its pages are on the swap device,
 * where page-ins would read them one at a time. A rebuild reads many pages at once, ahead of
 * those page-ins, and writes them to the new region. Infiniswap (section 4.5) leaves this to the
 * faults. The pages of a packed slab are read one by one, and compressed to the units that they
 * had: the device has them as they are.
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
/* Device reads of a packed slab in flight: each reads one page, as their offsets are anywhere. */
#define REBUILD_READS	8

/**
 * struct rebuild_read - the read of a page of a packed slab
 * @rebuild:	the slab that is being rebuilt
 * @bio:	the device read
 * @bvec:	its segment
 * @place:	place of the page's first unit in the run
 */
struct rebuild_read {
	struct rebuild *rebuild;
	struct bio bio;
	struct bio_vec bvec;
	unsigned int place;
};

/**
 * struct rebuild - a slab that is being rebuilt
 * @slab:	the slab
 * @mover:	moves the pages
 * @bio:	the device read
 * @bvecs:	the segments of @bio
 * @reads:	the device reads of a packed slab
 * @tags:	the tags of @reads
 * @objects:	the objects of the run, by their first units
 * @read:	bit mask of the objects whose pages were read
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
	struct rebuild_read *reads;
	struct farswap_tags tags;
	struct farswap_object objects[FARSWAP_GUARD_SLOTS];
	unsigned long read;
	unsigned int errors;
	bool cached;
	bool late;
};

/* Slabs are rebuilt one at a time. Only the removal of a device waits for this queue. */
static struct workqueue_struct *rebuild_wq;

/* Return how many slots, from @slot to a wanted one, a single bio can read. */
static unsigned int rebuild_span(const struct rebuild *rebuild, unsigned int slot)
{
	struct farswap_slab *slab = rebuild->slab;
	unsigned int most = min(rebuild->mover->nr, slab->nr_slots - slot), nr, span = 1;
	sector_t sector;

	if (slab->pack)
		return most;
	sector = farswap_device_sector(slab->device, farswap_slab_offset(slab, slot));
	for (nr = 1; nr < most; nr++) {
		if (farswap_device_sector(slab->device, farswap_slab_offset(slab, slot + nr)) !=
		    sector + ((sector_t)nr << PAGE_SECTORS_SHIFT))
			break;
		if (farswap_guard_rebuild_is_wanted(slab, slot + nr))
			span = nr + 1;
	}
	return span;
}

/* Reads that a task waits for take precedence, but do not starve those of a rebuild. */
static unsigned int rebuild_ioprio(void)
{
	return IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_NR_LEVELS - 1);
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
	bio->bi_ioprio = rebuild_ioprio();
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
static unsigned long rebuild_wanted(struct farswap_slab *slab, unsigned int first,
				    unsigned int nr)
{
	unsigned long wanted = 0;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (farswap_guard_rebuild_is_wanted(slab, first + i))
			wanted |= BIT(i);
	return wanted;
}

static void rebuild_read_done(struct bio *bio)
{
	struct rebuild_read *read = container_of(bio, struct rebuild_read, bio);
	struct rebuild *rebuild = read->rebuild;

	if (!bio->bi_status)
		set_bit(read->place, &rebuild->read);
	bio_uninit(bio);
	/* This comes last, because the waiter frees @rebuild. */
	farswap_tags_put(&rebuild->tags, read - rebuild->reads);
}

/* Start to read the page of an object. */
static void rebuild_read_start(struct rebuild *rebuild, unsigned int place, sector_t sector)
{
	struct rebuild_read *read = &rebuild->reads[farswap_tags_get(&rebuild->tags)];
	struct bio *bio = &read->bio;
	unsigned int nr = 1;

	read->rebuild = rebuild;
	read->place = place;
	bio_init(bio, rebuild->slab->device->si->bdev, &read->bvec, 1, REQ_OP_READ);
	bio->bi_iter.bi_sector = sector;
	bio->bi_ioprio = rebuild_ioprio();
	bio->bi_end_io = rebuild_read_done;
	__bio_add_page(bio, farswap_mover_page(rebuild->mover, place, &nr), PAGE_SIZE, 0);
	submit_bio(bio);
}

/* Start to read the page that begins at a unit, if it is wanted; return false if it is not. */
static bool rebuild_read_object(struct rebuild *rebuild, unsigned int first, unsigned int place)
{
	struct farswap_object *object = &rebuild->objects[place];
	struct farswap_slab *slab = rebuild->slab;
	sector_t sector;

	/* If the object changes after this, the slot is stale in the run. */
	if (!farswap_slab_starts(slab, first + place) ||
	    !farswap_guard_rebuild_is_wanted(slab, first + place) ||
	    !farswap_object_at(slab, first + place, object))
		return false;
	sector = farswap_device_sector(slab->device, farswap_pack_offset(slab, first + place));
	if (sector == (sector_t)-1)
		return false;
	rebuild_read_start(rebuild, place, sector);
	return true;
}

/* Compress a page that was read. Return false if its class is not what the object's entry says. */
static bool rebuild_compress(const struct rebuild *rebuild, unsigned int place)
{
	const struct farswap_object *object = &rebuild->objects[place];
	struct page *packed, *page;
	unsigned int nr = 1, bytes;
	bool same;

	if (!object->bytes)
		return true;
	page = farswap_mover_page(rebuild->mover, place, &nr);
	bytes = farswap_compress(page, &packed);
	/* The entry has the class, so pages of another class can't take the units. */
	same = bytes && farswap_packmap_class(bytes, PAGE_SIZE) == ilog2(object->nr);
	if (same)
		memcpy_page(page, 0, packed, 0, farswap_slab_bytes(rebuild->slab, object->nr));
	farswap_compress_free(packed);
	return same;
}

/* Read pages of a packed slab; return the units of those that are to be written. */
static unsigned long rebuild_read_packed(struct rebuild *rebuild, unsigned int first,
					 unsigned int nr)
{
	unsigned long wanted = 0, units = 0;
	struct blk_plug plug;
	unsigned int place;

	rebuild->read = 0;
	blk_start_plug(&plug);
	for (place = 0; place < nr; place++)
		if (rebuild_read_object(rebuild, first, place))
			wanted |= BIT(place);
	blk_finish_plug(&plug);
	farswap_tags_wait(&rebuild->tags);
	if (rebuild->read != wanted)
		rebuild->errors++;
	for_each_set_bit(place, &rebuild->read, FARSWAP_GUARD_SLOTS) {
		if (!rebuild_compress(rebuild, place))
			continue;
		rebuild->mover->starts |= BIT(place);
		units |= GENMASK(place + rebuild->objects[place].nr - 1, place);
	}
	return units;
}

/* Read pages of a run from the device; return the slots that are to be written. */
static unsigned long rebuild_fetch(struct rebuild *rebuild, unsigned int first, unsigned int nr)
{
	unsigned long wanted;

	if (rebuild->slab->pack)
		return rebuild_read_packed(rebuild, first, nr);
	wanted = rebuild_wanted(rebuild->slab, first, nr);
	return wanted && rebuild_read(rebuild, first, nr) ? wanted : 0;
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
	wanted = rebuild_fetch(rebuild, first, nr);
	if (wanted) {
		/* The region is taken only now: an eviction does not wait for the device. */
		begun = farswap_write_begin_any(&write, slab, ~0U, first, nr);
		rebuild->late = !begun || !farswap_write_enter(&write);
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

/* Return the next slot, from @slot on, at which a page may begin. */
static unsigned int rebuild_next(const struct farswap_slab *slab, unsigned int slot)
{
	return slab->pack ? find_next_bit(slab->pack->map->first, slab->nr_slots, slot) : slot;
}

/* Return the first slot of the run for a wanted slot. A packed page is in one run. */
static unsigned int rebuild_first(const struct farswap_slab *slab, unsigned int slot)
{
	return slab->pack ? round_down(slot, FARSWAP_UNITS) : slot;
}

/* Rebuild as much as possible now; return false if the rest has to be retried later. */
static bool rebuild_all(struct rebuild *rebuild)
{
	struct farswap_slab *slab = rebuild->slab;
	unsigned int slot = 0, nr;
	ktime_t begun;

	while ((slot = rebuild_next(slab, slot)) < slab->nr_slots &&
	       rebuild->errors < REBUILD_ERRORS) {
		cond_resched();
		if (!farswap_guard_rebuild_is_wanted(slab, slot)) {
			rebuild->cached |= farswap_guard_rebuild_is_cached(slab, slot);
			slot++;
			continue;
		}
		if (!rebuild_may_go_on(slab) || rebuild_is_late(rebuild))
			return false;
		begun = ktime_get();
		slot = rebuild_first(slab, slot);
		nr = rebuild_span(rebuild, slot);
		rebuild_one_run(rebuild, slot, nr);
		farswap_copy_rest(farswap_slab_pages(slab, nr),
				  READ_ONCE(farswap_settings.repair_mb), begun);
		slot += nr;
	}
	return !rebuild_is_late(rebuild);
}

static void rebuild_free(struct rebuild *rebuild)
{
	if (rebuild->mover)
		farswap_mover_free(rebuild->mover);
	kfree(rebuild->reads);
	kfree(rebuild);
}

static struct rebuild *rebuild_alloc(struct farswap_slab *slab)
{
	const gfp_t gfp = GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY;
	struct rebuild *rebuild = kzalloc(sizeof(*rebuild), gfp);

	if (!rebuild)
		return NULL;
	rebuild->slab = slab;
	farswap_tags_init(&rebuild->tags, REBUILD_READS);
	rebuild->reads = kcalloc(REBUILD_READS, sizeof(*rebuild->reads), gfp);
	rebuild->mover = farswap_mover_alloc(slab);
	if (rebuild->reads && rebuild->mover)
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
 * farswap_rebuild_map() - have a packed slab that was lost mapped again
 * @slab:	a slab
 *
 * A linear slab is mapped at the next I/O of one of its pages. A packed slab has no pages of its
 * own: it is mapped if it was so full that its pages should come back together.
 *
 * Context: process context; does not sleep.
 */
void farswap_rebuild_map(struct farswap_slab *slab)
{
	if (slab->pack && !slab->device->protect &&
	    READ_ONCE(slab->state) == FARSWAP_SLAB_UNMAPPED &&
	    READ_ONCE(slab->rebuilds) && farswap_packs_on() && !farswap_zswap_seen() &&
	    farswap_packmap_is_worth(slab->pack->map))
		farswap_slab_want(slab);
}

/**
 * farswap_rebuild_look() - queue the rebuild of a slab, if one is requested
 * @slab:	a slab with bitmaps
 *
 * Its region was lost, or could not take what was stored.
 *
 * Context: process context; does not sleep.
 */
void farswap_rebuild_look(struct farswap_slab *slab)
{
	bool strays = rebuild_has_strays(slab);

	/* A run seals whole pages only: packed ones come back as they are read or stored. */
	if ((!strays && !rebuild_is_due(slab)) || farswap_zswap_seen() ||
	    (slab->pack && slab->device->protect))
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
