// SPDX-License-Identifier: GPL-2.0
/*
 * Rebuild: a slab whose donor died is mapped again, empty, and what it held is on the
 * swap device, which would be read a page at a time, by those who miss the pages.
 * Here they are read many at once, ahead of that, and written to the new region.
 * Infiniswap (section 4.5) leaves it to the faults.
 *
 * Not through the swap cache, where they would push out others. So what keeps the
 * device's copy and the slot together is not a folio's lock. A slot that has no folio in
 * the swap cache, and of which the device is owed nothing, is on the device as it should
 * be, and stays so until it is stored to or freed. Both are announced here before the
 * remote bit is cleared, and so is a promotion; then the slot does not get the bit from us.
 * As for who announced it before there was somebody to hear it: stores and promotions have
 * their folio in the swap cache.
 *
 * Locking: rebuild_run.lock; nothing is taken inside it. It nests inside the kernel's
 * lock of the slots, with interrupts off.
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

/*
 * Passes over a slab: pages that are in the swap cache at the first come to be missed when
 * they have left it. After that it is left to promotion. The pauses between them double
 * after the third.
 */
#define REBUILD_PASSES	8
#define REBUILD_PAUSE	HZ
/* Reads of a slab that may fail: the device is bad in places, or altogether. */
#define REBUILD_ERRORS	4
/* Pages that are read at once: 128 KiB, if there is such memory. */
#define REBUILD_PAGES	32U
#define REBUILD_ORDER	ilog2(REBUILD_PAGES)

/**
 * struct rebuild_run - the slots that are being rebuilt
 * @lock:	of all that follows
 * @slab:	whose; also looked at without the lock
 * @first:	the first
 * @wanted:	bit mask of those that are to get the remote bit
 * @stale:	bit mask of those that were stored to or freed meanwhile
 * @writing:	the region is being written
 */
static struct rebuild_run {
	spinlock_t lock;	/* of all the others */
	const struct farswap_slab *slab;
	unsigned int first;
	unsigned long wanted;
	unsigned long stale;
	bool writing;
} rebuild_run = {
	.lock = __SPIN_LOCK_UNLOCKED(rebuild_run.lock),
};

/**
 * struct rebuild_write - consecutive pages on their way to the region
 * @io:		the remote write
 * @rebuild:	of which
 * @slots:	bit mask of the run's slots that it writes
 */
struct rebuild_write {
	struct farswap_io io;
	struct rebuild *rebuild;
	unsigned long slots;
};

/**
 * struct rebuild - a slab that is being rebuilt
 * @slab:	the slab
 * @pages:	through which memory
 * @order:	how much of it
 * @bio:	the device read
 * @bvec:	its only segment
 * @tags:	of @writes
 * @arrived:	bit mask of the run's slots that the region has
 * @cached:	slots were left out that are in the swap cache
 * @errors:	reads of the device that failed
 * @late:	a write failed, or slots were left out for want of room, or of a region that
 *		takes pages: not now
 * @writes:	no two neighbours, so there are not more
 */
struct rebuild {
	struct farswap_slab *slab;
	struct page *pages;
	unsigned int order;
	struct bio bio;
	struct bio_vec bvec;
	struct farswap_tags tags;
	unsigned long arrived;
	unsigned int errors;
	bool cached;
	bool late;
	struct rebuild_write writes[REBUILD_PAGES / 2];
};

/* One slab after the other. Waits for the device; nothing waits for it but the end of one. */
static struct workqueue_struct *rebuild_wq;

/**
 * farswap_rebuild_excludes() - slots are about to be stored to, promoted, or freed
 * @slab:	their slab
 * @slot:	the first
 * @nr:		how many
 *
 * To be called before their remote bits are cleared.
 *
 * Context: any, also with interrupts off.
 * Return: whether an older page of one of them may still be on its way to the region: it
 * must not be written there now.
 */
bool farswap_rebuild_excludes(const struct farswap_slab *slab, unsigned int slot,
			      unsigned int nr)
{
	unsigned int first, end;
	bool excludes = false;
	unsigned long flags, met;

	/* Pairs with rebuild_run_begin(): either it finds the folio, or we find the run. */
	smp_mb();
	/* Pairs with rebuild_run_end(): who finds none clears the bits that it has set. */
	if (likely(smp_load_acquire(&rebuild_run.slab) != slab))
		return false;
	spin_lock_irqsave(&rebuild_run.lock, flags);
	first = max(slot, rebuild_run.first);
	end = min(slot + nr, rebuild_run.first + REBUILD_PAGES);
	if (rebuild_run.slab == slab && first < end) {
		met = GENMASK(end - 1 - rebuild_run.first, first - rebuild_run.first);
		rebuild_run.stale |= met;
		excludes = rebuild_run.writing && (rebuild_run.wanted & met);
	}
	spin_unlock_irqrestore(&rebuild_run.lock, flags);
	return excludes;
}

