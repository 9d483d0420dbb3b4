// SPDX-License-Identifier: GPL-2.0
/*
 * A slab, and how it is mapped when it is hot. Which donor is asked is migrate/select.c's
 * and placement.c's affair, how the mapping ends is migrate/unmap.c's; the I/O itself is
 * in store.c and load.c.
 *
 * Locking: farswap_state_lock covers states and lists. I/O holds a reference on the
 * slab's mapping.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/farswap.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <trace/events/farswap.h>

#include "internal.h"

/* Looks ahead while a slab is filled. */
#define SLAB_AHEAD_STEPS	8

/* Waits for donors, so nothing that an I/O needs may run on it. */
static struct workqueue_struct *slab_map_wq;

static const struct farswap_slab_works *slab_works;

static const char *const slab_state_names[] = {
	[FARSWAP_SLAB_UNMAPPED]	= "unmapped",
	[FARSWAP_SLAB_MAPPING]	= "mapping",
	[FARSWAP_SLAB_MAPPED]	= "mapped",
	[FARSWAP_SLAB_DRAINING]	= "draining",
	[FARSWAP_SLAB_LOST]	= "lost",
};

/* From the row's state to which others. */
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

/* False, with nothing changed, if @state may not follow. */
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
 * farswap_slab_set_state() - the only writer of slab->state
 * @slab:	the slab
 * @state:	one that may follow on its present state
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
 * farswap_slab_state_name() - for people
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
 * farswap_slab_map_start() - map a slab
 * @slab:	one that has become FARSWAP_SLAB_MAPPING
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_slab_map_start(struct farswap_slab *slab)
{
	lockdep_assert_held(&farswap_state_lock);
	queue_work(slab_map_wq, &slab->map_work);
}

/* Have the slab mapped, unless there is a reason not to. */
static void slab_want(struct farswap_slab *slab)
{
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_UNMAPPED ||
	    time_before(jiffies, READ_ONCE(slab->retry_at)) ||
	    !farswap_donors_live() || !farswap_device_writable(slab->device))
		return;

	spin_lock(&farswap_state_lock);
	/* Queued under the lock: a cancel_work() in between would swallow it. */
	if (slab->state == FARSWAP_SLAB_UNMAPPED && !slab->device->closing &&
	    farswap_may_store() && farswap_slab_set_state(slab, FARSWAP_SLAB_MAPPING)) {
		slab->wanted_ns = ktime_get_ns();
		farswap_slab_map_start(slab);
	}
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_slab_make() - make the slab of a slot that has none yet
 * @device:	the slot's
 * @offset:	the slot's, in use
 *
 * Context: any; does not wait for memory.
 * Return: the slab, which somebody else may have made; or NULL: past the device's end, or no
 * memory just now.
 */
struct farswap_slab *farswap_slab_make(struct farswap_device *device, pgoff_t offset)
{
	struct farswap_slabmap *map = device->map;
	struct farswap_slab *slab, *first;

	if (offset >= map->nr_slots)
		return NULL;
	slab = kzalloc(sizeof(*slab), GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!slab)
		return NULL;
	slab->device = device;
	slab->index = farswap_slabmap_place(map, offset) >> map->shift;
	slab->nr_slots = 1U << map->shift;
	slab->retry_at = jiffies;
	slab->large_at = jiffies;
	slab->activity.second = farswap_slab_second();
	INIT_WORK(&slab->map_work, slab_works->map);
	INIT_WORK(&slab->leave_work, slab_works->evacuate);
	INIT_WORK(&slab->repair_work, slab_works->repair);
	INIT_WORK(&slab->refill_work, slab_works->refill);
	INIT_WORK(&slab->rebuild_work, slab_works->rebuild);
	first = farswap_slabmap_insert(map, slab->index, slab);
	if (first != slab)
		kfree(slab);
	return first;
}

/**
 * farswap_slab_account() - count page I/Os, and map the slab if it is hot
 * @slab:	the slab
 * @pages:	how many
 *
 * Late binding, Infiniswap section 4.1: the crossing of hotslab is noticed as
 * it happens.
 *
 * Context: process context; does not sleep.
 */
void farswap_slab_account(struct farswap_slab *slab, unsigned int pages)
{
	u32 second = farswap_slab_second();

	farswap_activity_account(&slab->activity, second, pages);
	if (READ_ONCE(slab->state) == FARSWAP_SLAB_UNMAPPED &&
	    farswap_activity_is_hot(&slab->activity, second,
				    READ_ONCE(farswap_settings.hotslab)))
		slab_want(slab);
}

/**
 * farswap_slab_ahead() - a store has come this far: see to the next slab
 * @slab:	a slab that is mapped, or about to be
 * @slot:	the first slot stored
 * @nr:		how many
 *
 * Slabs follow each other in the order in which slots are handed out, so the next one
 * will be wanted, and until it is mapped its pages would go to the device alone. Looked
 * at once for each eighth of a slab.
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
		slab_want(next);
}

/**
 * farswap_slab_zero() - is a slot a zero page
 * @slab:	its slab
 * @slot:	the slot
 *
 * The kernel keeps those as a mark only and may tell nobody, so what is known of the slot
 * may be stale.
 *
 * Context: as farswap_device_slot().
 * Return: whether it is.
 */
bool farswap_slab_zero(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_device_slot(slab->device, farswap_slab_offset(slab, slot)) &
	       FARSWAP_SLOT_ZERO;
}

/**
 * farswap_slabs_free() - free the slabs of a device
 * @device:	a device on which nothing happens any more
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
		farswap_slotbits_free(&slab->bits);
		kfree(slab);
	}
}

/**
 * farswap_slab_init() - make what slabs need
 * @works:	what their works do
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
 * The swap devices that farswap serves: which they are, and where on the block
 * device a slot is. What is done with a slot is not known here.
 *
 * Locking: farswap_devices_lock covers changes of the table; readers use RCU. It is held
 * for as long as a device or a donor takes, so who only looks at all of them has
 * farswap_devices_walk_lock instead: it keeps in place what is there.
 */

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

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/slab-kunit.h"
#endif
