// SPDX-License-Identifier: GPL-2.0
/*
 * The policies of cgroups: those of the kernel, with their accounts, and the file that keeps them
 * over reboots. farswap.service writes its lines to the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/client.h"
#include "ctl/kmsg.h"
#include "ctl/unit/unit.h"

#define CGROUP_DIR	"/etc/farswap"
#define CGROUP_FILE	CGROUP_DIR "/cgroups"
#define CGROUP_SYSFS	CLIENT_SYSFS "cgroups"
#define CGROUP_LINE	1024
#define CGROUP_HEAD	"# Policies of cgroups, which farswap.service applies: farswapctl cgroup set\n"

/* Return true if the line is that of the path. */
static bool cgroup_is(const char *line, const char *path)
{
	size_t length = strlen(path);

	return !strncmp(line, path, length) && (line[length] == ' ' || !line[length]);
}

/* Copy the line of a path in a file. Return false if it has none. */
static bool cgroup_find(const char *file, const char *path, char line[CGROUP_LINE])
{
	char *text = file_read(file), *cursor = text, *at;
	bool found = false;

	while (text && !found && (at = file_next(&cursor))) {
		found = cgroup_is(at, path);
		if (found)
			snprintf(line, CGROUP_LINE, "%s", at);
	}
	free(text);
	return found;
}

static void cgroup_copy(FILE *out, const char *path)
{
	char *text = file_read(CGROUP_FILE), *cursor = text, *line;

	if (!text)
		fputs(CGROUP_HEAD, out);
	while (text && (line = file_next(&cursor)))
		if (!cgroup_is(line, path))
			fprintf(out, "%s\n", line);
	free(text);
}

/* Replace the line of a path, or remove it if @line is NULL. The file is never a part of itself. */
static void cgroup_save(const char *path, const char *line)
{
	char dir[512], file[512], new[520];
	FILE *out;
	bool ok;

	file_path(dir, sizeof(dir), CGROUP_DIR);
	file_path(file, sizeof(file), CGROUP_FILE);
	snprintf(new, sizeof(new), "%s.new", file);
	(void)mkdir(dir, 0755);
	out = fopen(new, "we");
	if (!out)
		ctl_fail(CTL_PROBLEM, "the policy holds now, but can't be kept: %s: %s", new,
			 strerror(errno));
	cgroup_copy(out, path);
	if (line)
		fprintf(out, "%s\n", line);
	ok = !fflush(out) && !fsync(fileno(out));
	ok = !fclose(out) && ok && !rename(new, file);
	if (!ok)
		ctl_fail(CTL_PROBLEM, "the policy holds now, but can't be kept: %s: %s", file,
			 strerror(errno));
}

/* A unit that does not run has no cgroup, so that its path must be given. */
static void cgroup_path(const char *name, char path[UNIT_PATH])
{
	struct unit unit;
	size_t length;

	if (*name != '/') {
		unit_find(&unit, name);
		name = unit.cgroup;
	} else if (!strncmp(name, UNIT_CGROUPS "/", strlen(UNIT_CGROUPS "/"))) {
		name += strlen(UNIT_CGROUPS);
	}
	length = strlen(name);
	while (length > 1 && name[length - 1] == '/')
		length--;
	if (length >= UNIT_PATH || strpbrk(name, " \t\n"))
		ctl_fail(CTL_UNKNOWN, "'%s' is no path of a cgroup", name);
	snprintf(path, UNIT_PATH, "%.*s", (int)length, name);
}

static int cgroup_set(char **args, unsigned int nr)
{
	char path[UNIT_PATH], line[CGROUP_LINE], why[KMSG_TEXT];
	bool removed = nr == 2 && !strcmp(args[1], "-");
	unsigned int i;
	size_t length;
	int err;

	if (!client_is_there())
		ctl_fail(CTL_UNKNOWN, "the module farswap is not loaded; run: modprobe farswap");
	cgroup_path(args[0], path);
	length = snprintf(line, sizeof(line), "%s", path);
	for (i = 1; i < nr && length < sizeof(line); i++)
		length += snprintf(line + length, sizeof(line) - length, " %s", args[i]);
	if (length >= sizeof(line))
		ctl_fail(CTL_UNKNOWN, "cgroup set: more than %d characters", CGROUP_LINE - 1);
	err = action_write(CGROUP_SYSFS, line);
	if (err == -ENOENT && removed)
		err = 0;
	if (err && kmsg_text("farswap: cgroups: ", why))
		ctl_fail(CTL_PROBLEM, "refused: %s", why);
	if (err)
		ctl_fail(CTL_PROBLEM, CGROUP_SYSFS ": %s; are you root?", strerror(-err));
	/* The kernel's line has the keys that were not given, too. */
	if (!removed)
		(void)cgroup_find(CGROUP_SYSFS, path, line);
	cgroup_save(path, removed ? NULL : line);
	return CTL_OK;
}

