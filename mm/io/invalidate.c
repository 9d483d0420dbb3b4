// SPDX-License-Identifier: GPL-2.0
/*
 * Forgets copies: slots are freed, or zswap has taken something newer.
 */
#include <linux/farswap.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/* Forget the copies of slots, if there are any. */
static unsigned int forget_slots(unsigned int type, pgoff_t offset,
				 unsigned long nr)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int cleared = 0;

	rcu_read_lock();
	device = farswap_device_find(type);
	while (device && nr) {
		unsigned int mask = device->map->cluster_mask, slot;
		unsigned int part = min(nr, mask + 1UL - (offset & mask));

		slab = farswap_slabmap_find(device->map, offset, &slot);
		if (slab && farswap_slab_has_bits(slab)) {
			farswap_guard_rebuild_excludes(slab, slot, part);
			cleared += farswap_slotbits_clear(slab->bits.remote, slot,
							  part);
			farswap_backup_forget(slab, slot, part);
		}
		offset += part;
		nr -= part;
	}
	rcu_read_unlock();
	return cleared;
}

/**
 * farswap_forget() - a newer copy of a folio went to zswap
 * @folio:	locked, in the swap cache
 *
 * Context: any.
 */
void farswap_forget(struct folio *folio)
{
	farswap_zswap_note();
	farswap_stat_add(FARSWAP_STAT_ZSWAP_ACCEPTED,
			 forget_slots(swp_type(folio->swap),
				      swp_offset(folio->swap),
				      folio_nr_pages(folio)));
}

/**
 * farswap_invalidate() - slots were freed, or hold zeroes from now on
 * @type:	their swap type
 * @first:	the first
 * @last:	the last
 *
 * Context: any, also with interrupts off. Under the kernel's lock of the slots, or the
 * folio's lock if they are still in use, so they can't be used again before this returns.
 */
void farswap_invalidate(unsigned int type, pgoff_t first, pgoff_t last)
{
	farswap_stat_add(FARSWAP_STAT_FREED,
			 forget_slots(type, first, last - first + 1));
}
