// SPDX-License-Identifier: GPL-2.0
/*
 * Evacuation. Before a slab gives up its last region, it fetches the pages that have no other
 * copy (migrate/evacuate-fetch.c). Loads continue during that time; stores do not.
 *
 * Before a slab gives up one of several regions, it copies the pages that only that region has
 * to the others (copy.c), and fetches those that are not copied in time. Stores continue, to
 * the others. A slab that migrates to another donor, so that its eviction causes no disk read,
 * has two regions during that time; Infiniswap (section 4.4) drops the pages and maps a new,
 * empty region.
 *
 * The second part of the file handles the donors' eviction requests.
 *
 * Locking: an evacuation runs once for each mapping, between farswap_unmap_start() or
 * farswap_evacuate_mapping_start() and the end of the mapping.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/sched/mm.h>
#include <linux/timer.h>

#include "internal.h"

/*
 * Retries of an evacuation that cannot remove its mapping yet: other mappings may die, and
 * another evacuating mapping may be about to fetch a page. If the donor has set a deadline,
 * the retries continue until then.
 */
#define EVACUATE_ROUNDS	8
#define EVACUATE_PAUSE_MS	250
/* Interval of the checks of a deadline that may become shorter. */
#define EVACUATE_LOOK_MS	20
/* Slabs that are drained at the same time without a donor's request. */
#define EVACUATE_DRAINS	8

/*
 * All works here may wait for a device and for donors, so a slab that a donor evicts has another
 * queue than a slab that drains for another reason. A slab's work waits for both works of its
 * mappings: on the same queue, once that is full, they would deadlock. Fetches have their own
 * queue, so that works of mappings that are stuck do not block them.
 */
static struct workqueue_struct *evacuate_wq;
static struct workqueue_struct *evacuate_fetch_wq;
/* The first is for slabs whose region a donor has requested, the second for all others. */
static struct workqueue_struct *evacuate_evict_wq;
static struct workqueue_struct *evacuate_drain_wq;

/* Check that no store to the slab is in flight and that none of its mappings is evacuating. */
static bool evacuate_is_quiet(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	if (READ_ONCE(slab->nr_evacuating))
		return false;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && farswap_mapping_has_stores(mapping))
			return false;
	}
	return true;
}

/*
 * Start to fetch from all mappings in parallel, so that a silent donor blocks no other. The
 * donors that work come first, because there may be no memory for more than one worker.
 */
static void evacuate_fetch(struct farswap_slab *slab)
{
	struct farswap_mapping *mapping;
	unsigned long begun = 0;
	unsigned int i, nth;

	for (i = 0; i < 2 * FARSWAP_REPLICAS_MAX && READ_ONCE(slab->sole); i++) {
		nth = i % FARSWAP_REPLICAS_MAX;
		mapping = farswap_mapping_nth(slab, nth);
		if (!mapping || test_bit(nth, &begun) ||
		    (i < FARSWAP_REPLICAS_MAX && !farswap_donor_works(mapping->donor)))
			continue;
		__set_bit(nth, &begun);
		mod_delayed_work(evacuate_fetch_wq, &mapping->fetch_work, 0);
	}
}

/* Sleep in short steps: one sleep for a donor's whole grace would be reported as a hung task. */
static unsigned int evacuate_pause(unsigned int ms)
{
	msleep(ms);
	return min(2 * ms, EVACUATE_LOOK_MS);
}

/*
 * Stop the mapping's fetch work. This may cancel a fetch that farswap_evacuate_work() has started;
 * that work starts all fetches again once no mapping of the slab is evacuating.
 */
static void evacuate_fetch_cancel(struct farswap_mapping *mapping)
{
	unsigned int ms = 1;

	while (work_busy(&mapping->fetch_work.work) & WORK_BUSY_RUNNING) {
		cancel_delayed_work(&mapping->fetch_work);
		ms = evacuate_pause(ms);
	}
	cancel_delayed_work_sync(&mapping->fetch_work);
}

static void evacuate_fetch_wait(struct farswap_slab *slab)
{
	struct farswap_mapping *mapping;
	unsigned int nth, ms = 1;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (!mapping)
			continue;
		while (work_busy(&mapping->fetch_work.work))
			ms = evacuate_pause(ms);
		flush_delayed_work(&mapping->fetch_work);
	}
}

