// SPDX-License-Identifier: GPL-2.0
/*
 * Times page faults on anonymous memory larger than the machine's: fills it
 * with incompressible words, then looks at pages, each checked, in phases. One line
 * of "name value" pairs a phase:
 *
 *   fill       mb_per_s N                     writes all, in order
 *   read       faults N p50_us N p99_us N max_us N accesses_per_s N wrong N
 *                                             random pages
 *   mixed      (the same)                     random pages, and rewrites them
 *   dirty      rewritten N wrong N            rewrites all that is in memory
 *   sequential (the same)                     all in order, from where the last
 *   sequential mb_per_s N                     such phase ended
 *   strided    (the same as read)             every tenth, then from the next on
 *   runs       (the same)                     so many in order, and so on elsewhere
 *   both       (the same)                     in order and at random, in turn
 *   out        us_per_page N wrong N          has what it has rewritten put out
 *                                             on request, a megabyte at a time
 *   clean      (the same)                     has all put out that is in memory
 *
 * -c N: data that LZ4 compresses to one Nth, or less: the rest of each page is zero
 * -b: also "PHASE bucket_us N count N" for each time that was seen, in steps of an eighth
 * -h: in large folios, where the machine has them for who asks
 * -i: phases are lines of standard input, "done" is the last line of each; "threads N" divides
 *     the memory anew
 * -m: shared memory
 * -s N: seconds after which each phase but "fill" ends
 * -t N: threads, each with a share of the memory
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "buckets.h"

#define PAGE		4096
#define WORDS		(PAGE / sizeof(uint64_t))
#define STRIDE		10
#define RUN_PAGES	24	/* in order */
#define OUT_PAGES	256	/* put out at once */
#define THREADS_MAX	64

/**
 * struct worker - a thread, and its share of the memory
 * @memory:	its pages
 * @versions:	what they hold, so many
 * @nr:		how many they are
 * @next:	page that is next in order, where the last phase left off
 * @state:	of its random numbers
 * @times:	of faults, ns; as many as there are accesses in a phase
 * @accesses:	in this phase
 * @faults:	of them
 * @wrong:	pages that did not hold what they should
 * @spent:	ns, in what is timed apart from faults
 * @run:	what it does in this phase
 * @thread:	that runs it, where there are several
 */
struct worker {
	char *memory;
	uint8_t *versions;
	size_t nr;
	size_t next;
	uint64_t state;
	uint64_t *times;
	size_t accesses;
	size_t faults;
	size_t wrong;
	uint64_t spent;
	void (*run)(struct worker *worker);
	pthread_t thread;
};

static struct worker whole;	/* what workers share */
static struct worker workers[THREADS_MAX];
static size_t nr_workers = 1;
static size_t accesses_whole;	/* of all in a random phase */
static size_t accesses_max;	/* of each */
static size_t nr_random = WORDS;	/* words of each page; the others are zero */
static bool buckets;
static uint64_t limit_ns;	/* of each phase; 0: none */
static uint64_t end_ns;		/* of this one */

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

static uint64_t *page_of(const struct worker *worker, size_t page)
{
	return (uint64_t *)(worker->memory + page * PAGE);
}

static uint64_t first_word(const struct worker *worker, size_t page)
{
	uint64_t number = (uintptr_t)page_of(worker, page) / PAGE;

	return (number * 0x9e3779b97f4a7c15 ^ (uint64_t)worker->versions[page] << 56) | 1;
}

static void page_write(struct worker *worker, size_t page)
{
	uint64_t x = first_word(worker, page), *words = page_of(worker, page);

	for (size_t i = 0; i < nr_random; i++)
		words[i] = x = step(x);
	memset(words + nr_random, 0, PAGE - nr_random * sizeof(*words));
}

