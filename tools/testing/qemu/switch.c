// SPDX-License-Identifier: GPL-2.0
/*
 * The guests' Ethernet: a learning switch for QEMU's "stream" network backend
 * on a unix socket. It loses nothing between guests that take what they are
 * sent: a sender waits while the receiver's queue is full. QEMU's own multicast
 * network drops whatever the host's socket buffers cannot hold, which soft RoCE
 * answers with long timeouts.
 *
 * A guest that has taken nothing for a while (paused, or its link is down) does
 * not hold the others up: what is for it is dropped, as on a real switch.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_PORTS	32
#define MAX_STATIONS	64
#define MAX_FRAME	(70 * 1024)
#define BUFFER		(256 * 1024)
#define PREFIX		4		/* the length, in network order */
#define STALL_MS	200

struct buffer {
	size_t start;
	size_t end;
	uint8_t bytes[BUFFER];
};

struct port {
	int fd;			/* -1: free */
	bool blocked;		/* its next frame waits for room elsewhere */
	uint64_t moved;		/* when it last took anything, ms */
	struct buffer in;
	struct buffer out;
};

struct station {
	uint8_t mac[6];
	struct port *port;
};

static struct port ports[MAX_PORTS];
static struct station stations[MAX_STATIONS];
static unsigned int next_station;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

static size_t buffer_used(const struct buffer *b)
{
	return b->end - b->start;
}

static void buffer_compact(struct buffer *b)
{
	memmove(b->bytes, b->bytes + b->start, buffer_used(b));
	b->end -= b->start;
	b->start = 0;
}

static bool buffer_add(struct buffer *b, const void *data, size_t len)
{
	if (sizeof(b->bytes) - buffer_used(b) < len)
		return false;
	if (sizeof(b->bytes) - b->end < len)
		buffer_compact(b);
	memcpy(b->bytes + b->end, data, len);
	b->end += len;
	return true;
}

static struct station *station_find(const uint8_t *mac)
{
	for (struct station *s = stations; s < stations + MAX_STATIONS; s++)
		if (s->port && !memcmp(s->mac, mac, sizeof(s->mac)))
			return s;
	return NULL;
}

static void station_learn(const uint8_t *mac, struct port *port)
{
	struct station *s = station_find(mac);

	if (!s) {
		s = &stations[next_station++ % MAX_STATIONS];
		memcpy(s->mac, mac, sizeof(s->mac));
	}
	s->port = port;
}

static void port_close(struct port *port)
{
	for (struct station *s = stations; s < stations + MAX_STATIONS; s++)
		if (s->port == port)
			s->port = NULL;
	close(port->fd);
	port->fd = -1;
}

static void port_open(int fd)
{
	for (struct port *port = ports; port < ports + MAX_PORTS; port++) {
		if (port->fd >= 0)
			continue;
		memset(port, 0, offsetof(struct port, in));
		port->in.start = port->in.end = 0;
		port->out.start = port->out.end = 0;
		port->fd = fd;
		port->moved = now_ms();
		return;
	}
	close(fd);
}

static void port_flush(struct port *port)
{
	while (port->fd >= 0 && buffer_used(&port->out)) {
		ssize_t n = send(port->fd, port->out.bytes + port->out.start,
				 buffer_used(&port->out), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			port_close(port);
		if (n <= 0)
			return;
		port->out.start += n;
		port->moved = now_ms();
	}
}

static bool port_is_stalled(const struct port *port)
{
	return buffer_used(&port->out) && now_ms() - port->moved > STALL_MS;
}

/* False: it has to wait. */
static bool port_deliver(struct port *port, const uint8_t *frame, size_t len)
{
	if (!buffer_used(&port->out))
		port->moved = now_ms();
	if (buffer_add(&port->out, frame, len))
		return true;
	port_flush(port);
	return port->fd < 0 || buffer_add(&port->out, frame, len) || port_is_stalled(port);
}

/* @frame has its length in front. Broadcasts never wait: some get it, some may not. */
static bool forward(struct port *from, const uint8_t *frame, size_t len)
{
	const uint8_t *ethernet = frame + PREFIX;
	struct station *to = ethernet[0] & 1 ? NULL : station_find(ethernet);

	station_learn(ethernet + 6, from);
	if (to)
		return to->port == from || port_deliver(to->port, frame, len);
	for (struct port *port = ports; port < ports + MAX_PORTS; port++)
		if (port != from && port->fd >= 0)
			port_deliver(port, frame, len);
	return true;
}

static void port_forward(struct port *port)
{
	struct buffer *in = &port->in;

	port->blocked = false;
	while (port->fd >= 0 && buffer_used(in) >= PREFIX) {
		uint32_t len;

		memcpy(&len, in->bytes + in->start, PREFIX);
		len = ntohl(len);
		if (len < 14 || len > MAX_FRAME) {
			fprintf(stderr, "switch: a frame of %u bytes\n", len);
			port_close(port);
			return;
		}
		if (buffer_used(in) < PREFIX + len)
			return;
		if (!forward(port, in->bytes + in->start, PREFIX + len)) {
			port->blocked = true;
			return;
		}
		in->start += PREFIX + len;
	}
}

static void port_read(struct port *port)
{
	struct buffer *in = &port->in;
	ssize_t n;

	if (in->start)
		buffer_compact(in);
	n = recv(port->fd, in->bytes + in->end, sizeof(in->bytes) - in->end, MSG_DONTWAIT);
	if (n > 0)
		in->end += n;
	else if (!n || (errno != EAGAIN && errno != EINTR))
		port_close(port);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path)) {
		fprintf(stderr, "switch: %s is too long\n", path);
		exit(1);
	}
	strcpy(address.sun_path, path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, MAX_PORTS)) {
		perror(path);
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	struct pollfd fds[MAX_PORTS + 1];
	bool blocked;
	int listener;

	if (argc != 2) {
		fprintf(stderr, "usage: switch SOCKET\n");
		return 2;
	}
	for (int i = 0; i < MAX_PORTS; i++)
		ports[i].fd = -1;
	listener = listen_at(argv[1]);

	for (;;) {
		blocked = false;
		for (int i = 0; i < MAX_PORTS; i++) {
			fds[i].fd = ports[i].fd;
			fds[i].events = (ports[i].blocked ? 0 : POLLIN) |
					(buffer_used(&ports[i].out) ? POLLOUT : 0);
			fds[i].revents = 0;
			blocked |= ports[i].fd >= 0 && ports[i].blocked;
		}
		fds[MAX_PORTS] = (struct pollfd){ .fd = listener, .events = POLLIN };
		/* A blocked sender has to see that its receiver has stalled. */
		if (poll(fds, MAX_PORTS + 1, blocked ? STALL_MS : -1) < 0 && errno != EINTR)
			return 1;

		for (int i = 0; i < MAX_PORTS; i++)
			if (ports[i].fd >= 0 && (fds[i].revents & POLLOUT))
				port_flush(&ports[i]);
		for (int i = 0; i < MAX_PORTS; i++) {
			if (ports[i].fd < 0)
				continue;
			if (ports[i].blocked && (fds[i].revents & (POLLHUP | POLLERR)))
				port_close(&ports[i]);
			else if (!ports[i].blocked && (fds[i].revents & ~POLLOUT))
				port_read(&ports[i]);
			port_forward(&ports[i]);
		}
		for (int i = 0; i < MAX_PORTS; i++)
			port_flush(&ports[i]);
		if (fds[MAX_PORTS].revents)
			port_open(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	}
}
