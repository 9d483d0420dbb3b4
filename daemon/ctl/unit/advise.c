// SPDX-License-Identifier: GPL-2.0
/*
 * Measures how much of a unit's memory is cold: clears the accessed bits of its pages, waits, and
 * counts the memory whose bits are still clear. A guest's accesses set bits of KVM's own page
 * tables, which this does not see.
 */
#include <stdlib.h>
#include <string.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

#define ADVISE_WAIT_S	60

struct advise {
	uint64_t all;
	uint64_t cold;
	uint64_t swapped;
	unsigned int refused;
	unsigned int processes;
};

static bool advise_clear(unsigned int pid, void *arg)
{
	struct advise *advise = arg;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/clear_refs", pid);
	advise->refused += action_write(path, "1") != 0;
	advise->processes++;
	return true;
}

/* Memory that processes share counts in parts for each of them. */
static bool advise_read(unsigned int pid, void *arg)
{
	uint64_t resident, proportional, touched, locked;
	struct advise *advise = arg;
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%u/smaps_rollup", pid);
	text = file_read(path);
	resident = file_number(text, "\nRss:");
	proportional = file_number(text, "\nPss:");
	touched = file_number(text, "\nReferenced:");
	locked = file_number(text, "\nLocked:");
	touched += locked;
	advise->all += proportional << 10;
	advise->swapped += file_number(text, "\nSwapPss:") << 10;
	if (resident && touched < resident)
		advise->cold += ((proportional << 10) / resident) * (resident - touched);
	free(text);
	return true;
}

static void advise_print(const struct unit *unit, const struct advise *advise, unsigned int seconds)
{
	uint64_t current = unit_current(unit), target;
	struct json json;

	target = current > advise->cold ? current - advise->cold : 0;
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_string(&json, "name", unit->name);
		json_string(&json, "cgroup", unit->cgroup);
		json_number(&json, "seconds", seconds);
		json_number(&json, "resident_bytes", advise->all);
		json_number(&json, "cold_bytes", advise->cold);
		json_number(&json, "swapped_bytes", advise->swapped);
		json_end(&json);
		return;
	}
	printf("%s: %lluM in memory, %lluM (%llu%%) of them not accessed for %u s, %lluM swapped\n",
	       unit->name, UNIT_MIB(advise->all), UNIT_MIB(advise->cold),
	       advise->all ? (unsigned long long)(advise->cold * 100 / advise->all) : 0, seconds,
	       UNIT_MIB(advise->swapped));
	if (advise->cold < current / 10)
		puts("most of it is in use: farswap would save little");
	else
		printf("farswapctl shrink %s %lluM would page the cold memory out\n", unit->name,
		       UNIT_MIB(target) < 8 ? 8 : UNIT_MIB(target));
}

int cmd_advise(char **args, unsigned int nr)
{
	unsigned int seconds = ctl.watch_s ? ctl.watch_s : ADVISE_WAIT_S;
	static struct advise advise;
	struct machine machine;
	struct unit unit;
	uint64_t until;

	(void)nr;
	unit_find(&unit, args[0]);
	unit_catch_signals();
	if (unit.pid && machine_find(&machine, args[0]) && machine.kvm)
		ctl_fail(CTL_UNKNOWN, "%s runs in KVM, which hides from the host what the guest accesses; farswapctl wss %s measures it by paging out",
			 unit.name, unit.name);
	unit_each_pid(unit.cgroup, advise_clear, &advise);
	if (!advise.processes)
		ctl_fail(CTL_UNKNOWN, "%s has no process", unit.name);
	if (advise.refused == advise.processes)
		ctl_fail(CTL_PROBLEM, "%s: the accessed bits can't be cleared; run farswapctl as root",
			 unit.name);
	until = action_now_us() + seconds * 1000000ULL;
	while (action_now_us() < until && !unit_stopped())
		action_sleep_ms((until - action_now_us()) / 1000 + 1);
	if (unit_stopped())
		return CTL_PROBLEM;
	unit_each_pid(unit.cgroup, advise_read, &advise);
	advise_print(&unit, &advise, seconds);
	return CTL_OK;
}
