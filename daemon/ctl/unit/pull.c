// SPDX-License-Identifier: GPL-2.0
/*
 * Reads back what is swapped of a unit before its tasks need it (XMemPod's proactive swap-in): in
 * the order of addresses, at a bounded rate, until memory would be short again. The pages come into
 * the swap cache, where a fault finds them. Page tables do not show which pages of shared memory
 * are swapped, so there all that is not mapped is asked for; the kernel reads what is swapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

#define PULL_PIECE	512ULL		/* pages */
#define PULL_RANGES	64
#define PULL_PRESENT	(1ULL << 63)
#define PULL_SWAPPED	(1ULL << 62)
#define PULL_MIB_S	256
#define PULL_LEAVE	(256ULL << 20)
/* Small cgroups and machines keep a part of their memory free, not all of the above. */
#define PULL_LEAVE_PART	16

struct pull {
	const struct unit *unit;
	struct pull_result result;
	uint64_t began_us;
	uint64_t rate;		/* bytes a second */
	uint64_t leave;		/* bytes of the machine's memory */
	long page;
	int pidfd;
	int pagemap;
	bool shared;		/* of the mapping */
	bool denied;
};

static uint64_t pull_meminfo(const char *word)
{
	char *text = file_read("/proc/meminfo");
	uint64_t kb = file_number(text, word);

	free(text);
	return kb << 10;
}

/* Return what the limits of the unit and of those above it leave. */
static uint64_t pull_room(const struct pull *pull)
{
	static const char *const limits[] = { "memory.high", "memory.max" };
	uint64_t room = UINT64_MAX, limit, used, part;
	char cgroup[UNIT_PATH], *slash;
	unsigned int i;

	snprintf(cgroup, sizeof(cgroup), "%s", pull->unit->cgroup);
	while ((slash = strrchr(cgroup, '/')) && cgroup[1]) {
		for (i = 0; i < ARRAY_SIZE(limits); i++) {
			limit = unit_number(cgroup, limits[i]);
			if (!limit || limit == UINT64_MAX)
				continue;
			used = unit_number(cgroup, "memory.current");
			part = limit / PULL_LEAVE_PART;
			limit -= part < pull->leave ? part : pull->leave;
			if (room > (limit > used ? limit - used : 0))
				room = limit > used ? limit - used : 0;
		}
		*slash = '\0';
	}
	return room;
}

/* Return true if the pull ends before @bytes more. */
static bool pull_ends(struct pull *pull, uint64_t bytes)
{
	if (pull->result.end)
		return true;
	if (unit_stopped())
		pull->result.end = "stopped by a signal";
	else if (pull_meminfo("MemAvailable:") < pull->leave + bytes)
		pull->result.end = "no more is read: the machine would be short of memory (--leave)";
	else if (pull_room(pull) < bytes)
		pull->result.end = "no more is read: memory.high or memory.max is near; farswapctl grow raises memory.high";
	return pull->result.end;
}

static void pull_wait(const struct pull *pull)
{
	uint64_t due_us = pull->began_us + pull->result.bytes * 1000000 / pull->rate;
	uint64_t now = action_now_us();

	if (due_us > now + 1000)
		action_sleep_ms((due_us - now) / 1000);
}

/* Ask for the ranges, whose pages are @pages. */
static void pull_ranges(struct pull *pull, struct iovec *ranges, unsigned int nr, uint64_t pages)
{
	uint64_t bytes = pages * pull->page;

	if (!nr || pull_ends(pull, bytes))
		return;
	if (action_willneed(pull->pidfd, ranges, nr) < 0) {
		pull->denied |= errno == EPERM;
		return;
	}
	pull->result.bytes += bytes;
	pull_wait(pull);
}

static bool pull_wants(const struct pull *pull, uint64_t entry)
{
	return pull->shared ? !(entry & PULL_PRESENT) : entry & PULL_SWAPPED;
}

/* Begin a range at an address of the other process, which is no pointer here. */
static void pull_range(struct iovec *range, uintptr_t address)
{
	memcpy(&range->iov_base, &address, sizeof(range->iov_base));
	range->iov_len = 0;
}