/* Is it in a region that can be read? */
static bool rebuild_slot_is_remote(const struct farswap_slab *slab, unsigned int slot)
{
	const struct farswap_mapping *mapping;
	bool remote = false;
	unsigned int nth;

	if (!test_bit(slot, slab->bits.remote))
		return false;
	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && !remote; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		remote = mapping && !farswap_donor_is_suspect(mapping->donor) &&
			 farswap_mapping_has(mapping, slot, 1);
	}
	rcu_read_unlock();
	return remote;
}

static unsigned int rebuild_slot(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_device_slot(slab->device, farswap_slab_offset(slab, slot));
}

/*
 * Is it on the device alone, as far as can be told now? If that changes next, then we
 * hear of it, see above. What has left the swap cache since zswap took pages may be there.
 */
static bool rebuild_slot_is_wanted(const struct farswap_slab *slab, unsigned int slot)
{
	unsigned int flags = rebuild_slot(slab, slot);

	if (!(flags & FARSWAP_SLOT_USED) || flags & FARSWAP_SLOT_CACHED)
		return false;
	/* A store that has left the swap cache has told before what the device is owed. */
	smp_rmb();
	return !test_bit(slot, slab->bits.unbacked) &&
	       !rebuild_slot_is_remote(slab, slot) && !farswap_slab_zero(slab, slot) &&
	       !farswap_promote_saw_zswap();
}

/* It may be wanted when it has left the swap cache. */
static bool rebuild_slot_is_cached(const struct farswap_slab *slab, unsigned int slot)
{
	return rebuild_slot(slab, slot) & FARSWAP_SLOT_CACHED &&
	       !rebuild_slot_is_remote(slab, slot);
}

/* How many slots from here on, the last a wanted one, can be read by one bio. */
static unsigned int rebuild_span(const struct rebuild *rebuild, unsigned int slot)
{
	const struct farswap_slab *slab = rebuild->slab;
	sector_t sector = farswap_device_sector(slab->device, farswap_slab_offset(slab, slot));
	unsigned int most = min(1U << rebuild->order, slab->nr_slots - slot), nr, span = 1;

	for (nr = 1; nr < most; nr++) {
		if (farswap_device_sector(slab->device, farswap_slab_offset(slab, slot + nr)) !=
		    sector + ((sector_t)nr << PAGE_SECTORS_SHIFT))
			break;
		if (rebuild_slot_is_wanted(slab, slot + nr))
			span = nr + 1;
	}
	return span;
}

static void rebuild_run_begin(const struct rebuild *rebuild, unsigned int first,
			      unsigned int nr)
{
	const struct farswap_slab *slab = rebuild->slab;
	unsigned long wanted = 0;
	unsigned int i;

	spin_lock_irq(&rebuild_run.lock);
	rebuild_run.first = first;
	rebuild_run.wanted = 0;
	rebuild_run.stale = 0;
	rebuild_run.writing = false;
	WRITE_ONCE(rebuild_run.slab, slab);
	spin_unlock_irq(&rebuild_run.lock);
	/* Pairs with farswap_rebuild_excludes(). */
	smp_mb();
	for (i = 0; i < nr; i++)
		if (rebuild_slot_is_wanted(slab, first + i))
			wanted |= BIT(i);
	spin_lock_irq(&rebuild_run.lock);
	rebuild_run.wanted = wanted;
	spin_unlock_irq(&rebuild_run.lock);
}

/* From now on a store to one of the slots does not go to the region. */
static unsigned long rebuild_run_write(void)
{
	unsigned long wanted;

	spin_lock_irq(&rebuild_run.lock);
	rebuild_run.writing = true;
	rebuild_run.wanted &= ~rebuild_run.stale;
	wanted = rebuild_run.wanted;
	spin_unlock_irq(&rebuild_run.lock);
	return wanted;
}

