/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FARSWAP_BENCH_BUCKETS_H
#define FARSWAP_BENCH_BUCKETS_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* "WHAT bucket_us N count N" for each time that was seen, in steps of an eighth; ns, in order. */
static inline void print_buckets(const char *what, const uint64_t *times, size_t nr)
{
	size_t i = 0;

	for (double bound = 1000; i < nr; bound *= 1.125) {
		size_t first = i;

		while (i < nr && times[i] <= bound)
			i++;
		if (i > first)
			printf("%s bucket_us %.1f count %zu\n", what, bound / 1e3, i - first);
	}
}

#endif
