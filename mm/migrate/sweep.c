// SPDX-License-Identifier: GPL-2.0
/*
 * Gives back the regions of slabs that are of no use: those that hold no page any
 * more, and those that went cold (ColdSlab, Infiniswap section 4.3, which the
 * paper proposes and leaves out). Has replicas repaired that are not what they should
 * be, and cold slabs give way to hot ones when no donor has room. Looks once a second
 * while a slab is mapped.
 *
 * Locking: the walk is under farswap_devices_lock; slab->idle_looks under
 * farswap_state_lock.
 */
#include <linux/bitmap.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Looks in a row that must find a slab of no use. */
#define SWEEP_LOOKS	10
/* For a donor to stay suspect long enough; see replica.c. */
#define SWEEP_SOON	(HZ * 3 / 10)

static void sweep_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(sweep_work, sweep_work_fn);
static DECLARE_DELAYED_WORK(sweep_soon_work, sweep_work_fn);

/*
 * What only a donor has is fetched before the region is given back. A slab that is empty but
 * hot would be mapped again at once.
 */
static bool sweep_is_idle(struct farswap_slab *slab)
{
	u32 activity = farswap_activity_read(&slab->activity, farswap_slab_second());

	if (activity < READ_ONCE(farswap_settings.coldslab))
		return true;
	if (activity >= max(READ_ONCE(farswap_settings.hotslab), 1U))
		return false;
	/* A bit that changes meanwhile is seen at the next look. */
	return data_race(bitmap_empty(slab->bits.remote, slab->nr_slots));
}

/* Whether it is mapped, and stays so. */
static bool sweep_slab(struct farswap_slab *slab)
{
	bool idle;

	if (READ_ONCE(slab->state) != FARSWAP_SLAB_MAPPED ||
	    !farswap_slab_has_bits(slab))
		return false;
	farswap_replica_look(slab);
	farswap_rebuild_look(slab);
	idle = sweep_is_idle(slab);

	spin_lock(&farswap_state_lock);
	slab->idle_looks = idle ? slab->idle_looks + 1 : 0;
	idle = slab->idle_looks >= SWEEP_LOOKS;
	if (idle)
		farswap_drain_start(slab, FARSWAP_SLAB_DRAINING,
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
			farswap_handover_look(pair, slab);
		}
		cond_resched();
	}
	return mapped;
}

static void sweep_work_fn(struct work_struct *work)
{
	struct farswap_giveway_pair pair = {};
	struct farswap_device *device;
	unsigned int type = 0;
	bool mapped = false;

	/* Who holds it may wait for a donor, and gives regions back anyway. */
	if (!mutex_trylock(&farswap_devices_lock)) {
		farswap_sweep_start();
		return;
	}
	while ((device = farswap_device_next(&type)))
		mapped |= sweep_device(device, &pair);
	farswap_handover_begin(&pair);
	mutex_unlock(&farswap_devices_lock);
	if (mapped)
		farswap_sweep_start();
}

/**
 * farswap_sweep_start() - a slab is mapped: look at it from now on
 *
 * Context: any.
 */
void farswap_sweep_start(void)
{
	queue_delayed_work(system_power_efficient_wq, &sweep_work,
			   round_jiffies_relative(HZ));
}

/**
 * farswap_sweep_soon() - look at the slabs before their next turn: a donor is suspect
 *
 * Context: any.
 */
void farswap_sweep_soon(void)
{
	queue_delayed_work(system_power_efficient_wq, &sweep_soon_work, SWEEP_SOON);
}

/**
 * farswap_sweep_stop() - look no more
 *
 * No slab is mapped, nor will be.
 *
 * Context: may sleep.
 */
void farswap_sweep_stop(void)
{
	cancel_delayed_work_sync(&sweep_soon_work);
	cancel_delayed_work_sync(&sweep_work);
}