/**
 * farswap_evacuate_work() - evacuate a draining slab
 * @work:	the slab's work
 *
 * The slab keeps its mappings, with live references, until this work ends. Stores in flight
 * and the evacuation of a mapping may wait for a suspect donor, for longer than another donor
 * waits for its region. So the work fetches pages before those end, and again afterwards. At
 * the end it refuses new I/O on all of the slab's mappings.
 *
 * Context: may sleep.
 */
void farswap_evacuate_work(struct work_struct *work)
{
	struct farswap_slab *slab = container_of(work, struct farswap_slab,
						 evacuate_work);

	evacuate_fetch(slab);
	/*
	 * farswap_unmap_start() has written slab->state before this reads the counts of stores.
	 * Pairs with farswap_write_begin(), which counts the store before it reads
	 * slab->state.
	 */
	while (!wait_event_timeout(farswap_stores_ended, evacuate_is_quiet(slab),
				   msecs_to_jiffies(EVACUATE_PAUSE_MS)))
		evacuate_fetch(slab);
	/* Fetch the pages that the last stores have written. */
	evacuate_fetch(slab);
	evacuate_fetch_wait(slab);
	spin_lock(&farswap_state_lock);
	farswap_unmap_kill(slab);
	spin_unlock(&farswap_state_lock);
}

static bool evacuate_has_only(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	unsigned int slot;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots)
		if (farswap_unmap_is_only(mapping, slot) && !farswap_slab_zero(slab, slot))
			return true;
	return false;
}

/*
 * Check whether the mapping has a page that is neither in a staying region nor staged nor on the
 * device. Another evacuating mapping may be about to fetch it, but the fetch may fail.
 */
static bool evacuate_is_relied_on(const struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot;

	if (!READ_ONCE(slab->sole))
		return false;
	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots)
		if (test_bit(slot, slab->bits.unbacked) && farswap_unmap_is_only(mapping, slot) &&
		    !farswap_slab_zero(slab, slot) && !farswap_backup_holds(slab, slot))
			return true;
	return false;
}

/* Copy the pages that only this mapping has to the mappings that stay. */
static void evacuate_copy(struct farswap_mapping *from)
{
	struct farswap_mapping *to;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && evacuate_has_only(from); nth++) {
		to = farswap_mapping_get(from->slab, nth);
		if (!to)
			continue;
		if (to != from && !farswap_mapping_goes(to))
			farswap_copy(to, from, 0, false);
		farswap_mapping_put(to);
	}
}

/* Map a region at another donor, if the slab is to migrate. */
static void evacuate_find_other(struct farswap_mapping *mapping)
{
	/* The donor waits, so allocations must not wait for our swap device. */
	unsigned int noio = memalloc_noio_save();

	if (farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) &&
	    farswap_mapping_is_slabs(mapping))
		farswap_replica_add(mapping->slab, 1, READ_ONCE(mapping->evacuate_until));
	memalloc_noio_restore(noio);
}

/* Check whether there is time, and a mapping that may still take the remaining pages. */
static bool evacuate_may_copy_more(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;

	return time_before(jiffies, READ_ONCE(mapping->evacuate_until)) &&
	       !farswap_mapping_ends(mapping) && farswap_mapping_is_slabs(mapping) &&
	       READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
	       !READ_ONCE(slab->device->closing) && farswap_may_store() &&
	       (farswap_mapping_staying(slab, mapping) ||
		(farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) &&
		 farswap_mapping_count(slab) == FARSWAP_REPLICAS_MAX)) &&
	       evacuate_has_only(mapping);
}

/* The work checks the deadline often: the code that shortens it does not requeue the work. */
static void evacuate_fetch_later(struct farswap_mapping *mapping)
{
	long left = max(0L, (long)(READ_ONCE(mapping->evacuate_until) - jiffies));

	queue_delayed_work(evacuate_fetch_wq, &mapping->fetch_work,
			   min(left, (long)msecs_to_jiffies(EVACUATE_LOOK_MS)));
}

/**
 * farswap_evacuate_fetch_work() - fetch the pages that only a mapping has
 * @work:	the mapping's work
 *
 * The work runs for a draining slab at once, and for an evacuating mapping of a mapped slab
 * when its time for copying is over. At that time a copy may be stuck at a silent donor, for
 * longer than this mapping's donor waits, and so may a store that also goes to that donor. The
 * slots of such a store have no remote bit yet, so they are not fetched.
 *
 * Context: may sleep.
 */
