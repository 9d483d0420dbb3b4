/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which slab a slot belongs to, and what is known of each slot's copies.
 */
#ifndef _FARSWAP_SLABMAP_H
#define _FARSWAP_SLABMAP_H

#include <linux/types.h>

struct farswap_slab;

/**
 * struct farswap_slotbits - two bits for each slot of a slab
 * @remote:	the slot's current contents are in the mapped region
 * @unbacked:	the slot's current contents are not on the swap device
 *
 * The second is the opposite of a "backed" bit, so that a slot of which nothing
 * is known, both bits clear, is the kernel's, and one whose only copy went with
 * its donor is told from that. It is set before a remote store begins and cleared
 * by a successful completion of the device's write; the remote bit is set by a
 * successful completion and cleared before what it vouches for can change.
 *
 * Neighbouring slots share words, so bits change atomically. One slot's bits are
 * written under its folio's lock or writeback or, once nothing can refer to the
 * slot, when it is freed; the unbacked bit also under its device's backup lock.
 */
struct farswap_slotbits {
	unsigned long *remote;
	unsigned long *unbacked;
};

int farswap_slotbits_alloc(struct farswap_slotbits *bits, unsigned int nr);
void farswap_slotbits_free(struct farswap_slotbits *bits);
void farswap_slotbits_set(unsigned long *map, unsigned int slot, unsigned int nr);
unsigned int farswap_slotbits_clear(unsigned long *map, unsigned int slot,
				    unsigned int nr);
bool farswap_slotbits_full(const unsigned long *map, unsigned int slot,
			   unsigned int nr);
bool farswap_slotbits_any(const unsigned long *map, unsigned int slot,
			  unsigned int nr);

/**
 * struct farswap_slabmap - the slabs of one swap type
 * @shift:	log2 of the slots in a slab
 * @nr_slots:	slots of the swap type
 * @nr_slabs:	entries of @slab
 * @slab:	the slabs; NULL until a slot of theirs is first used. An entry is
 *		set once, with cmpxchg(), and then stays until the map is freed.
 */
struct farswap_slabmap {
	unsigned int shift;
	unsigned long nr_slots;
	unsigned long nr_slabs;
	struct farswap_slab *slab[];
};

struct farswap_slabmap *farswap_slabmap_alloc(unsigned long nr_slots,
					      unsigned int shift);
void farswap_slabmap_free(struct farswap_slabmap *map);
struct farswap_slab *farswap_slabmap_find(const struct farswap_slabmap *map,
					  unsigned long offset);
struct farswap_slab *farswap_slabmap_insert(struct farswap_slabmap *map,
					    unsigned long offset,
					    struct farswap_slab *slab);

/* The slot's place in its slab. */
static inline unsigned int
farswap_slabmap_slot(const struct farswap_slabmap *map, unsigned long offset)
{
	return offset & ((1UL << map->shift) - 1);
}

#endif /* _FARSWAP_SLABMAP_H */
