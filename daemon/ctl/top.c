// SPDX-License-Identifier: GPL-2.0
/*
 * A screen of 80 by 24 characters, drawn once a second: pages by place, latency of page faults,
 * memory, donors. It needs no library: terminals agree on the few sequences that it uses. If the
 * output is not a terminal, it prints one frame.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define TOP_COLUMNS	80
#define TOP_ROWS	24
#define TOP_DONORS	6
#define TOP_HISTORY	60
#define TOP_BAR		40

/* Eight heights. */
static const char top_heights[] = " .:-=+*#";

struct top_sample {
	uint64_t at_ns;
	struct client_stats stats;
	struct client_latencies latencies;
};

struct top {
	FILE *out;
	bool terminal;
	double seconds;			/* between the samples */
	struct top_sample before;
	struct top_sample now;
	uint64_t history_ns[TOP_HISTORY];	/* 99th percentiles, the newest last */
};

static volatile sig_atomic_t top_ends;

static void top_signal(int signo)
{
	(void)signo;
	top_ends = 1;
}

/* Print a line, no longer than the screen is wide. */
__attribute__((format(printf, 2, 3)))
static void top_line(const struct top *top, const char *fmt, ...)
{
	char line[4 * TOP_COLUMNS];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(top->out, "%.*s%s\n", TOP_COLUMNS, line, top->terminal ? "\033[K" : "");
}

static uint64_t top_grown(const struct top *top, const char *name)
{
	return client_stat(&top->now.stats, name) - client_stat(&top->before.stats, name);
}

static void top_rate(const struct top *top, const char *text, uint64_t pages, uint64_t most)
{
	int bar = most ? (int)(pages * TOP_BAR / most) : 0;

	top_line(top, "%-13s %9.0f %8.1f  %.*s", text, (double)pages / top->seconds,
		 (double)pages * 4 / 1024 / top->seconds, bar,
		 "########################################");
}

static void top_rates(const struct top *top)
{
	static const char *const texts[] = { "out  donors", "     device", "in   donors",
		"     staging", "     device" };
	uint64_t pages[] = { top_grown(top, "store_remote"), top_grown(top, "store_device"),
		top_grown(top, "load_remote"), top_grown(top, "load_staged"),
		top_grown(top, "load_device") + top_grown(top, "load_fallback") };
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		most = pages[i] > most ? pages[i] : most;
	top_line(top, "%-13s %9s %8s", "", "pages/s", "MiB/s");
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		top_rate(top, texts[i], pages[i], most);
}

static const struct metrics_histogram *top_histogram(const struct top_sample *sample)
{
	static const struct metrics_histogram empty;
	unsigned int i;

	for (i = 0; i < sample->latencies.nr; i++)
		if (!strcmp(sample->latencies.of[i].name, "load_urgent"))
			return &sample->latencies.of[i].histogram;
	return &empty;
}

/* Return the upper bound of the bucket of a percentile, ns; 0 without samples. */
static uint64_t top_percentile(const struct metrics_histogram *histogram, unsigned int percent)
{
	uint64_t rank = (histogram->count * percent + 99) / 100, below = 0;
	unsigned int i;

	for (i = 0; i < METRICS_BUCKETS && rank; i++) {
		below += histogram->bucket[i];
		if (below >= rank)
			return 1ULL << (METRICS_BOUND_MIN + i);
	}
	return 0;
}

static char top_height(uint64_t value, uint64_t most)
{
	size_t levels = sizeof(top_heights) - 2;

	if (!value || !most)
		return top_heights[0];
	return top_heights[1 + value * (levels - 1) / most];
}

static void top_latency(struct top *top)
{
	const struct metrics_histogram *before = top_histogram(&top->before);
	const struct metrics_histogram *now = top_histogram(&top->now);
	struct metrics_histogram growth = { .count = now->count - before->count };
	char bars[METRICS_BUCKETS + 1] = "", line[TOP_HISTORY + 1] = "";
	uint64_t most = 0, p99;
	unsigned int i;

	for (i = 0; i < METRICS_BUCKETS; i++) {
		growth.bucket[i] = now->bucket[i] - before->bucket[i];
		most = growth.bucket[i] > most ? growth.bucket[i] : most;
	}
	for (i = 0; i < METRICS_BUCKETS; i++)
		bars[i] = top_height(growth.bucket[i], most);
	p99 = top_percentile(&growth, 99);
	memmove(top->history_ns, top->history_ns + 1, sizeof(top->history_ns) - sizeof(p99));
	top->history_ns[TOP_HISTORY - 1] = p99;
	for (i = 0, most = 0; i < TOP_HISTORY; i++)
		most = top->history_ns[i] > most ? top->history_ns[i] : most;
	for (i = 0; i < TOP_HISTORY; i++)
		line[i] = top_height(top->history_ns[i], most);
	top_line(top, "fault latency  %" PRIu64 " faults, p50 below %.0f us, p99 below %.0f us",
		 growth.count, (double)top_percentile(&growth, 50) / 1000, (double)p99 / 1000);
	top_line(top, "  by time      1us |%s| 69s", bars);
	top_line(top, "  p99          |%s|", line);
}

