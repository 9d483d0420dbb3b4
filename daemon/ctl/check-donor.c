// SPDX-License-Identifier: GPL-2.0
/*
 * Checks farswapd: why it does not run, or what keeps it from lending.
 */
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "ask.h"
#include "check.h"
#include "client.h"

#define DONOR_CONF	"/etc/farswapd.conf"
#define DONOR_ENABLED	"/etc/systemd/system/multi-user.target.wants/farswapd.service"

bool check_has_farswapd(void)
{
	return ask_is_there() || file_exists(DONOR_ENABLED) ||
	       (file_exists(DONOR_CONF) && !client_is_there());
}

/* Find the command for a message of farswapd. */
static const char *donor_cure(const char *why)
{
	static const struct {
		const char *part;
		const char *cure;
	} cures[] = {
		{ "auth is not set", "farswapctl key && systemctl restart farswapd" },
		{ "RLIMIT_MEMLOCK", "systemctl revert farswapd && systemctl restart farswapd" },
		{ "no RDMA", "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0 && systemctl restart farswapd" },
		{ "cannot listen", "rdma link; ip address; editor " DONOR_CONF },
		{ "in use by another farswapd", "systemctl restart farswapd" },
		{ DONOR_CONF, "editor " DONOR_CONF " && systemctl restart farswapd" },
		{ "memory", "editor " DONOR_CONF " && systemctl restart farswapd" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cures); i++)
		if (strstr(why, cures[i].part))
			return cures[i].cure;
	return "systemctl restart farswapd; journalctl -u farswapd";
}

static void donor_is_down(void)
{
	static const char *const test[] = { "farswapd", "-t", NULL };
	static const char *const journal[] = { "journalctl", "-u", "farswapd", "-t", "farswapd", "-n",
		"1", "-o", "cat", "--no-pager", NULL };
	char output[2048] = "";
	int status = ctl.root ? 0 : check_run(test, output, sizeof(output));

	if (!ctl.root && status <= 0 && check_run(journal, output, sizeof(output)))
		*output = '\0';
	output[strcspn(output, "\n")] = '\0';
	check_say(CHECK_FAIL, "farswapd", donor_cure(output), "farswapd is not running%s%s",
		  *output ? ": " : "", output);
}

void check_farswapd(void)
{
	uint64_t memory, free_bytes, held, broken;
	char *metrics;

	if (!ask_is_there()) {
		donor_is_down();
		return;
	}
	metrics = ask(ADMIN_METRICS, ADMIN_TEXT, 0);
	memory = file_number(metrics, "\nfarswapd_memory_bytes ") >> 20;
	free_bytes = file_number(metrics, "\nfarswapd_free_bytes ") >> 20;
	held = file_number(metrics, "\nfarswapd_held_bytes ") >> 20;
	broken = file_number(metrics, "\nfarswapd_regions{state=\"broken\"} ");
	if (file_number(metrics, "\nfarswapd_draining "))
		check_say(CHECK_WARN, "farswapd", "farswapctl undrain", "farswapd is drained and lends nothing");
	else if (!free_bytes && !held)
		check_say(CHECK_WARN, "farswapd", "free -m; editor " DONOR_CONF,
			  "farswapd can lend nothing of its %uM: this machine's programs need the memory (headroom)",
			  (unsigned int)memory);
	else
		check_say(CHECK_OK, "farswapd", NULL, "farswapd lends up to %uM, of which %uM are free",
			  (unsigned int)memory, (unsigned int)free_bytes);
	if (broken)
		check_say(CHECK_WARN, "farswapd", "systemctl restart farswapd",
			  "%u regions are broken: the adapter did not revoke their keys", (unsigned int)broken);
	free(metrics);
}
