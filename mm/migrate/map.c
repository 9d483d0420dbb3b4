// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping: how a slab gets a region, and how the region is released. The file queries donors,
 * requests a region from one of them, and retries later if none has room.
 * donor/placement.c decides which donors are queried and which one gets the slab.
 *
 * Locking: farswap_state_lock covers states and lists.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "internal.h"
#include "donor/placement.h"

/* The pause between attempts to map a slab doubles from the minimum to the maximum. */
#define MAP_RETRY_MIN		(HZ / 10)
#define MAP_RETRY_MAX		(5 * HZ)
/* Time after which an attempt to map a slab asks no further donor. */
#define MAP_TIME		(10 * HZ)

struct map_choice {
	int nr;
	bool has_neighbour;	/* another donor on a machine of the slab was left out */
	struct farswap_candidate candidate[FARSWAP_DONORS_MAX];
	struct farswap_donor_use use[FARSWAP_DONORS_MAX];
};

static bool map_is_slabs(const struct farswap_donor *donor,
			 const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && mapping->donor == donor)
			return true;
	}
	return false;
}

/* Check whether the slab has a region on the donor's machine; it gets no second one there. */
static bool map_has_slab(struct map_choice *choice, const struct farswap_donor *donor,
			 const struct farswap_slab *slab)
{
	bool has;

	spin_lock(&farswap_state_lock);
	has = farswap_mapping_is_at(slab, donor);
	if (has && !map_is_slabs(donor, slab))
		choice->has_neighbour = true;
	spin_unlock(&farswap_state_lock);
	return has;
}

static struct map_choice *map_choice_alloc(const struct farswap_slab *slab)
{
	struct map_choice *choice = kzalloc(sizeof(*choice), GFP_KERNEL | __GFP_NOWARN |
					__GFP_NORETRY);
	int i, nr;

	if (!choice)
		return NULL;
	nr = farswap_donors_use(choice->use);
	for (i = 0; i < nr; i++) {
		if (map_has_slab(choice, choice->use[i].donor, slab)) {
			farswap_donor_unuse(choice->use[i].donor);
			continue;
		}
		choice->use[choice->nr] = choice->use[i];
		choice->candidate[choice->nr].slabs = choice->use[i].slabs;
		choice->candidate[choice->nr].full_ms = choice->use[i].full_ms;
		choice->candidate[choice->nr++].shaky = choice->use[i].shaky;
	}
	return choice;
}

static void map_choice_free(struct map_choice *choice, int except)
{
	int i;

	for (i = 0; i < choice->nr; i++)
		if (i != except)
			farswap_donor_unuse(choice->use[i].donor);
	kfree(choice);
}

/* Query how much memory a donor could lend. */
static void map_query(struct map_choice *choice, struct farswap_placement *placement, int nth,
		      unsigned long until)
{
	struct farswap_donor *donor = choice->use[nth].donor;
	u64 start = ktime_get_ns(), free_bytes;

	if (time_after(jiffies, until) ||
	    donor->transport->query(donor->session, &free_bytes)) {
		farswap_placement_failed(placement, nth);
		return;
	}
	farswap_latency_add(FARSWAP_LATENCY_QUERY, ktime_get_ns() - start);
	farswap_donor_note_room(donor, free_bytes,
				farswap_placement_answered(placement, nth, free_bytes));
}

/* Request a region from a donor that reported room. */
static struct farswap_region *map_ask(struct map_choice *choice,
				      struct farswap_placement *placement, int nth, u64 name)
{
	struct farswap_donor *donor = choice->use[nth].donor;
	struct farswap_region *region = donor->transport->map(donor->session, name);

	if (!IS_ERR(region))
		return region;
	if (PTR_ERR(region) == -ENOSPC) {
		farswap_donor_note_room(donor, 0, false);
		farswap_placement_refused(placement, nth);
	} else {
		farswap_placement_failed(placement, nth);
	}
	return region;
}

