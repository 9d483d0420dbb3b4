// SPDX-License-Identifier: GPL-2.0
/*
 * Replicas. With backup=replica a slab has as many mappings as "replicas" says, each on another
 * machine (XMemPod), so that the death of one machine costs neither a page nor a disk read.
 * Missing mappings are requested in the background, and a repair copies the pages that they lack
 * at a bounded rate (repair_mb).
 *
 * Pages that are stored while a slab has fewer mappings also go to the swap device. If no other
 * donor has room for a lost mapping, the slab's earlier pages are backed up there too.
 *
 * A repair first copies the pages that the swap device does not have, in all slabs.
 *
 * With any backup, a busy slab whose donors are all suspect gets a temporary replica: one more
 * mapping, for the pages that are stored from now on and, by rebuild.c, for the pages that the
 * device has. If a donor resumes, the mapping that has fewer pages is evacuated.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "internal.h"

/* Pause after no donor had room for a replica. */
#define REPLICA_RETRY		(5 * HZ)
/* Time after which a request for a replica asks no further donor. */
#define REPLICA_MAP_TIME	(10 * HZ)
/* A donor that resumes within this time is not worth a temporary replica. */
#define REPLICA_SUSPECT_TIME	(HZ / 4)
/* Time to copy the sole copies of the mapping that is given up after a temporary replica. */
#define REPLICA_LEAVE_TIME	(5 * HZ)

/* This queue runs one repair at a time, so a waiter waits for the repair of one slab at most. */
static struct workqueue_struct *replica_wq;
/* This queue copies pages that the device has too; a slab with many delays no urgent repair. */
static struct workqueue_struct *replica_refill_wq;

/**
 * farswap_replicas_wanted() - get the number of mappings that a slab should have
 *
 * A slab that has more keeps them.
 *
 * Context: any.
 * Return: the number of mappings.
 */
unsigned int farswap_replicas_wanted(void)
{
	return farswap_backup_replicates(READ_ONCE(farswap_settings.backup)) ?
	       READ_ONCE(farswap_settings.replicas) : 1;
}

static bool replica_is_fewer(const struct farswap_slab *slab, unsigned int wanted)
{
	return farswap_mapping_staying(slab, NULL) < wanted &&
	       farswap_mapping_count(slab) < FARSWAP_REPLICAS_MAX;
}

static bool replica_is_too_few(const struct farswap_slab *slab)
{
	return replica_is_fewer(slab, farswap_replicas_wanted());
}

/* Check whether the slab migrates: then migrate/evacuate.c adds the mapping, with a deadline. */
static bool replica_is_moving(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	bool moving = false;
	unsigned int nth;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && !moving; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		moving = mapping && farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING);
	}
	rcu_read_unlock();
	return moving;
}

/* Count the mappings of the slab that stay and that can be used now. */
static unsigned int replica_usable(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, usable = 0;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		usable += mapping && !farswap_mapping_goes(mapping) &&
			  !farswap_donor_is_suspect(mapping->donor);
	}
	rcu_read_unlock();
	return usable;
}

/* Check that at least @time (jiffies) has passed since the donor last became suspect. */
static bool replica_suspect_before(const struct farswap_mapping *mapping,
				   unsigned long time)
{
	return !time_before(jiffies, READ_ONCE(mapping->donor->suspect_at) + time);
}

/* Check that the slab is busy, has room for a mapping, and can reach no donor for some time. */
static bool replica_is_cut_off(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, room = 0, suspects = 0;
	bool cut_off = true;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && cut_off; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		room += !mapping;
		if (!mapping || farswap_mapping_goes(mapping))
			continue;
		cut_off = farswap_donor_is_suspect(mapping->donor) &&
			  replica_suspect_before(mapping, REPLICA_SUSPECT_TIME);
		suspects++;
	}
	rcu_read_unlock();
	return cut_off && suspects && room &&
	       farswap_activity_read(&slab->activity, farswap_slab_second()) >=
	       max(READ_ONCE(farswap_settings.hotslab), 1U);
}

/*
 * Add the new region to the slab. The region is released instead if the slab is no longer mapped,
 * or no longer needs it: another region may have been added since the request, perhaps on the
 * same machine.
 */
