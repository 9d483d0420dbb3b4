/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client half: what the kernel module says in /sys/kernel/farswap and in debugfs.
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include "ctl.h"
#include "metrics.h"

#define CLIENT_SYSFS	"/sys/kernel/farswap/"
#define CLIENT_DEBUGFS	"/sys/kernel/debug/farswap/"

#define TABLE_COLUMNS	24

/* A text whose lines have fields separated by blanks. The first line has their names. */
struct table {
	char *text;
	char *cursor;
	unsigned int nr;
	char *name[TABLE_COLUMNS];
	char *field[TABLE_COLUMNS];	/* of the current line */
};

/* Return false with errno if the file can't be read. */
bool table_open(struct table *table, const char *path);
/* Go to the next line. Return false at the end. */
bool table_next(struct table *table);
/* Return a field of the current line, or "" if there is no such column. */
const char *table_get(const struct table *table, const char *name);
uint64_t table_number(const struct table *table, const char *name);
/* Write the fields of the current line as an object. */
void table_json(const struct table *table, struct json *json);
void table_close(struct table *table);

#define CLIENT_COUNTERS	128

struct client_counter {
	const char *name;
	uint64_t value;
};

struct client_stats {
	char *text;
	unsigned int nr;
	struct client_counter counter[CLIENT_COUNTERS];
};

bool client_is_there(void);
/* Exit if the module is not loaded, debugfs not mounted, or the user not root. */
void client_require(void);
/* Return false with errno if the file can't be read. */
bool client_read_stats(struct client_stats *stats);
uint64_t client_stat(const struct client_stats *stats, const char *name);
void client_free_stats(struct client_stats *stats);
/* Return the number of donors in a state, or of all if @state is NULL. */
unsigned int client_donors(const char *state);

#define CLIENT_LATENCIES	16

struct client_latency {
	const char *name;
	uint64_t p50_us;
	uint64_t p99_us;
	struct metrics_histogram histogram;
};

struct client_latencies {
	char *text;
	unsigned int nr;
	struct client_latency of[CLIENT_LATENCIES];
};

bool client_read_latencies(struct client_latencies *latencies);
void client_free_latencies(struct client_latencies *latencies);

/* A line of /proc/swaps. */
struct client_swap {
	const char *path;
	const char *type;
	uint64_t size_kb;
	uint64_t used_kb;
	int priority;
};

/* Call @fn for each swap device. Return false if the file can't be read. */
bool client_swaps(void (*fn)(const struct client_swap *swap, void *arg), void *arg);

/* client-show.c */
void client_show_status(void);
void client_json_status(struct json *json);

/* client-metrics.c */
void client_metrics(const struct metrics *metrics);

/* explain.c */
struct explain {
	const char *name;
	bool is_gauge;
	const char *text;
};

/* Return NULL if there is no such counter. */
const struct explain *explain_find(const char *name);

#endif
