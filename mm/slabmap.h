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
 * @backed:	the slot's current contents are on the swap device
 *
 * A bit is set only by a successful completion and cleared before what it
 * vouches for can change. Neighbouring slots share words, so bits change
 * atomically. One slot's bits are written under its folio's lock or writeback,
 * or, once nothing can refer to the slot, when it is freed.
 */
struct farswap_slotbits {
	unsigned long *remote;
	unsigned long *backed;
};

int farswap_slotbits_alloc(struct farswap_slotbits *bits, unsigned int nr);
void farswap_slotbits_free(struct farswap_slotbits *bits);
void farswap_slotbits_set(struct farswap_slotbits *bits, unsigned int slot,
			  unsigned int nr);
unsigned int farswap_slotbits_clear(struct farswap_slotbits *bits,
				    unsigned int slot, unsigned int nr);
void farswap_slotbits_reset(struct farswap_slotbits *bits, unsigned int nr);
bool farswap_slotbits_full(const unsigned long *map, unsigned int slot,
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