void farswap_evacuate_fetch_work(struct work_struct *work)
{
	struct farswap_mapping *mapping = container_of(to_delayed_work(work),
						       struct farswap_mapping, fetch_work);

	if (READ_ONCE(mapping->slab->state) == FARSWAP_SLAB_MAPPED &&
	    time_before(jiffies, READ_ONCE(mapping->evacuate_until))) {
		evacuate_fetch_later(mapping);
		return;
	}
	if (READ_ONCE(mapping->slab->sole))
		farswap_fetch_mapping(mapping);
}

/* Count a removed mapping; if the slab had only this one, the slab has migrated. */
static void evacuate_account(const struct farswap_mapping *mapping)
{
	farswap_stat_add(FARSWAP_STAT_REPLICA_LEFT, 1);
	if (!farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) ||
	    !farswap_mapping_staying(mapping->slab, NULL))
		return;
	farswap_stat_add(FARSWAP_STAT_SLAB_EVICTED, 1);
	farswap_stat_add(FARSWAP_STAT_SLAB_MOVED, 1);
	farswap_stat_add(FARSWAP_STAT_SLAB_MAPPED, 1);
}

/* Remove the mapping; if it is the slab's last one by now, drain the slab. */
static void evacuate_mapping_go(struct farswap_mapping *mapping, bool whole)
{
	lockdep_assert_held(&farswap_state_lock);
	if (farswap_unmap_is_one_of_several(mapping)) {
		farswap_unmap_remove(mapping);
		evacuate_account(mapping);
		if (farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) && !whole)
			farswap_rebuild_want(mapping->slab);
	} else {
		/* Rebuild a slab that lost replicas; an eviction alone leaves its pages on disk. */
		if (!farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING))
			farswap_rebuild_want(mapping->slab);
		farswap_unmap_start(mapping->slab, FARSWAP_SLAB_DRAINING,
				    FARSWAP_STAT_SLAB_EVICTED);
	}
}

/*
 * End the mapping. Return false if it must stay: other replicas were lost, or have not yet
 * fetched its pages. If the slab is already ending, the mapping ends with it.
 */
static bool evacuate_mapping_end(struct farswap_mapping *mapping, bool at_once)
{
	struct farswap_slab *slab = mapping->slab;
	/*
	 * The read of slab->generation is ordered before the reads of slab->mapping[] below. Pairs
	 * with farswap_mapping_add() and farswap_mapping_remove(), which write slab->mapping[]
	 * before slab->generation.
	 */
	unsigned int generation = smp_load_acquire(&slab->generation);
	bool whole, stays, goes, removed;

	whole = !evacuate_has_only(mapping);
	stays = !at_once && (evacuate_is_relied_on(mapping) || farswap_unmap_would_lose(mapping));

	spin_lock(&farswap_state_lock);
	goes = farswap_mapping_is_slabs(mapping) && slab->state == FARSWAP_SLAB_MAPPED;
	if (goes && !at_once && farswap_unmap_is_one_of_several(mapping) &&
	    (stays || slab->generation != generation)) {
		spin_unlock(&farswap_state_lock);
		return false;
	}
	WRITE_ONCE(slab->nr_evacuating, slab->nr_evacuating - 1);
	if (goes)
		evacuate_mapping_go(mapping, whole);
	removed = goes && !farswap_mapping_is_slabs(mapping);
	wake_up_all(&farswap_stores_ended);
	spin_unlock(&farswap_state_lock);
	if (removed)
		farswap_unmap_count_removed(mapping);
	return true;
}

/**
 * farswap_evacuate_mapping_work() - evacuate one mapping of a mapped slab
 * @work:	the mapping's work
 *
 * Context: may sleep.
 */
