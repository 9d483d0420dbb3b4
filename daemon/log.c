// SPDX-License-Identifier: GPL-2.0
/*
 * Log lines to stderr. Never waits for the reader: a line that does not fit into the
 * pipe is dropped.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define LOG_LINE_MAX		512

/* Messages about one address, and those about all. */
#define LOG_PEER_BURST		40
#define LOG_PEER_PER_SECOND	10
#define LOG_ALL_BURST		400
#define LOG_ALL_PER_SECOND	100
/* Addresses are hashed: two that share a bucket share its messages. */
#define LOG_BUCKETS		64

/* Messages that may be printed, and when the last were added. */
struct log_bucket {
	unsigned int used;
	time_t drained;
};

static struct {
	bool levels;
	struct log_bucket all;
	struct log_bucket peers[LOG_BUCKETS];
	unsigned long suppressed;
	time_t told;			/* when the suppressed ones were last logged */
} state;

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

static void log_line(enum log_level level, const char *text)
{
	char line[LOG_LINE_MAX + 32];
	int len;

	if (state.levels)
		len = snprintf(line, sizeof(line), "<%d>farswapd: %s\n", level, text);
	else
		len = snprintf(line, sizeof(line), "farswapd: %s\n", text);
	if (len > 0)
		log_write(line, len);
}

void log_print(enum log_level level, const char *fmt, ...)
{
	int saved_errno = errno;
	char text[LOG_LINE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_line(level, text);
	errno = saved_errno;
}

static bool log_may(struct log_bucket *bucket, time_t now, unsigned int burst,
		    unsigned int per_second)
{
	uint64_t left = (uint64_t)(now - bucket->drained) * per_second;

	bucket->used = left < bucket->used ? bucket->used - left : 0;
	bucket->drained = now;
	return bucket->used < burst;
}

static struct log_bucket *log_bucket(const char *peer)
{
	const char *port = strrchr(peer, ':');
	size_t len = port ? (size_t)(port - peer) : strlen(peer), i;
	uint32_t hash = 2166136261U;	/* FNV-1a */

	for (i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)peer[i]) * 16777619U;
	return &state.peers[hash % LOG_BUCKETS];
}

static bool log_peer_ok(const char *peer)
{
	struct log_bucket *bucket = log_bucket(peer);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (state.suppressed && now.tv_sec > state.told) {
		state.told = now.tv_sec;
		log_info("%lu messages about clients suppressed", state.suppressed);
		state.suppressed = 0;
	}
	if (!log_may(bucket, now.tv_sec, LOG_PEER_BURST, LOG_PEER_PER_SECOND) ||
	    !log_may(&state.all, now.tv_sec, LOG_ALL_BURST, LOG_ALL_PER_SECOND)) {
		state.suppressed++;
		return false;
	}
	bucket->used++;
	state.all.used++;
	return true;
}

void log_peer(const char *peer, const char *fmt, ...)
{
	int saved_errno = errno;
	char text[LOG_LINE_MAX];
	va_list ap;
	int len;

	if (!log_peer_ok(peer))
		return;
	len = snprintf(text, sizeof(text), "%s: ", peer);
	if (len < 0 || len >= LOG_LINE_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
	log_line(LOG_LEVEL_INFO, text);
	errno = saved_errno;
}
