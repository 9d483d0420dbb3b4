// SPDX-License-Identifier: GPL-2.0
/*
 * Sends a command to the farswapd of this machine and receives the reply.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "admin.h"
#include "ask.h"
#include "ctl.h"

#define ASK_TIMEOUT_S	20

static int ask_errno;

static const char *ask_path(void)
{
	return ctl.socket ? ctl.socket : ADMIN_PATH;
}

static int ask_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = ask_path();
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		ctl_fail(CTL_UNKNOWN, "%s: longer than %zu characters", path,
			 sizeof(addr.sun_path) - 1);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		ctl_fail(CTL_UNKNOWN, "cannot create a socket: %s", strerror(errno));
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	ask_errno = errno;
	close(fd);
	return -1;
}

bool ask_is_there(void)
{
	int fd = ctl.root ? -1 : ask_connect();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const char *ask_error(void)
{
	return strerror(ask_errno);
}

static void ask_read(int fd, void *buf, size_t len)
{
	ssize_t n = recv(fd, buf, len, MSG_WAITALL);

	if (n < 0 && errno == EAGAIN)
		ctl_fail(CTL_UNKNOWN, "no reply within %d seconds; try again", ASK_TIMEOUT_S);
	if (n < 0)
		ctl_fail(CTL_UNKNOWN, "no reply: %s", strerror(errno));
	if ((size_t)n < len)
		ctl_fail(CTL_UNKNOWN, "farswapd closed the connection without a reply");
}

int ask_send(unsigned int command, unsigned int format, uint64_t arg)
{
	struct admin_request request = {
		.magic = ADMIN_MAGIC,
		.version = ADMIN_VERSION,
		.command = command,
		.format = format,
		.arg = arg,
	};
	struct timeval timeout = { .tv_sec = ASK_TIMEOUT_S };
	int fd = ask_connect();

	if (fd < 0)
		ctl_fail(CTL_UNKNOWN, "%s: %s; is farswapd running, and are you root?", ask_path(),
			 strerror(ask_errno));
	/* farswapd bounds the time of long commands. */
	if (command != ADMIN_EVICT && command != ADMIN_DRAIN && command != ADMIN_INVITED)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
		ctl_fail(CTL_UNKNOWN, "cannot send to farswapd: %s", strerror(errno));
	return fd;
}

bool ask_wait(int fd, int ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, ms) != 0;
}

char *ask_receive(int fd)
{
	struct admin_reply reply;
	char *text;

	ask_read(fd, &reply, sizeof(reply));
	if (reply.magic != ADMIN_MAGIC || reply.bytes > ADMIN_TEXT_MAX)
		ctl_fail(CTL_UNKNOWN, "%s: not a farswapd", ask_path());
	if (reply.version != ADMIN_VERSION)
		ctl_fail(CTL_UNKNOWN, "farswapctl and farswapd have different versions; restart farswapd after an update");
	text = malloc((size_t)reply.bytes + 1);
	if (!text)
		ctl_fail(CTL_UNKNOWN, "out of memory");
	ask_read(fd, text, reply.bytes);
	text[reply.bytes] = '\0';
	close(fd);
	if (reply.error)
		ctl_fail(CTL_PROBLEM, "%s", text);
	return text;
}

char *ask(unsigned int command, unsigned int format, uint64_t arg)
{
	return ask_receive(ask_send(command, format, arg));
}
