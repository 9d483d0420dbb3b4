// SPDX-License-Identifier: GPL-2.0
/*
 * Swapon and swapoff: this file decides which swap devices farswap serves, and waits for I/O to
 * end before it forgets one.
 *
 * Locking: farswap_devices_lock covers the changes of the table of devices.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/err.h>
#include <linux/farswap.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/swap.h>

#include "internal.h"

/* log2 of the slots in one of the kernel's swap clusters. */
#ifdef CONFIG_THP_SWAP
#define SWAPON_CLUSTER_SHIFT	HPAGE_PMD_ORDER
#else
#define SWAPON_CLUSTER_SHIFT	8
#endif

/*
 * Packed slabs beyond those that would take all slots: for pages that are being evacuated, and
 * for units that no page fits into.
 */
#define SWAPON_PACKS	16

/* Returns whether farswap can serve the device; logs the reason if it can't. */
static bool swapon_device_usable(const struct swap_info_struct *si, unsigned int type)
{
	/* The race is harmless: other flags may change now, this one does not. */
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

/* The best cipher that this machine has, with a new key. */
static struct farswap_cipher *swapon_cipher(void)
{
	struct farswap_cipher *cipher = ERR_PTR(-ENOENT);
	enum farswap_cipher_kind kind;
	u8 key[FARSWAP_CIPHER_KEY];
	int err = wait_for_random_bytes();

	if (err)
		return ERR_PTR(err);
	get_random_bytes(key, sizeof(key));
	for (kind = 0; kind < FARSWAP_CIPHERS && IS_ERR(cipher); kind++)
		cipher = farswap_cipher_alloc(kind, key);
	memzero_explicit(key, sizeof(key));
	return cipher;
}

/* Prepare the protection of a device's pages, if it is wanted. Return 0 or -errno. */
static int swapon_protect(struct farswap_device *device, unsigned long nr_slots)
{
	unsigned int protection = READ_ONCE(farswap_settings.protect);
	bool encrypt = protection == FARSWAP_PROTECT_ENCRYPT;
	struct farswap_cipher *cipher;

	if (protection == FARSWAP_PROTECT_NONE)
		return 0;
	if (!farswap_bounce_fill())
		return -ENOMEM;
	cipher = swapon_cipher();
	if (IS_ERR(cipher))
		return PTR_ERR(cipher);
	device->protect = farswap_protect_alloc(cipher, nr_slots, encrypt);
	if (!device->protect) {
		farswap_cipher_free(cipher);
		return -ENOMEM;
	}
	pr_info("swap type %u: donors get pages that are %s by %s\n", device->type,
		encrypt ? "encrypted" : "verified", farswap_cipher_name(cipher));
	return 0;
}

/**
 * farswap_swapon() - start to serve a swap device
 * @si:		the kernel's structure of the device
 * @type:	its swap type
 * @nr_slots:	number of its slots
 *
 * On failure the kernel uses the device as it would without farswap. A device that farswap
 * already serves is left unchanged.
 *
 * Context: may sleep.
 */
void farswap_swapon(struct swap_info_struct *si, unsigned int type,
		    unsigned long nr_slots)
{
	unsigned int shift = ilog2(farswap_settings.slab_mb) + 20 - PAGE_SHIFT, stride, class;
	struct farswap_device *device;
	int err;

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
	farswap_repack_init(device);
	device->pack_look_at = jiffies;
	for (class = 0; class < FARSWAP_CLASSES; class++)
		device->pack_full_until[class] = jiffies;
	stride = max(farswap_hook_stride(si), SWAPON_CLUSTER_SHIFT);
	device->map = farswap_slabmap_alloc(nr_slots, shift, SWAPON_CLUSTER_SHIFT,
					    stride - SWAPON_CLUSTER_SHIFT,
					    min(DIV_ROUND_UP(nr_slots, 1UL << shift) + SWAPON_PACKS,
						farswap_packs_max(shift + FARSWAP_UNITS_SHIFT)));
	if (!device->map)
		goto out_exit_backups;
	err = swapon_protect(device, nr_slots);
	if (err)
		goto out_free_map;
	device->places = farswap_places_alloc(nr_slots);
	rcu_assign_pointer(farswap_devices[type], device);
	farswap_cgroup_swapon(device);
	goto out_unlock;

out_free_map:
	pr_warn("swap type %u: pages can't be protected (%d): it goes on without remote memory\n",
		type, err);
	farswap_slabmap_free(device->map);
	farswap_backups_exit(&device->backups);
	kvfree(device);
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

	/* Prevent new mappings; farswap_slabs_unmap() waits for those being made, and ends all. */
	spin_lock(&farswap_state_lock);
	device->closing = true;
	spin_unlock(&farswap_state_lock);
	farswap_repack_cancel(device);
	/* Retry -ENOMEM: no slot is in use here, so only other devices' pages wait. */
	while (farswap_slabs_unmap(device, NULL))
		;
	farswap_load_flush();
	farswap_backup_cancel(device);

	mutex_lock(&farswap_devices_walk_lock);
	RCU_INIT_POINTER(farswap_devices[device->type], NULL);
	mutex_unlock(&farswap_devices_walk_lock);
	/* Invalidation and farswap_poll_lock() use RCU only; they need not hold a slot. */
	synchronize_rcu();
	farswap_cgroup_swapoff(device);
	farswap_slabs_free(device);
	farswap_slabmap_free(device->map);
	farswap_places_free(device->places);
	farswap_protect_free(device->protect);
	farswap_backups_exit(&device->backups);
	kvfree(device);
}

/**
 * farswap_swapoff() - stop serving a swap device
 * @type:	its swap type; none of its slots is in use
 *
 * This does nothing if farswap does not serve the device.
 *
 * Context: may sleep, as long as an attempt to map one of its slabs takes (ten seconds if donors
 * don't answer) plus io_timeout_ms plus the time of the device's writes in flight; and until the
 * evacuations of other devices' slabs have ended.
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
 * farswap_swapoff_drain() - wait until no I/O of farswap can reach a device
 * @type:	its swap type
 *
 * Swapoff has emptied the device, and none of its slots will be used again. The device may also be
 * one that is being turned on, since the two can't always be distinguished; then the call has no
 * lasting effect. The kernel removes the extents, and lets the file system of a swap file move
 * its blocks, before it calls farswap_swapoff(). The backup writes of freed slots, the reads of a
 * rebuild and those of hedges must therefore end here.
 *
 * Context: may sleep, as long as the device takes for I/O in flight.
 */
void farswap_swapoff_drain(unsigned int type)
{
	struct farswap_device *device;

	mutex_lock(&farswap_devices_lock);
	device = farswap_device_find(type);
	if (device) {
		farswap_rebuild_cancel(device);
		farswap_hedge_flush();
		farswap_backup_drain(device);
	}
	mutex_unlock(&farswap_devices_lock);
}

/**
 * farswap_devices_flush() - wait until the devices have all staged pages
 *
 * For each device this also fetches and writes one page that the device does not have, if there
 * is any. So a failure is known before any region is given up.
 *
 * Context: under farswap_devices_lock; may sleep, as long as the devices take.
 * Return: 0; -EIO if a device fails to write staged pages; -ENOMEM if no page could be read because
 * the adapter has no memory.
 */
int farswap_devices_flush(void)
{
	struct farswap_device *device;
	unsigned int type = 0, failed;
	int err = 0, starved = 0;

	while ((device = farswap_device_next(&type))) {
		failed = farswap_backup_failures(device);
		/* One failed probe is enough, since each takes long. */
		if (!starved)
			starved = farswap_fetch_probe(device);
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
 * farswap_devices_stranded() - count pages in use that are neither in memory nor on the devices
 *
 * Pages in memory are marked dirty, so that the kernel writes them to the devices. Nothing is
 * stored remotely any more.
 *
 * Context: may sleep.
 * Return: number of pages.
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
 * farswap_devices_remove() - stop serving all swap devices
 *
 * The hook is removed, and no I/O is in flight.
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
	farswap_bounce_drain();
	mutex_unlock(&farswap_devices_lock);
}