/**
 * map_select() - find a donor for a slab and get a region from it
 * @slab:	the slab
 * @until:	jiffies after which no further donor is asked
 * @region:	set to the region
 * @epoch:	set to the epoch of the donor's session
 *
 * placement.c decides which donors are queried, and which one gets the slab. A machine that
 * already has a region of the slab is left out.
 *
 * Context: may sleep, for a few round trips, or until @until if connected donors do not answer.
 * Return: the donor, in use until farswap_donor_unuse(); ERR_PTR(-ENOSPC) if the donors have no
 * room, -EHOSTUNREACH if none answered, or -ENOMEM.
 */
static struct farswap_donor *map_select(const struct farswap_slab *slab,
					unsigned long until,
					struct farswap_region **region,
					unsigned int *epoch)
{
	u64 name = (u64)slab->device->type << 32 | slab->index;
	u64 bytes = farswap_slab_bytes(slab, slab->nr_slots);
	struct map_choice *choice = map_choice_alloc(slab);
	int pick[FARSWAP_PLACEMENT_ASK], nr, best, i;
	struct farswap_placement placement;
	struct farswap_donor *donor;
	bool full;

	if (!choice)
		return ERR_PTR(-ENOMEM);
	farswap_placement_begin(&placement, choice->candidate, choice->nr, bytes,
				get_random_u32_below);
	while (time_before_eq(jiffies, until) &&
	       (nr = farswap_placement_next(&placement, pick)) > 0) {
		for (i = 0; i < nr; i++)
			map_query(choice, &placement, pick[i], until);
		while (time_before_eq(jiffies, until) &&
		       (best = farswap_placement_best(&placement)) >= 0) {
			*region = map_ask(choice, &placement, best, name);
			if (IS_ERR(*region))
				continue;
			donor = choice->use[best].donor;
			*epoch = choice->use[best].epoch;
			map_choice_free(choice, best);
			return donor;
		}
	}
	full = farswap_placement_is_full(&placement);
	if (choice->has_neighbour)
		farswap_stat_add(FARSWAP_STAT_MAP_SAME_MACHINE, 1);
	map_choice_free(choice, -1);
	return ERR_PTR(full ? -ENOSPC : -EHOSTUNREACH);
}

/* Free the seals of a slab that has no regions. */
static void map_release_seals(struct farswap_slab *slab)
{
	unsigned int slot;
	pgoff_t offset;

	if (!slab->device->protect || slab->pack)
		return;
	for (slot = 0; slot < slab->nr_slots; slot += FARSWAP_PROTECT_PAGES) {
		offset = farswap_slab_offset(slab, slot);
		if (offset < slab->device->map->nr_slots)
			farswap_protect_release(slab->device->protect, offset);
	}
}

/* Release the region after the last I/O, or hand it over to another slab. */
static void map_release_work(struct work_struct *work)
{
	struct farswap_mapping *mapping = container_of(work, struct farswap_mapping,
						       work);
	struct farswap_slab *slab = mapping->slab;
	struct farswap_donor *donor = mapping->donor;
	/* The slab's remote bits are cleared before another slab or client can get the region. */
	bool last = farswap_unmap_end(mapping);

	if (last)
		map_release_seals(slab);
	if (!last || !farswap_handover_end(mapping))
		donor->transport->release(mapping->region);

	spin_lock(&farswap_state_lock);
	list_del(&mapping->donor_entry);
	hash_del(&mapping->id_entry);
	donor->nr_slabs--;
	/* A donor that has requested the region is short of memory, and stays marked full. */
	if (!farswap_mapping_is(mapping, FARSWAP_MAPPING_EVICT_REQUESTED))
		donor->is_full = false;
	slab->device->busy--;
	if (last)
		farswap_slab_set_state(slab, FARSWAP_SLAB_UNMAPPED);
	/*
	 * The waiter also flushes the workqueue before it frees the slab. A slab that is still hot
	 * is mapped again at its next I/O.
	 */
	farswap_unmap_wake();
	spin_unlock(&farswap_state_lock);
	farswap_evict_exit(mapping);
	farswap_mapping_free(mapping);
	farswap_donor_put(donor);
}

