// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the files of the kernel module. Columns are found by their names, so that a module
 * that has more of them is understood too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static unsigned int table_split(char *line, char *field[TABLE_COLUMNS])
{
	char *save = NULL, *word = strtok_r(line, " \t", &save);
	unsigned int nr = 0;

	for (; word && nr < TABLE_COLUMNS; word = strtok_r(NULL, " \t", &save))
		field[nr++] = word;
	return nr;
}

bool table_open(struct table *table, const char *path)
{
	char *line;

	memset(table, 0, sizeof(*table));
	table->text = file_read(path);
	if (!table->text)
		return false;
	table->cursor = table->text;
	line = file_next(&table->cursor);
	if (line)
		table->nr = table_split(line, table->name);
	return true;
}

bool table_next(struct table *table)
{
	char *line = file_next(&table->cursor);
	unsigned int nr, i;

	if (!line)
		return false;
	nr = table_split(line, table->field);
	for (i = nr; i < table->nr; i++)
		table->field[i] = "";
	return true;
}

const char *table_get(const struct table *table, const char *name)
{
	unsigned int i;

	for (i = 0; i < table->nr; i++)
		if (!strcmp(table->name[i], name))
			return table->field[i];
	return "";
}

uint64_t table_number(const struct table *table, const char *name)
{
	return strtoull(table_get(table, name), NULL, 10);
}

/* A list of addresses, as in "10.0.0.2,10.0.0.3", or "-" for none. */
static void table_json_list(struct json *json, const char *name, char *list)
{
	char *save = NULL, *word = strtok_r(list, ",", &save);

	json_array(json, name);
	for (; word; word = strtok_r(NULL, ",", &save))
		if (strcmp(word, "-") != 0)
			json_string(json, NULL, word);
	json_end(json);
}

void table_json(const struct table *table, struct json *json)
{
	static const char *const words[] = { "address", "state", "node", "instance" };
	unsigned int i, word;

	json_object(json, NULL);
	for (i = 0; i < table->nr; i++) {
		const char *name = table->name[i];

		for (word = 0; word < ARRAY_SIZE(words); word++)
			if (!strcmp(name, words[word]))
				break;
		if (!strcmp(name, "donors"))
			table_json_list(json, name, table->field[i]);
		else if (!strcmp(table->field[i], "-"))
			json_null(json, name);
		else if (word < ARRAY_SIZE(words) ||
			 strspn(table->field[i], "-0123456789") != strlen(table->field[i]))
			json_string(json, name, table->field[i]);
		else
			json_signed(json, name, strtoll(table->field[i], NULL, 10));
	}
	json_end(json);
}

void table_close(struct table *table)
{
	free(table->text);
	table->text = NULL;
}

bool client_is_there(void)
{
	return file_exists(CLIENT_SYSFS "attached");
}

void client_require(void)
{
	if (!client_is_there())
		ctl_fail(CTL_UNKNOWN, "the module farswap is not loaded; run: modprobe farswap");
	if (file_exists(CLIENT_DEBUGFS "stats"))
		return;
	if (!ctl.root && geteuid())
		ctl_fail(CTL_UNKNOWN, "debugfs can't be read; run farswapctl as root");
	ctl_fail(CTL_UNKNOWN, "%sstats: %s; run: mount -t debugfs none /sys/kernel/debug",
		 CLIENT_DEBUGFS, strerror(errno));
}

bool client_read_stats(struct client_stats *stats)
{
	char *cursor, *line, *value;

	stats->nr = 0;
	stats->text = file_read(CLIENT_DEBUGFS "stats");
	if (!stats->text)
		return false;
	cursor = stats->text;
	while ((line = file_next(&cursor)) && stats->nr < CLIENT_COUNTERS) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value = '\0';
		stats->counter[stats->nr].name = line;
		stats->counter[stats->nr++].value = strtoull(value + 1, NULL, 10);
	}
	return true;
}

uint64_t client_stat(const struct client_stats *stats, const char *name)
{
	unsigned int i;

	for (i = 0; i < stats->nr; i++)
		if (!strcmp(stats->counter[i].name, name))
			return stats->counter[i].value;
	return 0;
}

void client_free_stats(struct client_stats *stats)
{
	free(stats->text);
	stats->text = NULL;
}

unsigned int client_donors(const char *state)
{
	struct table table;
	unsigned int nr = 0;

	if (!table_open(&table, CLIENT_DEBUGFS "donors"))
		return 0;
	while (table_next(&table))
		nr += !state || !strcmp(table_get(&table, "state"), state);
	table_close(&table);
	return nr;
}

static struct client_latency *client_latency(struct client_latencies *latencies, const char *name)
{
	unsigned int i;

	for (i = 0; i < latencies->nr; i++)
		if (!strcmp(latencies->of[i].name, name))
			return &latencies->of[i];
	return NULL;
}

/* "load_remote_ns 4096 17": 17 samples in the bucket that ends at 4096 ns. */
static void client_latency_bucket(struct client_latencies *latencies, char *name, char *rest)
{
	size_t length = strlen(name);
	struct client_latency *latency;
	uint64_t bound, n, width;
	char *end;

	if (length < 3 || strcmp(name + length - 3, "_ns") != 0)
		return;
	name[length - 3] = '\0';
	latency = client_latency(latencies, name);
	if (!latency)
		return;
	bound = strtoull(rest, &end, 10);
	n = strtoull(end, NULL, 10);
	/* A bucket is at least a sixteenth of its bound wide, so this is inside it. */
	width = bound / 16;
	metrics_histogram_add(&latency->histogram, bound - width / 2, n);
}

bool client_read_latencies(struct client_latencies *latencies)
{
	char *cursor, *line, *rest;

	memset(latencies, 0, sizeof(*latencies));
	latencies->text = file_read(CLIENT_DEBUGFS "latency");
	if (!latencies->text)
		return false;
	cursor = latencies->text;
	while ((line = file_next(&cursor))) {
		struct client_latency *latency = &latencies->of[latencies->nr];

		rest = strchr(line, ' ');
		if (!rest)
			continue;
		*rest++ = '\0';
		if (strncmp(rest, "count ", 6) != 0) {
			client_latency_bucket(latencies, line, rest);
		} else if (latencies->nr < CLIENT_LATENCIES) {
			latency->name = line;
			latency->p50_us = file_number(rest, " p50_us ");
			latency->p99_us = file_number(rest, " p99_us ");
			latencies->nr++;
		}
	}
	return true;
}

void client_free_latencies(struct client_latencies *latencies)
{
	free(latencies->text);
	latencies->text = NULL;
}

bool client_swaps(void (*fn)(const struct client_swap *swap, void *arg), void *arg)
{
	char *field[TABLE_COLUMNS], *text = file_read("/proc/swaps"), *cursor = text, *line;
	struct client_swap swap;

	if (!text)
		return false;
	/* The first line has the names. */
	(void)file_next(&cursor);
	while ((line = file_next(&cursor))) {
		if (table_split(line, field) < 5)
			continue;
		swap.path = field[0];
		swap.type = field[1];
		swap.size_kb = strtoull(field[2], NULL, 10);
		swap.used_kb = strtoull(field[3], NULL, 10);
		swap.priority = (int)strtol(field[4], NULL, 10);
		fn(&swap, arg);
	}
	free(text);
	return true;
}
