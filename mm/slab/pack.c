// SPDX-License-Identifier: GPL-2.0
/*
 * Packed slabs. A packed slab is a slab whose slots are units, an eighth of a page each. A page
 * that compresses to an eighth, a quarter or a half of its size is an object of one, two or four
 * units; any other page is an object of eight. So XMemPod's compressed tier (section 4.1) needs
 * no other bits, mappings, copies or evictions than pages that are not compressed.
 *
 * All units of an object have the same remote bit, and the same stale bit in each mapping. The
 * unbacked bit is set on the first unit only.
 *
 * The table of places records for each swap offset where its object is; the object itself begins
 * with its compressed size. An object belongs to its page until the page is stored again or freed.
 * Then farswap_object_claim() takes the entry, so that nobody finds the object any more, and clears
 * its remote bits; after the other copies are forgotten, farswap_object_free() frees its units. A
 * packed slab whose region was lost is rebuilt. If its region was given back, all of its objects
 * but those of pages that the device does not have yet are freed before the slab is mapped again.
 *
 * migrate/repack.c moves objects out of a slab that has few. That slab is *closed*: no page gets an
 * object there until the slab has given its region back, has no users, and is mapped again. So the
 * units of an object that has moved keep its bytes for loads that found it before.
 *
 * Locking: none. An entry is set while the folio of its page is locked, or by a cmpxchg() that
 * replaces an object with its copy. It is taken by xchg() or cmpxchg(), so that one task frees the
 * object. A store, a load or a move counts as a user of the slab before it uses an object;
 * farswap_pack_prepare() takes objects only after the stores have ended, and frees their units only
 * after the loads have.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <kunit/static_stub.h>

#include "internal.h"

/*
 * An entry is twice the number of the object's first unit, counted over all packed slabs of the
 * device, plus the object's number of units. An object is aligned, so the lowest bit that is set is
 * the number of units. An entry can address PLACE_UNITS units, 1 TiB.
 */
#define PLACE_UNITS		BIT_ULL(31)

/* log2 of the entries of a cluster: a page of them. */
#define PLACES_SHIFT		(PAGE_SHIFT - 2)

/* log2 of the owners in a page. */
#define OWNERS_SHIFT		(PAGE_SHIFT - 2)

/**
 * struct farswap_places - the table of places of a swap device
 * @nr_clusters: number of entries of @cluster
 * @nr_made:	number of clusters that have been allocated
 * @cluster:	a page of entries for consecutive swap offsets, or NULL; set once with cmpxchg()
 */
struct farswap_places {
	unsigned long nr_clusters;
	atomic_long_t nr_made;
	u32 *cluster[];
};

DEFINE_STATIC_KEY_FALSE(farswap_packs_key);

/**
 * farswap_pack_use() - let stores and loads look for packed slabs from now on
 *
 * Context: may sleep.
 */
void farswap_pack_use(void)
{
	if (!static_key_enabled(&farswap_packs_key))
		static_branch_enable(&farswap_packs_key);
}

/**
 * farswap_places_alloc() - allocate the empty table of places of a device
 * @nr_slots:	number of slots of the device
 *
 * Context: may sleep.
 * Return: the table; NULL if there is no memory or the device is too large: then none of its pages
 * is compressed.
 */
struct farswap_places *farswap_places_alloc(unsigned long nr_slots)
{
	unsigned long nr = DIV_ROUND_UP(nr_slots, 1UL << PLACES_SHIFT);
	struct farswap_places *places;

	if (nr_slots > U32_MAX)
		return NULL;
	places = kvzalloc(struct_size(places, cluster, nr), GFP_KERNEL | __GFP_NOWARN);
	if (places)
		places->nr_clusters = nr;
	return places;
}

/**
 * farswap_places_free() - free a table of places
 * @places:	the table, or NULL; no task uses it
 */
void farswap_places_free(struct farswap_places *places)
{
	unsigned long i;

	for (i = 0; places && i < places->nr_clusters; i++)
		free_page((unsigned long)places->cluster[i]);
	kvfree(places);
}

