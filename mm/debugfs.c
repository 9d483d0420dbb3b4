// SPDX-License-Identifier: GPL-2.0
/*
 * The files in /sys/kernel/debug/farswap/: counters and gauges, slabs, donors, latencies.
 */
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "internal.h"

static struct dentry *debugfs_root;

/* Calls @fn for each slab that exists; the walk lock keeps the devices in place. */
static void debugfs_walk(void (*fn)(struct farswap_slab *slab, void *arg),
			 void *arg)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int type = 0;
	unsigned long i;

	mutex_lock(&farswap_devices_walk_lock);
	while ((device = farswap_device_next(&type))) {
		for (i = 0; i < device->map->nr_slabs; i++) {
			slab = READ_ONCE(device->map->slab[i]);
			if (slab)
				fn(slab, arg);
			cond_resched();
		}
	}
	mutex_unlock(&farswap_devices_walk_lock);
}

/**
 * struct debugfs_gauges - current values, which the stats file has in addition to the counters
 * @remote:	slots with the remote bit
 * @backed:	slots with the remote bit whose page the device has too
 * @orphaned:	slots with the remote bit that are free
 * @slabs:	slabs that exist
 * @mapped:	slabs that are mapped
 * @bytes:	memory of the slabs, their bits, their mappings and the tables of places, bytes
 * @packs:	packed slabs that are mapped
 * @packed:	pages in packed slabs that are compressed
 * @packed_bytes: room that these pages take up in regions
 * @in_packs:	pages in packed slabs, compressed or not
 * @units:	units that these take
 */
struct debugfs_gauges {
	unsigned long remote;
	unsigned long backed;
	unsigned long orphaned;
	unsigned long slabs;
	unsigned long mapped;
	unsigned long bytes;
	unsigned long packs;
	unsigned long packed;
	unsigned long packed_bytes;
	unsigned long in_packs;
	unsigned long units;
};

/* Returns the number of pages that a region has. */
static unsigned long debugfs_remote(const struct farswap_slab *slab)
{
	if (slab->pack)
		return bitmap_weight_and(slab->bits.remote, slab->pack->map->first,
					 slab->nr_slots);
	return bitmap_weight(slab->bits.remote, slab->nr_slots);
}

/* Returns the number of those that the device has too. The counts may change in between. */
static unsigned long debugfs_backed(const struct farswap_slab *slab)
{
	unsigned long remote = debugfs_remote(slab);
	unsigned long sole = bitmap_weight_and(slab->bits.remote, slab->bits.unbacked,
					       slab->nr_slots);

	return remote - min(remote, sole);
}

static void debugfs_gauge_pack(struct farswap_slab *slab, struct debugfs_gauges *gauges)
{
	struct farswap_object object;
	unsigned int slot;

	gauges->bytes += farswap_pack_bytes(slab);
	gauges->packs += READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED;
	for_each_set_bit(slot, slab->pack->map->first, slab->nr_slots) {
		if (!test_bit(slot, slab->bits.remote) || !farswap_object_at(slab, slot, &object))
			continue;
		gauges->in_packs++;
		gauges->units += object.nr;
		gauges->packed += !!object.bytes;
		gauges->packed_bytes += object.bytes;
		cond_resched();
	}
}

static unsigned int debugfs_orphaned(const struct farswap_slab *slab)
{
	unsigned int slot, orphaned = 0;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots)
		orphaned += farswap_slab_starts(slab, slot) &&
			    !farswap_device_slot(slab->device, farswap_slab_offset(slab, slot));
	return orphaned;
}

static void debugfs_gauge(struct farswap_slab *slab, void *arg)
{
	struct debugfs_gauges *gauges = arg;
	unsigned int nth;

	gauges->slabs++;
	gauges->bytes += sizeof(*slab);
	if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED)
		gauges->mapped++;
	if (!farswap_slab_has_bits(slab))
		return;
	gauges->bytes += 2 * BITS_TO_LONGS(slab->nr_slots) * sizeof(long);
	spin_lock(&farswap_state_lock);
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++)
		if (farswap_mapping_nth(slab, nth))
			gauges->bytes += sizeof(struct farswap_mapping) +
				BITS_TO_LONGS(slab->nr_slots) * sizeof(long);
	spin_unlock(&farswap_state_lock);
	if (slab->pack)
		debugfs_gauge_pack(slab, gauges);
	gauges->remote += debugfs_remote(slab);
	gauges->backed += debugfs_backed(slab);
	gauges->orphaned += debugfs_orphaned(slab);
}

/* Sums up the memory of the devices' seals, and of their tables of places. */
static void debugfs_device_bytes(unsigned long *seals, unsigned long *places)
{
	const struct farswap_device *device;
	unsigned int type = 0;

	mutex_lock(&farswap_devices_walk_lock);
	while ((device = farswap_device_next(&type))) {
		if (device->protect)
			*seals += farswap_protect_bytes(device->protect);
		*places += farswap_places_bytes(device->places);
	}
	mutex_unlock(&farswap_devices_walk_lock);
}

