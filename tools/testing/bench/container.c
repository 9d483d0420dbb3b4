// SPDX-License-Identifier: GPL-2.0
/*
 * One of the programs of a cluster: it fills its memory and reads it once, works through a fixed
 * amount of work, and then keeps the memory as a server does.
 *
 *	container etc|sys|sort|graph MEGABYTES WORK SEED
 *
 * etc, sys	a key-value store, WORK thousand commands, 95 or 75 % of them reads; keys are
 *		Zipf's with 0.99, as those of Facebook's stores that the Infiniswap paper measures
 * sort		quicksort of random integers, WORK times, each time of others
 * graph	PageRank, WORK rounds, over vertices with 16 edges each
 *
 * It says "filled", waits for the file /run/go, and then says "done seconds N wrong N"; every
 * value that it reads is checked.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sort.h"

#define VALUE_WORDS	128
#define ZIPF		0.99
#define EDGES		16
/* Coprime to any number of keys or vertices that there is memory for. */
#define STRIDE		2654435761u

struct value {
	uint64_t word[VALUE_WORDS];
};

struct vertex {
	uint32_t from[EDGES];
};

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static double draw_unit(void)
{
	return (draw() >> 11) * 0x1p-53;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *take(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE)) {
		perror("container");
		exit(2);
	}
	return memory;
}

static double filled(const void *memory, size_t bytes)
{
	const volatile char *byte = memory;

	for (size_t i = 0; i < bytes; i += 4096)
		(void)byte[i];
	puts("filled");
	fflush(stdout);
	while (access("/run/go", F_OK))
		usleep(50000);
	return now();
}

static void value_set(struct value *value, uint64_t key, uint64_t generation)
{
	value->word[0] = generation;
	for (size_t i = 1; i < VALUE_WORDS; i++)
		value->word[i] = (key * STRIDE ^ generation << 40) + i * 0x9e3779b97f4a7c15;
}

static bool value_is_right(const struct value *value, uint64_t key)
{
	for (size_t i = 1; i < VALUE_WORDS; i++)
		if (value->word[i] !=
		    (key * STRIDE ^ value->word[0] << 40) + i * 0x9e3779b97f4a7c15)
			return false;
	return true;
}

/* Zipf's, by the approximation of Gray et al. (SIGMOD 1994). */
static uint64_t zipf(uint64_t nr)
{
	static double zeta, eta;
	double u = draw_unit();

	if (!zeta) {
		for (uint64_t i = 1; i <= nr; i++)
			zeta += pow(i, -ZIPF);
		eta = (1 - pow(2.0 / nr, 1 - ZIPF)) / (1 - (1 + pow(2, -ZIPF)) / zeta);
	}
	if (u * zeta < 1)
		return 0;
	if (u * zeta < 1 + pow(0.5, ZIPF))
		return 1;
	return nr * pow(eta * u - eta + 1, 1 / (1 - ZIPF));
}

static double store(size_t bytes, uint64_t work, unsigned int reads, uint64_t *wrong)
{
	uint64_t nr = bytes / sizeof(struct value), *generation = calloc(nr, sizeof(*generation));
	struct value *values = take(bytes);
	double start;

	if (!generation)
		exit(2);
	for (uint64_t key = 0; key < nr; key++)
		value_set(&values[key], key, 0);
	zipf(nr);
	start = filled(values, bytes);
	for (uint64_t i = 0; i < work * 1000; i++) {
		uint64_t key = zipf(nr) * STRIDE % nr;

		if (draw() % 100 < reads)
			*wrong += !value_is_right(&values[key], key) ||
				  values[key].word[0] != generation[key];
		else
			value_set(&values[key], key, ++generation[key]);
	}
	return now() - start;
}

static double sort_often(size_t bytes, uint64_t work, uint64_t *wrong)
{
	size_t nr = bytes / sizeof(uint32_t);
	uint32_t *array = take(bytes);
	uint64_t sum = 0;
	double start;

	for (size_t i = 0; i < nr; i++)
		sum += array[i] = draw() >> 32;
	start = filled(array, bytes);
	while (work--) {
		uint64_t after = 0;

		sort(array, nr);
		for (size_t i = 0; i < nr; i++) {
			*wrong += i && array[i - 1] > array[i];
			after += array[i];
		}
		*wrong += after != sum;
		sum = 0;
		for (size_t i = 0; work && i < nr; i++)
			sum += array[i] = draw() >> 32;
	}
	return now() - start;
}

/* Each edge's other end follows from it, and as many edges end at a vertex as begin there. */
static uint32_t edge(uint64_t vertex, unsigned int i, uint32_t nr)
{
	return (vertex * STRIDE + (uint64_t)i * 0x9e3779b1) % nr;
}

static double page_rank(size_t bytes, uint64_t work, uint64_t *wrong)
{
	uint32_t nr = bytes / (sizeof(struct vertex) + 2 * sizeof(float));
	struct vertex *vertices = take(nr * sizeof(*vertices));
	float *rank = take(nr * sizeof(*rank)), *next = take(nr * sizeof(*next)), *other;
	double start, sum = 0;

	for (uint32_t v = 0; v < nr; v++) {
		rank[v] = 2.0 * draw_unit() / nr;
		sum += rank[v];
		for (unsigned int i = 0; i < EDGES; i++)
			vertices[v].from[i] = edge(v, i, nr);
	}
	start = filled(vertices, nr * sizeof(*vertices));
	while (work--) {
		double all = 0;

		for (uint32_t v = 0; v < nr; v++) {
			double in = 0;

			for (unsigned int i = 0; i < EDGES; i++) {
				*wrong += vertices[v].from[i] != edge(v, i, nr);
				in += rank[vertices[v].from[i] % nr];
			}
			next[v] = 0.15 * sum / nr + 0.85 * in / EDGES;
			all += next[v];
		}
		/* None of the rank is lost on the way. */
		*wrong += fabs(all - sum) > 1e-3 * sum;
		other = rank;
		rank = next;
		next = other;
	}
	return now() - start;
}

int main(int argc, char **argv)
{
	uint64_t work, wrong = 0;
	double seconds;
	size_t bytes;

	if (argc != 5) {
		fputs("usage: container etc|sys|sort|graph MEGABYTES WORK SEED\n", stderr);
		return 2;
	}
	bytes = strtoull(argv[2], NULL, 0) << 20;
	work = strtoull(argv[3], NULL, 0);
	state = strtoull(argv[4], NULL, 0) * 0x9e3779b97f4a7c15 | 1;
	if (!strcmp(argv[1], "etc"))
		seconds = store(bytes, work, 95, &wrong);
	else if (!strcmp(argv[1], "sys"))
		seconds = store(bytes, work, 75, &wrong);
	else if (!strcmp(argv[1], "sort"))
		seconds = sort_often(bytes, work, &wrong);
	else if (!strcmp(argv[1], "graph"))
		seconds = page_rank(bytes, work, &wrong);
	else
		return 2;
	printf("done seconds %.3f wrong %llu\n", seconds, (unsigned long long)wrong);
	fflush(stdout);
	for (;;)
		pause();
}
