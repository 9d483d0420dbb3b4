// SPDX-License-Identifier: GPL-2.0
/*
 * Swap devices come and go: which of them farswap serves, and what must have ended before
 * one is forgotten.
 *
 * Locking: farswap_devices_lock.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/farswap.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "internal.h"

/* Of the slots in a cluster of the kernel's; log2. */
#ifdef CONFIG_THP_SWAP
#define SWAPON_CLUSTER_SHIFT	HPAGE_PMD_ORDER
#else
#define SWAPON_CLUSTER_SHIFT	8
#endif

/* Can farswap serve it? If not, say so once. */
static bool swapon_device_usable(const struct swap_info_struct *si, unsigned int type)
{
	/* Other flags change meanwhile, this one never. */
	if (data_race(si->flags) & SWP_SYNCHRONOUS_IO) {
		pr_info("swap type %u is memory itself (zram, brd, pmem): left alone\n",
			type);
		return false;
	}
	if (!si->bdev) {
		pr_info("swap type %u is a file that its file system writes (NFS): left alone\n",
			type);
		return false;
	}
	return true;
}

/**
 * farswap_swapon() - serve a swap device from now on
 * @si:		the kernel's
 * @type:	its swap type
 * @nr_slots:	its slots
 *
 * Failing to do so only leaves the device as it would be without farswap. A
 * device that is served already stays as it is.
 *
 * Context: may sleep.
 */
void farswap_swapon(struct swap_info_struct *si, unsigned int type,
		    unsigned long nr_slots)
{
	unsigned int shift = ilog2(farswap_settings.slab_mb) + 20 - PAGE_SHIFT, stride;
	struct farswap_device *device;

	if (type >= MAX_SWAPFILES || !swapon_device_usable(si, type))
		return;

	mutex_lock(&farswap_devices_lock);
	if (farswap_device_find(type))
		goto out_unlock;
	device = kvzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		goto out_warn;
	if (farswap_backups_init(&device->backups))
		goto out_free;
	device->si = si;
	device->type = type;
	stride = max(farswap_hook_stride(si), SWAPON_CLUSTER_SHIFT);
	device->map = farswap_slabmap_alloc(nr_slots, shift, SWAPON_CLUSTER_SHIFT,
					    stride - SWAPON_CLUSTER_SHIFT);
	if (!device->map)
		goto out_exit_backups;
	rcu_assign_pointer(farswap_devices[type], device);
	goto out_unlock;

out_exit_backups:
	farswap_backups_exit(&device->backups);
out_free:
	kvfree(device);
out_warn:
	pr_warn("no memory for the slab map of swap type %u: it goes on without remote memory\n",
		type);
out_unlock:
	mutex_unlock(&farswap_devices_lock);
}

static void swapon_device_remove(struct farswap_device *device)
{
	lockdep_assert_held(&farswap_devices_lock);

	/* No new mapping; those under way end, then those that are. */
	spin_lock(&farswap_state_lock);
	device->closing = true;
	spin_unlock(&farswap_state_lock);
	/* No slot is in use: if the adapter has no memory, that is for other devices' pages. */
	while (farswap_slabs_unmap(device, NULL))
		;
	farswap_load_flush();
	farswap_backup_cancel(device);

	mutex_lock(&farswap_devices_walk_lock);
	RCU_INIT_POINTER(farswap_devices[device->type], NULL);
	mutex_unlock(&farswap_devices_walk_lock);
	/* Invalidation and farswap_poll_lock() look without a slot's protection. */
	synchronize_rcu();
	farswap_slabs_free(device);
	farswap_slabmap_free(device->map);
	farswap_backups_exit(&device->backups);
	kvfree(device);
}

/**
 * farswap_swapoff() - forget a swap device
 * @type:	its swap type
 *
 * No slot of it is in use. Does nothing for a device that is not served.
 *
 * Context: may sleep, as long as an attempt to map a slab of it takes (ten seconds if
 * donors don't answer) plus io_timeout_ms plus what the device takes for what is being
 * written to it; and until what other devices' slabs do before they leave has ended.
 */
void farswap_swapoff(unsigned int type)
{
	struct farswap_device *device;

	mutex_lock(&farswap_devices_lock);
	device = farswap_device_find(type);
	if (device)
		swapon_device_remove(device);
	mutex_unlock(&farswap_devices_lock);
}

/**
 * farswap_swapoff_drain() - have no I/O of ours reach a device that is going
 * @type:	its swap type
 *
 * Swapoff has emptied it, and no slot of it will be used again; or it is just being turned
 * on, which can't always be told, and then loses nothing by this. The kernel takes down the
 * extents and lets a swap file's file system move its blocks before it calls
 * farswap_swapoff(), so the writes of slots that were freed meanwhile must have ended by
 * now, and so must the reading of lost slabs' pages.
 *
 * Context: may sleep, as long as the device takes for what is in flight.
 */
void farswap_swapoff_drain(unsigned int type)
{
	struct farswap_device *device;

	mutex_lock(&farswap_devices_lock);
	device = farswap_device_find(type);
	if (device) {
		farswap_rebuild_cancel(device);
		farswap_backup_drain(device);
	}
	mutex_unlock(&farswap_devices_lock);
}

/**
 * farswap_devices_flush() - wait until the devices have all that is staged
 *
 * And one page each, at least, if there are any that they don't have.
 *
 * Context: under farswap_devices_lock; may sleep, as long as the devices take.
 * Return: 0; -EIO if one fails to write some of it; -ENOMEM if no page could be read for want of
 * memory for the adapter.
 */
int farswap_devices_flush(void)
{
	struct farswap_device *device;
	unsigned int type = 0, failed;
	int err = 0, starved = 0;

	while ((device = farswap_device_next(&type))) {
		failed = farswap_backup_failures(device);
		/* Once is enough, and takes long. */
		if (!starved)
			starved = farswap_home_probe(device);
		if (farswap_backup_flush(device, failed))
			err = -EIO;
	}
	return err ?: starved;
}

static unsigned long swapon_device_stranded(const struct farswap_device *device)
{
	unsigned long stranded = 0, slot, i;

	for (i = 0; i < device->map->nr_slabs; i++) {
		struct farswap_slab *slab = READ_ONCE(device->map->slab[i]);

		if (!slab || !farswap_slab_has_bits(slab))
			continue;
		for_each_set_bit(slot, slab->bits.unbacked, slab->nr_slots)
			stranded += !farswap_slab_zero(slab, slot) &&
				    !farswap_device_keep(device, farswap_slab_offset(slab, slot));
		cond_resched();
	}
	return stranded;
}

/**
 * farswap_devices_stranded() - pages in use that neither memory nor the devices have
 *
 * Pages in memory are marked dirty, so that the devices will get them. Nothing is stored remotely
 * any more.
 *
 * Context: may sleep.
 * Return: how many.
 */
unsigned long farswap_devices_stranded(void)
{
	struct farswap_device *device;
	unsigned long stranded = 0;
	unsigned int type = 0;

	mutex_lock(&farswap_devices_walk_lock);
	while ((device = farswap_device_next(&type)))
		stranded += swapon_device_stranded(device);
	mutex_unlock(&farswap_devices_walk_lock);
	return stranded;
}

/**
 * farswap_devices_remove() - forget all of them
 *
 * The hook is gone and everything is drained.
 *
 * Context: may sleep.
 */
void farswap_devices_remove(void)
{
	struct farswap_device *device;
	unsigned int type = 0;

	mutex_lock(&farswap_devices_lock);
	while ((device = farswap_device_next(&type)))
		swapon_device_remove(device);
	mutex_unlock(&farswap_devices_lock);
}
