/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A driver for fuzzers: runs one after another until the time is up. Each run is a function of its
 * seed alone, which is printed when one fails:
 *
 *	PROGRAM [SECONDS [SEED [RUNS]]]
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t fuzz_state;
static uint64_t fuzz_seed;
static uint64_t fuzz_actions;

/* SplitMix64. */
static uint64_t fuzz_u64(void)
{
	uint64_t z = fuzz_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int fuzz_below(unsigned int n)
{
	return fuzz_u64() % n;
}

/* One time in @n. */
static int fuzz_once_in(unsigned int n)
{
	return !fuzz_below(n);
}

static inline void fuzz_fill(void *data, size_t len)
{
	uint8_t *bytes = data;

	while (len--)
		*bytes++ = fuzz_u64();
}

/* Change some bits of some bytes. */
static inline void fuzz_damage(void *data, size_t len)
{
	unsigned int n = 1 + fuzz_below(3);

	while (len && n--)
		((uint8_t *)data)[fuzz_below(len)] ^= 1 << fuzz_below(8);
}

static void fuzz_failed(void)
{
	fprintf(stderr, "failed: run it again with: 0 %llu 1\n", (unsigned long long)fuzz_seed);
}

#define FUZZ_CHECK(condition)							\
do {										\
	if (!(condition)) {							\
		fprintf(stderr, "%s:%d: false: %s\n", __FILE__, __LINE__,	\
			#condition);						\
		fuzz_failed();							\
		abort();							\
	}									\
} while (0)

static double fuzz_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Called by sanitizers before they end the program. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	fuzz_failed();
}

static int fuzz_main(int argc, char **argv, const char *what, void (*run)(void))
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 5, start = fuzz_now();
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 20;
	uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 0) : UINT64_MAX, n;

	printf("TAP version 13\n1..1\n# %s: seed %llu\n", what, (unsigned long long)seed);
	fflush(stdout);
	for (n = 0; n < runs && (!seconds || fuzz_now() - start < seconds); n++) {
		fuzz_seed = seed + n;
		fuzz_state = fuzz_seed;
		run();
	}
	printf("ok 1 %s # %llu runs, %llu actions in %.1f s\n", what, (unsigned long long)n,
	       (unsigned long long)fuzz_actions, fuzz_now() - start);
	return 0;
}

#endif
