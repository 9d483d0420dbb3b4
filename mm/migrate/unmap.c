// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a slab's mapping: its donor wants the region back or has died, it
 * is not used, or we leave. What happens to its pages first is migrate/evacuate.c's affair.
 *
 * Locking: farswap_state_lock covers states and lists. The rest runs when the last
 * reference on the mapping is gone.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/slab.h>

#include "internal.h"

/* For copying what only a donor has that leaves the donors line. */
#define DRAIN_UNMAP_TIME	(5 * HZ)
/* Between looks at whether a donor's adapter has memory. */
#define DRAIN_LOOK		(HZ / 4)
/* Mappings of a donor that are handled in one critical section of farswap_state_lock. */
#define DRAIN_BATCH		32

/* A slab became unmapped. */
static DECLARE_WAIT_QUEUE_HEAD(drain_ended);

/* So that of a slab's mappings each sees which others there are still. */
static DEFINE_MUTEX(drain_mutex);

/**
 * farswap_drain_wake() - a slab became unmapped
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_drain_wake(void)
{
	wake_up_all(&drain_ended);
}

/**
 * farswap_drain_kill() - let no I/O with any of a slab's mappings begin any more
 * @slab:	a slab that is not mapped
 *
 * Context: process context.
 */
void farswap_drain_kill(struct farswap_slab *slab)
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
 * farswap_drain_start() - end a slab's mappings
 * @slab:	the slab; nothing happens unless it is mapped
 * @state:	what it becomes, draining or lost
 * @why:	what to count
 *
 * No I/O begins any more; only if pages are to be fetched first, loads
 * still do meanwhile. farswap_drain_end() follows the last I/O.
 *
 * Context: process context, under farswap_state_lock; does not wait.
 */
void farswap_drain_start(struct farswap_slab *slab,
			 enum farswap_slab_state state, enum farswap_stat why)
{
	lockdep_assert_held(&farswap_state_lock);

	if (slab->state != FARSWAP_SLAB_MAPPED || !farswap_slab_set_state(slab, state))
		return;
	farswap_stat_add(why, 1);
	if (state == FARSWAP_SLAB_LOST)
		farswap_rebuild_want(slab);
	/* Pairs with farswap_mapping_store_begin() and backup_is_remote(). */
	smp_mb();
	if (state == FARSWAP_SLAB_DRAINING && READ_ONCE(slab->sole))
		farswap_leave_start(slab, why == FARSWAP_STAT_SLAB_EVICTED);
	else
		farswap_drain_kill(slab);
}

static bool drain_will_stay(const struct farswap_mapping *mapping)
{
	return !farswap_mapping_goes(mapping) && farswap_donor_works(mapping->donor);
}

/* Does another of the slab's mappings have the slot? Or even one that will stay? */
static bool drain_is_elsewhere(const struct farswap_mapping *mapping,
			       unsigned int slot, bool stay)
{
	struct farswap_mapping *other;
	bool elsewhere = false;
	unsigned int nth;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && !elsewhere; nth++) {
		other = rcu_dereference(mapping->slab->mapping[nth]);
		if (!other || other == mapping || (stay && !drain_will_stay(other)))
			continue;
		elsewhere = farswap_mapping_has(other, slot, 1);
	}
	rcu_read_unlock();
	return elsewhere;
}

/**
 * farswap_drain_is_only() - is a slot in no other region that is sure to stay
 * @mapping:	a mapping
 * @slot:	a slot of its slab with the remote bit
 *
 * Context: any; a hint while the slot can be stored to.
 * Return: whether it is in this one, and at best in others that are about to go too.
 */
bool farswap_drain_is_only(const struct farswap_mapping *mapping, unsigned int slot)
{
	return farswap_mapping_has(mapping, slot, 1) &&
	       !drain_is_elsewhere(mapping, slot, true);
}

