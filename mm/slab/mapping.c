// SPDX-License-Identifier: GPL-2.0
/*
 * A mapping: a region that a slab has, from the donor's answer to the region's
 * release. With backup=replica a slab has several, each at another machine (XMemPod);
 * while it moves to another donor it has one at either.
 *
 * What a slot holds is in every mapping of its slab that does not miss it, if the slot
 * has the remote bit. So a store that begins has every mapping miss the slot, a write
 * that succeeds takes that back for its own, and only then does the remote bit come. A
 * mapping that has missed a store is not read, whatever becomes of its donor, until
 * copy.c has made up for it.
 *
 * Locking: farswap_state_lock covers the donor's list and which mappings a slab has.
 * Who looks without it is under RCU, and holds a reference from then on.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

/* The last remote write of a mapping has ended. */
DECLARE_WAIT_QUEUE_HEAD(farswap_stores_ended);

/* From the row's state to which others. */
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

/* False, with nothing changed, if @state may not follow. */
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
 * @state:	one that may follow on its present state
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_set_state(struct farswap_mapping *mapping,
			       enum farswap_mapping_state state)
{
	WARN_ON_ONCE(!mapping_become(mapping, state));
}

/**
 * farswap_mapping_kill() - let no I/O begin any more, and give the region back
 * when the last has ended
 * @mapping:	a linked one
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_kill(struct farswap_mapping *mapping)
{
	farswap_mapping_set_state(mapping, FARSWAP_MAPPING_DEAD);
	farswap_mapping_put(mapping);
}

/**
 * farswap_mapping_disown() - its donor's session has failed: it has no name any more
 * @mapping:	a linked one
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_disown(struct farswap_mapping *mapping)
{
	lockdep_assert_held(&farswap_state_lock);
	hash_del(&mapping->id_entry);
}

/**
 * farswap_mapping_nth() - a mapping that a slab has
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
 * farswap_mapping_by_id() - the mapping that a donor means
 * @donor:	the donor
 * @id:		its name for the region
 *
 * Context: process context, under farswap_state_lock.
 * Return: the mapping, or NULL if we don't know it.
 */
struct farswap_mapping *farswap_mapping_by_id(struct farswap_donor *donor, u64 id)
{
	struct farswap_mapping *mapping;

	lockdep_assert_held(&farswap_state_lock);
	hash_for_each_possible(donor->mappings_by_id, mapping, id_entry, id)
		if (mapping->id == id)
			return mapping;
	return NULL;
}

/* Where in its slab it is, or would be; FARSWAP_REPLICAS_MAX: nowhere. */
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
 * farswap_mapping_is_in_use() - does a slab depend on it
 * @mapping:	a linked one
 *
 * Context: process context, under farswap_state_lock.
 * Return: whether one does; if not it comes or goes already.
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
 * farswap_mapping_count() - count the mappings
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
 * farswap_mapping_staying() - count the mappings that are not about to go
 * @slab:	a slab
 * @but:	one that isn't counted, or NULL
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
 * farswap_mapping_is_at() - has a slab a region on a machine
 * @slab:	the slab
 * @peer:	a daemon there
 *
 * Context: under farswap_state_lock.
 * Return: whether it has.
 */
bool farswap_mapping_is_at(const struct farswap_slab *slab,
			   const struct farswap_peer *peer)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	lockdep_assert_held(&farswap_state_lock);
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && !memcmp(mapping->donor->peer.node, peer->node,
				       sizeof(peer->node)))
			return true;
	}
	return false;
}

/**
 * farswap_mapping_add() - it becomes one of its slab's
 * @mapping:	a linked one that misses all that it doesn't have
 *
 * Context: process context, under farswap_state_lock.
 * Return: false if the slab has as many as it can have.
 */
bool farswap_mapping_add(struct farswap_mapping *mapping)
{
	unsigned int nth = mapping_place(mapping->slab, NULL);

	lockdep_assert_held(&farswap_state_lock);
	if (nth == FARSWAP_REPLICAS_MAX)
		return false;
	farswap_mapping_set_state(mapping, FARSWAP_MAPPING_LIVE);
	rcu_assign_pointer(mapping->slab->mapping[nth], mapping);
	/* Pairs with leave_mapping_end(): the array is written before the generation. */
	smp_store_release(&mapping->slab->generation, mapping->slab->generation + 1);
	return true;
}

/**
 * farswap_mapping_remove() - it is its slab's no more
 * @mapping:	one of its slab's
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_mapping_remove(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;

	lockdep_assert_held(&farswap_state_lock);
	RCU_INIT_POINTER(slab->mapping[mapping_place(slab, mapping)], NULL);
	/* As in farswap_mapping_add(). */
	smp_store_release(&slab->generation, slab->generation + 1);
}

/**
 * farswap_mapping_get() - begin to use a mapping
 * @slab:	a slab that has bits
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
 * farswap_mapping_get_this() - begin to use a mapping that is known
 * @mapping:	a mapping
 *
 * Context: any.
 * Return: whether it is its slab's, and stays until farswap_mapping_put().
 */
