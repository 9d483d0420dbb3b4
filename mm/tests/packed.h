/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device with two packed slabs, for the tests of several files.
 */
#ifndef _FARSWAP_PACKED_H
#define _FARSWAP_PACKED_H

#include <kunit/test.h>

#include <linux/jiffies.h>

#define PACKED_PAGES	512
/* A page that compresses to this size is an object of one unit. */
#define PACKED_SMALL	400

/**
 * struct packed - what a case works with
 * @si:		the kernel's structure of the device
 * @device:	the device; its staging copies are not written
 * @slab:	its packed slabs, mapped, but without a region
 */
struct packed {
	struct swap_info_struct si;
	struct farswap_device device;
	struct farswap_slab *slab[2];
};

static void packed_write_nothing(struct work_struct *work) {}

static struct farswap_slab *packed_slab(struct kunit *test, struct packed *packed)
{
	struct farswap_slab *slab = farswap_slab_make_packed(&packed->device);

	KUNIT_ASSERT_NOT_NULL(test, slab);
	KUNIT_ASSERT_TRUE(test, farswap_pack_prepare(slab));
	KUNIT_ASSERT_EQ(test, farswap_slotbits_alloc(&slab->bits, slab->nr_slots), 0);
	slab->state = FARSWAP_SLAB_MAPPED;
	return slab;
}

static struct packed *packed_begin(struct kunit *test)
{
	struct packed *packed = kunit_kzalloc(test, sizeof(*packed), GFP_KERNEL);
	struct farswap_device *device = &packed->device;
	struct farswap_backup_shard *shard;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, packed);
	farswap_pack_use();
	device->si = &packed->si;
	device->map = farswap_slabmap_alloc(PACKED_PAGES, ilog2(PACKED_PAGES), ilog2(PACKED_PAGES),
					    0, ARRAY_SIZE(packed->slab));
	KUNIT_ASSERT_NOT_NULL(test, device->map);
	device->places = farswap_places_alloc(PACKED_PAGES);
	KUNIT_ASSERT_NOT_NULL(test, device->places);
	KUNIT_ASSERT_EQ(test, farswap_backups_init(&device->backups), 0);
	for (i = 0; i < ARRAY_SIZE(device->backups.shards); i++) {
		shard = &device->backups.shards[i];
		INIT_WORK(&shard->work, packed_write_nothing);
		shard->flushing = true;
	}
	device->pack_look_at = jiffies;
	for (i = 0; i < ARRAY_SIZE(device->pack_full_until); i++)
		device->pack_full_until[i] = jiffies;
	for (i = 0; i < ARRAY_SIZE(packed->slab); i++)
		packed->slab[i] = packed_slab(test, packed);
	return packed;
}

/* No page of the device has a staging copy any more. */
static void packed_end(struct packed *packed)
{
	struct farswap_device *device = &packed->device;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(device->backups.shards); i++)
		flush_work(&device->backups.shards[i].work);
	for (i = 0; i < ARRAY_SIZE(packed->slab); i++)
		packed->slab[i]->state = FARSWAP_SLAB_UNMAPPED;
	farswap_slabs_free(device);
	farswap_backups_exit(&device->backups);
	farswap_places_free(device->places);
	farswap_slabmap_free(device->map);
}

/* Give a page an object in the first slab, and end its store with the page in a region. */
static struct farswap_object packed_store(struct kunit *test, struct packed *packed,
					  pgoff_t offset, unsigned int bytes)
{
	struct farswap_object object;

	KUNIT_ASSERT_TRUE(test, farswap_object_take(&packed->device, offset, bytes, &object));
	KUNIT_ASSERT_PTR_EQ(test, object.slab, packed->slab[0]);
	farswap_slotbits_set(object.slab->bits.remote, object.slot, object.nr);
	farswap_pack_put(object.slab->pack);
	return object;
}

#endif /* _FARSWAP_PACKED_H */