/* Is the page in memory too? Then reclaim must not drop it, as it may a clean one. */
static bool drain_keep(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_device_keep(slab->device, farswap_slab_offset(slab, slot));
}

/* Does another removed mapping have the slot, one whose pages are still to be counted? */
static bool drain_is_uncounted(const struct farswap_mapping *mapping, unsigned int slot)
{
	const struct farswap_mapping *other;
	bool uncounted = false;

	/*
	 * slab->mapping[] was read before slab->uncounted. Pairs with farswap_drain_remove(),
	 * which writes them in the other order.
	 */
	smp_rmb();
	rcu_read_lock();
	hlist_for_each_entry_rcu(other, &mapping->slab->uncounted, uncounted_entry)
		uncounted |= other != mapping && farswap_mapping_has(other, slot, 1);
	rcu_read_unlock();
	return uncounted;
}

/* Is the mapping's copy of a slot the only one, but for those of removed mappings? */
static bool drain_is_lost(const struct farswap_mapping *mapping, unsigned int slot)
{
	struct farswap_slab *slab = mapping->slab;

	if (!test_bit(slot, slab->bits.unbacked) ||
	    !farswap_mapping_has(mapping, slot, 1) ||
	    drain_is_elsewhere(mapping, slot, false) || farswap_slab_zero(slab, slot) ||
	    farswap_backup_holds(slab, slot))
		return false;
	/* The device may have got it just before, or the slot been freed. */
	if (!test_bit(slot, slab->bits.unbacked) || !test_bit(slot, slab->bits.remote))
		return false;
	/* The page may have moved to a place of slab->mapping[] that had been passed already. */
	smp_rmb();
	return !drain_is_elsewhere(mapping, slot, false);
}

/* Of a word of slots: those that are in no other region, nor on the device. */
static unsigned long drain_word_at_risk(const struct farswap_mapping *mapping, unsigned int i)
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
 * drain_report_lost() - count pages that nobody could fetch
 * @mapping:	where they were
 * @lost:	how many
 *
 * Context: process context.
 */
static void drain_report_lost(const struct farswap_mapping *mapping,
			      unsigned int lost)
{
	if (!lost)
		return;
	farswap_stat_add(FARSWAP_STAT_LOST, lost);
	pr_err("donor %s: %u pages of swap type %u had no other copy and are lost; who needs one gets SIGBUS\n",
	       mapping->donor->address, lost, mapping->slab->device->type);
}

/**
 * farswap_drain_would_lose() - would pages be lost with a mapping
 * @mapping:	the mapping
 *
 * A page that is in memory is not lost: it is marked dirty, to be stored again.
 *
 * Looks at every slot of the slab, so it is never called under farswap_state_lock. The answer
 * holds as long as slab->generation is what it was before the call.
 *
 * Context: may sleep.
 * Return: whether a page has no copy but there.
 */
bool farswap_drain_would_lose(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	unsigned int i, slot;
	unsigned long word;

	might_sleep();
	for (i = 0; READ_ONCE(slab->sole) && i < BITS_TO_LONGS(slab->nr_slots); i++) {
		word = drain_word_at_risk(mapping, i);
		for_each_set_bit(slot, &word, BITS_PER_LONG)
			if (drain_is_lost(mapping, i * BITS_PER_LONG + slot) &&
			    !drain_keep(slab, i * BITS_PER_LONG + slot))
				return true;
		cond_resched();
	}
	return false;
}

/*
 * How many pages went with a mapping that its slab no longer has? A page that several such
 * mappings had is counted with the last of them that is counted. One that is in memory is not
 * lost, but marked dirty.
 */
