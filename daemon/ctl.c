// SPDX-License-Identifier: GPL-2.0
/*
 * farswapctl asks the farswapd of this machine. Prints what it answers; the
 * exit status is 0 if it did what it was asked.
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

#include "control.h"

#define CTL_TIMEOUT_S	20

static const char usage[] =
"Usage: farswapctl [-s SOCKET] COMMAND\n"
"Look at and steer the farswapd of this machine.\n"
"\n"
"  status     memory, regions, clients and counters\n"
"  metrics    the same in Prometheus's text format\n"
"  evict N    take the N least busy of some randomly picked regions back\n"
"  evict all  take all regions back\n"
"\n"
"  -s SOCKET  instead of " CONTROL_PATH "\n";

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
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		ctl_fail("no socket: %s", strerror(errno));
	/* An eviction's end is farswapd's to bound. */
	if (!may_take_long)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		ctl_fail("%s: %s; is farswapd running, and are you root?", path, strerror(errno));
	return fd;
}

static void ctl_read(int fd, void *buf, size_t len)
{
	ssize_t n = recv(fd, buf, len, MSG_WAITALL);

	if (n < 0)
		ctl_fail("no answer: %s", strerror(errno));
	if ((size_t)n < len)
		ctl_fail("farswapd closed the connection before it answered");
}

static void ctl_ask(const char *path, const struct control_request *request)
{
	int fd = ctl_connect(path, request->command == CONTROL_EVICT);
	struct control_reply reply;
	char *text;

	if (send(fd, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request))
		ctl_fail("cannot ask farswapd: %s", strerror(errno));
	ctl_read(fd, &reply, sizeof(reply));
	if (reply.magic != CONTROL_MAGIC || reply.version != CONTROL_VERSION ||
	    reply.bytes > CONTROL_TEXT_MAX)
		ctl_fail("%s: what answers is no farswapd of this version", path);
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

static uint64_t ctl_count(const char *arg)
{
	unsigned long n;
	char *end;

	if (arg && !strcmp(arg, "all"))
		return CONTROL_EVICT_ALL;
	errno = 0;
	n = arg && isdigit((unsigned char)*arg) ? strtoul(arg, &end, 10) : 0;
	if (!n || *end || errno)
		ctl_fail("evict what? A number of regions from 1, or all");
	return n;
}

int main(int argc, char **argv)
{
	struct control_request request = { .magic = CONTROL_MAGIC, .version = CONTROL_VERSION };
	const char *path = CONTROL_PATH, *command;
	int opt, args = 1;

	while ((opt = getopt(argc, argv, "hs:")) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		}
		if (opt != 's')
			ctl_fail("farswapctl -h shows the options");
		path = optarg;
	}
	command = optind < argc ? argv[optind++] : "";
	if (!strcmp(command, "status")) {
		request.command = CONTROL_STATUS;
	} else if (!strcmp(command, "metrics")) {
		request.command = CONTROL_METRICS;
	} else if (!strcmp(command, "evict")) {
		request.command = CONTROL_EVICT;
		request.arg = ctl_count(argv[optind]);
		args = 2;
	} else {
		ctl_fail("'%s' is no command: they are status, metrics and evict", command);
	}
	if (optind + args - 1 < argc)
		ctl_fail("'%s' is too much", argv[optind + args - 1]);
	ctl_ask(path, &request);
	return EXIT_SUCCESS;
}
