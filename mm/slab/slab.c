// SPDX-License-Identifier: GPL-2.0
/*
 * Slabs, and the swap devices that they are parts of. A slab is mapped to a region once it is
 * hot. migrate/map.c and donor/placement.c choose the donor, migrate/unmap.c ends the
 * mapping, and the files in io/ do the I/O.
 *
 * Locking: farswap_state_lock covers states and lists. I/O holds a reference on the
 * slab's mapping. The section on devices, below, has locks of its own.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/farswap.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <trace/events/farswap.h>

#include "internal.h"

/* Stores check the next slab this many times while they fill a slab. */
#define SLAB_AHEAD_STEPS	8

/* Page I/Os of a slab in a second that a CPU counts one by one; after those, so many at once. */
#define SLAB_EXACT		16
#define SLAB_BATCH		32
/* log2 of the slabs that a CPU keeps apart. */
#define SLAB_BATCHES_BITS	4

/**
 * struct slab_batch - page I/Os of a slab that a CPU has not added to the slab's activity yet
 * @slab:	the slab; only compared, since it may have been freed
 * @second:	the second to which the count belongs
 * @pages:	number of pages; less than 0 while each is added at once
 */
struct slab_batch {
	const struct farswap_slab *slab;
	u32 second;
	int pages;
};

static DEFINE_PER_CPU(struct slab_batch, slab_batches[1 << SLAB_BATCHES_BITS]);

/* Its works wait for donors, so no work that an I/O needs may run on it. */
static struct workqueue_struct *slab_map_wq;

static const struct farswap_slab_works *slab_works;

static const char *const slab_state_names[] = {
	[FARSWAP_SLAB_UNMAPPED]	= "unmapped",
	[FARSWAP_SLAB_MAPPING]	= "mapping",
	[FARSWAP_SLAB_MAPPED]	= "mapped",
	[FARSWAP_SLAB_DRAINING]	= "draining",
	[FARSWAP_SLAB_LOST]	= "lost",
};

/* The states that may follow each state. */
static const u8 slab_moves[FARSWAP_SLAB_STATES] = {
	[FARSWAP_SLAB_UNMAPPED]	= BIT(FARSWAP_SLAB_MAPPING),
	[FARSWAP_SLAB_MAPPING]	= BIT(FARSWAP_SLAB_MAPPED) |
				  BIT(FARSWAP_SLAB_UNMAPPED),
	[FARSWAP_SLAB_MAPPED]	= BIT(FARSWAP_SLAB_DRAINING) |
				  BIT(FARSWAP_SLAB_LOST),
	[FARSWAP_SLAB_DRAINING]	= BIT(FARSWAP_SLAB_UNMAPPED),
	[FARSWAP_SLAB_LOST]	= BIT(FARSWAP_SLAB_UNMAPPED),
};

static bool slab_may_become(enum farswap_slab_state from, enum farswap_slab_state to)
{
	return slab_moves[from] & BIT(to);
}

/* Returns false, with nothing changed, if @state may not follow. */
static bool slab_become(struct farswap_slab *slab, enum farswap_slab_state state)
{
	lockdep_assert_held(&farswap_state_lock);

	if (!slab_may_become(slab->state, state))
		return false;
	if (slab->state == FARSWAP_SLAB_UNMAPPED)
		slab->device->busy++;
	if (state == FARSWAP_SLAB_UNMAPPED) {
		slab->device->busy--;
		WRITE_ONCE(slab->strayed, false);
	}
	trace_farswap_slab_state(slab->device->type, slab->index,
				 slab_state_names[slab->state],
				 slab_state_names[state]);
	WRITE_ONCE(slab->state, state);
	return true;
}

/**
 * farswap_slab_set_state() - change the state of a slab
 * @slab:	the slab
 * @state:	a state that may follow its present one
 *
 * This is the only function that writes slab->state.
 *
 * Context: process context, under farswap_state_lock.
 * Return: false, with nothing changed, if @state may not follow.
 */
bool farswap_slab_set_state(struct farswap_slab *slab,
			    enum farswap_slab_state state)
{
	return !WARN_ON_ONCE(!slab_become(slab, state));
}

/**
 * farswap_slab_state_name() - get the name of a slab's state, as debugfs prints it
 * @slab:	a slab
 *
 * Return: the name of its state.
 */
