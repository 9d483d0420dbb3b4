// SPDX-License-Identifier: GPL-2.0
/*
 * The units of a packed slab: a region in which compressed pages are objects of one, two, four or
 * eight units. This file allocates and frees runs of units. It does no I/O and does not depend on
 * slabs or donors.
 *
 * Locking: none. A word of the map changes by cmpxchg(), and an object is in one word. An object
 * can be freed in any context, also with interrupts off.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "slab/packmap.h"

/* After a failed search, this fraction of the units has to be freed before the next one. */
#define PACKMAP_RETRY_PART	64

static unsigned long packmap_mask(unsigned int class)
{
	return (1UL << (1U << class)) - 1;
}

/* Return the first aligned run of unused units in a word, or -1. */
static int packmap_find(unsigned long word, unsigned int class)
{
	unsigned long runs = ~word;
	unsigned int i;

	for (i = 0; i < class; i++)
		runs &= runs >> (1U << i);
	/* Keep the bits at multiples of the run's length: 1, 0101..., 00010001..., 00000001.... */
	runs &= ~0UL / packmap_mask(class);
	return runs ? (int)__ffs(runs) : -1;
}

/* Take units of a word; with @unused only if none of its units is in use. Return -1 if none. */
static int packmap_take_from(struct farswap_packmap *map, unsigned int word, unsigned int class,
			     bool unused)
{
	unsigned long old = READ_ONCE(map->used[word]), seen;
	int bit;

	for (;;) {
		bit = unused && old ? -1 : packmap_find(old, class);
		if (bit < 0)
			return -1;
		seen = cmpxchg(&map->used[word], old, old | packmap_mask(class) << bit);
		if (seen == old)
			return word * BITS_PER_LONG + bit;
		old = seen;
	}
}

static bool packmap_is_full(const struct farswap_packmap *map, unsigned int class)
{
	unsigned int full_at = READ_ONCE(map->full_at[class]);
	unsigned int freed = atomic_read(&map->freed);

	return full_at && freed + 1 - full_at < map->nr_units / PACKMAP_RETRY_PART;
}

static unsigned int packmap_next(const struct farswap_packmap *map, unsigned int word)
{
	return word + 1 < map->nr_words ? word + 1 : 0;
}

/* Return an unused word, the first one from @word on; map->nr_words if there is none. */
static unsigned int packmap_find_unused(const struct farswap_packmap *map, unsigned int word)
{
	unsigned int found = find_next_bit(map->unused, map->nr_words, word);

	return found < map->nr_words ? found : find_next_bit(map->unused, map->nr_words, 0);
}

/* Take units of an unused word; return -1 if there is none. */
static int packmap_take_unused(struct farswap_packmap *map, unsigned int class)
{
	unsigned int word = READ_ONCE(map->empty);
	int unit;

	while ((word = packmap_find_unused(map, word)) < map->nr_words) {
		unit = packmap_take_from(map, word, class, true);
		/* A word that becomes unused now may lose its bit; the other search finds it. */
		clear_bit(word, map->unused);
		if (unit < 0)
			continue;
		WRITE_ONCE(map->class_of[word], class);
		WRITE_ONCE(map->next[class], word);
		WRITE_ONCE(map->empty, packmap_next(map, word));
		return unit;
	}
	return -1;
}

/* Take units of an unused word, so that the objects that follow are adjacent; or of any word. */
static int packmap_search(struct farswap_packmap *map, unsigned int class)
{
	unsigned int word = READ_ONCE(map->next[class]), freed = atomic_read(&map->freed), i;
	int unit = packmap_take_unused(map, class);

	if (unit >= 0)
		return unit;
	for (i = 0; i < map->nr_words; i++, word = packmap_next(map, word)) {
		if (packmap_find(READ_ONCE(map->used[word]), class) < 0)
			continue;
		unit = packmap_take_from(map, word, class, false);
		if (unit < 0)
			continue;
		/* Other classes fill this word too from now on, wherever they find room. */
		WRITE_ONCE(map->class_of[word], class);
		WRITE_ONCE(map->next[class], word);
		return unit;
	}
	WRITE_ONCE(map->full_at[class], max(freed + 1, 1U));
	return -1;
}

/**
 * farswap_packmap_take() - allocate an object
 * @map:	the units
 * @class:	its class
 *
 * Context: any; does not wait.
 * Return: its first unit, or -ENOSPC.
 */
int farswap_packmap_take(struct farswap_packmap *map, unsigned int class)
{
	unsigned int word = READ_ONCE(map->next[class]);
	int unit = -1;

	if (READ_ONCE(map->class_of[word]) == class)
		unit = packmap_take_from(map, word, class, false);
	if (unit < 0 && !packmap_is_full(map, class))
		unit = packmap_search(map, class);
	if (unit < 0)
		return -ENOSPC;
	atomic_add(1 << class, &map->nr_used);
	set_bit(unit, map->first);
	return unit;
}

/**
 * farswap_packmap_put() - free an object
 * @map:	the units
 * @unit:	its first unit
 * @class:	its class
 *
 * The caller's writes before this are visible to the next owner of the units.
 *
 * Context: any, also with interrupts off.
 */
void farswap_packmap_put(struct farswap_packmap *map, unsigned int unit, unsigned int class)
{
	unsigned long *word = &map->used[unit / BITS_PER_LONG], old = READ_ONCE(*word), seen;
	unsigned long mask = packmap_mask(class) << unit % BITS_PER_LONG;

	clear_bit(unit, map->first);
	atomic_sub(1 << class, &map->nr_used);
	atomic_add(1 << class, &map->freed);
	/* cmpxchg() is a full barrier: the writes above come before the units are free. */
	while ((seen = cmpxchg(word, old, old & ~mask)) != old)
		old = seen;
	if (!(old & ~mask))
		set_bit(unit / BITS_PER_LONG, map->unused);
}

/**
 * farswap_packmap_bytes() - get the size of a map
 * @nr_units:	number of units, a multiple of BITS_PER_LONG
 *
 * Return: number of bytes.
 */
size_t farswap_packmap_bytes(unsigned int nr_units)
{
	size_t nr_words = nr_units / BITS_PER_LONG;

	return struct_size((struct farswap_packmap *)NULL, used,
			   2 * nr_words + BITS_TO_LONGS(nr_words)) + nr_words;
}

/**
 * farswap_packmap_alloc() - allocate the map of a packed slab, with no unit in use
 * @nr_units:	number of units, a multiple of BITS_PER_LONG
 *
 * Context: may sleep.
 * Return: the map, or NULL if there is no memory.
 */
struct farswap_packmap *farswap_packmap_alloc(unsigned int nr_units)
{
	unsigned int nr_words = nr_units / BITS_PER_LONG;
	struct farswap_packmap *map;

	map = kvzalloc(farswap_packmap_bytes(nr_units), GFP_KERNEL | __GFP_NOWARN);
	if (!map)
		return NULL;
	map->nr_units = nr_units;
	map->nr_words = nr_words;
	map->first = map->used + nr_words;
	map->unused = map->first + nr_words;
	map->class_of = (u8 *)(map->unused + BITS_TO_LONGS(nr_words));
	bitmap_fill(map->unused, nr_words);
	memset(map->class_of, FARSWAP_CLASSES, nr_words);
	return map;
}

/**
 * farswap_packmap_free() - free a map
 * @map:	the map, or NULL
 */
void farswap_packmap_free(struct farswap_packmap *map)
{
	kvfree(map);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/packmap-kunit.h"
#endif