static unsigned int drain_count(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	unsigned int i, slot, lost = 0;
	unsigned long word;

	lockdep_assert_held(&drain_mutex);
	might_sleep();
	for (i = 0; READ_ONCE(slab->sole) && i < BITS_TO_LONGS(slab->nr_slots); i++) {
		word = drain_word_at_risk(mapping, i);
		for_each_set_bit(slot, &word, BITS_PER_LONG)
			lost += drain_is_lost(mapping, i * BITS_PER_LONG + slot) &&
				!drain_is_uncounted(mapping, i * BITS_PER_LONG + slot) &&
				!drain_keep(slab, i * BITS_PER_LONG + slot);
		cond_resched();
	}
	return lost;
}

/**
 * farswap_drain_end() - a mapping's last I/O has ended
 * @mapping:	the mapping
 *
 * Counts what is lost with it. After the last of a slab's mappings nothing is known of
 * the slab any more.
 *
 * Context: process context; may sleep.
 * Return: true if it was the slab's last.
 */
bool farswap_drain_end(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	unsigned int nth, lost;
	bool was_slabs, last;

	mutex_lock(&drain_mutex);
	spin_lock(&farswap_state_lock);
	was_slabs = farswap_mapping_is_slabs(mapping);
	if (was_slabs)
		farswap_mapping_remove(mapping);
	last = was_slabs;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		last &= !farswap_mapping_nth(slab, nth);
	spin_unlock(&farswap_state_lock);

	lost = was_slabs ? drain_count(mapping) : mapping->lost;
	mutex_unlock(&drain_mutex);
	drain_report_lost(mapping, lost);
	if (last) {
		/* Pairs with farswap_drain_count_removed(), which reads the bits before this. */
		wait_event(drain_ended, !smp_load_acquire(&slab->nr_uncounted));
		/*
		 * Those who clear some do it beside this. A store to a mapping that was
		 * lost earlier may even set some: no mapping has those slots.
		 */
		bitmap_zero(slab->bits.remote, slab->nr_slots);
		WRITE_ONCE(slab->sole, false);
	}
	return last;
}

/**
 * farswap_drain_is_one_of_several() - does its slab have another mapping
 * @mapping:	one of its slab's
 *
 * Context: under farswap_state_lock.
 * Return: whether it has, even if that one leaves too.
 */
bool farswap_drain_is_one_of_several(const struct farswap_mapping *mapping)
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
 * farswap_drain_remove() - take one of several mappings from its slab
 * @mapping:	one of its slab's, with a reference that the caller keeps
 *
 * farswap_drain_count_removed() must follow before the caller drops its reference.
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_drain_remove(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;

	lockdep_assert_held(&farswap_state_lock);
	slab->nr_uncounted++;
	hlist_add_head_rcu(&mapping->uncounted_entry, &slab->uncounted);
	/*
	 * slab->uncounted is written before slab->mapping[]. Pairs with drain_is_uncounted():
	 * a mapping that is no longer in the array is in the list.
	 */
	smp_wmb();
	farswap_mapping_remove(mapping);
	farswap_mapping_kill(mapping);
}

/**
 * farswap_drain_count_removed() - count the pages that went with a removed mapping
 * @mapping:	one that farswap_drain_remove() took from its slab
 *
 * Sets @mapping->lost, for farswap_drain_end(). Looks at every slot of the slab, so it is
 * never called under farswap_state_lock.
 *
 * Context: may sleep.
 */
void farswap_drain_count_removed(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;

	mutex_lock(&drain_mutex);
	mapping->lost = drain_count(mapping);
	spin_lock(&farswap_state_lock);
	hlist_del_init_rcu(&mapping->uncounted_entry);
	/* Pairs with farswap_drain_end(), which clears the bits that were read. */
	smp_store_release(&slab->nr_uncounted, slab->nr_uncounted - 1);
	farswap_drain_wake();
	spin_unlock(&farswap_state_lock);
	mutex_unlock(&drain_mutex);
}

