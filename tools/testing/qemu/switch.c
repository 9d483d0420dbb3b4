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
 *
 * A guest's cable can be made bad, by datagrams to a second socket, whose name is
 * the first one's with ".control" after it:
 *
 *	NUMBER delay MS		what goes to the guest is that much later
 *	NUMBER lose PERCENT	of the frames to and from it, as if never sent
 *	NUMBER repeat MS	each RDMA READ and WRITE that it sends is delivered once more, that
 *				much later: a legal duplicate (IPv4 only)
 *
 * The number is the last byte of the guest's MAC address; a setting stays when the
 * guest restarts. The answer is "ok", or what is wrong. Frames that are delayed
 * stay in order. LATE bytes of them at a time are on their way to one guest, more
 * than soft RoCE has in flight; after that senders wait, so none is lost.
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
#define LATE		(8 * 1024 * 1024)
#define CABLES		256
/* Offsets in an Ethernet frame, of IPv4 without options, UDP and RoCE. */
#define IP_AT		14
#define UDP_AT		(IP_AT + 20)
#define BTH_AT		(UDP_AT + 8)
#define ROCE_PORT	4791
#define RC_WRITE_FIRST	0x06
#define RC_READ_REQUEST	0x0c

struct buffer {
	size_t start;
	size_t end;
	uint8_t bytes[BUFFER];
};

struct cable {
	unsigned int delay_ms;
	unsigned int lose_percent;
	unsigned int repeat_ms;
};

/* Frames that are on their way, each with when it arrives in front. */
struct line {
	size_t start;
	size_t end;
	uint64_t last;		/* when the last one arrives */
	uint8_t *bytes;		/* LATE of them; NULL: never needed yet */
};