static u32 *place_find(const struct farswap_places *places, pgoff_t offset)
{
	unsigned long nth = offset >> PLACES_SHIFT;
	u32 *cluster;

	if (!places || nth >= places->nr_clusters)
		return NULL;
	cluster = READ_ONCE(places->cluster[nth]);
	return cluster ? &cluster[offset & ((1UL << PLACES_SHIFT) - 1)] : NULL;
}

/* Return the entry of an offset, or NULL if there is no memory for it now. */
static u32 *place_make(struct farswap_places *places, pgoff_t offset)
{
	u32 *entry = place_find(places, offset), *cluster;
	unsigned long nth = offset >> PLACES_SHIFT;

	if (entry || !places || nth >= places->nr_clusters)
		return entry;
	cluster = (u32 *)get_zeroed_page(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!cluster)
		return NULL;
	if (cmpxchg(&places->cluster[nth], NULL, cluster))
		free_page((unsigned long)cluster);
	else
		atomic_long_inc(&places->nr_made);
	return place_find(places, offset);
}

static u32 place_value(const struct farswap_slab *slab, unsigned int unit, unsigned int class)
{
	unsigned long nth = slab->index - slab->device->map->nr_linear;

	return (nth * slab->nr_slots + unit) << 1 | 1U << class;
}

/* Decode the value of an entry into @object; return false if it is empty. */
static bool place_object(struct farswap_device *device, u32 *entry, u32 value,
			 struct farswap_object *object)
{
	const struct farswap_slabmap *map = device->map;
	unsigned int shift = map->shift + FARSWAP_UNITS_SHIFT;
	u32 unit = (value & (value - 1)) >> 1;

	if (!value)
		return false;
	object->slab = READ_ONCE(map->slab[map->nr_linear + (unit >> shift)]);
	object->entry = entry;
	object->value = value;
	object->slot = unit & ((1U << shift) - 1);
	object->nr = value & -value;
	object->bytes = object->nr < FARSWAP_UNITS ? object->nr << FARSWAP_UNIT_SHIFT : 0;
	return true;
}

/**
 * farswap_places_bytes() - get the memory that a table of places takes up
 * @places:	the table, or NULL
 *
 * Context: any.
 * Return: number of bytes.
 */
unsigned long farswap_places_bytes(struct farswap_places *places)
{
	if (!places)
		return 0;
	return struct_size(places, cluster, places->nr_clusters) +
	       (atomic_long_read(&places->nr_made) << PAGE_SHIFT);
}

/**
 * farswap_packs_max() - get the number of packed slabs that a device can have
 * @units_shift: log2 of the units of each
 *
 * Return: the number.
 */
unsigned long farswap_packs_max(unsigned int units_shift)
{
	return PLACE_UNITS >> units_shift;
}

/**
 * farswap_object_find() - find the object of a page
 * @device:	the device
 * @offset:	the page's swap offset
 * @object:	set to the object
 *
 * Context: any. The result is a hint: another page may own the units at any time.
 * Return: false if the page is in no packed slab.
 */
bool farswap_object_find(struct farswap_device *device, pgoff_t offset,
			 struct farswap_object *object)
{
	u32 *entry = place_find(device->places, offset);

	/* The release in farswap_object_take() comes after the slab is set up. */
	return entry && place_object(device, entry, smp_load_acquire(entry), object);
}

/**
 * farswap_object_get() - find the object of a page, and use it
 * @device:	the device
 * @offset:	the page's swap offset; its folio is locked
 * @object:	set to the object
 *
 * The object stays the page's until farswap_pack_put(), as long as the page is not stored.
 *
 * Context: any.
 * Return: false if the page is in no packed slab.
 */
