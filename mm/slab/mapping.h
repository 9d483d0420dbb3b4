/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A region that a slab has.
 */
#ifndef _FARSWAP_MAPPING_H
#define _FARSWAP_MAPPING_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/farswap-transport.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "donor/donor.h"
#include "slab/slabmap.h"

/**
 * enum farswap_mapping_state - the states of a mapping
 * @FARSWAP_MAPPING_NEW:	not yet one of its slab's
 * @FARSWAP_MAPPING_LIVE:	one of its slab's; I/O begins
 * @FARSWAP_MAPPING_EVACUATING: one of several of its slab's; its pages go to the others, and
 *				no store begins
 * @FARSWAP_MAPPING_DEAD:	no I/O begins; its region goes back when the last has ended
 * @FARSWAP_MAPPING_STATES:	how many there are
 */
enum farswap_mapping_state {
	FARSWAP_MAPPING_NEW,
	FARSWAP_MAPPING_LIVE,
	FARSWAP_MAPPING_EVACUATING,
	FARSWAP_MAPPING_DEAD,
	FARSWAP_MAPPING_STATES,
};

/**
 * enum farswap_mapping_flag - what its donor and its slab want of a mapping, in any state
 * @FARSWAP_MAPPING_EVICT_REQUESTED: its donor has said when it takes the region back
 * @FARSWAP_MAPPING_DEADLINE_PASSED: its donor is about to take the region, or has: no I/O
 *				begins
 * @FARSWAP_MAPPING_REVOKED:	it was lost, or is to go back, while it was not one of its
 *				slab's; farswap_state_lock
 * @FARSWAP_MAPPING_MIGRATING:	it was its slab's only one when it began to evacuate: the slab
 *				goes to another donor
 */
enum farswap_mapping_flag {
	FARSWAP_MAPPING_EVICT_REQUESTED,
	FARSWAP_MAPPING_DEADLINE_PASSED,
	FARSWAP_MAPPING_REVOKED,
	FARSWAP_MAPPING_MIGRATING,
};

/**
 * struct farswap_mapping - a region that a slab has
 * @users:	I/O in flight, and one until farswap_mapping_kill(). Not a percpu_ref:
 *		that takes a grace period to die, and the donor waits for it
 * @stores:	remote writes in flight, or to begin
 * @state:	written by farswap_mapping_set_state() under farswap_state_lock
 * @flags:	bits of enum farswap_mapping_flag
 * @slab:	whose region it is
 * @region:	the donor's memory
 * @donor:	who lends it; a reference is held
 * @id:		the donor's name for the region
 * @lost:	pages that were lost with it while the slab went on
 * @leave_until: jiffies until which its pages may be copied to the others
 * @hurry_at:	jiffies from which on what it has is fetched to any memory that is free, and what is
 *		written to it comes too late; if FARSWAP_MAPPING_EVICT_REQUESTED
 * @evict_timer: its donor takes it back soon: sets FARSWAP_MAPPING_DEADLINE_PASSED
 * @donor_entry: in one of the donor's lists; farswap_state_lock
 * @uncounted_entry: in its slab's list, while @lost is still to be counted
 * @id_entry:	in the donor's @mappings_by_id, likewise
 * @work:	gives the region back, once @users is 0
 * @leave_work:	sees to what only this one of several has
 * @fetch_work:	fetches it, meanwhile, from @leave_until on, or if its slab drains
 * @rcu:	frees it
 * @missing:	a bit for each slot whose contents it does not have, whatever the
 *		remote bit says
 */
struct farswap_mapping {
	refcount_t users;
	atomic_t stores;
	u8 state;
	unsigned long flags;
	struct farswap_slab *slab;
	struct farswap_region *region;
	struct farswap_donor *donor;
	u64 id;
	unsigned int lost;
	unsigned long leave_until;
	unsigned long hurry_at;
	struct timer_list evict_timer;
	struct list_head donor_entry;
	struct hlist_node uncounted_entry;
	struct hlist_node id_entry;
	struct work_struct work;
	struct work_struct leave_work;
	struct delayed_work fetch_work;
	struct rcu_head rcu;
	unsigned long missing[];
};

