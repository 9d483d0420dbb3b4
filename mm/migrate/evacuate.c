// SPDX-License-Identifier: GPL-2.0
/*
 * What a slab does before it leaves its last region: those pages that nobody else has are
 * fetched (migrate/evacuate-fetch.c). Loads go on meanwhile, stores don't.
 *
 * Before it leaves one of several, the others get what only that one has (copy.c), and
 * what they don't get in time is fetched. Stores go on, to the others. A slab that moves to
 * another donor, so that its eviction sends no read to the disk, has two for that time;
 * Infiniswap (section 4.4) drops the pages and maps it anew, empty.
 *
 * Locking: runs once for each mapping, between farswap_drain_start() or
 * farswap_leave_mapping_start() and the end of the mapping.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/sched/mm.h>
#include <linux/timer.h>

#include "internal.h"

/*
 * Looks whether one of several mappings may go, for others may die meanwhile, and one
 * that also leaves may be about to fetch a page. If its donor has said how long it waits, so
 * long.
 */
#define LEAVE_ROUNDS	8
#define LEAVE_PAUSE_MS	250
/* Between looks at a deadline that may become shorter. */
#define LEAVE_LOOK_MS	20
/* Slabs that are drained at once though no donor wants a region back. */
#define LEAVE_DRAINS	8

/*
 * All may wait for a device and for donors: what a donor wants back waits for nothing else. Slabs
 * wait for both works of their mappings: on one and the same queue that is full they would wait
 * for each other. And what is fetched does not wait for mappings' works that are stuck.
 */
static struct workqueue_struct *leave_wq;
static struct workqueue_struct *leave_fetch_wq;
/* Slabs that a donor waits for; those that nobody waits for but we ourselves. */
static struct workqueue_struct *leave_evict_wq;
static struct workqueue_struct *leave_drain_wq;

/* No store to any of its mappings is in flight, and none of them leaves by itself any more. */
static bool leave_is_quiet(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	if (READ_ONCE(slab->nr_leaving))
		return false;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && atomic_read_acquire(&mapping->stores))
			return false;
	}
	return true;
}

/*
 * Of each of its mappings, beside the others': a donor that falls silent holds none up. First of
 * those that work: there may be no memory for more than one worker.
 */
static void leave_fetch(struct farswap_slab *slab)
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
		mod_delayed_work(leave_fetch_wq, &mapping->fetch_work, 0);
	}
}

/* Who waits for a donor's grace in one go would be taken for hung. */
static unsigned int leave_pause(unsigned int ms)
{
	msleep(ms);
	return min(2 * ms, LEAVE_LOOK_MS);
}

/* None begins any more, be it one that its slab wants: that has all fetched once more. */
static void leave_fetch_cancel(struct farswap_mapping *mapping)
{
	unsigned int ms = 1;

	while (work_busy(&mapping->fetch_work.work) & WORK_BUSY_RUNNING) {
		cancel_delayed_work(&mapping->fetch_work);
		ms = leave_pause(ms);
	}
	cancel_delayed_work_sync(&mapping->fetch_work);
}

static void leave_fetch_wait(struct farswap_slab *slab)
{
	struct farswap_mapping *mapping;
	unsigned int nth, ms = 1;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (!mapping)
			continue;
		while (work_busy(&mapping->fetch_work.work))
			ms = leave_pause(ms);
		flush_delayed_work(&mapping->fetch_work);
	}
}

/**
 * farswap_leave_work() - fetch, then let no I/O begin any more
 * @work:	the slab's
 *
 * The slab is draining, so its mappings stay its until this has ended, their references still
 * live. A donor may want its region back before a suspect one has come back, for which stores or
 * another mapping's leaving may wait: what it has is fetched before that, too.
 *
 * Context: may sleep.
 */
void farswap_leave_work(struct work_struct *work)
{
	struct farswap_slab *slab = container_of(work, struct farswap_slab,
						 leave_work);

	leave_fetch(slab);
	/* Pairs with farswap_mapping_store_begin(). */
	while (!wait_event_timeout(farswap_stores_ended, leave_is_quiet(slab),
				   msecs_to_jiffies(LEAVE_PAUSE_MS)))
		leave_fetch(slab);
	/* What the last of them have written. */
	leave_fetch(slab);
	leave_fetch_wait(slab);
	spin_lock(&farswap_state_lock);
	farswap_drain_kill(slab);
	spin_unlock(&farswap_state_lock);
}

static bool leave_has_only(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;
	unsigned int slot;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots)
		if (farswap_drain_is_only(mapping, slot) && !farswap_slab_zero(slab, slot))
			return true;
	return false;
}