static bool replica_link(struct farswap_slab *slab, struct farswap_mapping *mapping,
			 unsigned int epoch, bool stopgap)
{
	unsigned int others;
	bool good;

	spin_lock(&farswap_state_lock);
	others = farswap_mapping_staying(slab, NULL);
	good = farswap_mapping_link(mapping, epoch) &&
	       !farswap_mapping_is(mapping, FARSWAP_MAPPING_REVOKED) &&
	       slab->state == FARSWAP_SLAB_MAPPED && !slab->device->closing &&
	       farswap_may_store() &&
	       mapping->donor->state != FARSWAP_DONOR_LEAVING &&
	       (stopgap ? replica_is_cut_off(slab) : replica_is_too_few(slab)) &&
	       !farswap_mapping_is_at(slab, mapping->donor) &&
	       farswap_mapping_add(mapping);
	if (good && stopgap) {
		slab->stopgap = others;
		farswap_rebuild_want(slab);
	}
	if (good)
		farswap_stat_add(FARSWAP_STAT_REPLICA_MAPPED, 1);
	else
		farswap_mapping_kill(mapping);
	spin_unlock(&farswap_state_lock);
	return good;
}

/* Request one more region, and add it if the slab still wants it then. */
static bool replica_add_one(struct farswap_slab *slab, unsigned long until, bool stopgap)
{
	struct farswap_mapping *mapping;
	struct farswap_donor *donor;
	unsigned int epoch;
	bool good;

	mapping = farswap_mapping_make(slab, until, &epoch);
	good = !IS_ERR(mapping);
	if (good) {
		donor = mapping->donor;
		good = replica_link(slab, mapping, epoch, stopgap);
		farswap_donor_unuse(donor);
	}
	if (!good)
		WRITE_ONCE(slab->repair_at, jiffies + REPLICA_RETRY);
	return good;
}

/**
 * farswap_replica_add() - get the regions that a slab lacks
 * @slab:	a slab that was just mapped, or is being repaired, or whose only mapping is about
 *		to be evacuated
 * @wanted:	the number of mappings that should stay
 * @until:	jiffies after which no further donor is asked
 *
 * All slots are stale in the new mappings.
 *
 * Context: may sleep, as map_select() does, for each region.
 */
void farswap_replica_add(struct farswap_slab *slab, unsigned int wanted,
			 unsigned long until)
{
	bool good = true;

	while (good && READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
	       farswap_may_store() && !READ_ONCE(slab->device->closing) &&
	       replica_is_fewer(slab, wanted))
		good = replica_add_one(slab, until, false);
}

static bool replica_may_ask(const struct farswap_slab *slab)
{
	return !time_before(jiffies, READ_ONCE(slab->repair_at));
}

static void replica_add_stopgap(struct farswap_slab *slab)
{
	if (!replica_add_one(slab, jiffies + REPLICA_MAP_TIME, true))
		return;
	farswap_stat_add(FARSWAP_STAT_STOPGAP, 1);
	farswap_rebuild_look(slab);
}

/*
 * Check whether a slab with a temporary replica has more usable mappings than it had before
 * and than it should have.
 */
static bool replica_has_surplus(const struct farswap_slab *slab)
{
	unsigned int wanted = max_t(unsigned int, READ_ONCE(slab->stopgap),
				    farswap_replicas_wanted());

	return replica_usable(slab) > wanted;
}

/* Check that no donor of the slab was suspect recently, so that the surplus is not needed soon. */
static bool replica_is_calm(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && !replica_suspect_before(mapping, REPLICA_RETRY))
			return false;
	}
	return true;
}

/* Check whether the mapping has a page that the device and another staying mapping lack. */
static bool replica_has_sole(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	const struct farswap_mapping *other;
	unsigned int i, nth, slot;
	unsigned long word;

	for (i = 0; i < BITS_TO_LONGS(slab->nr_slots); i++) {
		word = 0;
		rcu_read_lock();
		for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
			other = rcu_dereference(slab->mapping[nth]);
			if (other && other != mapping && !farswap_mapping_goes(other))
				word |= READ_ONCE(other->missing[i]);
		}
		rcu_read_unlock();
		word &= READ_ONCE(slab->bits.remote[i]) &
			READ_ONCE(slab->bits.unbacked[i]) &
			~READ_ONCE(mapping->missing[i]);
		/* Bits may remain set below a zero page, which needs no repair. */
		for_each_set_bit(slot, &word, BITS_PER_LONG)
			if (!farswap_slab_zero(slab, i * BITS_PER_LONG + slot))
				return true;
	}
	return false;
}

