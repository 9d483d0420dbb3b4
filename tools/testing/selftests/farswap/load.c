// SPDX-License-Identifier: GPL-2.0
/*
 * load - memory load that verifies every byte it reads.
 *
 * Each process owns a region of memory. It fills it, then reads and rewrites
 * pages in an order drawn from a seed, and at the end reads it all. The expected contents
 * of a page (page.h) follow from a table of generations, two bytes a page,
 * which is locked in memory, as is everything else that this program needs, so
 * that only the data is swapped. Any wrong byte is reported and the exit status
 * is 1. It knows nothing of farswap.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PROCESSES_MAX	64
/* A page's owner has 16 bits: number of the run, and of the process. */
#define RUNS		512
#define RUN_OWNERS	128
#define REPORTS_MAX	8	/* wrong pages a process describes */
#define RANGE_MAX	40	/* pages in one unmap or page-out: above 64 KiB */
/* Time of work before each rest, and limit of a rest. */
#define REST_AFTER_US	10000
#define REST_FOR_US	100000
#define STACK_BYTES	(256UL << 10)

enum memory { MEMORY_ANON, MEMORY_HUGE, MEMORY_SHMEM };

static const char * const memory_names[] = {
	[MEMORY_ANON] = "anon",
	[MEMORY_HUGE] = "huge",
	[MEMORY_SHMEM] = "shmem",
};

/* Every option with a number. */
static unsigned long megabytes = 64;
static unsigned long processes = 1;
static unsigned long children;		/* that each process forks */
static unsigned long seed = 1;
/* Number of this run: tells its pages from another run's with equal numbers. */
static unsigned int run;
static unsigned long operations;	/* of each process; 0: until the time is up */
static unsigned long seconds;
static unsigned long write_percent = 50;
static unsigned long zero_percent;	/* of the writes */
static unsigned long unmap_permille;	/* of the operations */
static unsigned long pageout_permille;
static unsigned long stall_seconds = 100; /* fail when one access takes longer */
static unsigned long report_seconds = 5;
static unsigned long rest_percent;	/* of the time */
static unsigned long read_percent;	/* of the pages: read between two holds */
static unsigned long fill_rest_percent;	/* of the time until all is filled */

static enum memory memory = MEMORY_ANON;
static bool sequential;
static bool threads;			/* each process has threads, not children */
static bool filled_first;		/* no page is made all zero before it was something else */
static bool damage;			/* make some pages wrong: a test of this test */
static bool lost_allowed;		/* SIGBUS is counted, but is no failure */
static bool hold_pageout;		/* page everything out before holding */
static bool hold_willneed;		/* have all read ahead after holding */
static const char *hold_prefix;

static const struct {
	char letter;
	unsigned long *number;
} numbers[] = {
	{ 'm', &megabytes },
	{ 'p', &processes },
	{ 'f', &children },
	{ 's', &seed },
	{ 'n', &operations },
	{ 'd', &seconds },
	{ 'w', &write_percent },
	{ 'z', &zero_percent },
	{ 'u', &unmap_permille },
	{ 'o', &pageout_permille },
	{ 'S', &stall_seconds },
	{ 'i', &report_seconds },
	{ 'c', &page_sparse_percent },
	{ 'r', &rest_percent },
	{ 'R', &fill_rest_percent },
	{ 'V', &read_percent },
};

/* Shared with all processes; the parent only reads. */
struct progress {
	uint64_t reads;
	uint64_t writes;
	uint64_t wrong_pages;
	uint64_t wrong_bytes;	/* rounded up to words */
	uint64_t lost_pages;	/* SIGBUS */
	uint64_t longest_us;
	uint64_t access_began_us;	/* 0: not in one */
	unsigned int filled;	/* processes */
	bool stop;		/* in [0] only: all are to finish */
};

static struct progress *progress;

/* One process's view of its region. */
struct region {
	unsigned char *base;
	uint16_t *gen;
	size_t pages;
	size_t kept;		/* the first ones, which were in memory and can't be lost */
	unsigned int owner;
	unsigned int writer;
	/* Only pages whose number modulo sharers is writer may be touched. */
	unsigned int sharers;
	struct progress *progress;
	unsigned int reports;
	uint64_t random;
};