/* One of several has gone: the others have what it had, or it is lost now. */
static void drain_lose_one(struct farswap_mapping *mapping)
{
	lockdep_assert_held(&farswap_state_lock);
	farswap_stat_add(FARSWAP_STAT_REPLICA_LOST, 1);
	/* What the device has and the others have not. */
	farswap_rebuild_want(mapping->slab);
	refcount_inc(&mapping->users);
	list_move_tail(&mapping->donor_entry, &mapping->donor->uncounted);
	farswap_drain_remove(mapping);
}

/**
 * farswap_slab_activity() - how busy is a region
 * @donor:	the donor that asks
 * @id:		its name for the region
 *
 * Context: process context; does not wait.
 * Return: page I/Os a second; 0 for a region that no slab holds.
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

/* Its region is dead. */
static void drain_lose(struct farswap_mapping *mapping)
{
	farswap_mapping_disown(mapping);
	/* Who fetches would else try again when the donor works again. */
	set_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
	if (farswap_mapping_is_in_use(mapping) && farswap_drain_is_one_of_several(mapping))
		drain_lose_one(mapping);
	else if (farswap_mapping_is_in_use(mapping))
		farswap_drain_start(mapping->slab, FARSWAP_SLAB_LOST, FARSWAP_STAT_SLAB_LOST);
	else
		set_bit(FARSWAP_MAPPING_REVOKED, &mapping->flags);
}

/* False: none of the donor's mappings is left to be lost. */
static bool drain_lose_some(struct farswap_donor *donor)
{
	struct farswap_mapping *mapping;
	unsigned int i;

	lockdep_assert_held(&farswap_state_lock);
	for (i = 0; i < DRAIN_BATCH && !list_empty(&donor->losing); i++) {
		mapping = list_first_entry(&donor->losing, struct farswap_mapping, donor_entry);
		list_move_tail(&mapping->donor_entry, &donor->mappings);
		drain_lose(mapping);
	}
	return !list_empty(&donor->losing);
}

/**
 * farswap_slabs_lose() - a donor's session has failed
 * @donor:	the donor, whose state says so; farswap_slabs_count_lost() must follow
 *
 * The donor may have thousands of mappings, so farswap_state_lock is dropped now and then. A
 * mapping that comes meanwhile is of the session that has failed: farswap_mapping_link()
 * refuses it.
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
		more = drain_lose_some(donor);
		spin_unlock(&farswap_state_lock);
		cond_resched();
	} while (more);
}

/* The first of those that farswap_drain_count_removed() has still to count. */
static struct farswap_mapping *drain_next_uncounted(struct farswap_donor *donor)
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
 * farswap_slabs_count_lost() - count what only those of several regions had that were lost
 * @donor:	whose
 *
 * Others may be lost meanwhile that had the same pages: these are counted with the last.
 *
 * Context: process context; may sleep.
 */
void farswap_slabs_count_lost(struct farswap_donor *donor)
{
	struct farswap_mapping *mapping;

	while ((mapping = drain_next_uncounted(donor))) {
		farswap_drain_count_removed(mapping);
		farswap_mapping_put(mapping);
	}
}

/**
 * farswap_slabs_lose_one() - a donor has no more one region, and goes on with the others
 * @donor:	the donor
 * @id:		its name for the region
 *
 * One that we don't know is about to become a slab's. farswap_slabs_count_lost() must follow.
 *
 * Context: process context, under farswap_state_lock; does not wait.
 */
void farswap_slabs_lose_one(struct farswap_donor *donor, u64 id)
{
	struct farswap_mapping *mapping;

	lockdep_assert_held(&farswap_state_lock);
	mapping = farswap_mapping_by_id(donor, id);
	if (!mapping) {
		farswap_eviction_early(donor, id);
		return;
	}
	/* Who fetches what it has would else try again, as the donor works. */
	set_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
	drain_lose(mapping);
}

static void drain_unmap(struct farswap_slab *slab)
{
	farswap_drain_start(slab, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_UNMAPPED);
}

