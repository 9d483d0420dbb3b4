/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes metrics in OpenMetrics 1.0, or in Prometheus's older text format, which node-exporter
 * reads. The names of the samples are the same in both.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Upper bounds of the buckets, powers of two: 1.024 microseconds to 69 seconds. */
#define METRICS_BOUND_MIN	10
#define METRICS_BOUND_MAX	36
#define METRICS_BUCKETS		(METRICS_BOUND_MAX - METRICS_BOUND_MIN + 1)

struct metrics {
	FILE *out;
	bool plain;			/* Prometheus's text format */
};

struct metrics_histogram {
	uint64_t bucket[METRICS_BUCKETS];
	uint64_t count;			/* includes samples above the last bound */
	uint64_t sum_ns;
};

/* Begin a metric. @type: counter, gauge, histogram, info or unknown. */
void metrics_head(const struct metrics *metrics, const char *name, const char *type,
		  const char *help);
void metrics_sample(const struct metrics *metrics, const char *name, const char *labels,
		    uint64_t value);
/* Add @n samples of @ns. */
void metrics_histogram_add(struct metrics_histogram *histogram, uint64_t ns, uint64_t n);
/* @labels: as in kind="x", or empty. */
void metrics_histogram_show(const struct metrics *metrics, const char *name, const char *labels,
			    const struct metrics_histogram *histogram);

#endif
