// SPDX-License-Identifier: GPL-2.0
/*
 * Finds a unit's cgroup, and reads its files. A name is that of a virtual machine, or of a systemd
 * unit, whose cgroup has the same name; a path is that of a cgroup.
 */
#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

/* The path of a file of a cgroup. */
#define UNIT_FILE	1024UL

static volatile sig_atomic_t unit_signalled;

static void unit_signal(int signo)
{
	unit_signalled = signo;
}

void unit_catch_signals(void)
{
	struct sigaction action = { .sa_handler = unit_signal };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

bool unit_stopped(void)
{
	return unit_signalled;
}

void unit_warn(const char *fmt, ...)
{
	va_list ap;

	fputs("farswapctl: warning: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void unit_file(char path[UNIT_FILE], const char *cgroup, const char *file)
{
	snprintf(path, UNIT_FILE, UNIT_CGROUPS "%s/%s", !strcmp(cgroup, "/") ? "" : cgroup,
		 file);
}

uint64_t unit_number(const char *cgroup, const char *file)
{
	char path[UNIT_FILE], line[64];

	unit_file(path, cgroup, file);
	if (!file_line(path, line, sizeof(line)))
		return 0;
	return strcmp(line, "max") ? strtoull(line, NULL, 10) : UINT64_MAX;
}

uint64_t unit_current(const struct unit *unit)
{
	return unit_number(unit->cgroup, "memory.current");
}

uint64_t unit_stat(const struct unit *unit, const char *word)
{
	char path[UNIT_FILE], *text, *cursor, *line;
	size_t length = strlen(word);
	uint64_t value = 0;

	unit_file(path, unit->cgroup, "memory.stat");
	text = file_read(path);
	cursor = text;
	while (text && (line = file_next(&cursor)))
		if (!strncmp(line, word, length) && line[length] == ' ')
			value = strtoull(line + length, NULL, 10);
	free(text);
	return value;
}

int unit_write(const struct unit *unit, const char *file, const char *fmt, ...)
{
	char path[UNIT_FILE], text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	unit_file(path, unit->cgroup, file);
	return action_write(path, text);
}

static bool unit_has(const char *cgroup, const char *file)
{
	char path[UNIT_FILE];

	unit_file(path, cgroup, file);
	return file_exists(path);
}

bool unit_exists(const struct unit *unit)
{
	return unit_has(unit->cgroup, "cgroup.procs");
}

bool unit_cgroup_of(unsigned int pid, char cgroup[UNIT_PATH])
{
	char path[64], *text, *cursor, *line;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	text = file_read(path);
	cursor = text;
	while (text && (line = file_next(&cursor))) {
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		found = true;
		snprintf(cgroup, UNIT_PATH, "%s", line + 3);
	}
	free(text);
	return found;
}

/* Call @fn for each directory below a cgroup, until it returns false. */
static bool unit_each_below(const char *cgroup, bool (*fn)(const char *cgroup, void *arg),
			    void *arg)
{
	char path[UNIT_FILE], full[UNIT_FILE + 256], *roots[] = { full, NULL };
	size_t prefix;
	bool more = true;
	FTSENT *entry;
	FTS *tree;

	file_path(full, sizeof(full), UNIT_CGROUPS);
	prefix = strlen(full);
	unit_file(path, cgroup, "");
	path[strlen(path) - 1] = '\0';
	file_path(full, sizeof(full), path);
	tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (tree && more && (entry = fts_read(tree)))
		if (entry->fts_info == FTS_D && entry->fts_level > 0)
			more = fn(entry->fts_path + prefix, arg);
	if (tree)
		(void)fts_close(tree);
	return more;
}

struct unit_pids {
	bool (*fn)(unsigned int pid, void *arg);
	void *arg;
};

static bool unit_pids_of(const char *cgroup, void *arg)
{
	const struct unit_pids *pids = arg;
	char path[UNIT_FILE], *text, *cursor, *line;
	bool more = true;

	unit_file(path, cgroup, "cgroup.procs");
	text = file_read(path);
	cursor = text;
	while (text && more && (line = file_next(&cursor)))
		more = pids->fn(strtoul(line, NULL, 10), pids->arg);
	free(text);
	return more;
}

bool unit_each_pid(const char *cgroup, bool (*fn)(unsigned int pid, void *arg), void *arg)
{
	struct unit_pids pids = { .fn = fn, .arg = arg };

	return unit_pids_of(cgroup, &pids) &&
	       unit_each_below(cgroup, unit_pids_of, &pids);
}

struct unit_search {
	const char *name;
	struct unit *unit;
	unsigned int nr;
	char other[UNIT_PATH];
};

static bool unit_is(const char *cgroup, void *arg)
{
	struct unit_search *search = arg;
	const char *last = strrchr(cgroup, '/') + 1;
	size_t length = strlen(search->name);

	if (strncmp(last, search->name, length) != 0 ||
	    (last[length] && strcmp(last + length, ".service") && strcmp(last + length, ".scope")))
		return true;
	snprintf(search->nr ? search->other : search->unit->cgroup, UNIT_PATH, "%s", cgroup);
	search->nr++;
	return true;
}

static void unit_search(struct unit *unit, const char *name)
{
	struct unit_search search = { .name = name, .unit = unit };

	unit_each_below("/", unit_is, &search);
	if (!search.nr)
		ctl_fail(CTL_UNKNOWN, "'%s' is no virtual machine and no running systemd unit; farswapctl vm list and systemctl show them, and the path of a cgroup begins with /",
			 name);
	if (search.nr > 1)
		ctl_fail(CTL_UNKNOWN, "there are %u units '%s'; give the path of one, such as %s or %s",
			 search.nr, name, unit->cgroup, search.other);
}

static void unit_path(struct unit *unit, const char *name)
{
	size_t length;

	if (!strncmp(name, UNIT_CGROUPS "/", strlen(UNIT_CGROUPS "/")))
		name += strlen(UNIT_CGROUPS);
	length = strlen(name);
	while (length > 1 && name[length - 1] == '/')
		length--;
	if (length >= UNIT_PATH || strstr(name, "/.."))
		ctl_fail(CTL_UNKNOWN, "'%s' is no path of a cgroup", name);
	snprintf(unit->cgroup, sizeof(unit->cgroup), "%.*s", (int)length, name);
	if (!unit_exists(unit))
		ctl_fail(CTL_UNKNOWN, "there is no cgroup %s%s", UNIT_CGROUPS, unit->cgroup);
}

void unit_find(struct unit *unit, const char *name)
{
	struct machine machine;

	memset(unit, 0, sizeof(*unit));
	snprintf(unit->name, sizeof(unit->name), "%s", name);
	if (*name == '/') {
		unit_path(unit, name);
	} else if (machine_find(&machine, name)) {
		machine_require(&machine);
		unit->pid = machine.pid;
		snprintf(unit->name, sizeof(unit->name), "%s", machine.name);
		snprintf(unit->cgroup, sizeof(unit->cgroup), "%s", machine.cgroup);
	} else if (!name[strspn(name, "0123456789")]) {
		unit->pid = strtoul(name, NULL, 10);
		if (!unit_cgroup_of(unit->pid, unit->cgroup))
			ctl_fail(CTL_UNKNOWN, "there is no process %s", name);
	} else {
		unit_search(unit, name);
	}
	if (!unit_has(unit->cgroup, "memory.high"))
		ctl_fail(CTL_UNKNOWN, "%s: %s has no memory.high; it needs a cgroup of its own with the memory controller, as systemd-run --scope makes",
			 name, unit->cgroup);
}

static void unit_swap(const struct client_swap *swap, void *arg)
{
	(void)swap;
	++*(unsigned int *)arg;
}

void unit_check_swap(void)
{
	char attached[8] = "";
	unsigned int nr = 0;

	(void)client_swaps(unit_swap, &nr);
	(void)file_line(CLIENT_SYSFS "attached", attached, sizeof(attached));
	if (!nr)
		unit_warn("no swap is on, so that only pages of files can leave memory; swapon turns it on");
	else if (strcmp(attached, "1") != 0)
		unit_warn("farswap is not attached, so that pages go to the swap device; systemctl start farswap attaches it");
}

/* Return the time that some task of it has waited, or UINT64_MAX. */
static uint64_t unit_stall_us(const struct unit *unit)
{
	char path[UNIT_FILE], line[128];

	unit_file(path, unit->cgroup, "memory.pressure");
	if (!file_line(path, line, sizeof(line)) || !strstr(line, "total="))
		return UINT64_MAX;
	return file_number(line, "total=");
}

bool unit_pressure_begin(struct unit_pressure *pressure, const struct unit *unit)
{
	*pressure = (struct unit_pressure){ .unit = unit, .at_us = action_now_us(),
					    .stall_us = unit_stall_us(unit) };
	return pressure->stall_us != UINT64_MAX;
}

double unit_pressure(struct unit_pressure *pressure, unsigned int ms)
{
	uint64_t now = action_now_us(), stall;

	if (now - pressure->at_us < ms * 1000ULL || now == pressure->at_us)
		return pressure->percent;
	stall = unit_stall_us(pressure->unit);
	if (stall == UINT64_MAX || stall < pressure->stall_us)
		stall = pressure->stall_us;
	pressure->percent = 100.0 * (double)(stall - pressure->stall_us) /
			    (double)(now - pressure->at_us);
	pressure->at_us = now;
	pressure->stall_us = stall;
	return pressure->percent;
}
