// SPDX-License-Identifier: GPL-2.0
/*
 * What a store does to the mappings of its slab before its remote writes begin; see mapping.c
 * for what a mapping misses, and mapping.h for what it does when they have ended.
 */
#include <linux/atomic.h>

#include "internal.h"

/**
 * farswap_mapping_store_begin() - begin a remote write
 * @slab:	a slab that has bits
 * @nth:	which of its mappings
 * @slot:	the first slot, without the remote bit
 * @nr:		how many
 * @sole:	the device may not get it
 *
 * Context: process context; does not sleep.
 * Return: the mapping, which stays until farswap_mapping_store_end(); NULL if there is
 * none, or its pages are about to be moved or fetched, or an older page is just being
 * copied there, or its donor is suspect.
 */
struct farswap_mapping *farswap_mapping_store_begin(struct farswap_slab *slab,
						    unsigned int nth,
						    unsigned int slot,
						    unsigned int nr, bool sole)
{
	struct farswap_mapping *mapping = farswap_mapping_get(slab, nth);

	if (!mapping)
		return NULL;
	if (sole && !READ_ONCE(slab->sole))
		WRITE_ONCE(slab->sole, true);
	atomic_inc(&mapping->stores);
	/*
	 * Pairs with farswap_drain_start(), farswap_leave_work(),
	 * farswap_leave_mapping_start() and copy_begin(): either they see the two
	 * above, or that the remote bits are clear, or we see what they did.
	 */
	smp_mb__after_atomic();
	if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED) {
		/* Mapped again, perhaps, and not there any more. */
		smp_rmb();
		if (rcu_access_pointer(slab->mapping[nth]) == mapping &&
		    !READ_ONCE(mapping->leaving) &&
		    !farswap_donor_is_suspect(mapping->donor) &&
		    !farswap_copy_excludes(mapping, slot, nr))
			return mapping;
	}
	farswap_mapping_store_end(mapping);
	return NULL;
}

/**
 * farswap_mapping_store_mark() - what slots hold is about to change
 * @slab:	a slab that has bits
 * @slot:	the first slot, without the remote bit
 * @nr:		how many
 *
 * Until a write to it has succeeded a mapping misses them, and what is just being
 * copied there is stale, whether this store writes there or not. A mapping that comes
 * later misses everything. A slab's only one need not, for if the write there fails
 * there is no remote bit either.
 *
 * Context: process context; does not sleep; after farswap_mapping_store_begin(), before
 * the writes.
 */
void farswap_mapping_store_mark(struct farswap_slab *slab, unsigned int slot,
				unsigned int nr)
{
	struct farswap_mapping *mapping;
	unsigned int nth, there = 0;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		there += !!rcu_access_pointer(slab->mapping[nth]);
	if (there <= 1)
		return;
	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		if (!mapping)
			continue;
		/* First: once the copying has ended it clears no bit any more. */
		farswap_copy_excludes(mapping, slot, nr);
		farswap_slotbits_set(mapping->missing, slot, nr);
	}
	rcu_read_unlock();
}