bool farswap_object_get(struct farswap_device *device, pgoff_t offset,
			struct farswap_object *object)
{
	if (!farswap_object_find(device, offset, object))
		return false;
	atomic_inc(&object->slab->pack->users);
	/*
	 * The user is counted before the entry is read again. Pairs with the barrier in
	 * farswap_pack_prepare(), which clears the entry before it reads the count.
	 */
	smp_mb__after_atomic();
	if (likely(farswap_object_is_current(object)))
		return true;
	farswap_pack_put(object->slab->pack);
	return false;
}

/**
 * farswap_object_at() - find the object that begins at a unit
 * @slab:	a packed slab with bitmaps
 * @slot:	the unit
 * @object:	set to the object
 *
 * Context: any. The result is a hint, as that of farswap_object_find().
 * Return: false if no object begins there.
 */
bool farswap_object_at(struct farswap_slab *slab, unsigned int slot,
		       struct farswap_object *object)
{
	return farswap_object_find(slab->device, farswap_pack_offset(slab, slot), object) &&
	       object->slab == slab && object->slot == slot;
}

/* Return the owner of an object that begins at a unit; NULL if none ever began there. */
static u32 *pack_owner(const struct farswap_slab *slab, unsigned int unit)
{
	unsigned int place = farswap_packmap_order(slab->pack->map, unit);
	u32 *owners = READ_ONCE(slab->pack->owners[place >> OWNERS_SHIFT]);

	return owners ? &owners[place & ((1U << OWNERS_SHIFT) - 1)] : NULL;
}

/* Allocate the page of the owner of an object, if there is none; return false without memory. */
static bool pack_make_owner(const struct farswap_slab *slab, unsigned int unit)
{
	unsigned int nth = farswap_packmap_order(slab->pack->map, unit) >> OWNERS_SHIFT;
	struct farswap_pack *pack = slab->pack;
	u32 *owners;

	KUNIT_STATIC_STUB_REDIRECT(pack_make_owner, slab, unit);
	if (likely(READ_ONCE(pack->owners[nth])))
		return true;
	owners = (u32 *)get_zeroed_page(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!owners)
		return false;
	if (cmpxchg(&pack->owners[nth], NULL, owners))
		free_page((unsigned long)owners);
	else
		atomic_inc(&pack->nr_owners);
	return true;
}

static unsigned int pack_owner_pages(const struct farswap_slab *slab)
{
	return DIV_ROUND_UP(slab->nr_slots, 1U << OWNERS_SHIFT);
}

/**
 * farswap_pack_bytes() - get the memory that the additional state of a packed slab takes up
 * @slab:	a packed slab with bitmaps
 *
 * Context: any.
 * Return: number of bytes.
 */
unsigned long farswap_pack_bytes(const struct farswap_slab *slab)
{
	return sizeof(*slab->pack) + farswap_packmap_bytes(slab->nr_slots) +
	       pack_owner_pages(slab) * sizeof(*slab->pack->owners) +
	       ((unsigned long)atomic_read(&slab->pack->nr_owners) << PAGE_SHIFT);
}

/**
 * farswap_pack_offset() - get the swap offset of a unit
 * @slab:	a packed slab with bitmaps
 * @slot:	the unit
 *
 * Context: any.
 * Return: the swap offset of the unit's object. It is valid if the caller has read a bit of the
 * unit that was set, and is a hint while the page can be stored or freed: it may be 0 then, which
 * is no page's offset.
 */
pgoff_t farswap_pack_offset(const struct farswap_slab *slab, unsigned int slot)
{
	const u32 *owner;

	/*
	 * The caller's read of the bit comes before the read of the owner. Pairs with
	 * farswap_object_take(), which writes the owner before anybody sets a bit.
	 */
	smp_rmb();
	slot = farswap_packmap_start(slab->pack->map, slot);
	owner = pack_owner(slab, slot);
	return owner ? READ_ONCE(*owner) : 0;
}

/*
 * Take units of a slab, if it is mapped. Return the first; the slab is used then. Return -ENOSPC
 * if it has no room, -ENOMEM if there is no memory for the owner.
 */
