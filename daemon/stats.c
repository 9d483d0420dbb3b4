// SPDX-License-Identifier: GPL-2.0
/*
 * Stores and prints the counters and the times. The names are in stats.h.
 */
#include <inttypes.h>
#include <string.h>

#include "stats.h"

uint64_t stats[STAT_NR];

static struct metrics_histogram stats_times[STAT_TIMES];

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
	metrics_histogram_add(&stats_times[what], ns, 1);
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

/* A metric's name without _total. */
static void stats_json_name(char name[64], const char *metric)
{
	snprintf(name, 64, "%.*s", (int)(strlen(metric) - strlen("_total")), metric);
}

/* The reason in reason="grace". */
static void stats_json_label(char value[64], const char *label)
{
	const char *quote = strchr(label, '"');

	snprintf(value, 64, "%s", quote ? quote + 1 : label);
	value[strcspn(value, "\"")] = '\0';
}

void stats_json(struct json *json)
{
	const char *last = "";
	char name[64];
	int i;

	json_object(json, "counters");
	for (i = 0; i < STAT_NR; i++) {
		const char *metric = stats_table[i].metric;
		const char *label = stats_table[i].label;

		stats_json_name(name, metric);
		if (!*label) {
			json_number(json, name, stats[i]);
			continue;
		}
		if (strcmp(metric, last))
			json_object(json, name);
		last = metric;
		stats_json_label(name, label);
		json_number(json, name, stats[i]);
		if (i + 1 == STAT_NR || strcmp(metric, stats_table[i + 1].metric) != 0)
			json_end(json);
	}
	json_end(json);
}

void stats_metrics(const struct metrics *metrics)
{
	const char *last = "";
	char name[64];
	int i;

	for (i = 0; i < STAT_NR; i++) {
		snprintf(name, sizeof(name), "farswapd_%s", stats_table[i].metric);
		if (strcmp(stats_table[i].metric, last) != 0)
			metrics_head(metrics, name, "counter", stats_table[i].help);
		last = stats_table[i].metric;
		metrics_sample(metrics, name, stats_table[i].label, stats[i]);
	}
	for (i = 0; i < STAT_TIMES; i++) {
		snprintf(name, sizeof(name), "farswapd_%s", stats_times_table[i].metric);
		metrics_head(metrics, name, "histogram", stats_times_table[i].help);
		metrics_histogram_show(metrics, name, "", &stats_times[i]);
	}
}
