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

static unsigned int main_seconds(const char *option, const char *arg)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || errno || !n || n > CTL_SECONDS_MAX)
		ctl_fail(CTL_UNKNOWN, "%s: invalid value '%s' (range 1-%d seconds)", option, arg,
			 CTL_SECONDS_MAX);
	return n;
}

static const struct ctl_command *main_command(const char *name)
{
	unsigned int i;

	for (i = 0; i < ctl_commands_nr; i++)
		if (!strcmp(ctl_commands[i].name, name))
			return &ctl_commands[i];
	ctl_fail(CTL_UNKNOWN, "unknown command '%s'; farswapctl -h shows the commands", name);
}

/* Refuse options and arguments that the command does not have. */
static void main_check(const struct ctl_command *command, unsigned int given, char **args,
		       unsigned int nr)
{
	static const char *const names[] = { "--timeout", "--watch", "--plain", "--http",
		"--output" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (given & ~command->options & 1U << i)
			ctl_fail(CTL_UNKNOWN, "%s is not valid for %s", names[i], command->name);
	if (nr < command->args_min)
		ctl_fail(CTL_UNKNOWN, "%s: missing argument (%s)", command->name, command->args);
	if (nr > command->args_max)
		ctl_fail(CTL_UNKNOWN, "unexpected argument '%s'", args[command->args_max]);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "http", no_argument, NULL, 'H' },
		{ "json", no_argument, NULL, 'j' },
		{ "output", required_argument, NULL, 'o' },
		{ "plain", no_argument, NULL, 'p' },
		{ "root", required_argument, NULL, 'r' },
		{ "timeout", required_argument, NULL, 't' },
		{ "version", no_argument, NULL, 'V' },
		{ "watch", required_argument, NULL, 'w' },
		{ 0 }
	};
	const struct ctl_command *command;
	unsigned int given = 0;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hs:V", longopts, NULL)) != -1) {
		switch (opt) {
		case 'h':
			ctl_usage(stdout);
			return ctl_done(CTL_OK);
		case 'H':
			ctl.http = true;
			given |= CTL_HTTP;
			break;
		case 'j':
			ctl.json = true;
			break;
		case 'o':
			ctl.output = optarg;
			given |= CTL_OUTPUT;
			break;
		case 'p':
			ctl.plain = true;
			given |= CTL_PLAIN;
			break;
		case 'r':
			ctl.root = optarg;
			break;
		case 's':
			ctl.socket = optarg;
			break;
		case 't':
			ctl.timeout_s = main_seconds("--timeout", optarg);
			given |= CTL_TIMEOUT;
			break;
		case 'V':
			puts("farswapctl " FARSWAP_RELEASE);
			return ctl_done(CTL_OK);
		case 'w':
			ctl.watch_s = main_seconds("--watch", optarg);
			given |= CTL_WATCH;
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
	command = main_command(argv[optind++]);
	main_check(command, given, argv + optind, argc - optind);
	return ctl_done(command->run(argv + optind, argc - optind));
}