static bool page_is_right(const struct worker *worker, size_t page)
{
	uint64_t x = first_word(worker, page), differ = 0;
	const uint64_t *words = page_of(worker, page);

	for (size_t i = 0; i < nr_random; i++) {
		x = step(x);
		differ |= words[i] ^ x;
	}
	for (size_t i = nr_random; i < WORDS; i++)
		differ |= words[i];
	return !differ;
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

/* Looks at a page, and keeps how long that took if it was read in. */
static void page_access(struct worker *worker, size_t page)
{
	long before = major_faults();
	uint64_t start = now_ns(), time;

	*(volatile uint64_t *)page_of(worker, page);
	time = now_ns() - start;
	if (major_faults() != before && worker->faults < accesses_max)
		worker->times[worker->faults++] = time;
	worker->accesses++;
	worker->wrong += !page_is_right(worker, page);
}

static void page_rewrite(struct worker *worker, size_t page)
{
	worker->versions[page]++;
	page_write(worker, page);
}

static size_t page_random(struct worker *worker)
{
	worker->state = step(worker->state);
	return worker->state % worker->nr;
}

/* In steps, and after the last one from one page further than the first time. */
static size_t page_next(struct worker *worker, size_t stride)
{
	size_t page = worker->next;

	worker->next += stride;
	if (worker->next >= worker->nr)
		worker->next = (worker->next + 1) % stride;
	return page;
}

static bool time_is_up(void)
{
	return limit_ns && now_ns() > end_ns;
}

static void run_fill(struct worker *worker)
{
	for (size_t page = 0; page < worker->nr; page++)
		page_write(worker, page);
}

static void run_read(struct worker *worker)
{
	for (size_t i = 0; i < accesses_max && !time_is_up(); i++)
		page_access(worker, page_random(worker));
}

static void run_mixed(struct worker *worker)
{
	for (size_t i = 0; i < accesses_max && !time_is_up(); i++) {
		size_t page = page_random(worker);

		page_access(worker, page);
		page_rewrite(worker, page);
	}
}

static void run_sequential(struct worker *worker)
{
	for (size_t i = 0; i < worker->nr && !time_is_up(); i++)
		page_access(worker, page_next(worker, 1));
}

static void run_strided(struct worker *worker)
{
	for (size_t i = 0; i < accesses_max && !time_is_up(); i++)
		page_access(worker, page_next(worker, STRIDE));
}

static void run_runs(struct worker *worker)
{
	for (size_t i = 0; i < accesses_max && !time_is_up(); i += RUN_PAGES) {
		size_t first = page_random(worker) / RUN_PAGES * RUN_PAGES;

		for (size_t page = first; page < first + RUN_PAGES && page < worker->nr; page++)
			page_access(worker, page);
	}
}

static void run_both(struct worker *worker)
{
	for (size_t i = 0; i < accesses_max && !time_is_up(); i += 2) {
		page_access(worker, page_next(worker, 1));
		page_access(worker, page_random(worker));
	}
}

static void put_out(struct worker *worker, size_t first)
{
	uint64_t start = now_ns();

	if (madvise(page_of(worker, first), OUT_PAGES * PAGE, MADV_PAGEOUT)) {
		perror("fault: MADV_PAGEOUT");
		exit(2);
	}
	worker->spent += now_ns() - start;
}

static void run_out(struct worker *worker)
{
	for (size_t first = 0; first + OUT_PAGES <= worker->nr && !time_is_up();
	     first += OUT_PAGES) {
		for (size_t page = first; page < first + OUT_PAGES; page++) {
			page_access(worker, page);
			page_rewrite(worker, page);
		}
		put_out(worker, first);
	}
}

static void run_clean(struct worker *worker)
{
	for (size_t first = 0; first + OUT_PAGES <= worker->nr; first += OUT_PAGES) {
		put_out(worker, first);
		worker->accesses += OUT_PAGES;
	}
}

static void run_dirty(struct worker *worker)
{
	unsigned char in_memory;

	for (size_t page = 0; page < worker->nr; page++) {
		if (mincore(page_of(worker, page), PAGE, &in_memory)) {
			perror("fault: mincore");
			exit(2);
		}
		if (in_memory & 1) {
			page_access(worker, page);
			page_rewrite(worker, page);
		}
	}
}

static const struct phase {
	const char *name;
	void (*run)(struct worker *worker);
} phases[] = {
	{ "fill", run_fill },
	{ "read", run_read },
	{ "mixed", run_mixed },
	{ "sequential", run_sequential },
	{ "strided", run_strided },
	{ "runs", run_runs },
	{ "both", run_both },
	{ "out", run_out },
	{ "clean", run_clean },
	{ "dirty", run_dirty },
};

static const struct phase *phase_named(const char *name)
{
	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++)
		if (!strcmp(phases[i].name, name))
			return &phases[i];
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Return a percentile of sorted times. */
static double time_us(const uint64_t *times, size_t faults, size_t permille)
{
	return faults ? times[(faults - 1) * permille / 1000] / 1e3 : 0;
}

/* Print the results of all workers in this time; return the number of wrong pages. */
static size_t report(const char *phase, uint64_t ns)
{
	size_t nr = 0, accesses = 0, faults = 0, wrong = 0;
	uint64_t *times = workers[0].times, spent = 0;

	for (size_t i = 0; i < nr_workers; i++) {
		/* Theirs follow each other. */
		memmove(times + faults, workers[i].times, workers[i].faults * sizeof(*times));
		faults += workers[i].faults;
		accesses += workers[i].accesses;
		wrong += workers[i].wrong;
		spent += workers[i].spent;
		nr += workers[i].nr;
	}
	if (!strcmp(phase, "out") || !strcmp(phase, "clean")) {
		printf("%s us_per_page %.2f wrong %zu\n", phase, spent / 1e3 / accesses, wrong);
	} else if (!strcmp(phase, "dirty")) {
		printf("%s rewritten %zu wrong %zu\n", phase, accesses, wrong);
	} else if (strcmp(phase, "fill")) {
		qsort(times, faults, sizeof(*times), compare);
		printf("%s faults %zu p50_us %.2f p99_us %.2f max_us %.2f accesses_per_s %.0f wrong %zu\n",
		       phase, faults, time_us(times, faults, 500), time_us(times, faults, 990),
		       time_us(times, faults, 1000), accesses / (ns / 1e9), wrong);
		if (buckets)
			print_buckets(phase, times, faults);
	}
	if (!strcmp(phase, "fill"))
		accesses = nr;
	if (!strcmp(phase, "fill") || !strcmp(phase, "sequential"))
		printf("%s mb_per_s %.1f\n", phase, accesses * PAGE / 1e6 / (ns / 1e9));
	fflush(stdout);
	return wrong;
}

static void *worker_main(void *data)
{
	struct worker *worker = data;

	worker->run(worker);
	return NULL;
}

/* Pages that were wrong. */
static size_t run(const struct phase *phase)
{
	uint64_t start = now_ns();

	end_ns = start + limit_ns;
	for (size_t i = 0; i < nr_workers; i++) {
		struct worker *worker = &workers[i];

		worker->run = phase->run;
		worker->accesses = worker->faults = worker->wrong = worker->spent = 0;
		if (nr_workers == 1) {
			worker_main(worker);
		} else if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
			fputs("fault: can't make a thread\n", stderr);
			exit(2);
		}
	}
	for (size_t i = 0; i < nr_workers && nr_workers > 1; i++)
		pthread_join(workers[i].thread, NULL);
	return report(phase->name, now_ns() - start);
}

