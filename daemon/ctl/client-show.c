// SPDX-License-Identifier: GPL-2.0
/*
 * Shows what the kernel module says: status, slabs, counters.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin.h"
#include "ask.h"
#include "client.h"

/* The files of /sys/kernel/farswap/, except donors, which the donors table shows. */
static const char *const show_settings[] = {
	"attached", "enabled", "backup", "compress", "replicas", "slab_mb", "staging_mb", "hotslab",
	"coldslab", "repair_mb", "poll_us", "prefetch_pages", "io_timeout_ms", "grace_ms",
	"headroom_mb", "hedge", "force", "instance",
};

static bool show_setting(const char *name, char value[64])
{
	char path[128];

	snprintf(path, sizeof(path), CLIENT_SYSFS "%s", name);
	return file_line(path, value, 64);
}

static uint64_t show_number(const char *name)
{
	char value[64];

	return show_setting(name, value) ? strtoull(value, NULL, 10) : 0;
}

static uint64_t show_mb(const struct client_stats *stats, const char *pages)
{
	return client_stat(stats, pages) * 4 / 1024;
}

static void show_swap(const struct client_swap *swap, void *arg)
{
	bool *some = arg;

	printf("%s%s, %s, %" PRIu64 "M of %" PRIu64 "M used\n", *some ? "         " : "swap     ",
	       swap->path, swap->type, swap->used_kb >> 10, swap->size_kb >> 10);
	*some = true;
}

static void show_donors(void)
{
	struct table table;

	if (!table_open(&table, CLIENT_DEBUGFS "donors"))
		return;
	while (table_next(&table)) {
		printf("  %s  %s%s  %s slabs  %sM free", table_get(&table, "address"),
		       table_get(&table, "state"), table_number(&table, "slow") ? ", slow" : "",
		       table_get(&table, "slabs"), table_get(&table, "free_mb"));
		if (table_number(&table, "last_error"))
			printf("  failed %s times, last with %s", table_get(&table, "downs"),
			       table_get(&table, "last_error"));
		putchar('\n');
	}
	table_close(&table);
}

void client_show_status(void)
{
	struct client_stats stats;
	bool some_swap = false;
	char backup[64] = "";

	client_require();
	if (!client_read_stats(&stats))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "stats: %s", strerror(errno));
	(void)show_setting("backup", backup);
	printf("client   %s%s, backup=%s\n", show_number("attached") ? "attached" : "detached",
	       show_number("enabled") ? "" : ", not enabled", backup);
	printf("remote   %" PRIu64 "M in %" PRIu64 " slabs of %" PRIu64 "M, %" PRIu64
	       "M also on the swap device, %" PRIu64 "M staged\n", show_mb(&stats, "remote_pages"),
	       client_stat(&stats, "mapped_slabs"), show_number("slab_mb"),
	       show_mb(&stats, "backed_pages"), show_mb(&stats, "staged_pages"));
	if (client_stat(&stats, "packed_pages"))
		printf("packed   %" PRIu64 "M in %" PRIu64 " slabs are compressed to %" PRIu64
		       "M, all pages there take %" PRIu64 " %% of their size\n",
		       show_mb(&stats, "packed_pages"), client_stat(&stats, "pack_slabs"),
		       client_stat(&stats, "packed_bytes") >> 20,
		       client_stat(&stats, "packed_percent"));
	if (client_stat(&stats, "load_lost") + client_stat(&stats, "lost"))
		printf("lost     %" PRIu64 " pages, %" PRIu64 " of them read\n",
		       client_stat(&stats, "lost"), client_stat(&stats, "load_lost"));
	(void)client_swaps(show_swap, &some_swap);
	if (!some_swap)
		puts("swap     none");
	printf("donors   %u, %u of them live\n", client_donors(NULL), client_donors("live"));
	show_donors();
	client_free_stats(&stats);
}

static void show_json_counters(struct json *json, const struct client_stats *stats, bool gauges)
{
	unsigned int i;

	json_object(json, gauges ? "gauges" : "counters");
	for (i = 0; i < stats->nr; i++) {
		const struct explain *explain = explain_find(stats->counter[i].name);

		if ((explain && explain->is_gauge) == gauges)
			json_number(json, stats->counter[i].name, stats->counter[i].value);
	}
	json_end(json);
}

static void show_json_settings(struct json *json)
{
	char value[64];
	unsigned int i;

	json_object(json, "settings");
	for (i = 0; i < ARRAY_SIZE(show_settings); i++) {
		if (!show_setting(show_settings[i], value))
			continue;
		if (!strcmp(show_settings[i], "backup") || !strcmp(show_settings[i], "compress") ||
		    !strcmp(show_settings[i], "instance"))
			json_string(json, show_settings[i], value);
		else
			json_number(json, show_settings[i], strtoull(value, NULL, 10));
	}
	json_end(json);
}

static void show_json_swap(const struct client_swap *swap, void *arg)
{
	struct json *json = arg;

	json_object(json, NULL);
	json_string(json, "device", swap->path);
	json_string(json, "type", swap->type);
	json_number(json, "size_bytes", swap->size_kb << 10);
	json_number(json, "used_bytes", swap->used_kb << 10);
	json_signed(json, "priority", swap->priority);
	json_end(json);
}

/* Write the lines of a table as an array. */
static void show_json_table(struct json *json, const char *key, const char *path)
{
	struct table table;

	if (!table_open(&table, path))
		ctl_fail(CTL_UNKNOWN, "%s: %s", path, strerror(errno));
	json_array(json, key);
	while (table_next(&table))
		table_json(&table, json);
	json_end(json);
	table_close(&table);
}

