/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which slab a slot belongs to, and what is known of each slot's copies.
 */
#ifndef _FARSWAP_SLABMAP_H
#define _FARSWAP_SLABMAP_H

#include <linux/bitops.h>
#include <linux/compiler.h>
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

/**
 * farswap_slotbits_set() - set the bit of every slot
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first
 * @nr:		how many
 *
 * Context: any.
 */
static inline void farswap_slotbits_set(unsigned long *map, unsigned int slot,
					unsigned int nr)
{
	for (; nr--; slot++)
		set_bit(slot, map);
}

/**
 * farswap_slotbits_clear() - clear the bit of every slot
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first
 * @nr:		how many
 *
 * Context: any.
 * Return: how many were set.
 */
static inline unsigned int farswap_slotbits_clear(unsigned long *map, unsigned int slot,
						  unsigned int nr)
{
	unsigned int cleared = 0;

	for (; nr--; slot++)
		if (test_bit(slot, map) && test_and_clear_bit(slot, map))
			cleared++;
	return cleared;
}

/**
 * farswap_slotbits_full() - is the bit of every slot set
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first
 * @nr:		how many
 *
 * Context: any.
 * Return: whether it is.
 */
static inline bool farswap_slotbits_full(const unsigned long *map, unsigned int slot,
					 unsigned int nr)
{
	for (; nr--; slot++)
		if (!test_bit(slot, map))
			return false;
	return true;
}

/**
 * farswap_slotbits_any() - is the bit of any slot set
 * @map:	the remote or the unbacked bits of a slab
 * @slot:	the first
 * @nr:		how many
 *
 * Context: any.
 * Return: whether one is.
 */
static inline bool farswap_slotbits_any(const unsigned long *map, unsigned int slot,
					unsigned int nr)
{
	for (; nr--; slot++)
		if (test_bit(slot, map))
			return true;
	return false;
}

/**
 * struct farswap_slabmap - the slabs of one swap type
 * @shift:	log2 of the slots in a slab
 * @cluster_shift: log2 of the slots in a cluster, of which all are in one slab
 * @columns_shift: log2 of the columns in which clusters are handed out
 * @rows:	clusters in a column
 * @slot_mask:	that of a slot's place in its slab
 * @cluster_mask: that of its place in its cluster
 * @column_mask: that of a cluster's column
 * @nr_slots:	slots of the swap type
 * @nr_slabs:	entries of @slab
 * @slab:	the slabs; NULL until a slot of theirs is first used. An entry is
 *		set once, with cmpxchg(), and then stays until the map is freed.
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
	unsigned long nr_slabs;
	struct farswap_slab *slab[];
};

struct farswap_slabmap *farswap_slabmap_alloc(unsigned long nr_slots, unsigned int shift,
					      unsigned int cluster_shift,
					      unsigned int columns_shift);
void farswap_slabmap_free(struct farswap_slabmap *map);
struct farswap_slab *farswap_slabmap_insert(struct farswap_slabmap *map, unsigned long index,
					    struct farswap_slab *slab);
unsigned long farswap_slabmap_offset(const struct farswap_slabmap *map, unsigned long index,
				     unsigned int slot);
unsigned long farswap_slabmap_next(const struct farswap_slabmap *map, unsigned long index);

/**
 * farswap_slabmap_place() - when a slot is handed out, if all are in their turn
 * @map:	the map of its swap type
 * @offset:	its swap offset
 *
 * Slabs follow each other in that order, so that a device of which little is used needs few.
 *
 * Context: any.
 * Return: how many come before, some of which may not exist.
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
 * farswap_slabmap_find() - the slab of a slot
 * @map:	the map of its swap type
 * @offset:	its swap offset
 * @slot:	is set to its place in its slab; those of a cluster follow each other
 *
 * Context: any.
 * Return: the slab; NULL if it has none yet or @offset is past the end.
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