/* Does it have what others that go too are yet to fetch? Theirs may come to nothing. */
static bool leave_is_relied_on(const struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot;

	if (!READ_ONCE(slab->sole))
		return false;
	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots)
		if (test_bit(slot, slab->bits.unbacked) && farswap_drain_is_only(mapping, slot) &&
		    !farswap_slab_zero(slab, slot) && !farswap_backup_holds(slab, slot))
			return true;
	return false;
}

/* The others get what only this one has. */
static void leave_copy(struct farswap_mapping *from)
{
	struct farswap_mapping *to;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && leave_has_only(from); nth++) {
		to = farswap_mapping_get(from->slab, nth);
		if (!to)
			continue;
		if (to != from && !farswap_mapping_goes(to))
			farswap_copy(to, from, 0, false);
		farswap_mapping_put(to);
	}
}

/* The slab moves there. */
static void leave_find_other(struct farswap_mapping *mapping)
{
	/* The donor does not wait for our disk. */
	unsigned int noio = memalloc_noio_save();

	if (farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) &&
	    farswap_mapping_is_slabs(mapping))
		farswap_replica_add(mapping->slab, 1, READ_ONCE(mapping->leave_until));
	memalloc_noio_restore(noio);
}

/* Is there time, and somebody who may yet take what only it has? */
static bool leave_may_copy_more(const struct farswap_mapping *mapping)
{
	const struct farswap_slab *slab = mapping->slab;

	return time_before(jiffies, READ_ONCE(mapping->leave_until)) &&
	       !farswap_mapping_ends(mapping) && farswap_mapping_is_slabs(mapping) &&
	       READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
	       !READ_ONCE(slab->device->closing) && farswap_may_store() &&
	       (farswap_mapping_staying(slab, mapping) ||
		(farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) &&
		 farswap_mapping_count(slab) == FARSWAP_REPLICAS_MAX)) &&
	       leave_has_only(mapping);
}

/* It looks again soon: who changes leave_until does not know whether there is a work any more. */
static void leave_fetch_later(struct farswap_mapping *mapping)
{
	long left = max(0L, (long)(READ_ONCE(mapping->leave_until) - jiffies));

	queue_delayed_work(leave_fetch_wq, &mapping->fetch_work,
			   min(left, (long)msecs_to_jiffies(LEAVE_LOOK_MS)));
}

/**
 * farswap_leave_fetch_work() - fetch what only a mapping has
 * @work:	the mapping's
 *
 * Of a slab that drains, or one that is being copied from, from its leave_until on: what is
 * being copied then may be stuck at a donor that has fallen silent, for longer than this one
 * waits; so may a store that also goes there. Its slots have no remote bit yet.
 *
 * Context: may sleep.
 */
void farswap_leave_fetch_work(struct work_struct *work)
{
	struct farswap_mapping *mapping = container_of(to_delayed_work(work),
						       struct farswap_mapping, fetch_work);

	if (READ_ONCE(mapping->slab->state) == FARSWAP_SLAB_MAPPED &&
	    time_before(jiffies, READ_ONCE(mapping->leave_until))) {
		leave_fetch_later(mapping);
		return;
	}
	if (READ_ONCE(mapping->slab->sole))
		farswap_home_fetch(mapping);
}

/* One of several has left. If it was the only one before, the slab has moved. */
static void leave_account(const struct farswap_mapping *mapping)
{
	farswap_stat_add(FARSWAP_STAT_REPLICA_LEFT, 1);
	if (!farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) ||
	    !farswap_mapping_staying(mapping->slab, NULL))
		return;
	farswap_stat_add(FARSWAP_STAT_SLAB_EVICTED, 1);
	farswap_stat_add(FARSWAP_STAT_SLAB_MOVED, 1);
	farswap_stat_add(FARSWAP_STAT_SLAB_MAPPED, 1);
}

/* It goes, or the slab goes with it if there is no other by now. */
static void leave_mapping_go(struct farswap_mapping *mapping, bool whole)
{
	lockdep_assert_held(&farswap_state_lock);
	if (farswap_drain_is_one_of_several(mapping)) {
		farswap_drain_remove(mapping);
		leave_account(mapping);
		if (farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING) && !whole)
			farswap_rebuild_want(mapping->slab);
	} else {
		/* It has lost the others; an eviction alone takes pages to the device. */
		if (!farswap_mapping_is(mapping, FARSWAP_MAPPING_MIGRATING))
			farswap_rebuild_want(mapping->slab);
		farswap_drain_start(mapping->slab, FARSWAP_SLAB_DRAINING,
				    FARSWAP_STAT_SLAB_EVICTED);
	}
}

