// SPDX-License-Identifier: GPL-2.0
/*
 * A mapping: a region that a slab has, from the donor's answer to the release of the region.
 * With backup=replica a slab has several, each at a different machine (XMemPod). While a slab
 * migrates it has one at either donor.
 *
 * If a slot has the remote bit, its page is in every mapping of the slab whose stale bit
 * (mapping->missing) is clear. A store sets the stale bits of the slot in all mappings, clears
 * the bit of each mapping whose write succeeded, and sets the remote bit last. A mapping that
 * missed a store is not read until migrate/copy.c has copied the page to it.
 *
 * Locking: farswap_state_lock covers the donor's list and the mappings of a slab. Readers
 * without it use RCU, and take a reference.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

/* The states that may follow each state. */
static const u8 mapping_moves[FARSWAP_MAPPING_STATES] = {
	[FARSWAP_MAPPING_NEW]		= BIT(FARSWAP_MAPPING_LIVE) |
					  BIT(FARSWAP_MAPPING_DEAD),
	[FARSWAP_MAPPING_LIVE]		= BIT(FARSWAP_MAPPING_EVACUATING) |
					  BIT(FARSWAP_MAPPING_DEAD),
	[FARSWAP_MAPPING_EVACUATING]	= BIT(FARSWAP_MAPPING_DEAD),
};

static bool mapping_may_become(enum farswap_mapping_state from, enum farswap_mapping_state to)
{
	return mapping_moves[from] & BIT(to);
}

/* Change the state if the table allows it; otherwise return false. */
static bool mapping_become(struct farswap_mapping *mapping, enum farswap_mapping_state state)
{
	lockdep_assert_held(&farswap_state_lock);

	if (!mapping_may_become(mapping->state, state))
		return false;
	WRITE_ONCE(mapping->state, state);
	return true;
}

/**
 * farswap_mapping_set_state() - the only writer of mapping->state
 * @mapping:	the mapping
 * @state:	a legal next state
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_set_state(struct farswap_mapping *mapping,
			       enum farswap_mapping_state state)
{
	WARN_ON_ONCE(!mapping_become(mapping, state));
}

/**
 * farswap_mapping_kill() - stop I/O, and release the region after the last I/O
 * @mapping:	a linked mapping
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_kill(struct farswap_mapping *mapping)
{
	farswap_mapping_set_state(mapping, FARSWAP_MAPPING_DEAD);
	/*
	 * The state is written before the counts are read. Pairs with farswap_mapping_tryget() and
	 * farswap_mapping_put(), which write a count before they read the state.
	 */
	smp_mb();
	farswap_mapping_release(mapping);
}

/**
 * farswap_mapping_disown() - forget the donor's name for a region whose session has failed
 * @mapping:	a linked mapping
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_disown(struct farswap_mapping *mapping)
{
	lockdep_assert_held(&farswap_state_lock);
	hash_del(&mapping->id_entry);
}

/**
 * farswap_mapping_nth() - get a mapping by its place
 * @slab:	the slab
 * @nth:	less than FARSWAP_REPLICAS_MAX
 *
 * Context: under farswap_state_lock, or where it can't change.
 * Return: the mapping, or NULL.
 */
struct farswap_mapping *farswap_mapping_nth(const struct farswap_slab *slab,
					    unsigned int nth)
{
	return rcu_dereference_protected(slab->mapping[nth], true);
}

/**
 * farswap_mapping_by_id() - find the mapping of a region by the donor's name for it
 * @donor:	the donor
 * @id:		its name for the region
 *
 * Context: process context, under farswap_state_lock.
 * Return: the mapping, or NULL if there is none of that name.
 */
struct farswap_mapping *farswap_mapping_by_id(struct farswap_donor *donor, u64 id)
{
	struct farswap_mapping *mapping;

	lockdep_assert_held(&farswap_state_lock);
	hash_for_each_possible(donor->mappings_by_id, mapping, id_entry, farswap_region_hash(id))
		if (mapping->id == id)
			return mapping;
	return NULL;
}

/* The index of @mapping in its slab, or of a free place if NULL; FARSWAP_REPLICAS_MAX if none. */
static unsigned int mapping_place(const struct farswap_slab *slab,
				  const struct farswap_mapping *mapping)
{
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		if (rcu_access_pointer(slab->mapping[nth]) == mapping)
			break;
	return nth;
}

/**
 * farswap_mapping_is_in_use() - test whether a mapped slab uses the mapping
 * @mapping:	a linked mapping
 *
 * Context: process context, under farswap_state_lock.
 * Return: false if it is new, or being given up already.
 */
bool farswap_mapping_is_in_use(const struct farswap_mapping *mapping)
{
	return farswap_mapping_is_slabs(mapping) &&
	       mapping->slab->state == FARSWAP_SLAB_MAPPED;
}

static unsigned int mapping_count(const struct farswap_slab *slab,
				  const struct farswap_mapping *but, bool staying)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, nr = 0;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		if (mapping && mapping != but && !(staying && farswap_mapping_goes(mapping)))
			nr++;
	}
	rcu_read_unlock();
	return nr;
}

