// SPDX-License-Identifier: GPL-2.0
/*
 * farswapctl sends a command to the farswapd of this machine and prints the reply. The
 * exit status is 0 if the command succeeded.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "admin.h"

#ifndef FARSWAP_RELEASE
#define FARSWAP_RELEASE	"unreleased"
#endif

#define CTL_TIMEOUT_S	20

static const char usage[] =
"Usage: farswapctl [-s SOCKET] COMMAND\n"
"Inspect and control the farswapd of this machine.\n"
"\n"
"  status     show memory, regions, clients and counters\n"
"  metrics    show the same in Prometheus's text format\n"
"  evict N    evict the N least active of a random choice of regions\n"
"  evict all  evict all regions\n"
"  drain      stop lending, evict all regions, and wait for completion\n"
"  undrain    resume lending\n"
"\n"
"  -h         print this and exit\n"
"  -s SOCKET  control socket (default " ADMIN_PATH ")\n"
"  -V         print the version and exit\n"
"  --timeout SECONDS\n"
"             for drain: limit of the wait; the drain itself continues\n";

static const struct {
	const char *name;
	enum admin_command command;
} commands[] = {
	{ "status", ADMIN_STATUS },
	{ "metrics", ADMIN_METRICS },
	{ "evict", ADMIN_EVICT },
	{ "drain", ADMIN_DRAIN },
	{ "undrain", ADMIN_UNDRAIN },
};

__attribute__((format(printf, 1, 2), noreturn))
static void ctl_fail(const char *fmt, ...)
{
	va_list ap;

	fputs("farswapctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

static int ctl_connect(const char *path, bool may_take_long)
{
	struct timeval timeout = { .tv_sec = CTL_TIMEOUT_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		ctl_fail("%s: longer than %zu characters", path, sizeof(addr.sun_path) - 1);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		ctl_fail("cannot create a socket: %s", strerror(errno));
	/* farswapd bounds the time of long commands. */
	if (!may_take_long)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		ctl_fail("%s: %s; is farswapd running, and are you root?", path, strerror(errno));
	return fd;
}

static void ctl_read(int fd, void *buf, size_t len)
{
	ssize_t n = recv(fd, buf, len, MSG_WAITALL);

	if (n < 0 && errno == EAGAIN)
		ctl_fail("no reply within %d seconds; try again", CTL_TIMEOUT_S);
	if (n < 0)
		ctl_fail("no reply: %s", strerror(errno));
	if ((size_t)n < len)
		ctl_fail("farswapd closed the connection without a reply");
}

static void ctl_ask(const char *path, const struct admin_request *request)
{
	int fd = ctl_connect(path, request->command == ADMIN_EVICT ||
				   request->command == ADMIN_DRAIN);
	struct admin_reply reply;
	char *text;

	if (send(fd, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request))
		ctl_fail("cannot send to farswapd: %s", strerror(errno));
	ctl_read(fd, &reply, sizeof(reply));
	if (reply.magic != ADMIN_MAGIC || reply.version != ADMIN_VERSION ||
	    reply.bytes > ADMIN_TEXT_MAX)
		ctl_fail("%s: not a farswapd of this version", path);
	text = malloc(reply.bytes + 1);
	if (!text)
		ctl_fail("out of memory");
	ctl_read(fd, text, reply.bytes);
	text[reply.bytes] = '\0';
	if (reply.error)
		ctl_fail("%s", text);
	fputs(text, stdout);
	if (fflush(stdout))
		ctl_fail("cannot write: %s", strerror(errno));
	free(text);
	close(fd);
}

/* Parse a number from 1 to @max. Return 0 if it is invalid. */
static uint64_t ctl_number(const char *arg, uint64_t max)
{
	unsigned long n;
	char *end;

	if (!arg || !isdigit((unsigned char)*arg))
		return 0;
	errno = 0;
	n = strtoul(arg, &end, 10);
	return *end || errno || n > max ? 0 : n;
}

static uint64_t ctl_count(const char *arg)
{
	uint64_t n = ctl_number(arg, UINT32_MAX);

	if (arg && !strcmp(arg, "all"))
		return ADMIN_EVICT_ALL;
	if (!n)
		ctl_fail("evict: invalid value '%s' (a number of regions from 1, or all)", arg ?: "");
	return n;
}

static enum admin_command ctl_command(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].command;
	ctl_fail("unknown command '%s' (commands: status, metrics, evict, drain, undrain)", name);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "timeout", required_argument, NULL, 't' },
		{ 0 }
	};
	struct admin_request request = { .magic = ADMIN_MAGIC, .version = ADMIN_VERSION };
	const char *path = ADMIN_PATH, *timeout = NULL;
	int opt, args = 1;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hs:V", longopts, NULL)) != -1) {
		switch (opt) {
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		case 'V':
			printf("farswapctl %s\n", FARSWAP_RELEASE);
			return EXIT_SUCCESS;
		case 's':
			path = optarg;
			break;
		case 't':
			timeout = optarg;
			break;
		case ':':
			ctl_fail("option '%s' needs a value; farswapctl -h shows the options",
				 argv[optind - 1]);
		default:
			if (optopt)
				ctl_fail("unknown option '-%c'; farswapctl -h shows the options", optopt);
			ctl_fail("unknown option '%s'; farswapctl -h shows the options",
				 argv[optind - 1]);
		}
	}
	if (optind == argc)
		ctl_fail("missing command; farswapctl -h shows the commands");
	request.command = ctl_command(argv[optind++]);
	if (timeout && request.command != ADMIN_DRAIN)
		ctl_fail("--timeout is valid for drain only");
	if (timeout)
		request.arg = ctl_number(timeout, ADMIN_DRAIN_S_MAX);
	if (timeout && !request.arg)
		ctl_fail("--timeout: invalid value '%s' (range 1-%d seconds)",
			 timeout, ADMIN_DRAIN_S_MAX);
	if (request.command == ADMIN_EVICT) {
		request.arg = ctl_count(argv[optind]);
		args = 2;
	}
	if (optind + args - 1 < argc)
		ctl_fail("unexpected argument '%s'", argv[optind + args - 1]);
	ctl_ask(path, &request);
	return EXIT_SUCCESS;
}
