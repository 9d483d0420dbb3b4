// SPDX-License-Identifier: GPL-2.0
/*
 * The slab map: a table from swap offset to slab (Infiniswap, section 4.1), and the
 * two bits per slot of a slab. Does no I/O and knows no donor; what a slab is, is
 * slab.c's affair.
 *
 * The paper's table is linear. But of a device that doesn't rotate Linux 6.12 hands out
 * clusters of 2 MB at a stride of 64 MB, so that processors share few locks: all in the
 * first column, then all in the second. With linear slabs of 64 MB the first percents
 * of the device would have all of its slabs mapped. So slabs are made of clusters that
 * are handed out one after the other.
 *
 * Locking: none of its own. Entries are published with cmpxchg(), bits are
 * atomic; the map itself lives as long as slots of its swap type are in use.
 */
#include <linux/bitmap.h>
#include <linux/math.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "slab/slabmap.h"

/**
 * farswap_slotbits_alloc() - make the bits of a slab, all clear
 * @bits:	where they go
 * @nr:		slots
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
	 * Pairs with the acquire in farswap_slab_has_bits(): who sees the bits sees
	 * all that was initialised before them.
	 */
	smp_store_release(&bits->remote, both);
	return 0;
}

/**
 * farswap_slotbits_free() - free the bits of a slab
 * @bits:	what farswap_slotbits_alloc() filled in, or zero
 */
void farswap_slotbits_free(struct farswap_slotbits *bits)
{
	kvfree(bits->remote);
}

/**
 * farswap_slabmap_alloc() - make the empty map of a swap type
 * @nr_slots:	its slots
 * @shift:	log2 of the slots in a slab
 * @cluster_shift: log2 of those in a cluster
 * @columns_shift: log2 of the columns in which clusters are handed out; 0: in order, as
 *		also if a cluster has more slots than a slab
 *
 * Context: may sleep.
 * Return: the map, or NULL.
 */
struct farswap_slabmap *farswap_slabmap_alloc(unsigned long nr_slots, unsigned int shift,
					      unsigned int cluster_shift,
					      unsigned int columns_shift)
{
	unsigned long rows, nr_slabs;
	struct farswap_slabmap *map;

	if (cluster_shift > shift) {
		cluster_shift = shift;
		columns_shift = 0;
	}
	rows = DIV_ROUND_UP(nr_slots, 1UL << (cluster_shift + columns_shift));
	nr_slabs = DIV_ROUND_UP(rows << (cluster_shift + columns_shift), 1UL << shift);
	map = kvzalloc(struct_size(map, slab, nr_slabs),
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
	map->nr_slabs = nr_slabs;
	return map;
}

/**
 * farswap_slabmap_free() - free a map
 * @map:	one without slabs, or whose slabs were freed
 */
void farswap_slabmap_free(struct farswap_slabmap *map)
{
	kvfree(map);
}

/**
 * farswap_slabmap_insert() - put a slab into its place
 * @map:	the map of its swap type
 * @index:	the place, inside the map
 * @slab:	a new slab
 *
 * Context: any.
 * Return: @slab, or the one that somebody else put there first.
 */
struct farswap_slab *farswap_slabmap_insert(struct farswap_slabmap *map, unsigned long index,
					    struct farswap_slab *slab)
{
	struct farswap_slab *old;

	old = cmpxchg(&map->slab[index], NULL, slab);
	return old ? old : slab;
}

/**
 * farswap_slabmap_offset() - which slot is in a place
 * @map:	the map of its swap type
 * @index:	of its slab
 * @slot:	its place there
 *
 * Context: any.
 * Return: its swap offset; past the end where there is no slot: the last cluster of some
 * columns does not exist.
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
 * farswap_slabmap_next() - which slot is handed out when a slab is full
 * @map:	the map of its swap type
 * @index:	of the slab
 *
 * Context: any.
 * Return: its swap offset; past the end where there is none.
 */
unsigned long farswap_slabmap_next(const struct farswap_slabmap *map, unsigned long index)
{
	unsigned long offset = farswap_slabmap_offset(map, index + 1, 0);

	/* Between two clusters that don't exist is a column of those that do. */
	if (offset >= map->nr_slots)
		offset = farswap_slabmap_offset(map, index + 1, 1U << map->cluster_shift);
	return offset;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/slabmap-kunit.h"
#endif