const char *farswap_slab_state_name(const struct farswap_slab *slab)
{
	static_assert(ARRAY_SIZE(slab_state_names) == FARSWAP_SLAB_STATES);

	return slab_state_names[READ_ONCE(slab->state)];
}

/**
 * farswap_slab_map_start() - queue the work that maps a slab
 * @slab:	a slab that has become FARSWAP_SLAB_MAPPING
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_slab_map_start(struct farswap_slab *slab)
{
	lockdep_assert_held(&farswap_state_lock);
	queue_work(slab_map_wq, &slab->map_work);
}

/**
 * farswap_slab_want() - start to map a slab, unless it must not or cannot be mapped now
 * @slab:	the slab
 *
 * Context: process context; does not sleep.
 */
void farswap_slab_want(struct farswap_slab *slab)
{
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_UNMAPPED ||
	    time_before(jiffies, READ_ONCE(slab->retry_at)) ||
	    !farswap_donors_live() || !farswap_device_writable(slab->device))
		return;

	spin_lock(&farswap_state_lock);
	/* Queue it under the lock: a cancel_work() after the state change would drop the work. */
	if (slab->state == FARSWAP_SLAB_UNMAPPED && !slab->device->closing &&
	    farswap_may_store() && farswap_slab_set_state(slab, FARSWAP_SLAB_MAPPING)) {
		slab->wanted_ns = ktime_get_ns();
		farswap_slab_map_start(slab);
	}
	spin_unlock(&farswap_state_lock);
}

static struct farswap_slab *slab_alloc(struct farswap_device *device, unsigned int index)
{
	struct farswap_slab *slab;

	slab = kzalloc(sizeof(*slab), GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!slab)
		return NULL;
	slab->device = device;
	slab->index = index;
	slab->nr_slots = 1U << device->map->shift;
	slab->slot_shift = PAGE_SHIFT;
	slab->retry_at = jiffies;
	slab->large_at = jiffies;
	slab->activity.second = farswap_slab_second();
	INIT_WORK(&slab->map_work, slab_works->map);
	INIT_WORK(&slab->evacuate_work, slab_works->evacuate);
	INIT_WORK(&slab->repair_work, slab_works->repair);
	INIT_WORK(&slab->refill_work, slab_works->refill);
	INIT_WORK(&slab->rebuild_work, slab_works->rebuild);
	return slab;
}

/**
 * farswap_slab_make() - create the slab of a slot
 * @device:	the slot's device
 * @offset:	the slot's swap offset; the slot is in use
 *
 * Context: any; does not wait for memory.
 * Return: the slab, perhaps one that another task has created first; or NULL if @offset is past
 * the device's end, or there is no memory now.
 */
struct farswap_slab *farswap_slab_make(struct farswap_device *device, pgoff_t offset)
{
	struct farswap_slabmap *map = device->map;
	struct farswap_slab *slab, *first;

	if (offset >= map->nr_slots)
		return NULL;
	slab = slab_alloc(device, farswap_slabmap_place(map, offset) >> map->shift);
	if (!slab)
		return NULL;
	first = farswap_slabmap_insert(map, slab->index, slab);
	if (first != slab)
		kfree(slab);
	return first;
}

/*
 * Returns the pages to be added to the activity of a slab now. A CPU adds the first pages of a
 * second at once, so that the activity of a slab that is not busy is exact, and the others in
 * batches, since the line of the activity would go from CPU to CPU with each. Less than a batch
 * is lost if slabs share a place or a task is preempted, which barely changes a moving average.
 */
static unsigned int slab_batch_add(const struct farswap_slab *slab, u32 second, int pages)
{
	struct slab_batch *batch = raw_cpu_ptr(&slab_batches[hash_ptr(slab, SLAB_BATCHES_BITS)]);
	int old = READ_ONCE(batch->pages), now;

	if (READ_ONCE(batch->slab) != slab || READ_ONCE(batch->second) != second) {
		if (READ_ONCE(batch->slab) == slab)
			pages += max(old, 0);
		WRITE_ONCE(batch->slab, slab);
		WRITE_ONCE(batch->second, second);
		now = pages - SLAB_EXACT;
	} else {
		now = old + pages;
		if (old >= 0 && now < SLAB_BATCH)
			pages = 0;
		else if (old >= 0)
			pages = now;
	}
	if (pages)
		now = min(now, 0);
	WRITE_ONCE(batch->pages, now);
	return pages;
}

