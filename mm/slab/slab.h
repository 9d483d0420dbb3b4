/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Swap devices, and the slabs that contain their slots.
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
#include "slab/pack.h"
#include "slab/protect.h"
#include "slab/slabmap.h"

/**
 * struct farswap_device - a swap device that farswap serves
 * @si:		the kernel's structure of the device
 * @map:	its slabs
 * @places:	the places of its compressed pages, or NULL: none is compressed
 * @protect:	the protection of its pages, or NULL: they are sent as they are
 * @backups:	its pending backup writes
 * @owners:	a byte for each slot, see slab/cgroup.c; NULL until there is a policy
 * @type:	its swap type
 * @busy:	number of its slabs that are not unmapped, and of its mappings;
 *		farswap_state_lock
 * @closing:	its slabs are not mapped any more; farswap_state_lock
 * @nr_packs:	number of its packed slabs
 * @pack_open:	the packed slab that takes the next page of each class
 * @pack_full_until: time until which no room for a class is searched, jiffies
 * @pack_look_at: time of the next look whether another packed slab is needed, jiffies
 * @repack_work: empties a packed slab that has few objects
 *
 * Readers find it under RCU. A slot in use (a folio of the swap cache that is locked or under
 * writeback, or a reference on @si) keeps the device and its slabs without RCU: swapoff ends
 * only after the last of those.
 */
struct farswap_device {
	struct swap_info_struct *si;
	struct farswap_slabmap *map;
	struct farswap_places *places;
	struct farswap_protect *protect;
	struct farswap_backups backups;
	u8 *owners;
	unsigned int type;
	unsigned int busy;
	bool closing;
	unsigned int nr_packs;
	unsigned int pack_open[FARSWAP_CLASSES];
	unsigned long pack_full_until[FARSWAP_CLASSES];
	unsigned long pack_look_at;
	struct work_struct repack_work;
};

extern struct mutex farswap_devices_lock;
extern struct mutex farswap_devices_walk_lock;
extern struct farswap_device __rcu *farswap_devices[MAX_SWAPFILES];

/**
 * farswap_device_writable() - check whether the kernel pages out to a device
 * @device:	the device
 *
 * The result is only a hint: swapoff may begin at any time.
 *
 * Return: false before swapon has ended and after swapoff has begun.
 */
static inline bool farswap_device_writable(const struct farswap_device *device)
{
	/* The race is harmless: farswap_swapoff() closes the device. */
	return data_race(device->si->flags) & SWP_WRITEOK;
}

/**
 * farswap_device_find() - find the device of a swap type
 * @type:	the swap type
 *
 * Context: under rcu_read_lock(), farswap_devices_lock or farswap_devices_walk_lock, or with a
 * slot of the type in use.
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
 * enum farswap_slab_state - states of a slab
 * @FARSWAP_SLAB_UNMAPPED:	it has no region
 * @FARSWAP_SLAB_MAPPING:	a worker looks for a donor
 * @FARSWAP_SLAB_MAPPED:	it has a region; I/O starts in this state only
 * @FARSWAP_SLAB_DRAINING:	its region is given back once its pages are saved and its last I/O
 *				has ended
 * @FARSWAP_SLAB_LOST:		its region is gone, but some of its I/O has not ended
 * @FARSWAP_SLAB_STATES:	number of states
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
 * @bits:	the location of each slot's copies; allocated when the slab is first mapped
 * @mapping:	its regions, in any of the places. Each region has every slot with the remote
 *		bit, except those that are in its missing bitmap. Written under
 *		farswap_state_lock, readers use RCU
 * @device:	the device that it is a part of
 * @index:	its place in the device's slab map
 * @nr_slots:	number of its slots
 * @pack:	what a packed slab has in addition; NULL: its slots are pages
 * @slot_shift:	log2 of the bytes of a slot in the region
 * @was_hot:	its activity has crossed hotslab, so its pages may be packed; written without a lock
 * @state:	written by farswap_slab_set_state() under farswap_state_lock
 * @sole:	it may hold pages that the device does not have
 * @stopgap:	number of mappings it had when it got a temporary replica, because none of their
 *		donors could be reached; 0 if it has no temporary replica; farswap_state_lock
 * @rebuilds:	passes of rebuild.c that are left after the slab was lost or got a temporary
 *		replica: they copy pages from the device to the region; farswap_state_lock
 * @nr_evacuating:	mappings whose evacuate_work has not ended; written under farswap_state_lock
 * @nr_uncounted: mappings already removed whose lost pages have not been counted; written under
 *		farswap_state_lock
 * @uncounted:	these mappings; removed under farswap_state_lock and unmap_mutex, readers use RCU
 * @generation:	changes whenever @mapping does; written under farswap_state_lock
 * @failures:	attempts to map it that failed, in a row
 * @no_room:	no donor had room for it at the last attempt; farswap_state_lock
 * @idle_looks:	scans of sweep.c that found it mapped but unused, in a row;
 *		farswap_state_lock
 * @retry_at:	no attempt to map it starts before this time, jiffies
 * @repair_at:	no attempt to add a replica starts before this time, jiffies
 * @rebuild_at:	the next of @rebuilds does not start before this time, jiffies
 * @strayed:	pages were stored to the device while it was mapped or being mapped; written
 *		without a lock
 * @stray_at:	time of the last of these stores, jiffies; valid if @strayed
 * @large_at:	no large-folio swap-in is attempted before this time, jiffies
 * @mapped_at:	when it last became FARSWAP_SLAB_MAPPED, jiffies
 * @gave:	when it last gave way to another slab; farswap_state_lock
 * @heir:	the slab to which it gives way now; farswap_state_lock
 * @handed_donor: donor of a region that another slab handed over, in use, or NULL; valid while
 *		the slab is FARSWAP_SLAB_MAPPING
 * @handed_region: that region; valid if @handed_donor
 * @handed_epoch: epoch of @handed_donor when the region was handed over
 * @wanted_ns:	when it last became FARSWAP_SLAB_MAPPING, ns
 * @map_work:	looks for a donor
 * @evacuate_work:	fetches pages before the last mapping ends
 * @repair_work: adds the replicas that the slab lacks, and copies to them the pages that the
 *		device does not have
 * @refill_work: copies to its replicas the other pages that they miss
 * @rebuild_work: copies pages from the device to its region
 * @activity:	moving average of its page I/Os; it changes with them, while the fields above rarely
 *		change, so it has a cache line of its own
 */
