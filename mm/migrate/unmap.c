// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a slab's mapping. A mapping ends when its donor evicts the region, when the
 * donor dies, when the slab is idle, or when farswap detaches. Before that,
 * migrate/evacuate.c saves the pages that no other place has.
 *
 * Locking: farswap_state_lock covers states and lists. The rest runs after the last
 * reference to the mapping is dropped.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/slab.h>

#include "internal.h"

/* Time to copy the sole copies of a donor that is taken off the donors line. */
#define UNMAP_TIME	(5 * HZ)
/* Interval of the checks whether a donor's adapter has memory. */
#define UNMAP_LOOK		(HZ / 4)
/* Mappings of a donor that one critical section of farswap_state_lock handles. */
#define UNMAP_BATCH		32

/* Signalled when a slab becomes unmapped. */
static DECLARE_WAIT_QUEUE_HEAD(unmap_ended);

/* Serialises the counts of lost pages, so that each sees which mappings the slab still has. */
static DEFINE_MUTEX(unmap_mutex);

/**
 * farswap_unmap_wake() - wake the waiters after a slab became unmapped
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_unmap_wake(void)
{
	wake_up_all(&unmap_ended);
}

/**
 * farswap_unmap_kill() - refuse new I/O on all mappings of a slab
 * @slab:	a slab that is not FARSWAP_SLAB_MAPPED
 *
 * Context: process context.
 */
void farswap_unmap_kill(struct farswap_slab *slab)
{
	struct farswap_mapping *mapping;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping)
			farswap_mapping_kill(mapping);
	}
}

/**
 * farswap_unmap_start() - end a slab's mappings
 * @slab:	the slab; nothing happens unless it is mapped
 * @state:	the slab's next state, FARSWAP_SLAB_DRAINING or FARSWAP_SLAB_LOST
 * @why:	the counter to increment
 *
 * New I/O is refused from now on. If pages have to be fetched first, loads continue until
 * they are. farswap_unmap_end() follows the last I/O of each mapping.
 *
 * Context: process context, under farswap_state_lock; does not wait.
 */
void farswap_unmap_start(struct farswap_slab *slab,
			 enum farswap_slab_state state, enum farswap_stat why)
{
	lockdep_assert_held(&farswap_state_lock);

	if (slab->state != FARSWAP_SLAB_MAPPED || !farswap_slab_set_state(slab, state))
		return;
	farswap_stat_add(why, 1);
	if (state == FARSWAP_SLAB_LOST)
		farswap_rebuild_want(slab);
	/*
	 * The write of slab->state above is ordered before the read of slab->sole below. Pairs
	 * with farswap_write_begin() and backup_is_remote(), which write slab->sole
	 * before they read slab->state.
	 */
	smp_mb();
	if (state == FARSWAP_SLAB_DRAINING && READ_ONCE(slab->sole))
		farswap_evacuate_start(slab, why == FARSWAP_STAT_SLAB_EVICTED);
	else
		farswap_unmap_kill(slab);
}

static bool unmap_will_stay(const struct farswap_mapping *mapping)
{
	return !farswap_mapping_goes(mapping) && farswap_donor_works(mapping->donor);
}

/* Check whether another mapping of the slab has the slot; with @stay, one that will stay. */
static bool unmap_is_elsewhere(const struct farswap_mapping *mapping,
			       unsigned int slot, bool stay)
{
	struct farswap_mapping *other;
	bool elsewhere = false;
	unsigned int nth;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && !elsewhere; nth++) {
		other = rcu_dereference(mapping->slab->mapping[nth]);
		if (!other || other == mapping || (stay && !unmap_will_stay(other)))
			continue;
		elsewhere = farswap_mapping_has(other, slot, 1);
	}
	rcu_read_unlock();
	return elsewhere;
}

/**
 * farswap_unmap_is_only() - check whether no region that stays has a slot but this one
 * @mapping:	a mapping
 * @slot:	a slot of its slab with the remote bit
 *
 * Context: any; a hint while the slot can be stored to.
 * Return: true if @mapping has the slot, and each other mapping that has it is evacuating or
 * its donor does not work.
 */