static int stats_show(struct seq_file *m, void *v)
{
	struct debugfs_gauges gauges = {};
	unsigned long seals = 0;

	farswap_stats_show(m, v);
	debugfs_walk(debugfs_gauge, &gauges);
	debugfs_device_bytes(&seals, &gauges.bytes);
	seq_printf(m, "remote_pages %lu\n", gauges.remote);
	seq_printf(m, "backed_pages %lu\n", gauges.backed);
	seq_printf(m, "orphaned_pages %lu\n", gauges.orphaned);
	seq_printf(m, "staged_pages %u\n", farswap_staging_used());
	seq_printf(m, "slabs %lu\n", gauges.slabs);
	seq_printf(m, "mapped_slabs %lu\n", gauges.mapped);
	seq_printf(m, "slab_bytes %lu\n", gauges.bytes);
	seq_printf(m, "pack_slabs %lu\n", gauges.packs);
	seq_printf(m, "packed_pages %lu\n", gauges.packed);
	seq_printf(m, "packed_bytes %lu\n", gauges.packed_bytes);
	seq_printf(m, "packed_units %lu\n", gauges.units);
	seq_printf(m, "packed_percent %lu\n",
		   gauges.units * 100 / max(gauges.in_packs * FARSWAP_UNITS, 1UL));
	seq_printf(m, "seal_bytes %lu\n", seals);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/* Prints the addresses of a slab's donors, separated by commas, or "-". */
static void slabs_print_donors(struct farswap_slab *slab, struct seq_file *m)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, nr = 0;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping)
			seq_printf(m, "%s%s", nr++ ? "," : "", mapping->donor->address);
	}
	if (!nr)
		seq_putc(m, '-');
}

/* Sums up, over the slab's mappings, the slots with the remote bit that each mapping misses. */
static unsigned int slabs_missing(struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, missing = 0;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		if (mapping)
			missing += bitmap_weight_and(slab->bits.remote, mapping->missing,
						     slab->nr_slots);
	}
	rcu_read_unlock();
	return missing;
}

/* Returns the number of mappings that have a slot and are not being evacuated. */
static unsigned int slabs_copies(const struct farswap_slab *slab, unsigned int slot)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, copies = 0;

	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		copies += mapping && !farswap_mapping_goes(mapping) &&
			  farswap_mapping_has(mapping, slot, 1);
	}
	rcu_read_unlock();
	return copies;
}

/*
 * Returns the number of pages that one more donor failure may lose: they are at one donor, and
 * neither on the device nor in the staging pool. The kernel itself keeps zero pages.
 */
static unsigned int slabs_single(struct farswap_slab *slab)
{
	unsigned int slot, single = 0;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots) {
		if (!test_bit(slot, slab->bits.unbacked) || slabs_copies(slab, slot) > 1 ||
		    farswap_slab_zero(slab, slot) || farswap_backup_holds(slab, slot))
			continue;
		/* Test again: the backup write may have ended since, or the slot been freed. */
		single += test_bit(slot, slab->bits.unbacked) && test_bit(slot, slab->bits.remote);
	}
	return single;
}

static void slabs_print(struct farswap_slab *slab, void *arg)
{
	unsigned long remote = 0, backed = 0;
	unsigned int missing = 0, single = 0;
	struct seq_file *m = arg;

	/* These scan every slot, so they run without the lock. */
	if (farswap_slab_has_bits(slab)) {
		remote = debugfs_remote(slab);
		backed = debugfs_backed(slab);
		missing = slabs_missing(slab);
		single = slabs_single(slab);
	}
	spin_lock(&farswap_state_lock);
	seq_printf(m, "%u %u %s ", slab->device->type, slab->index,
		   farswap_slab_state_name(slab));
	slabs_print_donors(slab, m);
	seq_printf(m, " %lu %lu %u %u %u %u\n", remote, backed,
		   farswap_activity_read(&slab->activity, farswap_slab_second()),
		   missing, single, 1U << slab->slot_shift);
	spin_unlock(&farswap_state_lock);
}

static int slabs_show(struct seq_file *m, void *v)
{
	seq_puts(m, "type index state donors remote backed activity missing single unit\n");
	debugfs_walk(slabs_print, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(slabs);

static int donors_show(struct seq_file *m, void *v)
{
	return farswap_donors_seq_show(m, v);
}
DEFINE_SHOW_ATTRIBUTE(donors);

static int cgroups_show(struct seq_file *m, void *v)
{
	return farswap_cgroup_seq_show(m, v);
}
DEFINE_SHOW_ATTRIBUTE(cgroups);

static int latency_show(struct seq_file *m, void *v)
{
	return farswap_latency_show(m, v);
}
DEFINE_SHOW_ATTRIBUTE(latency);

static int timing_show(struct seq_file *m, void *v)
{
	return farswap_timing_show(m, v);
}
DEFINE_SHOW_ATTRIBUTE(timing);

/**
 * farswap_debugfs_init() - create the files
 */
void farswap_debugfs_init(void)
{
	debugfs_root = debugfs_create_dir("farswap", NULL);
	debugfs_create_file("stats", 0400, debugfs_root, NULL, &stats_fops);
	debugfs_create_file("slabs", 0400, debugfs_root, NULL, &slabs_fops);
	debugfs_create_file("donors", 0400, debugfs_root, NULL, &donors_fops);
	debugfs_create_file("cgroups", 0400, debugfs_root, NULL, &cgroups_fops);
	debugfs_create_file("latency", 0400, debugfs_root, NULL, &latency_fops);
	debugfs_create_file("timing", 0400, debugfs_root, NULL, &timing_fops);
}

/**
 * farswap_debugfs_exit() - remove the files
 */
void farswap_debugfs_exit(void)
{
	debugfs_remove(debugfs_root);
}
