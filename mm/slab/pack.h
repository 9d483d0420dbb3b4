/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packed slabs, and the places of compressed pages in them.
 */
#ifndef _FARSWAP_PACK_H
#define _FARSWAP_PACK_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/types.h>

#include "settings.h"
#include "slab/packmap.h"

struct farswap_device;
struct farswap_slab;

/* A packed slab's slots are units. */
#define FARSWAP_UNIT_SHIFT	(PAGE_SHIFT - FARSWAP_UNITS_SHIFT)

/**
 * struct farswap_pack - the additional state of a packed slab
 * @users:	stores and loads that use objects of the slab; while there are any, no object is
 *		taken from its page
 * @owners:	pages of the swap offsets of objects, in the order of farswap_packmap_order(); one
 *		that no object has needed yet is NULL
 * @nr_owners:	number of these pages
 * @map:	its units; NULL until the slab is first mapped
 * @closed:	no page gets an object in the slab until it is mapped again
 */
struct farswap_pack {
	atomic_t users;
	u32 **owners;
	atomic_t nr_owners;
	struct farswap_packmap *map;
	bool closed;
};

/**
 * struct farswap_object - where a page is in a packed slab
 * @slab:	the packed slab
 * @entry:	the page's entry in the table of places
 * @value:	what @entry was when the object was found
 * @slot:	the first unit
 * @nr:		number of units
 * @bytes:	size of the compressed page's units; 0: the page is not compressed
 * @avoid:	what farswap_guard_look() returned when the page got the object
 */
struct farswap_object {
	struct farswap_slab *slab;
	u32 *entry;
	u32 value;
	unsigned int slot;
	unsigned int nr;
	unsigned int bytes;
	unsigned int avoid;
};

struct farswap_places;

DECLARE_STATIC_KEY_FALSE(farswap_packs_key);

/**
 * farswap_packs_used() - check whether there may be packed slabs
 *
 * Context: any.
 * Return: true if compression was ever switched on.
 */
static inline bool farswap_packs_used(void)
{
	return static_branch_unlikely(&farswap_packs_key);
}

/**
 * farswap_packs_on() - check whether pages are compressed from now on
 *
 * Context: any.
 * Return: true if they are.
 */
static inline bool farswap_packs_on(void)
{
	return farswap_packs_used() &&
	       READ_ONCE(farswap_settings.compress) != FARSWAP_COMPRESS_NONE;
}

unsigned long farswap_packs_max(unsigned int units_shift);
struct farswap_places *farswap_places_alloc(unsigned long nr_slots);
unsigned long farswap_places_bytes(struct farswap_places *places);
void farswap_places_free(struct farswap_places *places);

bool farswap_object_find(struct farswap_device *device, pgoff_t offset,
			 struct farswap_object *object);
bool farswap_object_get(struct farswap_device *device, pgoff_t offset,
			struct farswap_object *object);
bool farswap_object_at(struct farswap_slab *slab, unsigned int slot,
		       struct farswap_object *object);
bool farswap_object_take(struct farswap_device *device, pgoff_t offset, unsigned int bytes,
			 struct farswap_object *object);
bool farswap_object_claim(struct farswap_device *device, pgoff_t offset,
			  struct farswap_object *object, bool *remote);
void farswap_object_free(const struct farswap_object *object);
void farswap_pack_close(struct farswap_slab *slab);
bool farswap_pack_is_closed(const struct farswap_slab *slab);
bool farswap_object_reserve(const struct farswap_object *from, pgoff_t offset,
			    struct farswap_object *to);
bool farswap_object_move(const struct farswap_object *from, const struct farswap_object *to);
void farswap_object_drop(struct farswap_object *object);

/**
 * farswap_object_is_current() - check whether an object is still where the page is
 * @object:	the object
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool farswap_object_is_current(const struct farswap_object *object)
{
	return READ_ONCE(*object->entry) == object->value;
}

/**
 * farswap_pack_put() - end the use of an object
 * @pack:	the pack of an object from farswap_object_get() or farswap_object_take()
 *
 * Context: any. All that the user has written to the bits comes before this.
 */
static inline void farswap_pack_put(struct farswap_pack *pack)
{
	/* Pairs with the reads of @users in farswap_pack_prepare(). */
	smp_mb__before_atomic();
	atomic_dec(&pack->users);
}

bool farswap_pack_is_ready(struct farswap_device *device);
struct farswap_pack *farswap_pack_alloc(void);
void farswap_pack_free(struct farswap_slab *slab);
unsigned long farswap_pack_bytes(const struct farswap_slab *slab);
bool farswap_pack_prepare(struct farswap_slab *slab);
pgoff_t farswap_pack_offset(const struct farswap_slab *slab, unsigned int slot);
void farswap_pack_use(void);

#endif /* _FARSWAP_PACK_H */