/**
 * farswap_mapping_make() - get a region for a slab
 * @slab:	the slab
 * @until:	jiffies after which no further donor is asked
 * @epoch:	set to the epoch of the donor's session
 *
 * The region is on a machine where the slab has no other. All slots start stale in the new
 * mapping, because a store that began earlier may still set their remote bits. The donor is in
 * use until farswap_donor_unuse(). The caller calls farswap_mapping_link() next.
 *
 * Context: may sleep, as map_select() does.
 * Return: the mapping, which no other thread knows; ERR_PTR(-ENOMEM), or the error of
 * map_select().
 */
struct farswap_mapping *farswap_mapping_make(struct farswap_slab *slab,
					     unsigned long until,
					     unsigned int *epoch)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY;
	struct farswap_mapping *mapping;
	int err = -ENOMEM;

	mapping = kvzalloc(struct_size(mapping, missing, BITS_TO_LONGS(slab->nr_slots)),
			   gfp);
	if (!mapping)
		return ERR_PTR(err);
	if (!farswap_mapping_counts_alloc(mapping, gfp))
		goto out_free;
	bitmap_fill(mapping->missing, slab->nr_slots);
	mapping->donor = farswap_handover_take(slab, &mapping->region, epoch) ?:
			 map_select(slab, until, &mapping->region, epoch);
	if (IS_ERR(mapping->donor)) {
		err = PTR_ERR(mapping->donor);
		goto out_free;
	}
	mapping->slab = slab;
	mapping->id = mapping->donor->transport->region_id(mapping->region);
	INIT_WORK(&mapping->work, map_release_work);
	INIT_WORK(&mapping->evacuate_work, farswap_evacuate_mapping_work);
	INIT_DELAYED_WORK(&mapping->fetch_work, farswap_evacuate_fetch_work);
	farswap_evict_init(mapping);
	return mapping;

out_free:
	free_percpu(mapping->counts);
	kvfree(mapping);
	return ERR_PTR(err);
}

/**
 * farswap_mapping_link() - register a mapping with its donor
 * @mapping:	a new mapping
 * @epoch:	the epoch of the donor's session when the region was requested
 *
 * From now on the mapping is found when the donor loses or requests the region. If the donor has
 * already requested it, the mapping is marked, and the caller does not use it.
 *
 * Context: process context, under farswap_state_lock.
 * Return: false if the donor's session has failed since then, so that the region is dead.
 */
bool farswap_mapping_link(struct farswap_mapping *mapping, unsigned int epoch)
{
	struct farswap_donor *donor = mapping->donor;

	lockdep_assert_held(&farswap_state_lock);
	kref_get(&donor->ref);
	list_add_tail(&mapping->donor_entry, &donor->mappings);
	donor->nr_slabs++;
	mapping->slab->device->busy++;
	if (farswap_evict_was_early(mapping))
		set_bit(FARSWAP_MAPPING_REVOKED, &mapping->flags);
	if (donor->epoch != epoch || donor->state == FARSWAP_DONOR_CONNECTING)
		return false;
	/* A restarted daemon reuses region IDs, so a dead region's ID is not added. */
	hash_add(donor->mappings_by_id, &mapping->id_entry, farswap_region_hash(mapping->id));
	return true;
}