/*
 * False: others that had its pages have gone meanwhile, or are yet to fetch them, so it can't
 * yet. If the slab's end has begun, that is the mapping's too.
 */
static bool leave_mapping_end(struct farswap_mapping *mapping, bool at_once)
{
	struct farswap_slab *slab = mapping->slab;
	/* Pairs with farswap_mapping_remove(): the generation is read before the array. */
	unsigned int generation = smp_load_acquire(&slab->generation);
	bool whole, stays, goes, removed;

	whole = !leave_has_only(mapping);
	stays = !at_once && (leave_is_relied_on(mapping) || farswap_drain_would_lose(mapping));

	spin_lock(&farswap_state_lock);
	goes = farswap_mapping_is_slabs(mapping) && slab->state == FARSWAP_SLAB_MAPPED;
	if (goes && !at_once && farswap_drain_is_one_of_several(mapping) &&
	    (stays || slab->generation != generation)) {
		spin_unlock(&farswap_state_lock);
		return false;
	}
	WRITE_ONCE(slab->nr_leaving, slab->nr_leaving - 1);
	if (goes)
		leave_mapping_go(mapping, whole);
	removed = goes && !farswap_mapping_is_slabs(mapping);
	wake_up_all(&farswap_stores_ended);
	spin_unlock(&farswap_state_lock);
	if (removed)
		farswap_drain_count_removed(mapping);
	return true;
}

/**
 * farswap_leave_mapping_work() - see to what only one of several mappings has
 * @work:	the mapping's
 *
 * Context: may sleep.
 */
void farswap_leave_mapping_work(struct work_struct *work)
{
	struct farswap_mapping *mapping = container_of(work, struct farswap_mapping,
						       leave_work);
	bool at_once;
	int round = 0;

	for (;;) {
		leave_fetch_later(mapping);
		leave_find_other(mapping);
		/* Pairs with farswap_mapping_store_begin() and farswap_mapping_store_written(). */
		wait_event(farswap_stores_ended, !atomic_read_acquire(&mapping->stores));
		leave_copy(mapping);
		leave_fetch_cancel(mapping);
		if (!leave_may_copy_more(mapping)) {
			if (READ_ONCE(mapping->slab->sole))
				farswap_home_fetch(mapping);
			at_once = farswap_mapping_ends(mapping) ||
				  (++round >= LEAVE_ROUNDS &&
				   !timer_pending(&mapping->evict_timer));
			if (leave_mapping_end(mapping, at_once))
				break;
		}
		msleep(LEAVE_PAUSE_MS);
	}
	farswap_mapping_put(mapping);
}

/**
 * farswap_leave_mapping_start() - a donor wants a region back of a slab that has others
 * @mapping:	one of its slab's
 * @until:	jiffies after which nothing is copied to the others any more; if it leaves
 *		already, the earlier counts
 *
 * Context: process context, under farswap_state_lock; does not wait.
 */
void farswap_leave_mapping_start(struct farswap_mapping *mapping, unsigned long until)
{
	lockdep_assert_held(&farswap_state_lock);
	if (mapping->state == FARSWAP_MAPPING_EVACUATING) {
		if (time_before(until, mapping->leave_until))
			WRITE_ONCE(mapping->leave_until, until);
		return;
	}
	mapping->leave_until = until;
	farswap_mapping_set_state(mapping, FARSWAP_MAPPING_EVACUATING);
	/*
	 * The state is written before the work reads mapping->stores. Pairs with
	 * farswap_mapping_store_begin(), which counts its store before it reads the state.
	 */
	smp_mb();
	refcount_inc(&mapping->users);
	WRITE_ONCE(mapping->slab->nr_leaving, mapping->slab->nr_leaving + 1);
	queue_work(leave_wq, &mapping->leave_work);
}

/* Does a donor want one of its regions back, be that why it leaves or not? */
static bool leave_is_urgent(const struct farswap_slab *slab)
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
 * farswap_leave_start() - begin
 * @slab:	a slab that was just set draining
 * @evicted:	because a donor wants a region back
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_leave_start(struct farswap_slab *slab, bool evicted)
{
	lockdep_assert_held(&farswap_state_lock);
	queue_work(evicted || leave_is_urgent(slab) ? leave_evict_wq : leave_drain_wq,
		   &slab->leave_work);
}