/* Read back a piece of at most PULL_PIECE pages. */
static bool pull_piece(struct pull *pull, uint64_t first, uint64_t nr)
{
	static uint64_t entries[PULL_PIECE];
	struct iovec ranges[PULL_RANGES];
	unsigned int used = 0;
	uint64_t i, pages = 0;
	ssize_t n;

	n = pread(pull->pagemap, entries, nr * sizeof(*entries), (off_t)(first * sizeof(*entries)));
	if (n < 0)
		return false;
	for (i = 0; i < (uint64_t)n / sizeof(*entries); i++) {
		if (!pull_wants(pull, entries[i]))
			continue;
		if (!i || !pull_wants(pull, entries[i - 1])) {
			if (used == PULL_RANGES) {
				pull_ranges(pull, ranges, used, pages);
				used = 0;
				pages = 0;
			}
			pull_range(&ranges[used++], (first + i) * pull->page);
		}
		ranges[used - 1].iov_len += pull->page;
		pages++;
	}
	pull_ranges(pull, ranges, used, pages);
	return !pull->result.end;
}

/* A line of /proc/PID/maps: "start-end perms offset dev inode path". */
static void pull_mapping(struct pull *pull, const char *line)
{
	const char *path = strchr(line, '/');
	uint64_t first, end, nr;
	char *at;

	first = strtoull(line, &at, 16) / pull->page;
	end = strtoull(at + 1, &at, 16) / pull->page;
	pull->shared = strlen(at) > 5 && at[4] == 's';
	/* Pages of a file are not in swap, but for copies of them. */
	if (pull->shared && (!path || (strncmp(path, "/memfd:", 7) != 0 &&
				       strncmp(path, "/dev/zero", 9) != 0 &&
				       strncmp(path, "/dev/shm/", 9) != 0 &&
				       strncmp(path, "/SYSV", 5) != 0)))
		return;
	while (first < end) {
		nr = end - first < PULL_PIECE ? end - first : PULL_PIECE;
		if (!pull_piece(pull, first, nr))
			return;
		first += nr;
	}
}

static bool pull_process(unsigned int pid, void *arg)
{
	char path[64], full[512], *text, *cursor, *line;
	struct pull *pull = arg;

	if (pull->unit->pid && pull->unit->pid != pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	file_path(full, sizeof(full), path);
	pull->pagemap = open(full, O_RDONLY | O_CLOEXEC);
	pull->pidfd = action_pidfd(pid);
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	text = pull->pagemap < 0 || pull->pidfd < 0 ? NULL : file_read(path);
	cursor = text;
	while (text && !pull->result.end && (line = file_next(&cursor)))
		pull_mapping(pull, line);
	free(text);
	if (pull->pidfd >= 0)
		close(pull->pidfd);
	if (pull->pagemap >= 0)
		close(pull->pagemap);
	return !pull->result.end;
}

struct pull_result unit_pull(const struct unit *unit)
{
	struct pull pull = { .unit = unit, .began_us = action_now_us(),
			     .rate = (ctl.rate ? ctl.rate : PULL_MIB_S) << 20,
			     .leave = ctl.leave ? ctl.leave : PULL_LEAVE,
			     .page = sysconf(_SC_PAGESIZE) };
	uint64_t part = pull_meminfo("MemTotal:") / PULL_LEAVE_PART;

	if (!ctl.leave && part < pull.leave)
		pull.leave = part;
	unit_each_pid(unit->cgroup, pull_process, &pull);
	if (pull.denied && !pull.result.bytes)
		ctl_fail(CTL_PROBLEM, "%s: its memory can't be read ahead; run farswapctl as root",
			 unit->name);
	return pull.result;
}

int cmd_pull(char **args, unsigned int nr)
{
	struct pull_result result;
	static struct unit unit;
	struct json json;

	(void)nr;
	unit_find(&unit, args[0]);
	unit_catch_signals();
	result = unit_pull(&unit);
	if (!ctl.json) {
		printf("%s: asked for %lluM, %lluM in memory%s%s\n", unit.name,
		       UNIT_MIB(result.bytes), UNIT_MIB(unit_current(&unit)),
		       result.end ? "; " : "", result.end ? result.end : "");
		return CTL_OK;
	}
	json_init(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "name", unit.name);
	json_string(&json, "cgroup", unit.cgroup);
	json_number(&json, "pulled_bytes", result.bytes);
	json_number(&json, "resident_bytes", unit_current(&unit));
	if (result.end)
		json_string(&json, "reason", result.end);
	else
		json_null(&json, "reason");
	json_end(&json);
	return CTL_OK;
}
