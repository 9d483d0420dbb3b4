// SPDX-License-Identifier: GPL-2.0
/*
 * The guard keeps stores out of runs of slots whose older pages are being written to a region
 * in the background. A copy brings pages from one region of a slab to another, a rebuild from
 * the swap device to a region.
 *
 * The owner of a run publishes it before it looks which of the slots it wants. A store, a
 * promotion and a free look for runs before they clear the remote bit of a slot, and again
 * after that; farswap_guard_invalidate() does all three. Each look makes the slot stale in every
 * run that has it: a stale slot is not written any more, or does not count as written.
 *
 * A copy wants slots that have the remote bit. Either it sees the bit cleared, or the look
 * after that sees the run.
 *
 * A rebuild wants slots that only the device has. Its pages do not pass through the swap cache,
 * where they would push out others, so no folio's lock keeps the device's page and the slot
 * together. A slot that has no folio in the swap cache and no pending backup write is on the
 * device as it should be, and stays so until it is stored to or freed. A store has its folio in
 * the swap cache before the look; so either the run sees the folio, or the look before the clear
 * sees the run. That look precedes the clear because the end of the run sets remote bits: it
 * sees the stale slot, or the store clears the bit that was set.
 *
 * When a run begins to write, its slots that are not stale are wanted, and a store to one of
 * them avoids that region: the older page could land after the newer one. For the same reason
 * no two runs write the same slots of a region.
 *
 * Locking: guard_lock; nothing is taken inside it. It nests inside the kernel's lock of the
 * slots, with interrupts off.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/farswap.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "internal.h"
#include "slab/guard.h"

/* Covers the runs, except for their @arrived, and their number. */
static DEFINE_SPINLOCK(guard_lock);
static struct farswap_guard_run guard_runs[FARSWAP_GUARD_RUNS];
/* Number of runs in use; also read without the lock. */
static unsigned int guard_running;
static DECLARE_WAIT_QUEUE_HEAD(guard_ended);

/* The slots of a run that are among others, as a bit mask. */
static unsigned long guard_met(const struct farswap_guard_run *run, unsigned int slot,
			       unsigned int nr)
{
	unsigned int first = max(slot, run->first);
	unsigned int end = min(slot + nr, run->first + FARSWAP_GUARD_SLOTS);

	return first < end ? GENMASK(end - 1 - run->first, first - run->first) : 0;
}

static noinline unsigned int guard_look_now(const struct farswap_slab *slab, unsigned int slot,
					    unsigned int nr)
{
	struct farswap_guard_run *run;
	unsigned int avoid = 0;
	unsigned long flags, met;

	spin_lock_irqsave(&guard_lock, flags);
	for (run = guard_runs; run < guard_runs + FARSWAP_GUARD_RUNS; run++) {
		met = run->slab == slab ? guard_met(run, slot, nr) : 0;
		run->stale |= met;
		if (run->to && run->wanted & met)
			avoid |= farswap_mapping_place(run->to);
	}
	spin_unlock_irqrestore(&guard_lock, flags);
	return avoid;
}

/**
 * farswap_guard_look() - make slots stale in all runs
 * @slab:	the slots' slab
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: any, also with interrupts off.
 * Return: bit mask of the places of mappings to which an older page of one of the slots may be
 * on its way: the caller must not write to these now.
 */
unsigned int farswap_guard_look(const struct farswap_slab *slab, unsigned int slot,
				unsigned int nr)
{
	/*
	 * The caller has put its folio into the swap cache, or has cleared the remote bits, before
	 * guard_running is read. Pairs with farswap_guard_begin(), which publishes the run before
	 * its owner reads either.
	 */
	smp_mb();
	/*
	 * Without a run, the caller changes the remote and the missing bits after this read. Pairs
	 * with the release in farswap_guard_end(), which changes them before it ends the run.
	 */
	return unlikely(smp_load_acquire(&guard_running)) ? guard_look_now(slab, slot, nr) : 0;
}