static int pack_take_units(struct farswap_slab *slab, unsigned int class)
{
	struct farswap_pack *pack = slab->pack;
	int unit = -ENOSPC;

	atomic_inc(&pack->users);
	/*
	 * The user is counted before the state is read. Pairs with farswap_pack_prepare(): the
	 * slab is FARSWAP_SLAB_MAPPING before it reads the count.
	 */
	smp_mb__after_atomic();
	if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED && farswap_slab_has_bits(slab))
		unit = farswap_packmap_take(pack->map, class);
	if (unit >= 0 && !pack_make_owner(slab, unit)) {
		farswap_packmap_put(pack->map, unit, class);
		unit = -ENOMEM;
	}
	/*
	 * The units are taken before @closed is read. Pairs with farswap_pack_close(): units that
	 * are freed after that are not taken.
	 */
	smp_mb();
	if (unit >= 0 && READ_ONCE(pack->closed)) {
		farswap_packmap_put(pack->map, unit, class);
		unit = -ENOSPC;
	}
	if (unit < 0)
		farswap_pack_put(pack);
	return unit;
}

/* Map one more packed slab, unless one is being mapped or, with @ahead, has room. */
static void pack_want(struct farswap_device *device, bool ahead)
{
	unsigned int nr = READ_ONCE(device->nr_packs), i;
	struct farswap_slab *slab, *wanted = NULL;

	for (i = 0; i < nr; i++) {
		slab = READ_ONCE(device->map->slab[device->map->nr_linear + i]);
		switch (READ_ONCE(slab->state)) {
		case FARSWAP_SLAB_MAPPING:
			return;
		case FARSWAP_SLAB_UNMAPPED:
			wanted = slab;
			break;
		case FARSWAP_SLAB_MAPPED:
			if (ahead && !READ_ONCE(slab->pack->closed) &&
			    farswap_packmap_is_ample(slab->pack->map))
				return;
			break;
		}
	}
	if (!wanted)
		wanted = farswap_slab_make_packed(device);
	if (!wanted)
		return;
	farswap_activity_account(&wanted->activity, farswap_slab_second(), 1);
	farswap_slab_want(wanted);
}

/**
 * farswap_pack_is_ready() - check whether a page can go to a packed slab now, and have one mapped
 * @device:	the device
 *
 * While no donor has room, no page is compressed only to be refused.
 *
 * Context: process context; does not sleep.
 * Return: true if a packed slab is mapped; a hint.
 */
bool farswap_pack_is_ready(struct farswap_device *device)
{
	unsigned int open = READ_ONCE(device->pack_open[0]), nr = READ_ONCE(device->nr_packs), i;
	struct farswap_slab *slab;

	for (i = 0; i < nr; i++) {
		slab = READ_ONCE(device->map->slab[device->map->nr_linear + (open + i) % nr]);
		if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
		    !READ_ONCE(slab->pack->closed))
			return true;
	}
	pack_want(device, false);
	return false;
}

/*
 * Find room in a mapped slab, first where the last object of the class went. With NULL, @unit is
 * -ENOMEM if a slab has room, but there is no memory for the owner.
 */
static struct farswap_slab *pack_find_room(struct farswap_device *device, unsigned int class,
					   int *unit)
{
	unsigned int open = READ_ONCE(device->pack_open[class]), nr = READ_ONCE(device->nr_packs);
	bool starved = false;
	struct farswap_slab *slab;
	unsigned int i, nth;

	if (time_is_after_jiffies(READ_ONCE(device->pack_full_until[class])))
		nr = 0;
	for (i = 0; i < nr; i++) {
		nth = (open + i) % nr;
		slab = READ_ONCE(device->map->slab[device->map->nr_linear + nth]);
		if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED)
			continue;
		*unit = pack_take_units(slab, class);
		starved |= *unit == -ENOMEM;
		if (*unit < 0)
			continue;
		if (nth != open)
			WRITE_ONCE(device->pack_open[class], nth);
		return slab;
	}
	/* All are full, and there may be many: search again at the next tick at the earliest. */
	if (nr && !starved)
		WRITE_ONCE(device->pack_full_until[class], jiffies + 1);
	*unit = starved ? -ENOMEM : -ENOSPC;
	return NULL;
}

