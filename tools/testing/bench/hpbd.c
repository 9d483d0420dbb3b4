// SPDX-License-Identifier: GPL-2.0
/*
 * The two programs that HPBD was measured with (Liang et al., CLUSTER 2005,
 * section 6), on an array of integers that is larger than memory:
 *
 *   testswap   writes it all, in order
 *   quicksort  sorts it, of random contents
 *
 * Each prints "NAME seconds N wrong N", the time without filling and checking.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "sort.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t step(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

static void report(const char *name, double seconds, size_t wrong)
{
	printf("%s seconds %.3f wrong %zu\n", name, seconds, wrong);
	fflush(stdout);
}

static size_t testswap(uint32_t *array, size_t nr, uint64_t seed)
{
	double start = now(), seconds;
	size_t wrong = 0;

	/* By a constant that is odd: no two are the same, and no page compresses. */
	for (size_t i = 0; i < nr; i++)
		array[i] = (uint32_t)(i + seed) * 2654435761u;
	seconds = now() - start;
	for (size_t i = 0; i < nr; i++)
		wrong += array[i] != (uint32_t)(i + seed) * 2654435761u;
	report("testswap", seconds, wrong);
	return wrong;
}

static size_t quicksort(uint32_t *array, size_t nr, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15 | 1, sum = 0;
	double start, seconds;
	size_t wrong = 0;

	for (size_t i = 0; i < nr; i++) {
		x = step(x);
		array[i] = x >> 32;
		sum += array[i];
	}
	start = now();
	sort(array, nr);
	seconds = now() - start;
	for (size_t i = 0; i < nr; i++) {
		wrong += i && array[i - 1] > array[i];
		sum -= array[i];
	}
	wrong += sum != 0;
	report("quicksort", seconds, wrong);
	return wrong;
}

int main(int argc, char **argv)
{
	uint32_t *array;
	uint64_t seed;
	size_t bytes;

	if (argc != 4 || (strcmp(argv[1], "testswap") && strcmp(argv[1], "quicksort"))) {
		fputs("usage: hpbd testswap|quicksort MEGABYTES SEED\n", stderr);
		return 2;
	}
	bytes = strtoull(argv[2], NULL, 0) << 20;
	seed = strtoull(argv[3], NULL, 0);
	array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (array == MAP_FAILED || madvise(array, bytes, MADV_NOHUGEPAGE)) {
		perror("hpbd");
		return 2;
	}
	return (*argv[1] == 't' ? testswap : quicksort)(array, bytes / sizeof(*array), seed) != 0;
}
