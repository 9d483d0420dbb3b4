// SPDX-License-Identifier: GPL-2.0
/*
 * A program that grows, one that watches the machine's memory meanwhile, and one
 * that pages out as fast as it goes:
 *
 *	grow hold MEGABYTES		take them, say "held" and stay
 *	grow steps STEPS PLATEAU_AT PLATEAU STEP_KB PERIOD_MS READS
 *	grow sample PERIOD_MS [SOCKET]	a line a period, until killed
 *	grow pageout MEGABYTES PERIOD_MS	the same
 *
 * "steps" takes STEP_KB in each step, but for PLATEAU of them after PLATEAU_AT, and
 * reads READS pages at random of what it has, each checked. At the end a line a
 * step: "step N at_ms N megabytes N busy_us N", and "wrong N".
 *
 * "sample" prints "at_ms N total N free N available N held N lent N headroom N",
 * bytes; what farswapd says is 0 where none answers at SOCKET.
 *
 * "pageout" writes pages that are new to it, one megabyte of its MEGABYTES after the
 * other and around, has each paged out and prints "at_us N pages N".
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../../daemon/admin.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define PAGE		4096
#define TEXT_MAX	65536

struct step {
	uint64_t at_ms;
	uint64_t busy_us;
	uint64_t pages;
};

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

static void sleep_until(uint64_t us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static uint64_t scramble(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15;
	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9;
}

static uint64_t *map(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED) {
		perror("grow: mmap");
		exit(1);
	}
	return memory;
}

/* Not all of a page: it is the machine that is to be busy. */
static void page_write(uint64_t *memory, uint64_t page)
{
	int i;

	for (i = 0; i < PAGE / 8; i += 8)
		memory[page * (PAGE / 8) + i] = scramble(page + i);
}

static int page_is_right(const uint64_t *memory, uint64_t page)
{
	int i;

	for (i = 0; i < PAGE / 8; i += 8)
		if (memory[page * (PAGE / 8) + i] != scramble(page + i))
			return 0;
	return 1;
}

static int hold(uint64_t megabytes)
{
	uint64_t *memory = map(megabytes << 20), page;

	for (page = 0; page < megabytes << 8; page++)
		page_write(memory, page);
	printf("held\n");
	fflush(stdout);
	pause();
	return 0;
}

static int grow(uint64_t nr, uint64_t plateau_at, uint64_t plateau, uint64_t step_kb,
		uint64_t period_ms, uint64_t reads)
{
	struct step *steps = calloc(nr, sizeof(*steps));
	uint64_t *memory = map(nr * step_kb << 10);
	uint64_t i, n, pages = 0, wrong = 0, random = 1, begin = now_us(), started;

	for (i = 0; i < nr; i++) {
		sleep_until(begin + i * period_ms * 1000);
		started = now_us();
		if (i < plateau_at || i >= plateau_at + plateau)
			for (n = 0; n < step_kb / 4; n++)
				page_write(memory, pages++);
		for (n = 0; n < reads; n++)
			wrong += !page_is_right(memory, (random = scramble(random)) % pages);
		steps[i] = (struct step){ started / 1000, now_us() - started, pages };
	}
	for (i = 0; i < nr; i++)
		printf("step %" PRIu64 " at_ms %" PRIu64 " megabytes %" PRIu64 " busy_us %" PRIu64 "\n",
		       i, steps[i].at_ms, steps[i].pages >> 8, steps[i].busy_us);
	printf("wrong %" PRIu64 "\n", wrong);
	return 0;
}

__attribute__((noreturn))
static void pageout(uint64_t megabytes, uint64_t period_ms)
{
	uint64_t *memory = map(megabytes << 20), nr, page, first, next = now_us();

	for (nr = 0;; nr++) {
		first = nr % megabytes << 8;
		madvise(memory + first * (PAGE / 8), 1 << 20, MADV_DONTNEED);
		for (page = first; page < first + 256; page++)
			page_write(memory, page);
		if (madvise(memory + first * (PAGE / 8), 1 << 20, MADV_PAGEOUT)) {
			perror("grow: MADV_PAGEOUT");
			exit(1);
		}
		if (now_us() < next)
			continue;
		next = now_us() + period_ms * 1000;
		printf("at_us %" PRIu64 " pages %" PRIu64 "\n", now_us(), (nr + 1) << 8);
		fflush(stdout);
	}
}

static uint64_t value_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static void read_meminfo(char *text)
{
	FILE *file = fopen("/proc/meminfo", "r");
	size_t len = file ? fread(text, 1, TEXT_MAX - 1, file) : 0;

	text[len] = '\0';
	if (file)
		fclose(file);
}

/* farswapd's metrics; empty where it does not answer. */
static void read_metrics(const char *path, char *text)
{
	struct admin_request request = { ADMIN_MAGIC, ADMIN_VERSION, ADMIN_METRICS, 0 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct admin_reply reply;
	ssize_t len = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    send(fd, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request) &&
	    recv(fd, &reply, sizeof(reply), MSG_WAITALL) == sizeof(reply) &&
	    reply.bytes < TEXT_MAX)
		len = recv(fd, text, reply.bytes, MSG_WAITALL);
	text[len > 0 ? len : 0] = '\0';
	close(fd);
}

__attribute__((noreturn))
static void sample(uint64_t period_ms, const char *path)
{
	static char memory[TEXT_MAX], metrics[TEXT_MAX];
	uint64_t next = now_us(), lent;

	for (;; next += period_ms * 1000) {
		sleep_until(next);
		read_meminfo(memory);
		if (path)
			read_metrics(path, metrics);
		lent = value_of(metrics, "\nfarswapd_regions{state=\"mapped\"} ") +
		       value_of(metrics, "\nfarswapd_regions{state=\"evict_wait\"} ") +
		       value_of(metrics, "\nfarswapd_regions{state=\"evicting\"} ");
		printf("at_ms %" PRIu64 " total %" PRIu64 " free %" PRIu64 " available %" PRIu64
		       " held %" PRIu64 " lent %" PRIu64 " headroom %" PRIu64 "\n",
		       now_us() / 1000, value_of(memory, "MemTotal:") << 10,
		       value_of(memory, "MemFree:") << 10, value_of(memory, "MemAvailable:") << 10,
		       value_of(metrics, "\nfarswapd_held_bytes "),
		       lent * value_of(metrics, "\nfarswapd_region_bytes "),
		       value_of(metrics, "\nfarswapd_headroom_bytes "));
		fflush(stdout);
	}
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(number(argv[2]));
	if (argc == 8 && !strcmp(argv[1], "steps"))
		return grow(number(argv[2]), number(argv[3]), number(argv[4]), number(argv[5]),
			    number(argv[6]), number(argv[7]));
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "sample"))
		sample(number(argv[2]), argv[3]);
	if (argc == 4 && !strcmp(argv[1], "pageout"))
		pageout(number(argv[2]), number(argv[3]));
	fprintf(stderr, "grow hold|steps|sample|pageout ...: see grow.c\n");
	return 2;
}