/* What has arrived is there from now on, unless it is old already. */
static void rebuild_run_end(struct farswap_mapping *mapping, unsigned long arrived)
{
	unsigned long good;
	unsigned int slot;

	spin_lock_irq(&rebuild_run.lock);
	good = arrived & rebuild_run.wanted & ~rebuild_run.stale;
	for_each_set_bit(slot, &good, REBUILD_PAGES)
		clear_bit(rebuild_run.first + slot, mapping->missing);
	/*
	 * A look without the folio's lock is not to find both bits set; and a load that finds
	 * the second is to find what the others miss: pairs with farswap_mapping_find().
	 */
	smp_mb__after_atomic();
	for_each_set_bit(slot, &good, REBUILD_PAGES)
		set_bit(rebuild_run.first + slot, mapping->slab->bits.remote);
	/* Pairs with farswap_rebuild_excludes(). */
	smp_store_release(&rebuild_run.slab, NULL);
	spin_unlock_irq(&rebuild_run.lock);
	farswap_stat_add(FARSWAP_STAT_REBUILT, hweight_long(good));
}

static void rebuild_run_cancel(void)
{
	spin_lock_irq(&rebuild_run.lock);
	/* As above. */
	smp_store_release(&rebuild_run.slab, NULL);
	spin_unlock_irq(&rebuild_run.lock);
}

static bool rebuild_read(struct rebuild *rebuild, unsigned int first, unsigned int nr)
{
	struct farswap_slab *slab = rebuild->slab;
	struct bio *bio = &rebuild->bio;
	int err;

	bio_init(bio, slab->device->si->bdev, &rebuild->bvec, 1, REQ_OP_READ);
	bio->bi_iter.bi_sector =
		farswap_device_sector(slab->device, farswap_slab_offset(slab, first));
	/* What somebody waits for comes first; but not for ever. */
	bio->bi_ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_NR_LEVELS - 1);
	__bio_add_page(bio, rebuild->pages, nr << PAGE_SHIFT, 0);
	err = submit_bio_wait(bio);
	bio_uninit(bio);
	return !err;
}

static void rebuild_write_done(struct farswap_io *io, int error)
{
	struct rebuild_write *write = container_of(io, struct rebuild_write, io);
	struct rebuild *rebuild = write->rebuild;
	unsigned int slot;

	if (error)
		WRITE_ONCE(rebuild->late, true);
	for_each_set_bit(slot, &write->slots, REBUILD_PAGES)
		if (!error)
			set_bit(slot, &rebuild->arrived);
	/* Last: who waits frees @rebuild. */
	farswap_tags_put(&rebuild->tags, write - rebuild->writes);
}

static void rebuild_submit(struct rebuild *rebuild, struct farswap_mapping *mapping,
			   unsigned int first, unsigned int start, unsigned int end)
{
	struct rebuild_write *write = &rebuild->writes[farswap_tags_get(&rebuild->tags)];
	struct farswap_io *io = &write->io;
	unsigned int slot;

	write->slots = GENMASK(end - 1, start);
	io->page = rebuild->pages + start;
	io->offset = (first + start) << PAGE_SHIFT;
	io->length = (end - start) << PAGE_SHIFT;
	io->op = FARSWAP_IO_WRITE;
	io->urgent = false;
	io->done = rebuild_write_done;
	/* Those with the bit are there too, at a suspect donor. */
	for_each_set_bit(slot, &write->slots, REBUILD_PAGES)
		if (!test_bit(first + slot, rebuild->slab->bits.remote))
			farswap_mapping_store_mark(rebuild->slab, first + slot, 1);
	if (farswap_mapping_submit(mapping, io))
		rebuild_write_done(io, -EHOSTDOWN);
}

static void rebuild_write(struct rebuild *rebuild, struct farswap_mapping *mapping,
			  unsigned int first)
{
	unsigned long wanted = rebuild_run_write();
	unsigned int start, end;

	rebuild->arrived = 0;
	for_each_set_bitrange(start, end, &wanted, REBUILD_PAGES)
		rebuild_submit(rebuild, mapping, first, start, end);
	farswap_tags_wait(&rebuild->tags);
}

/* One region is enough: the others get the pages from there. */
static struct farswap_mapping *rebuild_mapping(struct farswap_slab *slab,
					       unsigned int first, unsigned int nr)
{
	struct farswap_mapping *mapping = NULL;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && !mapping; nth++)
		mapping = farswap_mapping_store_begin(slab, nth, first, nr, false);
	return mapping;
}

