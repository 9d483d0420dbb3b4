// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of what happened: per CPU, summed when they are read. They only go
 * up. What can be looked at instead of counted is in debugfs.c.
 */
#include <linux/cpumask.h>
#include <linux/seq_file.h>

#include "internal.h"

DEFINE_PER_CPU(struct farswap_stats, farswap_stats);

static const char *const stat_names[] = {
	[FARSWAP_STAT_STORE_REMOTE]		= "store_remote",
	[FARSWAP_STAT_STORE_DEVICE]		= "store_device",
	[FARSWAP_STAT_STORE_DISABLED]		= "store_disabled",
	[FARSWAP_STAT_STORE_NO_SLAB]		= "store_no_slab",
	[FARSWAP_STAT_STORE_BUSY]		= "store_busy",
	[FARSWAP_STAT_STORE_NO_REQUEST]		= "store_no_request",
	[FARSWAP_STAT_STORE_NO_MEMORY]		= "store_no_memory",
	[FARSWAP_STAT_STORE_UNREADABLE]		= "store_unreadable",
	[FARSWAP_STAT_STORE_REFUSED]		= "store_refused",
	[FARSWAP_STAT_STORE_WRITE_FAILED]	= "store_write_failed",
	[FARSWAP_STAT_STORE_DEVICE_FAILED]	= "store_device_failed",
	[FARSWAP_STAT_STORE_UNSTAGED]		= "store_unstaged",
	[FARSWAP_STAT_STORE_PARTIAL]		= "store_partial",
	[FARSWAP_STAT_STORE_WAITED]		= "store_waited",
	[FARSWAP_STAT_STORE_IN_FAULT]		= "store_in_fault",
	[FARSWAP_STAT_BACKUP_WRITTEN]		= "backup_written",
	[FARSWAP_STAT_BACKUP_SPARED]		= "backup_spared",
	[FARSWAP_STAT_BACKUP_STALE]		= "backup_stale",
	[FARSWAP_STAT_BACKUP_FAILED]		= "backup_failed",
	[FARSWAP_STAT_FETCHED]			= "fetched",
	[FARSWAP_STAT_MOVED]			= "moved",
	[FARSWAP_STAT_REPAIRED]			= "repaired",
	[FARSWAP_STAT_REBUILT]			= "rebuilt",
	[FARSWAP_STAT_LOAD_REMOTE]		= "load_remote",
	[FARSWAP_STAT_LOAD_STAGED]		= "load_staged",
	[FARSWAP_STAT_LOAD_DEVICE]		= "load_device",
	[FARSWAP_STAT_LOAD_FALLBACK]		= "load_fallback",
	[FARSWAP_STAT_LOAD_WAITED]		= "load_waited",
	[FARSWAP_STAT_LOAD_SPLIT]		= "load_split",
	[FARSWAP_STAT_LOAD_LOST]		= "load_lost",
	[FARSWAP_STAT_LOST]			= "lost",
	[FARSWAP_STAT_PROMOTED]			= "promoted",
	[FARSWAP_STAT_PREFETCHED]		= "prefetched",
	[FARSWAP_STAT_PREFETCH_USED]		= "prefetch_used",
	[FARSWAP_STAT_PREFETCH_UNUSED]		= "prefetch_unused",
	[FARSWAP_STAT_WAIT_POLLED]		= "wait_polled",
	[FARSWAP_STAT_WAIT_SLEPT]		= "wait_slept",
	[FARSWAP_STAT_FREED]			= "freed",
	[FARSWAP_STAT_ZSWAP_ACCEPTED]		= "zswap_accepted",
	[FARSWAP_STAT_SLAB_MAPPED]		= "slab_mapped",
	[FARSWAP_STAT_SLAB_EVICTED]		= "slab_evicted",
	[FARSWAP_STAT_SLAB_MOVED]		= "slab_moved",
	[FARSWAP_STAT_SLAB_LOST]		= "slab_lost",
	[FARSWAP_STAT_SLAB_COLD]		= "slab_cold",
	[FARSWAP_STAT_SLAB_GAVE_WAY]		= "slab_gave_way",
	[FARSWAP_STAT_SLAB_WANTED_BACK]		= "slab_wanted_back",
	[FARSWAP_STAT_SLAB_UNMAPPED]		= "slab_unmapped",
	[FARSWAP_STAT_REPLICA_MAPPED]		= "replica_mapped",
	[FARSWAP_STAT_REPLICA_LOST]		= "replica_lost",
	[FARSWAP_STAT_REPLICA_LEFT]		= "replica_left",
	[FARSWAP_STAT_STOPGAP]			= "stopgap",
	[FARSWAP_STAT_MAP_FAILED]		= "map_failed",
	[FARSWAP_STAT_MAP_SAME_MACHINE]		= "map_same_machine",
	[FARSWAP_STAT_DONOR_UP]			= "donor_up",
	[FARSWAP_STAT_DONOR_DOWN]		= "donor_down",
};

/**
 * farswap_stats_show() - print every counter, "name value" a line
 * @m:	where
 * @v:	unused
 *
 * Context: may sleep.
 * Return: 0.
 */
int farswap_stats_show(struct seq_file *m, void *v)
{
	int stat, cpu;

	static_assert(ARRAY_SIZE(stat_names) == FARSWAP_STATS);

	for (stat = 0; stat < FARSWAP_STATS; stat++) {
		unsigned long sum = 0;

		for_each_possible_cpu(cpu)
			sum += per_cpu(farswap_stats, cpu).count[stat];
		seq_printf(m, "%s %lu\n", stat_names[stat], sum);
	}
	return 0;
}
