// SPDX-License-Identifier: GPL-2.0
/*
 * A self-test with figures that can be compared: pages some memory of its own out, and reads it
 * back in random order and in order. Checks each page. Other programs' memory is not touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define BENCH_MIB	64
#define BENCH_MIB_MAX	4096
#define BENCH_PAGE	4096
/* Slabs are mapped when they have been busy for a while: the first rounds are not measured. */
#define BENCH_WARM	3
#define BENCH_CGROUPS	"/sys/fs/cgroup"
#define BENCH_CGROUP	BENCH_CGROUPS "/farswap-bench"
/* How often the kernel is asked for the pages that it has written, 10 ms apart. */
#define BENCH_TRIES	1000

struct bench {
	unsigned char *memory;
	size_t pages;
	uint32_t *order;
	uint64_t *fault_ns;
	uint64_t wrong;
	uint64_t out_ns;
	uint64_t in_order_ns;
	struct client_stats before;
	struct client_stats after;
};

static uint64_t bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Numbers that can't be compressed, so that zswap does not keep them. */
static uint64_t bench_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t bench_mark(size_t page)
{
	return (page + 1) * 0x9e3779b97f4a7c15ULL;
}

static void bench_fill(struct bench *bench)
{
	uint64_t state = 88172645463325252ULL, *word = (uint64_t *)bench->memory;
	size_t page, i, other;
	uint32_t swap;

	for (i = 0; i < bench->pages * BENCH_PAGE / sizeof(*word); i++)
		word[i] = bench_random(&state);
	for (page = 0; page < bench->pages; page++) {
		memcpy(bench->memory + page * BENCH_PAGE, &(uint64_t){ bench_mark(page) },
		       sizeof(uint64_t));
		bench->order[page] = page;
	}
	for (page = bench->pages - 1; page; page--) {
		other = bench_random(&state) % (page + 1);
		swap = bench->order[page];
		bench->order[page] = bench->order[other];
		bench->order[other] = swap;
	}
}

/* The cgroup of this program before the bench, as in /proc/self/cgroup. */
static char bench_home[512];

static bool bench_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

static void bench_leave(void)
{
	char path[sizeof(bench_home) + 64];

	snprintf(path, sizeof(path), BENCH_CGROUPS "%s/cgroup.procs", bench_home);
	(void)bench_write(path, "0");
	(void)rmdir(BENCH_CGROUP);
}

/* In a cgroup of its own the kernel can be asked to reclaim this program's pages only. */
static void bench_join(void)
{
	char *text = file_read("/proc/self/cgroup"), *at = text ? strstr(text, "0::") : NULL;

	if (at)
		snprintf(bench_home, sizeof(bench_home), "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
	free(text);
	if (mkdir(BENCH_CGROUP, 0755) && errno != EEXIST)
		ctl_fail(CTL_UNKNOWN, "bench: " BENCH_CGROUP ": %s; are cgroups of version 2 mounted there?",
			 strerror(errno));
	(void)atexit(bench_leave);
	if (access(BENCH_CGROUP "/memory.reclaim", F_OK))
		ctl_fail(CTL_UNKNOWN, "bench: cgroups have no memory.reclaim; run: echo +memory >"
			 BENCH_CGROUPS "/cgroup.subtree_control");
	if (!bench_write(BENCH_CGROUP "/cgroup.procs", "0"))
		ctl_fail(CTL_UNKNOWN, "bench: can't enter " BENCH_CGROUP ": %s", strerror(errno));
}

/* A page that was written stays in the swap cache, where a fault would find it, until it is reclaimed. */
static void bench_reclaim(uint64_t bytes)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t cached;
	char text[32], *stat;
	int i;

	for (i = 0; i < BENCH_TRIES; i++) {
		stat = file_read(BENCH_CGROUP "/memory.stat");
		cached = file_number(stat, "\nswapcached ");
		free(stat);
		if (cached <= bytes / 64)
			return;
		snprintf(text, sizeof(text), "%" PRIu64, cached);
		if (!bench_write(BENCH_CGROUP "/memory.reclaim", text))
			nanosleep(&pause, NULL);
	}
	ctl_fail(CTL_PROBLEM, "bench: the kernel does not reclaim pages that it has paged out; is the swap device stuck?");
}

