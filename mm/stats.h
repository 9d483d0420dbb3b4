/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters. Each counts pages, unless its description says events.
 */
#ifndef _FARSWAP_STATS_H
#define _FARSWAP_STATS_H

#include <linux/percpu.h>

struct seq_file;

/*
 * Each counter is X(NAME, name): its enumerator, and its name in debugfs. The guide describes
 * them for users, in the same order.
 */
#define FARSWAP_COUNTERS(X)									\
	/* Pages written to a region; confirmed */						\
	X(STORE_REMOTE, store_remote)								\
	/* Remote pages that were compressed */						\
	X(STORE_PACKED, store_packed)								\
	/* Remote pages not compressed: larger than half a page, skipped, or no memory */	\
	X(STORE_RAW, store_raw)									\
	/* Stored or promoted pages not attempted, as pages nearby did not compress */		\
	X(COMPRESS_SKIPPED, compress_skipped)							\
	/* Remote pages stored uncompressed to their own slab although compress is on */	\
	X(STORE_UNPACKED, store_unpacked)							\
	/* Pages left to the kernel's own device write; the next eight are its causes */	\
	X(STORE_DEVICE, store_device)								\
	/* enabled is 0, or farswap is detaching or about to suspend */				\
	X(STORE_DISABLED, store_disabled)							\
	/* The policy of the page's cgroup refuses it */					\
	X(STORE_DENIED, store_denied)								\
	/* The slab is not mapped, or its donor is suspect */					\
	X(STORE_NO_SLAB, store_no_slab)								\
	/* The donor's window is full, or the slot's previous contents are being written */	\
	X(STORE_BUSY, store_busy)								\
	/* All requests are in use */								\
	X(STORE_NO_REQUEST, store_no_request)							\
	/* There is no memory for the slab itself */						\
	X(STORE_NO_MEMORY, store_no_memory)							\
	/* The page's memory is bad, so it can't be copied */					\
	X(STORE_UNREADABLE, store_unreadable)							\
	/* No bounce page or tag was free, so the page can't be protected */			\
	X(STORE_UNSEALED, store_unsealed)							\
	/* The transport refused the write; the page is on the device */			\
	X(STORE_REFUSED, store_refused)								\
	/* The remote write failed or timed out; the page is on the device */			\
	X(STORE_WRITE_FAILED, store_write_failed)						\
	/* The device write failed; the page stays dirty in memory */				\
	X(STORE_DEVICE_FAILED, store_device_failed)						\
	/* No staging page was free for the cgroup; the store waited for the device */		\
	X(STORE_UNSTAGED, store_unstaged)							\
	/* Pages written to some of their slab's regions, but not to all */			\
	X(STORE_PARTIAL, store_partial)								\
	/* Stores that waited for room in a donor's window (events) */				\
	X(STORE_WAITED, store_waited)								\
	/* Stores that used the window's room for faults (events) */				\
	X(STORE_IN_FAULT, store_in_fault)							\
	/* Pages written to the device from a staging page */					\
	X(BACKUP_WRITTEN, backup_written)							\
	/* Staged pages whose slot was freed or stored to before they were written */		\
	X(BACKUP_SPARED, backup_spared)								\
	/* Pages whose slot was freed or stored to during their device write */			\
	X(BACKUP_STALE, backup_stale)								\
	/* Device writes of staged pages that failed */						\
	X(BACKUP_FAILED, backup_failed)								\
	/* Pages read from a region in order to write them to the device */			\
	X(FETCHED, fetched)									\
	/* Pages migrated from a region that is given back to another region */			\
	X(MOVED, moved)										\
	/* Pages copied to a replica that did not have them */					\
	X(REPAIRED, repaired)									\
	/* Pages of a slab that lost its donor, copied from the device to the new region */	\
	X(REBUILT, rebuilt)									\
	/* Pages copied from a packed slab with few pages to another packed slab */		\
	X(REPACKED, repacked)									\
	/* Pages read from a region */								\
	X(LOAD_REMOTE, load_remote)								\
	/* Pages read from a region that were decompressed */					\
	X(LOAD_UNPACKED, load_unpacked)								\
	/* Pages read from a region that did not decompress; their READ counts as failed */	\
	X(LOAD_BAD, load_bad)									\
	/* Pages read from a region that are not as stored; their READ counts as failed */	\
	X(LOAD_ALTERED, load_altered)								\
	/* Pages copied from a staging page */							\
	X(LOAD_STAGED, load_staged)								\
	/* Pages without a remote copy; read by the kernel */					\
	X(LOAD_DEVICE, load_device)								\
	/* Pages whose remote copy could not be read; read by the kernel */			\
	X(LOAD_FALLBACK, load_fallback)								\
	/* Loads that waited for a suspect donor with the only copy (events) */			\
	X(LOAD_WAITED, load_waited)								\
	/* Remote reads that took long, and were repeated elsewhere (events) */			\
	X(LOAD_HEDGED, load_hedged)								\
	/* Pages read by such a second read, because it was first or the only good one */	\
	X(LOAD_HEDGE_WON, load_hedge_won)							\
	/* Pages read by the kernel from the device, because their donor is slow */		\
	X(LOAD_AVOIDED, load_avoided)								\
	/* Large folios that were not swapped in as a whole (events) */				\
	X(LOAD_SPLIT, load_split)								\
	/* Pages with no readable copy; the reader got an error */				\
	X(LOAD_LOST, load_lost)									\
	/* Pages whose only copy was lost with its donor */					\
	X(LOST, lost)										\
	/* Pages written to a region after a load from the device */				\
	X(PROMOTED, promoted)									\
	/* Pages prefetched by the trend of faults */						\
	X(PREFETCHED, prefetched)								\
	/* Prefetched pages that the next fault of their stream accessed */			\
	X(PREFETCH_USED, prefetch_used)								\
	/* Prefetched pages that were not accessed until then */				\
	X(PREFETCH_UNUSED, prefetch_unused)							\
	/* Faults whose page arrived while they spun (events) */				\
	X(WAIT_POLLED, wait_polled)								\
	/* Faults that slept until their page arrived (events) */				\
	X(WAIT_SLEPT, wait_slept)								\
	/*											\
	 * Remote copies dropped because their slot was freed or, where the kernel notifies	\
	 * farswap, became a slot of the zero map						\
	 */											\
	X(FREED, freed)										\
	/* Remote copies dropped because zswap took a newer page */				\
	X(ZSWAP_ACCEPTED, zswap_accepted)							\
	/* Slabs mapped (events, like all counters below) */					\
	X(SLAB_MAPPED, slab_mapped)								\
	/* Slabs given back because their donor evicted them */					\
	X(SLAB_EVICTED, slab_evicted)								\
	/* Evicted slabs that migrated to another donor at once */				\
	X(SLAB_MOVED, slab_moved)								\
	/* Slabs lost with their donor, or revoked by it */					\
	X(SLAB_LOST, slab_lost)									\
	/* Slabs given back because they were empty or cold */					\
	X(SLAB_COLD, slab_cold)									\
	/* Slabs whose region went to a hotter slab because no donor had room */		\
	X(SLAB_GAVE_WAY, slab_gave_way)								\
	/* Slabs that gave way and became hot again soon */					\
	X(SLAB_WANTED_BACK, slab_wanted_back)							\
	/*											\
	 * Slabs given back by a detach, a pause or the end of a session; each mapped		\
	 * slab ends as evicted, lost, cold, unmapped or gave way				\
	 */											\
	X(SLAB_UNMAPPED, slab_unmapped)								\
	/* Further regions of mapped slabs that were added */					\
	X(REPLICA_MAPPED, replica_mapped)							\
	/* Regions lost of slabs that have another region */					\
	X(REPLICA_LOST, replica_lost)								\
	/* Regions given back of slabs that have another region */				\
	X(REPLICA_LEFT, replica_left)								\
	/* Temporary replicas added because none of a slab's donors could be reached */		\
	X(STOPGAP, stopgap)									\
	/* Attempts to map a slab that failed */						\
	X(MAP_FAILED, map_failed)								\
	/*											\
	 * Attempts to add a replica that failed because each donor that was left is on a	\
	 * machine that has one already								\
	 */											\
	X(MAP_SAME_MACHINE, map_same_machine)							\
	/* Sessions that came up */								\
	X(DONOR_UP, donor_up)									\
	/* Sessions that failed */								\
	X(DONOR_DOWN, donor_down)								\
	/* Donors whose reads became ten times as slow as another donor's */			\
	X(DONOR_SLOW, donor_slow)

#define FARSWAP_COUNTER_ENUM(_NAME, _name)	FARSWAP_STAT_##_NAME,

/* The enumerators of the counters. */
enum farswap_stat {
	FARSWAP_COUNTERS(FARSWAP_COUNTER_ENUM)
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

unsigned long farswap_stat_sum(enum farswap_stat stat);
int farswap_stats_show(struct seq_file *m, void *v);

#endif /* _FARSWAP_STATS_H */