/**
 * farswap_mapping_is() - look at a flag
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
 * farswap_mapping_goes() - has a mapping begun to end
 * @mapping:	a mapping
 *
 * Context: any; a hint without farswap_state_lock.
 * Return: true if it evacuates, or is dead.
 */
static inline bool farswap_mapping_goes(const struct farswap_mapping *mapping)
{
	return READ_ONCE(mapping->state) >= FARSWAP_MAPPING_EVACUATING;
}

/**
 * farswap_mapping_ends() - may no I/O begin
 * @mapping:	a mapping
 *
 * Context: any.
 * Return: true if it is given back, or its donor is about to take it.
 */
static inline bool farswap_mapping_ends(const struct farswap_mapping *mapping)
{
	return READ_ONCE(mapping->state) == FARSWAP_MAPPING_DEAD ||
	       farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED);
}

/* mapping.c */
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
			   const struct farswap_peer *peer);
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
 * farswap_mapping_put() - an I/O has ended
 * @mapping:	the mapping
 *
 * Context: any.
 */
static inline void farswap_mapping_put(struct farswap_mapping *mapping)
{
	if (unlikely(refcount_dec_and_test(&mapping->users)))
		farswap_mapping_release(mapping);
}

/**
 * farswap_mapping_tryget() - begin to use a mapping, unless it has begun to end
 * @mapping:	one that is not freed meanwhile
 *
 * Context: any.
 * Return: whether it stays until farswap_mapping_put().
 */
static inline bool farswap_mapping_tryget(struct farswap_mapping *mapping)
{
	if (!refcount_inc_not_zero(&mapping->users))
		return false;
	/* What it misses is to be looked at after this. */
	smp_acquire__after_ctrl_dep();
	if (likely(!farswap_mapping_ends(mapping)))
		return true;
	farswap_mapping_put(mapping);
	return false;
}

/**
 * farswap_mapping_submit() - start an I/O
 * @mapping:	a mapping that a reference is held on
 * @io:		all but its region filled in
 *
 * Who holds a reference may have waited since: its donor would fail the connection, and all
 * that is under way on it.
 *
 * Context: any up to softirq.
 * Return: as &struct farswap_transport.submit; -EHOSTDOWN too if its donor is about to take it.
 */
static inline int farswap_mapping_submit(struct farswap_mapping *mapping, struct farswap_io *io)
{
	if (unlikely(farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED)))
		return -EHOSTDOWN;
	io->region = mapping->region;
	return mapping->donor->transport->submit(io);
}

/*
 * Does the region have what the slots hold, if they have the remote bit? Who asks
 * keeps them from being stored meanwhile, or looks at the bit again.
 */
static inline bool farswap_mapping_has(const struct farswap_mapping *mapping,
				       unsigned int slot, unsigned int nr)
{
	return !farswap_slotbits_any(mapping->missing, slot, nr);
}

extern wait_queue_head_t farswap_stores_ended;
struct farswap_mapping *farswap_mapping_store_begin(struct farswap_slab *slab,
						    unsigned int nth,
						    unsigned int slot,
						    unsigned int nr, bool sole);
void farswap_mapping_store_mark(struct farswap_slab *slab, unsigned int slot,
				unsigned int nr);

/**
 * farswap_mapping_store_written() - a remote write has ended
 * @mapping:	the mapping; farswap_mapping_put() is to follow
 *
 * If the slot is to have the remote bit it has it, or the device has the page before it
 * gets that, so that nobody need fetch it.
 *
 * Context: any.
 */
static inline void farswap_mapping_store_written(struct farswap_mapping *mapping)
{
	if (!atomic_dec_and_test(&mapping->stores))
		return;
	/* The count is fully ordered before the look at who waits for it. */
	if (unlikely(waitqueue_active(&farswap_stores_ended)))
		wake_up_all(&farswap_stores_ended);
}

/**
 * farswap_mapping_store_end() - a remote write was not begun, or nothing else is waited for
 * @mapping:	the mapping
 *
 * Context: any.
 */
static inline void farswap_mapping_store_end(struct farswap_mapping *mapping)
{
	farswap_mapping_store_written(mapping);
	farswap_mapping_put(mapping);
}

#endif /* _FARSWAP_MAPPING_H */
