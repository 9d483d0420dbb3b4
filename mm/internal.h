/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core's own types, and its prototypes by the file that defines them.
 *
 * Lock order, outermost first:
 *
 * farswap_main_lock		attach, detach, the donors line
 *   settings_lock		numbers that are set, and telling the transport of them
 *   farswap_devices_lock	swap devices coming and going
 *     farswap_devices_walk_lock	the same, for who only looks at all of them
 *       farswap_state_lock	the state of every donor and every slab
 *
 * farswap_devices_lock is taken under the kernel's swapon_mutex and inode
 * locks, so nothing under it waits for a swapon or swapoff. farswap_state_lock
 * is a spinlock of process context, never held over anything that sleeps.
 * Stores and loads take it only to start a mapping; invalidation takes none.
 */
#ifndef _FARSWAP_INTERNAL_H
#define _FARSWAP_INTERNAL_H

#include <linux/farswap-transport.h>
#include <linux/jiffies.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "slab/activity.h"
#include "backup/backup.h"
#include "donor/donor.h"
#include "migrate/giveway.h"
#include "latency.h"
#include "slab/mapping.h"
#include "settings.h"
#include "slab/slabmap.h"

struct seq_file;
struct farswap_fanout;
struct farswap_mover;

extern struct mutex farswap_main_lock;
extern spinlock_t farswap_state_lock;

/* What I/O may need to end. */
extern struct workqueue_struct *farswap_wq;

/* stats.c */