struct port {
	int fd;			/* -1: free */
	uint8_t number;		/* which cable it is; 0: not known yet */
	bool blocked;		/* its next frame waits for room elsewhere */
	bool drawn;		/* its next frame is not to be lost */
	uint64_t moved;		/* when it last took anything, ms */
	struct line late;
	struct line again;	/* duplicates */
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
static struct cable cables[CABLES];

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

static bool line_is_empty(const struct line *line)
{
	return line->start == line->end;
}

/* When the first frame arrives. */
static uint64_t line_due(const struct line *line)
{
	uint64_t due;

	memcpy(&due, line->bytes + line->start, sizeof(due));
	return due;
}

static bool line_add(struct line *line, const uint8_t *frame, size_t len, uint64_t due)
{
	if (!line->bytes)
		line->bytes = malloc(LATE);
	if (!line->bytes)
		return false;
	if (line_is_empty(line))
		line->start = line->end = 0;
	if (LATE - line->end < sizeof(due) + len) {
		memmove(line->bytes, line->bytes + line->start, line->end - line->start);
		line->end -= line->start;
		line->start = 0;
	}
	if (LATE - line->end < sizeof(due) + len)
		return false;
	if (due < line->last)
		due = line->last;
	line->last = due;
	memcpy(line->bytes + line->end, &due, sizeof(due));
	memcpy(line->bytes + line->end + sizeof(due), frame, len);
	line->end += sizeof(due) + len;
	return true;
}

static bool cable_loses(const struct port *port)
{
	static uint64_t random = 0x9e3779b97f4a7c15;

	if (!cables[port->number].lose_percent)
		return false;
	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return random % 100 < cables[port->number].lose_percent;
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
	port->number = mac[5];
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
		memset(port, 0, offsetof(struct port, late));
		port->late.start = port->late.end = port->late.last = 0;
		port->again.start = port->again.end = port->again.last = 0;
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
static bool port_put(struct port *port, const uint8_t *frame, size_t len)
{
	if (!buffer_used(&port->out))
		port->moved = now_ms();
	if (buffer_add(&port->out, frame, len))
		return true;
	port_flush(port);
	return port->fd < 0 || buffer_add(&port->out, frame, len) || port_is_stalled(port);
}

/* The same, by way of its cable. */
static bool port_deliver(struct port *port, const uint8_t *frame, size_t len)
{
	unsigned int delay_ms = cables[port->number].delay_ms;

	if (!delay_ms && line_is_empty(&port->late))
		return port_put(port, frame, len);
	return line_add(&port->late, frame, len, now_ms() + delay_ms);
}

/* Packets that have arrived by now. */
static void port_arrive(struct port *port, struct line *line)
{
	while (port->fd >= 0 && !line_is_empty(line) && line_due(line) <= now_ms()) {
		uint8_t *frame = line->bytes + line->start + sizeof(uint64_t);
		uint32_t len;

		memcpy(&len, frame, PREFIX);
		len = PREFIX + ntohl(len);
		if (!port_put(port, frame, len))
			return;
		line->start += sizeof(uint64_t) + len;
	}
}

/* A request of RDMA READ or WRITE? */
static bool is_rdma(const uint8_t *ethernet, size_t len)
{
	const uint8_t *ip = ethernet + IP_AT, *udp = ethernet + UDP_AT;

	return len > BTH_AT && ethernet[12] == 0x08 && ethernet[13] == 0x00 && ip[0] == 0x45 &&
	       ip[9] == IPPROTO_UDP && (udp[2] << 8 | udp[3]) == ROCE_PORT &&
	       ethernet[BTH_AT] >= RC_WRITE_FIRST && ethernet[BTH_AT] <= RC_READ_REQUEST;
}

/* @frame has its length in front. Broadcasts never wait: some get it, some may not. */
static bool forward(struct port *from, const uint8_t *frame, size_t len)
{
	const uint8_t *ethernet = frame + PREFIX;
	struct station *to = ethernet[0] & 1 ? NULL : station_find(ethernet);

	station_learn(ethernet + 6, from);
	/* Once for each frame, however often it has to wait. */
	if (!from->drawn && (cable_loses(from) || (to && cable_loses(to->port))))
		return true;
	if (!from->drawn && to && cables[from->number].repeat_ms && is_rdma(ethernet, len - PREFIX))
		line_add(&to->port->again, frame, len, now_ms() + cables[from->number].repeat_ms);
	from->drawn = true;
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
		port->drawn = false;
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

static const char *cable_set(const char *request)
{
	unsigned int number, value;
	char word[8];

	if (sscanf(request, "%u %7s %u", &number, word, &value) != 3)
		return "not NUMBER delay|lose|repeat VALUE";
	if (!number || number >= CABLES)
		return "no such number";
	if (!strcmp(word, "delay") && value <= 10000)
		cables[number].delay_ms = value;
	else if (!strcmp(word, "lose") && value <= 100)
		cables[number].lose_percent = value;
	else if (!strcmp(word, "repeat") && value <= 10000)
		cables[number].repeat_ms = value;
	else
		return "not delay or repeat up to 10000, or lose up to 100";
	return "ok";
}

static void control(int fd)
{
	struct sockaddr_un from;
	socklen_t size = sizeof(from);
	const char *answer;
	char request[64];
	ssize_t n = recvfrom(fd, request, sizeof(request) - 1, MSG_DONTWAIT,
			     (struct sockaddr *)&from, &size);

	if (n < 0)
		return;
	request[n] = '\0';
	answer = cable_set(request);
	sendto(fd, answer, strlen(answer), MSG_DONTWAIT, (struct sockaddr *)&from, size);
}

static int bind_at(const char *path, const char *suffix, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s%s", path, suffix) >=
	    (int)sizeof(address.sun_path)) {
		fprintf(stderr, "switch: %s is too long\n", path);
		exit(1);
	}
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    (type == SOCK_STREAM && listen(fd, MAX_PORTS))) {
		perror(path);
		exit(1);
	}
	return fd;
}

/* @ms, or the milliseconds until the first frame arrives, if these are less; -1: for ever. */
static int line_patience(const struct line *line, int ms)
{
	uint64_t now = now_ms(), due;

	if (line_is_empty(line))
		return ms;
	due = line_due(line);
	due = due > now ? due - now : STALL_MS;
	return ms < 0 || due < (uint64_t)ms ? (int)due : ms;
}

/* Milliseconds until there is something to do beside what poll() tells. */
static int patience(void)
{
	int ms = -1;

	for (struct port *port = ports; port < ports + MAX_PORTS; port++) {
		if (port->fd < 0)
			continue;
		/* A blocked sender has to see that its receiver has stalled. */
		if (port->blocked && (ms < 0 || ms > STALL_MS))
			ms = STALL_MS;
		ms = line_patience(&port->late, ms);
		ms = line_patience(&port->again, ms);
	}
	return ms;
}

int main(int argc, char **argv)
{
	struct pollfd fds[MAX_PORTS + 2];
	int listener, controller;

	if (argc != 2) {
		fprintf(stderr, "usage: switch SOCKET\n");
		return 2;
	}
	for (int i = 0; i < MAX_PORTS; i++)
		ports[i].fd = -1;
	controller = bind_at(argv[1], ".control", SOCK_DGRAM);
	listener = bind_at(argv[1], "", SOCK_STREAM);

	for (;;) {
		for (int i = 0; i < MAX_PORTS; i++) {
			fds[i].fd = ports[i].fd;
			fds[i].events = (ports[i].blocked ? 0 : POLLIN) |
					(buffer_used(&ports[i].out) ? POLLOUT : 0);
			fds[i].revents = 0;
		}
		fds[MAX_PORTS] = (struct pollfd){ .fd = listener, .events = POLLIN };
		fds[MAX_PORTS + 1] = (struct pollfd){ .fd = controller, .events = POLLIN };
		if (poll(fds, MAX_PORTS + 2, patience()) < 0 && errno != EINTR)
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
			port_arrive(&ports[i], &ports[i].late);
			port_arrive(&ports[i], &ports[i].again);
			port_forward(&ports[i]);
		}
		for (int i = 0; i < MAX_PORTS; i++)
			port_flush(&ports[i]);
		if (fds[MAX_PORTS].revents)
			port_open(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
		if (fds[MAX_PORTS + 1].revents)
			control(controller);
	}
}
