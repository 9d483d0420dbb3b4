// SPDX-License-Identifier: GPL-2.0
/*
 * Fetching: a page that only regions have is read into a staging page. It is in the table
 * of backup.c like any other copy until the swap device has it. migrate/evacuate-fetch.c
 * fetches the sole copies of a region before the region is given up.
 *
 * Locking: see struct farswap_backups.
 */
#include "internal.h"

static bool backup_is_fetched(struct farswap_slab *slab, unsigned int slot,
			      unsigned int nr)
{
	struct farswap_backups *backups = &slab->device->backups;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;
	bool fetched = true;

	spin_lock_irq(&backups->lock);
	for (; nr-- && fetched; offset++) {
		backup = farswap_backup_find(backups, offset);
		fetched = !backup || backup->state != FARSWAP_BACKUP_FETCHING;
	}
	spin_unlock_irq(&backups->lock);
	return fetched;
}

/**
 * farswap_backup_await() - wait until copies are complete that are being fetched
 * @slab:	their slab, which has bits
 * @slot:	the first
 * @nr:		how many
 *
 * Context: process context; may sleep, as long as a remote read takes.
 */
void farswap_backup_await(struct farswap_slab *slab, unsigned int slot,
			  unsigned int nr)
{
	wait_event(slab->device->backups.settled, backup_is_fetched(slab, slot, nr));
}

/* Only a region has it, this one does, and a store that begins now will be noticed. */
static bool backup_is_sole(const struct farswap_mapping *mapping, unsigned int slot)
{
	struct farswap_slab *slab = mapping->slab;

	if (!test_bit(slot, slab->bits.unbacked))
		return false;
	/*
	 * In this order: a store looks at the first bit when it has cleared the next,
	 * and takes the lock if it is set; it has the region miss the slot after that.
	 */
	smp_rmb();
	if (!test_bit(slot, slab->bits.remote))
		return false;
	/*
	 * Pairs with that store's full barrier, in farswap_mapping_store_begin(). One that
	 * didn't find the mapping any more did not have it miss the slot.
	 */
	smp_rmb();
	return farswap_mapping_is_slabs(mapping) && farswap_mapping_has(mapping, slot, 1) &&
	       !farswap_backup_find(&slab->device->backups, farswap_slab_offset(slab, slot));
}

/**
 * farswap_backup_fetch_begin() - a page that only regions have is about to be read
 * @mapping:	from there
 * @slot:	its slot
 * @backup:	a staging page
 *
 * A store that begins afterwards makes the staging page stale.
 *
 * Context: process context; does not sleep.
 * Return: false if it isn't there, or somewhere else too, and nothing was done.
 */
bool farswap_backup_fetch_begin(struct farswap_mapping *mapping, unsigned int slot,
				struct farswap_backup *backup)
{
	struct farswap_slab *slab = mapping->slab;
	struct farswap_backups *backups = &slab->device->backups;
	bool sole;

	spin_lock_irq(&backups->lock);
	sole = backup_is_sole(mapping, slot);
	if (sole) {
		backup->slab = slab;
		backup->slot = slot;
		backup->offset = farswap_slab_offset(slab, slot);
		backup->sector = farswap_device_sector(slab->device, backup->offset);
		backup->state = FARSWAP_BACKUP_FETCHING;
		farswap_backup_insert(backups, backup);
	}
	spin_unlock_irq(&backups->lock);
	return sole;
}

/**
 * farswap_backup_fetch_end() - the read has ended
 * @backup:	the copy
 * @error:	0 or -errno
 *
 * Context: any up to softirq.
 */
void farswap_backup_fetch_end(struct farswap_backup *backup, int error)
{
	struct farswap_device *device = backup->slab->device;
	struct farswap_backups *backups = &device->backups;
	unsigned long flags;
	LIST_HEAD(drop);

	spin_lock_irqsave(&backups->lock, flags);
	if (error || backup->stale) {
		farswap_backup_remove(backups, backup, &drop);
		wake_up_all(&backups->settled);
	} else {
		farswap_stat_add(FARSWAP_STAT_FETCHED, 1);
		farswap_backup_queue(backups, backup);
		farswap_backup_kick(device);
		wake_up_all(&backups->settled);
	}
	spin_unlock_irqrestore(&backups->lock, flags);
	farswap_backup_put_all(&drop);
}
