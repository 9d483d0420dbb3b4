// SPDX-License-Identifier: GPL-2.0
/*
 * Hints: how a page would be loaded, before there is a folio to load. Readahead and the choice of
 * a folio's size in a fault use them. The answer may change at any time.
 */
#include <linux/farswap.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/* Pages of the largest folio that is read as a whole: a fault waits for all of them. */
#define REMOTE_LARGE_MAX	16

/* Return the slab of a swap entry if it may have remote contents, or NULL. */
static struct farswap_slab *remote_slab(struct farswap_device *device,
					swp_entry_t entry, unsigned int *slot)
{
	struct farswap_slab *slab;

	slab = farswap_slabmap_find(device->map, swp_offset(entry), slot);
	return slab && farswap_slab_has_bits(slab) ? slab : NULL;
}

/* Return true if one region has all of the slots and its donor is not suspect. */
static bool remote_is_whole(struct farswap_slab *slab, unsigned int slot, unsigned int nr)
{
	struct farswap_mapping *mapping;
	bool whole;

	if (nr > REMOTE_LARGE_MAX || slot + nr > slab->nr_slots ||
	    time_before(jiffies, READ_ONCE(slab->large_at)) ||
	    !farswap_slotbits_full(slab->bits.remote, slot, nr))
		return false;
	mapping = farswap_mapping_find(slab, slot, nr, NULL);
	if (!mapping)
		return false;
	whole = !farswap_donor_is_suspect(mapping->donor);
	farswap_mapping_put(mapping);
	return whole;
}

/* Return how one page would be loaded. */
static enum farswap_remote remote_page(const struct farswap_slab *slab, unsigned int slot)
{
	const struct farswap_mapping *mapping;
	bool suspect = false;
	unsigned int nth;

	if (!test_bit(slot, slab->bits.remote))
		return FARSWAP_REMOTE_NOT;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		if (!mapping || !farswap_mapping_has(mapping, slot, 1))
			continue;
		if (!farswap_donor_is_suspect(mapping->donor))
			return FARSWAP_REMOTE_NOW;
		suspect = true;
	}
	return suspect && test_bit(slot, slab->bits.unbacked) ? FARSWAP_REMOTE_LATER :
								FARSWAP_REMOTE_NOT;
}

/**
 * farswap_remote_of() - tell how a page would be loaded
 * @entry:	a swap entry in use
 *
 * Context: any.
 * Return: the way in which it would be loaded now; a hint.
 */
enum farswap_remote farswap_remote_of(swp_entry_t entry)
{
	enum farswap_remote remote = FARSWAP_REMOTE_NOT;
	struct farswap_object object;
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int slot;

	rcu_read_lock();
	device = farswap_device_find(swp_type(entry));
	if (device && farswap_packs_used() &&
	    farswap_object_find(device, swp_offset(entry), &object)) {
		slab = object.slab;
		slot = object.slot;
	} else {
		slab = device ? remote_slab(device, entry, &slot) : NULL;
	}
	if (slab)
		remote = remote_page(slab, slot);
	rcu_read_unlock();
	return remote;
}

/**
 * farswap_is_remote() - tell whether a load would be remote
 * @entry:	first swap entry, in use
 * @nr:		number of entries, loaded as one folio
 *
 * A page that only suspect donors have does not count: readahead of it would only make it wait.
 *
 * Context: any.
 * Return: true if a load would be remote now; a hint.
 */
bool farswap_is_remote(swp_entry_t entry, unsigned int nr)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	bool remote = false;
	unsigned int slot;

	if (nr == 1)
		return farswap_remote_of(entry) == FARSWAP_REMOTE_NOW;
	rcu_read_lock();
	device = farswap_device_find(swp_type(entry));
	slab = device ? remote_slab(device, entry, &slot) : NULL;
	if (slab)
		remote = remote_is_whole(slab, slot, nr) && !farswap_hedge_keeps(entry, nr);
	rcu_read_unlock();
	return remote;
}
