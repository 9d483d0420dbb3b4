/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core's own types, and its prototypes by the file that defines them.
 *
 * Lock order, outermost first:
 *
 * farswap_main_lock		attach, detach, the donors line
 *   farswap_devices_lock	swap devices coming and going
 *     farswap_state_lock	the state of every donor and every slab
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
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "activity.h"
#include "settings.h"
#include "slabmap.h"

struct seq_file;
struct farswap_donor;

extern struct mutex farswap_main_lock;
extern spinlock_t farswap_state_lock;

/* What I/O may need to end. */
extern struct workqueue_struct *farswap_wq;

/* stats.c */

/**
 * enum farswap_stat - what is counted; pages unless the name says otherwise
 * @FARSWAP_STAT_STORE_REMOTE:	in a region and on the device, both confirmed
 * @FARSWAP_STAT_STORE_DEVICE:	left to the kernel's own device write; the next
 *				five are its causes
 * @FARSWAP_STAT_STORE_DISABLED:	enabled=0, detaching, or about to suspend
 * @FARSWAP_STAT_STORE_NO_SLAB:	the slab is not mapped
 * @FARSWAP_STAT_STORE_BUSY:	too much is being written to the donor already
 * @FARSWAP_STAT_STORE_NO_REQUEST:	every request is in use
 * @FARSWAP_STAT_STORE_NO_MEMORY:	no memory for the slab itself
 * @FARSWAP_STAT_STORE_REFUSED:	the transport refused the write; on the device
 * @FARSWAP_STAT_STORE_WRITE_FAILED:	the remote write failed; on the device
 * @FARSWAP_STAT_STORE_DEVICE_FAILED: the device write failed; kept dirty in memory
 * @FARSWAP_STAT_LOAD_REMOTE:	read from a region
 * @FARSWAP_STAT_LOAD_DEVICE:	no remote copy; read by the kernel
 * @FARSWAP_STAT_LOAD_FALLBACK:	the remote copy could not be read; left to the kernel
 * @FARSWAP_STAT_LOAD_LOST:		no copy could be read; the reader got an error
 * @FARSWAP_STAT_PROMOTED:	written to a region after a load from the device
 * @FARSWAP_STAT_WAIT_POLLED:	faults whose page came while they spun (events)
 * @FARSWAP_STAT_WAIT_SLEPT:		faults that slept for their page (events)
 * @FARSWAP_STAT_FREED:		remote copies dropped with their slot
 * @FARSWAP_STAT_ZSWAP_ACCEPTED:	remote copies dropped as zswap took a newer one
 * @FARSWAP_STAT_SLAB_MAPPED:	slabs mapped (events, as all below)
 * @FARSWAP_STAT_SLAB_EVICTED:	slabs given back as their donor asked
 * @FARSWAP_STAT_SLAB_LOST:		slabs lost with their donor
 * @FARSWAP_STAT_SLAB_COLD:		slabs given back as they held no page or were cold
 * @FARSWAP_STAT_SLAB_UNMAPPED:	slabs given back as we leave; mapped slabs end in
 *				one of these four ways
 * @FARSWAP_STAT_MAP_FAILED:		attempts to map a slab that failed
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
	FARSWAP_STAT_STORE_REFUSED,
	FARSWAP_STAT_STORE_WRITE_FAILED,
	FARSWAP_STAT_STORE_DEVICE_FAILED,
	FARSWAP_STAT_LOAD_REMOTE,
	FARSWAP_STAT_LOAD_DEVICE,
	FARSWAP_STAT_LOAD_FALLBACK,
	FARSWAP_STAT_LOAD_LOST,
	FARSWAP_STAT_PROMOTED,
	FARSWAP_STAT_WAIT_POLLED,
	FARSWAP_STAT_WAIT_SLEPT,
	FARSWAP_STAT_FREED,
	FARSWAP_STAT_ZSWAP_ACCEPTED,
	FARSWAP_STAT_SLAB_MAPPED,
	FARSWAP_STAT_SLAB_EVICTED,
	FARSWAP_STAT_SLAB_LOST,
	FARSWAP_STAT_SLAB_COLD,
	FARSWAP_STAT_SLAB_UNMAPPED,
	FARSWAP_STAT_MAP_FAILED,
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

/* latency.c */

/**
 * enum farswap_latency - what is timed, from submission to completion
 * @FARSWAP_LATENCY_LOAD_URGENT: remote reads of the fault's own page
 * @FARSWAP_LATENCY_LOAD:	all remote reads
 * @FARSWAP_LATENCY_STORE:	remote writes
 * @FARSWAP_LATENCY_DEVICE:	the device writes beside them
 * @FARSWAP_LATENCIES:		how many there are
 */
enum farswap_latency {
	FARSWAP_LATENCY_LOAD_URGENT,
	FARSWAP_LATENCY_LOAD,
	FARSWAP_LATENCY_STORE,
	FARSWAP_LATENCY_DEVICE,
	FARSWAP_LATENCIES,
};

