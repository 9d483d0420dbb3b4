// SPDX-License-Identifier: GPL-2.0
/*
 * The guard keeps stores out of runs of slots whose older pages are being written to a region
 * in the background. There are two kinds of runs.
 *
 * A copy run brings pages from one region of a slab to another. It takes pages that have
 * the remote bit. The copier publishes its run before it reads those bits; a store clears
 * the bits before it checks for a run. So at least one of them sees the other. A store that
 * starts during the copy skips the destination, because the older page could land after it;
 * that slot's copy is discarded. For the same reason one run at a time copies to a mapping.
 *
 * A rebuild run brings pages from the swap device to a region. They don't pass through the
 * swap cache, where they would push out others, so no folio's lock keeps the device's copy
 * and the slot together. A slot that has no folio in the swap cache and no pending backup
 * write is on the device as it should be, and stays so until it is stored to or freed. A
 * store, a promotion and a free check for a run before they clear the remote bit: the run
 * may have set that bit just before. A store that checked before the run was published has
 * its folio in the swap cache, where the run finds it.
 *
 * So a store checks twice: for a rebuild before it clears the remote bits, for copies after.
 *
 * Locking: guard_copy_lock and guard_rebuild.lock; nothing is taken inside them. The latter
 * nests inside the kernel's lock of the slots, with interrupts off.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/farswap.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "internal.h"
#include "slab/guard.h"

/**
 * struct farswap_guard_copy - a run that is being copied
 * @to:		mapping of the destination, or NULL if the run is free; also read without the lock
 * @first:	its first slot
 * @stale:	bit mask of its slots that were stored to since it began
 */
struct farswap_guard_copy {
	const struct farswap_mapping *to;
	unsigned int first;
	unsigned long stale;
};

/* Covers the copy runs and their number. */
static DEFINE_SPINLOCK(guard_copy_lock);
static struct farswap_guard_copy guard_copies[FARSWAP_GUARD_COPIES];
/* Number of copy runs in use; also read without the lock. */
unsigned int farswap_guard_copying;
static DECLARE_WAIT_QUEUE_HEAD(guard_copy_ended);

static bool guard_copy_excludes(struct farswap_guard_copy *run, const struct farswap_mapping *to,
				unsigned int slot, unsigned int nr)
{
	unsigned int first, end;
	bool excludes = false;

	spin_lock(&guard_copy_lock);
	if (run->to == to) {
		first = max(slot, run->first);
		end = min(slot + nr, run->first + FARSWAP_GUARD_SLOTS);
		excludes = first < end;
		if (excludes)
			run->stale |= GENMASK(end - 1 - run->first, first - run->first);
	}
	spin_unlock(&guard_copy_lock);
	return excludes;
}

/* The slow path of farswap_guard_copy_excludes(), taken while some copy run is in use. */
bool __farswap_guard_copy_excludes(const struct farswap_mapping *to, unsigned int slot,
				   unsigned int nr)
{
	struct farswap_guard_copy *run;

	for (run = guard_copies; run < guard_copies + FARSWAP_GUARD_COPIES; run++)
		/*
		 * The read of run->to comes before the store marks its slots missing. Pairs with
		 * the release in farswap_guard_copy_end(), which clears the missing bits first.
		 */
		if (unlikely(smp_load_acquire(&run->to) == to))
			return guard_copy_excludes(run, to, slot, nr);
	return false;
}

/* Returns false if another run copies to @to, or all runs are in use. */
static bool guard_copy_try_begin(const struct farswap_mapping *to, unsigned int first,
				 struct farswap_guard_copy **begun)
{
	struct farswap_guard_copy *run, *free = NULL;

	spin_lock(&guard_copy_lock);
	for (run = guard_copies; run < guard_copies + FARSWAP_GUARD_COPIES; run++) {
		if (run->to == to) {
			free = NULL;
			break;
		}
		if (!run->to)
			free = run;
	}
	if (free) {
		free->first = first;
		free->stale = 0;
		WRITE_ONCE(free->to, to);
		WRITE_ONCE(farswap_guard_copying, farswap_guard_copying + 1);
	}
	spin_unlock(&guard_copy_lock);
	*begun = free;
	return free;
}

