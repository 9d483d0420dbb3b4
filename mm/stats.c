// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of what happened: per CPU, summed when they are read. They only go
 * up. What can be looked at instead of counted is in debugfs.c.
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
