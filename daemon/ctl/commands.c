// SPDX-License-Identifier: GPL-2.0
/*
 * The table of the commands, and what is printed from it: the usage and the completion for
 * bash. A unit test compares it with the man page.
 */
#include <string.h>

#include "admin.h"
#include "ctl.h"

const struct ctl_command ctl_commands[] = {
	{ "status", "", "show both halves: donors, memory, regions, sessions", 0, 0, 0, cmd_status },
	{ "check", "", "find what is wrong on this machine, and say what to type", 0, 0, 0,
	  cmd_check },
	{ "donors", "[add ADDRESS...|remove ADDRESS...|sync]", "show this machine's donors, or change them",
	  0, 0, 65, cmd_donors },
	{ "slabs", "", "show the slabs of this machine's swap devices", 0, 0, 0, cmd_slabs },
	{ "stats", "[--watch SECONDS]", "show this machine's counters, or their growth", CTL_WATCH,
	  0, 0, cmd_stats },
	{ "top", "[--watch SECONDS]", "show throughput, latency and donors, until q is pressed",
	  CTL_WATCH, 0, 0, cmd_top },
	{ "bench", "[MIB]", "measure farswap with some memory of its own, 64 MiB by default", 0, 0, 1,
	  cmd_bench },
	{ "explain", "COUNTER|all", "say what a counter counts", 0, 1, 1, cmd_explain },
	{ "metrics", "[--plain] [--http|--output FILE]", "show metrics for Prometheus",
	  CTL_PLAIN | CTL_HTTP | CTL_OUTPUT, 0, 0, cmd_metrics },
	{ "evict", "N|all", "evict N regions of the clients that have most, the idle ones first, or all", 0,
	  1, 1, cmd_evict },
	{ "drain", "[--timeout SECONDS]", "stop lending, evict all regions, and wait for completion",
	  CTL_TIMEOUT, 0, 0, cmd_drain },
	{ "undrain", "", "resume lending", 0, 0, 0, cmd_undrain },
	{ "vm", "list|size|min|grow|pull|wss|hotplug [NAME] [SIZE]",
	  "show the virtual machines of this host, or do with one what the next commands do",
	  CTL_TIMEOUT | CTL_WATCH | CTL_LEAVE | CTL_LIMIT | CTL_PSI | CTL_PULL | CTL_RATE |
	  CTL_STEP | CTL_QMP,
	  1, 3, cmd_vm },
	{ "shrink", "UNIT SIZE|min", "page out memory of a unit, and keep it at that size",
	  CTL_TIMEOUT | CTL_PSI | CTL_STEP, 2, 2, cmd_shrink },
	{ "grow", "UNIT SIZE|max", "let a unit grow; with --pull read back what is swapped of it",
	  CTL_LEAVE | CTL_PULL | CTL_RATE, 2, 2, cmd_grow },
	{ "pull", "UNIT", "read back what is swapped of a unit", CTL_LEAVE | CTL_RATE, 1, 1, cmd_pull },
	{ "wss", "UNIT", "measure a unit's working set by making it smaller for a while",
	  CTL_WATCH | CTL_LIMIT | CTL_PSI | CTL_STEP, 1, 1, cmd_wss },
	{ "keep", "UNIT", "page out of a unit what it does not miss, until a signal ends that",
	  CTL_WATCH | CTL_PSI, 1, 1, cmd_keep },
	{ "advise", "UNIT", "measure how much of a unit's memory is not accessed", CTL_WATCH, 1, 1,
	  cmd_advise },
	{ "hotplug", "NAME SIZE", "give a virtual machine more memory", CTL_QMP, 2, 2, cmd_hotplug },
	{ "cgroup", "show|set PATH KEY=VALUE...|-",
	  "show the policies of cgroups, or set one and keep it over reboots", 0, 1, 6, cmd_cgroup },
	{ "key", "[next|commit]", "make this machine's key if it has none, and print its public key",
	  0, 0, 1, cmd_key },
	{ "allow", "NAME KEY [WORD...]", "let the client with this key borrow memory", 0, 2, 8,
	  cmd_allow },
	{ "deny", "NAME [KEY]", "end the sessions of a client, and refuse others", 0, 1, 2,
	  cmd_deny },
	{ "invite", "NAME [WORD...] [--for TIME] [--at ADDRESS]",
	  "print a code with which a client joins, and wait until it has", CTL_FOR | CTL_AT, 1, 7,
	  cmd_invite },
	{ "join", "[CODE]", "use a donor's code: the donor allows this machine, which swaps to it", 0,
	  0, 1, cmd_join },
};