/* Map the next packed slab before this one is full; look once in a tick. */
static void pack_ahead(struct farswap_device *device, const struct farswap_slab *slab)
{
	if (likely(farswap_packmap_is_ample(slab->pack->map)) ||
	    time_is_after_jiffies(READ_ONCE(device->pack_look_at)))
		return;
	WRITE_ONCE(device->pack_look_at, jiffies + 1);
	pack_want(device, true);
}

/* Make a page the owner of units that were taken for it. */
static void object_own(struct farswap_object *object, pgoff_t offset)
{
	struct farswap_slab *slab = object->slab;

	/*
	 * A store whose region was lost may have set bits after they were cleared, and a copy of
	 * the former page may be on its way.
	 */
	farswap_guard_invalidate(slab, object->slot, object->nr, &object->avoid);
	WRITE_ONCE(*pack_owner(slab, object->slot), offset);
}

/**
 * farswap_object_take() - give a page an object in a packed slab
 * @device:	the device
 * @offset:	the page's swap offset; its folio is locked, and it has no object
 * @bytes:	its compressed size; 0: it is not compressed
 * @object:	set to the object
 *
 * The bits of the object are clear. The caller calls farswap_pack_put() once the page is written,
 * and has set its remote bits if that succeeded.
 *
 * Context: process context; does not sleep.
 * Return: false if no mapped slab has room, or there is no memory now.
 */
bool farswap_object_take(struct farswap_device *device, pgoff_t offset, unsigned int bytes,
			 struct farswap_object *object)
{
	unsigned int class = farswap_packmap_class(bytes, PAGE_SIZE);
	u32 *entry = place_make(device->places, offset);
	struct farswap_slab *slab;
	int unit;

	if (!entry)
		return false;
	slab = pack_find_room(device, class, &unit);
	if (!slab) {
		/* Without memory for the owner another slab would be of no use. */
		if (unit != -ENOMEM)
			pack_want(device, false);
		return false;
	}
	farswap_activity_account(&slab->activity, farswap_slab_second(), 1);
	pack_ahead(device, slab);
	place_object(device, entry, place_value(slab, unit, class), object);
	object_own(object, offset);
	/*
	 * The owners are written before the entry. Pairs with farswap_object_find().
	 */
	smp_store_release(entry, object->value);
	/* They are written before any bit of the units is set. Pairs with farswap_pack_offset(). */
	smp_wmb();
	return true;
}

/**
 * farswap_object_claim() - take the object of a page that is stored again or freed
 * @device:	the device
 * @offset:	the page's swap offset
 * @object:	set to the object
 * @remote:	set to whether a region had the page
 *
 * The caller forgets the page's staging copy, and then calls farswap_object_free().
 *
 * Context: any, also with interrupts off.
 * Return: false if the page has no object.
 */
bool farswap_object_claim(struct farswap_device *device, pgoff_t offset,
			  struct farswap_object *object, bool *remote)
{
	u32 *entry = place_find(device->places, offset);

	if (!entry || !READ_ONCE(*entry) || !place_object(device, entry, xchg(entry, 0), object))
		return false;
	*remote = farswap_guard_invalidate(object->slab, object->slot, object->nr,
					   &object->avoid);
	return true;
}

/**
 * farswap_object_free() - free the units of an object
 * @object:	an object that farswap_object_claim() has taken, or that never was written
 *
 * Context: any, also with interrupts off.
 */
void farswap_object_free(const struct farswap_object *object)
{
	farswap_packmap_put(object->slab->pack->map, object->slot, ilog2(object->nr));
}

/**
 * farswap_pack_close() - let no page get an object in a packed slab any more
 * @slab:	a packed slab with bitmaps
 *
 * From then on, if a page's entry is the same at two times, its object was the page's in between.
 * farswap_pack_prepare() opens the slab again.
 *
 * Context: any.
 */
