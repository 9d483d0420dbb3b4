// SPDX-License-Identifier: GPL-2.0
/*
 * A rebuild run: the slots of which the device's pages are on their way to a region.
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
#include <linux/bits.h>
#include <linux/farswap.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "internal.h"
#include "migrate/rebuild.h"

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

	/* Pairs with farswap_rebuild_run_begin(): it finds the folio, or we find the run. */
	smp_mb();
	/* Pairs with farswap_rebuild_run_end(): who finds none clears the bits it has set. */
	if (likely(smp_load_acquire(&rebuild_run.slab) != slab))
		return false;
	spin_lock_irqsave(&rebuild_run.lock, flags);
	first = max(slot, rebuild_run.first);
	end = min(slot + nr, rebuild_run.first + FARSWAP_REBUILD_PAGES);
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

/**
 * farswap_rebuild_is_wanted() - look whether a page is on the device alone
 * @slab:	the slab
 * @slot:	the slot
 *
 * If that changes while the slot is in a run, then farswap_rebuild_excludes() hears of it.
 * What has left the swap cache since zswap took pages may be there.
 *
 * Context: any.
 * Return: whether it is, as far as can be told now.
 */
bool farswap_rebuild_is_wanted(const struct farswap_slab *slab, unsigned int slot)
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

/**
 * farswap_rebuild_is_cached() - look whether a page is kept back by the swap cache
 * @slab:	the slab
 * @slot:	the slot
 *
 * Context: any.
 * Return: whether it may be wanted when it has left there.
 */
bool farswap_rebuild_is_cached(const struct farswap_slab *slab, unsigned int slot)
{
	return rebuild_slot(slab, slot) & FARSWAP_SLOT_CACHED &&
	       !rebuild_slot_is_remote(slab, slot);
}

/**
 * farswap_rebuild_run_begin() - from now on stores and promotions are heard of
 * @slab:	the slab
 * @first:	the run's first slot
 * @nr:		how many; at most FARSWAP_REBUILD_PAGES
 *
 * Which of them are wanted is looked at after that. The device is to be read next.
 *
 * Context: process context; there is one run at a time.
 */
void farswap_rebuild_run_begin(const struct farswap_slab *slab, unsigned int first,
			       unsigned int nr)
{
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
		if (farswap_rebuild_is_wanted(slab, first + i))
			wanted |= BIT(i);
	spin_lock_irq(&rebuild_run.lock);
	rebuild_run.wanted = wanted;
	spin_unlock_irq(&rebuild_run.lock);
}

/**
 * farswap_rebuild_run_write() - from now on a store to one of the slots stays off the region
 *
 * Context: process context.
 * Return: bit mask of the run's slots that are to be written.
 */
unsigned long farswap_rebuild_run_write(void)
{
	unsigned long wanted;

	spin_lock_irq(&rebuild_run.lock);
	rebuild_run.writing = true;
	rebuild_run.wanted &= ~rebuild_run.stale;
	wanted = rebuild_run.wanted;
	spin_unlock_irq(&rebuild_run.lock);
	return wanted;
}

/**
 * farswap_rebuild_run_end() - what has arrived is there, unless it is old already
 * @mapping:	where it was written to
 * @arrived:	bit mask of the run's slots that were
 *
 * Context: process context.
 */
void farswap_rebuild_run_end(struct farswap_mapping *mapping, unsigned long arrived)
{
	unsigned long good;
	unsigned int slot;

	spin_lock_irq(&rebuild_run.lock);
	good = arrived & rebuild_run.wanted & ~rebuild_run.stale;
	for_each_set_bit(slot, &good, FARSWAP_REBUILD_PAGES)
		clear_bit(rebuild_run.first + slot, mapping->missing);
	/*
	 * A look without the folio's lock is not to find both bits set; and a load that finds
	 * the second is to find what the others miss: pairs with farswap_mapping_find().
	 */
	smp_mb__after_atomic();
	for_each_set_bit(slot, &good, FARSWAP_REBUILD_PAGES)
		set_bit(rebuild_run.first + slot, mapping->slab->bits.remote);
	/* Pairs with farswap_rebuild_excludes(). */
	smp_store_release(&rebuild_run.slab, NULL);
	spin_unlock_irq(&rebuild_run.lock);
	farswap_stat_add(FARSWAP_STAT_REBUILT, hweight_long(good));
}

/**
 * farswap_rebuild_run_cancel() - nothing of the run was written
 *
 * Context: process context.
 */
void farswap_rebuild_run_cancel(void)
{
	spin_lock_irq(&rebuild_run.lock);
	/* As above. */
	smp_store_release(&rebuild_run.slab, NULL);
	spin_unlock_irq(&rebuild_run.lock);
}