void farswap_evacuate_mapping_work(struct work_struct *work)
{
	struct farswap_mapping *mapping = container_of(work, struct farswap_mapping,
						       evacuate_work);
	bool at_once;
	int round = 0;

	for (;;) {
		evacuate_fetch_later(mapping);
		evacuate_find_other(mapping);
		/*
		 * farswap_evacuate_mapping_start() has marked the mapping evacuating before this
		 * reads the counts of stores. Pairs with farswap_write_begin(), which
		 * counts the store before it reads that mark. The counts are read before the remote
		 * bits below. Pairs with farswap_write_written(), which counts the end of
		 * the store after those bits are set.
		 */
		wait_event(farswap_stores_ended, !farswap_mapping_has_stores(mapping));
		evacuate_copy(mapping);
		evacuate_fetch_cancel(mapping);
		if (!evacuate_may_copy_more(mapping)) {
			if (READ_ONCE(mapping->slab->sole))
				farswap_fetch_mapping(mapping);
			at_once = farswap_mapping_ends(mapping) ||
				  (++round >= EVACUATE_ROUNDS &&
				   !timer_pending(&mapping->evict_timer));
			if (evacuate_mapping_end(mapping, at_once))
				break;
		}
		msleep(EVACUATE_PAUSE_MS);
	}
	farswap_mapping_put(mapping);
}

/**
 * farswap_evacuate_mapping_start() - start to evacuate one mapping of a mapped slab
 * @mapping:	a mapping of the slab
 * @until:	jiffies after which no page is copied to the other mappings; for a mapping that is
 *		already evacuating, the earlier of the two times counts
 *
 * Context: process context, under farswap_state_lock; does not wait.
 */
void farswap_evacuate_mapping_start(struct farswap_mapping *mapping, unsigned long until)
{
	lockdep_assert_held(&farswap_state_lock);
	if (mapping->state == FARSWAP_MAPPING_EVACUATING) {
		if (time_before(until, mapping->evacuate_until))
			WRITE_ONCE(mapping->evacuate_until, until);
		return;
	}
	mapping->evacuate_until = until;
	farswap_mapping_set_state(mapping, FARSWAP_MAPPING_EVACUATING);
	/*
	 * The state is written before farswap_evacuate_mapping_work() reads the counts of stores.
	 * Pairs with farswap_write_begin(), which counts the store before it reads the
	 * state.
	 */
	smp_mb();
	farswap_mapping_hold(mapping);
	WRITE_ONCE(mapping->slab->nr_evacuating, mapping->slab->nr_evacuating + 1);
	queue_work(evacuate_wq, &mapping->evacuate_work);
}

/* Check whether a donor's request is pending, whether or not it caused the evacuation. */
static bool evacuate_is_urgent(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && timer_pending(&mapping->evict_timer))
			return true;
	}
	return false;
}

/**
 * farswap_evacuate_start() - start to evacuate a draining slab
 * @slab:	a slab that has just become FARSWAP_SLAB_DRAINING
 * @evicted:	a donor has requested the region
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_evacuate_start(struct farswap_slab *slab, bool evicted)
{
	lockdep_assert_held(&farswap_state_lock);
	queue_work(evicted || evacuate_is_urgent(slab) ? evacuate_evict_wq : evacuate_drain_wq,
		   &slab->evacuate_work);
}

/**
 * evacuate_hurry() - expedite the evacuation of a slab whose region a donor requests
 * @slab:	a slab that is draining for another reason
 *
 * If the slab's work still waits in its queue, it moves to the queue for evictions.
 *
 * Context: process context, under farswap_state_lock.
 */
static void evacuate_hurry(struct farswap_slab *slab)
{
	lockdep_assert_held(&farswap_state_lock);
	if (cancel_work(&slab->evacuate_work))
		queue_work(evacuate_evict_wq, &slab->evacuate_work);
}

/**
 * farswap_evacuate_init() - allocate the workqueues
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_evacuate_init(void)
{
	unsigned int flags = WQ_MEM_RECLAIM | WQ_UNBOUND;

	evacuate_wq = alloc_workqueue("farswap_leave", flags, WQ_MAX_ACTIVE);
	if (!evacuate_wq)
		return -ENOMEM;
	evacuate_fetch_wq = alloc_workqueue("farswap_fetch", flags, WQ_MAX_ACTIVE);
	if (!evacuate_fetch_wq)
		goto out_destroy_leave;
	evacuate_evict_wq = alloc_workqueue("farswap_evict", flags, WQ_MAX_ACTIVE);
	if (!evacuate_evict_wq)
		goto out_destroy_fetch;
	evacuate_drain_wq = alloc_workqueue("farswap_drain", flags, EVACUATE_DRAINS);
	if (!evacuate_drain_wq)
		goto out_destroy_evict;
	return 0;

out_destroy_evict:
	destroy_workqueue(evacuate_evict_wq);
out_destroy_fetch:
	destroy_workqueue(evacuate_fetch_wq);
out_destroy_leave:
	destroy_workqueue(evacuate_wq);
	return -ENOMEM;
}

/**
 * farswap_evacuate_exit() - free the workqueues
 */