static void cgroup_print(const struct table *table, const char *line, bool kept)
{
	uint64_t loaded = table_number(table, "loaded");
	const char *backup = strstr(line, "backup=");
	const char *max = table_get(table, "max_pages");
	char limit[24] = "max";

	if (strcmp(max, "max") != 0)
		snprintf(limit, sizeof(limit), "%llu", strtoull(max, NULL, 10) >> 8);
	printf("%-40s %6s %8s %6s %8s %8llu %10s %10s %10s %7llu %s\n", table_get(table, "path"),
	       table_get(table, "remote"), limit, table_get(table, "weight"), backup ? backup + 7 : "-",
	       (unsigned long long)(table_number(table, "pages") >> 8), table_get(table, "stored"),
	       table_get(table, "loaded"), table_get(table, "refused"),
	       loaded ? (unsigned long long)(table_number(table, "load_ns") / loaded / 1000) : 0,
	       kept ? "yes" : "no");
}

static void cgroup_json(struct json *json, const struct table *table, const char *line, bool kept)
{
	const char *backup = strstr(line, "backup="), *max = table_get(table, "max_pages");

	json_object(json, NULL);
	json_string(json, "path", table_get(table, "path"));
	json_bool(json, "remote_allowed", strcmp(table_get(table, "remote"), "0"));
	if (strcmp(max, "max") != 0)
		json_number(json, "max_pages", strtoull(max, NULL, 10));
	else
		json_null(json, "max_pages");
	json_number(json, "weight", table_number(table, "weight"));
	json_string(json, "backup", backup ? backup + 7 : "default");
	json_number(json, "remote_pages", table_number(table, "pages"));
	json_number(json, "stored", table_number(table, "stored"));
	json_number(json, "loaded", table_number(table, "loaded"));
	json_number(json, "refused", table_number(table, "refused"));
	json_number(json, "load_ns", table_number(table, "load_ns"));
	json_bool(json, "kept", kept);
	json_end(json);
}

static int cgroup_show(void)
{
	char line[CGROUP_LINE], kept[CGROUP_LINE];
	struct table table;
	struct json json;
	bool is_kept;

	client_require();
	if (!table_open(&table, CLIENT_DEBUGFS "cgroups"))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "cgroups: %s", strerror(errno));
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_array(&json, "cgroups");
	} else {
		printf("%-40s %6s %8s %6s %8s %8s %10s %10s %10s %7s %s\n", "PATH", "REMOTE",
		       "MAX_MIB", "WEIGHT", "BACKUP", "MIB", "STORED", "LOADED", "REFUSED",
		       "LOAD_US", "KEPT");
	}
	while (table_next(&table)) {
		*line = '\0';
		(void)cgroup_find(CGROUP_SYSFS, table_get(&table, "path"), line);
		is_kept = cgroup_find(CGROUP_FILE, table_get(&table, "path"), kept);
		if (ctl.json)
			cgroup_json(&json, &table, line, is_kept);
		else
			cgroup_print(&table, line, is_kept);
	}
	if (ctl.json) {
		json_end(&json);
		json_end(&json);
	}
	table_close(&table);
	return CTL_OK;
}

int cmd_cgroup(char **args, unsigned int nr)
{
	if (!strcmp(args[0], "show") && nr == 1)
		return cgroup_show();
	if (!strcmp(args[0], "set") && nr > 1)
		return cgroup_set(args + 1, nr - 1);
	ctl_fail(CTL_UNKNOWN, "cgroup: expected show, or set and the path of a cgroup, and then remote=0 or 1, max=SIZE, weight=N, backup=POLICY, or -");
}
