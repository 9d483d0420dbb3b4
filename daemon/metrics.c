// SPDX-License-Identifier: GPL-2.0
/*
 * Writes metrics. In OpenMetrics the name of a counter's family lacks its suffix, _total,
 * and that of an info lacks _info.
 */
#include <inttypes.h>
#include <string.h>

#include "metrics.h"

static int metrics_family_length(const struct metrics *metrics, const char *name,
				 const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	if (!metrics->plain && length > end && !strcmp(name + length - end, suffix))
		length -= end;
	return (int)length;
}

/* A quotation mark or a backslash in a help text needs an escape. */
static void metrics_help(FILE *out, const char *help)
{
	for (; *help; help++) {
		if (*help == '"' || *help == '\\')
			putc('\\', out);
		putc(*help, out);
	}
	putc('\n', out);
}

void metrics_head(const struct metrics *metrics, const char *name, const char *type,
		  const char *help)
{
	const char *suffix = !strcmp(type, "counter") ? "_total" :
			     !strcmp(type, "info") ? "_info" : "";
	int length = metrics_family_length(metrics, name, suffix);

	if (metrics->plain && !strcmp(type, "info"))
		type = "gauge";
	if (metrics->plain && !strcmp(type, "unknown"))
		type = "untyped";
	fprintf(metrics->out, "# TYPE %.*s %s\n# HELP %.*s ", length, name, type, length, name);
	metrics_help(metrics->out, help);
}

void metrics_sample(const struct metrics *metrics, const char *name, const char *labels,
		    uint64_t value)
{
	if (*labels)
		fprintf(metrics->out, "%s{%s} %" PRIu64 "\n", name, labels, value);
	else
		fprintf(metrics->out, "%s %" PRIu64 "\n", name, value);
}

void metrics_histogram_add(struct metrics_histogram *histogram, uint64_t ns, uint64_t n)
{
	unsigned int i;

	histogram->count += n;
	histogram->sum_ns += ns * n;
	for (i = 0; i < METRICS_BUCKETS; i++)
		if (ns <= 1ULL << (METRICS_BOUND_MIN + i)) {
			histogram->bucket[i] += n;
			break;
		}
}

void metrics_histogram_show(const struct metrics *metrics, const char *name, const char *labels,
			    const struct metrics_histogram *histogram)
{
	const char *comma = *labels ? "," : "";
	const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
	uint64_t below = 0;
	unsigned int i;

	for (i = 0; i < METRICS_BUCKETS; i++) {
		below += histogram->bucket[i];
		fprintf(metrics->out, "%s_bucket{%s%sle=\"%.12g\"} %" PRIu64 "\n", name, labels, comma,
			(double)(1ULL << (METRICS_BOUND_MIN + i)) / 1e9, below);
	}
	fprintf(metrics->out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma,
		histogram->count);
	fprintf(metrics->out, "%s_sum%s%s%s %.9f\n%s_count%s%s%s %" PRIu64 "\n", name, open, labels,
		close, histogram->sum_ns / 1e9, name, open, labels, close, histogram->count);
}