const unsigned int ctl_commands_nr = ARRAY_SIZE(ctl_commands);

void ctl_usage(FILE *out)
{
	unsigned int i;

	fputs("Usage: farswapctl [OPTION...] COMMAND\n"
	      "Inspect and control farswap on this machine: the kernel module that swaps to donors,\n"
	      "and farswapd, which lends memory.\n\n", out);
	for (i = 0; i < ctl_commands_nr; i++)
		fprintf(out, "  %s%s%s\n        %s\n", ctl_commands[i].name,
			*ctl_commands[i].args ? " " : "", ctl_commands[i].args,
			ctl_commands[i].help);
	fputs("\n"
	      "A UNIT is a virtual machine, a systemd unit, the path of a cgroup, or a PID.\n"
	      "\n"
	      "  --at ADDRESS\n"
	      "              invite: the address in the code, with a port unless it is 9400\n"
	      "  --for TIME  invite: how long the code is valid, such as 90s or 10m, the default\n"
	      "  --json      print JSON\n"
	      "  --leave SIZE\n"
	      "              pull, grow: stop when less memory is available than that\n"
	      "  --limit N   wss: end when it reads back N pages a second\n"
	      "  --output FILE\n"
	      "              metrics: write them to FILE, which always has all of them\n"
	      "  --plain     metrics: Prometheus's text format in place of OpenMetrics\n"
	      "  --http      metrics: answer an HTTP request on standard input\n"
	      "  --psi PERCENT\n"
	      "              shrink, wss, keep: how long its tasks may wait for memory\n"
	      "  --pull      grow: then do what pull does\n"
	      "  --qmp PATH  hotplug: the machine's QMP socket\n"
	      "  --rate MIB  pull, grow: MiB a second\n"
	      "  --root DIR  read the files below DIR, a copy of a machine's /sys and /proc\n"
	      "  --step SIZE shrink, wss: how much of it to page out at a time\n"
	      "  --timeout SECONDS\n"
	      "              drain: limit of the wait; the drain itself continues; shrink: end then\n"
	      "  --watch SECONDS\n"
	      "              stats: show the growth in every interval; top, wss, keep, advise: length\n"
	      "              of it\n"
	      "  -s SOCKET   farswapd's control socket (default " ADMIN_PATH ")\n"
	      "  -V          print the version and exit\n"
	      "  -h          print this and exit\n"
	      "\n"
	      "Exit status: 0 success; 1 the command failed, or check found a problem; 2 invalid\n"
	      "usage, or the answer can't be known.\n", out);
}

/* Print the words of a command's arguments; those in capitals stand for something else. */
static void completion_words(FILE *out, const char *args)
{
	static const char lower[] = "-abcdefghijklmnopqrstuvwxyz";
	size_t len;

	for (; *args; args += len) {
		len = strspn(args, lower);
		if (len)
			fprintf(out, " %.*s", (int)len, args);
		else
			len = 1;
	}
}

void ctl_completion(FILE *out)
{
	unsigned int i;

	fputs("# SPDX-License-Identifier: GPL-2.0\n"
	      "# shellcheck shell=bash disable=SC2207\n"
	      "# Completion for farswapctl, printed from its table of commands.\n"
	      "_farswapctl() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words\n"
	      "\tcase $before in\n", out);
	for (i = 0; i < ctl_commands_nr; i++) {
		if (!*ctl_commands[i].args)
			continue;
		fprintf(out, "\t%s) words=\"", ctl_commands[i].name);
		completion_words(out, ctl_commands[i].args);
		if (strstr(ctl_commands[i].args, "COUNTER"))
			fputs(" $(farswapctl explain all 2>/dev/null | cut -d: -f1)", out);
		if (strstr(ctl_commands[i].args, "UNIT"))
			fputs(" $(systemctl list-units --plain --no-legend 2>/dev/null | cut -d' ' -f1)",
			      out);
		fputs("\" ;;\n", out);
	}
	fputs("\t-s | --root)\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n"
	      "\t\treturn\n"
	      "\t\t;;\n"
	      "\t*) words=\"", out);
	for (i = 0; i < ctl_commands_nr; i++)
		fprintf(out, "%s ", ctl_commands[i].name);
	fputs("--json --root -s -V -h\" ;;\n"
	      "\tesac\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	      "}\n"
	      "complete -F _farswapctl farswapctl\n", out);
}