/**
 * farswap_slab_make_packed() - create one more packed slab
 * @device:	the device
 *
 * Context: process context; does not wait for memory.
 * Return: the slab, perhaps one that another task has created; or NULL if there are too many, or
 * there is no memory now.
 */
struct farswap_slab *farswap_slab_make_packed(struct farswap_device *device)
{
	unsigned int nr = READ_ONCE(device->nr_packs);
	unsigned long index = device->map->nr_linear + nr;
	struct farswap_slab *slab, *first;

	if (index >= device->map->nr_slabs)
		return NULL;
	slab = slab_alloc(device, index);
	if (!slab)
		return NULL;
	slab->nr_slots <<= FARSWAP_UNITS_SHIFT;
	slab->slot_shift = FARSWAP_UNIT_SHIFT;
	slab->pack = farswap_pack_alloc();
	if (!slab->pack) {
		kfree(slab);
		return NULL;
	}
	first = farswap_slabmap_insert(device->map, index, slab);
	if (first != slab) {
		farswap_pack_free(slab);
		kfree(slab);
	}
	/* Pairs with nothing but the dependency: the slab is in the map before it is counted. */
	smp_store_release(&device->nr_packs, nr + 1);
	return first;
}

/**
 * farswap_slab_may_pack() - count a page I/O, and check whether the page may be packed
 * @slab:	the slab that contains the page's slot
 *
 * The late binding of farswap_slab_account() holds for packed pages too, but a packed slab is
 * mapped for them instead of @slab.
 *
 * Context: process context; does not sleep.
 * Return: true if the slab is mapped, or was hot once.
 */
bool farswap_slab_may_pack(struct farswap_slab *slab)
{
	u32 second = farswap_slab_second();

	farswap_activity_account(&slab->activity, second, 1);
	if (!READ_ONCE(slab->was_hot) &&
	    (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED ||
	     farswap_activity_is_hot(&slab->activity, second,
				     READ_ONCE(farswap_settings.hotslab))))
		WRITE_ONCE(slab->was_hot, true);
	return READ_ONCE(slab->was_hot);
}

/**
 * farswap_slab_account() - count page I/Os, and map the slab if it is hot
 * @slab:	the slab
 * @pages:	number of pages
 *
 * This is the late binding of Infiniswap, section 4.1: a slab is mapped when its activity
 * crosses hotslab.
 *
 * Context: process context; does not sleep.
 */
void farswap_slab_account(struct farswap_slab *slab, unsigned int pages)
{
	bool unmapped = READ_ONCE(slab->state) == FARSWAP_SLAB_UNMAPPED;
	u32 second = farswap_slab_second();

	/* The first page that makes a slab hot counts. */
	if (!unmapped)
		pages = slab_batch_add(slab, second, pages);
	if (!pages)
		return;
	farswap_activity_account(&slab->activity, second, pages);
	if (unmapped &&
	    farswap_activity_is_hot(&slab->activity, second,
				    READ_ONCE(farswap_settings.hotslab)))
		farswap_slab_want(slab);
}

/**
 * farswap_slab_ahead() - map the next slab while a store fills this one
 * @slab:	a slab that is mapped or being mapped
 * @slot:	the first slot stored
 * @nr:		number of slots
 *
 * The kernel hands out slots in the order of slabs, so the next slab will be used soon, and
 * until it is mapped its pages go to the device alone. A store checks the next slab once for
 * each eighth of a slab.
 *
 * Context: process context; does not sleep.
 */
void farswap_slab_ahead(struct farswap_slab *slab, unsigned int slot, unsigned int nr)
{
	unsigned int step = slab->nr_slots / SLAB_AHEAD_STEPS;
	struct farswap_slab *next;

	if (round_up(max(slot, 1U), step) >= slot + nr)
		return;
	next = farswap_slab_lookup(slab->device,
				   farswap_slabmap_next(slab->device->map, slab->index), &slot);
	if (next)
		farswap_slab_want(next);
}

