// SPDX-License-Identifier: GPL-2.0
/*
 * Forgetting: drops the remote and the staging copies of slots that are freed, or whose page zswap
 * has taken.
 */
#include <linux/farswap.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/**
 * farswap_forget_object() - forget all copies of a page in a packed slab
 * @device:	the device
 * @offset:	the page's swap offset; its folio is locked, or the page is being freed
 *
 * Context: any, also with interrupts off.
 * Return: true if there was a remote copy.
 */
bool farswap_forget_object(struct farswap_device *device, pgoff_t offset)
{
	struct farswap_object object;
	bool remote;

	if (!farswap_object_claim(device, offset, &object, &remote))
		return false;
	farswap_backup_forget(object.slab, object.slot, 1);
	farswap_object_free(&object);
	return remote;
}

/**
 * farswap_forget_objects() - forget all copies of pages in packed slabs
 * @device:	the device
 * @offset:	swap offset of the first page; as for farswap_forget_object()
 * @nr:		number of pages
 *
 * Context: any, also with interrupts off.
 * Return: how many remote copies there were.
 */
unsigned int farswap_forget_objects(struct farswap_device *device, pgoff_t offset, unsigned int nr)
{
	unsigned int cleared = 0;

	for (; nr--; offset++)
		cleared += farswap_forget_object(device, offset);
	return cleared;
}

/* Forget the copies of slots, if there are any. Return how many remote copies there were. */
static unsigned int forget_slots(unsigned int type, pgoff_t offset,
				 unsigned long nr)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int cleared = 0, avoid;

	farswap_hedge_drop(type, offset, offset + nr - 1);
	rcu_read_lock();
	device = farswap_device_find(type);
	while (device && nr) {
		unsigned int mask = device->map->cluster_mask, slot;
		unsigned int part = min(nr, mask + 1UL - (offset & mask));

		/* First, so that no copy is left whose unbacked bit is in another slab. */
		if (farswap_packs_used())
			cleared += farswap_forget_objects(device, offset, part);
		slab = farswap_slabmap_find(device->map, offset, &slot);
		if (slab && farswap_slab_has_bits(slab)) {
			cleared += farswap_guard_invalidate(slab, slot, part, &avoid);
			farswap_backup_forget(slab, slot, part);
		}
		farswap_cgroup_uncharge(device, offset, part);
		offset += part;
		nr -= part;
	}
	rcu_read_unlock();
	return cleared;
}

/**
 * farswap_forget() - forget the copies of a folio whose newer contents are in zswap
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
 * farswap_invalidate() - forget the copies of slots that were freed, or that hold zeroes now
 * @type:	swap type of the slots
 * @first:	first slot
 * @last:	last slot, inclusive
 *
 * Context: any, also with interrupts off. The caller holds the kernel's lock of the slots, or the
 * folio's lock if they are still in use, so the slots cannot be reused before this returns.
 */
void farswap_invalidate(unsigned int type, pgoff_t first, pgoff_t last)
{
	farswap_stat_add(FARSWAP_STAT_FREED,
			 forget_slots(type, first, last - first + 1));
}