static unsigned int replica_pages(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	unsigned int i, pages = 0;

	for (i = 0; i < BITS_TO_LONGS(slab->nr_slots); i++)
		pages += hweight_long(READ_ONCE(slab->bits.remote[i]) &
				      ~READ_ONCE(mapping->missing[i]));
	return pages;
}

/* Find the usable mapping that has the fewest pages; return it with a reference, or NULL. */
static struct farswap_mapping *replica_least(struct farswap_slab *slab)
{
	struct farswap_mapping *mapping, *least = NULL;
	unsigned int nth, pages, fewest = UINT_MAX;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_get(slab, nth);
		if (!mapping)
			continue;
		pages = replica_pages(mapping);
		if (!farswap_mapping_goes(mapping) &&
		    !farswap_donor_is_suspect(mapping->donor) && pages < fewest) {
			swap(least, mapping);
			fewest = pages;
		}
		if (mapping)
			farswap_mapping_put(mapping);
	}
	return least;
}

/*
 * Evacuate a surplus mapping: the usable one that has the fewest pages, once no sole copy depends
 * on it. The search scans every slot, so it runs without the lock.
 */
static void replica_give_back(struct farswap_slab *slab)
{
	/*
	 * The read of slab->generation is ordered before the reads of slab->mapping[] below. Pairs
	 * with farswap_mapping_add() and farswap_mapping_remove(), which write slab->mapping[]
	 * before slab->generation.
	 */
	unsigned int generation = smp_load_acquire(&slab->generation);
	struct farswap_mapping *least = replica_least(slab);
	bool leaves = least && !replica_has_sole(least);

	spin_lock(&farswap_state_lock);
	if (leaves && slab->generation == generation && slab->stopgap &&
	    !farswap_mapping_goes(least) &&
	    slab->state == FARSWAP_SLAB_MAPPED && replica_has_surplus(slab) &&
	    replica_is_calm(slab))
		farswap_evacuate_mapping_start(least, jiffies + REPLICA_LEAVE_TIME);
	if (replica_usable(slab) == farswap_mapping_staying(slab, NULL) &&
	    !replica_has_surplus(slab))
		slab->stopgap = 0;
	spin_unlock(&farswap_state_lock);
	if (least)
		farswap_mapping_put(least);
}

/* Return the mapping, referenced, if a copy can give it pages that it lacks; otherwise NULL. */
static struct farswap_mapping *replica_get(struct farswap_slab *slab, unsigned int nth, bool sole)
{
	struct farswap_mapping *mapping = farswap_mapping_get(slab, nth);

	if (!mapping || (!farswap_mapping_goes(mapping) &&
			 !farswap_donor_is_suspect(mapping->donor) &&
			 farswap_copy_is_wanted(mapping, sole)))
		return mapping;
	farswap_mapping_put(mapping);
	return NULL;
}

static bool replica_has_unbacked(const struct farswap_slab *slab)
{
	/* A bit that changes during this scan is seen by the next one. */
	return data_race(bitmap_intersects(slab->bits.remote, slab->bits.unbacked, slab->nr_slots));
}

/* Check whether the slab has too few mappings, and pages that are not on the device. */
static bool replica_needs_device(const struct farswap_slab *slab)
{
	return farswap_backup_replicates(READ_ONCE(farswap_settings.backup)) &&
	       READ_ONCE(slab->sole) && READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
	       !READ_ONCE(slab->device->closing) && farswap_may_store() &&
	       farswap_device_writable(slab->device) && replica_is_too_few(slab) &&
	       replica_has_unbacked(slab);
}

/*
 * Back up the pages of a mapping to the device. The reference is dropped after each batch,
 * because the donor may request the region.
 */
static void replica_back_up_from(struct farswap_slab *slab, unsigned int nth)
{
	struct farswap_mapping *mapping;
	unsigned int slot = 0;
	ktime_t begun;
	int nr;

	do {
		mapping = farswap_mapping_get(slab, nth);
		if (!mapping)
			return;
		begun = ktime_get();
		nr = farswap_mapping_goes(mapping) || !farswap_donor_works(mapping->donor) ?
		     -EHOSTDOWN : farswap_fetch_back_up(mapping, &slot);
		farswap_mapping_put(mapping);
		if (nr > 0)
			farswap_copy_rest(nr, READ_ONCE(farswap_settings.repair_mb), begun);
	} while (nr >= 0 && slot < slab->nr_slots && replica_needs_device(slab));
}