/**
 * farswap_mapping_count() - count the mappings of a slab
 * @slab:	a slab
 *
 * Context: under farswap_state_lock; without it, a hint.
 * Return: how many it has.
 */
unsigned int farswap_mapping_count(const struct farswap_slab *slab)
{
	return mapping_count(slab, NULL, false);
}

/**
 * farswap_mapping_staying() - count the mappings that are neither evacuating nor dead
 * @slab:	a slab
 * @but:	a mapping to leave out, or NULL
 *
 * Context: under farswap_state_lock; without it, a hint.
 * Return: how many.
 */
unsigned int farswap_mapping_staying(const struct farswap_slab *slab,
				     const struct farswap_mapping *but)
{
	return mapping_count(slab, but, true);
}

/**
 * farswap_mapping_is_at() - test whether a slab has a region on a machine
 * @slab:	the slab
 * @donor:	a donor on that machine
 *
 * Context: under farswap_state_lock.
 * Return: whether it has.
 */
bool farswap_mapping_is_at(const struct farswap_slab *slab,
			   const struct farswap_donor *donor)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	lockdep_assert_held(&farswap_state_lock);
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && farswap_donor_same_machine(mapping->donor, donor))
			return true;
	}
	return false;
}

/**
 * farswap_mapping_add() - let the slab use a mapping
 * @mapping:	a linked mapping whose stale bits are correct
 *
 * Context: process context, under farswap_state_lock.
 * Return: false if the slab has FARSWAP_REPLICAS_MAX mappings already.
 */
bool farswap_mapping_add(struct farswap_mapping *mapping)
{
	unsigned int nth = mapping_place(mapping->slab, NULL);

	lockdep_assert_held(&farswap_state_lock);
	if (nth == FARSWAP_REPLICAS_MAX)
		return false;
	farswap_mapping_set_state(mapping, FARSWAP_MAPPING_LIVE);
	rcu_assign_pointer(mapping->slab->mapping[nth], mapping);
	/*
	 * The array is written before the generation. Pairs with evacuate_mapping_end(), which
	 * reads the generation before the array.
	 */
	smp_store_release(&mapping->slab->generation, mapping->slab->generation + 1);
	return true;
}

/**
 * farswap_mapping_remove() - take a mapping from its slab
 * @mapping:	a mapping that its slab uses
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_remove(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;

	lockdep_assert_held(&farswap_state_lock);
	RCU_INIT_POINTER(slab->mapping[mapping_place(slab, mapping)], NULL);
	/* The array is written before the generation, for evacuate_mapping_end(). */
	smp_store_release(&slab->generation, slab->generation + 1);
}

/**
 * farswap_mapping_get() - take a reference on a mapping by its place
 * @slab:	a slab with bitmaps
 * @nth:	less than FARSWAP_REPLICAS_MAX
 *
 * Context: any.
 * Return: the mapping, which stays until farswap_mapping_put(); or NULL.
 */
struct farswap_mapping *farswap_mapping_get(struct farswap_slab *slab,
					    unsigned int nth)
{
	struct farswap_mapping *mapping;

	rcu_read_lock();
	mapping = rcu_dereference(slab->mapping[nth]);
	if (mapping && !farswap_mapping_tryget(mapping))
		mapping = NULL;
	rcu_read_unlock();
	return mapping;
}

/**
 * farswap_mapping_get_this() - take a reference on a mapping that its slab uses
 * @mapping:	a mapping
 *
 * Context: any.
 * Return: whether a reference is held, until farswap_mapping_put().
 */
bool farswap_mapping_get_this(struct farswap_mapping *mapping)
{
	return farswap_mapping_is_slabs(mapping) && farswap_mapping_tryget(mapping);
}

/* A read prefers the mapping with the lowest rank. */
static unsigned int mapping_rank(const struct farswap_mapping *mapping,
				 const struct farswap_mapping *avoid)
{
	return 8 * farswap_donor_is_suspect(mapping->donor) + 4 * (mapping == avoid) +
	       2 * farswap_donor_is_slow(mapping->donor) + farswap_mapping_goes(mapping);
}

/* Take a reference on the best mapping in one pass over the array. */
static struct farswap_mapping *mapping_find_now(struct farswap_slab *slab,
						unsigned int slot, unsigned int nr,
						const struct farswap_mapping *avoid)
{
	struct farswap_mapping *best = NULL, *mapping;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_get(slab, nth);
		if (!mapping)
			continue;
		if (farswap_mapping_has(mapping, slot, nr) &&
		    (!best || mapping_rank(mapping, avoid) < mapping_rank(best, avoid)))
			swap(best, mapping);
		if (mapping)
			farswap_mapping_put(mapping);
		if (best && !mapping_rank(best, avoid))
			break;
	}
	return best;
}