/**
 * leave_hurry() - a donor wants a region back of a slab that leaves for another reason
 * @slab:	a draining slab
 *
 * If its turn has not come yet, it need not wait for it.
 *
 * Context: process context, under farswap_state_lock.
 */
static void leave_hurry(struct farswap_slab *slab)
{
	lockdep_assert_held(&farswap_state_lock);
	if (cancel_work(&slab->leave_work))
		queue_work(leave_evict_wq, &slab->leave_work);
}

/**
 * farswap_leave_init() - make the workers
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_leave_init(void)
{
	unsigned int flags = WQ_MEM_RECLAIM | WQ_UNBOUND;

	leave_wq = alloc_workqueue("farswap_leave", flags, WQ_MAX_ACTIVE);
	if (!leave_wq)
		return -ENOMEM;
	leave_fetch_wq = alloc_workqueue("farswap_fetch", flags, WQ_MAX_ACTIVE);
	if (!leave_fetch_wq)
		goto out_destroy_leave;
	leave_evict_wq = alloc_workqueue("farswap_evict", flags, WQ_MAX_ACTIVE);
	if (!leave_evict_wq)
		goto out_destroy_fetch;
	leave_drain_wq = alloc_workqueue("farswap_drain", flags, LEAVE_DRAINS);
	if (!leave_drain_wq)
		goto out_destroy_evict;
	return 0;

out_destroy_evict:
	destroy_workqueue(leave_evict_wq);
out_destroy_fetch:
	destroy_workqueue(leave_fetch_wq);
out_destroy_leave:
	destroy_workqueue(leave_wq);
	return -ENOMEM;
}

/**
 * farswap_leave_exit() - undo farswap_leave_init()
 */
void farswap_leave_exit(void)
{
	destroy_workqueue(leave_drain_wq);
	destroy_workqueue(leave_evict_wq);
	destroy_workqueue(leave_fetch_wq);
	destroy_workqueue(leave_wq);
}

/*
 * A donor wants a region back, and takes it when its deadline is over. What becomes of the
 * pages there is migrate/evacuate.c's affair.
 *
 * Locking: farswap_state_lock. Who looks at whether a deadline is near does so without it.
 */

/*
 * The part of a donor's deadline in which I/O is begun to move pages. The last may
 * take long, and what is left may have to be fetched.
 */
#define EVICTION_MOVE_PART	4
/* The last part of it is for I/O to end that has begun, as long as that may take. */
#define EVICTION_LAST_PART	8
/* Between looks at whether a suspect donor goes on. */
#define EVICTION_LOOK		(HZ / 50)
/* No daemon waits longer: see farswapd.conf(5), evict_ms. */
#define EVICTION_MAX_MS		600000U

/*
 * An I/O that its donor refuses fails the connection, and all that is under way on it. What
 * could not be fetched by now is lost, and nothing else.
 */
static void eviction_due(struct timer_list *timer)
{
	struct farswap_mapping *mapping = container_of(timer, struct farswap_mapping,
						       evict_timer);

	/* Asked for on a connection that failed before it could be used: as above. */
	if (farswap_donor_is_suspect(mapping->donor))
		mod_timer(timer, jiffies + EVICTION_LOOK);
	else
		set_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
}

/* Nothing is known of when the donor takes it. */
static void eviction_forget(struct farswap_mapping *mapping)
{
	/* Takes no lock, and may just be running. */
	timer_delete_sync(&mapping->evict_timer);
	clear_bit(FARSWAP_MAPPING_EVICT_REQUESTED, &mapping->flags);
	clear_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
}

/* Have no I/O begin when the donor is about to take the region. */
static void eviction_set_timer(struct farswap_mapping *mapping, unsigned int ms)
{
	unsigned int last = max(ms / EVICTION_LAST_PART,
				min(ms / 2, READ_ONCE(farswap_settings.io_timeout_ms)));

	lockdep_assert_held(&farswap_state_lock);
	eviction_forget(mapping);
	WRITE_ONCE(mapping->hurry_at, jiffies + msecs_to_jiffies((ms - last) / 2));
	/*
	 * hurry_at is written before the flag. Pairs with farswap_eviction_is_near(), which reads
	 * them in the other order. The timer would not do: shortly before the region is due it
	 * is not pending.
	 */
	smp_mb__before_atomic();
	set_bit(FARSWAP_MAPPING_EVICT_REQUESTED, &mapping->flags);
	mod_timer(&mapping->evict_timer, jiffies + msecs_to_jiffies(ms - last));
}