int farswap_latency_init(void);
void farswap_latency_exit(void);
void farswap_latency_add(enum farswap_latency what, u64 ns);
int farswap_latency_show(struct seq_file *m, void *v);

/* debugfs.c */
void farswap_debugfs_init(void);
void farswap_debugfs_exit(void);

/* power.c */
int farswap_power_init(void);
void farswap_power_exit(void);

/* main.c */
bool farswap_may_store(void);
void farswap_pause(void);
void farswap_resume(void);
bool farswap_attached(void);
int farswap_attach(void);
int farswap_detach(void);

/* transport.c */
const struct farswap_transport *farswap_transport_get(void);
void farswap_transport_put(const struct farswap_transport *transport);

/* device.c */

/**
 * struct farswap_device - a swap device that farswap serves
 * @si:		the kernel's
 * @map:	its slabs
 * @type:	its swap type
 * @busy:	slabs of it that are not unmapped; farswap_state_lock
 * @closing:	no slab is mapped any more; farswap_state_lock
 *
 * Found under RCU. A slot in use (a locked or written back folio of the swap
 * cache, or a reference on @si) keeps the device and its slabs in being without
 * it, since swapoff ends only after the last of those.
 */
struct farswap_device {
	struct swap_info_struct *si;
	struct farswap_slabmap *map;
	unsigned int type;
	unsigned int busy;
	bool closing;
};

extern struct mutex farswap_devices_lock;

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

struct farswap_device *farswap_device_find(unsigned int type);
struct farswap_device *farswap_device_next(unsigned int *type);
sector_t farswap_device_sector(const struct farswap_device *device,
			       pgoff_t offset);
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
 * struct farswap_slab - consecutive slots of a swap device
 * @ref:	I/O in flight; live while the slab is mapped. Initialised with @bits.
 * @bits:	where each slot's copies are; none until the slab is first mapped
 * @region:	the donor's memory; constant while a reference on @ref is held
 * @donor:	the same for the donor
 * @activity:	how busy the slab is
 * @device:	what it is a part of
 * @index:	its place there
 * @nr_slots:	its size
 * @state:	written by farswap_slab_set_state() under farswap_state_lock
 * @failures:	attempts to map it that failed, in a row
 * @idle_looks:	of sweep.c that found it mapped and of no use, in a row;
 *		farswap_state_lock
 * @retry_at:	jiffies before which it isn't tried again
 * @donor_entry: in the donor's list; farswap_state_lock
 * @map_work:	finds a donor
 * @drain_work:	ends the mapping, once @ref is gone
 */
struct farswap_slab {
	struct percpu_ref ref;
	struct farswap_slotbits bits;
	struct farswap_region *region;
	struct farswap_donor *donor;
	struct farswap_activity activity;
	struct farswap_device *device;
	unsigned int index;
	unsigned int nr_slots;
	u8 state;
	u8 failures;
	u8 idle_looks;
	unsigned long retry_at;
	struct list_head donor_entry;
	struct work_struct map_work;
	struct work_struct drain_work;
};

int farswap_slab_init(void);
void farswap_slab_exit(void);
struct farswap_slab *farswap_slab_lookup(struct farswap_device *device,
					 pgoff_t offset);
void farswap_slab_account(struct farswap_slab *slab, unsigned int pages);
void farswap_slab_ahead(struct farswap_slab *slab, unsigned int slot);
bool farswap_slab_get(struct farswap_slab *slab);
void farswap_slab_put(struct farswap_slab *slab);
bool farswap_slab_has_bits(struct farswap_slab *slab);
void farswap_slabs_free(struct farswap_device *device);
const char *farswap_slab_state_name(const struct farswap_slab *slab);
bool farswap_slab_set_state(struct farswap_slab *slab,
			    enum farswap_slab_state state);
void farswap_slab_map_cancel(struct farswap_slab *slab);

/* The clock of activities. */
static inline u32 farswap_slab_second(void)
{
	return jiffies / HZ;
}

/* drain.c */
void farswap_drain_start(struct farswap_slab *slab,
			 enum farswap_slab_state state, enum farswap_stat why);
void farswap_drain_release(struct percpu_ref *ref);
void farswap_drain_work(struct work_struct *work);
void farswap_drain_wake(void);
void farswap_slabs_unmap(struct farswap_device *device,
			 struct farswap_donor *donor);
void farswap_slabs_lose(struct farswap_donor *donor);
void farswap_slab_evict(struct farswap_donor *donor, u64 id);
u32 farswap_slab_activity(struct farswap_donor *donor, u64 id);

/* sweep.c */
void farswap_sweep_start(void);
void farswap_sweep_stop(void);

/* window.c */

/**
 * struct farswap_window - what is being written to a donor
 * @pages:	how many pages
 * @stalled:	somebody waited in vain since a write ended last
 * @room:	who waits until there are fewer
 */
struct farswap_window {
	atomic_t pages;
	bool stalled;
	wait_queue_head_t room;
};