/* Back up the slab's pages: without room at a donor, the device is the missing replica. */
static void replica_back_up(struct farswap_slab *slab)
{
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && replica_needs_device(slab); nth++)
		replica_back_up_from(slab, nth);
}

static void replica_copy(struct farswap_slab *slab, bool sole)
{
	struct farswap_mapping *mapping;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = replica_get(slab, nth, sole);
		if (!mapping)
			continue;
		farswap_copy(mapping, NULL, READ_ONCE(farswap_settings.repair_mb), sole);
		farswap_mapping_put(mapping);
	}
}

/**
 * farswap_replica_work() - repair a slab
 * @work:	the slab's work
 *
 * Pages that the device has too are left to farswap_replica_refill_work().
 *
 * Context: may sleep, as long as the copying takes.
 */
void farswap_replica_work(struct work_struct *work)
{
	struct farswap_slab *slab = container_of(work, struct farswap_slab, repair_work);

	if (replica_is_moving(slab))
		return;
	if (replica_may_ask(slab) && replica_is_too_few(slab))
		farswap_replica_add(slab, farswap_replicas_wanted(),
				    jiffies + REPLICA_MAP_TIME);
	if (replica_may_ask(slab) && replica_is_cut_off(slab))
		replica_add_stopgap(slab);
	if (READ_ONCE(slab->stopgap))
		replica_give_back(slab);
	replica_copy(slab, true);
	replica_back_up(slab);
}

/**
 * farswap_replica_refill_work() - copy all pages that a slab's mappings lack
 * @work:	the slab's work
 *
 * The work ends early if a repair has pages to copy.
 *
 * Context: may sleep, as long as the copying takes.
 */
void farswap_replica_refill_work(struct work_struct *work)
{
	struct farswap_slab *slab = container_of(work, struct farswap_slab, refill_work);

	if (!replica_is_moving(slab))
		replica_copy(slab, false);
}

static bool replica_is_wanting(struct farswap_slab *slab, bool sole)
{
	struct farswap_mapping *mapping;
	unsigned int nth;

	for (nth = 0; farswap_mapping_staying(slab, NULL) > 1 &&
	     nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = replica_get(slab, nth, sole);
		if (!mapping)
			continue;
		farswap_mapping_put(mapping);
		return true;
	}
	return false;
}

/**
 * farswap_replica_look() - queue a repair of a slab, if it needs one
 * @slab:	a slab with bitmaps
 *
 * Context: process context; does not sleep.
 */
void farswap_replica_look(struct farswap_slab *slab)
{
	bool asks = replica_may_ask(slab) &&
		    (replica_is_too_few(slab) || replica_is_cut_off(slab));
	bool repair = asks || READ_ONCE(slab->stopgap) || replica_needs_device(slab) ||
		      replica_is_wanting(slab, true);
	bool refill = replica_is_wanting(slab, false);

	if (replica_is_moving(slab) || (!repair && !refill))
		return;
	spin_lock(&farswap_state_lock);
	/* The works are cancelled only after the slab has left this state. */
	if (slab->state == FARSWAP_SLAB_MAPPED && !slab->device->closing) {
		if (repair)
			queue_work(replica_wq, &slab->repair_work);
		if (refill)
			queue_work(replica_refill_wq, &slab->refill_work);
	}
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_replica_init() - allocate the workqueues
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_replica_init(void)
{
	replica_wq = alloc_ordered_workqueue("farswap_replica", WQ_MEM_RECLAIM);
	if (!replica_wq)
		return -ENOMEM;
	replica_refill_wq = alloc_ordered_workqueue("farswap_refill", WQ_MEM_RECLAIM);
	if (replica_refill_wq)
		return 0;
	destroy_workqueue(replica_wq);
	return -ENOMEM;
}

/**
 * farswap_replica_exit() - free the workqueues
 */
void farswap_replica_exit(void)
{
	destroy_workqueue(replica_refill_wq);
	destroy_workqueue(replica_wq);
}