struct farswap_slab {
	struct farswap_slotbits bits;
	struct farswap_mapping __rcu *mapping[FARSWAP_REPLICAS_MAX];
	struct farswap_device *device;
	unsigned int index;
	unsigned int nr_slots;
	struct farswap_pack *pack;
	u8 slot_shift;
	bool was_hot;
	u8 state;
	u8 failures;
	u8 idle_looks;
	bool sole;
	bool strayed;
	bool no_room;
	u8 stopgap;
	u8 rebuilds;
	unsigned int nr_evacuating;
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
	struct work_struct evacuate_work;
	struct work_struct repair_work;
	struct work_struct refill_work;
	struct work_struct rebuild_work;
	struct farswap_average activity ____cacheline_aligned_in_smp;
};

/**
 * struct farswap_slab_works - functions of a slab's works, which are in higher layers
 * @map:	function of its map_work
 * @evacuate:	function of its evacuate_work
 * @repair:	function of its repair_work
 * @refill:	function of its refill_work
 * @rebuild:	function of its rebuild_work
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
struct farswap_slab *farswap_slab_make_packed(struct farswap_device *device);
void farswap_slab_want(struct farswap_slab *slab);
void farswap_slab_account(struct farswap_slab *slab, unsigned int pages);
bool farswap_slab_may_pack(struct farswap_slab *slab);
void farswap_slab_ahead(struct farswap_slab *slab, unsigned int slot, unsigned int nr);
void farswap_slabs_free(struct farswap_device *device);
const char *farswap_slab_state_name(const struct farswap_slab *slab);
bool farswap_slab_set_state(struct farswap_slab *slab,
			    enum farswap_slab_state state);
void farswap_slab_map_start(struct farswap_slab *slab);
bool farswap_slab_zero(const struct farswap_slab *slab, unsigned int slot);

/**
 * farswap_slab_lookup() - find the slab of a slot, or create it
 * @device:	the slot's device
 * @offset:	the slot's swap offset; the slot is in use
 * @slot:	set to the slot's place in the slab
 *
 * Context: any; does not wait for memory.
 * Return: the slab; or NULL if @offset is past the device's end, or there is no memory now.
 */
static inline struct farswap_slab *
farswap_slab_lookup(struct farswap_device *device, pgoff_t offset, unsigned int *slot)
{
	struct farswap_slab *slab = farswap_slabmap_find(device->map, offset, slot);

	return likely(slab) ? slab : farswap_slab_make(device, offset);
}

/* Returns the swap offset of a slab's slot; it is past the device's end if there is no slot. */
static inline pgoff_t farswap_slab_offset(const struct farswap_slab *slab, unsigned int slot)
{
	if (farswap_packs_used() && slab->pack)
		return farswap_pack_offset(slab, slot);
	return farswap_slabmap_offset(slab->device->map, slab->index, slot);
}

