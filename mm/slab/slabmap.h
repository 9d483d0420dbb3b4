/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map from slots to slabs, and the bits that record the location of each slot's copies.
 */
#ifndef _FARSWAP_SLABMAP_H
#define _FARSWAP_SLABMAP_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct farswap_slab;

/**
 * struct farswap_slotbits - two bits for each slot of a slab
 * @remote:	the slot's current contents are in a region
 * @unbacked:	the slot's current contents are not on the swap device (dirty)
 *
 * A slot with both bits clear is the kernel's alone; all slots of a new slab are. A slot with only
 * the unbacked bit is being stored, is staged, or has lost its only copy. The unbacked bit is set
 * before a remote store begins, and cleared when the device write completes successfully. The
 * remote bit is set when the remote write completes successfully, and cleared before the slot's
 * contents can change.
 *
 * Neighbouring slots share words, so bits change atomically. The bits of a slot are written under
 * the lock or writeback of its folio or, once nothing can refer to the slot, when it is freed. The
 * unbacked bit is written under the device's backup lock too, unless no page of it is staged.
 */
struct farswap_slotbits {
	unsigned long *remote;
	unsigned long *unbacked;
};

/* Returns the bits of slots that are in the same word as the first one; sets @nr to how many. */
static inline unsigned long farswap_slotbits_mask(unsigned int slot, unsigned int *nr)
{
	*nr = min_t(unsigned int, *nr, BITS_PER_LONG - slot % BITS_PER_LONG);
	return ~0UL >> (BITS_PER_LONG - *nr) << slot % BITS_PER_LONG;
}

int farswap_slotbits_alloc(struct farswap_slotbits *bits, unsigned int nr);
void farswap_slotbits_free(struct farswap_slotbits *bits);

/**
 * farswap_slotbits_set() - set the bits of slots
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Bits in one word are set at once, so the units of a packed page are.
 *
 * Context: any.
 */
static inline void farswap_slotbits_set(unsigned long *map, unsigned int slot,
					unsigned int nr)
{
	unsigned long mask;
	unsigned int part;

	for (; nr; nr -= part, slot += part) {
		part = nr;
		mask = farswap_slotbits_mask(slot, &part);
		atomic_long_or(mask, (atomic_long_t *)&map[slot / BITS_PER_LONG]);
	}
}

/**
 * farswap_slotbits_clear() - clear the bits of slots
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: any.
 * Return: number of bits that were set.
 */
static inline unsigned int farswap_slotbits_clear(unsigned long *map, unsigned int slot,
						  unsigned int nr)
{
	unsigned int cleared = 0, part;
	unsigned long mask, *word;

	for (; nr; nr -= part, slot += part) {
		part = nr;
		mask = farswap_slotbits_mask(slot, &part);
		word = &map[slot / BITS_PER_LONG];
		if (READ_ONCE(*word) & mask)
			cleared += hweight_long(atomic_long_fetch_andnot(mask,
									 (atomic_long_t *)word) &
						mask);
	}
	return cleared;
}

/**
 * farswap_slotbits_full() - check whether the bits of all slots are set
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: any.
 * Return: true if they are.
 */
static inline bool farswap_slotbits_full(const unsigned long *map, unsigned int slot,
					 unsigned int nr)
{
	unsigned long mask;
	unsigned int part;

	for (; nr; nr -= part, slot += part) {
		part = nr;
		mask = farswap_slotbits_mask(slot, &part);
		if (~READ_ONCE(map[slot / BITS_PER_LONG]) & mask)
			return false;
	}
	return true;
}

/**
 * farswap_slotbits_any() - check whether the bit of any slot is set
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: any.
 * Return: true if one is.
 */
static inline bool farswap_slotbits_any(const unsigned long *map, unsigned int slot,
					unsigned int nr)
{
	unsigned long mask;
	unsigned int part;

	for (; nr; nr -= part, slot += part) {
		part = nr;
		mask = farswap_slotbits_mask(slot, &part);
		if (READ_ONCE(map[slot / BITS_PER_LONG]) & mask)
			return true;
	}
	return false;
}

/**
 * struct farswap_slabmap - the slabs of one swap type
 * @shift:	log2 of the slots in a slab
 * @cluster_shift: log2 of the slots in a cluster; a cluster is in one slab
 * @columns_shift: log2 of the columns in which the kernel allocates clusters
 * @rows:	number of clusters in a column
 * @slot_mask:	mask of a slot's place in its slab
 * @cluster_mask: mask of a slot's place in its cluster
 * @column_mask: mask of a cluster's column
 * @nr_slots:	number of slots of the swap type
 * @nr_linear:	number of slabs that contain the slots; they come first in @slab
 * @nr_slabs:	number of entries of @slab
 * @slab:	the slabs; NULL until one of its slots is first used. An entry is set once, with
 *		cmpxchg(), and then stays until the map is freed
 */
struct farswap_slabmap {
	unsigned int shift;
	unsigned int cluster_shift;
	unsigned int columns_shift;
	unsigned int rows;
	unsigned int slot_mask;
	unsigned int cluster_mask;
	unsigned int column_mask;
	unsigned long nr_slots;
	unsigned long nr_linear;
	unsigned long nr_slabs;
	struct farswap_slab *slab[];
};

struct farswap_slabmap *farswap_slabmap_alloc(unsigned long nr_slots, unsigned int shift,
					      unsigned int cluster_shift,
					      unsigned int columns_shift, unsigned long nr_more);
void farswap_slabmap_free(struct farswap_slabmap *map);
struct farswap_slab *farswap_slabmap_insert(struct farswap_slabmap *map, unsigned long index,
					    struct farswap_slab *slab);
unsigned long farswap_slabmap_offset(const struct farswap_slabmap *map, unsigned long index,
				     unsigned int slot);
unsigned long farswap_slabmap_next(const struct farswap_slabmap *map, unsigned long index);

/**
 * farswap_slabmap_place() - get the place of a slot in the kernel's order of allocation
 * @map:	the map of its swap type
 * @offset:	its swap offset
 *
 * Slabs are in this order, so that a device with few slots in use needs few slabs.
 *
 * Context: any.
 * Return: number of places before it; some may have no slot.
 */
static inline unsigned long
farswap_slabmap_place(const struct farswap_slabmap *map, unsigned long offset)
{
	unsigned long cluster = offset >> map->cluster_shift;
	unsigned long column = cluster & map->column_mask;
	unsigned long row = cluster >> map->columns_shift;

	return (column * map->rows + row) << map->cluster_shift | (offset & map->cluster_mask);
}

/**
 * farswap_slabmap_find() - find the slab of a slot
 * @map:	the map of its swap type
 * @offset:	its swap offset
 * @slot:	set to its place in the slab; slots of a cluster have consecutive places
 *
 * Context: any.
 * Return: the slab; NULL if it does not exist yet or @offset is past the end.
 */
static inline struct farswap_slab *
farswap_slabmap_find(const struct farswap_slabmap *map, unsigned long offset,
		     unsigned int *slot)
{
	unsigned long place = farswap_slabmap_place(map, offset);

	*slot = place & map->slot_mask;
	return offset < map->nr_slots ? READ_ONCE(map->slab[place >> map->shift]) : NULL;
}

#endif /* _FARSWAP_SLABMAP_H */
