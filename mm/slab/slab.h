/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Swap devices, and the slabs that their slots are in.
 */
#ifndef _FARSWAP_SLAB_H
#define _FARSWAP_SLAB_H

#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "backup/backup.h"
#include "migrate/giveway.h"
#include "settings.h"
#include "slab/activity.h"
#include "slab/mapping.h"
#include "slab/slabmap.h"

/**
 * struct farswap_device - a swap device that farswap serves
 * @si:		the kernel's
 * @map:	its slabs
 * @backups:	the writes it is still owed
 * @type:	its swap type
 * @busy:	slabs of it that are being mapped, and mappings; farswap_state_lock
 * @closing:	no slab is mapped any more; farswap_state_lock
 *
 * Found under RCU. A slot in use (a locked or written back folio of the swap
 * cache, or a reference on @si) keeps the device and its slabs in being without
 * it, since swapoff ends only after the last of those.
 */
struct farswap_device {
	struct swap_info_struct *si;
	struct farswap_slabmap *map;
	struct farswap_backups backups;
	unsigned int type;
	unsigned int busy;
	bool closing;
};

extern struct mutex farswap_devices_lock;
extern struct mutex farswap_devices_walk_lock;
extern struct farswap_device __rcu *farswap_devices[MAX_SWAPFILES];

/**
 * farswap_device_writable() - does it take pages
 * @device:	the device
 *
 * Only a hint: swapoff may begin at any time.
 *
 * Return: false once swapoff has begun, or before swapon ended.
 */
static inline bool farswap_device_writable(const struct farswap_device *device)
{
	/* Nothing depends on it: the device is closed by farswap_swapoff(). */
	return data_race(device->si->flags) & SWP_WRITEOK;
}

/**
 * farswap_device_find() - the device of a swap type
 * @type:	the swap type
 *
 * Context: under rcu_read_lock(), one of the devices' two locks, or with a slot of the
 * type in use.
 * Return: the device, or NULL if farswap does not serve it.
 */
static inline struct farswap_device *farswap_device_find(unsigned int type)
{
	if (type >= MAX_SWAPFILES)
		return NULL;
	return rcu_dereference_raw(farswap_devices[type]);
}

struct farswap_device *farswap_device_next(unsigned int *type);
sector_t farswap_device_sector(const struct farswap_device *device,
			       pgoff_t offset);
unsigned int farswap_device_slot(const struct farswap_device *device, pgoff_t offset);
bool farswap_device_keep(const struct farswap_device *device, pgoff_t offset);

/**
 * enum farswap_slab_state - the life of a slab
 * @FARSWAP_SLAB_UNMAPPED:	has no region
 * @FARSWAP_SLAB_MAPPING:	a worker looks for a donor
 * @FARSWAP_SLAB_MAPPED:	has a region; the only state in which I/O begins
 * @FARSWAP_SLAB_DRAINING:	its last I/O ends, then the region goes back
 * @FARSWAP_SLAB_LOST:		its last I/O ends; the region is gone
 * @FARSWAP_SLAB_STATES:	how many there are
 */
enum farswap_slab_state {
	FARSWAP_SLAB_UNMAPPED,
	FARSWAP_SLAB_MAPPING,
	FARSWAP_SLAB_MAPPED,
	FARSWAP_SLAB_DRAINING,
	FARSWAP_SLAB_LOST,
	FARSWAP_SLAB_STATES,
};

/**
 * struct farswap_slab - slots of a swap device, in clusters
 * @bits:	where each slot's copies are; none until the slab is first mapped
 * @mapping:	its regions, in any of the places; a slot with the remote bit is in
 *		each of them that does not miss it. Written under farswap_state_lock,
 *		readers use RCU
 * @activity:	how busy the slab is
 * @device:	what it is a part of
 * @index:	its place there
 * @nr_slots:	its size
 * @state:	written by farswap_slab_set_state() under farswap_state_lock
 * @sole:	it may hold pages that the device does not have
 * @stopgap:	how many mappings it had when another came since no donor of theirs
 *		could be reached; 0: there is none such; farswap_state_lock
 * @rebuilds:	it was lost, or got that one, and is to get what the device has: passes of
 *		rebuild.c that are left; farswap_state_lock
 * @nr_leaving:	mappings whose leave_work has not ended; written under farswap_state_lock
 * @nr_uncounted: mappings already removed whose lost pages have not been counted; likewise
 * @uncounted:	these mappings; also removed under drain_mutex only, readers use RCU
 * @generation:	changes whenever @mapping does; likewise
 * @failures:	attempts to map it that failed, in a row
 * @no_room:	no donor had room for it when it was last tried; farswap_state_lock
 * @idle_looks:	of sweep.c that found it mapped and of no use, in a row;
 *		farswap_state_lock
 * @retry_at:	jiffies before which it isn't tried again
 * @repair_at:	jiffies before which no further replica is asked for
 * @rebuild_at:	jiffies before which the next of @rebuilds is not due
 * @strayed:	pages were stored to the device while it was mapped or about to be; written
 *		without a lock
 * @no_room:	no donor had room for it when it was last tried; farswap_state_lock
 * @idle_looks:	of sweep.c that found it mapped and of no use, in a row;
 *		farswap_state_lock
 * @retry_at:	jiffies before which it isn't tried again
 * @repair_at:	jiffies before which no further replica is asked for
 * @rebuild_at:	jiffies before which the next of @rebuilds is not due
 * @stray_at:	when the last page was stored to the device, jiffies; if @strayed
 * @large_at:	jiffies before which no large folio is read as a whole
 * @mapped_at:	when it last became FARSWAP_SLAB_MAPPED, jiffies
 * @gave:	when it last gave way to another slab; farswap_state_lock
 * @heir:	the slab to which it gives way now; farswap_state_lock
 * @handed_donor: while it is FARSWAP_SLAB_MAPPING: the donor of a region that another slab
 *		handed over, in use, or NULL
 * @handed_region: that region; if @handed_donor
 * @handed_epoch: @handed_donor's epoch then
 * @wanted_ns:	when it last became FARSWAP_SLAB_MAPPING
 * @map_work:	finds a donor
 * @leave_work:	fetches pages before the last mapping ends
 * @repair_work: gives it the replicas that it lacks, and those the pages that the device does not
 *		have
 * @refill_work: gives its replicas the other pages that they miss
 * @rebuild_work: gives it what the device has
 */