/* Memory that the measurement itself needs never faults. */
static void *memory_locked(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory || mlock(memory, bytes)) {
		perror("fault: memory");
		exit(2);
	}
	/* So that no page of it is the zero page. */
	memset(memory, 1, bytes);
	return memset(memory, 0, bytes);
}

static void workers_divide(size_t nr)
{
	size_t share = whole.nr / nr;

	nr_workers = nr;
	accesses_max = accesses_whole / nr;
	for (size_t i = 0; i < nr; i++)
		workers[i] = (struct worker){
			.memory = whole.memory + i * share * PAGE,
			.versions = whole.versions + i * share,
			.nr = share,
			.state = (whole.state + i) * 0x9e3779b97f4a7c15 | 1,
			.times = whole.times + i * accesses_max,
		};
}

static void workers_init(size_t nr_pages, size_t accesses, uint64_t seed, int advice,
			 int kind)
{
	char *memory = mmap(NULL, nr_pages * PAGE, PROT_READ | PROT_WRITE,
			    kind | MAP_ANONYMOUS, -1, 0);
	uint8_t *versions = memory_locked(nr_pages);
	uint64_t *times = memory_locked(accesses * sizeof(*times));

	if (memory == MAP_FAILED) {
		perror("fault: memory");
		exit(2);
	}
	if (madvise(memory, nr_pages * PAGE, advice) && advice == MADV_HUGEPAGE) {
		perror("fault: large folios");
		exit(2);
	}
	whole = (struct worker){
		.memory = memory,
		.versions = versions,
		.nr = nr_pages,
		.state = seed,
		.times = times,
	};
	accesses_whole = accesses;
	workers_divide(nr_workers);
}