bool farswap_unmap_is_only(const struct farswap_mapping *mapping, unsigned int slot)
{
	return farswap_mapping_has(mapping, slot, 1) &&
	       !unmap_is_elsewhere(mapping, slot, true);
}

/* Mark a page that is in memory dirty: reclaim could drop a clean one without a store. */
static bool unmap_keep(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_device_keep(slab->device, farswap_slab_offset(slab, slot));
}

/* Check whether another removed mapping, whose lost pages are not counted yet, has the slot. */
static bool unmap_is_uncounted(const struct farswap_mapping *mapping, unsigned int slot)
{
	const struct farswap_mapping *other;
	bool uncounted = false;

	/*
	 * The caller's read of slab->mapping[] is ordered before the read of slab->uncounted
	 * below. Pairs with farswap_unmap_remove(), which writes slab->uncounted before it
	 * writes slab->mapping[].
	 */
	smp_rmb();
	rcu_read_lock();
	hlist_for_each_entry_rcu(other, &mapping->slab->uncounted, uncounted_entry)
		uncounted |= other != mapping && farswap_mapping_has(other, slot, 1);
	rcu_read_unlock();
	return uncounted;
}

/* Check whether the mapping has the sole copy of a slot, apart from removed mappings. */
static bool unmap_is_lost(const struct farswap_mapping *mapping, unsigned int slot)
{
	struct farswap_slab *slab = mapping->slab;

	if (!test_bit(slot, slab->bits.unbacked) ||
	    !farswap_mapping_has(mapping, slot, 1) ||
	    unmap_is_elsewhere(mapping, slot, false) || farswap_slab_zero(slab, slot) ||
	    farswap_backup_holds(slab, slot))
		return false;
	/* The device may have completed the backup write just now, or the slot may be free. */
	if (!test_bit(slot, slab->bits.unbacked) || !test_bit(slot, slab->bits.remote))
		return false;
	/*
	 * The first scan of slab->mapping[] above is ordered before the second one below, which
	 * finds a page that was migrated to an entry that the first scan had passed. Pairs with
	 * farswap_unmap_remove(): the migration clears the destination's stale bit before
	 * farswap_unmap_remove() clears the entry of the source.
	 */
	smp_rmb();
	return !unmap_is_elsewhere(mapping, slot, false);
}

/* Return the mask of slots in a word that neither another region nor the device has. */
static unsigned long unmap_word_at_risk(const struct farswap_mapping *mapping, unsigned int i)
{
	const struct farswap_slab *slab = mapping->slab;
	const struct farswap_mapping *other;
	unsigned long word;
	unsigned int nth;

	word = READ_ONCE(slab->bits.remote[i]) & READ_ONCE(slab->bits.unbacked[i]) &
	       ~READ_ONCE(mapping->missing[i]);
	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && word; nth++) {
		other = rcu_dereference(slab->mapping[nth]);
		if (other && other != mapping)
			word &= READ_ONCE(other->missing[i]);
	}
	rcu_read_unlock();
	return word;
}

/**
 * unmap_report_lost() - count and log lost pages
 * @mapping:	the mapping that had them
 * @lost:	how many pages; nothing happens if it is 0
 *
 * Context: process context.
 */
static void unmap_report_lost(const struct farswap_mapping *mapping,
			      unsigned int lost)
{
	if (!lost)
		return;
	farswap_stat_add(FARSWAP_STAT_LOST, lost);
	pr_err("donor %s: %u pages of swap type %u had no other copy and are lost; who needs one gets SIGBUS\n",
	       mapping->donor->address, lost, mapping->slab->device->type);
}

/**
 * farswap_unmap_would_lose() - check whether pages would be lost with a mapping
 * @mapping:	the mapping
 *
 * A page that is in memory is not lost: it is marked dirty, so that reclaim stores it again.
 *
 * The function scans every slot of the slab, so it is never called under farswap_state_lock.
 * The result is valid as long as slab->generation is the same as before the call.
 *
 * Context: may sleep.
 * Return: true if @mapping has the sole copy of a page.
 */
