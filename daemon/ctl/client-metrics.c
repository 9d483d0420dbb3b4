// SPDX-License-Identifier: GPL-2.0
/*
 * Metrics of the kernel module, and the command that prints those of both halves, to a file or
 * as the answer to an HTTP request.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "ask.h"
#include "client.h"
#include "release.h"

/* The longest HTTP request, with all its headers. */
#define HTTP_LINE_MAX	4096
#define HTTP_LINES_MAX	100

/* A number of the donors table, as a metric with the donor's address. */
struct donor_metric {
	const char *name;
	const char *type;
	const char *help;
	const char *column;
	unsigned int shift;
};

static const struct donor_metric donor_metrics[] = {
	{ "farswap_donor_slabs", "gauge", "Slabs of this machine, by donor", "slabs", 0 },
	{ "farswap_donor_free_bytes", "gauge", "Memory that a donor could lend when it was last asked",
	  "free_mb", 20 },
	{ "farswap_donor_failures_total", "counter", "Sessions that failed, by donor", "downs", 0 },
	{ "farswap_donor_suspects_total", "counter", "Times that a donor became suspect", "suspects",
	  0 },
	{ "farswap_donor_resumes_total", "counter", "Times that a session was resumed", "resumes", 0 },
	{ "farswap_donor_slow", "gauge", "1 while a donor is avoided because its reads are slow", "slow",
	  0 },
};

static void metrics_donor(const struct metrics *metrics, const struct donor_metric *metric)
{
	struct table table;
	char label[128];

	if (!table_open(&table, CLIENT_DEBUGFS "donors"))
		return;
	metrics_head(metrics, metric->name, metric->type, metric->help);
	while (table_next(&table)) {
		snprintf(label, sizeof(label), "donor=\"%s\"", table_get(&table, "address"));
		metrics_sample(metrics, metric->name, label,
			       table_number(&table, metric->column) << metric->shift);
	}
	table_close(&table);
}

static void metrics_donor_states(const struct metrics *metrics)
{
	static const char *const states[] = { "connecting", "live", "suspect", "leaving" };
	struct table table;
	char label[128];
	unsigned int i;

	metrics_head(metrics, "farswap_donors", "gauge", "Donors by state");
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		snprintf(label, sizeof(label), "state=\"%s\"", states[i]);
		metrics_sample(metrics, "farswap_donors", label, client_donors(states[i]));
	}
	if (!table_open(&table, CLIENT_DEBUGFS "donors"))
		return;
	metrics_head(metrics, "farswap_donor_live", "gauge", "1 if a donor is in use");
	while (table_next(&table)) {
		snprintf(label, sizeof(label), "donor=\"%s\"", table_get(&table, "address"));
		metrics_sample(metrics, "farswap_donor_live", label,
			       !strcmp(table_get(&table, "state"), "live"));
	}
	table_close(&table);
}

static void metrics_setting(const struct metrics *metrics, const char *name, const char *file,
			    const char *help, unsigned int shift)
{
	char path[128], value[64];

	snprintf(path, sizeof(path), CLIENT_SYSFS "%s", file);
	if (!file_line(path, value, sizeof(value)))
		return;
	metrics_head(metrics, name, "gauge", help);
	metrics_sample(metrics, name, "", strtoull(value, NULL, 10) << shift);
}

static void metrics_counters(const struct metrics *metrics)
{
	struct client_stats stats;
	unsigned int i;
	char name[64];

	if (!client_read_stats(&stats))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "stats: %s", strerror(errno));
	for (i = 0; i < stats.nr; i++) {
		const struct explain *explain = explain_find(stats.counter[i].name);
		bool counts = explain && !explain->is_gauge;

		snprintf(name, sizeof(name), "farswap_%s%s", stats.counter[i].name,
			 counts ? "_total" : "");
		metrics_head(metrics, name, !explain ? "unknown" : counts ? "counter" : "gauge",
			     explain ? explain->text : "A counter that this farswapctl does not know");
		metrics_sample(metrics, name, "", stats.counter[i].value);
	}
	client_free_stats(&stats);
}

static void metrics_latencies(const struct metrics *metrics)
{
	struct client_latencies latencies;
	char label[64];
	unsigned int i;

	if (!client_read_latencies(&latencies))
		return;
	metrics_head(metrics, "farswap_latency_seconds", "histogram",
		     "Latency by kind of I/O; the sum is exact to a sixteenth");
	for (i = 0; i < latencies.nr; i++) {
		snprintf(label, sizeof(label), "kind=\"%s\"", latencies.of[i].name);
		metrics_histogram_show(metrics, "farswap_latency_seconds", label,
				       &latencies.of[i].histogram);
	}
	client_free_latencies(&latencies);
}