static void rebuild_one_run(struct rebuild *rebuild, unsigned int first, unsigned int nr)
{
	struct farswap_mapping *mapping;

	rebuild_run_begin(rebuild, first, nr);
	if (!rebuild_read(rebuild, first, nr)) {
		rebuild->errors++;
		rebuild_run_cancel();
		return;
	}
	/* Only now: who wants the region back does not wait for the device. */
	mapping = rebuild_mapping(rebuild->slab, first, nr);
	if (mapping && farswap_window_enter(&mapping->donor->window, nr)) {
		rebuild_write(rebuild, mapping, first);
		rebuild_run_end(mapping, rebuild->arrived);
		farswap_window_leave(&mapping->donor->window, nr);
	} else {
		rebuild->late = true;
		rebuild_run_cancel();
	}
	if (mapping)
		farswap_mapping_store_end(mapping);
}

static bool rebuild_may_go_on(const struct farswap_slab *slab)
{
	const struct farswap_device *device = slab->device;

	return READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED && farswap_may_store() &&
	       !READ_ONCE(device->closing) && farswap_device_writable(device) &&
	       !farswap_hook_zswap_holds();
}

/* False: there may be more to do, another time. */
static bool rebuild_all(struct rebuild *rebuild)
{
	struct farswap_slab *slab = rebuild->slab;
	unsigned int slot = 0, nr;
	ktime_t begun;

	while (slot < slab->nr_slots && rebuild->errors < REBUILD_ERRORS) {
		cond_resched();
		if (!rebuild_slot_is_wanted(slab, slot)) {
			rebuild->cached |= rebuild_slot_is_cached(slab, slot);
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
	for (i = 0; i < ARRAY_SIZE(rebuild->writes); i++)
		rebuild->writes[i].rebuild = rebuild;
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
 * farswap_rebuild_work() - give a slab what the device has of it
 * @work:	the slab's
 *
 * As far as it goes; if it was only kept from it, farswap_rebuild_look() begins again.
 *
 * Context: may sleep, as long as reading and writing take, and as it rests in between.
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
	/* It may have been lost again meanwhile. */
	if (!slab->rebuilds) {
		slab->rebuilds = left;
		slab->rebuild_at = jiffies +
			(REBUILD_PAUSE << max(REBUILD_PASSES - 3 - (int)left, 0));
	}
	spin_unlock(&farswap_state_lock);
	rebuild_free(rebuild);
}

/**
 * farswap_rebuild_want() - a slab has lost pages that the device has
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

/**
 * farswap_rebuild_look() - have a slab rebuilt, if it was lost
 * @slab:	a slab that has bits
 *
 * Context: process context; does not sleep.
 */
void farswap_rebuild_look(struct farswap_slab *slab)
{
	if (!READ_ONCE(slab->rebuilds) || farswap_promote_saw_zswap() ||
	    time_before(jiffies, READ_ONCE(slab->rebuild_at)))
		return;
	spin_lock(&farswap_state_lock);
	/* Who cancels it has ended one of these before. */
	if (slab->state == FARSWAP_SLAB_MAPPED && !slab->device->closing &&
	    farswap_may_store() && farswap_device_writable(slab->device))
		queue_work(rebuild_wq, &slab->rebuild_work);
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_rebuild_cancel() - read no page of a device any more
 * @device:	one on which no rebuilding begins any more
 *
 * Context: under farswap_devices_lock; may sleep, as long as the device and a donor take
 * for what is in flight.
 */
void farswap_rebuild_cancel(struct farswap_device *device)
{
	struct farswap_slab *slab;
	unsigned long i;

	/* Who saw it as it was has queued his work by now. */
	spin_lock(&farswap_state_lock);
	spin_unlock(&farswap_state_lock);
	for (i = 0; i < device->map->nr_slabs; i++) {
		slab = READ_ONCE(device->map->slab[i]);
		if (slab)
			cancel_work_sync(&slab->rebuild_work);
	}
}

/**
 * farswap_rebuild_init() - make the worker
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_rebuild_init(void)
{
	rebuild_wq = alloc_ordered_workqueue("farswap_rebuild", WQ_MEM_RECLAIM);
	return rebuild_wq ? 0 : -ENOMEM;
}

/**
 * farswap_rebuild_exit() - undo farswap_rebuild_init()
 */
void farswap_rebuild_exit(void)
{
	destroy_workqueue(rebuild_wq);
}