bool farswap_unmap_would_lose(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	unsigned int i, slot;
	unsigned long word;

	might_sleep();
	for (i = 0; READ_ONCE(slab->sole) && i < BITS_TO_LONGS(slab->nr_slots); i++) {
		word = unmap_word_at_risk(mapping, i);
		for_each_set_bit(slot, &word, BITS_PER_LONG)
			if (unmap_is_lost(mapping, i * BITS_PER_LONG + slot) &&
			    !unmap_keep(slab, i * BITS_PER_LONG + slot))
				return true;
		cond_resched();
	}
	return false;
}

/*
 * Count the pages lost with a mapping that was removed from its slab. A page that several
 * removed mappings had is counted with the last of them. A page that is in memory is not
 * lost: it is marked dirty.
 */
static unsigned int unmap_count(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	unsigned int i, slot, lost = 0;
	unsigned long word;

	lockdep_assert_held(&unmap_mutex);
	might_sleep();
	/* Only now does a missing bit tell which pages are lost; late writes may clear more. */
	farswap_assert(!farswap_mapping_is_slabs(mapping));
	for (i = 0; READ_ONCE(slab->sole) && i < BITS_TO_LONGS(slab->nr_slots); i++) {
		word = unmap_word_at_risk(mapping, i);
		for_each_set_bit(slot, &word, BITS_PER_LONG)
			lost += unmap_is_lost(mapping, i * BITS_PER_LONG + slot) &&
				!unmap_is_uncounted(mapping, i * BITS_PER_LONG + slot) &&
				!unmap_keep(slab, i * BITS_PER_LONG + slot);
		cond_resched();
	}
	return lost;
}

/* No donor has pages of the slab any more. */
static void unmap_uncharge(struct farswap_slab *slab)
{
	unsigned int slot;

	if (!farswap_cgroup_used())
		return;
	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots)
		farswap_cgroup_uncharge(slab->device, farswap_slab_offset(slab, slot), 1);
}

/**
 * farswap_unmap_end() - end a mapping after its last I/O
 * @mapping:	the mapping
 *
 * The pages lost with the mapping are counted and logged. After the slab's last mapping its
 * remote bits are cleared.
 *
 * Context: process context; may sleep.
 * Return: true if it was the slab's last mapping.
 */
bool farswap_unmap_end(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	unsigned int nth, lost;
	bool was_slabs, last;

	mutex_lock(&unmap_mutex);
	spin_lock(&farswap_state_lock);
	was_slabs = farswap_mapping_is_slabs(mapping);
	if (was_slabs)
		farswap_mapping_remove(mapping);
	last = was_slabs;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		last &= !farswap_mapping_nth(slab, nth);
	spin_unlock(&farswap_state_lock);

	lost = was_slabs ? unmap_count(mapping) : mapping->lost;
	mutex_unlock(&unmap_mutex);
	unmap_report_lost(mapping, lost);
	if (last) {
		/*
		 * The load of nr_uncounted is ordered before the writes to slab->bits below. Pairs
		 * with farswap_unmap_count_removed(), which reads slab->bits before it decrements
		 * nr_uncounted.
		 */
		wait_event(unmap_ended, !smp_load_acquire(&slab->nr_uncounted));
		unmap_uncharge(slab);
		/*
		 * Other threads may clear bits at the same time. A late store to a mapping that is
		 * already lost may even set some, which is harmless: no mapping has those slots.
		 */
		bitmap_zero(slab->bits.remote, slab->nr_slots);
		/* A store that sets @sole again must find the slab unmapped. */
		farswap_assert(READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED);
		WRITE_ONCE(slab->sole, false);
	}
	return last;
}

/**
 * farswap_unmap_is_one_of_several() - check whether the slab has another mapping
 * @mapping:	a mapping of the slab
 *
 * Context: under farswap_state_lock.
 * Return: true if it has, even if the other mapping is evacuating too.
 */
