// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the checks: the parts of the machine, then the counters and the log.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "client.h"
#include "kmsg.h"

struct check_counter {
	const char *name;
	enum check_result result;	/* if it is not 0 */
	const char *cure;
};

static bool check_counter(const struct client_stats *stats, const struct check_counter *counter)
{
	const struct explain *explain = explain_find(counter->name);
	uint64_t value = client_stat(stats, counter->name);

	if (value)
		check_say(counter->result, "counters", counter->cure, "%s is %" PRIu64 ": %s",
			  counter->name, value, explain ? explain->text : "");
	return !value;
}

static void check_counters(void)
{
	static const struct check_counter counters[] = {
		{ "load_lost", CHECK_FAIL, "dmesg | grep farswap" },
		{ "lost", CHECK_FAIL, "echo disk >/sys/kernel/farswap/backup" },
		{ "backup_failed", CHECK_FAIL, "dmesg | grep -i 'write-error on swap'" },
		{ "store_device_failed", CHECK_FAIL, "dmesg | grep -i 'write-error on swap'" },
		{ "store_unreadable", CHECK_WARN, "dmesg | grep -i 'memory failure'" },
	};
	struct client_stats stats;
	unsigned int i;
	bool good = true;

	if (!client_read_stats(&stats)) {
		check_say(CHECK_FAIL, "counters", "mount -t debugfs none /sys/kernel/debug",
			  "the counters in " CLIENT_DEBUGFS " can't be read: %s", strerror(errno));
		return;
	}
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		good &= check_counter(&stats, &counters[i]);
	if (good)
		check_say(CHECK_OK, "counters", NULL, "no page was lost, no swap device failed");
	client_free_stats(&stats);
}

/* Tell when farswap last complained, so that an old complaint is not taken for a new one. */
static void check_log(void)
{
	const struct kmsg_line *line = kmsg_last("farswap", "");
	uint64_t age;

	if (!kmsg_can_read()) {
		check_say(CHECK_WARN, "log", "dmesg | grep farswap", "the kernel's log can't be read");
		return;
	}
	if (!line) {
		check_say(CHECK_OK, "log", NULL, "the kernel's log has no line about farswap");
		return;
	}
	age = kmsg_age_s(line);
	check_say(CHECK_OK, "log", NULL, "the last line about farswap is %" PRIu64 " %s old: %s",
		  age < 120 ? age : age / 60, age < 120 ? "s" : "min", line->text);
}

int cmd_check(char **args, unsigned int nr)
{
	/* A machine that only lends needs no module. */
	bool farswapd = check_has_farswapd();
	bool client = client_is_there() || !farswapd;

	(void)args;
	(void)nr;
	if (!ctl.root && geteuid())
		ctl_fail(CTL_UNKNOWN, "check: only root can read what it looks at; type: sudo farswapctl check");
	check_begin();
	if (client) {
		check_kernel();
		check_module();
		check_swap();
	}
	check_rdma();
	if (client && client_is_there()) {
		check_donors();
		check_counters();
		check_log();
	}
	if (farswapd)
		check_farswapd();
	return check_end();
}
