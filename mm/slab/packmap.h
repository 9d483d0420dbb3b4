/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The units of a packed slab, and which of them are in use.
 */
#ifndef _FARSWAP_PACKMAP_H
#define _FARSWAP_PACKMAP_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* log2 of the units in a page. */
#define FARSWAP_UNITS_SHIFT	3
#define FARSWAP_UNITS		((unsigned int)BIT(FARSWAP_UNITS_SHIFT))
/* An object of class c has 1 << c units: an eighth, a quarter, a half of a page, or a page. */
#define FARSWAP_CLASSES		(FARSWAP_UNITS_SHIFT + 1)
#define FARSWAP_CLASS_RAW	FARSWAP_UNITS_SHIFT

/**
 * struct farswap_packmap - the units of a packed slab
 * @nr_units:	number of units, a multiple of BITS_PER_LONG
 * @nr_words:	number of words of @used
 * @nr_used:	number of units in use
 * @freed:	number of units freed so far; wraps
 * @empty:	word at which the search for an unused word starts
 * @next:	word from which the last object of each class came
 * @full_at:	value of @freed when a search for a class last failed, plus 1; 0: it did not
 * @unused:	a bit for each word that has no unit in use; a hint
 * @class_of:	the class that is filled in each word, or FARSWAP_CLASSES
 * @first:	a bit for each unit at which an object begins
 * @used:	a bit for each unit in use
 *
 * An object is an aligned run of units, so it is in one word and in one page of the region.
 * Objects of a class that are allocated one after the other are adjacent if possible, so that
 * their writes can be merged.
 */
struct farswap_packmap {
	unsigned int nr_units;
	unsigned int nr_words;
	atomic_t nr_used;
	atomic_t freed;
	unsigned int empty;
	unsigned int next[FARSWAP_CLASSES];
	unsigned int full_at[FARSWAP_CLASSES];
	u8 *class_of;
	unsigned long *unused;
	unsigned long *first;
	unsigned long used[];
};

size_t farswap_packmap_bytes(unsigned int nr_units);
struct farswap_packmap *farswap_packmap_alloc(unsigned int nr_units);
void farswap_packmap_free(struct farswap_packmap *map);
int farswap_packmap_take(struct farswap_packmap *map, unsigned int class);
void farswap_packmap_put(struct farswap_packmap *map, unsigned int unit, unsigned int class);

/**
 * farswap_packmap_class() - get the class of an object
 * @bytes:	size of the object; 0 for a page that is not compressed
 * @page_size:	size of a page
 *
 * Return: the class.
 */
static inline unsigned int farswap_packmap_class(unsigned int bytes, unsigned int page_size)
{
	unsigned int class;

	for (class = 0; class < FARSWAP_CLASS_RAW; class++)
		if (bytes && bytes <= page_size >> (FARSWAP_UNITS_SHIFT - class))
			break;
	return class;
}

/**
 * farswap_packmap_starts() - check whether an object begins at a unit
 * @map:	the units
 * @unit:	a unit
 *
 * Context: any; a hint.
 * Return: true if one does.
 */
static inline bool farswap_packmap_starts(const struct farswap_packmap *map, unsigned int unit)
{
	return test_bit(unit, map->first);
}

/**
 * farswap_packmap_start() - get the first unit of an object
 * @map:	the units
 * @unit:	a unit of the object
 *
 * Context: any; a hint while the object can be freed.
 * Return: the object's first unit; @unit if there is no object.
 */
static inline unsigned int farswap_packmap_start(const struct farswap_packmap *map,
						 unsigned int unit)
{
	unsigned int block = unit - unit % FARSWAP_UNITS;
	unsigned long starts = READ_ONCE(map->first[unit / BITS_PER_LONG]) >> block % BITS_PER_LONG;

	/* An object lies within one block of FARSWAP_UNITS units. */
	starts &= (2UL << (unit - block)) - 1;
	return starts ? block + __fls(starts) : unit;
}

/**
 * farswap_packmap_order() - get a unit's place, ordered by the largest object that can begin there
 * @map:	the units
 * @unit:	a unit
 *
 * Objects of eight units begin at every eighth unit only, and these units come first; then those
 * at which objects of four begin too, and so on.
 *
 * Context: any.
 * Return: the place, less than the number of units.
 */
static inline unsigned int farswap_packmap_order(const struct farswap_packmap *map,
						 unsigned int unit)
{
	unsigned int class = __ffs(unit | FARSWAP_UNITS);

	if (class == FARSWAP_CLASS_RAW)
		return unit >> FARSWAP_UNITS_SHIFT;
	return (map->nr_units + unit) >> (class + 1);
}

/**
 * farswap_packmap_is_ample() - check whether objects of any class are likely to find room
 * @map:	the units
 *
 * Context: any; a hint.
 * Return: true if at least an eighth of the units are unused.
 */
static inline bool farswap_packmap_is_ample(const struct farswap_packmap *map)
{
	return (unsigned int)atomic_read(&map->nr_used) <= map->nr_units - map->nr_units / 8;
}

/**
 * farswap_packmap_is_worth() - check whether objects take so much room that a region is worth it
 * @map:	the units, or NULL if there are none yet
 *
 * Context: any; a hint.
 * Return: true if at least half of the units are in use.
 */
static inline bool farswap_packmap_is_worth(const struct farswap_packmap *map)
{
	return map && (unsigned int)atomic_read(&map->nr_used) >= map->nr_units / 2;
}

/**
 * farswap_packmap_is_sparse() - check whether few units are in use
 * @map:	the units, or NULL if there are none yet
 *
 * Context: any; a hint.
 * Return: true if less than a quarter of the units are in use.
 */
static inline bool farswap_packmap_is_sparse(const struct farswap_packmap *map)
{
	return map && (unsigned int)atomic_read(&map->nr_used) < map->nr_units / 4;
}

#endif /* _FARSWAP_PACKMAP_H */