/**
 * farswap_mapping_find() - find a mapping to read slots from
 * @slab:	a slab with bitmaps
 * @slot:	the first slot
 * @nr:		how many
 * @avoid:	a mapping to use only if all others are suspect, or NULL; may be freed
 *
 * The caller reads the remote bits before this: without them the pages of a mapping may be stale.
 *
 * Context: any.
 * Return: a mapping that holds the pages of slots with the remote bit, referenced until
 * farswap_mapping_put(); NULL if there is none.
 */
struct farswap_mapping *farswap_mapping_find(struct farswap_slab *slab,
					     unsigned int slot, unsigned int nr,
					     const struct farswap_mapping *avoid)
{
	struct farswap_mapping *best;

	/*
	 * The remote bits are read before mapping->missing. Pairs with farswap_write_publish(),
	 * which sets the remote bits last.
	 */
	smp_rmb();
	best = mapping_find_now(slab, slot, nr, avoid);
	if (best)
		return best;
	/* The pages may have migrated from a place not yet read to one that was empty. */
	smp_rmb();
	return mapping_find_now(slab, slot, nr, avoid);
}

/**
 * farswap_mapping_counts_alloc() - allocate the counts of a new mapping
 * @mapping:	the mapping
 * @gfp:	flags of the allocation
 *
 * Return: false if there is no memory; farswap_mapping_free() frees them with the mapping.
 */
bool farswap_mapping_counts_alloc(struct farswap_mapping *mapping, gfp_t gfp)
{
	mapping->counts = alloc_percpu_gfp(struct farswap_mapping_counts, gfp);
	return mapping->counts;
}

static void mapping_free(struct rcu_head *rcu)
{
	struct farswap_mapping *mapping = container_of(rcu, struct farswap_mapping, rcu);

	free_percpu(mapping->counts);
	kvfree(mapping);
}

/**
 * farswap_mapping_free() - free a mapping after a grace period
 * @mapping:	the mapping, which is in no list
 *
 * Context: any. rcu_barrier() comes before the module's code is freed.
 */
void farswap_mapping_free(struct farswap_mapping *mapping)
{
	call_rcu(&mapping->rcu, mapping_free);
}

/**
 * farswap_mapping_in_use() - get the number of references on a mapping
 * @mapping:	a mapping that RCU or a lock keeps from being freed
 *
 * Context: any.
 * Return: the number, if no reference is taken or dropped meanwhile. In any case 0 means that
 * every reference that was taken before this has been dropped.
 */
unsigned int farswap_mapping_in_use(const struct farswap_mapping *mapping)
{
	unsigned int begun = 0, ended = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		ended += atomic_read(&per_cpu_ptr(mapping->counts, cpu)->ended);
	/*
	 * A reference whose end is counted above has its beginning counted below. Pairs with
	 * farswap_mapping_hold(): the beginning is written before the end.
	 */
	smp_mb();
	for_each_possible_cpu(cpu)
		begun += atomic_read(&per_cpu_ptr(mapping->counts, cpu)->begun);
	return begun - ended;
}

/**
 * farswap_mapping_has_stores() - test whether a remote write is in flight or about to begin
 * @mapping:	a mapping that RCU or a lock keeps from being freed
 *
 * Reads that follow see the remote bits that the writes have set.
 *
 * Context: any.
 * Return: false if every write that began before this has ended.
 */
bool farswap_mapping_has_stores(const struct farswap_mapping *mapping)
{
	unsigned int begun = 0, ended = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		ended += atomic_read(&per_cpu_ptr(mapping->counts, cpu)->stores_ended);
	/* As in farswap_mapping_in_use(). Pairs with farswap_write_begin(). */
	smp_mb();
	for_each_possible_cpu(cpu)
		begun += atomic_read(&per_cpu_ptr(mapping->counts, cpu)->stores_begun);
	return begun != ended;
}

/**
 * farswap_mapping_release() - release a dead mapping if its last I/O has ended
 * @mapping:	the mapping, which RCU or a lock keeps from being freed
 *
 * Each reference that ends on a dead mapping comes here, after it is counted, so the last one
 * sees all of them.
 *
 * Context: any.
 */
void farswap_mapping_release(struct farswap_mapping *mapping)
{
	if (!farswap_mapping_in_use(mapping) &&
	    !test_and_set_bit(FARSWAP_MAPPING_RELEASED, &mapping->flags))
		queue_work(farswap_wq, &mapping->work);
}

/**
 * farswap_mapping_stays() - test whether a region that will stay holds the page of a slot
 * @slab:	a mapped slab
 * @slot:	a slot
 *
 * Context: any; a hint while the slot can be stored to.
 * Return: whether one does, at a donor that works.
 */
bool farswap_mapping_stays(struct farswap_slab *slab, unsigned int slot)
{
	struct farswap_mapping *mapping;
	bool stays = false;
	unsigned int nth;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && !stays; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		stays = mapping && !farswap_mapping_goes(mapping) &&
			farswap_donor_works(mapping->donor) &&
			farswap_mapping_has(mapping, slot, 1);
	}
	rcu_read_unlock();
	return stays && test_bit(slot, slab->bits.remote);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/mapping-kunit.h"
#endif
