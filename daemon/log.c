// SPDX-License-Identifier: GPL-2.0
/*
 * Log lines to stderr. Never waits for the reader: a line that does not fit into the
 * pipe is dropped.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define LOG_PEER_BURST		40
#define LOG_PEER_PER_SECOND	10

static struct {
	bool levels;
	/* Tokens of log_peer_ok(), and when the last were added. */
	unsigned int tokens;
	time_t filled;
	unsigned long suppressed;
} state = { .tokens = LOG_PEER_BURST };

void log_init(bool levels)
{
	state.levels = levels;
}

static void log_write(const char *line, size_t len)
{
	struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (send(STDERR_FILENO, line, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	    errno != ENOTSOCK)
		return;
	if (poll(&pfd, 1, 0) == 1 && write(STDERR_FILENO, line, len) < 0)
		return;
}

void log_print(enum log_level level, const char *fmt, ...)
{
	int saved_errno = errno;
	char line[512];
	size_t len = 0;
	va_list ap;
	int n;

	if (state.levels)
		len = snprintf(line, sizeof(line), "<%d>", level);
	len += snprintf(line + len, sizeof(line) - len, "farswapd: ");
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);
	if (n > 0)
		len += n;
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	log_write(line, len);
	errno = saved_errno;
}

bool log_peer_ok(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > state.filled) {
		time_t seconds = now.tv_sec - state.filled;

		if (seconds > LOG_PEER_BURST)
			seconds = LOG_PEER_BURST;
		state.tokens += seconds * LOG_PEER_PER_SECOND;
		if (state.tokens > LOG_PEER_BURST)
			state.tokens = LOG_PEER_BURST;
		state.filled = now.tv_sec;
		if (state.suppressed)
			log_info("%lu messages about clients suppressed", state.suppressed);
		state.suppressed = 0;
	}
	if (!state.tokens) {
		state.suppressed++;
		return false;
	}
	state.tokens--;
	return true;
}