static void show_json_latencies(struct json *json)
{
	struct client_latencies latencies;
	unsigned int i;

	json_object(json, "latency");
	if (client_read_latencies(&latencies)) {
		for (i = 0; i < latencies.nr; i++) {
			json_object(json, latencies.of[i].name);
			json_number(json, "count", latencies.of[i].histogram.count);
			json_number(json, "p50_us", latencies.of[i].p50_us);
			json_number(json, "p99_us", latencies.of[i].p99_us);
			json_end(json);
		}
		client_free_latencies(&latencies);
	}
	json_end(json);
}

void client_json_status(struct json *json)
{
	struct client_stats stats;

	client_require();
	if (!client_read_stats(&stats))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "stats: %s", strerror(errno));
	json_object(json, "client");
	json_bool(json, "attached", show_number("attached"));
	show_json_settings(json);
	show_json_counters(json, &stats, false);
	show_json_counters(json, &stats, true);
	show_json_table(json, "donors", CLIENT_DEBUGFS "donors");
	show_json_latencies(json);
	json_array(json, "swap");
	(void)client_swaps(show_json_swap, json);
	json_end(json);
	json_end(json);
	client_free_stats(&stats);
}

int cmd_status(char **args, unsigned int nr)
{
	/* With a socket of its own the question is about that farswapd. */
	bool client = !ctl.socket && client_is_there();
	bool donor = ask_is_there();
	struct json json;
	char *text;

	(void)args;
	(void)nr;
	if (!client && !donor)
		ctl_fail(CTL_UNKNOWN, "%s: %s; neither farswapd nor the module farswap is running: farswapctl check says why",
			 ctl.socket ? ctl.socket : ADMIN_PATH, ask_error());
	text = donor ? ask(ADMIN_STATUS, ctl.json ? ADMIN_JSON : ADMIN_TEXT, 0) : NULL;
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		if (client)
			client_json_status(&json);
		else
			json_null(&json, "client");
		if (text) {
			text[strcspn(text, "\n")] = '\0';
			json_raw(&json, "donor", text);
		} else {
			json_null(&json, "donor");
		}
		json_end(&json);
	} else {
		if (client)
			client_show_status();
		if (client && donor)
			putchar('\n');
		if (text)
			fputs(text, stdout);
	}
	free(text);
	return CTL_OK;
}

int cmd_slabs(char **args, unsigned int nr)
{
	struct json json;
	char *text;

	(void)args;
	(void)nr;
	client_require();
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		show_json_table(&json, "slabs", CLIENT_DEBUGFS "slabs");
		json_end(&json);
		return CTL_OK;
	}
	text = file_read(CLIENT_DEBUGFS "slabs");
	if (!text)
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "slabs: %s", strerror(errno));
	fputs(text, stdout);
	free(text);
	return CTL_OK;
}

/* Print what changed within an interval: counters by their growth, gauges as they are. */
static void show_growth(const struct client_stats *before, const struct client_stats *now)
{
	unsigned int i;

	for (i = 0; i < now->nr; i++) {
		const char *name = now->counter[i].name;
		const struct explain *explain = explain_find(name);
		uint64_t old = client_stat(before, name), value = now->counter[i].value;

		if (value == old)
			continue;
		if (explain && explain->is_gauge)
			printf("%12" PRIu64 "  %s\n", value, name);
		else
			printf("%12.1f  %s a second\n", (double)(value - old) / ctl.watch_s, name);
	}
	puts("");
}

static void show_json_growth(const struct client_stats *before, const struct client_stats *now)
{
	struct json json;
	unsigned int i;

	json_init(&json, stdout);
	json_object(&json, NULL);
	json_number(&json, "seconds", ctl.watch_s);
	json_object(&json, "growth");
	for (i = 0; i < now->nr; i++) {
		const char *name = now->counter[i].name;
		const struct explain *explain = explain_find(name);

		if (!explain || !explain->is_gauge)
			json_number(&json, name, now->counter[i].value - client_stat(before, name));
	}
	json_end(&json);
	show_json_counters(&json, now, true);
	json_end(&json);
}

static void show_read(struct client_stats *stats)
{
	if (!client_read_stats(stats))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "stats: %s", strerror(errno));
}

/* Runs until the user ends it, or the output can't be written. */
static void show_watch(void)
{
	struct client_stats before, now;
	struct timespec interval = { .tv_sec = ctl.watch_s };

	show_read(&before);
	while (!fflush(stdout)) {
		(void)nanosleep(&interval, NULL);
		show_read(&now);
		if (ctl.json)
			show_json_growth(&before, &now);
		else
			show_growth(&before, &now);
		client_free_stats(&before);
		before = now;
	}
	client_free_stats(&before);
}

int cmd_stats(char **args, unsigned int nr)
{
	struct client_stats stats;
	struct json json;
	unsigned int i;

	(void)args;
	(void)nr;
	client_require();
	if (ctl.watch_s) {
		show_watch();
		return CTL_OK;
	}
	show_read(&stats);
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		show_json_counters(&json, &stats, false);
		show_json_counters(&json, &stats, true);
		json_end(&json);
	} else {
		for (i = 0; i < stats.nr; i++)
			printf("%12" PRIu64 "  %s\n", stats.counter[i].value, stats.counter[i].name);
	}
	client_free_stats(&stats);
	return CTL_OK;
}