bool farswap_unmap_is_one_of_several(const struct farswap_mapping *mapping)
{
	struct farswap_mapping *other;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		other = farswap_mapping_nth(mapping->slab, nth);
		if (other && other != mapping)
			return true;
	}
	return false;
}

/**
 * farswap_unmap_remove() - remove one of several mappings from its slab
 * @mapping:	a mapping of the slab; the caller holds a reference
 *
 * The caller calls farswap_unmap_count_removed() before it drops its reference.
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_unmap_remove(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;

	lockdep_assert_held(&farswap_state_lock);
	slab->nr_uncounted++;
	hlist_add_head_rcu(&mapping->uncounted_entry, &slab->uncounted);
	/*
	 * The write of slab->uncounted above is ordered before the write of slab->mapping[]
	 * below. Pairs with unmap_is_uncounted(), which reads slab->mapping[] before
	 * slab->uncounted: it finds a mapping that has left the array in the list.
	 */
	smp_wmb();
	farswap_mapping_remove(mapping);
	farswap_mapping_kill(mapping);
}

/**
 * farswap_unmap_count_removed() - count the pages lost with a removed mapping
 * @mapping:	a mapping that farswap_unmap_remove() took from its slab
 *
 * The function sets @mapping->lost for farswap_unmap_end(). It scans every slot of the slab,
 * so it is never called under farswap_state_lock.
 *
 * Context: may sleep.
 */
void farswap_unmap_count_removed(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;

	mutex_lock(&unmap_mutex);
	mapping->lost = unmap_count(mapping);
	spin_lock(&farswap_state_lock);
	hlist_del_init_rcu(&mapping->uncounted_entry);
	/*
	 * The reads of slab->bits in unmap_count() are ordered before the write of nr_uncounted.
	 * Pairs with farswap_unmap_end(), which reads nr_uncounted before it clears slab->bits.
	 */
	smp_store_release(&slab->nr_uncounted, slab->nr_uncounted - 1);
	farswap_unmap_wake();
	spin_unlock(&farswap_state_lock);
	mutex_unlock(&unmap_mutex);
}

/* Remove one of several mappings whose region is dead; the slab stays mapped. */
static void unmap_lose_one(struct farswap_mapping *mapping)
{
	lockdep_assert_held(&farswap_state_lock);
	farswap_stat_add(FARSWAP_STAT_REPLICA_LOST, 1);
	/* Rebuild the pages that only the device has now. */
	farswap_rebuild_want(mapping->slab);
	farswap_mapping_hold(mapping);
	list_move_tail(&mapping->donor_entry, &mapping->donor->uncounted);
	farswap_unmap_remove(mapping);
}

/**
 * farswap_slab_activity() - report how busy a region is
 * @donor:	the donor that asks
 * @id:		the donor's ID of the region
 *
 * Context: process context; does not wait.
 * Return: page I/Os per second; 0 if no slab uses the region.
 */
u32 farswap_slab_activity(struct farswap_donor *donor, u64 id)
{
	struct farswap_mapping *mapping;
	u32 pages = 0;

	spin_lock(&farswap_state_lock);
	mapping = farswap_mapping_by_id(donor, id);
	if (mapping && farswap_mapping_is_in_use(mapping))
		pages = farswap_activity_read(&mapping->slab->activity,
					      farswap_slab_second());
	spin_unlock(&farswap_state_lock);
	return pages;
}

/* Handle the loss of a mapping's region. */
static void unmap_lose(struct farswap_mapping *mapping)
{
	farswap_mapping_disown(mapping);
	/* Otherwise the evacuation would retry once the donor recovers. */
	set_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
	if (farswap_mapping_is_in_use(mapping) && farswap_unmap_is_one_of_several(mapping))
		unmap_lose_one(mapping);
	else if (farswap_mapping_is_in_use(mapping))
		farswap_unmap_start(mapping->slab, FARSWAP_SLAB_LOST, FARSWAP_STAT_SLAB_LOST);
	else
		set_bit(FARSWAP_MAPPING_REVOKED, &mapping->flags);
}

