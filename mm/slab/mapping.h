/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mappings: the regions that slabs have.
 */
#ifndef _FARSWAP_MAPPING_H
#define _FARSWAP_MAPPING_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/farswap-transport.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "donor/donor.h"
#include "slab/slabmap.h"

/**
 * enum farswap_mapping_state - the states of a mapping
 * @FARSWAP_MAPPING_NEW:	the slab does not use the mapping yet
 * @FARSWAP_MAPPING_LIVE:	I/O may begin
 * @FARSWAP_MAPPING_EVACUATING: the pages are copied to the slab's other mappings; loads may
 *				begin, stores may not
 * @FARSWAP_MAPPING_DEAD:	no I/O may begin; the region is released after the last I/O
 * @FARSWAP_MAPPING_STATES:	number of states
 */
enum farswap_mapping_state {
	FARSWAP_MAPPING_NEW,
	FARSWAP_MAPPING_LIVE,
	FARSWAP_MAPPING_EVACUATING,
	FARSWAP_MAPPING_DEAD,
	FARSWAP_MAPPING_STATES,
};

/**
 * enum farswap_mapping_flag - facts about a mapping that hold in any state
 * @FARSWAP_MAPPING_EVICT_REQUESTED: the donor has sent an EVICT with a deadline
 * @FARSWAP_MAPPING_DEADLINE_PASSED: the donor is about to take the region, or has taken it: no
 *				I/O may begin
 * @FARSWAP_MAPPING_REVOKED:	the region was lost, evicted or unmapped while the slab did not
 *				use the mapping; farswap_state_lock
 * @FARSWAP_MAPPING_MIGRATING:	the mapping was the slab's only one when its evacuation began:
 *				the slab migrates to another donor
 * @FARSWAP_MAPPING_RELEASED:	the last I/O of the dead mapping has ended
 */
enum farswap_mapping_flag {
	FARSWAP_MAPPING_EVICT_REQUESTED,
	FARSWAP_MAPPING_DEADLINE_PASSED,
	FARSWAP_MAPPING_REVOKED,
	FARSWAP_MAPPING_MIGRATING,
	FARSWAP_MAPPING_RELEASED,
};

/**
 * struct farswap_mapping_counts - a CPU's share of the uses of a mapping
 * @begun:		references taken
 * @ended:		references dropped, most of them taken on this CPU
 * @stores_begun:	remote writes begun
 * @stores_ended:	remote writes ended
 *
 * Each CPU writes only its own counts. The sums over all CPUs give the uses, and are computed when
 * a mapping ends; see farswap_mapping_in_use(). All counts may wrap.
 */
struct farswap_mapping_counts {
	atomic_t begun;
	atomic_t ended;
	atomic_t stores_begun;
	atomic_t stores_ended;
};

/**
 * struct farswap_mapping - a region that a slab has
 * @counts:	I/O and remote writes that have begun and ended. Not a percpu_ref, because the donor
 *		would wait for the grace period in which that dies
 * @state:	written by farswap_mapping_set_state() under farswap_state_lock
 * @flags:	bits of enum farswap_mapping_flag
 * @slab:	the slab whose pages the region holds
 * @region:	the region, for the transport
 * @donor:	the lender of the region; a reference is held
 * @id:		the donor's name for the region
 * @lost:	pages that were lost with the mapping while the slab stayed mapped
 * @evacuate_until: jiffies until which pages may be copied to the slab's other mappings
 * @hurry_at:	jiffies from which on pages are fetched to any free memory and a store comes too
 *		late; valid with FARSWAP_MAPPING_EVICT_REQUESTED
 * @evict_timer: sets FARSWAP_MAPPING_DEADLINE_PASSED
 * @donor_entry: entry in one of the donor's lists; farswap_state_lock
 * @uncounted_entry: entry in the slab's list while @lost has not been counted
 * @id_entry:	entry in the donor's @mappings_by_id; farswap_state_lock
 * @work:	releases the region once no I/O is in flight
 * @evacuate_work:	evacuates the pages
 * @fetch_work:	fetches sole copies: from @evacuate_until on, or when the slab drains
 * @rcu:	frees the mapping
 * @missing:	stale bits: one for each slot whose current page the region does not hold,
 *		whatever the remote bit says
 *
 * I/O writes none of the fields, except @missing if the slab has several mappings.
 */
struct farswap_mapping {
	struct farswap_mapping_counts __percpu *counts;
	u8 state;
	unsigned long flags;
	struct farswap_slab *slab;
	struct farswap_region *region;
	struct farswap_donor *donor;
	u64 id;
	unsigned int lost;
	unsigned long evacuate_until;
	unsigned long hurry_at;
	struct timer_list evict_timer;
	struct list_head donor_entry;
	struct hlist_node uncounted_entry;
	struct hlist_node id_entry;
	struct work_struct work;
	struct work_struct evacuate_work;
	struct delayed_work fetch_work;
	struct rcu_head rcu;
	unsigned long missing[];
};

/**
 * farswap_mapping_is() - test a flag
 * @mapping:	a mapping
 * @flag:	the flag
 *
 * Context: any.
 * Return: whether it is set.
 */
static inline bool farswap_mapping_is(const struct farswap_mapping *mapping,
				      enum farswap_mapping_flag flag)
{
	return test_bit(flag, &mapping->flags);
}

/**
 * farswap_mapping_goes() - test whether a mapping is evacuating or dead
 * @mapping:	a mapping
 *
 * Context: any; a hint without farswap_state_lock.
 * Return: whether it is.
 */