/* Pages that are used, or that nobody else has, are worth the network's time. */
static bool eviction_is_worth_moving(const struct farswap_slab *slab)
{
	u32 activity = farswap_activity_read(&slab->activity, farswap_slab_second());

	return farswap_may_store() &&
	       (READ_ONCE(slab->sole) ||
		activity >= READ_ONCE(farswap_settings.hotslab));
}

/* Of a region that a slab depends on. */
static void eviction_of_used(struct farswap_mapping *mapping, unsigned long until)
{
	struct farswap_slab *slab = mapping->slab;

	if (mapping->state == FARSWAP_MAPPING_EVACUATING) {
		/* The donor knows best, be it asked again or for another reason. */
		WRITE_ONCE(mapping->leave_until, until);
	} else if (farswap_mapping_staying(slab, mapping)) {
		farswap_leave_mapping_start(mapping, until);
	} else if (eviction_is_worth_moving(slab)) {
		set_bit(FARSWAP_MAPPING_MIGRATING, &mapping->flags);
		farswap_leave_mapping_start(mapping, until);
	} else {
		farswap_drain_start(slab, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_EVICTED);
	}
}

/**
 * farswap_eviction_early() - a region goes back that is not a slab's yet
 * @donor:	the donor
 * @id:		its name for the region
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_eviction_early(struct farswap_donor *donor, u64 id)
{
	lockdep_assert_held(&farswap_state_lock);
	donor->early[donor->nr_early++ % FARSWAP_EARLY_EVICTS] = id;
}

/**
 * farswap_eviction_begin() - a donor wants a region back
 * @donor:	the donor
 * @id:		its name for the region
 * @deadline_ms: when it will take it
 *
 * Infiniswap, section 4.4: stop, wait without polling, answer. A part of the time may
 * be spent on moving the pages. A region that is on its way back needs nothing; one
 * that we don't know is about to become a slab's.
 *
 * Context: process context; does not wait.
 */
void farswap_eviction_begin(struct farswap_donor *donor, u64 id, u32 deadline_ms)
{
	unsigned int ms = min(deadline_ms, EVICTION_MAX_MS);
	struct farswap_mapping *mapping;

	spin_lock(&farswap_state_lock);
	mapping = farswap_mapping_by_id(donor, id);
	if (mapping)
		eviction_set_timer(mapping, ms);
	if (!mapping)
		farswap_eviction_early(donor, id);
	else if (farswap_mapping_is_in_use(mapping))
		eviction_of_used(mapping, jiffies + msecs_to_jiffies(ms / EVICTION_MOVE_PART));
	else
		set_bit(FARSWAP_MAPPING_REVOKED, &mapping->flags);
	if (mapping && mapping->slab->state == FARSWAP_SLAB_DRAINING)
		leave_hurry(mapping->slab);
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_eviction_was_early() - did the donor want it before we knew that it is ours
 * @mapping:	one that is being linked
 *
 * Context: process context, under farswap_state_lock.
 * Return: whether it did.
 */
bool farswap_eviction_was_early(const struct farswap_mapping *mapping)
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
 * farswap_eviction_is_near() - is its donor about to take the region
 * @mapping:	a mapping
 *
 * Context: any.
 * Return: whether half of the time for I/O to begin is over.
 */
bool farswap_eviction_is_near(const struct farswap_mapping *mapping)
{
	/* Pairs with the barrier in eviction_set_timer(). */
	return test_bit_acquire(FARSWAP_MAPPING_EVICT_REQUESTED, &mapping->flags) &&
	       time_after_eq(jiffies, READ_ONCE(mapping->hurry_at));
}

/**
 * farswap_eviction_suspend() - a donor is suspect: when it is back it asks anew
 * @mapping:	one of its
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_eviction_suspend(struct farswap_mapping *mapping)
{
	lockdep_assert_held(&farswap_state_lock);
	/* Most are not wanted at all. One that the donor has taken is due for good. */
	if (farswap_mapping_is(mapping, FARSWAP_MAPPING_EVICT_REQUESTED) &&
	    hash_hashed(&mapping->id_entry))
		eviction_forget(mapping);
}

/**
 * farswap_eviction_init() - nobody wants it yet
 * @mapping:	a new one
 */
void farswap_eviction_init(struct farswap_mapping *mapping)
{
	timer_setup(&mapping->evict_timer, eviction_due, 0);
}

/**
 * farswap_eviction_exit() - nobody can want it any more
 * @mapping:	one that is not in its donor's list
 *
 * Context: process context.
 */
void farswap_eviction_exit(struct farswap_mapping *mapping)
{
	timer_shutdown_sync(&mapping->evict_timer);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/evict-kunit.h"
#endif