/**
 * enum farswap_stat - what is counted; pages unless the name says otherwise
 * @FARSWAP_STAT_STORE_REMOTE:	in a region, confirmed
 * @FARSWAP_STAT_STORE_DEVICE:	left to the kernel's own device write; the next
 *				six are its causes
 * @FARSWAP_STAT_STORE_DISABLED:	enabled=0, detaching, or about to suspend
 * @FARSWAP_STAT_STORE_NO_SLAB:	the slab is not mapped, or its donor suspect
 * @FARSWAP_STAT_STORE_BUSY:	too much is being written to the donor already, or just
 *				what the slot held before
 * @FARSWAP_STAT_STORE_NO_REQUEST:	every request is in use
 * @FARSWAP_STAT_STORE_NO_MEMORY:	no memory for the slab itself
 * @FARSWAP_STAT_STORE_UNREADABLE:	the page's memory is bad: it can't be copied
 * @FARSWAP_STAT_STORE_REFUSED:	the transport refused the write; on the device
 * @FARSWAP_STAT_STORE_WRITE_FAILED:	the remote write failed, or came too late; on the device
 * @FARSWAP_STAT_STORE_DEVICE_FAILED: the device write failed; kept dirty in memory
 * @FARSWAP_STAT_STORE_UNSTAGED: no staging page was free for its cgroup; waited for the device too
 * @FARSWAP_STAT_STORE_PARTIAL:	in some of their slab's regions, but not in all
 * @FARSWAP_STAT_STORE_WAITED:	waits for room beside what is written to a donor (events)
 * @FARSWAP_STAT_STORE_IN_FAULT:	times that a store had the room of faults (events)
 * @FARSWAP_STAT_BACKUP_WRITTEN: on the device, from a staging page
 * @FARSWAP_STAT_BACKUP_SPARED:	staged, and freed or stored anew before it was written
 * @FARSWAP_STAT_BACKUP_STALE:	freed or stored anew while the device wrote them
 * @FARSWAP_STAT_BACKUP_FAILED:	the device write of a staging page failed
 * @FARSWAP_STAT_FETCHED:	read from a region, for the device to have it
 * @FARSWAP_STAT_MOVED:		copied from a region that is given back to another
 * @FARSWAP_STAT_REPAIRED:	copied to a replica that did not have them
 * @FARSWAP_STAT_REBUILT:	of a slab whose donor died: read from the device, and written
 *				to its new region
 * @FARSWAP_STAT_LOAD_REMOTE:	read from a region
 * @FARSWAP_STAT_LOAD_STAGED:	copied from a staging page
 * @FARSWAP_STAT_LOAD_DEVICE:	no remote copy; read by the kernel
 * @FARSWAP_STAT_LOAD_FALLBACK:	the remote copy could not be read; left to the kernel
 * @FARSWAP_STAT_LOAD_WAITED:	waits for a suspect donor that has the only copy (events)
 * @FARSWAP_STAT_LOAD_SPLIT:	large folios that could not be read as a whole (events)
 * @FARSWAP_STAT_LOAD_LOST:		no copy could be read; the reader got an error
 * @FARSWAP_STAT_LOST:		pages whose only copy went with its donor
 * @FARSWAP_STAT_PROMOTED:	written to a region after a load from the device
 * @FARSWAP_STAT_PREFETCHED:	read ahead of faults, by their trend
 * @FARSWAP_STAT_PREFETCH_USED:	those accessed by the next fault of their stream
 * @FARSWAP_STAT_PREFETCH_UNUSED: those not accessed until then
 * @FARSWAP_STAT_WAIT_POLLED:	faults whose page came while they spun (events)
 * @FARSWAP_STAT_WAIT_SLEPT:		faults that slept for their page (events)
 * @FARSWAP_STAT_FREED:		remote copies dropped with their slot, or, where the kernel
 *				calls farswap, as the slot became one of the zero map's
 * @FARSWAP_STAT_ZSWAP_ACCEPTED:	remote copies dropped as zswap took a newer one
 * @FARSWAP_STAT_SLAB_MAPPED:	slabs mapped (events, as all below)
 * @FARSWAP_STAT_SLAB_EVICTED:	slabs given back as their donor asked
 * @FARSWAP_STAT_SLAB_MOVED:	those of them that went to another donor at once
 * @FARSWAP_STAT_SLAB_LOST:		slabs lost with their donor, or that it took alone
 * @FARSWAP_STAT_SLAB_COLD:		slabs given back as they held no page or were cold
 * @FARSWAP_STAT_SLAB_GAVE_WAY:	slabs whose region went over to a hotter one as no donor had
 *				room
 * @FARSWAP_STAT_SLAB_WANTED_BACK: those of them that were wanted again soon
 * @FARSWAP_STAT_SLAB_UNMAPPED:	slabs given back as we leave; mapped slabs end
 *				evicted, lost, cold, unmapped or give way
 * @FARSWAP_STAT_REPLICA_MAPPED:	further regions of mapped slabs that came
 * @FARSWAP_STAT_REPLICA_LOST:	regions lost of slabs that have another
 * @FARSWAP_STAT_REPLICA_LEFT:	such regions given back
 * @FARSWAP_STAT_STOPGAP:	those that came as no donor of the slab's could be reached
 * @FARSWAP_STAT_MAP_FAILED:		attempts to map a slab that failed
 * @FARSWAP_STAT_MAP_SAME_MACHINE:	attempts to get a slab one more region that failed though
 *				a donor was left, on a machine that has one already
 * @FARSWAP_STAT_DONOR_UP:		sessions begun
 * @FARSWAP_STAT_DONOR_DOWN:		sessions that failed
 * @FARSWAP_STATS:		how many there are
 */