/**
 * farswap_guard_copy_begin() - keep stores out of a run of slots of a mapping
 * @to:		mapping of the region to which they will be copied
 * @first:	the first slot
 * @timeout:	how long to wait until another copy to it ends, jiffies
 *
 * The caller reads the remote bits of the slots after this.
 *
 * Context: may sleep.
 * Return: the run, or NULL after @timeout.
 */
struct farswap_guard_copy *farswap_guard_copy_begin(const struct farswap_mapping *to,
						    unsigned int first, long timeout)
{
	struct farswap_guard_copy *run;

	if (!wait_event_timeout(guard_copy_ended, guard_copy_try_begin(to, first, &run),
				timeout))
		return NULL;
	/*
	 * The run is published above before the caller reads the remote bits. Pairs with the
	 * barrier in farswap_write_begin(): a store clears the remote bits before it
	 * looks for a run.
	 */
	smp_mb();
	return run;
}

/**
 * farswap_guard_copy_end() - end a copy run
 * @run:	the run
 * @to:		mapping of its destination
 * @moved:	bits of the slots whose copies arrived; cleared
 *
 * A slot that was stored to since counts as not copied.
 *
 * Context: process context; does not sleep.
 * Return: number of pages that @to has now.
 */
unsigned int farswap_guard_copy_end(struct farswap_guard_copy *run, struct farswap_mapping *to,
				    unsigned long *moved)
{
	unsigned int end = run->first + FARSWAP_GUARD_SLOTS, slot, nr = 0;

	spin_lock(&guard_copy_lock);
	for (slot = run->first; slot < end; slot++) {
		if (!test_bit(slot, moved))
			continue;
		clear_bit(slot, moved);
		if (run->stale & BIT(slot - run->first))
			continue;
		clear_bit(slot, to->missing);
		nr += farswap_slab_starts(to->slab, slot);
	}
	/*
	 * The missing bits are cleared above before the run is freed. Pairs with the acquire of
	 * run->to in __farswap_guard_copy_excludes(): a store that finds no run sets the missing
	 * bits after they were cleared here.
	 */
	smp_store_release(&run->to, NULL);
	/* Pairs in the same way with the acquire in farswap_guard_copy_excludes(). */
	smp_store_release(&farswap_guard_copying, farswap_guard_copying - 1);
	spin_unlock(&guard_copy_lock);
	wake_up_all(&guard_copy_ended);
	return nr;
}

/**
 * struct guard_rebuild - the run that is being rebuilt
 * @lock:	covers all fields below
 * @slab:	slab of the run, or NULL if there is none; also read without the lock
 * @first:	its first slot
 * @wanted:	bit mask of its slots that are to get the remote bit
 * @stale:	bit mask of its slots that were stored to, promoted or freed since it began
 * @writing:	the region is being written
 */
static struct guard_rebuild {
	spinlock_t lock;	/* covers all fields below */
	const struct farswap_slab *slab;
	unsigned int first;
	unsigned long wanted;
	unsigned long stale;
	bool writing;
} guard_rebuild = {
	.lock = __SPIN_LOCK_UNLOCKED(guard_rebuild.lock),
};

/**
 * farswap_guard_rebuild_excludes() - check slots before they are stored to, promoted or freed
 * @slab:	the slots' slab
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * The caller clears the remote bits of the slots after this. The slots become stale in a
 * rebuild run that has them.
 *
 * Context: any, also with interrupts off.
 * Return: true if a write of an older page of one of them to the region may be in flight: then
 * the caller must not write to the region now.
 */
