// SPDX-License-Identifier: GPL-2.0
/*
 * farswapctl shows and controls both halves of farswap on this machine: the kernel module, by
 * sysfs and debugfs, and farswapd, by its control socket.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "release.h"

/* The longest --timeout and --watch, seconds. */
#define CTL_SECONDS_MAX	86400

static unsigned int main_number(const char *option, const char *arg, unsigned long max,
				const char *unit)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || errno || !n || n > max)
		ctl_fail(CTL_UNKNOWN, "%s: invalid value '%s' (range 1-%lu %s)", option, arg, max,
			 unit);
	return n;
}

bool ctl_size(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno)
		return false;
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		unsigned int shift = 10 * (unsigned int)(suffix - suffixes + 1);

		if (*bytes > UINT64_MAX >> shift)
			return false;
		*bytes <<= shift;
		end++;
	}
	return !*end && *bytes;
}

static uint64_t main_size(const char *option, const char *arg)
{
	uint64_t bytes;

	if (!ctl_size(arg, &bytes))
		ctl_fail(CTL_UNKNOWN, "%s: invalid size '%s' (such as 256M or 1G)", option, arg);
	return bytes;
}

static unsigned int main_time(const char *option, const char *arg)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (*arg >= '0' && *arg <= '9' && !errno && n <= CTL_SECONDS_MAX) {
		if (*end == 'm' || *end == 'h')
			n *= *end == 'm' ? 60 : 3600;
		if (strchr("smh", *end) && *end)
			end++;
		if (!*end && n && n <= CTL_SECONDS_MAX)
			return n;
	}
	ctl_fail(CTL_UNKNOWN, "%s: invalid time '%s' (1s-24h, such as 90s or 10m)", option, arg);
}

static double main_percent(const char *option, const char *arg)
{
	double percent;
	char *end;

	percent = strtod(arg, &end);
	if (*arg < '0' || *arg > '9' || *end || percent > 100)
		ctl_fail(CTL_UNKNOWN, "%s: invalid value '%s' (range 0-100 percent, such as 0.5)", option,
			 arg);
	return percent;
}

const struct ctl_command *ctl_find_command(const char *name)
{
	unsigned int i;

	for (i = 0; i < ctl_commands_nr; i++)
		if (!strcmp(ctl_commands[i].name, name))
			return &ctl_commands[i];
	ctl_fail(CTL_UNKNOWN, "unknown command '%s'; farswapctl -h shows the commands", name);
}

void ctl_check_options(const struct ctl_command *command)
{
	static const char *const names[] = { "--timeout", "--watch", "--plain", "--http",
		"--output", "--leave", "--limit", "--psi", "--pull", "--rate", "--step", "--qmp",
		"--for", "--at" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (ctl.given & ~command->options & 1U << i)
			ctl_fail(CTL_UNKNOWN, "%s is not valid for %s", names[i], command->name);
}

/* Refuse options and arguments that the command does not have. */
static void main_check(const struct ctl_command *command, char **args, unsigned int nr)
{
	ctl_check_options(command);
	if (nr < command->args_min)
		ctl_fail(CTL_UNKNOWN, "%s: missing argument (%s)", command->name, command->args);
	if (nr > command->args_max)
		ctl_fail(CTL_UNKNOWN, "unexpected argument '%s'", args[command->args_max]);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "at", required_argument, NULL, 'A' },
		{ "for", required_argument, NULL, 'F' },
		{ "help", no_argument, NULL, 'h' },
		{ "http", no_argument, NULL, 'H' },
		{ "json", no_argument, NULL, 'j' },
		{ "leave", required_argument, NULL, 'L' },
		{ "limit", required_argument, NULL, 'l' },
		{ "output", required_argument, NULL, 'o' },
		{ "plain", no_argument, NULL, 'p' },
		{ "psi", required_argument, NULL, 'P' },
		{ "pull", no_argument, NULL, 'u' },
		{ "qmp", required_argument, NULL, 'Q' },
		{ "rate", required_argument, NULL, 'R' },
		{ "root", required_argument, NULL, 'r' },
		{ "step", required_argument, NULL, 'S' },
		{ "timeout", required_argument, NULL, 't' },
		{ "version", no_argument, NULL, 'V' },
		{ "watch", required_argument, NULL, 'w' },
		{ 0 }
	};
	const struct ctl_command *command;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hs:V", longopts, NULL)) != -1) {
		switch (opt) {
		case 'A':
			ctl.at = optarg;
			ctl.given |= CTL_AT;
			break;
		case 'F':
			ctl.for_s = main_time("--for", optarg);
			ctl.given |= CTL_FOR;
			break;
		case 'h':
			ctl_usage(stdout);
			return ctl_done(CTL_OK);
		case 'H':
			ctl.http = true;
			ctl.given |= CTL_HTTP;
			break;
		case 'j':
			ctl.json = true;
			break;
		case 'L':
			ctl.leave = main_size("--leave", optarg);
			ctl.given |= CTL_LEAVE;
			break;
		case 'l':
			ctl.limit = main_number("--limit", optarg, 1000000, "pages a second");
			ctl.given |= CTL_LIMIT;
			break;
		case 'o':
			ctl.output = optarg;
			ctl.given |= CTL_OUTPUT;
			break;
		case 'p':
			ctl.plain = true;
			ctl.given |= CTL_PLAIN;
			break;
		case 'P':
			ctl.psi = main_percent("--psi", optarg);
			ctl.given |= CTL_PSI;
			break;
		case 'Q':
			ctl.qmp = optarg;
			ctl.given |= CTL_QMP;
			break;
		case 'R':
			ctl.rate = main_number("--rate", optarg, 1000000, "MiB a second");
			ctl.given |= CTL_RATE;
			break;
		case 'r':
			ctl.root = optarg;
			break;
		case 'S':
			ctl.step = main_size("--step", optarg);
			ctl.given |= CTL_STEP;
			break;
		case 's':
			ctl.socket = optarg;
			break;
		case 't':
			ctl.timeout_s = main_number("--timeout", optarg, CTL_SECONDS_MAX, "seconds");
			ctl.given |= CTL_TIMEOUT;
			break;
		case 'u':
			ctl.pull = true;
			ctl.given |= CTL_PULL;
			break;
		case 'V':
			puts("farswapctl " FARSWAP_RELEASE);
			return ctl_done(CTL_OK);
		case 'w':
			ctl.watch_s = main_number("--watch", optarg, CTL_SECONDS_MAX, "seconds");
			ctl.given |= CTL_WATCH;
			break;
		case ':':
			ctl_fail(CTL_UNKNOWN, "option '%s' needs a value; farswapctl -h shows the options",
				 argv[optind - 1]);
		default:
			if (optopt)
				ctl_fail(CTL_UNKNOWN, "unknown option '-%c'; farswapctl -h shows the options",
					 optopt);
			ctl_fail(CTL_UNKNOWN, "unknown option '%s'; farswapctl -h shows the options",
				 argv[optind - 1]);
		}
	}
	if (optind == argc)
		ctl_fail(CTL_UNKNOWN, "missing command; farswapctl -h shows the commands");
	command = ctl_find_command(argv[optind++]);
	main_check(command, argv + optind, argc - optind);
	return ctl_done(command->run(argv + optind, argc - optind));
}