void client_metrics(const struct metrics *metrics)
{
	unsigned int i;

	metrics_head(metrics, "farswap_build_info", "info", "Version of farswapctl");
	metrics_sample(metrics, "farswap_build_info", "version=\"" FARSWAP_RELEASE "\"", 1);
	metrics_setting(metrics, "farswap_attached", "attached", "1 while the swap code is hooked", 0);
	metrics_setting(metrics, "farswap_enabled", "enabled", "1 if new pages are stored remotely", 0);
	metrics_setting(metrics, "farswap_slab_size_bytes", "slab_mb", "Size of a slab", 20);
	metrics_setting(metrics, "farswap_staging_size_bytes", "staging_mb",
			"Memory for pages that wait for the swap device", 20);
	metrics_counters(metrics);
	metrics_donor_states(metrics);
	for (i = 0; i < ARRAY_SIZE(donor_metrics); i++)
		metrics_donor(metrics, &donor_metrics[i]);
	metrics_latencies(metrics);
}

static void metrics_all(FILE *out)
{
	const struct metrics metrics = { .out = out, .plain = ctl.plain };
	bool client = !ctl.socket && client_is_there();
	bool donor = ask_is_there();
	char *text;

	if (!client && !donor)
		ctl_fail(CTL_UNKNOWN, "%s: %s; neither farswapd nor the module farswap is running: farswapctl check says why",
			 ctl.socket ? ctl.socket : ADMIN_PATH, ask_error());
	if (client) {
		client_require();
		client_metrics(&metrics);
	}
	if (donor) {
		text = ask(ADMIN_METRICS, ctl.plain ? ADMIN_PLAIN : ADMIN_TEXT, 0);
		fputs(text, out);
		free(text);
	}
	if (!ctl.plain)
		fputs("# EOF\n", out);
}

/* All metrics, as one text: an error must not leave a part of them. */
static char *metrics_text(size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	bool failed;

	if (!out)
		ctl_fail(CTL_UNKNOWN, "out of memory");
	metrics_all(out);
	failed = ferror(out);
	if (fclose(out) || failed)
		ctl_fail(CTL_UNKNOWN, "out of memory");
	return text;
}

/* A reader of the file sees the old text or the new one. */
static int metrics_file(const char *path)
{
	char new_path[512];
	size_t len = 0;
	char *text = metrics_text(&len);
	FILE *file;
	bool failed;

	snprintf(new_path, sizeof(new_path), "%s.new", path);
	file = fopen(new_path, "w");
	if (!file)
		ctl_fail(CTL_PROBLEM, "%s: %s", new_path, strerror(errno));
	failed = fwrite(text, 1, len, file) != len;
	if (fclose(file) || failed || rename(new_path, path) < 0)
		ctl_fail(CTL_PROBLEM, "%s: %s", path, strerror(errno));
	free(text);
	return CTL_OK;
}

/*
 * Read a request up to the empty line after its headers. Return false if it is not a GET of
 * /metrics.
 */
static bool http_request(FILE *in)
{
	char line[HTTP_LINE_MAX], method[8] = "", path[64] = "";
	unsigned int i;

	if (!fgets(line, sizeof(line), in) || sscanf(line, "%7s %63s", method, path) != 2)
		return false;
	for (i = 0; i < HTTP_LINES_MAX && fgets(line, sizeof(line), in); i++)
		if (!strcmp(line, "\r\n") || !strcmp(line, "\n"))
			break;
	return !strcmp(method, "GET") && !strcmp(path, "/metrics");
}

static int http_answer(void)
{
	const char *type = ctl.plain ? "text/plain; version=0.0.4; charset=utf-8" :
			   "application/openmetrics-text; version=1.0.0; charset=utf-8";
	size_t len = 0;
	char *text;

	if (!http_request(stdin)) {
		fputs("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 29\r\n\r\n"
		      "The metrics are at /metrics.\n", stdout);
		return CTL_PROBLEM;
	}
	text = metrics_text(&len);
	printf("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
	       type, len);
	/* main() finds out whether it was written. */
	(void)fwrite(text, 1, len, stdout);
	free(text);
	return CTL_OK;
}

int cmd_metrics(char **args, unsigned int nr)
{
	(void)args;
	(void)nr;
	if (ctl.json)
		ctl_fail(CTL_UNKNOWN, "metrics: --json is not valid; farswapctl --json status has the same numbers");
	if (ctl.http)
		return http_answer();
	if (ctl.output)
		return metrics_file(ctl.output);
	metrics_all(stdout);
	return CTL_OK;
}