struct farswap_slab {
	struct farswap_slotbits bits;
	struct farswap_mapping __rcu *mapping[FARSWAP_REPLICAS_MAX];
	struct farswap_average activity;
	struct farswap_device *device;
	unsigned int index;
	unsigned int nr_slots;
	u8 state;
	u8 failures;
	u8 idle_looks;
	bool sole;
	bool strayed;
	bool no_room;
	u8 stopgap;
	u8 rebuilds;
	unsigned int nr_leaving;
	unsigned int nr_uncounted;
	struct hlist_head uncounted;
	unsigned int generation;
	unsigned long retry_at;
	unsigned long repair_at;
	unsigned long rebuild_at;
	unsigned long stray_at;
	unsigned long large_at;
	unsigned long mapped_at;
	struct farswap_giveway_past gave;
	struct farswap_slab *heir;
	struct farswap_donor *handed_donor;
	struct farswap_region *handed_region;
	unsigned int handed_epoch;
	u64 wanted_ns;
	struct work_struct map_work;
	struct work_struct leave_work;
	struct work_struct repair_work;
	struct work_struct refill_work;
	struct work_struct rebuild_work;
};

/**
 * struct farswap_slab_works - the functions of a slab's works, which are of higher layers
 * @map:	of its map_work
 * @evacuate:	of its leave_work
 * @repair:	of its repair_work
 * @refill:	of its refill_work
 * @rebuild:	of its rebuild_work
 */
struct farswap_slab_works {
	work_func_t map;
	work_func_t evacuate;
	work_func_t repair;
	work_func_t refill;
	work_func_t rebuild;
};

int farswap_slab_init(const struct farswap_slab_works *works);
void farswap_slab_exit(void);
struct farswap_slab *farswap_slab_make(struct farswap_device *device, pgoff_t offset);
void farswap_slab_account(struct farswap_slab *slab, unsigned int pages);
void farswap_slab_ahead(struct farswap_slab *slab, unsigned int slot, unsigned int nr);
void farswap_slabs_free(struct farswap_device *device);
const char *farswap_slab_state_name(const struct farswap_slab *slab);
bool farswap_slab_set_state(struct farswap_slab *slab,
			    enum farswap_slab_state state);
void farswap_slab_map_start(struct farswap_slab *slab);
bool farswap_slab_zero(const struct farswap_slab *slab, unsigned int slot);

/**
 * farswap_slab_lookup() - the slab of a slot, made if there is none yet
 * @device:	the slot's
 * @offset:	the slot's, in use
 * @slot:	is set to its place in the slab
 *
 * Context: any; does not wait for memory.
 * Return: the slab, or NULL: past the device's end, or no memory just now.
 */
static inline struct farswap_slab *
farswap_slab_lookup(struct farswap_device *device, pgoff_t offset, unsigned int *slot)
{
	struct farswap_slab *slab = farswap_slabmap_find(device->map, offset, slot);

	return likely(slab) ? slab : farswap_slab_make(device, offset);
}

/* The swap offset of a slab's slot; past the device's end where there is none. */
static inline pgoff_t farswap_slab_offset(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_slabmap_offset(slab->device->map, slab->index, slot);
}

/**
 * farswap_slab_has_bits() - was the slab ever mapped
 * @slab:	the slab
 *
 * Only then are its bits to be touched.
 *
 * Context: any.
 * Return: whether it was.
 */
static inline bool farswap_slab_has_bits(const struct farswap_slab *slab)
{
	/* Pairs with the release in farswap_slotbits_alloc(). */
	return smp_load_acquire(&slab->bits.remote);
}

/* The clock of activities. */
static inline u32 farswap_slab_second(void)
{
	return jiffies / HZ;
}

/**
 * farswap_mapping_is_slabs() - is it one of those its slab has
 * @mapping:	a mapping
 *
 * Context: under farswap_state_lock; without it, one that isn't may have been just before.
 * Return: whether it is; if not it comes or goes.
 */
static inline bool farswap_mapping_is_slabs(const struct farswap_mapping *mapping)
{
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		if (rcu_access_pointer(mapping->slab->mapping[nth]) == mapping)
			return true;
	return false;
}

#endif /* _FARSWAP_SLAB_H */
