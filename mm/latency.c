// SPDX-License-Identifier: GPL-2.0
/*
 * Latency histograms, per CPU, with eight buckets for each power of two: a percentile is exact to
 * one eighth.
 */
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "latency.h"

#define LATENCY_STEPS		8	/* buckets for each power of two */
#define LATENCY_STEP_SHIFT	3
#define LATENCY_BUCKETS		(36 * LATENCY_STEPS)	/* up to more than a minute */

struct latency_histogram {
	unsigned long count[LATENCY_BUCKETS];
};

struct latency_histograms {
	struct latency_histogram of[FARSWAP_LATENCIES];
};

/* A module's static per-CPU memory is too small for this, so it is allocated. */
static struct latency_histograms __percpu *latency_histograms;

static const char *const latency_names[] = {
	[FARSWAP_LATENCY_LOAD_URGENT]	= "load_urgent",
	[FARSWAP_LATENCY_LOAD]		= "load_remote",
	[FARSWAP_LATENCY_STORE]		= "store_remote",
	[FARSWAP_LATENCY_DEVICE]	= "store_device",
	[FARSWAP_LATENCY_QUERY]		= "query",
	[FARSWAP_LATENCY_MAP]		= "map",
};

static unsigned int latency_bucket(u64 ns)
{
	unsigned int power, bucket;

	if (ns < LATENCY_STEPS)
		return ns;
	power = ilog2(ns);
	bucket = (power - LATENCY_STEP_SHIFT + 1) * LATENCY_STEPS +
		 ((ns >> (power - LATENCY_STEP_SHIFT)) & (LATENCY_STEPS - 1));
	return min_t(unsigned int, bucket, LATENCY_BUCKETS - 1);
}

/* Returns the upper bound of a bucket, exclusive, ns. */
static u64 latency_bound(unsigned int bucket)
{
	unsigned int power = bucket / LATENCY_STEPS;

	if (!power)
		return bucket + 1;
	return (u64)(LATENCY_STEPS + bucket % LATENCY_STEPS + 1) << (power - 1);
}

/**
 * farswap_latency_add() - add a sample to a histogram
 * @what:	the histogram
 * @ns:		the latency, nanoseconds
 *
 * Context: any.
 */
void farswap_latency_add(enum farswap_latency what, u64 ns)
{
	this_cpu_inc(latency_histograms->of[what].count[latency_bucket(ns)]);
}

static u64 latency_percentile(const struct latency_histogram *sum,
			      unsigned long total, unsigned int percent)
{
	unsigned long rank = DIV_ROUND_UP(total * percent, 100), seen = 0;
	int i;

	for (i = 0; i < LATENCY_BUCKETS; i++) {
		seen += sum->count[i];
		if (seen && seen >= rank)
			return latency_bound(i);
	}
	return 0;
}

/**
 * farswap_latency_show() - print the percentiles, then the buckets, of all histograms
 * @m:	file to print to
 * @v:	unused
 *
 * The format is a line "name count N p50_us N p99_us N" for each histogram, then one line for each
 * bucket that is not empty: "name_ns", its upper bound in ns, its count.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_latency_show(struct seq_file *m, void *v)
{
	struct latency_histogram *sums;
	int what, cpu, i;

	static_assert(ARRAY_SIZE(latency_names) == FARSWAP_LATENCIES);

	sums = kcalloc(FARSWAP_LATENCIES, sizeof(*sums), GFP_KERNEL);
	if (!sums)
		return -ENOMEM;

	for (what = 0; what < FARSWAP_LATENCIES; what++) {
		struct latency_histogram *sum = &sums[what];
		unsigned long total = 0;

		for_each_possible_cpu(cpu)
			for (i = 0; i < LATENCY_BUCKETS; i++)
				sum->count[i] += per_cpu_ptr(latency_histograms,
							     cpu)->of[what].count[i];
		for (i = 0; i < LATENCY_BUCKETS; i++)
			total += sum->count[i];
		seq_printf(m, "%s count %lu p50_us %llu p99_us %llu\n",
			   latency_names[what], total,
			   latency_percentile(sum, total, 50) / NSEC_PER_USEC,
			   latency_percentile(sum, total, 99) / NSEC_PER_USEC);
	}
	for (what = 0; what < FARSWAP_LATENCIES; what++)
		for (i = 0; i < LATENCY_BUCKETS; i++)
			if (sums[what].count[i])
				seq_printf(m, "%s_ns %llu %lu\n",
					   latency_names[what], latency_bound(i),
					   sums[what].count[i]);
	kfree(sums);
	return 0;
}

/**
 * farswap_latency_init() - allocate the histograms
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_latency_init(void)
{
	latency_histograms = alloc_percpu(struct latency_histograms);
	return latency_histograms ? 0 : -ENOMEM;
}

/**
 * farswap_latency_exit() - free the histograms
 */
void farswap_latency_exit(void)
{
	free_percpu(latency_histograms);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/latency-kunit.h"
#endif