void farswap_evacuate_exit(void)
{
	destroy_workqueue(evacuate_drain_wq);
	destroy_workqueue(evacuate_evict_wq);
	destroy_workqueue(evacuate_fetch_wq);
	destroy_workqueue(evacuate_wq);
}

/*
 * Eviction requests. A donor requests a region with a deadline, and takes the region when the
 * deadline has passed. The code above evacuates the pages before that.
 *
 * Locking: farswap_state_lock. farswap_evict_is_near() checks a deadline without it.
 */

/*
 * I/O that migrates pages is started only in the first 1/EVICT_MOVE_PART of a donor's
 * deadline. The last of it may take long, and the remaining pages may have to be fetched.
 */
#define EVICT_MOVE_PART	4
/* At least the last 1/EVICT_LAST_PART of the deadline is left for I/O in flight to complete. */
#define EVICT_LAST_PART	8
/* Interval of the checks whether a suspect donor has resumed. */
#define EVICT_LOOK		(HZ / 50)
/* The longest deadline that a daemon sets; see evict_ms in farswapd.conf(5). */
#define EVICT_MAX_MS		600000U

/*
 * Refuse new I/O when the deadline has passed. I/O that the donor refuses would fail the
 * connection and all other I/O on it. This way only the pages that are not fetched are lost.
 */
static void evict_due(struct timer_list *timer)
{
	struct farswap_mapping *mapping = container_of(timer, struct farswap_mapping,
						       evict_timer);

	/*
	 * A suspect donor may have sent the request on a connection that failed before it could be
	 * used: check again until the session resumes or ends.
	 */
	if (farswap_donor_is_suspect(mapping->donor))
		mod_timer(timer, jiffies + EVICT_LOOK);
	else
		set_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
}

/* Forget the donor's request and its deadline. */
static void evict_forget(struct farswap_mapping *mapping)
{
	/* The timer function takes no lock, so it may be waited for under farswap_state_lock. */
	timer_delete_sync(&mapping->evict_timer);
	clear_bit(FARSWAP_MAPPING_EVICT_REQUESTED, &mapping->flags);
	clear_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
}

/* Refuse new I/O shortly before the donor takes the region. */
static void evict_set_timer(struct farswap_mapping *mapping, unsigned int ms)
{
	unsigned int last = max(ms / EVICT_LAST_PART,
				min(ms / 2, READ_ONCE(farswap_settings.io_timeout_ms)));

	lockdep_assert_held(&farswap_state_lock);
	evict_forget(mapping);
	WRITE_ONCE(mapping->hurry_at, jiffies + msecs_to_jiffies((ms - last) / 2));
	/*
	 * The time from which fetches are expedited is written before this flag. Pairs with
	 * farswap_evict_is_near(), which reads the flag before the time. The pending timer
	 * can't serve as the flag, because it expires shortly before the donor takes the region.
	 */
	smp_mb__before_atomic();
	set_bit(FARSWAP_MAPPING_EVICT_REQUESTED, &mapping->flags);
	mod_timer(&mapping->evict_timer, jiffies + msecs_to_jiffies(ms - last));
}

/* Check whether the pages are worth migrating: the slab is busy, or holds sole copies. */
static bool evict_is_worth_moving(const struct farswap_slab *slab)
{
	u32 activity = farswap_activity_read(&slab->activity, farswap_slab_second());

	return farswap_may_store() &&
	       (READ_ONCE(slab->sole) ||
		activity >= READ_ONCE(farswap_settings.hotslab));
}

/* Start to evict a region that a mapped slab uses. */
static void evict_of_used(struct farswap_mapping *mapping, unsigned long until)
{
	struct farswap_slab *slab = mapping->slab;

	if (mapping->state == FARSWAP_MAPPING_EVACUATING) {
		/* The latest request counts, whatever started the evacuation. */
		WRITE_ONCE(mapping->evacuate_until, until);
	} else if (farswap_mapping_staying(slab, mapping)) {
		farswap_evacuate_mapping_start(mapping, until);
	} else if (evict_is_worth_moving(slab)) {
		set_bit(FARSWAP_MAPPING_MIGRATING, &mapping->flags);
		farswap_evacuate_mapping_start(mapping, until);
	} else {
		farswap_unmap_start(slab, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_EVICTED);
	}
}

