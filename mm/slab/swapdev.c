// SPDX-License-Identifier: GPL-2.0
/*
 * The swap devices that farswap serves: which they are, and where on the block
 * device a slot is. What is done with a slot is not known here.
 *
 * Locking: farswap_devices_lock covers changes of the table; readers use RCU. It is held
 * for as long as a device or a donor takes, so who only looks at all of them has
 * farswap_devices_walk_lock instead: it keeps in place what is there.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/farswap.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/* Changes of the table below, and of which slabs a device has. */
DEFINE_MUTEX(farswap_devices_lock);
/* The table, for who only looks at it. */
DEFINE_MUTEX(farswap_devices_walk_lock);

struct farswap_device __rcu *farswap_devices[MAX_SWAPFILES];

/**
 * farswap_device_next() - walk the devices
 * @type:	where the walk stands; 0 at first
 *
 * Context: under farswap_devices_lock or farswap_devices_walk_lock.
 * Return: the next device, or NULL after the last.
 */
struct farswap_device *farswap_device_next(unsigned int *type)
{
	struct farswap_device *device = NULL;

	lockdep_assert(lockdep_is_held(&farswap_devices_lock) ||
		       lockdep_is_held(&farswap_devices_walk_lock));
	while (!device && *type < MAX_SWAPFILES)
		device = farswap_device_find((*type)++);
	return device;
}

/**
 * farswap_device_sector() - where a slot is on the block device
 * @device:	a device
 * @offset:	a slot of it that is in use
 *
 * Like the kernel's swap_folio_sector(), which is not exported.
 *
 * Context: any; the slot keeps the extents.
 * Return: the sector on the block device, in units of 512 bytes.
 */
sector_t farswap_device_sector(const struct farswap_device *device,
			       pgoff_t offset)
{
	struct rb_node *node = device->si->swap_extent_root.rb_node;

	while (node) {
		struct swap_extent *se = rb_entry(node, struct swap_extent, rb_node);

		if (offset < se->start_page)
			node = node->rb_left;
		else if (offset >= se->start_page + se->nr_pages)
			node = node->rb_right;
		else
			return (se->start_block + (offset - se->start_page))
			       << (PAGE_SHIFT - SECTOR_SHIFT);
	}
	return (sector_t)-1;
}

static bool device_has_slot(const struct farswap_device *device, pgoff_t offset)
{
	/* Of the kernel's there may be fewer by now, when we are about to forget the device. */
	return offset < device->map->nr_slots && offset < data_race(device->si->max);
}

/**
 * farswap_device_slot() - what the kernel knows of a slot
 * @device:	the device
 * @offset:	the slot
 *
 * Changes under the kernel's lock, which isn't ours, so it is only a hint, but for a slot
 * that the caller holds.
 *
 * Context: under one of the devices' two locks, in work that swapoff waits for, or with the
 * slot in use.
 * Return: flags of enum farswap_slot_flags; 0 for a free slot.
 */
unsigned int farswap_device_slot(const struct farswap_device *device, pgoff_t offset)
{
	return device_has_slot(device, offset) ? farswap_hook_slot(device->si, offset) : 0;
}

/**
 * farswap_device_keep() - have a page stored again whose only copy outside of memory is lost
 * @device:	the device
 * @offset:	the slot
 *
 * Context: as farswap_device_slot(); not in interrupts.
 * Return: true if the page is in memory, or nobody needs it; false if it is lost.
 */
bool farswap_device_keep(const struct farswap_device *device, pgoff_t offset)
{
	return device_has_slot(device, offset) && farswap_hook_keep(device->si, offset);
}

