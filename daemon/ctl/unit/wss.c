// SPDX-License-Identifier: GPL-2.0
/*
 * Measures a unit's working set: makes it smaller in steps and notes how many pages it reads back
 * at each size, which is the curve of its misses. Its memory.high is restored at the end.
 */
#include <errno.h>
#include <string.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

#define WSS_SETTLE_S	30
#define WSS_REFAULTS	100
#define WSS_STEP_PART	20
#define WSS_PSI		10.0
#define WSS_POINTS	256

struct wss_point {
	uint64_t bytes;
	uint64_t refaults;	/* a second */
	uint64_t faults;
	double percent;
};

struct wss {
	struct unit unit;
	struct wss_point point[WSS_POINTS];
	unsigned int nr;
	const char *end;
};

static void wss_sleep(uint64_t until_us)
{
	while (action_now_us() < until_us && !unit_stopped())
		action_sleep_ms((until_us - action_now_us()) / 1000 + 1);
}

static void wss_measure(struct wss *wss, unsigned int seconds)
{
	struct wss_point *point = &wss->point[wss->nr++];
	uint64_t refaults = unit_stat(&wss->unit, "workingset_refault_anon");
	uint64_t faults = unit_stat(&wss->unit, "pgmajfault");
	struct unit_pressure pressure;

	(void)unit_pressure_begin(&pressure, &wss->unit);
	wss_sleep(pressure.at_us + seconds * 1000000ULL);
	point->refaults = (unit_stat(&wss->unit, "workingset_refault_anon") - refaults) / seconds;
	point->faults = (unit_stat(&wss->unit, "pgmajfault") - faults) / seconds;
	point->percent = unit_pressure(&pressure, 1);
	point->bytes = unit_current(&wss->unit);
	if (!ctl.json) {
		printf("%llu,%llu,%llu,%.2f\n", (unsigned long long)point->bytes,
		       (unsigned long long)point->refaults, (unsigned long long)point->faults,
		       point->percent);
		(void)fflush(stdout);
	}
}

/* Return true if the last point is the end of the curve. */
static bool wss_ends(struct wss *wss, uint64_t size)
{
	const struct wss_point *last = &wss->point[wss->nr - 1];

	if (unit_stopped())
		wss->end = "stopped by a signal";
	else if (last->refaults > (ctl.limit ? ctl.limit : WSS_REFAULTS))
		wss->end = "it reads back more pages a second than --limit allows";
	else if (last->percent > (ctl.psi >= 0 ? ctl.psi : WSS_PSI))
		wss->end = "its tasks wait longer for memory than --psi allows";
	else if (wss->nr == WSS_POINTS)
		wss->end = "there are enough points";
	else if (wss->nr > 2 && last->bytes > size + size / 4)
		wss->end = "it can't be made smaller";
	return wss->end;
}

static void wss_curve(struct wss *wss)
{
	unsigned int seconds = ctl.watch_s ? ctl.watch_s : WSS_SETTLE_S;
	uint64_t size = unit_current(&wss->unit);
	uint64_t step = ctl.step ? ctl.step : size / WSS_STEP_PART;

	step = step < 1 << 20 ? 1 << 20 : step;
	wss_measure(wss, seconds);
	while (!wss_ends(wss, size)) {
		if (size <= 2 * step) {
			wss->end = "nothing is left to take";
			break;
		}
		size -= step;
		/* The limit reclaims what is above it. */
		if (unit_write(&wss->unit, "memory.high", "%llu", (unsigned long long)size))
			ctl_fail(CTL_PROBLEM, "%s: memory.high can't be written; run farswapctl as root",
				 wss->unit.name);
		wss_measure(wss, seconds);
	}
}

/* The working set is the least size at which it read back next to nothing. */
static uint64_t wss_result(const struct wss *wss)
{
	uint64_t limit = ctl.limit ? ctl.limit : WSS_REFAULTS, least = wss->point[0].bytes;
	unsigned int i;

	for (i = 0; i < wss->nr && wss->point[i].refaults <= limit; i++)
		if (wss->point[i].bytes < least)
			least = wss->point[i].bytes;
	return least;
}

static void wss_json(const struct wss *wss)
{
	struct json json;
	unsigned int i;

	json_init(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "name", wss->unit.name);
	json_string(&json, "cgroup", wss->unit.cgroup);
	json_number(&json, "working_set_bytes", wss_result(wss));
	json_string(&json, "reason", wss->end);
	json_array(&json, "points");
	for (i = 0; i < wss->nr; i++) {
		json_object(&json, NULL);
		json_number(&json, "resident_bytes", wss->point[i].bytes);
		json_number(&json, "refaults_per_second", wss->point[i].refaults);
		json_number(&json, "faults_per_second", wss->point[i].faults);
		json_number(&json, "pressure_percent", (uint64_t)wss->point[i].percent);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
}

int cmd_wss(char **args, unsigned int nr)
{
	static struct wss wss;
	uint64_t high;
	int err;

	(void)nr;
	unit_find(&wss.unit, args[0]);
	unit_check_swap();
	unit_catch_signals();
	high = unit_number(wss.unit.cgroup, "memory.high");
	if (!ctl.json)
		puts("memory_bytes,refaults_per_second,faults_per_second,pressure_percent");
	wss_curve(&wss);
	if (high == UINT64_MAX)
		err = unit_write(&wss.unit, "memory.high", "max");
	else
		err = unit_write(&wss.unit, "memory.high", "%llu", (unsigned long long)high);
	if (err)
		ctl_fail(CTL_PROBLEM, "%s: memory.high can't be restored: %s", wss.unit.name,
			 strerror(-err));
	if (ctl.json)
		wss_json(&wss);
	else
		fprintf(stderr, "%s: its working set is %lluM; %s\n", wss.unit.name,
			UNIT_MIB(wss_result(&wss)), wss.end);
	return unit_stopped() ? CTL_PROBLEM : CTL_OK;
}