enum farswap_stat {
	FARSWAP_STAT_STORE_REMOTE,
	FARSWAP_STAT_STORE_DEVICE,
	FARSWAP_STAT_STORE_DISABLED,
	FARSWAP_STAT_STORE_NO_SLAB,
	FARSWAP_STAT_STORE_BUSY,
	FARSWAP_STAT_STORE_NO_REQUEST,
	FARSWAP_STAT_STORE_NO_MEMORY,
	FARSWAP_STAT_STORE_UNREADABLE,
	FARSWAP_STAT_STORE_REFUSED,
	FARSWAP_STAT_STORE_WRITE_FAILED,
	FARSWAP_STAT_STORE_DEVICE_FAILED,
	FARSWAP_STAT_STORE_UNSTAGED,
	FARSWAP_STAT_STORE_PARTIAL,
	FARSWAP_STAT_STORE_WAITED,
	FARSWAP_STAT_STORE_IN_FAULT,
	FARSWAP_STAT_BACKUP_WRITTEN,
	FARSWAP_STAT_BACKUP_SPARED,
	FARSWAP_STAT_BACKUP_STALE,
	FARSWAP_STAT_BACKUP_FAILED,
	FARSWAP_STAT_FETCHED,
	FARSWAP_STAT_MOVED,
	FARSWAP_STAT_REPAIRED,
	FARSWAP_STAT_REBUILT,
	FARSWAP_STAT_LOAD_REMOTE,
	FARSWAP_STAT_LOAD_STAGED,
	FARSWAP_STAT_LOAD_DEVICE,
	FARSWAP_STAT_LOAD_FALLBACK,
	FARSWAP_STAT_LOAD_WAITED,
	FARSWAP_STAT_LOAD_SPLIT,
	FARSWAP_STAT_LOAD_LOST,
	FARSWAP_STAT_LOST,
	FARSWAP_STAT_PROMOTED,
	FARSWAP_STAT_PREFETCHED,
	FARSWAP_STAT_PREFETCH_USED,
	FARSWAP_STAT_PREFETCH_UNUSED,
	FARSWAP_STAT_WAIT_POLLED,
	FARSWAP_STAT_WAIT_SLEPT,
	FARSWAP_STAT_FREED,
	FARSWAP_STAT_ZSWAP_ACCEPTED,
	FARSWAP_STAT_SLAB_MAPPED,
	FARSWAP_STAT_SLAB_EVICTED,
	FARSWAP_STAT_SLAB_MOVED,
	FARSWAP_STAT_SLAB_LOST,
	FARSWAP_STAT_SLAB_COLD,
	FARSWAP_STAT_SLAB_GAVE_WAY,
	FARSWAP_STAT_SLAB_WANTED_BACK,
	FARSWAP_STAT_SLAB_UNMAPPED,
	FARSWAP_STAT_REPLICA_MAPPED,
	FARSWAP_STAT_REPLICA_LOST,
	FARSWAP_STAT_REPLICA_LEFT,
	FARSWAP_STAT_STOPGAP,
	FARSWAP_STAT_MAP_FAILED,
	FARSWAP_STAT_MAP_SAME_MACHINE,
	FARSWAP_STAT_DONOR_UP,
	FARSWAP_STAT_DONOR_DOWN,
	FARSWAP_STATS,
};

struct farswap_stats {
	unsigned long count[FARSWAP_STATS];
};

DECLARE_PER_CPU(struct farswap_stats, farswap_stats);

static inline void farswap_stat_add(enum farswap_stat stat, unsigned long n)
{
	this_cpu_add(farswap_stats.count[stat], n);
}

int farswap_stats_show(struct seq_file *m, void *v);

/* debugfs.c */
void farswap_debugfs_init(void);
void farswap_debugfs_exit(void);

/* main.c */
int farswap_power_init(void);
void farswap_power_exit(void);

/* state.c */
extern atomic_t farswap_pauses;
bool farswap_attached(void);
void farswap_attached_set(bool attached);
void farswap_zswap_note(void);
bool farswap_zswap_seen(void);

/**
 * farswap_may_store() - may pages be stored remotely, and slabs mapped
 *
 * Context: any.
 * Return: whether they may.
 */
static inline bool farswap_may_store(void)
{
	return READ_ONCE(farswap_settings.enabled) && !atomic_read(&farswap_pauses);
}

/* main.c */
int farswap_pause(void);
void farswap_resume(void);
int farswap_attach(void);
int farswap_detach(void);

/* donor/donor.c */
extern struct work_struct farswap_transport_work;

const struct farswap_transport *farswap_transport_get(void);
void farswap_transport_put(const struct farswap_transport *transport);

/* slab/slab.c */

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

/* swapon.c */
int farswap_devices_flush(void);
unsigned long farswap_devices_stranded(void);
void farswap_devices_remove(void);

/* slab.c */

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

/* slab/guard.c */
extern unsigned int farswap_guard_copying;
bool __farswap_guard_copy_excludes(const struct farswap_mapping *to, unsigned int slot,
				   unsigned int nr);