/**
 * farswap_slab_zero() - check whether a slot is in the kernel's zero map
 * @slab:	the slot's slab
 * @slot:	the slot
 *
 * The kernel keeps a zero page as a bit only and may not notify farswap of it, so the slot's
 * bits may be stale.
 *
 * Context: as farswap_device_slot().
 * Return: true if it is.
 */
bool farswap_slab_zero(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_device_slot(slab->device, farswap_slab_offset(slab, slot)) &
	       FARSWAP_SLOT_ZERO;
}

/**
 * farswap_slabs_free() - free the slabs of a device
 * @device:	a device without I/O, and without any other user
 *
 * Context: may sleep.
 */
void farswap_slabs_free(struct farswap_device *device)
{
	struct farswap_slab *slab;
	unsigned long i;

	for (i = 0; i < device->map->nr_slabs; i++) {
		slab = device->map->slab[i];
		if (!slab)
			continue;
		/* No queue is flushed here: farswap_rebuild_cancel() and the drain see to it. */
		farswap_assert(slab->state == FARSWAP_SLAB_UNMAPPED &&
			       !work_pending(&slab->map_work) &&
			       !work_pending(&slab->rebuild_work));
		farswap_slotbits_free(&slab->bits);
		farswap_pack_free(slab);
		kfree(slab);
	}
}

/**
 * farswap_slab_init() - create the workqueue that maps slabs
 * @works:	the functions of a slab's works
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_slab_init(const struct farswap_slab_works *works)
{
	slab_works = works;
	slab_map_wq = alloc_workqueue("farswap_map", WQ_MEM_RECLAIM | WQ_UNBOUND,
				      4);
	return slab_map_wq ? 0 : -ENOMEM;
}

/**
 * farswap_slab_exit() - undo farswap_slab_init()
 */
void farswap_slab_exit(void)
{
	destroy_workqueue(slab_map_wq);
}

/*
 * Swap devices: the table of those that farswap serves, and the place of a slot on the block
 * device.
 *
 * Locking: farswap_devices_lock covers changes of the table; readers use RCU. It is held for
 * as long as a device or a donor takes. A task that only walks the devices therefore takes
 * farswap_devices_walk_lock, which keeps the entries in place.
 */

/* Covers changes of the table below, and of the slabs of a device. */
DEFINE_MUTEX(farswap_devices_lock);
/* Keeps the entries of the table in place for tasks that only walk it. */
DEFINE_MUTEX(farswap_devices_walk_lock);

struct farswap_device __rcu *farswap_devices[MAX_SWAPFILES];

/**
 * farswap_device_next() - iterate over the devices
 * @type:	position of the iteration; 0 at first
 *
 * Context: under farswap_devices_lock or farswap_devices_walk_lock.
 * Return: the next device, or NULL after the last one.
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
 * farswap_device_sector() - get the place of a slot on the block device
 * @device:	a device
 * @offset:	swap offset of a slot in use
 *
 * It does the same as the kernel's swap_folio_sector(), which is not exported.
 *
 * Context: any; the slot in use keeps the extents in place.
 * Return: the sector on the block device, in units of 512 bytes; -1 if there is none.
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
	/* In swapoff si->max may already be smaller than the slab map. */
	return offset < device->map->nr_slots && offset < data_race(device->si->max);
}

/**
 * farswap_device_slot() - get the kernel's flags of a slot
 * @device:	the device
 * @offset:	the slot's swap offset
 *
 * The flags change under a lock of the kernel that is not held here, so they are only a hint
 * unless the caller holds the slot.
 *
 * Context: under farswap_devices_lock or farswap_devices_walk_lock, in a work that swapoff waits
 * for, or with the slot in use.
 * Return: flags of enum farswap_slot_flags; 0 for a free slot.
 */
unsigned int farswap_device_slot(const struct farswap_device *device, pgoff_t offset)
{
	return device_has_slot(device, offset) ? farswap_hook_slot(device->si, offset) : 0;
}

/**
 * farswap_device_keep() - have the kernel store a page again whose copies are lost
 * @device:	the device
 * @offset:	the slot's swap offset
 *
 * Context: as farswap_device_slot(), but not in interrupts.
 * Return: true if the page is in memory or nobody needs it; false if the page is lost.
 */
bool farswap_device_keep(const struct farswap_device *device, pgoff_t offset)
{
	return device_has_slot(device, offset) && farswap_hook_keep(device->si, offset);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/slab-kunit.h"
#endif
