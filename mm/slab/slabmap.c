// SPDX-License-Identifier: GPL-2.0
/*
 * The slab map: a table from swap offset to slab (Infiniswap, section 4.1), and the two bits per
 * slot of a slab. This file does no I/O and does not depend on slab.c or on donors.
 *
 * The paper's table is linear. But Linux 6.12 allocates clusters of 2 MB on a non-rotating device
 * at a stride of 64 MB, so that processors share few locks: first all clusters of the first
 * column, then all of the second. With linear slabs of 64 MB all slabs would be mapped once the
 * first few percent of the device are used. A slab here consists of clusters that the kernel
 * allocates one after the other.
 *
 * Locking: this file takes no lock. Entries are published with cmpxchg(), and bits are atomic. The
 * map exists for as long as slots of its swap type are in use.
 */
#include <linux/bitmap.h>
#include <linux/math.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "slab/slabmap.h"

/**
 * farswap_slotbits_alloc() - allocate the bits of a slab, all clear
 * @bits:	set to the bits
 * @nr:		number of slots
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_slotbits_alloc(struct farswap_slotbits *bits, unsigned int nr)
{
	size_t words = BITS_TO_LONGS(nr);
	unsigned long *both;

	both = kvcalloc(2 * words, sizeof(*both), GFP_KERNEL | __GFP_NOWARN);
	if (!both)
		return -ENOMEM;
	bits->unbacked = both + words;
	/*
	 * The clearing of the bits, and bits->unbacked, come before bits->remote. Pairs with the
	 * acquire in farswap_slab_has_bits(), which reads bits->remote before any bit is read.
	 */
	smp_store_release(&bits->remote, both);
	return 0;
}

/**
 * farswap_slotbits_free() - free the bits of a slab
 * @bits:	bits that farswap_slotbits_alloc() has set, or zero
 */
void farswap_slotbits_free(struct farswap_slotbits *bits)
{
	kvfree(bits->remote);
}

/**
 * farswap_slabmap_alloc() - allocate the empty map of a swap type
 * @nr_slots:	number of its slots
 * @shift:	log2 of the slots in a slab
 * @cluster_shift: log2 of the slots in a cluster
 * @columns_shift: log2 of the columns in which the kernel allocates clusters; 0: it allocates them
 *		in order. If a cluster has more slots than a slab, this is taken as 0
 * @nr_more:	number of further slabs, without slots of their own: the packed ones
 *
 * Context: may sleep.
 * Return: the map, or NULL if there is no memory.
 */
struct farswap_slabmap *farswap_slabmap_alloc(unsigned long nr_slots, unsigned int shift,
					      unsigned int cluster_shift,
					      unsigned int columns_shift, unsigned long nr_more)
{
	unsigned long rows, nr_linear;
	struct farswap_slabmap *map;

	if (cluster_shift > shift) {
		cluster_shift = shift;
		columns_shift = 0;
	}
	rows = DIV_ROUND_UP(nr_slots, 1UL << (cluster_shift + columns_shift));
	nr_linear = DIV_ROUND_UP(rows << (cluster_shift + columns_shift), 1UL << shift);
	map = kvzalloc(struct_size(map, slab, nr_linear + nr_more),
		       GFP_KERNEL | __GFP_NOWARN);
	if (!map)
		return NULL;
	map->shift = shift;
	map->cluster_shift = cluster_shift;
	map->columns_shift = columns_shift;
	map->rows = rows;
	map->slot_mask = (1U << shift) - 1;
	map->cluster_mask = (1U << cluster_shift) - 1;
	map->column_mask = (1U << columns_shift) - 1;
	map->nr_slots = nr_slots;
	map->nr_linear = nr_linear;
	map->nr_slabs = nr_linear + nr_more;
	return map;
}

/**
 * farswap_slabmap_free() - free a map
 * @map:	the map; its slabs, if any, were freed
 */
void farswap_slabmap_free(struct farswap_slabmap *map)
{
	kvfree(map);
}

/**
 * farswap_slabmap_insert() - add a slab to the map
 * @map:	the map of its swap type
 * @index:	its place, less than the map's nr_slabs
 * @slab:	a new slab
 *
 * Context: any.
 * Return: @slab, or the slab that another task has put there first.
 */
struct farswap_slab *farswap_slabmap_insert(struct farswap_slabmap *map, unsigned long index,
					    struct farswap_slab *slab)
{
	struct farswap_slab *old;

	old = cmpxchg(&map->slab[index], NULL, slab);
	return old ? old : slab;
}

/**
 * farswap_slabmap_offset() - get the swap offset of a slot
 * @map:	the map of its swap type
 * @index:	place of its slab
 * @slot:	its place in the slab
 *
 * Context: any.
 * Return: the swap offset. It is past the end if there is no such slot: some columns lack the
 * last cluster.
 */
unsigned long farswap_slabmap_offset(const struct farswap_slabmap *map, unsigned long index,
				     unsigned int slot)
{
	unsigned long place = (index << map->shift) + slot;
	unsigned int cluster = place >> map->cluster_shift;
	unsigned int column = cluster / map->rows, row = cluster % map->rows;

	if (column > map->column_mask)
		return map->nr_slots;
	return ((unsigned long)row << map->columns_shift | column) << map->cluster_shift |
	       (place & map->cluster_mask);
}

/**
 * farswap_slabmap_next() - get the slot that the kernel allocates when a slab is full
 * @map:	the map of its swap type
 * @index:	place of the slab
 *
 * Context: any.
 * Return: its swap offset; past the end if there is none.
 */
unsigned long farswap_slabmap_next(const struct farswap_slabmap *map, unsigned long index)
{
	unsigned long offset = farswap_slabmap_offset(map, index + 1, 0);

	/* If a column lacks its last cluster, the next cluster starts another column. */
	if (offset >= map->nr_slots)
		offset = farswap_slabmap_offset(map, index + 1, 1U << map->cluster_shift);
	return offset;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/slabmap-kunit.h"
#endif