/**
 * farswap_guard_copy_excludes() - must a store leave a mapping out
 * @to:		the mapping
 * @slot:	the first slot, without the remote bit
 * @nr:		how many
 *
 * Context: process context; does not sleep.
 * Return: whether one of the slots is being copied there.
 */
static inline bool farswap_guard_copy_excludes(const struct farswap_mapping *to,
					       unsigned int slot, unsigned int nr)
{
	/* Pairs with farswap_guard_copy_end(). */
	return unlikely(smp_load_acquire(&farswap_guard_copying)) &&
	       __farswap_guard_copy_excludes(to, slot, nr);
}

bool farswap_guard_rebuild_excludes(const struct farswap_slab *slab, unsigned int slot,
				    unsigned int nr);

/* tags.c */

/**
 * struct farswap_tags - requests by number, of which some are in flight
 * @lock:	of @free
 * @free:	bit mask of those that are not
 * @all:	those there are
 * @ended:	a request has
 */
struct farswap_tags {
	spinlock_t lock;	/* of @free */
	unsigned long free;
	unsigned long all;
	wait_queue_head_t ended;
};

void farswap_tags_init(struct farswap_tags *tags, unsigned int nr);
unsigned int farswap_tags_get(struct farswap_tags *tags);
void farswap_tags_put(struct farswap_tags *tags, unsigned int tag);
void farswap_tags_wait(struct farswap_tags *tags);

/* mover.c */
struct farswap_mover *farswap_mover_alloc(unsigned int nr_slots);
void farswap_mover_free(struct farswap_mover *mover);
unsigned int farswap_mover_start(struct farswap_mover *mover,
				 struct farswap_mapping *from,
				 struct farswap_mapping *to, unsigned int slot,
				 unsigned int nr);
void farswap_mover_wait(struct farswap_mover *mover);
bool farswap_mover_failed(const struct farswap_mover *mover);
unsigned long *farswap_mover_moved(struct farswap_mover *mover);

/* copy.c */
bool farswap_copy_is_wanted(const struct farswap_mapping *to, bool sole);
void farswap_copy(struct farswap_mapping *to, struct farswap_mapping *from,
		  unsigned int mb, bool sole);
void farswap_copy_rest(unsigned int nr, unsigned int mb, ktime_t begun);

/* rebuild.c */
int farswap_rebuild_init(void);
void farswap_rebuild_exit(void);
void farswap_rebuild_want(struct farswap_slab *slab);
void farswap_rebuild_look(struct farswap_slab *slab);
void farswap_rebuild_work(struct work_struct *work);
void farswap_rebuild_cancel(struct farswap_device *device);

/* replica.c */
int farswap_replica_init(void);
void farswap_replica_exit(void);
unsigned int farswap_replicas_wanted(void);
void farswap_replica_add(struct farswap_slab *slab, unsigned int wanted,
			 unsigned long until);
void farswap_replica_look(struct farswap_slab *slab);
void farswap_replica_work(struct work_struct *work);
void farswap_replica_refill_work(struct work_struct *work);

/* migrate/map.c */
struct farswap_mapping *farswap_mapping_make(struct farswap_slab *slab, unsigned long until,
					     unsigned int *epoch);
bool farswap_mapping_link(struct farswap_mapping *mapping, unsigned int epoch);
void farswap_slab_map_work(struct work_struct *work);
void farswap_slab_map_cancel(struct farswap_slab *slab);

/* sessions.c */
void farswap_donors_init(void);
void farswap_donors_exit(void);
int farswap_donors_set(const char *line);
void farswap_donors_open(void);
void farswap_donors_close(void);

/* migrate/unmap.c */
void farswap_drain_start(struct farswap_slab *slab,
			 enum farswap_slab_state state, enum farswap_stat why);
void farswap_drain_kill(struct farswap_slab *slab);
bool farswap_drain_end(struct farswap_mapping *mapping);
bool farswap_drain_would_lose(const struct farswap_mapping *mapping);
void farswap_drain_remove(struct farswap_mapping *mapping);
void farswap_drain_count_removed(struct farswap_mapping *mapping);
bool farswap_drain_is_one_of_several(const struct farswap_mapping *mapping);
bool farswap_drain_is_only(const struct farswap_mapping *mapping, unsigned int slot);
void farswap_drain_report_lost(const struct farswap_mapping *mapping,
			       unsigned int lost);