static __thread sigjmp_buf lost_page;
static volatile sig_atomic_t stop_signal;

static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("load: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	exit(2);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static uint64_t region_random(struct region *region)
{
	region->random = page_next(region->random);
	return region->random >> 11;
}

static void on_sigbus(int signal)
{
	siglongjmp(lost_page, signal);
}

static void on_sigterm(int signal)
{
	stop_signal = signal;
}

static uint64_t *region_page(struct region *region, size_t page)
{
	return (uint64_t *)(region->base + page * PAGE_BYTES);
}

static void access_begin(struct region *region)
{
	__atomic_store_n(&region->progress->access_began_us, now_us(), __ATOMIC_RELAXED);
}

static void access_end(struct region *region)
{
	struct progress *p = region->progress;
	uint64_t took = now_us() - p->access_began_us;

	__atomic_store_n(&p->access_began_us, 0, __ATOMIC_RELAXED);
	if (took > p->longest_us)
		p->longest_us = took;
}

static uint64_t region_tag(const struct region *region, size_t page, unsigned int gen)
{
	return page_tag(run * RUN_OWNERS + region->owner, page, gen);
}

static void describe_wrong(struct region *region, size_t page, const uint64_t *word)
{
	static const char * const verdicts[] = {
		[PAGE_RIGHT] = "right when read again",
		[PAGE_STALE] = "another generation of this page",
		[PAGE_FOREIGN] = "another page",
		[PAGE_ZERO] = "all zero",
		[PAGE_TORN] = "torn or garbage",
	};
	unsigned int gen = region->gen[page];
	struct page_finding found = page_examine(word, region_tag(region, page, gen));

	/* A word is wrong as a whole even if one byte of it happens to match. */
	region->progress->wrong_bytes += (found.wrong_words ?: 1) * sizeof(uint64_t);
	if (region->reports++ >= REPORTS_MAX)
		return;
	printf("load: WRONG owner %u writer %u page %zu at %p: expected generation %#x, found %s (tag: run %u owner %u page %zu generation %#x), %u words wrong from word %u\n",
	       region->owner, region->writer, page, (const void *)word, gen,
	       verdicts[found.verdict], page_tag_owner(found.tag) / RUN_OWNERS,
	       page_tag_owner(found.tag) % RUN_OWNERS, page_tag_page(found.tag),
	       page_tag_gen(found.tag), found.wrong_words, found.first_wrong);
}

static void page_verify(struct region *region, size_t page)
{
	const uint64_t *word = region_page(region, page);

	region->progress->reads++;
	if (page_is_right(word, region_tag(region, page, region->gen[page])))
		return;
	region->progress->wrong_pages++;
	describe_wrong(region, page, word);
}

static void page_write(struct region *region, size_t page, bool zero)
{
	unsigned int gen = page_next_gen(region->gen[page], region->writer);

	if (zero) {
		gen |= GEN_ZERO;
		page_clear(region_page(region, page));
	} else {
		page_fill(region_page(region, page), region_tag(region, page, gen));
	}
	region->gen[page] = gen;
	region->progress->writes++;
}

/* Read a page and, perhaps, rewrite it. A lost page is counted and reset to zero. */
static void page_access(struct region *region, size_t page, bool verify, bool write, bool zero)
{
	access_begin(region);
	if (sigsetjmp(lost_page, 0)) {
		if (page < region->kept)
			die("DATA: page %zu was in memory at the second hold and is lost", page);
		region->progress->lost_pages++;
		if (region->reports++ < REPORTS_MAX)
			printf("load: LOST owner %u writer %u page %zu at %p: SIGBUS\n",
			       region->owner, region->writer, page,
			       (void *)region_page(region, page));
		madvise(region_page(region, page), PAGE_BYTES,
			memory == MEMORY_SHMEM ? MADV_REMOVE : MADV_DONTNEED);
		region->gen[page] |= GEN_ZERO;
	} else {
		if (verify)
			page_verify(region, page);
		if (write)
			page_write(region, page, zero);
	}
	access_end(region);
}

static bool stopping(void)
{
	return __atomic_load_n(&progress[0].stop, __ATOMIC_RELAXED);
}

/* A page that this process may touch, at or after @page. */
static size_t region_mine(struct region *region, size_t page)
{
	if (region->sharers > 1)
		page += (region->writer + region->sharers - page % region->sharers) %
			region->sharers;
	return page < region->pages ? page : region->writer;
}

static size_t pick_range(struct region *region, size_t page)
{
	size_t length = 1 + region_random(region) % RANGE_MAX;

	return page + length > region->pages ? region->pages - page : length;
}

static void advise_huge(void *address, size_t bytes)
{
	if (memory != MEMORY_SHMEM)
		madvise(address, bytes,
			memory == MEMORY_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* Discard a range by one of several calls; it reads as zero then. */
static void unmap_range(struct region *region, size_t page)
{
	size_t length = pick_range(region, page), i;
	void *address = region_page(region, page);
	int error;

	if (region->sharers > 1)
		return;
	if (memory == MEMORY_SHMEM) {
		error = madvise(address, length * PAGE_BYTES, MADV_REMOVE);
	} else if (region_random(region) & 1) {
		error = madvise(address, length * PAGE_BYTES, MADV_DONTNEED);
	} else {
		error = mmap(address, length * PAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
		advise_huge(address, length * PAGE_BYTES);
	}
	if (error)
		die("unmapping a range: %s", strerror(errno));
	for (i = 0; i < length; i++)
		region->gen[page + i] |= GEN_ZERO;
}

static void operate(struct region *region, size_t page)
{
	unsigned int event = region_random(region) % 1000;
	bool write = region_random(region) % 100 < write_percent;
	bool zero = region_random(region) % 100 < zero_percent;

	if (event < unmap_permille) {
		unmap_range(region, page);
		return;
	}
	event -= unmap_permille;
	if (event < pageout_permille)
		madvise(region_page(region, page), pick_range(region, page) * PAGE_BYTES,
			MADV_PAGEOUT);
	else
		page_access(region, page, true, write, zero);
}

/* Rest if the work since @since_us took long enough; returns when work goes on. */
static uint64_t rest(uint64_t since_us, unsigned long percent)
{
	uint64_t worked_us = now_us() - since_us;

	if (!percent || worked_us < REST_AFTER_US)
		return since_us;
	if (worked_us > REST_FOR_US)
		worked_us = REST_FOR_US;
	usleep(worked_us * percent / (100 - percent));
	return now_us();
}

static void region_mix(struct region *region)
{
	uint64_t since = now_us(), end = since + seconds * 1000000ULL;
	unsigned long done;
	size_t page = 0;

	for (done = 0; !stopping(); done++) {
		if (operations ? done >= operations : now_us() >= end)
			break;
		page = sequential ? (page + 1) % region->pages :
					   region_random(region) % region->pages;
		operate(region, region_mine(region, page));
		since = rest(since, rest_percent);
	}
}

static void region_fill(struct region *region)
{
	uint64_t since = now_us();
	size_t page;

	for (page = 0; page < region->pages && !stopping(); page++) {
		page_access(region, page, false, true, zero_percent && !filled_first &&
			    region_random(region) % 100 < zero_percent);
		since = rest(since, fill_rest_percent);
	}
	region->progress->filled = 1;
}

/* Read the first pages. */
static void region_verify(struct region *region, size_t pages)
{
	size_t page;

	for (page = 0; page < pages; page++)
		page_access(region, page, true, false, false);
}

static void *locked(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mapping a table: %s", strerror(errno));
	if (mlock(p, bytes))
		die("locking a table of %zu bytes: %s", bytes, strerror(errno));
	return p;
}

static void region_create(struct region *region, unsigned int index)
{
	size_t bytes = ((size_t)megabytes << 20) / processes & ~(PAGE_BYTES - 1);
	size_t page;

	region->pages = bytes / PAGE_BYTES;
	region->owner = index + 1;
	region->sharers = 1;
	region->progress = &progress[index * (children + 1)];
	region->random = page_mix(seed * 0x9e3779b97f4a7c15ULL + region->owner) | 1;
	region->gen = locked(region->pages * sizeof(*region->gen));
	/* Never written: reads as zero. */
	for (page = 0; page < region->pages; page++)
		region->gen[page] = GEN_ZERO;
	region->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS |
			    (memory == MEMORY_SHMEM ? MAP_SHARED : MAP_PRIVATE), -1, 0);
	if (region->base == MAP_FAILED)
		die("mapping %zu bytes: %s", bytes, strerror(errno));
	advise_huge(region->base, bytes);
}

/* Simulate a broken swap: an old copy, an empty page, another page, a wrong bit. */
static void damage_region(struct region *region)
{
	page_fill(region_page(region, 0), region_tag(region, 0, region->gen[0] - GEN_WRITERS));
	page_clear(region_page(region, 1));
	page_fill(region_page(region, 2), region_tag(region, 3, region->gen[3]));
	region_page(region, 4)[PAGE_WORDS - 1] ^= 1ULL << 63;
}

/* Make one file, and wait for another. */
static void hold(struct region *region, const char *made, const char *awaited)
{
	char ready[256], go[256];
	FILE *file;

	snprintf(ready, sizeof(ready), "%s.%s.%u", hold_prefix, made, region->owner);
	snprintf(go, sizeof(go), "%s.%s", hold_prefix, awaited);
	file = fopen(ready, "w");
	if (!file)
		die("%s: %s", ready, strerror(errno));
	fclose(file);
	while (access(go, F_OK) && !stopping())
		usleep(20000);
}

static void hold_filled(struct region *region)
{
	if (hold_pageout)
		madvise(region->base, region->pages * PAGE_BYTES, MADV_PAGEOUT);
	hold(region, "ready", "go");
	if (hold_willneed)
		madvise(region->base, region->pages * PAGE_BYTES, MADV_WILLNEED);
	if (!read_percent)
		return;
	region->kept = region->pages * read_percent / 100;
	region_verify(region, region->kept);
	hold(region, "again", "on");
}

static void become_writer(struct region *region, unsigned int writer)
{
	region->writer = writer;
	region->progress += writer;
	region->random = page_mix(region->random + writer) | 1;
}

static void become_child(struct region *region, unsigned int child)
{
	uint16_t *shared = region->gen;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	become_writer(region, child);
	if (memory == MEMORY_SHMEM)
		return;
	/* From here on this process's pages have generations of their own. */
	region->gen = locked(region->pages * sizeof(*shared));
	memcpy(region->gen, shared, region->pages * sizeof(*shared));
}

/* Children do not inherit memory locks: lock all memory but the data again. */
static void lock_all_but(struct region *region)
{
	if (mlockall(MCL_CURRENT | MCL_ONFAULT) ||
	    munlock(region->base, region->pages * PAGE_BYTES))
		die("locking a child: %s", strerror(errno));
}

/* Children and parent use the same memory, copied on write or shared. */
static void region_mix_forked(struct region *region)
{
	pid_t pids[GEN_WRITERS];
	int ready[2], status;
	unsigned int child;
	char byte = 0;

	if (memory == MEMORY_SHMEM)
		region->sharers = children + 1;
	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	for (child = 1; child <= children; child++) {
		pids[child] = fork();
		if (pids[child] < 0)
			die("fork: %s", strerror(errno));
		if (!pids[child]) {
			lock_all_but(region);
			become_child(region, child);
			/* The parent changes its table only when we have copied it. */
			if (write(ready[1], &byte, 1) != 1)
				die("pipe: %s", strerror(errno));
			region_mix(region);
			if (memory != MEMORY_SHMEM)
				region_verify(region, region->pages);
			exit(0);
		}
	}
	for (child = 1; child <= children; child++)
		if (read(ready[0], &byte, 1) != 1)
			die("a child did not start");
	region_mix(region);
	for (child = 1; child <= children; child++)
		if (waitpid(pids[child], &status, 0) != pids[child] || status)
			die("child %u of process %u: wait status %#x", child, region->owner,
			    status);
	region->sharers = 1;
}

static void *run_thread(void *region)
{
	region_mix(region);
	return NULL;
}

/* Pages of the threads alternate, so that they share folios and page tables. */
static void region_mix_threaded(struct region *region)
{
	struct region own[GEN_WRITERS];
	pthread_t ids[GEN_WRITERS];
	pthread_attr_t attr;
	unsigned int i;

	region->sharers = children + 1;
	pthread_attr_init(&attr);
	for (i = 1; i <= children; i++) {
		own[i] = *region;
		become_writer(&own[i], i);
		if (pthread_attr_setstack(&attr, locked(STACK_BYTES), STACK_BYTES) ||
		    pthread_create(&ids[i], &attr, run_thread, &own[i]))
			die("a thread did not start");
	}
	region_mix(region);
	for (i = 1; i <= children; i++)
		pthread_join(ids[i], NULL);
	region->sharers = 1;
}

static void run_process(unsigned int index)
{
	struct region region = { 0 };
	struct sigaction action = { .sa_handler = on_sigbus, .sa_flags = SA_NODEFER };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	sigaction(SIGBUS, &action, NULL);
	/* Without MCL_FUTURE: the data, which is mapped later, is not locked. */
	if (mlockall(MCL_CURRENT))
		die("mlockall: %s", strerror(errno));
	region_create(&region, index);
	region_fill(&region);
	if (damage)
		damage_region(&region);
	if (hold_prefix)
		hold_filled(&region);
	if (threads)
		region_mix_threaded(&region);
	else if (children)
		region_mix_forked(&region);
	else
		region_mix(&region);
	region_verify(&region, region.pages);
	exit(0);
}

static struct progress sum_progress(uint64_t *blocked_us)
{
	unsigned int i, n = processes * (children + 1);
	struct progress sum = { 0 };
	uint64_t now = now_us();

	*blocked_us = 0;
	for (i = 0; i < n; i++) {
		struct progress *p = &progress[i];
		uint64_t began = __atomic_load_n(&p->access_began_us, __ATOMIC_RELAXED);

		sum.reads += p->reads;
		sum.writes += p->writes;
		sum.wrong_pages += p->wrong_pages;
		sum.wrong_bytes += p->wrong_bytes;
		sum.lost_pages += p->lost_pages;
		sum.filled += p->filled;
		if (p->longest_us > sum.longest_us)
			sum.longest_us = p->longest_us;
		if (began && began < now && now - began > *blocked_us)
			*blocked_us = now - began;
	}
	if (*blocked_us > sum.longest_us)
		sum.longest_us = *blocked_us;
	return sum;
}

static void report(const char *what, uint64_t began_us)
{
	uint64_t blocked_us;
	struct progress sum = sum_progress(&blocked_us);

	printf("load: %s seconds=%.1f reads=%llu writes=%llu wrong_pages=%llu wrong_bytes=%llu lost_pages=%llu longest_ms=%llu blocked_now_ms=%llu\n",
	       what, (now_us() - began_us) / 1e6, (unsigned long long)sum.reads,
	       (unsigned long long)sum.writes, (unsigned long long)sum.wrong_pages,
	       (unsigned long long)sum.wrong_bytes, (unsigned long long)sum.lost_pages,
	       (unsigned long long)sum.longest_us / 1000,
	       (unsigned long long)blocked_us / 1000);
}

/* Wait for all processes; watch for one that is stuck. Returns the failures. */
static unsigned int watch(pid_t *pids, uint64_t began_us)
{
	uint64_t blocked_us, next_us = began_us + report_seconds * 1000000ULL;
	unsigned int running = processes, failures = 0, i;
	bool stalled = false;
	int status;

	while (running) {
		usleep(20000);
		if (stop_signal)
			__atomic_store_n(&progress[0].stop, true, __ATOMIC_RELAXED);
		for (i = 0; i < processes; i++) {
			if (!pids[i] || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			pids[i] = 0;
			running--;
			if (!status)
				continue;
			failures++;
			printf("load: process %u: wait status %#x (%s %d)\n", i + 1, status,
			       WIFSIGNALED(status) ? "signal" : "exit",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		}
		sum_progress(&blocked_us);
		if (blocked_us > stall_seconds * 1000000ULL && !stalled) {
			stalled = true;
			failures++;
			printf("load: STUCK: one access has taken %llu ms\n",
			       (unsigned long long)blocked_us / 1000);
		}
		if (report_seconds && now_us() >= next_us) {
			report("progress", began_us);
			next_us += report_seconds * 1000000ULL;
		}
	}
	return failures;
}

static void help(void)
{
	printf("usage: load [options]\n"
	       "  -m MB       data, over all processes (64)\n"
	       "  -p N        processes (1)\n"
	       "  -f N        each forks N children, which go on with its memory (0, at most %u)\n"
	       "  -T          those are threads, all of one address space; not with -u\n"
	       "  -t TYPE     anon, huge (MADV_HUGEPAGE) or shmem\n"
	       "  -q          in order of address; default: at random\n"
	       "  -s SEED\n"
	       "  -n N        operations of each process after the fill\n"
	       "  -d SECONDS  or for a time; SIGTERM ends it early\n"
	       "  -r PERCENT  of that time at rest, so that others have the processor (0, below 100)\n"
	       "  -R PERCENT  the same while memory is filled\n"
	       "  -w PERCENT  of the operations rewrite the page (50)\n"
	       "  -z PERCENT  of the writes make it all zero (0)\n"
	       "  -Z          but none of the fill's\n"
	       "  -c PERCENT  of the other writes make it compress well (0)\n"
	       "  -u PERMILLE of the operations throw a range away (0)\n"
	       "  -o PERMILLE of the operations page a range out (0)\n"
	       "  -H PREFIX   after the fill make PREFIX.ready.<process>, wait for PREFIX.go\n"
	       "  -O          page all out before that\n"
	       "  -A          have all of it read ahead after that (MADV_WILLNEED)\n"
	       "  -V PERCENT  after that read the first pages, which must not be lost from then on,\n"
	       "              make PREFIX.again.<process>, wait for PREFIX.on (0)\n"
	       "  -L          pages may be lost (SIGBUS): counted only\n"
	       "  -S SECONDS  fail if one access takes longer (100)\n"
	       "  -i SECONDS  between progress lines (5)\n"
	       "  -b          damage four pages after the fill; must end with status 1\n"
	       "Exit status: 0 all right, 1 wrong data or a stuck process, 2 cannot run.\n",
	       GEN_WRITERS - 1);
	exit(2);
}

static enum memory parse_memory(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(memory_names); i++)
		if (!strcmp(name, memory_names[i]))
			return i;
	help();
	return MEMORY_ANON;
}

static bool parse_number(int option)
{
	char *end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i].letter != option)
			continue;
		*numbers[i].number = strtoul(optarg, &end, 0);
		return end != optarg && !*end;
	}
	return false;
}

#define OPTIONS	"m:p:f:Tt:qs:n:d:r:R:w:z:Zu:o:H:OALV:S:i:c:b"

static void parse(int argc, char **argv)
{
	const char *slow = getenv("SLOW");
	int option;

	while ((option = getopt(argc, argv, OPTIONS)) != -1) {
		if (option == 't')
			memory = parse_memory(optarg);
		else if (option == 'T')
			threads = true;
		else if (option == 'q')
			sequential = true;
		else if (option == 'Z')
			filled_first = true;
		else if (option == 'b')
			damage = true;
		else if (option == 'O')
			hold_pageout = true;
		else if (option == 'A')
			hold_willneed = true;
		else if (option == 'L')
			lost_allowed = true;
		else if (option == 'H')
			hold_prefix = optarg;
		else if (!parse_number(option))
			help();
	}
	if (optind != argc || !megabytes || !processes || processes > PROCESSES_MAX ||
	    children >= GEN_WRITERS || rest_percent >= 100 ||
	    fill_rest_percent >= 100 || read_percent > 100 ||
	    (threads && (!children || unmap_permille)))
		help();
	/* Multiplies all timeouts, as in the tests. */
	if (slow)
		seconds *= strtoul(slow, NULL, 10);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_sigterm };
	pid_t pids[PROCESSES_MAX];
	unsigned int i, failures;
	uint64_t began_us, blocked_us;
	struct progress sum;

	parse(argc, argv);
	run = getpid() % RUNS;
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	progress = locked(sizeof(*progress) * processes * (children + 1));
	began_us = now_us();
	for (i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (!pids[i])
			run_process(i);
	}
	mlockall(MCL_CURRENT);
	failures = watch(pids, began_us);
	sum = sum_progress(&blocked_us);
	if (sum.filled != processes && !stop_signal)
		failures++;
	/* The selftests' runner tells failures about data from others by this line. */
	if (sum.wrong_pages || (sum.lost_pages && !lost_allowed)) {
		printf("load: DATA: wrong or lost pages\n");
		failures++;
	}
	report(failures ? "FAILED" : "right", began_us);
	return !!failures;
}