/* Pages that were wrong. */
static size_t run_lines(void)
{
	size_t wrong = 0, threads;
	char line[80];

	while (fgets(line, sizeof(line), stdin)) {
		const struct phase *phase;

		line[strcspn(line, "\n")] = 0;
		phase = phase_named(line);
		if (phase) {
			wrong += run(phase);
		} else if (sscanf(line, "threads %zu", &threads) == 1 && threads &&
			   threads <= THREADS_MAX) {
			workers_divide(threads);
		} else {
			fprintf(stderr, "fault: there is no phase \"%s\"\n", line);
			exit(2);
		}
		puts("done");
		fflush(stdout);
	}
	return wrong;
}

static int usage(void)
{
	fputs("usage: fault [-b] [-c RATIO] [-h] [-i] [-m] [-s SECONDS] [-t THREADS] MEGABYTES ACCESSES SEED [PHASE]...\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static char *const both[] = { "read", "mixed", NULL };
	int advice = MADV_NOHUGEPAGE, kind = MAP_PRIVATE, option;
	bool interactive = false;
	char *const *phase;
	size_t wrong, ratio = 1;

	while ((option = getopt(argc, argv, "bc:hims:t:")) != -1) {
		if (option == 'b')
			buckets = true;
		else if (option == 'c')
			ratio = strtoull(optarg, NULL, 0) ?: WORDS;
		else if (option == 'h')
			advice = MADV_HUGEPAGE;
		else if (option == 'i')
			interactive = true;
		else if (option == 'm')
			kind = MAP_SHARED;
		else if (option == 's')
			limit_ns = strtoull(optarg, NULL, 0) * 1000000000;
		else if (option == 't')
			nr_workers = strtoull(optarg, NULL, 0);
		else
			return usage();
	}
	argv += optind;
	/* A sixteenth less, for what the compressed page holds besides. */
	if (ratio > 1)
		nr_random = WORDS * 15 / 16 / ratio;
	if (argc - optind < 3 || !nr_random || !nr_workers || nr_workers > THREADS_MAX ||
	    strtoull(argv[0], NULL, 0) < nr_workers)
		return usage();
	for (phase = argv + 3; *phase; phase++)
		if (!phase_named(*phase))
			return usage();
	workers_init(strtoull(argv[0], NULL, 0) * 256, strtoull(argv[1], NULL, 0),
		     strtoull(argv[2], NULL, 0), advice, kind);
	if (interactive)
		return run_lines() != 0;
	wrong = run(phase_named("fill"));
	for (phase = argv[3] ? argv + 3 : both; *phase; phase++)
		wrong += run(phase_named(*phase));
	return wrong != 0;
}