/* Handle the loss of a batch of the donor's mappings; return true if there are more. */
static bool unmap_lose_some(struct farswap_donor *donor)
{
	struct farswap_mapping *mapping;
	unsigned int i;

	lockdep_assert_held(&farswap_state_lock);
	for (i = 0; i < UNMAP_BATCH && !list_empty(&donor->losing); i++) {
		mapping = list_first_entry(&donor->losing, struct farswap_mapping, donor_entry);
		list_move_tail(&mapping->donor_entry, &donor->mappings);
		unmap_lose(mapping);
	}
	return !list_empty(&donor->losing);
}

/**
 * farswap_slabs_lose() - handle the loss of all regions of a donor whose session failed
 * @donor:	the donor, whose state already shows the failure
 *
 * The donor may have thousands of mappings, so farswap_state_lock is dropped between batches.
 * A mapping that is added between them belongs to the failed session, and
 * farswap_mapping_link() refuses it. The caller calls farswap_slabs_count_lost() next.
 *
 * Context: one of the session's callbacks; may sleep.
 */
void farswap_slabs_lose(struct farswap_donor *donor)
{
	bool more;

	spin_lock(&farswap_state_lock);
	list_splice_tail_init(&donor->mappings, &donor->losing);
	spin_unlock(&farswap_state_lock);
	do {
		spin_lock(&farswap_state_lock);
		more = unmap_lose_some(donor);
		spin_unlock(&farswap_state_lock);
		cond_resched();
	} while (more);
}

/* Return the next mapping that farswap_unmap_count_removed() has to count, or NULL. */
static struct farswap_mapping *unmap_next_uncounted(struct farswap_donor *donor)
{
	struct farswap_mapping *mapping;

	spin_lock(&farswap_state_lock);
	mapping = list_first_entry_or_null(&donor->uncounted, struct farswap_mapping,
					   donor_entry);
	if (mapping)
		list_move_tail(&mapping->donor_entry, &donor->mappings);
	spin_unlock(&farswap_state_lock);
	return mapping;
}

/**
 * farswap_slabs_count_lost() - count the pages lost with a donor's removed mappings
 * @donor:	the donor
 *
 * The mappings are those that farswap_slabs_lose() and farswap_slabs_lose_one() removed from
 * slabs that have others. If another mapping with the same pages is lost before the count,
 * those pages are counted with the last one.
 *
 * Context: process context; may sleep.
 */
void farswap_slabs_count_lost(struct farswap_donor *donor)
{
	struct farswap_mapping *mapping;

	while ((mapping = unmap_next_uncounted(donor))) {
		farswap_unmap_count_removed(mapping);
		farswap_mapping_put(mapping);
	}
}

/**
 * farswap_slabs_lose_one() - handle the loss of one region while the donor works
 * @donor:	the donor
 * @id:		the donor's ID of the region
 *
 * An unknown @id is remembered: its region is about to be mapped. The caller calls
 * farswap_slabs_count_lost() after it has dropped the lock.
 *
 * Context: process context, under farswap_state_lock; does not wait.
 */
void farswap_slabs_lose_one(struct farswap_donor *donor, u64 id)
{
	struct farswap_mapping *mapping;

	lockdep_assert_held(&farswap_state_lock);
	mapping = farswap_mapping_by_id(donor, id);
	if (!mapping) {
		farswap_evict_early(donor, id);
		return;
	}
	/* Otherwise the evacuation would retry, because the donor works. */
	set_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
	unmap_lose(mapping);
}

static void unmap_slab(struct farswap_slab *slab)
{
	farswap_unmap_start(slab, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_UNMAPPED);
}

/* Give back a region of a donor that is being removed, or prevent that it is used. */
static void unmap_one(struct farswap_mapping *mapping, unsigned long until)
{
	if (farswap_mapping_is_in_use(mapping) &&
	    farswap_mapping_staying(mapping->slab, mapping))
		farswap_evacuate_mapping_start(mapping, until);
	else if (farswap_mapping_is_in_use(mapping))
		unmap_slab(mapping->slab);
	else
		set_bit(FARSWAP_MAPPING_REVOKED, &mapping->flags);
}