/**
 * farswap_guard_invalidate() - clear the remote bits of slots that change
 * @slab:	the slots' slab
 * @slot:	the first slot
 * @nr:		number of slots
 * @avoid:	set to what farswap_guard_look() returns
 *
 * Context: any, also with interrupts off.
 * Return: number of bits that were set.
 */
unsigned int farswap_guard_invalidate(struct farswap_slab *slab, unsigned int slot,
				      unsigned int nr, unsigned int *avoid)
{
	unsigned int cleared;

	farswap_guard_look(slab, slot, nr);
	cleared = farswap_slotbits_clear(slab->bits.remote, slot, nr);
	*avoid = farswap_guard_look(slab, slot, nr);
	return cleared;
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
		/*
		 * A page that a suspect donor has is not written elsewhere if it is sealed: it
		 * would be sealed with another generation there.
		 */
		remote = mapping && (slab->device->protect ||
				     !farswap_donor_is_suspect(mapping->donor)) &&
			 farswap_mapping_has(mapping, slot, 1);
	}
	rcu_read_unlock();
	return remote;
}

static unsigned int guard_slot(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_device_slot(slab->device, farswap_slab_offset(slab, slot));
}

/* A page that has an object is rebuilt where that is, and nowhere else. */
static bool guard_slot_is_elsewhere(struct farswap_slab *slab, unsigned int slot)
{
	struct farswap_object object;

	if (!farswap_packs_used())
		return false;
	if (slab->pack)
		return !farswap_object_at(slab, slot, &object);
	return farswap_object_find(slab->device, farswap_slab_offset(slab, slot), &object);
}

/**
 * farswap_guard_rebuild_is_wanted() - check whether a page is on the device alone
 * @slab:	the slab
 * @slot:	the slot; in a packed slab one where a page may begin
 *
 * If the result changes while the slot is in a run, farswap_guard_invalidate() makes the
 * slot stale. A slot outside the swap cache may have its newest page in zswap, so no slot is
 * rebuilt once zswap has taken pages.
 *
 * Context: any.
 * Return: true if it is; a hint unless the slot is in a run.
 */
bool farswap_guard_rebuild_is_wanted(struct farswap_slab *slab, unsigned int slot)
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
	return !test_bit(slot, slab->bits.unbacked) && !guard_slot_is_elsewhere(slab, slot) &&
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

static struct farswap_guard_run *guard_free_run(void)
{
	struct farswap_guard_run *run;

	for (run = guard_runs; run < guard_runs + FARSWAP_GUARD_RUNS; run++)
		if (!run->slab)
			return run;
	return NULL;
}

/**
 * farswap_guard_begin() - begin a run
 * @slab:	the slab
 * @first:	the run's first slot
 *
 * The caller looks which slots it wants after this.
 *
 * Context: process context; does not sleep.
 * Return: the run, which ends with farswap_guard_end(); NULL if all are in use.
 */
struct farswap_guard_run *farswap_guard_begin(const struct farswap_slab *slab,
					      unsigned int first)
{
	struct farswap_guard_run *run;

	spin_lock_irq(&guard_lock);
	run = guard_free_run();
	if (run) {
		*run = (struct farswap_guard_run) { .slab = slab, .first = first };
		WRITE_ONCE(guard_running, guard_running + 1);
	}
	spin_unlock_irq(&guard_lock);
	/*
	 * The run is published above before the caller reads the remote bits and the flags of its
	 * slots. Pairs with the barrier in farswap_guard_look().
	 */
	smp_mb();
	return run;
}

/*
 * Take a generation for each slot that is written. A store that comes later takes a later one; if
 * it came before, the slot is stale.
 */
static void guard_take(struct farswap_guard_run *run, struct farswap_guard_seals *seals)
{
	struct farswap_protect *protect = run->slab->device->protect;
	unsigned int slot;

	run->seals = seals;
	for_each_set_bit(slot, &run->wanted, FARSWAP_GUARD_SLOTS)
		seals->generation[slot] =
			farswap_protect_take(protect, farswap_slab_seal(run->slab,
									run->first + slot));
}

