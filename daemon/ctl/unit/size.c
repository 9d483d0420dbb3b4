// SPDX-License-Identifier: GPL-2.0
/*
 * Shrinks and grows a unit. memory.reclaim pages out, a step at a time, while the unit's tasks do
 * not wait too long for memory; memory.high then keeps the size. memory.max is never changed: at
 * that limit the kernel kills.
 */
#include <errno.h>
#include <string.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

#define SIZE_MIN		(8ULL << 20)
#define SIZE_STEP		(64ULL << 20)
#define SIZE_PSI		10.0
/* The pressure is that of this time at least. */
#define SIZE_PRESSURE_MS	250
/* Steps without effect before the unit counts as shrunk as far as possible. */
#define SIZE_TRIES		6
#define SIZE_PAUSE_MS		50
/* A step that makes it smaller by less than this part has no effect. */
#define SIZE_PART		128

enum size_end {
	SIZE_REACHED,
	SIZE_LEAST,
	SIZE_PRESSURE,
	SIZE_TIMEOUT,
	SIZE_SIGNAL,
	SIZE_REFUSED,
};

struct size {
	struct unit unit;
	struct unit_pressure pressure;
	uint64_t target;
	uint64_t now;
	double percent;		/* allowed */
	uint64_t until_us;	/* 0: no limit */
};

/* Page out only anonymous memory at first: pages of files would be read again at once. */
static int size_reclaim(const struct unit *unit, uint64_t bytes, bool anonymous)
{
	int err = -EINVAL;

	if (anonymous)
		err = unit_write(unit, "memory.reclaim", "%llu swappiness=200",
				 (unsigned long long)bytes);
	/* Older kernels do not know swappiness=. */
	if (err == -EINVAL)
		err = unit_write(unit, "memory.reclaim", "%llu", (unsigned long long)bytes);
	return err == -EAGAIN ? 0 : err;
}

static enum size_end size_check(struct size *size)
{
	if (unit_stopped())
		return SIZE_SIGNAL;
	if (size->until_us && action_now_us() >= size->until_us)
		return SIZE_TIMEOUT;
	if (unit_pressure(&size->pressure, SIZE_PRESSURE_MS) > size->percent)
		return SIZE_PRESSURE;
	return SIZE_REACHED;
}

static enum size_end size_shrink(struct size *size)
{
	uint64_t step = ctl.step ? ctl.step : SIZE_STEP, before, least;
	enum size_end end = SIZE_REACHED;
	unsigned int tries = 0;

	size->now = unit_current(&size->unit);
	least = size->now;
	while (size->now > size->target && end == SIZE_REACHED) {
		before = size->now;
		if (size_reclaim(&size->unit, before - size->target < step ?
				 before - size->target : step, tries < SIZE_TRIES / 2))
			return SIZE_REFUSED;
		size->now = unit_current(&size->unit);
		end = size_check(size);
		/* A unit that takes back all that it loses does not get smaller. */
		if (size->now + size->now / SIZE_PART < least) {
			least = size->now;
			tries = 0;
			continue;
		}
		if (++tries == SIZE_TRIES)
			return SIZE_LEAST;
		action_sleep_ms(SIZE_PAUSE_MS);
	}
	return end;
}

static void size_swap(const struct client_swap *swap, void *arg)
{
	*(uint64_t *)arg += swap->size_kb - swap->used_kb;
}

/* Say why a unit did not get smaller, and what to do. */
static void size_why(const struct size *size, char *text, size_t length)
{
	uint64_t locked = unit_stat(&size->unit, "unevictable"), free_kb = 0;
	uint64_t most = unit_number(size->unit.cgroup, "memory.swap.max");
	uint64_t kernel = unit_stat(&size->unit, "kernel");

	(void)client_swaps(size_swap, &free_kb);
	if (most && most != UINT64_MAX &&
	    unit_number(size->unit.cgroup, "memory.swap.current") + (1 << 20) >= most)
		snprintf(text, length, "its memory.swap.max of %lluM is reached; raise it",
			 UNIT_MIB(most));
	else if (!most)
		snprintf(text, length, "its memory.swap.max is 0; raise it");
	else if (free_kb < 1024)
		snprintf(text, length, "there is no free swap; swapon adds some");
	else if (locked > size->now / 2 && UNIT_MIB(locked))
		snprintf(text, length, "%lluM of it are locked (mlock) or pinned, and stay in memory",
			 UNIT_MIB(locked));
	else if (kernel > size->now / 2 && UNIT_MIB(kernel))
		snprintf(text, length, "%lluM of it are the kernel's, such as page tables",
			 UNIT_MIB(kernel));
	else
		snprintf(text, length, "the rest is in use all the time");
}