/*
 * Unmap all regions of a donor. The donor may have thousands, so farswap_state_lock is
 * dropped between batches. farswap_slabs_lose() may take mappings from the list between
 * them, and ends those itself.
 */
static void unmap_all(struct farswap_donor *donor, unsigned long until)
{
	struct farswap_mapping *mapping;
	unsigned int left;

	spin_lock(&farswap_state_lock);
	for (left = donor->nr_slabs; left && !list_empty(&donor->mappings); left--) {
		mapping = list_first_entry(&donor->mappings, struct farswap_mapping, donor_entry);
		list_move_tail(&mapping->donor_entry, &donor->mappings);
		unmap_one(mapping, until);
		if (left % UNMAP_BATCH)
			continue;
		spin_unlock(&farswap_state_lock);
		cond_resched();
		spin_lock(&farswap_state_lock);
	}
	spin_unlock(&farswap_state_lock);
}

/* Check whether a donor with a slab of the device has no memory for reads. */
static bool unmap_is_starved(struct farswap_device *device)
{
	const struct farswap_mapping *mapping;
	struct farswap_slab *slab;
	bool starved = false;
	unsigned int nth;
	unsigned long i;

	for (i = 0; i < device->map->nr_slabs && !starved; i++) {
		slab = READ_ONCE(device->map->slab[i]);
		if (!slab)
			continue;
		rcu_read_lock();
		for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
			mapping = rcu_dereference(slab->mapping[nth]);
			starved |= mapping && farswap_fetch_is_starved(mapping->donor);
		}
		rcu_read_unlock();
		cond_resched();
	}
	return starved;
}

/**
 * farswap_slabs_unmap() - give back all regions of a device, or of a donor
 * @device:	the device, on which no new mapping is made; or NULL
 * @donor:	the donor, from which no new region is mapped; or NULL
 *
 * Afterwards every page is on the swap device or staged for it, unless the donor died with
 * the sole copy.
 *
 * Context: may sleep, until the I/O in flight completes, including that of the swap device,
 * until pending attempts to map a slab of @device end, and until the sole copies are fetched.
 * Return: 0, or -ENOMEM if the adapter has had no memory to fetch any page for seconds. In that
 * case the evacuations that were started continue, and no page is lost.
 */
int farswap_slabs_unmap(struct farswap_device *device,
			struct farswap_donor *donor)
{
	unsigned long until = jiffies + UNMAP_TIME;
	struct farswap_slab *slab;
	unsigned long i;

	if (donor) {
		unmap_all(donor, until);
		/* An idle wait is not reported as hung: a suspect donor's grace may be long. */
		while (!wait_event_idle_timeout(unmap_ended, !READ_ONCE(donor->nr_slabs),
						UNMAP_LOOK))
			if (farswap_fetch_is_starved(donor))
				return -ENOMEM;
	}
	if (device) {
		for (i = 0; i < device->map->nr_slabs; i++) {
			slab = READ_ONCE(device->map->slab[i]);
			if (!slab)
				continue;
			farswap_slab_map_cancel(slab);
			spin_lock(&farswap_state_lock);
			unmap_slab(slab);
			spin_unlock(&farswap_state_lock);
		}
		while (!wait_event_idle_timeout(unmap_ended, !READ_ONCE(device->busy),
						UNMAP_LOOK))
			if (unmap_is_starved(device))
				return -ENOMEM;
		for (i = 0; i < device->map->nr_slabs; i++) {
			slab = READ_ONCE(device->map->slab[i]);
			if (!slab)
				continue;
			cancel_work_sync(&slab->repair_work);
			cancel_work_sync(&slab->refill_work);
			/* The work is about to return; those of other slabs may still fetch. */
			flush_work(&slab->evacuate_work);
		}
		farswap_rebuild_cancel(device);
	}
	/* map_release_work() may not have returned yet. */
	flush_workqueue(farswap_wq);
	return 0;
}
