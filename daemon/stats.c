// SPDX-License-Identifier: GPL-2.0
/*
 * The counters' storage and how they are printed. The names are in stats.h.
 */
#include <inttypes.h>
#include <string.h>

#include "stats.h"

uint64_t stats[STAT_NR];

static const struct {
	const char *metric;
	const char *label;
	const char *help;
} stats_table[STAT_NR] = {
#define X(name, metric, label, help) [STAT_##name] = { metric, label, help },
	STATS(X)
#undef X
};

void stats_show(FILE *out)
{
	int i;

	for (i = 0; i < STAT_NR; i++) {
		const char *label = stats_table[i].label;

		if (!stats[i])
			continue;
		fprintf(out, "  %10" PRIu64 "  %s%s%s\n", stats[i],
			stats_table[i].metric, *label ? " " : "", label);
	}
}

void stats_metrics(FILE *out)
{
	const char *last = "";
	int i;

	for (i = 0; i < STAT_NR; i++) {
		const char *metric = stats_table[i].metric;
		const char *label = stats_table[i].label;

		if (strcmp(metric, last))
			fprintf(out, "# HELP farswapd_%s %s\n# TYPE farswapd_%s counter\n",
				metric, stats_table[i].help, metric);
		last = metric;
		if (*label)
			fprintf(out, "farswapd_%s{%s} %" PRIu64 "\n", metric, label, stats[i]);
		else
			fprintf(out, "farswapd_%s %" PRIu64 "\n", metric, stats[i]);
	}
}
