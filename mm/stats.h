/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters. Pages unless the description says events.
 */
#ifndef _FARSWAP_STATS_H
#define _FARSWAP_STATS_H

#include <linux/percpu.h>

struct seq_file;

/*
 * X(NAME, name) of each counter: an enumerator, and its line in debugfs. The guide describes
 * them for users, in the same order.
 */
#define FARSWAP_COUNTERS(X)									\
	/* In a region, confirmed */								\
	X(STORE_REMOTE, store_remote)								\
	/* Left to the kernel's own device write; the next six are its causes */		\
	X(STORE_DEVICE, store_device)								\
	/* Enabled=0, detaching, or about to suspend */						\
	X(STORE_DISABLED, store_disabled)							\
	/* The slab is not mapped, or its donor suspect */					\
	X(STORE_NO_SLAB, store_no_slab)								\
	/* Too much is being written to the donor already, or just what the slot held before */ \
	X(STORE_BUSY, store_busy)								\
	/* Every request is in use */								\
	X(STORE_NO_REQUEST, store_no_request)							\
	/* No memory for the slab itself */							\
	X(STORE_NO_MEMORY, store_no_memory)							\
	/* The page's memory is bad: it can't be copied */					\
	X(STORE_UNREADABLE, store_unreadable)							\
	/* The transport refused the write; on the device */					\
	X(STORE_REFUSED, store_refused)								\
	/* The remote write failed, or came too late; on the device */				\
	X(STORE_WRITE_FAILED, store_write_failed)						\
	/* The device write failed; kept dirty in memory */					\
	X(STORE_DEVICE_FAILED, store_device_failed)						\
	/* No staging page was free for its cgroup; waited for the device too */		\
	X(STORE_UNSTAGED, store_unstaged)							\
	/* In some of their slab's regions, but not in all */					\
	X(STORE_PARTIAL, store_partial)								\
	/* Waits for room beside what is written to a donor (events) */				\
	X(STORE_WAITED, store_waited)								\
	/* Times that a store had the room of faults (events) */				\
	X(STORE_IN_FAULT, store_in_fault)							\
	/* On the device, from a staging page */						\
	X(BACKUP_WRITTEN, backup_written)							\
	/* Staged, and freed or stored anew before it was written */				\
	X(BACKUP_SPARED, backup_spared)								\
	/* Freed or stored anew while the device wrote them */					\
	X(BACKUP_STALE, backup_stale)								\
	/* The device write of a staging page failed */						\
	X(BACKUP_FAILED, backup_failed)								\
	/* Read from a region, for the device to have it */					\
	X(FETCHED, fetched)									\
	/* Copied from a region that is given back to another */				\
	X(MOVED, moved)										\
	/* Copied to a replica that did not have them */					\
	X(REPAIRED, repaired)									\
	/* Of a slab whose donor died: read from the device, and written to its new region */	\
	X(REBUILT, rebuilt)									\
	/* Read from a region */								\
	X(LOAD_REMOTE, load_remote)								\
	/* Copied from a staging page */							\
	X(LOAD_STAGED, load_staged)								\
	/* No remote copy; read by the kernel */						\
	X(LOAD_DEVICE, load_device)								\
	/* The remote copy could not be read; left to the kernel */				\
	X(LOAD_FALLBACK, load_fallback)								\
	/* Waits for a suspect donor that has the only copy (events) */				\
	X(LOAD_WAITED, load_waited)								\
	/* Large folios that could not be read as a whole (events) */				\
	X(LOAD_SPLIT, load_split)								\
	/* No copy could be read; the reader got an error */					\
	X(LOAD_LOST, load_lost)									\
	/* Pages whose only copy went with its donor */						\
	X(LOST, lost)										\
	/* Written to a region after a load from the device */					\
	X(PROMOTED, promoted)									\
	/* Read ahead of faults, by their trend */						\
	X(PREFETCHED, prefetched)								\
	/* Those accessed by the next fault of their stream */					\
	X(PREFETCH_USED, prefetch_used)								\
	/* Those not accessed until then */							\
	X(PREFETCH_UNUSED, prefetch_unused)							\
	/* Faults whose page came while they spun (events) */					\
	X(WAIT_POLLED, wait_polled)								\
	/* Faults that slept for their page (events) */						\
	X(WAIT_SLEPT, wait_slept)								\
	/* Remote copies dropped with their slot, or, where the kernel calls farswap, as the	\
	 * slot became one of the zero map's */							\
	X(FREED, freed)										\
	/* Remote copies dropped as zswap took a newer one */					\
	X(ZSWAP_ACCEPTED, zswap_accepted)							\
	/* Slabs mapped (events, as all below) */						\
	X(SLAB_MAPPED, slab_mapped)								\
	/* Slabs given back as their donor asked */						\
	X(SLAB_EVICTED, slab_evicted)								\
	/* Those of them that went to another donor at once */					\
	X(SLAB_MOVED, slab_moved)								\
	/* Slabs lost with their donor, or that it took alone */				\
	X(SLAB_LOST, slab_lost)									\
	/* Slabs given back as they held no page or were cold */				\
	X(SLAB_COLD, slab_cold)									\
	/* Slabs whose region went over to a hotter one as no donor had room */			\
	X(SLAB_GAVE_WAY, slab_gave_way)								\
	/* Those of them that were wanted again soon */						\
	X(SLAB_WANTED_BACK, slab_wanted_back)							\
	/* Slabs given back as we leave; mapped slabs end evicted, lost, cold, unmapped or give \
	 * way */										\
	X(SLAB_UNMAPPED, slab_unmapped)								\
	/* Further regions of mapped slabs that came */						\
	X(REPLICA_MAPPED, replica_mapped)							\
	/* Regions lost of slabs that have another */						\
	X(REPLICA_LOST, replica_lost)								\
	/* Such regions given back */								\
	X(REPLICA_LEFT, replica_left)								\
	/* Those that came as no donor of the slab's could be reached */			\
	X(STOPGAP, stopgap)									\
	/* Attempts to map a slab that failed */						\
	X(MAP_FAILED, map_failed)								\
	/* Attempts to get a slab one more region that failed though a donor was left, on a	\
	 * machine that has one already */							\
	X(MAP_SAME_MACHINE, map_same_machine)							\
	/* Sessions begun */									\
	X(DONOR_UP, donor_up)									\
	/* Sessions that failed */								\
	X(DONOR_DOWN, donor_down)

#define FARSWAP_COUNTER_ENUM(_NAME, _name)	FARSWAP_STAT_##_NAME,

/* What is counted. */
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

int farswap_stats_show(struct seq_file *m, void *v);

#endif /* _FARSWAP_STATS_H */
