// SPDX-License-Identifier: GPL-2.0
/*
 * The slab map: a linear table from swap offset to slab (Infiniswap, section
 * 4.1), and the two bits per slot of a slab. Does no I/O and knows no donor;
 * what a slab is, is slab.c's affair.
 *
 * Locking: none of its own. Entries are published with cmpxchg(), bits are
 * atomic; the map itself lives as long as slots of its swap type are in use.
 */
#include <linux/bitmap.h>
#include <linux/math.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "slabmap.h"

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
 *
 * Context: may sleep.
 * Return: the map, or NULL.
 */
struct farswap_slabmap *farswap_slabmap_alloc(unsigned long nr_slots,
					      unsigned int shift)
{
	unsigned long nr_slabs = DIV_ROUND_UP(nr_slots, 1UL << shift);
	struct farswap_slabmap *map;

	map = kvzalloc(struct_size(map, slab, nr_slabs),
		       GFP_KERNEL | __GFP_NOWARN);
	if (!map)
		return NULL;
	map->shift = shift;
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
 * farswap_slabmap_insert() - give a slot its slab
 * @map:	the map of its swap type
 * @offset:	its swap offset, inside the map
 * @slab:	a new slab
 *
 * Context: any.
 * Return: @slab, or the one that somebody else put there first.
 */
struct farswap_slab *farswap_slabmap_insert(struct farswap_slabmap *map,
					    unsigned long offset,
					    struct farswap_slab *slab)
{
	struct farswap_slab *old;

	old = cmpxchg(&map->slab[offset >> map->shift], NULL, slab);
	return old ? old : slab;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/slabmap-kunit.h"
#endif