/* Give back a region of a donor that leaves, or see to it that it is not used. */
static void drain_unmap_one(struct farswap_mapping *mapping, unsigned long until)
{
	if (farswap_mapping_is_in_use(mapping) &&
	    farswap_mapping_staying(mapping->slab, mapping))
		farswap_leave_mapping_start(mapping, until);
	else if (farswap_mapping_is_in_use(mapping))
		drain_unmap(mapping->slab);
	else
		set_bit(FARSWAP_MAPPING_REVOKED, &mapping->flags);
}

/*
 * All of a donor's. It may have thousands: farswap_state_lock is dropped now and then. Those that
 * farswap_slabs_lose() takes from the list meanwhile end by that.
 */
static void drain_unmap_all(struct farswap_donor *donor, unsigned long until)
{
	struct farswap_mapping *mapping;
	unsigned int left;

	spin_lock(&farswap_state_lock);
	for (left = donor->nr_slabs; left && !list_empty(&donor->mappings); left--) {
		mapping = list_first_entry(&donor->mappings, struct farswap_mapping, donor_entry);
		list_move_tail(&mapping->donor_entry, &donor->mappings);
		drain_unmap_one(mapping, until);
		if (left % DRAIN_BATCH)
			continue;
		spin_unlock(&farswap_state_lock);
		cond_resched();
		spin_lock(&farswap_state_lock);
	}
	spin_unlock(&farswap_state_lock);
}

/* Can nothing be fetched from a donor that has a slab of the device? */
static bool drain_is_starved(struct farswap_device *device)
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
			starved |= mapping && farswap_home_is_starved(mapping->donor);
		}
		rcu_read_unlock();
		cond_resched();
	}
	return starved;
}

/**
 * farswap_slabs_unmap() - give back all regions of a device, or of a donor
 * @device:	the device, on which no mapping begins any more; or NULL
 * @donor:	the donor, from which no region comes any more; or NULL
 *
 * Every page is on the swap device as well, or staged for it, unless the donor
 * died with the only copy.
 *
 * Context: may sleep, until the I/O in flight has ended, on the swap device too,
 * and attempts to map a slab of @device that are being made, and until pages that
 * only a region has are fetched.
 * Return: 0, or -ENOMEM if the adapter has had no memory to fetch any page for seconds. What has
 * begun to leave goes on then, and nothing is lost by it.
 */
int farswap_slabs_unmap(struct farswap_device *device,
			struct farswap_donor *donor)
{
	unsigned long until = jiffies + DRAIN_UNMAP_TIME;
	struct farswap_slab *slab;
	unsigned long i;

	if (donor) {
		drain_unmap_all(donor, until);
		/* Idle: a suspect donor's grace is not to be taken for a hang. */
		while (!wait_event_idle_timeout(drain_ended, !READ_ONCE(donor->nr_slabs),
						DRAIN_LOOK))
			if (farswap_home_is_starved(donor))
				return -ENOMEM;
	}
	if (device) {
		for (i = 0; i < device->map->nr_slabs; i++) {
			slab = READ_ONCE(device->map->slab[i]);
			if (!slab)
				continue;
			farswap_slab_map_cancel(slab);
			spin_lock(&farswap_state_lock);
			drain_unmap(slab);
			spin_unlock(&farswap_state_lock);
		}
		while (!wait_event_idle_timeout(drain_ended, !READ_ONCE(device->busy),
						DRAIN_LOOK))
			if (drain_is_starved(device))
				return -ENOMEM;
		for (i = 0; i < device->map->nr_slabs; i++) {
			slab = READ_ONCE(device->map->slab[i]);
			if (!slab)
				continue;
			cancel_work_sync(&slab->repair_work);
			cancel_work_sync(&slab->refill_work);
			/* It is about to return: only those of other slabs may still fetch. */
			flush_work(&slab->leave_work);
		}
		farswap_rebuild_cancel(device);
	}
	/* map_release_work() may still be about to return. */
	flush_workqueue(farswap_wq);
	return 0;
}
