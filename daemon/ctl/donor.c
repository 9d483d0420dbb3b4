// SPDX-License-Identifier: GPL-2.0
/*
 * The commands to farswapd: evict, drain, undrain. While a drain runs, a terminal shows how
 * many regions are still lent.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin.h"
#include "ask.h"
#include "ctl.h"

#define DRAIN_LOOK_MS	250
#define DRAIN_BAR	40

static int donor_print(char *text)
{
	fputs(text, stdout);
	free(text);
	return CTL_OK;
}

static unsigned int donor_format(void)
{
	return ctl.json ? ADMIN_JSON : ADMIN_TEXT;
}

int cmd_evict(char **args, unsigned int nr)
{
	uint64_t count = ADMIN_EVICT_ALL;
	char *end;

	(void)nr;
	if (strcmp(args[0], "all") != 0) {
		errno = 0;
		count = strtoul(args[0], &end, 10);
		if (*args[0] < '0' || *args[0] > '9' || *end || errno || !count ||
		    count > UINT32_MAX)
			ctl_fail(CTL_UNKNOWN, "evict: invalid value '%s' (a number of regions from 1, or all)",
				 args[0]);
	}
	return donor_print(ask(ADMIN_EVICT, donor_format(), count));
}

static uint64_t donor_lent(void)
{
	char *metrics = ask(ADMIN_METRICS, ADMIN_TEXT, 0);
	uint64_t lent = file_number(metrics, "farswapd_regions{state=\"mapped\"} ") +
			file_number(metrics, "farswapd_regions{state=\"evict_wait\"} ") +
			file_number(metrics, "farswapd_regions{state=\"evicting\"} ");

	free(metrics);
	return lent;
}

static void donor_bar(uint64_t left, uint64_t all)
{
	int full = all ? (int)(DRAIN_BAR * (all - left) / all) : DRAIN_BAR;

	fprintf(stderr, "\r[%.*s%*s] %" PRIu64 " of %" PRIu64 " regions still lent ", full,
		"########################################", DRAIN_BAR - full, "", left, all);
}

int cmd_drain(char **args, unsigned int nr)
{
	bool bar = isatty(STDERR_FILENO) && !ctl.json;
	uint64_t left, all = bar ? donor_lent() : 0;
	int fd = ask_send(ADMIN_DRAIN, donor_format(), ctl.timeout_s);

	(void)args;
	(void)nr;
	while (bar && !ask_wait(fd, DRAIN_LOOK_MS)) {
		left = donor_lent();
		/* A client may have mapped a region just before. */
		if (left > all)
			all = left;
		donor_bar(left, all);
	}
	if (bar)
		fputs("\r\033[K", stderr);
	return donor_print(ask_receive(fd));
}

int cmd_undrain(char **args, unsigned int nr)
{
	(void)args;
	(void)nr;
	return donor_print(ask(ADMIN_UNDRAIN, donor_format(), 0));
}