static void map_failed(struct farswap_slab *slab)
{
	unsigned long pause = MAP_RETRY_MIN << min_t(u8, slab->failures, 8);

	farswap_handover_drop(slab);
	farswap_stat_add(FARSWAP_STAT_MAP_FAILED, 1);
	slab->failures = min(slab->failures + 1, 8);
	WRITE_ONCE(slab->retry_at, jiffies +
		   min_t(unsigned long, pause, MAP_RETRY_MAX));

	spin_lock(&farswap_state_lock);
	farswap_slab_set_state(slab, FARSWAP_SLAB_UNMAPPED);
	farswap_unmap_wake();
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_slab_map_cancel() - cancel an attempt to map a slab that has not started
 * @slab:	a slab of a device on which no new mapping is made
 *
 * Context: process context; does not wait.
 */
void farswap_slab_map_cancel(struct farswap_slab *slab)
{
	bool cancelled;

	/* The work is queued under the same lock. */
	spin_lock(&farswap_state_lock);
	cancelled = slab->state == FARSWAP_SLAB_MAPPING &&
		    cancel_work(&slab->map_work);
	spin_unlock(&farswap_state_lock);
	if (cancelled)
		map_failed(slab);
}

/* The donor has already requested the region: drain the slab, and delay the next attempt. */
static void map_drain_early(struct farswap_slab *slab)
{
	WRITE_ONCE(slab->retry_at, jiffies + MAP_RETRY_MIN);
	farswap_unmap_start(slab, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_EVICTED);
}

/*
 * Add a new mapping to its slab and let I/O begin, or drain the slab at once if the mapping came
 * too late. The device stays busy with the slab until map_end().
 */
static void map_done(struct farswap_slab *slab, struct farswap_mapping *mapping,
		     unsigned int epoch)
{
	bool alive;

	slab->failures = 0;
	farswap_stat_add(FARSWAP_STAT_SLAB_MAPPED, 1);

	spin_lock(&farswap_state_lock);
	alive = farswap_mapping_link(mapping, epoch);
	slab->idle_looks = 0;
	slab->no_room = false;
	slab->gave.hot = 0;
	WRITE_ONCE(slab->mapped_at, jiffies);
	slab->stopgap = 0;
	slab->repair_at = jiffies;
	slab->device->busy++;
	farswap_mapping_add(mapping);
	farswap_slab_set_state(slab, FARSWAP_SLAB_MAPPED);
	if (!alive)
		farswap_unmap_start(slab, FARSWAP_SLAB_LOST, FARSWAP_STAT_SLAB_LOST);
	else if (farswap_mapping_is(mapping, FARSWAP_MAPPING_REVOKED))
		map_drain_early(slab);
	else if (mapping->donor->state == FARSWAP_DONOR_LEAVING ||
		 slab->device->closing || !farswap_may_store())
		farswap_unmap_start(slab, FARSWAP_SLAB_DRAINING,
				    FARSWAP_STAT_SLAB_UNMAPPED);
	spin_unlock(&farswap_state_lock);
	farswap_latency_add(FARSWAP_LATENCY_MAP, ktime_get_ns() - slab->wanted_ns);
	farswap_sweep_start();
}

static void map_end(struct farswap_device *device)
{
	spin_lock(&farswap_state_lock);
	device->busy--;
	farswap_unmap_wake();
	spin_unlock(&farswap_state_lock);
}

/* Allocate the seals of a slab, so that no store has to. Those of packed pages come with stores. */
static bool map_reserve_seals(struct farswap_slab *slab)
{
	struct farswap_protect *protect = slab->device->protect;
	unsigned int slot;
	pgoff_t offset;

	if (!protect || slab->pack)
		return true;
	for (slot = 0; slot < slab->nr_slots; slot += FARSWAP_PROTECT_PAGES) {
		offset = farswap_slab_offset(slab, slot);
		if (offset < slab->device->map->nr_slots &&
		    !farswap_protect_reserve(protect, offset, true)) {
			map_release_seals(slab);
			return false;
		}
	}
	return true;
}

void farswap_slab_map_work(struct work_struct *work)
{
	struct farswap_slab *slab = container_of(work, struct farswap_slab,
						 map_work);
	struct farswap_device *device = slab->device;
	struct farswap_mapping *mapping;
	struct farswap_donor *donor;
	unsigned int epoch;

	if (!farswap_may_store() || READ_ONCE(device->closing) ||
	    (slab->pack && !farswap_pack_prepare(slab)) ||
	    (!slab->bits.remote &&
	     farswap_slotbits_alloc(&slab->bits, slab->nr_slots)) ||
	    !map_reserve_seals(slab)) {
		map_failed(slab);
		return;
	}
	mapping = farswap_mapping_make(slab, jiffies + MAP_TIME, &epoch);
	if (IS_ERR(mapping)) {
		if (PTR_ERR(mapping) == -ENOSPC) {
			farswap_cgroup_full();
			farswap_handover_wait(slab);
		}
		map_failed(slab);
		return;
	}
	donor = mapping->donor;
	map_done(slab, mapping, epoch);
	farswap_donor_unuse(donor);
	farswap_rebuild_look(slab);
	farswap_replica_add(slab, farswap_replicas_wanted(), jiffies + MAP_TIME);
	map_end(device);
}