/* Returns the number under which the seal of a slab's page is found; as farswap_slab_offset(). */
static inline unsigned long farswap_slab_seal(const struct farswap_slab *slab, unsigned int slot)
{
	return farswap_protect_page(slab->device->protect, farswap_slab_offset(slab, slot),
				    slab->pack);
}

/**
 * farswap_slab_has_bits() - check whether a slab was ever mapped
 * @slab:	the slab
 *
 * The slab's bits must not be accessed otherwise.
 *
 * Context: any.
 * Return: true if it was.
 */
static inline bool farswap_slab_has_bits(const struct farswap_slab *slab)
{
	/*
	 * The read of bits.remote comes before all accesses to the bits. Pairs with the release
	 * in farswap_slotbits_alloc(), which publishes bits.remote after initialising the bits.
	 */
	return smp_load_acquire(&slab->bits.remote);
}

/* Returns the time in seconds that activities are measured in; it wraps. */
static inline u32 farswap_slab_second(void)
{
	return jiffies / HZ;
}

/**
 * farswap_slab_bytes() - get the room that slots take up in a region
 * @slab:	the slab
 * @nr:		number of slots
 *
 * The slots of a region have equal sizes and no gaps.
 *
 * Context: any.
 * Return: number of bytes; also the offset of the slot @nr.
 */
static inline u32 farswap_slab_bytes(const struct farswap_slab *slab, unsigned int nr)
{
	return nr << slab->slot_shift;
}

/**
 * farswap_slab_pages() - get the number of pages that slots take up in a region
 * @slab:	the slab
 * @nr:		number of slots
 *
 * Context: any.
 * Return: number of pages, rounded up.
 */
static inline unsigned int farswap_slab_pages(const struct farswap_slab *slab, unsigned int nr)
{
	return DIV_ROUND_UP(nr, 1U << (PAGE_SHIFT - slab->slot_shift));
}

/**
 * farswap_slab_starts() - check whether a page begins at a slot
 * @slab:	a slab with bitmaps
 * @slot:	a slot
 *
 * Context: any; a hint while the page can be stored or freed.
 * Return: false if the slot is a unit of a packed slab, but not the first one of a page.
 */
static inline bool farswap_slab_starts(const struct farswap_slab *slab, unsigned int slot)
{
	return !slab->pack || farswap_packmap_starts(slab->pack->map, slot);
}

/**
 * farswap_slab_io() - describe an I/O of consecutive slots
 * @slab:	the slab
 * @io:		the I/O; its @done remains to be set
 * @op:		the direction
 * @page:	the first of the pages, which are contiguous
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: any.
 */
static inline void farswap_slab_io(const struct farswap_slab *slab, struct farswap_io *io,
				   enum farswap_io_op op, struct page *page,
				   unsigned int slot, unsigned int nr)
{
	io->op = op;
	io->page = page;
	io->offset = farswap_slab_bytes(slab, slot);
	io->length = farswap_slab_bytes(slab, nr);
	io->urgent = false;
}

/**
 * farswap_mapping_place() - get the place of a mapping in its slab
 * @mapping:	a mapping
 *
 * Context: as farswap_mapping_is_slabs().
 * Return: a bit mask with one bit, or 0 if the mapping is not one of its slab's.
 */
static inline unsigned int farswap_mapping_place(const struct farswap_mapping *mapping)
{
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		if (rcu_access_pointer(mapping->slab->mapping[nth]) == mapping)
			return BIT(nth);
	return 0;
}

/**
 * farswap_mapping_is_slabs() - check whether a mapping is one of its slab's
 * @mapping:	a mapping
 *
 * Context: under farswap_state_lock; without it, false may already be outdated.
 * Return: true if it is; false if it was not added yet, or is removed.
 */
static inline bool farswap_mapping_is_slabs(const struct farswap_mapping *mapping)
{
	return farswap_mapping_place(mapping);
}

/**
 * farswap_mapping_note_altered() - note that a region returned a page that is not the one stored
 * @mapping:	the mapping of the region
 *
 * The seals of a slab may be freed or change once it does not have the mapping any more; then the
 * donor is not the cause.
 *
 * Context: any up to softirq.
 */
static inline void farswap_mapping_note_altered(const struct farswap_mapping *mapping)
{
	/*
	 * The read of the seal comes before the read of slab->mapping[]. Pairs with the lock in
	 * farswap_unmap_end(), which removes the mapping before the seals are freed.
	 */
	smp_rmb();
	if (farswap_mapping_is_slabs(mapping))
		farswap_donor_note_altered(mapping->donor);
}

#endif /* _FARSWAP_SLAB_H */