bool farswap_guard_rebuild_excludes(const struct farswap_slab *slab, unsigned int slot,
				    unsigned int nr)
{
	unsigned int first, end;
	bool excludes = false;
	unsigned long flags, met;

	/*
	 * A store has put its folio into the swap cache before the read of guard_rebuild.slab
	 * below. Pairs with the barrier in farswap_guard_rebuild_begin(), which publishes the
	 * run before it looks for the folio. So the run sees the folio, or we see the run.
	 */
	smp_mb();
	/*
	 * Without a run, the caller clears the remote bits after this read. Pairs with the release
	 * in farswap_guard_rebuild_end(), which sets remote bits before it ends the run.
	 */
	if (likely(smp_load_acquire(&guard_rebuild.slab) != slab))
		return false;
	spin_lock_irqsave(&guard_rebuild.lock, flags);
	first = max(slot, guard_rebuild.first);
	end = min(slot + nr, guard_rebuild.first + FARSWAP_GUARD_SLOTS);
	if (guard_rebuild.slab == slab && first < end) {
		met = GENMASK(end - 1 - guard_rebuild.first, first - guard_rebuild.first);
		guard_rebuild.stale |= met;
		excludes = guard_rebuild.writing && (guard_rebuild.wanted & met);
	}
	spin_unlock_irqrestore(&guard_rebuild.lock, flags);
	return excludes;
}

/* Returns whether a region that can be read has the slot. */
static bool guard_slot_is_remote(const struct farswap_slab *slab, unsigned int slot)
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

static unsigned int guard_slot(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_device_slot(slab->device, farswap_slab_offset(slab, slot));
}

/* A packed page may be in its packed slab only, and comes back by promotion if it is not. */
static bool guard_slot_is_packed(const struct farswap_slab *slab, unsigned int slot)
{
	struct farswap_object object;

	return farswap_packs_used() &&
	       farswap_object_find(slab->device, farswap_slab_offset(slab, slot), &object);
}

/**
 * farswap_guard_rebuild_is_wanted() - check whether a page is on the device alone
 * @slab:	the slab
 * @slot:	the slot
 *
 * If the result changes while the slot is in a run, farswap_guard_rebuild_excludes() makes the
 * slot stale. A slot outside the swap cache may have its newest page in zswap, so no slot is
 * rebuilt once zswap has taken pages.
 *
 * Context: any.
 * Return: true if it is; a hint unless the slot is in a run.
 */
bool farswap_guard_rebuild_is_wanted(const struct farswap_slab *slab, unsigned int slot)
{
	unsigned int flags = guard_slot(slab, slot);

	if (!(flags & FARSWAP_SLOT_USED) || flags & FARSWAP_SLOT_CACHED)
		return false;
	/*
	 * The read of the swap cache flag above comes before the read of the unbacked bit below.
	 * A store sets the unbacked bit, or the place in a packed slab, before its folio leaves the
	 * swap cache.
	 */
	smp_rmb();
	return !test_bit(slot, slab->bits.unbacked) && !guard_slot_is_packed(slab, slot) &&
	       !guard_slot_is_remote(slab, slot) && !farswap_slab_zero(slab, slot) &&
	       !farswap_zswap_seen() &&
	       farswap_cgroup_may(slab->device, farswap_slab_offset(slab, slot));
}

/**
 * farswap_guard_rebuild_is_cached() - check whether the swap cache delays a slot's rebuild
 * @slab:	the slab
 * @slot:	the slot
 *
 * Context: any.
 * Return: true if the slot may need a rebuild once its folio has left the swap cache.
 */
bool farswap_guard_rebuild_is_cached(const struct farswap_slab *slab, unsigned int slot)
{
	return guard_slot(slab, slot) & FARSWAP_SLOT_CACHED &&
	       !guard_slot_is_remote(slab, slot);
}

/**
 * farswap_guard_rebuild_begin() - begin a rebuild run
 * @slab:	the slab
 * @first:	the run's first slot
 * @nr:		number of slots; at most FARSWAP_GUARD_SLOTS
 *
 * From now on stores, promotions and frees make slots of the run stale. The wanted slots are
 * determined after that. The caller reads the device next.
 *
 * Context: process context; there is one run at a time.
 */
