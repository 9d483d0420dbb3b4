// SPDX-License-Identifier: GPL-2.0
/*
 * Times page faults on anonymous memory larger than the machine's: fills it
 * with incompressible words, then reads, or reads and rewrites, pages in random
 * order, each checked. One line of "name value" pairs a phase:
 *
 *   fill  mb_per_s N
 *   read  faults N p50_us N p99_us N max_us N wrong N
 *   mixed (the same)
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define PAGE	4096
#define WORDS	(PAGE / sizeof(uint64_t))

static uint64_t random_state;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t step(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

static uint64_t first_word(uint64_t page, uint8_t version)
{
	return (page * 0x9e3779b97f4a7c15 ^ (uint64_t)version << 56) | 1;
}

static void page_write(uint64_t *words, uint64_t page, uint8_t version)
{
	uint64_t x = first_word(page, version);

	for (size_t i = 0; i < WORDS; i++)
		words[i] = x = step(x);
}

static bool page_is(const uint64_t *words, uint64_t page, uint8_t version)
{
	uint64_t x = first_word(page, version), differ = 0;

	for (size_t i = 0; i < WORDS; i++) {
		x = step(x);
		differ |= words[i] ^ x;
	}
	return !differ;
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_majflt;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(const char *phase, uint64_t *times, size_t faults, size_t wrong)
{
	qsort(times, faults, sizeof(*times), compare);
	printf("%s faults %zu p50_us %.1f p99_us %.1f max_us %.1f wrong %zu\n", phase, faults,
	       faults ? times[faults / 2] / 1e3 : 0, faults ? times[faults * 99 / 100] / 1e3 : 0,
	       faults ? times[faults - 1] / 1e3 : 0, wrong);
	fflush(stdout);
}

/* @rewrite: also give each page that is read new contents. */
static size_t access_pages(char *memory, uint8_t *versions, size_t pages, size_t accesses,
			   bool rewrite, uint64_t *times)
{
	size_t faults = 0, wrong = 0;

	for (size_t i = 0; i < accesses; i++) {
		uint64_t page, start, end;
		uint64_t *words;
		long before;

		random_state = step(random_state);
		page = random_state % pages;
		words = (uint64_t *)(memory + page * PAGE);

		before = major_faults();
		start = now_ns();
		*(volatile uint64_t *)words;
		end = now_ns();
		if (major_faults() != before)
			times[faults++] = end - start;

		wrong += !page_is(words, page, versions[page]);
		if (rewrite)
			page_write(words, page, ++versions[page]);
	}
	report(rewrite ? "mixed" : "read", times, faults, wrong);
	return wrong;
}

int main(int argc, char **argv)
{
	size_t pages, accesses, wrong;
	uint8_t *versions;
	uint64_t *times, start;
	char *memory;

	if (argc != 4) {
		fprintf(stderr, "usage: fault MEGABYTES ACCESSES SEED\n");
		return 2;
	}
	pages = strtoull(argv[1], NULL, 0) * 256;
	accesses = strtoull(argv[2], NULL, 0);
	random_state = strtoull(argv[3], NULL, 0) * 0x9e3779b97f4a7c15 | 1;

	memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	times = calloc(accesses, sizeof(*times));
	versions = calloc(pages, 1);
	if (memory == MAP_FAILED || !times || !versions) {
		perror("fault");
		return 2;
	}
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	/* What the measurement itself needs never faults. */
	memset(times, 1, accesses * sizeof(*times));
	mlock(times, accesses * sizeof(*times));
	memset(versions, 0, pages);
	mlock(versions, pages);

	start = now_ns();
	for (size_t page = 0; page < pages; page++)
		page_write((uint64_t *)(memory + page * PAGE), page, 0);
	printf("fill mb_per_s %.1f\n", pages * PAGE / 1e6 / ((now_ns() - start) / 1e9));
	fflush(stdout);

	wrong = access_pages(memory, versions, pages, accesses, false, times);
	wrong += access_pages(memory, versions, pages, accesses, true, times);
	return wrong != 0;
}