/**
 * farswap_evict_early() - remember that a region was evicted before a slab has it
 * @donor:	the donor
 * @id:		the donor's ID of the region
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_evict_early(struct farswap_donor *donor, u64 id)
{
	lockdep_assert_held(&farswap_state_lock);
	donor->early[donor->nr_early++ % FARSWAP_EARLY_EVICTS] = id;
}

/**
 * farswap_evict_begin() - handle a donor's request for a region
 * @donor:	the donor
 * @id:		the donor's ID of the region
 * @deadline_ms: milliseconds until the donor takes the region
 *
 * Infiniswap, section 4.4: stop, wait without polling, answer. Before that, a part of the time
 * may be spent on migrating the pages. A region that is already being given back needs no
 * action. An unknown @id is remembered: its region is about to be mapped.
 *
 * Context: process context; does not wait.
 */
void farswap_evict_begin(struct farswap_donor *donor, u64 id, u32 deadline_ms)
{
	unsigned int ms = min(deadline_ms, EVICT_MAX_MS);
	struct farswap_mapping *mapping;

	spin_lock(&farswap_state_lock);
	mapping = farswap_mapping_by_id(donor, id);
	if (mapping)
		evict_set_timer(mapping, ms);
	if (!mapping)
		farswap_evict_early(donor, id);
	else if (farswap_mapping_is_in_use(mapping))
		evict_of_used(mapping, jiffies + msecs_to_jiffies(ms / EVICT_MOVE_PART));
	else
		set_bit(FARSWAP_MAPPING_REVOKED, &mapping->flags);
	if (mapping && mapping->slab->state == FARSWAP_SLAB_DRAINING)
		evacuate_hurry(mapping->slab);
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_evict_was_early() - check whether the donor requested a region before it is linked
 * @mapping:	a mapping that is being linked
 *
 * Context: process context, under farswap_state_lock.
 * Return: true if the donor requested it.
 */
bool farswap_evict_was_early(const struct farswap_mapping *mapping)
{
	const struct farswap_donor *donor = mapping->donor;
	unsigned int i;

	lockdep_assert_held(&farswap_state_lock);
	for (i = 0; i < min(donor->nr_early, FARSWAP_EARLY_EVICTS); i++)
		if (donor->early[i] == mapping->id)
			return true;
	return false;
}

/**
 * farswap_evict_is_near() - check whether the donor takes the region soon
 * @mapping:	a mapping
 *
 * Context: any.
 * Return: true if half of the time in which new I/O is accepted has passed.
 */
bool farswap_evict_is_near(const struct farswap_mapping *mapping)
{
	/*
	 * The flag is read before the time. Pairs with evict_set_timer(), which writes the time
	 * before the flag.
	 */
	return test_bit_acquire(FARSWAP_MAPPING_EVICT_REQUESTED, &mapping->flags) &&
	       time_after_eq(jiffies, READ_ONCE(mapping->hurry_at));
}

/**
 * farswap_evict_suspend() - forget a request of a donor that became suspect
 * @mapping:	a mapping of the donor
 *
 * The donor sends the request again when its session has resumed.
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_evict_suspend(struct farswap_mapping *mapping)
{
	lockdep_assert_held(&farswap_state_lock);
	/* Most mappings have no request. The passed deadline of a region that is lost is final. */
	if (farswap_mapping_is(mapping, FARSWAP_MAPPING_EVICT_REQUESTED) &&
	    hash_hashed(&mapping->id_entry))
		evict_forget(mapping);
}

/**
 * farswap_evict_init() - set up a mapping without an eviction request
 * @mapping:	a new mapping
 */
void farswap_evict_init(struct farswap_mapping *mapping)
{
	timer_setup(&mapping->evict_timer, evict_due, 0);
}

/**
 * farswap_evict_exit() - shut down the eviction timer of a mapping
 * @mapping:	a mapping that is no longer in its donor's list
 *
 * Context: process context.
 */
void farswap_evict_exit(struct farswap_mapping *mapping)
{
	timer_shutdown_sync(&mapping->evict_timer);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/evict-kunit.h"
#endif