void farswap_guard_rebuild_begin(const struct farswap_slab *slab, unsigned int first,
				 unsigned int nr)
{
	unsigned long wanted = 0;
	unsigned int i;

	spin_lock_irq(&guard_rebuild.lock);
	guard_rebuild.first = first;
	guard_rebuild.wanted = 0;
	guard_rebuild.stale = 0;
	guard_rebuild.writing = false;
	WRITE_ONCE(guard_rebuild.slab, slab);
	spin_unlock_irq(&guard_rebuild.lock);
	/*
	 * The run is published above before the flags of its slots are read below. Pairs with
	 * the barrier in farswap_guard_rebuild_excludes(): a store puts its folio into the swap
	 * cache before it looks for a run.
	 */
	smp_mb();
	for (i = 0; i < nr; i++)
		if (farswap_guard_rebuild_is_wanted(slab, first + i))
			wanted |= BIT(i);
	spin_lock_irq(&guard_rebuild.lock);
	guard_rebuild.wanted = wanted;
	spin_unlock_irq(&guard_rebuild.lock);
}

/**
 * farswap_guard_rebuild_write() - begin to write the region
 *
 * From now on a store to one of the returned slots does not write to the region.
 *
 * Context: process context.
 * Return: bit mask of the run's slots that are to be written.
 */
unsigned long farswap_guard_rebuild_write(void)
{
	unsigned long wanted;

	spin_lock_irq(&guard_rebuild.lock);
	guard_rebuild.writing = true;
	guard_rebuild.wanted &= ~guard_rebuild.stale;
	wanted = guard_rebuild.wanted;
	spin_unlock_irq(&guard_rebuild.lock);
	return wanted;
}

/**
 * farswap_guard_rebuild_end() - set the remote bits of written slots, and end the run
 * @mapping:	mapping of the region that was written to
 * @arrived:	bit mask of the run's slots that were written
 *
 * Slots that became stale since do not get the bit, nor those whose cgroup has reached its limit.
 *
 * Context: process context.
 */
void farswap_guard_rebuild_end(struct farswap_mapping *mapping, unsigned long arrived)
{
	unsigned long good;
	unsigned int slot;

	spin_lock_irq(&guard_rebuild.lock);
	good = arrived & guard_rebuild.wanted & ~guard_rebuild.stale;
	for_each_set_bit(slot, &good, FARSWAP_GUARD_SLOTS)
		if (!farswap_cgroup_recharge(mapping->slab->device,
					     farswap_slab_offset(mapping->slab,
								 guard_rebuild.first + slot)))
			clear_bit(slot, &good);
	for_each_set_bit(slot, &good, FARSWAP_GUARD_SLOTS)
		clear_bit(guard_rebuild.first + slot, mapping->missing);
	for_each_set_bit(slot, &good, FARSWAP_GUARD_SLOTS)
		farswap_write_publish(mapping->slab, guard_rebuild.first + slot, 1);
	/*
	 * The remote bits are set above before the run ends. Pairs with the acquire in
	 * farswap_guard_rebuild_excludes(): a store that finds no run clears the bits set here.
	 */
	smp_store_release(&guard_rebuild.slab, NULL);
	spin_unlock_irq(&guard_rebuild.lock);
	farswap_stat_add(FARSWAP_STAT_REBUILT, hweight_long(good));
}

/**
 * farswap_guard_rebuild_cancel() - end the run without having written any slot
 *
 * Context: process context.
 */
void farswap_guard_rebuild_cancel(void)
{
	spin_lock_irq(&guard_rebuild.lock);
	/* Pairs with the acquire in farswap_guard_rebuild_excludes(); no bits were set. */
	smp_store_release(&guard_rebuild.slab, NULL);
	spin_unlock_irq(&guard_rebuild.lock);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/guard-kunit.h"
#endif
