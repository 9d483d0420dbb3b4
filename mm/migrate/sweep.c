// SPDX-License-Identifier: GPL-2.0
/*
 * The sweep. Once a second while a slab is mapped, it looks at all slabs. It gives back the
 * regions of slabs that hold no page any more, and of cold slabs (ColdSlab, Infiniswap section
 * 4.3, which the paper proposes and leaves out). It has replicas repaired and lost slabs rebuilt.
 * When no donor has room, it lets a cold slab give way to a hot one: the handover, below.
 *
 * Locking: the walk is under farswap_devices_lock; slab->idle_looks under farswap_state_lock.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/workqueue.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "migrate/giveway.h"

/*
 * The handover. When no donor has room, the coldest slab gives way to the hottest slab that waits,
 * if giveway.c says so, and its region is handed over to that slab. The donor is not involved:
 * if the region went back to the donor first, another client could get it.
 *
 * A slab gives way only if all of its pages are on the swap device, so nothing is copied. The
 * other slab begins with an empty region, as after a MAP.
 *
 * Locking: farswap_state_lock. From the choice of the two slabs until the handover, the slab that
 * gets the region is FARSWAP_SLAB_MAPPING, so its device stays.
 */

/* A slab that was mapped more recently does not give way: its pages may be about to be stored. */
#define HANDOVER_STAY	(10 * HZ)

static struct farswap_giveway handover_giveway;

/* Will the donor leave us the region? */
static bool handover_is_ours(const struct farswap_mapping *mapping)
{
	return !farswap_mapping_is(mapping, FARSWAP_MAPPING_EVICT_REQUESTED) &&
	       !farswap_mapping_is(mapping, FARSWAP_MAPPING_DEADLINE_PASSED) &&
	       farswap_donor_works(mapping->donor);
}

/* Check that the slab has one region, which the donor does not request, and no sole copy. */
static bool handover_may_give(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, usable = 0, nr = 0;

	if (!farswap_slab_has_bits(slab) || READ_ONCE(slab->sole) ||
	    time_before(jiffies, READ_ONCE(slab->mapped_at) + HANDOVER_STAY))
		return false;
	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		nr += !!mapping;
		usable += mapping && !farswap_mapping_goes(mapping) &&
			  handover_is_ours(mapping);
	}
	rcu_read_unlock();
	return nr == 1 && usable == 1;
}

static bool handover_may_get(const struct farswap_slab *slab)
{
	return READ_ONCE(slab->state) == FARSWAP_SLAB_UNMAPPED && READ_ONCE(slab->no_room) &&
	       !READ_ONCE(slab->device->closing) && farswap_device_writable(slab->device);
}

/**
 * handover_look() - record a slab that could give way, or that waits for room
 * @pair:	the coldest and the hottest slab so far; zeroed before the first call
 * @slab:	the slab
 *
 * Context: process context; does not sleep.
 */
static void handover_look(struct farswap_giveway_pair *pair, struct farswap_slab *slab)
{
	u32 second = farswap_slab_second();
	s32 idle = second - READ_ONCE(slab->activity.second);

	if (handover_may_get(slab))
		farswap_giveway_waiting(pair, slab,
					farswap_activity_read(&slab->activity, second));
	else if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED && handover_may_give(slab))
		farswap_giveway_mapped(pair, slab,
				       farswap_activity_longer(&slab->activity, second),
				       max(idle, 0));
}

/**
 * handover_begin() - let the coldest slab give way to the hottest, if that is worth it
 * @pair:	the coldest and the hottest slab; both still exist
 *
 * Context: process context; does not sleep.
 */