void farswap_pack_close(struct farswap_slab *slab)
{
	WRITE_ONCE(slab->pack->closed, true);
	/* @closed is written before the caller reads any entry. Pairs with pack_take_units(). */
	smp_mb();
}

/**
 * farswap_pack_is_closed() - check whether a packed slab is closed, and stays so
 * @slab:	a packed slab; the caller has an object of it in use
 *
 * Context: any.
 * Return: true if it is, and is not opened before the caller calls farswap_pack_put().
 */
bool farswap_pack_is_closed(const struct farswap_slab *slab)
{
	bool mapped = READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED;

	/*
	 * The state is read before @closed. Pairs with pack_open(), which writes @closed before the
	 * slab is mapped: the slab was not opened before the caller became a user.
	 */
	smp_rmb();
	return mapped && READ_ONCE(slab->pack->closed);
}

/**
 * farswap_object_reserve() - take units for a copy of an object
 * @from:	the object, in a closed slab
 * @offset:	its page's swap offset
 * @to:		set to the copy, in a slab that is not closed
 *
 * Nobody finds the units before farswap_object_move(). The caller calls farswap_pack_put() in the
 * end, and farswap_object_drop() if the object does not move.
 *
 * Context: process context; does not sleep.
 * Return: false if no mapped slab has room.
 */
bool farswap_object_reserve(const struct farswap_object *from, pgoff_t offset,
			    struct farswap_object *to)
{
	struct farswap_device *device = from->slab->device;
	unsigned int class = ilog2(from->nr);
	struct farswap_slab *slab;
	int unit;

	slab = pack_find_room(device, class, &unit);
	if (!slab)
		return false;
	place_object(device, from->entry, place_value(slab, unit, class), to);
	object_own(to, offset);
	/* The owners are written before any bit of the units. Pairs with farswap_pack_offset(). */
	smp_wmb();
	return true;
}

/**
 * farswap_object_move() - replace an object with its copy
 * @from:	the object, in a closed slab, in use since before it was copied
 * @to:		what farswap_object_reserve() has set, with remote bits
 *
 * A load may go on to read the units of @from. The device has the page, so a load that finds no
 * remote bits of @from reads it there.
 *
 * Context: process context; does not sleep.
 * Return: false if the page was stored or freed meanwhile, or the object is lost.
 */
bool farswap_object_move(const struct farswap_object *from, const struct farswap_object *to)
{
	struct farswap_slab *slab = from->slab;
	unsigned int avoid;

	/* First: a slab that loses its region ends the charge of pages that have these bits. */
	if (farswap_guard_invalidate(slab, from->slot, from->nr, &avoid) != from->nr)
		return false;
	/*
	 * cmpxchg() is a full barrier: the owners and the bits of @to are written before the entry.
	 * Pairs with farswap_object_find().
	 */
	if (cmpxchg(from->entry, from->value, to->value) != from->value)
		return false;
	/* A run of rebuild.c that has seen the former entry may have set them again. */
	farswap_guard_invalidate(slab, from->slot, from->nr, &avoid);
	farswap_object_free(from);
	return true;
}

/**
 * farswap_object_drop() - free units that farswap_object_reserve() has taken
 * @object:	the copy that no page has
 *
 * Context: process context; does not sleep.
 */
void farswap_object_drop(struct farswap_object *object)
{
	farswap_guard_invalidate(object->slab, object->slot, object->nr, &object->avoid);
	farswap_object_free(object);
}

/**
 * farswap_pack_alloc() - allocate the additional state of a packed slab
 *
 * Context: any; does not wait for memory.
 * Return: it, or NULL if there is no memory now.
 */