/* The kernel pages a clean page out for free, so each page is written first. */
static void bench_page_out(struct bench *bench)
{
	size_t page, bytes = bench->pages * BENCH_PAGE;
	uint64_t begin;

	for (page = 0; page < bench->pages; page++)
		bench->memory[page * BENCH_PAGE + BENCH_PAGE - 1]++;
	begin = bench_now();
	if (madvise(bench->memory, bytes, MADV_PAGEOUT))
		ctl_fail(CTL_UNKNOWN, "bench: the kernel can't page out on request: %s",
			 strerror(errno));
	bench_reclaim(bytes);
	bench->out_ns = bench_now() - begin;
}

static void bench_touch(struct bench *bench, size_t page)
{
	uint64_t mark;

	memcpy(&mark, bench->memory + page * BENCH_PAGE, sizeof(mark));
	bench->wrong += mark != bench_mark(page);
}

static void bench_read_random(struct bench *bench)
{
	uint64_t begin, end;
	size_t i;

	madvise(bench->memory, bench->pages * BENCH_PAGE, MADV_RANDOM);
	begin = bench_now();
	for (i = 0; i < bench->pages; i++) {
		bench_touch(bench, bench->order[i]);
		end = bench_now();
		bench->fault_ns[i] = end - begin;
		begin = end;
	}
}

static void bench_read_in_order(struct bench *bench)
{
	uint64_t begin = bench_now();
	size_t page;

	madvise(bench->memory, bench->pages * BENCH_PAGE, MADV_NORMAL);
	for (page = 0; page < bench->pages; page++)
		bench_touch(bench, page);
	bench->in_order_ns = bench_now() - begin;
}

