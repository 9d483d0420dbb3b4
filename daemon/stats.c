// SPDX-License-Identifier: GPL-2.0
/*
 * Stores and prints the counters, and the last samples of each time, for quantiles. The
 * names are in stats.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

/* Quantiles are computed over this many last samples. */
#define STATS_LAST	256

uint64_t stats[STAT_NR];

static struct {
	uint64_t last[STATS_LAST];
	uint64_t count;
	uint64_t sum;
} stats_times[STAT_TIMES];

static const struct {
	const char *metric;
	const char *label;
	const char *help;
} stats_table[STAT_NR] = {
#define X(name, metric, label, help) [STAT_##name] = { metric, label, help },
	STATS(X)
#undef X
};

static const struct {
	const char *metric;
	const char *help;
} stats_times_table[STAT_TIMES] = {
#define X(name, metric, help) [STAT_TIME_##name] = { metric, help },
	STATS_TIMES(X)
#undef X
};

void stats_time(enum stats_timed what, uint64_t ns)
{
	stats_times[what].last[stats_times[what].count++ % STATS_LAST] = ns;
	stats_times[what].sum += ns;
}

static int stats_by_time(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static void stats_time_metrics(FILE *out, enum stats_timed what)
{
	static const struct {
		const char *name;
		unsigned int percent;
	} quantiles[] = { { "0.5", 50 }, { "0.9", 90 }, { "0.99", 99 } };
	const char *metric = stats_times_table[what].metric;
	uint64_t count = stats_times[what].count, sorted[STATS_LAST];
	size_t nr = count < STATS_LAST ? count : STATS_LAST, i;

	memcpy(sorted, stats_times[what].last, sizeof(sorted));
	qsort(sorted, nr, sizeof(*sorted), stats_by_time);
	fprintf(out, "# HELP farswapd_%s %s\n# TYPE farswapd_%s summary\n", metric,
		stats_times_table[what].help, metric);
	for (i = 0; nr && i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		size_t rank = (nr - 1) * quantiles[i].percent / 100;

		fprintf(out, "farswapd_%s{quantile=\"%s\"} %.9f\n", metric, quantiles[i].name,
			sorted[rank] / 1e9);
	}
	fprintf(out, "farswapd_%s_sum %.9f\nfarswapd_%s_count %" PRIu64 "\n", metric,
		stats_times[what].sum / 1e9, metric, count);
}

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
	for (i = 0; i < STAT_TIMES; i++)
		stats_time_metrics(out, i);
}