static bool guard_try_write(struct farswap_guard_run *run, const struct farswap_mapping *to,
			    unsigned long slots, struct farswap_guard_seals *seals)
{
	const struct farswap_guard_run *other;
	unsigned int slot;
	bool free = true;

	spin_lock_irq(&guard_lock);
	for (other = guard_runs; other < guard_runs + FARSWAP_GUARD_RUNS && free; other++)
		free = other->to != to || !guard_met(other, run->first, FARSWAP_GUARD_SLOTS);
	if (free) {
		run->to = to;
		run->wanted = slots & ~run->stale;
		/* Under the lock, so that a later store clears missing bits after this. */
		for_each_set_bit(slot, &run->wanted, FARSWAP_GUARD_SLOTS)
			farswap_write_mark(to->slab, run->first + slot, 1);
		if (seals)
			guard_take(run, seals);
	}
	spin_unlock_irq(&guard_lock);
	return free;
}

/**
 * farswap_guard_write() - begin to write the slots of a run to a region
 * @run:	the run
 * @to:		mapping of the region, referenced until the run ends
 * @slots:	bit mask of the run's slots whose pages are there to be written
 * @seals:	gets the generations with which the caller seals the pages; NULL if they are sealed
 *		already, or the device is not protected
 * @timeout:	how long to wait until another run that writes these slots there ends, jiffies
 *
 * From now on a store to one of the returned slots does not write to the region. The slots are
 * marked as farswap_write_mark() does.
 *
 * Context: process context; may sleep.
 * Return: bit mask of the run's slots that are to be written; 0 after @timeout.
 */
unsigned long farswap_guard_write(struct farswap_guard_run *run,
				  const struct farswap_mapping *to, unsigned long slots,
				  struct farswap_guard_seals *seals, long timeout)
{
	wait_event_timeout(guard_ended, guard_try_write(run, to, slots, seals), timeout);
	return run->wanted;
}

/**
 * farswap_guard_end() - end a run
 * @run:	the run; none of its writes is in flight
 * @to:		mapping of the region that was written to; NULL if none was
 * @publish:	set the remote bits of the slots that were written; those of a copy are set
 *
 * A slot that became stale counts as not written, nor does one whose cgroup has reached its limit
 * get a remote bit.
 *
 * Context: process context; does not sleep.
 * Return: number of pages that @to has now.
 */
unsigned int farswap_guard_end(struct farswap_guard_run *run, struct farswap_mapping *to,
			       bool publish)
{
	unsigned int slot, nr = 0;
	unsigned long good;
	bool may = true;

	spin_lock_irq(&guard_lock);
	/* Only slots that no store had made stale were written. */
	farswap_assert(!(run->arrived & ~run->wanted));
	good = run->arrived & ~run->stale;
	for_each_set_bit(slot, &good, FARSWAP_GUARD_SLOTS) {
		/* The units of a packed page are charged once. No unit is freed while not stale. */
		if (publish && farswap_slab_starts(to->slab, run->first + slot))
			may = farswap_cgroup_recharge(to->slab->device,
						      farswap_slab_offset(to->slab,
									  run->first + slot));
		if (!may)
			clear_bit(slot, &good);
	}
	for_each_set_bit(slot, &good, FARSWAP_GUARD_SLOTS) {
		if (run->seals)
			farswap_protect_keep(to->slab->device->protect,
					     farswap_slab_seal(to->slab, run->first + slot),
					     run->seals->tag[slot]);
		clear_bit(run->first + slot, to->missing);
		nr += farswap_slab_starts(to->slab, run->first + slot);
	}
	for_each_set_bit(slot, &good, FARSWAP_GUARD_SLOTS)
		if (publish)
			farswap_write_publish(to->slab, run->first + slot, 1);
	run->slab = NULL;
	run->to = NULL;
	/*
	 * The missing and the remote bits are changed above before the run ends. Pairs with the
	 * acquire in farswap_guard_look(): a store that finds no run changes them later.
	 */
	smp_store_release(&guard_running, guard_running - 1);
	spin_unlock_irq(&guard_lock);
	wake_up_all(&guard_ended);
	return nr;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/guard-kunit.h"
#endif
