// SPDX-License-Identifier: GPL-2.0
/*
 * Times page faults on anonymous memory larger than the machine's: fills it
 * with incompressible words, then reads, or reads and rewrites, pages in random
 * order, or reads all in order, each checked. One line of "name value" pairs a phase:
 *
 *   fill  mb_per_s N
 *   read  faults N p50_us N p99_us N max_us N wrong N
 *   mixed (the same)
 *   sequential (the same)
 *   sequential mb_per_s N
 *   out   us_per_page N wrong N
 *
 * The last has what it has rewritten put out on request, a megabyte at a time.
 *
 * -h: in large folios, where the machine has them for who asks
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
#include <unistd.h>

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

/**
 * struct pages - the memory, and what it should hold
 * @memory:	mapped
 * @versions:	a page's, so many
 * @nr:		how many pages
 * @times:	of faults, as many as there are accesses in a phase
 */
struct pages {
	char *memory;
	uint8_t *versions;
	size_t nr;
	uint64_t *times;
};

/* Looks at a page; how long that took goes to *@time if it was read in. */
static bool page_access(struct pages *pages, uint64_t page, uint64_t *time, size_t *wrong)
{
	volatile uint64_t *words = (uint64_t *)(pages->memory + page * PAGE);
	long before = major_faults();
	uint64_t start = now_ns();

	*words;
	*time = now_ns() - start;
	*wrong += !page_is((uint64_t *)words, page, pages->versions[page]);
	return major_faults() != before;
}

/* @rewrite: also give each page that is read new contents. */
static size_t access_random(struct pages *pages, size_t accesses, bool rewrite)
{
	size_t faults = 0, wrong = 0;

	for (size_t i = 0; i < accesses; i++) {
		uint64_t page, time;

		random_state = step(random_state);
		page = random_state % pages->nr;
		if (page_access(pages, page, &time, &wrong))
			pages->times[faults++] = time;
		if (rewrite)
			page_write((uint64_t *)(pages->memory + page * PAGE), page,
				   ++pages->versions[page]);
	}
	report(rewrite ? "mixed" : "read", pages->times, faults, wrong);
	return wrong;
}

static void report_speed(const char *phase, const struct pages *pages, uint64_t start)
{
	printf("%s mb_per_s %.1f\n", phase, pages->nr * PAGE / 1e6 / ((now_ns() - start) / 1e9));
	fflush(stdout);
}

static size_t access_sequential(struct pages *pages, size_t accesses)
{
	uint64_t start = now_ns(), time;
	size_t faults = 0, wrong = 0;

	for (uint64_t page = 0; page < pages->nr; page++)
		if (page_access(pages, page, &time, &wrong) && faults < accesses)
			pages->times[faults++] = time;
	report_speed("sequential", pages, start);
	report("sequential", pages->times, faults, wrong);
	return wrong;
}

static size_t access_out(struct pages *pages)
{
	uint64_t spent = 0, start, time;
	size_t wrong = 0;

	for (uint64_t first = 0; first < pages->nr; first += 256) {
		for (uint64_t page = first; page < first + 256; page++) {
			page_access(pages, page, &time, &wrong);
			page_write((uint64_t *)(pages->memory + page * PAGE), page,
				   ++pages->versions[page]);
		}
		start = now_ns();
		if (madvise(pages->memory + first * PAGE, 256 * PAGE, MADV_PAGEOUT)) {
			perror("fault: MADV_PAGEOUT");
			exit(2);
		}
		spent += now_ns() - start;
	}
	printf("out us_per_page %.1f wrong %zu\n", spent / 1e3 / pages->nr, wrong);
	fflush(stdout);
	return wrong;
}

static int usage(void)
{
	fputs("usage: fault [-h] MEGABYTES ACCESSES SEED [read|mixed|sequential|out]...\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static char *const both[] = { "read", "mixed", NULL };
	struct pages pages;
	int advice = MADV_NOHUGEPAGE, option;
	size_t accesses, wrong = 0;
	char *const *phase;
	uint64_t start;

	while ((option = getopt(argc, argv, "h")) != -1) {
		if (option != 'h')
			return usage();
		advice = MADV_HUGEPAGE;
	}
	argv += optind;
	if (argc - optind < 3)
		return usage();
	pages.nr = strtoull(argv[0], NULL, 0) * 256;
	accesses = strtoull(argv[1], NULL, 0);
	random_state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15 | 1;

	pages.memory = mmap(NULL, pages.nr * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pages.times = calloc(accesses, sizeof(*pages.times));
	pages.versions = calloc(pages.nr, 1);
	if (pages.memory == MAP_FAILED || !pages.times || !pages.versions) {
		perror("fault");
		return 2;
	}
	if (madvise(pages.memory, pages.nr * PAGE, advice) && advice == MADV_HUGEPAGE) {
		perror("fault: large folios");
		return 2;
	}
	/* What the measurement itself needs never faults. */
	memset(pages.times, 1, accesses * sizeof(*pages.times));
	mlock(pages.times, accesses * sizeof(*pages.times));
	memset(pages.versions, 0, pages.nr);
	mlock(pages.versions, pages.nr);

	start = now_ns();
	for (size_t page = 0; page < pages.nr; page++)
		page_write((uint64_t *)(pages.memory + page * PAGE), page, 0);
	report_speed("fill", &pages, start);

	for (phase = argv[3] ? argv + 3 : both; *phase; phase++) {
		if (!strcmp(*phase, "sequential"))
			wrong += access_sequential(&pages, accesses);
		else if (!strcmp(*phase, "out"))
			wrong += access_out(&pages);
		else if (!strcmp(*phase, "read") || !strcmp(*phase, "mixed"))
			wrong += access_random(&pages, accesses, **phase == 'm');
		else
			return usage();
	}
	return wrong != 0;
}