static void size_reason(const struct size *size, enum size_end end, char *text, size_t length)
{
	switch (end) {
	case SIZE_REACHED:
		*text = '\0';
		break;
	case SIZE_LEAST:
		size_why(size, text, length);
		break;
	case SIZE_PRESSURE:
		snprintf(text, length, "its tasks waited for memory for %.1f%% of the time; --psi allows more",
			 size->pressure.percent);
		break;
	case SIZE_TIMEOUT:
		snprintf(text, length, "--timeout has passed");
		break;
	case SIZE_SIGNAL:
		snprintf(text, length, "stopped by a signal");
		break;
	case SIZE_REFUSED:
		snprintf(text, length, "the kernel refused to reclaim; run farswapctl as root");
		break;
	}
}

static void size_print(const struct size *size, const char *reason)
{
	uint64_t swapped = unit_number(size->unit.cgroup, "memory.swap.current");
	struct json json;

	if (!ctl.json) {
		printf("%s: %lluM in memory, %lluM swapped%s%s\n", size->unit.name,
		       UNIT_MIB(size->now), UNIT_MIB(swapped), *reason ? "; " : "", reason);
		return;
	}
	json_init(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "name", size->unit.name);
	json_string(&json, "cgroup", size->unit.cgroup);
	json_number(&json, "resident_bytes", size->now);
	json_number(&json, "swapped_bytes", swapped);
	if (*reason)
		json_string(&json, "reason", reason);
	else
		json_null(&json, "reason");
	json_end(&json);
}

static void size_begin(struct size *size, const char *name)
{
	unit_find(&size->unit, name);
	unit_check_swap();
	unit_catch_signals();
	size->percent = ctl.psi >= 0 ? ctl.psi : SIZE_PSI;
	if (ctl.timeout_s)
		size->until_us = action_now_us() + ctl.timeout_s * 1000000ULL;
	if (!unit_pressure_begin(&size->pressure, &size->unit))
		unit_warn("this kernel does not measure memory pressure (boot it with psi=1): --psi has no effect");
}

/* The size stays only if memory.high keeps it; "min" is how far it would go. */
int cmd_shrink(char **args, unsigned int nr)
{
	static struct size size;
	char reason[160];
	enum size_end end;
	bool least;
	int err;

	(void)nr;
	least = !strcmp(args[1], "min");
	if (!least && (!ctl_size(args[1], &size.target) || size.target < SIZE_MIN))
		ctl_fail(CTL_UNKNOWN, "shrink: invalid size '%s' (at least %lluM, such as 512M or 4G; min shrinks as far as possible)",
			 args[1], UNIT_MIB(SIZE_MIN));
	size_begin(&size, args[0]);
	if (!least && unit_number(size.unit.cgroup, "memory.max") < size.target)
		ctl_fail(CTL_PROBLEM, "%s: its memory.max of %lluM is less already", size.unit.name,
			 UNIT_MIB(unit_number(size.unit.cgroup, "memory.max")));
	end = size_shrink(&size);
	size_reason(&size, end, reason, sizeof(reason));
	if (end == SIZE_REACHED && !least) {
		err = unit_write(&size.unit, "memory.high", "%llu", (unsigned long long)size.target);
		if (err)
			ctl_fail(CTL_PROBLEM, "%s: memory.high: %s", size.unit.name, strerror(-err));
	}
	size_print(&size, reason);
	return end == SIZE_REACHED || (least && end == SIZE_LEAST) ? CTL_OK : CTL_PROBLEM;
}

int cmd_grow(char **args, unsigned int nr)
{
	struct pull_result pulled = { 0 };
	static struct size size;
	uint64_t most;
	int err;

	(void)nr;
	size.target = UINT64_MAX;
	if (strcmp(args[1], "max") != 0 && (!ctl_size(args[1], &size.target) ||
					    size.target < SIZE_MIN))
		ctl_fail(CTL_UNKNOWN, "grow: invalid size '%s' (at least %lluM, such as 512M or 4G, or max)",
			 args[1], UNIT_MIB(SIZE_MIN));
	unit_find(&size.unit, args[0]);
	unit_catch_signals();
	if (size.target == UINT64_MAX)
		err = unit_write(&size.unit, "memory.high", "max");
	else
		err = unit_write(&size.unit, "memory.high", "%llu", (unsigned long long)size.target);
	if (err)
		ctl_fail(CTL_PROBLEM, "%s: memory.high: %s", size.unit.name, strerror(-err));
	most = unit_number(size.unit.cgroup, "memory.max");
	if (most && most < size.target && most != UINT64_MAX)
		unit_warn("%s: its memory.max is %lluM, and it can't grow beyond that", size.unit.name,
			  UNIT_MIB(most));
	if (ctl.pull)
		pulled = unit_pull(&size.unit);
	size.now = unit_current(&size.unit);
	size_print(&size, pulled.end ? pulled.end : "");
	return CTL_OK;
}