static void handover_begin(const struct farswap_giveway_pair *pair)
{
	u32 hotslab = READ_ONCE(farswap_settings.hotslab), second = farswap_slab_second();
	struct farswap_slab *from = pair->coldest, *to = pair->hottest;

	if (!farswap_giveway_is_worth(pair, hotslab))
		return;
	spin_lock(&farswap_state_lock);
	if (farswap_giveway_is_due(&handover_giveway, second) && farswap_may_store() &&
	    from->state == FARSWAP_SLAB_MAPPED && handover_may_give(from) &&
	    handover_may_get(to) && farswap_slab_set_state(to, FARSWAP_SLAB_MAPPING)) {
		trace_farswap_slab_gives_way(from->device->type, from->index, pair->cold,
					     to->device->type, to->index, pair->hot);
		farswap_giveway_done(&handover_giveway, second);
		from->gave.second = second;
		from->gave.hot = pair->hot;
		from->heir = to;
		to->wanted_ns = ktime_get_ns();
		farswap_unmap_start(from, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_GAVE_WAY);
	}
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_handover_end() - hand over the region of a slab whose last mapping has ended
 * @mapping:	the mapping, which is already removed from the slab
 *
 * If the waiting slab cannot get the region, it asks the donors once more.
 *
 * Context: process context; does not sleep.
 * Return: true if the region is handed over; false if the caller has to release it.
 */
bool farswap_handover_end(struct farswap_mapping *mapping)
{
	struct farswap_donor *donor = mapping->donor;
	struct farswap_slab *heir;
	bool handed;

	spin_lock(&farswap_state_lock);
	heir = mapping->slab->heir;
	mapping->slab->heir = NULL;
	handed = heir && hash_hashed(&mapping->id_entry) &&
		 !farswap_mapping_is(mapping, FARSWAP_MAPPING_REVOKED) &&
		 handover_is_ours(mapping) && farswap_donor_use(donor);
	if (handed) {
		/* From here on farswap_mapping_link() finds out about an EVICT, as after a MAP. */
		hash_del(&mapping->id_entry);
		heir->handed_donor = donor;
		heir->handed_region = mapping->region;
		heir->handed_epoch = donor->epoch;
	}
	if (heir)
		farswap_slab_map_start(heir);
	spin_unlock(&farswap_state_lock);
	return handed;
}

/**
 * farswap_handover_take() - take the region that was handed over to a slab
 * @slab:	a slab that is being mapped
 * @region:	set to the region
 * @epoch:	set to the epoch of the donor's session
 *
 * Context: process context; does not sleep.
 * Return: the donor, in use until farswap_donor_unuse(); NULL if there is no such region.
 */
struct farswap_donor *farswap_handover_take(struct farswap_slab *slab,
					    struct farswap_region **region,
					    unsigned int *epoch)
{
	struct farswap_donor *donor = slab->handed_donor;

	if (!donor)
		return NULL;
	*region = slab->handed_region;
	*epoch = slab->handed_epoch;
	slab->handed_donor = NULL;
	return donor;
}

/**
 * farswap_handover_drop() - release the region that was handed over to a slab, if any
 * @slab:	a slab that will not be mapped
 *
 * Context: process context; does not sleep.
 */
void farswap_handover_drop(struct farswap_slab *slab)
{
	struct farswap_region *region;
	struct farswap_donor *donor;
	unsigned int epoch;

	donor = farswap_handover_take(slab, &region, &epoch);
	if (!donor)
		return;
	donor->transport->release(region);
	farswap_donor_unuse(donor);
}

/**
 * farswap_handover_wait() - record that a slab waits because no donor has room
 * @slab:	a slab that is being mapped
 *
 * Context: process context; does not sleep.
 */
void farswap_handover_wait(struct farswap_slab *slab)
{
	u32 second = farswap_slab_second();
	bool wanted;

	spin_lock(&farswap_state_lock);
	slab->no_room = true;
	wanted = farswap_giveway_wanted(&handover_giveway, &slab->gave,
					farswap_activity_read(&slab->activity, second), second);
	spin_unlock(&farswap_state_lock);
	if (wanted)
		farswap_stat_add(FARSWAP_STAT_SLAB_WANTED_BACK, 1);
}

/* Consecutive sweeps that have to find a slab idle before its region is given back. */
#define SWEEP_LOOKS	10
/* Delay until a donor has been suspect long enough for replica.c; see REPLICA_SUSPECT_TIME. */
#define SWEEP_SOON	(HZ * 3 / 10)

static void sweep_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(sweep_work, sweep_work_fn);
static DECLARE_DELAYED_WORK(sweep_soon_work, sweep_work_fn);

/* Return true if no region has a page of the slab. */
static bool sweep_is_empty(const struct farswap_slab *slab)
{
	/* A bit that changes during this scan is seen by the next one. */
	return data_race(bitmap_empty(slab->bits.remote, slab->nr_slots));
}

/* Return true if repack.c has moved all pages of the slab elsewhere; it gets no others. */
static bool sweep_is_repacked(const struct farswap_slab *slab)
{
	return slab->pack && READ_ONCE(slab->pack->closed) && sweep_is_empty(slab);
}

/*
 * Check whether the slab's region can be given back; its sole copies are fetched first. A slab
 * that is empty but hot keeps its region, because it would be mapped again at once.
 */
static bool sweep_is_idle(struct farswap_slab *slab)
{
	u32 activity = farswap_activity_read(&slab->activity, farswap_slab_second());

	if (activity < READ_ONCE(farswap_settings.coldslab))
		return true;
	if (activity >= max(READ_ONCE(farswap_settings.hotslab), 1U) &&
	    (slab->pack || !farswap_packs_on()))
		return false;
	return sweep_is_empty(slab);
}

/* Sweep one slab; return true if it is mapped and stays so. */
static bool sweep_slab(struct farswap_slab *slab)
{
	bool idle, repacked;

	farswap_rebuild_map(slab);
	if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED ||
	    !farswap_slab_has_bits(slab))
		return false;
	farswap_replica_look(slab);
	farswap_rebuild_look(slab);
	repacked = sweep_is_repacked(slab);
	idle = repacked || sweep_is_idle(slab);

	spin_lock(&farswap_state_lock);
	slab->idle_looks = idle ? slab->idle_looks + 1 : 0;
	idle = repacked || slab->idle_looks >= SWEEP_LOOKS;
	if (idle)
		farswap_unmap_start(slab, FARSWAP_SLAB_DRAINING,
				    FARSWAP_STAT_SLAB_COLD);
	spin_unlock(&farswap_state_lock);
	return !idle;
}