static void top_donors(const struct top *top)
{
	struct table table;
	unsigned int nr = 0;

	if (!table_open(&table, CLIENT_DEBUGFS "donors"))
		return;
	top_line(top, "%-34s %-10s %7s %9s %7s %8s", "donor", "state", "slabs", "free MiB", "failed",
		 "suspect");
	while (table_next(&table))
		if (nr++ < TOP_DONORS)
			top_line(top, "%-34s %-10s %7s %9s %7s %8s", table_get(&table, "address"),
				 table_get(&table, "state"), table_get(&table, "slabs"),
				 table_get(&table, "free_mb"), table_get(&table, "downs"),
				 table_get(&table, "suspects"));
	table_close(&table);
	if (nr > TOP_DONORS)
		top_line(top, "and %u more: farswapctl donors", nr - TOP_DONORS);
}

static uint64_t top_mib(const struct top *top, const char *pages)
{
	return client_stat(&top->now.stats, pages) >> 8;
}

static void top_frame(struct top *top)
{
	char attached[8] = "", backup[32] = "", slab_mb[16] = "";

	(void)file_line(CLIENT_SYSFS "attached", attached, sizeof(attached));
	(void)file_line(CLIENT_SYSFS "backup", backup, sizeof(backup));
	(void)file_line(CLIENT_SYSFS "slab_mb", slab_mb, sizeof(slab_mb));
	if (top->terminal)
		fputs("\033[H", top->out);
	top_line(top, "farswap  %s  backup=%s  %u of %u donors live%s",
		 !strcmp(attached, "1") ? "attached" : "detached", backup, client_donors("live"),
		 client_donors(NULL), top->terminal ? "  (q quits)" : "");
	top_line(top, "%s", "");
	top_rates(top);
	top_line(top, "%s", "");
	top_latency(top);
	top_line(top, "%s", "");
	top_line(top, "remote %" PRIu64 " MiB in %" PRIu64 " slabs of %s MiB, %" PRIu64
		 " MiB also on the device, %" PRIu64 " MiB staged", top_mib(top, "remote_pages"),
		 client_stat(&top->now.stats, "mapped_slabs"), slab_mb, top_mib(top, "backed_pages"),
		 top_mib(top, "staged_pages"));
	top_line(top, "slabs  %" PRIu64 " mapped, %" PRIu64 " evicted, %" PRIu64 " moved, %" PRIu64
		 " lost, %" PRIu64 " gave way; pages lost %" PRIu64, top_grown(top, "slab_mapped"),
		 top_grown(top, "slab_evicted"), top_grown(top, "slab_moved"),
		 top_grown(top, "slab_lost"), top_grown(top, "slab_gave_way"),
		 client_stat(&top->now.stats, "lost"));
	top_line(top, "%s", "");
	top_donors(top);
	if (top->terminal)
		fputs("\033[J", top->out);
	(void)fflush(top->out);
}

static void top_read(struct top_sample *sample)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sample->at_ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	if (!client_read_stats(&sample->stats))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "stats: %s", strerror(errno));
	if (!client_read_latencies(&sample->latencies))
		memset(&sample->latencies, 0, sizeof(sample->latencies));
}

static void top_free(struct top_sample *sample)
{
	client_free_stats(&sample->stats);
	client_free_latencies(&sample->latencies);
}

/* Wait for the end of the interval. Return false if the user wants to quit. */
static bool top_wait(int ms)
{
	struct pollfd key = { .fd = STDIN_FILENO, .events = POLLIN };
	char c = '\0';

	if (poll(&key, 1, ms) <= 0)
		return !top_ends;
	return read(STDIN_FILENO, &c, 1) == 1 && c != 'q' && !top_ends;
}

/* The terminal shows another screen, without a cursor and without echo, until top_leave(). */
static bool top_enter(struct termios *old)
{
	struct sigaction action = { .sa_handler = top_signal };
	struct termios raw;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, old) < 0)
		return false;
	raw = *old;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l\033[2J", stdout);
	return true;
}

static void top_leave(const struct termios *old)
{
	fputs("\033[?25h\033[?1049l", stdout);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, old);
}

int cmd_top(char **args, unsigned int nr)
{
	static struct top top;
	unsigned int seconds = ctl.watch_s ? ctl.watch_s : 1;
	struct timespec interval = { .tv_sec = seconds };
	struct termios old;

	(void)args;
	(void)nr;
	if (ctl.json)
		ctl_fail(CTL_UNKNOWN, "top: --json is not valid; use farswapctl --json stats --watch 1");
	client_require();
	top.out = stdout;
	top_read(&top.before);
	top.terminal = top_enter(&old);
	if (!top.terminal)
		(void)nanosleep(&interval, NULL);
	do {
		top_read(&top.now);
		/* A key ends an interval early. Right after the start nothing has grown. */
		top.seconds = (double)(top.now.at_ns - top.before.at_ns) / 1e9 + 1e-3;
		top_frame(&top);
		top_free(&top.before);
		top.before = top.now;
	} while (top.terminal && top_wait((int)seconds * 1000));
	top_free(&top.before);
	if (top.terminal)
		top_leave(&old);
	return CTL_OK;
}