struct farswap_pack *farswap_pack_alloc(void)
{
	return kzalloc(sizeof(struct farswap_pack), GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
}

/**
 * farswap_pack_free() - free the additional state of a packed slab
 * @slab:	a slab that nobody uses
 */
void farswap_pack_free(struct farswap_slab *slab)
{
	struct farswap_pack *pack = slab->pack;
	unsigned int i;

	if (!pack)
		return;
	for (i = 0; pack->owners && i < pack_owner_pages(slab); i++)
		free_page((unsigned long)pack->owners[i]);
	farswap_packmap_free(pack->map);
	kvfree(pack->owners);
	kfree(pack);
}

/*
 * Wait until no user is left that still saw the slab mapped, or an object that was taken from its
 * page. Loads may use objects again at any time.
 */
static void pack_drain(const struct farswap_pack *pack)
{
	/*
	 * The state and the entries are written before the count is read. Pairs with
	 * pack_take_units(), farswap_pack_is_closed() and farswap_object_get(), which count their
	 * user before they read them.
	 */
	smp_mb();
	while (atomic_read(&pack->users))
		msleep(20);
	/* Pairs with farswap_pack_put(): no user writes bits or reads units after this. */
	smp_mb();
}

/* Take the objects of pages that the device has; return false if there is no memory. */
static bool pack_empty(struct farswap_slab *slab)
{
	struct farswap_packmap *map = slab->pack->map;
	struct farswap_object object;
	unsigned long *first, *last;
	unsigned int unit, end;

	/* The first and the last unit of each object that was taken. */
	first = kvcalloc(2 * map->nr_words, sizeof(*first), GFP_KERNEL | __GFP_NOWARN);
	if (!first)
		return false;
	last = first + map->nr_words;
	/* A store to a region that the slab has lost may not have set the unbacked bit yet. */
	pack_drain(slab->pack);
	for_each_set_bit(unit, map->first, map->nr_units) {
		cond_resched();
		if (!farswap_object_at(slab, unit, &object) ||
		    test_bit(unit, slab->bits.unbacked))
			continue;
		if (cmpxchg(object.entry, object.value, 0) != object.value)
			continue;
		/* A run of rebuild.c that has seen the entry does not publish the units. */
		farswap_guard_look(slab, unit, object.nr);
		__set_bit(unit, first);
		__set_bit(unit + object.nr - 1, last);
	}
	/* A load may still use an object that it found before. */
	pack_drain(slab->pack);
	for_each_set_bit(unit, first, map->nr_units) {
		end = find_next_bit(last, map->nr_units, unit) + 1;
		farswap_packmap_put(map, unit, ilog2(end - unit));
	}
	kvfree(first);
	return true;
}

/* Let pages get objects again. */
static void pack_open(struct farswap_slab *slab)
{
	if (!READ_ONCE(slab->pack->closed))
		return;
	/* A load that found an object before it moved may still want to read its units. */
	pack_drain(slab->pack);
	WRITE_ONCE(slab->pack->closed, false);
}

static bool pack_make(struct farswap_slab *slab)
{
	struct farswap_pack *pack = slab->pack;

	pack->owners = kvcalloc(pack_owner_pages(slab), sizeof(*pack->owners),
				GFP_KERNEL | __GFP_NOWARN);
	if (!pack->owners)
		return false;
	pack->map = farswap_packmap_alloc(slab->nr_slots);
	if (pack->map)
		return true;
	kvfree(pack->owners);
	pack->owners = NULL;
	return false;
}

/**
 * farswap_pack_prepare() - prepare a packed slab to be mapped
 * @slab:	a packed slab that is FARSWAP_SLAB_MAPPING; without bits if it was never mapped
 *
 * Its memory is allocated. Or its units are freed where the device has their pages, unless the
 * slab was lost and rebuild.c brings these back to where they were.
 *
 * Context: may sleep, as long as stores and loads in flight take.
 * Return: false if there is no memory.
 */
bool farswap_pack_prepare(struct farswap_slab *slab)
{
	if (!slab->pack->map)
		return pack_make(slab);
	pack_open(slab);
	if (READ_ONCE(slab->rebuilds) && !farswap_zswap_seen() && !slab->device->protect)
		return true;
	return !farswap_slab_has_bits(slab) || pack_empty(slab);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/pack-kunit.h"
#endif
