// SPDX-License-Identifier: GPL-2.0
/*
 * Counters, per CPU, summed up when they are read. They never decrease. debugfs.c computes the
 * gauges, such as the number of remote pages.
 */
#include <linux/cpumask.h>
#include <linux/seq_file.h>

#include "stats.h"

DEFINE_PER_CPU(struct farswap_stats, farswap_stats);

#define STAT_NAME(_NAME, _name)	[FARSWAP_STAT_##_NAME] = #_name,

static const char *const stat_names[] = {
	FARSWAP_COUNTERS(STAT_NAME)
};

/**
 * farswap_stat_sum() - get the value of a counter
 * @stat:	the counter
 *
 * Context: any.
 * Return: its sum over all CPUs.
 */
unsigned long farswap_stat_sum(enum farswap_stat stat)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(farswap_stats, cpu).count[stat];
	return sum;
}

/**
 * farswap_stats_show() - print every counter, one line "name value" each
 * @m:	file to print to
 * @v:	unused
 *
 * Context: may sleep.
 * Return: 0.
 */
int farswap_stats_show(struct seq_file *m, void *v)
{
	int stat;

	static_assert(ARRAY_SIZE(stat_names) == FARSWAP_STATS);

	for (stat = 0; stat < FARSWAP_STATS; stat++)
		seq_printf(m, "%s %lu\n", stat_names[stat], farswap_stat_sum(stat));
	return 0;
}
