// SPDX-License-Identifier: GPL-2.0
/*
 * A donor wants a region back, and takes it when its deadline is over. What becomes of the
 * pages there is migrate/evacuate.c's affair.
 *
 * Locking: farswap_state_lock. Who looks at whether a deadline is near does so without it.
 */
#include <linux/timer.h>

#include "internal.h"

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
		WRITE_ONCE(mapping->due, true);
}

/* Nothing is known of when the donor takes it. */
static void eviction_forget(struct farswap_mapping *mapping)
{
	/* Takes no lock, and may just be running. */
	timer_delete_sync(&mapping->evict_timer);
	WRITE_ONCE(mapping->wanted, false);
	WRITE_ONCE(mapping->due, false);
}

/* Have no I/O begin when the donor is about to take the region. */
static void eviction_set_timer(struct farswap_mapping *mapping, unsigned int ms)
{
	unsigned int last = max(ms / EVICTION_LAST_PART,
				min(ms / 2, READ_ONCE(farswap_settings.io_timeout_ms)));

	lockdep_assert_held(&farswap_state_lock);
	eviction_forget(mapping);
	WRITE_ONCE(mapping->hurry_at, jiffies + msecs_to_jiffies((ms - last) / 2));
	/* Not by the timer, which isn't pending any more shortly before the region is due. */
	smp_store_release(&mapping->wanted, true);
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

	if (mapping->leaving) {
		/* The donor knows best, be it asked again or for another reason. */
		WRITE_ONCE(mapping->leave_until, until);
	} else if (farswap_mapping_staying(slab, mapping)) {
		farswap_leave_mapping_start(mapping, until);
	} else if (eviction_is_worth_moving(slab)) {
		WRITE_ONCE(mapping->moving, true);
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
		WRITE_ONCE(mapping->gone, true);
	if (mapping && mapping->slab->state == FARSWAP_SLAB_DRAINING)
		farswap_leave_hurry(mapping->slab);
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
	/* Pairs with the release in eviction_set_timer(). */
	return smp_load_acquire(&mapping->wanted) &&
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
	if (mapping->wanted && hash_hashed(&mapping->id_entry))
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