void farswap_window_init(struct farswap_window *window);
bool farswap_window_try(struct farswap_window *window, unsigned int pages);
bool farswap_window_enter(struct farswap_window *window, unsigned int pages);
void farswap_window_leave(struct farswap_window *window, unsigned int pages);

/* donor.c */

/* Donors the donors line may name. */
#define FARSWAP_DONORS_MAX	64
/* EVICTs that may overtake the answer to MAP; a donor has no more under way. */
#define FARSWAP_EARLY_EVICTS	16U

/**
 * enum farswap_donor_state - the life of a donor
 * @FARSWAP_DONOR_CONNECTING:	no session at present; the transport tries
 * @FARSWAP_DONOR_LIVE:		usable
 * @FARSWAP_DONOR_LEAVING:	taken off the donors line, or farswap detaches
 * @FARSWAP_DONOR_STATES:	how many there are
 */
enum farswap_donor_state {
	FARSWAP_DONOR_CONNECTING,
	FARSWAP_DONOR_LIVE,
	FARSWAP_DONOR_LEAVING,
	FARSWAP_DONOR_STATES,
};

/**
 * struct farswap_donor - a machine that lends us memory
 * @ref:	the list, each mapped slab and each user hold one
 * @entry:	in the list of donors
 * @transport:	how it is reached
 * @session:	the transport's; NULL until opened
 * @state:	written by donor_set_state()
 * @epoch:	changes with each session that begins, ends or can't be made; a region
 *		of an earlier one is dead
 * @users:	workers that use @session now
 * @peer:	who answered last
 * @slabs:	what it holds for us
 * @nr_slabs:	how many these are
 * @free_bytes:	its last answer to QUERY_MEM
 * @up:	there is a session, though perhaps another address of the same
 *		daemon is used
 * @downs:	sessions with it that failed
 * @down_at:	when the last one did, jiffies
 * @last_error:	how the last attempt or session failed, -errno; 0 since the donor
 *		answered
 * @window:	what is being written to it
 * @early:	regions it wanted back last that no slab held, a ring
 * @nr_early:	how many there were in this session
 * @address:	as in the donors line
 *
 * All but @ref, @transport, @window and @address under farswap_state_lock.
 */
struct farswap_donor {
	struct kref ref;
	struct list_head entry;
	const struct farswap_transport *transport;
	struct farswap_session *session;
	enum farswap_donor_state state;
	unsigned int epoch;
	unsigned int users;
	struct farswap_peer peer;
	struct list_head slabs;
	unsigned int nr_slabs;
	u64 free_bytes;
	bool up;
	unsigned int downs;
	unsigned long down_at;
	int last_error;
	struct farswap_window window;
	u64 early[FARSWAP_EARLY_EVICTS];
	unsigned int nr_early;
	char address[];
};

void farswap_donor_init(void);
struct farswap_donor *farswap_donor_alloc(const char *address);
void farswap_donor_put(struct farswap_donor *donor);
int farswap_donor_open(struct farswap_donor *donor);
void farswap_donor_close(struct farswap_donor *donor);
bool farswap_donor_use(struct farswap_donor *donor);
void farswap_donor_unuse(struct farswap_donor *donor);
const char *farswap_donor_state_name(const struct farswap_donor *donor);
bool farswap_donors_live(void);

/* donor-list.c */

/**
 * struct farswap_donor_use - a live donor that is in use
 * @donor:	the donor
 * @epoch:	its session
 * @slabs:	what it held for us
 * @shaky:	a session with it failed lately
 */
struct farswap_donor_use {
	struct farswap_donor *donor;
	unsigned int epoch;
	unsigned int slabs;
	bool shaky;
};

void farswap_donors_init(void);
void farswap_donors_exit(void);
int farswap_donors_check(const char *line);
int farswap_donors_set(const char *line);
int farswap_donors_show(char *buf);
void farswap_donors_open(void);
void farswap_donors_close(void);
void farswap_donors_set_io_timeout(unsigned int ms);
void farswap_donors_retry(void);
struct farswap_donor *farswap_donors_find_live(const struct farswap_peer *peer);
struct farswap_donor *farswap_donors_find_spare(const struct farswap_peer *peer);
int farswap_donors_use(struct farswap_donor_use *use);
int farswap_donors_seq_show(struct seq_file *m, void *v);

/* choice.c */
struct farswap_donor *farswap_donor_map(u64 slab, u64 slab_bytes,
					struct farswap_region **region,
					unsigned int *epoch);

/* store.c */
int farswap_store_init(void);
void farswap_store_exit(void);

/* load.c */
int farswap_load_init(void);
void farswap_load_exit(void);

/* promote.c */
int farswap_promote_init(void);
void farswap_promote_exit(void);
void farswap_promote_flush(void);
void farswap_promote(struct folio *folio);
void farswap_promote_zswap(void);

#endif /* _FARSWAP_INTERNAL_H */
