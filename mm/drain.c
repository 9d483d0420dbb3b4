// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a slab's mapping: its donor wants the region back or has died, it
 * is not used, or we leave.
 *
 * Locking: farswap_state_lock covers states and lists. No I/O begins after
 * farswap_drain_start(); the rest runs when the last reference on the slab is
 * gone, in farswap_drain_work().
 */
#include <linux/slab.h>

#include "internal.h"

/* A slab became unmapped. */
static DECLARE_WAIT_QUEUE_HEAD(drain_ended);

/**
 * farswap_drain_wake() - a slab became unmapped
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_drain_wake(void)
{
	wake_up_all(&drain_ended);
}

/**
 * farswap_drain_start() - let no I/O begin any more
 * @slab:	the slab; nothing happens unless it is mapped
 * @state:	what it becomes, draining or lost
 * @why:	what to count
 *
 * farswap_drain_work() follows the last I/O that runs.
 *
 * Context: process context, under farswap_state_lock; does not wait.
 */
void farswap_drain_start(struct farswap_slab *slab,
			 enum farswap_slab_state state, enum farswap_stat why)
{
	lockdep_assert_held(&farswap_state_lock);

	if (slab->state != FARSWAP_SLAB_MAPPED || !farswap_slab_set_state(slab, state))
		return;
	farswap_stat_add(why, 1);
	percpu_ref_kill(&slab->ref);
}

/**
 * farswap_drain_release() - the last I/O of a slab that is drained has ended
 * @ref:	the slab's
 *
 * Context: any up to softirq.
 */
void farswap_drain_release(struct percpu_ref *ref)
{
	struct farswap_slab *slab = container_of(ref, struct farswap_slab, ref);

	queue_work(farswap_wq, &slab->drain_work);
}

/**
 * farswap_drain_work() - give the region back
 * @work:	the slab's
 *
 * Context: may sleep.
 */
void farswap_drain_work(struct work_struct *work)
{
	struct farswap_slab *slab = container_of(work, struct farswap_slab,
						 drain_work);
	struct farswap_donor *donor = slab->donor;

	/* Before the region can be anyone else's. */
	farswap_slotbits_reset(&slab->bits, slab->nr_slots);
	donor->transport->release(slab->region);
	slab->region = NULL;
	slab->donor = NULL;

	spin_lock(&farswap_state_lock);
	list_del(&slab->donor_entry);
	donor->nr_slabs--;
	farswap_slab_set_state(slab, FARSWAP_SLAB_UNMAPPED);
	/*
	 * Who waits flushes the workqueue too before it frees the slab. A slab
	 * that is still hot is mapped again at its next I/O.
	 */
	farswap_drain_wake();
	spin_unlock(&farswap_state_lock);
	farswap_donor_put(donor);
}

/**
 * farswap_slab_evict() - a donor wants a region back
 * @donor:	the donor
 * @id:		its name for the region
 *
 * Infiniswap, section 4.4: stop, wait without polling, answer. A region that no
 * slab holds was given back already, or is about to become a slab's.
 *
 * Context: process context; does not wait.
 */
void farswap_slab_evict(struct farswap_donor *donor, u64 id)
{
	struct farswap_slab *slab;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(slab, &donor->slabs, donor_entry) {
		if (slab->state != FARSWAP_SLAB_MAPPED ||
		    donor->transport->region_id(slab->region) != id)
			continue;
		farswap_drain_start(slab, FARSWAP_SLAB_DRAINING,
				    FARSWAP_STAT_SLAB_EVICTED);
		goto out_unlock;
	}
	donor->early[donor->nr_early++ % FARSWAP_EARLY_EVICTS] = id;
out_unlock:
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_slab_activity() - how busy is a region
 * @donor:	the donor that asks
 * @id:		its name for the region
 *
 * Context: process context; does not wait.
 * Return: page I/Os a second; 0 for a region that no slab holds.
 */
u32 farswap_slab_activity(struct farswap_donor *donor, u64 id)
{
	struct farswap_slab *slab;
	u32 pages = 0;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(slab, &donor->slabs, donor_entry) {
		if (slab->state != FARSWAP_SLAB_MAPPED ||
		    donor->transport->region_id(slab->region) != id)
			continue;
		pages = farswap_activity_read(&slab->activity, farswap_slab_second());
		break;
	}
	spin_unlock(&farswap_state_lock);
	return pages;
}

/**
 * farswap_slabs_lose() - a donor's session has failed
 * @donor:	the donor
 *
 * Context: process context; does not wait.
 */
void farswap_slabs_lose(struct farswap_donor *donor)
{
	struct farswap_slab *slab;

	lockdep_assert_held(&farswap_state_lock);
	list_for_each_entry(slab, &donor->slabs, donor_entry)
		farswap_drain_start(slab, FARSWAP_SLAB_LOST, FARSWAP_STAT_SLAB_LOST);
}

static void drain_unmap(struct farswap_slab *slab)
{
	farswap_drain_start(slab, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_UNMAPPED);
}

/**
 * farswap_slabs_unmap() - give back all regions of a device, or of a donor
 * @device:	the device, on which no mapping begins any more; or NULL
 * @donor:	the donor, from which no region comes any more; or NULL
 *
 * Every page is on the swap device as well, so nothing is lost.
 *
 * Context: may sleep, until the I/O in flight has ended, on the swap device too,
 * and attempts to map a slab of @device that are being made.
 */
void farswap_slabs_unmap(struct farswap_device *device,
			 struct farswap_donor *donor)
{
	struct farswap_slab *slab;
	unsigned long i;

	if (donor) {
		spin_lock(&farswap_state_lock);
		list_for_each_entry(slab, &donor->slabs, donor_entry)
			drain_unmap(slab);
		spin_unlock(&farswap_state_lock);
		wait_event(drain_ended, !READ_ONCE(donor->nr_slabs));
	}
	if (device) {
		for (i = 0; i < device->map->nr_slabs; i++) {
			slab = READ_ONCE(device->map->slab[i]);
			if (!slab)
				continue;
			farswap_slab_map_cancel(slab);
			spin_lock(&farswap_state_lock);
			drain_unmap(slab);
			spin_unlock(&farswap_state_lock);
		}
		wait_event(drain_ended, !READ_ONCE(device->busy));
	}
	/* farswap_drain_work() may still be about to return. */
	flush_workqueue(farswap_wq);
}