static int bench_by_time(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static uint64_t bench_grown(const struct bench *bench, const char *name)
{
	return client_stat(&bench->after, name) - client_stat(&bench->before, name);
}

static unsigned int bench_percent(uint64_t part, uint64_t rest)
{
	return part + rest ? (unsigned int)(part * 100 / (part + rest)) : 0;
}

static uint64_t bench_rate(const struct bench *bench, uint64_t ns)
{
	return ns ? bench->pages * BENCH_PAGE * 1000ULL / 1024 * 1000 / 1024 * 1000 / ns : 0;
}

static void bench_show(struct bench *bench)
{
	const struct {
		const char *key;
		const char *text;
		uint64_t value;
	} figures[] = {
		{ "size_mib", "MiB of memory", bench->pages * BENCH_PAGE >> 20 },
		{ "out_mib_s", "MiB a second paged out", bench_rate(bench, bench->out_ns) },
		{ "in_order_mib_s", "MiB a second read in order",
		  bench_rate(bench, bench->in_order_ns) },
		{ "fault_p50_ns", "ns for a page in random order, median",
		  bench->fault_ns[bench->pages / 2] },
		{ "fault_p99_ns", "ns for a page in random order, 99th percentile",
		  bench->fault_ns[bench->pages * 99 / 100] },
		{ "out_remote_percent", "% of the page-outs went to donors",
		  bench_percent(bench_grown(bench, "store_remote"),
				bench_grown(bench, "store_device")) },
		{ "in_remote_percent", "% of the page-ins came from donors",
		  bench_percent(bench_grown(bench, "load_remote") +
				bench_grown(bench, "load_staged"),
				bench_grown(bench, "load_device") +
				bench_grown(bench, "load_fallback")) },
		{ "wrong_pages", "pages had wrong contents", bench->wrong },
	};
	struct json json;
	unsigned int i;

	json_init(&json, stdout);
	if (ctl.json)
		json_object(&json, NULL);
	for (i = 0; i < ARRAY_SIZE(figures); i++) {
		if (ctl.json)
			json_number(&json, figures[i].key, figures[i].value);
		else
			printf("%10" PRIu64 "  %s\n", figures[i].value, figures[i].text);
	}
	if (ctl.json)
		json_end(&json);
}

static void bench_add_swap(const struct client_swap *swap, void *arg)
{
	uint64_t *kb = arg;

	*kb += swap->size_kb - swap->used_kb;
}

static uint64_t bench_available_kb(void)
{
	char *text = file_read("/proc/meminfo"), *at;
	uint64_t kb = 0;

	at = text ? strstr(text, "\nMemAvailable:") : NULL;
	if (at)
		kb = strtoull(at + strlen("\nMemAvailable:"), NULL, 10);
	free(text);
	return kb;
}

/* Refuse what would harm other programs, or measure something else. */
static void bench_check(uint64_t mib)
{
	char attached[8] = "0";
	uint64_t swap_kb = 0;

	client_require();
	(void)file_line(CLIENT_SYSFS "attached", attached, sizeof(attached));
	if (strcmp(attached, "1") != 0)
		ctl_fail(CTL_PROBLEM, "bench: farswap is not attached; farswapctl check says why");
	if (!client_donors("live"))
		ctl_fail(CTL_PROBLEM, "bench: no donor is live; farswapctl check says why");
	(void)client_swaps(bench_add_swap, &swap_kb);
	if (swap_kb >> 10 < 2 * mib)
		ctl_fail(CTL_PROBLEM, "bench: %" PRIu64 " MiB of swap are free, and twice %" PRIu64 " are needed",
			 swap_kb >> 10, mib);
	if (bench_available_kb() >> 10 < mib + mib / 2)
		ctl_fail(CTL_PROBLEM, "bench: %" PRIu64 " MiB of memory are available, and one and a half times %" PRIu64 " are needed",
			 bench_available_kb() >> 10, mib);
}

static uint64_t bench_size(const char *arg)
{
	unsigned long mib;
	char *end;

	errno = 0;
	mib = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || errno || !mib || mib > BENCH_MIB_MAX)
		ctl_fail(CTL_UNKNOWN, "bench: invalid size '%s' (range 1-%d MiB)", arg,
			 BENCH_MIB_MAX);
	return mib;
}

int cmd_bench(char **args, unsigned int nr)
{
	uint64_t mib = nr ? bench_size(args[0]) : BENCH_MIB;
	static struct bench bench;
	unsigned int i;

	if (ctl.root)
		ctl_fail(CTL_UNKNOWN, "bench: --root is not valid");
	bench_check(mib);
	bench_join();
	bench.pages = mib << 8;
	bench.order = calloc(bench.pages, sizeof(*bench.order));
	bench.fault_ns = calloc(bench.pages, sizeof(*bench.fault_ns));
	bench.memory = mmap(NULL, bench.pages * BENCH_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!bench.order || !bench.fault_ns || bench.memory == MAP_FAILED)
		ctl_fail(CTL_UNKNOWN, "out of memory");
	madvise(bench.memory, bench.pages * BENCH_PAGE, MADV_NOHUGEPAGE);
	bench_fill(&bench);
	for (i = 0; i < BENCH_WARM; i++) {
		bench_page_out(&bench);
		bench_read_in_order(&bench);
	}
	if (!client_read_stats(&bench.before))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "stats: %s", strerror(errno));
	bench_page_out(&bench);
	bench_read_random(&bench);
	bench_page_out(&bench);
	bench_read_in_order(&bench);
	if (!client_read_stats(&bench.after))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "stats: %s", strerror(errno));
	qsort(bench.fault_ns, bench.pages, sizeof(*bench.fault_ns), bench_by_time);
	bench_show(&bench);
	munmap(bench.memory, bench.pages * BENCH_PAGE);
	free(bench.order);
	free(bench.fault_ns);
	return bench.wrong ? CTL_PROBLEM : CTL_OK;
}
