// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the daemon's cgroup and how much memory memory.high and memory.max leave it. A process
 * that may not be killed gets no memory beyond memory.max, and is throttled beyond memory.high.
 * Before that the kernel drops inactive file pages, so these count as available.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"
#include "meminfo.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"

static char cgroup_own[PATH_MAX];

void cgroup_init(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];

	cgroup_own[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		/* Version 1 has named hierarchies. Paths above the namespace are useless. */
		if (!strncmp(line, "0::/", 4) && strncmp(line, "0::/..", 6))
			snprintf(cgroup_own, sizeof(cgroup_own), "%s", line + strlen("0::"));
	}
	if (file)
		(void)fclose(file);
}

/* Return what a limit leaves. The files contain "max" if there is no limit. */
static uint64_t cgroup_left(const char *dir, const char *name)
{
	char path[sizeof(CGROUP_ROOT) + PATH_MAX + 32];
	uint64_t limit, current, cached;

	snprintf(path, sizeof(path), "%s%s/%s", CGROUP_ROOT, dir, name);
	limit = meminfo_number(path, 10);
	if (!limit)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s%s/memory.current", CGROUP_ROOT, dir);
	current = meminfo_number(path, 10);
	snprintf(path, sizeof(path), "%s%s/memory.stat", CGROUP_ROOT, dir);
	cached = meminfo_read(path, "inactive_file", ' ', 10);
	current -= cached < current ? cached : current;
	return limit > current ? limit - current : 0;
}

uint64_t cgroup_room(void)
{
	static const char *const limits[] = { "memory.high", "memory.max" };
	uint64_t room = UINT64_MAX, left;
	char dir[PATH_MAX];
	size_t i;

	/* The root cgroup of a container has these files, that of the machine does not. */
	snprintf(dir, sizeof(dir), "%s", strcmp(cgroup_own, "/") ? cgroup_own : "");
	for (;;) {
		for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			left = cgroup_left(dir, limits[i]);
			if (left < room)
				room = left;
		}
		if (!dir[0])
			break;
		*strrchr(dir, '/') = '\0';
	}
	return room;
}