bool farswap_mapping_get_this(struct farswap_mapping *mapping)
{
	return farswap_mapping_is_slabs(mapping) && farswap_mapping_tryget(mapping);
}

/* The lower the better. */
static unsigned int mapping_rank(const struct farswap_mapping *mapping,
				 const struct farswap_mapping *avoid)
{
	return 4 * farswap_donor_is_suspect(mapping->donor) + 2 * (mapping == avoid) +
	       farswap_mapping_goes(mapping);
}

/* The best of those there are just now. */
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
 * farswap_mapping_find() - begin a read
 * @slab:	a slab that has bits
 * @slot:	the first slot
 * @nr:		how many
 * @avoid:	the last resort but for suspect donors, or NULL; may be freed
 *
 * The remote bits are to be looked at before this: what a mapping has without them may be
 * older than what the slots hold.
 *
 * Context: any.
 * Return: a mapping that has what the slots hold, if they have the remote bit; it
 * stays until farswap_mapping_put(). NULL if there is none.
 */
struct farswap_mapping *farswap_mapping_find(struct farswap_slab *slab,
					     unsigned int slot, unsigned int nr,
					     const struct farswap_mapping *avoid)
{
	struct farswap_mapping *best;

	/* Pairs with farswap_guard_rebuild_end(): the others missed them before it set the bits. */
	smp_rmb();
	best = mapping_find_now(slab, slot, nr, avoid);
	if (best)
		return best;
	/* The pages may have moved from a place not yet looked at to one that was empty. */
	smp_rmb();
	return mapping_find_now(slab, slot, nr, avoid);
}

/**
 * farswap_mapping_release() - the last I/O has ended of one that was killed
 * @mapping:	the mapping
 *
 * Context: any.
 */
void farswap_mapping_release(struct farswap_mapping *mapping)
{
	queue_work(farswap_wq, &mapping->work);
}

/**
 * farswap_mapping_stays() - is a slot in a region that is not about to go, as far as is known
 * @slab:	a mapped slab
 * @slot:	a slot
 *
 * Context: any; the slot is not stored to meanwhile, or the answer is of no use then.
 * Return: whether it is.
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

/**
 * farswap_mapping_store_begin() - begin a remote write
 * @slab:	a slab that has bits
 * @nth:	which of its mappings
 * @slot:	the first slot, without the remote bit
 * @nr:		how many
 * @sole:	the device may not get it
 *
 * Context: process context; does not sleep.
 * Return: the mapping, which stays until farswap_mapping_store_end(); NULL if there is
 * none, or its pages are about to be moved or fetched, or an older page is just being
 * copied there, or its donor is suspect.
 */
struct farswap_mapping *farswap_mapping_store_begin(struct farswap_slab *slab,
						    unsigned int nth,
						    unsigned int slot,
						    unsigned int nr, bool sole)
{
	struct farswap_mapping *mapping = farswap_mapping_get(slab, nth);

	if (!mapping)
		return NULL;
	if (sole && !READ_ONCE(slab->sole))
		WRITE_ONCE(slab->sole, true);
	atomic_inc(&mapping->stores);
	/*
	 * Pairs with farswap_drain_start(), farswap_leave_work(),
	 * farswap_leave_mapping_start() and farswap_guard_copy_begin(): either they see the two
	 * above, or that the remote bits are clear, or we see what they did.
	 */
	smp_mb__after_atomic();
	if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED) {
		/* Mapped again, perhaps, and not there any more. */
		smp_rmb();
		if (rcu_access_pointer(slab->mapping[nth]) == mapping &&
		    !farswap_mapping_goes(mapping) &&
		    !farswap_donor_is_suspect(mapping->donor) &&
		    !farswap_guard_copy_excludes(mapping, slot, nr))
			return mapping;
	}
	farswap_mapping_store_end(mapping);
	return NULL;
}

/**
 * farswap_mapping_store_mark() - what slots hold is about to change
 * @slab:	a slab that has bits
 * @slot:	the first slot, without the remote bit
 * @nr:		how many
 *
 * Until a write to it has succeeded a mapping misses them, and what is just being
 * copied there is stale, whether this store writes there or not. A mapping that comes
 * later misses everything. A slab's only one need not, for if the write there fails
 * there is no remote bit either.
 *
 * Context: process context; does not sleep; after farswap_mapping_store_begin(), before
 * the writes.
 */
void farswap_mapping_store_mark(struct farswap_slab *slab, unsigned int slot,
				unsigned int nr)
{
	struct farswap_mapping *mapping;
	unsigned int nth, there = 0;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		there += !!rcu_access_pointer(slab->mapping[nth]);
	if (there <= 1)
		return;
	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		if (!mapping)
			continue;
		/* First: once the copying has ended it clears no bit any more. */
		farswap_guard_copy_excludes(mapping, slot, nr);
		farswap_slotbits_set(mapping->missing, slot, nr);
	}
	rcu_read_unlock();
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/mapping-kunit.h"
#endif