static inline bool farswap_mapping_goes(const struct farswap_mapping *mapping)
{
	return READ_ONCE(mapping->state) >= FARSWAP_MAPPING_EVACUATING;
}

/**
 * farswap_mapping_ends() - test whether no I/O may begin
 * @mapping:	a mapping
 *
 * Context: any.
 * Return: true if the mapping is dead, or its donor is about to take the region.
 */
static inline bool farswap_mapping_ends(const struct farswap_mapping *mapping)
{
	return READ_ONCE(mapping->state) == FARSWAP_MAPPING_DEAD ||
	       farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED);
}

/* mapping.c */
bool farswap_mapping_counts_alloc(struct farswap_mapping *mapping, gfp_t gfp);
void farswap_mapping_free(struct farswap_mapping *mapping);
unsigned int farswap_mapping_in_use(const struct farswap_mapping *mapping);
bool farswap_mapping_has_stores(const struct farswap_mapping *mapping);
void farswap_mapping_release(struct farswap_mapping *mapping);
bool farswap_mapping_add(struct farswap_mapping *mapping);
void farswap_mapping_remove(struct farswap_mapping *mapping);
void farswap_mapping_set_state(struct farswap_mapping *mapping,
			       enum farswap_mapping_state state);
void farswap_mapping_kill(struct farswap_mapping *mapping);
void farswap_mapping_disown(struct farswap_mapping *mapping);
struct farswap_mapping *farswap_mapping_nth(const struct farswap_slab *slab,
					    unsigned int nth);
struct farswap_mapping *farswap_mapping_by_id(struct farswap_donor *donor, u64 id);
bool farswap_mapping_is_in_use(const struct farswap_mapping *mapping);
bool farswap_mapping_is_at(const struct farswap_slab *slab,
			   const struct farswap_donor *donor);
unsigned int farswap_mapping_count(const struct farswap_slab *slab);
unsigned int farswap_mapping_staying(const struct farswap_slab *slab,
				     const struct farswap_mapping *but);
struct farswap_mapping *farswap_mapping_get(struct farswap_slab *slab,
					    unsigned int nth);
bool farswap_mapping_get_this(struct farswap_mapping *mapping);
struct farswap_mapping *farswap_mapping_find(struct farswap_slab *slab,
					     unsigned int slot, unsigned int nr,
					     const struct farswap_mapping *avoid);
bool farswap_mapping_stays(struct farswap_slab *slab, unsigned int slot);

/**
 * farswap_mapping_put() - drop a reference
 * @mapping:	the mapping
 *
 * Context: any.
 */
static inline void farswap_mapping_put(struct farswap_mapping *mapping)
{
	/* Once the reference has ended only RCU keeps the mapping. */
	preempt_disable();
	/*
	 * The count is written before the state is read. Pairs with farswap_mapping_kill(), which
	 * writes the state before it reads the counts: at least one side releases the mapping.
	 */
	atomic_inc_return(&this_cpu_ptr(mapping->counts)->ended);
	if (unlikely(READ_ONCE(mapping->state) == FARSWAP_MAPPING_DEAD))
		farswap_mapping_release(mapping);
	preempt_enable();
}

/**
 * farswap_mapping_hold() - take one more reference
 * @mapping:	a mapping that is not dead, under farswap_state_lock, or that has a reference
 *
 * Context: any.
 */
static inline void farswap_mapping_hold(struct farswap_mapping *mapping)
{
	/* Fully ordered, so a CPU that sees this reference end has seen it begin. */
	atomic_inc_return(&raw_cpu_ptr(mapping->counts)->begun);
}

/**
 * farswap_mapping_tryget() - take a reference if I/O may begin
 * @mapping:	a mapping that RCU or a lock keeps from being freed
 *
 * Context: any.
 * Return: whether a reference is held, until farswap_mapping_put().
 */
static inline bool farswap_mapping_tryget(struct farswap_mapping *mapping)
{
	/*
	 * The count is written before the state is read, here, and mapping->missing is read, by
	 * the caller. Pairs with farswap_mapping_kill(), which writes the state before it reads
	 * the counts.
	 */
	farswap_mapping_hold(mapping);
	if (likely(!farswap_mapping_ends(mapping)))
		return true;
	farswap_mapping_put(mapping);
	return false;
}

/**
 * farswap_mapping_submit() - start an I/O
 * @mapping:	a mapping on which a reference is held
 * @io:		the request; this function fills in its region
 *
 * The deadline may have passed since the reference was taken. An access to a region that the
 * donor has taken would fail the connection with all its I/O.
 *
 * Context: any up to softirq.
 * Return: as &struct farswap_transport.submit; also -EHOSTDOWN if the deadline has passed.
 */
static inline int farswap_mapping_submit(struct farswap_mapping *mapping, struct farswap_io *io)
{
	if (unlikely(farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED)))
		return -EHOSTDOWN;
	io->region = mapping->region;
	return mapping->donor->transport->submit(io);
}

/*
 * Does the region hold the current pages of the slots, provided that these have the remote bit?
 * The caller keeps the slots from being stored to, or reads the remote bit again afterwards.
 */
static inline bool farswap_mapping_has(const struct farswap_mapping *mapping,
				       unsigned int slot, unsigned int nr)
{
	return !farswap_slotbits_any(mapping->missing, slot, nr);
}

#endif /* _FARSWAP_MAPPING_H */
