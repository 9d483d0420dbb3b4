// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps a unit at a pressure: pages out a little of it at each interval, the less the longer its
 * tasks have waited for memory, and nothing beyond the pressure that is allowed (Senpai).
 */
#include <errno.h>
#include <string.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

#define KEEP_INTERVAL_S		6
#define KEEP_PSI		0.1
/* The most that an interval takes of a unit. */
#define KEEP_PART		100
/* A part of swap stays free for the machine's other programs. */
#define KEEP_SWAP_PART		20

struct keep_swap {
	uint64_t size_kb;
	uint64_t used_kb;
};

static void keep_add_swap(const struct client_swap *swap, void *arg)
{
	struct keep_swap *all = arg;

	all->size_kb += swap->size_kb;
	all->used_kb += swap->used_kb;
}

static bool keep_has_swap(void)
{
	struct keep_swap all = { 0 };

	(void)client_swaps(keep_add_swap, &all);
	return all.size_kb - all.used_kb > all.size_kb / KEEP_SWAP_PART;
}

/* Return how much to page out after an interval of that pressure. */
static uint64_t keep_amount(uint64_t current, double percent, double allowed)
{
	if (percent >= allowed)
		return 0;
	return (uint64_t)((double)current / KEEP_PART * (1 - percent / allowed));
}

/* Wait for an interval. Return false at the end of the program. */
static bool keep_wait(void)
{
	uint64_t until = action_now_us() +
			 (ctl.watch_s ? ctl.watch_s : KEEP_INTERVAL_S) * 1000000ULL;

	while (action_now_us() < until && !unit_stopped())
		action_sleep_ms((until - action_now_us()) / 1000 + 1);
	return !unit_stopped();
}

int cmd_keep(char **args, unsigned int nr)
{
	static struct unit unit;
	struct unit_pressure pressure;
	double allowed = ctl.psi >= 0 ? ctl.psi : KEEP_PSI;
	bool there = true, refused = false;
	uint64_t amount;

	(void)nr;
	if (ctl.json)
		ctl_fail(CTL_UNKNOWN, "keep: --json is not valid");
	unit_find(&unit, args[0]);
	unit_check_swap();
	unit_catch_signals();
	if (!unit_pressure_begin(&pressure, &unit))
		ctl_fail(CTL_UNKNOWN, "%s has no memory.pressure; boot the kernel with psi=1",
			 unit.name);
	printf("%s: kept at a pressure of %.2f%%, from %lluM\n", unit.name, allowed,
	       UNIT_MIB(unit_current(&unit)));
	(void)fflush(stdout);
	while (keep_wait()) {
		/* A service that restarts has its cgroup again. */
		if (there != unit_exists(&unit)) {
			there = !there;
			printf("%s: %s\n", unit.name, there ? "is there again" : "is not there");
			(void)fflush(stdout);
			(void)unit_pressure_begin(&pressure, &unit);
			continue;
		}
		amount = keep_amount(unit_current(&unit), unit_pressure(&pressure, 1), allowed);
		if (there && amount >= 4096 && keep_has_swap())
			refused |= unit_write(&unit, "memory.reclaim", "%llu",
					      (unsigned long long)amount) == -EACCES;
		if (refused)
			ctl_fail(CTL_PROBLEM, "%s: the kernel refused to reclaim; run farswapctl as root",
				 unit.name);
	}
	printf("%s: %lluM in memory, %lluM swapped\n", unit.name, UNIT_MIB(unit_current(&unit)),
	       UNIT_MIB(unit_number(unit.cgroup, "memory.swap.current")));
	return CTL_OK;
}