static bool sweep_device(struct farswap_device *device, struct farswap_giveway_pair *pair)
{
	bool mapped = false;
	unsigned long i;

	for (i = 0; i < device->map->nr_slabs; i++) {
		struct farswap_slab *slab = READ_ONCE(device->map->slab[i]);

		if (slab) {
			mapped |= sweep_slab(slab);
			handover_look(pair, slab);
		}
		cond_resched();
	}
	farswap_repack_look(device);
	return mapped;
}

static void sweep_work_fn(struct work_struct *work)
{
	struct farswap_giveway_pair pair = {};
	struct farswap_device *device;
	unsigned int type = 0;
	bool mapped = false;

	/* The holder of the lock may wait for a donor, and gives back regions anyway. */
	if (!mutex_trylock(&farswap_devices_lock)) {
		farswap_sweep_start();
		return;
	}
	while ((device = farswap_device_next(&type)))
		mapped |= sweep_device(device, &pair);
	handover_begin(&pair);
	mutex_unlock(&farswap_devices_lock);
	if (mapped)
		farswap_sweep_start();
}

/**
 * farswap_sweep_start() - schedule the next sweep, because a slab is mapped
 *
 * Context: any.
 */
void farswap_sweep_start(void)
{
	queue_delayed_work(system_power_efficient_wq, &sweep_work,
			   round_jiffies_relative(HZ));
}

/**
 * farswap_sweep_soon() - schedule an earlier sweep, because a donor is suspect
 *
 * Context: any.
 */
void farswap_sweep_soon(void)
{
	queue_delayed_work(system_power_efficient_wq, &sweep_soon_work, SWEEP_SOON);
}

/**
 * farswap_sweep_stop() - stop sweeping
 *
 * The caller ensures that no slab is mapped, and that none will be.
 *
 * Context: may sleep.
 */
void farswap_sweep_stop(void)
{
	cancel_delayed_work_sync(&sweep_soon_work);
	cancel_delayed_work_sync(&sweep_work);
}