void farswap_drain_wake(void);
int farswap_slabs_unmap(struct farswap_device *device,
			struct farswap_donor *donor);
void farswap_slabs_lose(struct farswap_donor *donor);
void farswap_slabs_count_lost(struct farswap_donor *donor);
void farswap_slabs_lose_one(struct farswap_donor *donor, u64 id);
u32 farswap_slab_activity(struct farswap_donor *donor, u64 id);

/* migrate/evacuate.c */
void farswap_eviction_init(struct farswap_mapping *mapping);
void farswap_eviction_exit(struct farswap_mapping *mapping);
void farswap_eviction_early(struct farswap_donor *donor, u64 id);
void farswap_eviction_begin(struct farswap_donor *donor, u64 id, u32 deadline_ms);
void farswap_eviction_suspend(struct farswap_mapping *mapping);
bool farswap_eviction_was_early(const struct farswap_mapping *mapping);
bool farswap_eviction_is_near(const struct farswap_mapping *mapping);

/* migrate/evacuate.c */
int farswap_leave_init(void);
void farswap_leave_exit(void);
void farswap_leave_start(struct farswap_slab *slab, bool evicted);
void farswap_leave_hurry(struct farswap_slab *slab);
void farswap_leave_work(struct work_struct *work);
void farswap_leave_mapping_start(struct farswap_mapping *mapping,
				 unsigned long until);
void farswap_leave_mapping_work(struct work_struct *work);
void farswap_leave_fetch_work(struct work_struct *work);

/* migrate/evacuate-fetch.c */
int farswap_home_init(void);
void farswap_home_exit(void);
int farswap_home_probe(struct farswap_device *device);
bool farswap_home_is_starved(const struct farswap_donor *donor);
void farswap_home_fetch(struct farswap_mapping *mapping);
int farswap_home_back_up(struct farswap_mapping *mapping, unsigned int *first);

/* handover.c */
void farswap_handover_look(struct farswap_giveway_pair *pair, struct farswap_slab *slab);
void farswap_handover_begin(const struct farswap_giveway_pair *pair);
bool farswap_handover_end(struct farswap_mapping *mapping);
struct farswap_donor *farswap_handover_take(struct farswap_slab *slab,
					    struct farswap_region **region,
					    unsigned int *epoch);
void farswap_handover_drop(struct farswap_slab *slab);
void farswap_handover_wait(struct farswap_slab *slab);

/* sweep.c */
void farswap_sweep_start(void);
void farswap_sweep_soon(void);
void farswap_sweep_stop(void);

/* store.c */
void farswap_store_written(struct farswap_fanout *fanout);
int farswap_store_init(void);
void farswap_store_exit(void);

/* prefetch.c */
int farswap_prefetch_init(void);
void farswap_prefetch_exit(void);

/* io/load.c */

/**
 * enum farswap_remote - how a page would be loaded
 * @FARSWAP_REMOTE_NOT:		from the swap device, or from a staging page
 * @FARSWAP_REMOTE_NOW:		from a donor that answers
 * @FARSWAP_REMOTE_LATER:	from a suspect donor, which has the only copy
 */
enum farswap_remote {
	FARSWAP_REMOTE_NOT,
	FARSWAP_REMOTE_NOW,
	FARSWAP_REMOTE_LATER,
};

enum farswap_remote farswap_remote_of(swp_entry_t entry);

/* load.c, poll.c */
int farswap_load_init(void);
void farswap_load_flush(void);
void farswap_load_work(struct work_struct *work);
void farswap_load_kick(struct farswap_donor *donor);
void farswap_load_cancel(struct farswap_donor *donor);
void farswap_poll_learn(int cpu, u32 ns);
void farswap_load_exit(void);

/* promote.c */
int farswap_promote_init(void);
void farswap_promote_exit(void);
void farswap_promote_flush(void);
void farswap_promote(struct folio *folio);

#endif /* _FARSWAP_INTERNAL_H */
