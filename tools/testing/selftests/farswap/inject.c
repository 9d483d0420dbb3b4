// SPDX-License-Identifier: GPL-2.0
/*
 * Puts one packet of its own on the network, in a connection of this machine's, as a machine on the
 * way could:
 *
 *	inject INTERFACE MODE [SECONDS]
 *
 * It listens for RDMA WRITEs of soft RoCE over IPv4, and when one connection has been idle for a
 * while sends another WRITE in it with the number that comes next:
 *
 *	key	with an rkey that is not valid
 *	page	to the place of the last one, with other contents
 *
 * Prints how the other side has answered. Exit status 0: with what the mode expects.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define IP		ETH_HLEN
#define UDP		(IP + 20)
#define BTH		(UDP + 8)
#define RETH		(BTH + 12)
#define PAYLOAD		(RETH + 16)
#define ICRC		4
#define ROCE_PORT	4791
#define IDLE_MS		400
#define ANSWER_MS	5000
/* Packets that may not have been heard, and attempts to find the number after them. */
#define TOO_OLD		4096
#define TRIES		5

#define WRITE_FIRST	0x06
#define WRITE_ONLY	0x0a
#define READ_REQUEST	0x0c
#define ACKNOWLEDGE	0x11
/* Answers: all is well, or a remote access error. */
#define ANSWER_MASK	0x60
#define ANSWER_ACCESS	0x62

static uint8_t last[9216];	/* a WRITE with its address */
static ssize_t last_bytes;
static uint32_t next_psn, last_dest;
static size_t mtu;

static uint32_t get24(const uint8_t *at)
{
	return (uint32_t)at[0] << 16 | at[1] << 8 | at[2];
}

static void put24(uint8_t *at, uint32_t value)
{
	at[0] = value >> 16;
	at[1] = value >> 8;
	at[2] = value;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint32_t crc(uint32_t sum, const uint8_t *data, size_t len)
{
	int bit;

	while (len--) {
		sum ^= *data++;
		for (bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
	}
	return sum;
}

/* The invariant checksum: what changes on the way counts as ones. */
static uint32_t icrc(const uint8_t *packet, size_t bytes)
{
	uint8_t head[RETH - IP];
	uint32_t sum;

	memcpy(head, packet + IP, sizeof(head));
	head[1] = 0xff;				/* type of service */
	head[8] = 0xff;				/* time to live */
	memset(head + 10, 0xff, 2);		/* checksum of IP */
	memset(head + UDP - IP + 6, 0xff, 2);	/* checksum of UDP */
	head[BTH - IP + 4] = 0xff;		/* congestion */
	sum = crc(~0U, (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	sum = crc(sum, head, sizeof(head));
	return ~crc(sum, packet + RETH, bytes - RETH - ICRC);
}

static bool is_roce(const uint8_t *packet, ssize_t bytes)
{
	return bytes >= RETH + ICRC && packet[12] == 0x08 && !packet[13] && packet[IP] == 0x45 &&
	       packet[IP + 9] == 17 && packet[UDP + 2] == ROCE_PORT >> 8 &&
	       packet[UDP + 3] == (ROCE_PORT & 0xff);
}

/* A packet that this machine sends: which number comes after it in its connection? */
static void sent(const uint8_t *packet, ssize_t bytes)
{
	uint32_t dest = get24(packet + BTH + 5), psn = get24(packet + BTH + 9), read;
	uint8_t opcode = packet[BTH];

	if (opcode == ACKNOWLEDGE)
		return;
	if (opcode == WRITE_FIRST || opcode == WRITE_ONLY) {
		memcpy(last, packet, bytes);
		last_bytes = bytes;
		last_dest = dest;
		if (opcode == WRITE_FIRST)
			mtu = bytes - PAYLOAD - ICRC;
	}
	if (!last_bytes || dest != last_dest)
		return;
	next_psn = psn + 1;
	if (opcode == READ_REQUEST && mtu) {
		read = (uint32_t)packet[RETH + 12] << 24 | get24(packet + RETH + 13);
		next_psn = psn + (read + mtu - 1) / mtu;
	}
}

/* Wait until the connection of the last WRITE is idle. */
static bool listen_in(int fd, int seconds)
{
	uint64_t end = now_ms() + 1000ULL * seconds, busy = now_ms();
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	static uint8_t packet[65536];
	struct sockaddr_ll from;

	while (now_ms() < end) {
		socklen_t len = sizeof(from);
		ssize_t bytes;

		if (last_bytes && now_ms() > busy + IDLE_MS)
			return true;
		if (poll(&wait, 1, IDLE_MS / 4) != 1)
			continue;
		bytes = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &len);
		if (from.sll_pkttype != PACKET_OUTGOING || !is_roce(packet, bytes) ||
		    bytes > (ssize_t)sizeof(last))
			continue;
		sent(packet, bytes);
		if (get24(packet + BTH + 5) == last_dest)
			busy = now_ms();
	}
	return false;
}

/* Give the packet this number. */
static void number(uint32_t psn)
{
	uint32_t sum;

	put24(last + BTH + 9, psn);
	sum = icrc(last, last_bytes);
	last[last_bytes - 4] = sum;
	last[last_bytes - 3] = sum >> 8;
	last[last_bytes - 2] = sum >> 16;
	last[last_bytes - 1] = sum >> 24;
}

/* The last WRITE again, to be another packet of its connection. */
static void forge(bool bad_key)
{
	uint32_t bytes = last_bytes - PAYLOAD - ICRC;

	last[BTH] = WRITE_ONLY;
	last[BTH + 8] |= 0x80;		/* wants an answer */
	last[RETH + 12] = bytes >> 24;
	put24(last + RETH + 13, bytes);
	if (bad_key)
		last[RETH + 11] ^= 0x5a;
	memset(last + PAYLOAD, 0xbd, bytes);
	memset(last + UDP + 6, 0, 2);	/* no checksum of UDP, which IPv4 allows */
}

/*
 * Return the answer to that packet, or -1. If the number was used, because packets were not heard,
 * the answer has the last one that was.
 */
static int wait_for_answer(int fd, bool *again)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	uint64_t end = now_ms() + ANSWER_MS;
	static uint8_t packet[65536];
	struct sockaddr_ll from;
	uint32_t number;

	*again = false;
	while (now_ms() < end) {
		socklen_t len = sizeof(from);
		ssize_t bytes;

		if (poll(&wait, 1, 100) != 1)
			continue;
		bytes = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &len);
		if (from.sll_pkttype == PACKET_OUTGOING || !is_roce(packet, bytes) ||
		    packet[BTH] != ACKNOWLEDGE)
			continue;
		number = get24(packet + BTH + 9);
		printf("an answer %#x to number %u\n", packet[RETH], number);
		if (number == next_psn)
			return packet[RETH];
		if (number > next_psn && number < next_psn + TOO_OLD) {
			next_psn = number + 1;
			*again = true;
			return -1;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	bool bad_key = argc > 2 && !strcmp(argv[2], "key");
	int fd, said, tries = 0, bytes = 16 << 20, seconds = argc > 3 ? atoi(argv[3]) : 60;
	bool again;
	uint32_t sum;

	if (argc < 3 || (!bad_key && strcmp(argv[2], "page") != 0)) {
		fputs("usage: inject INTERFACE key|page [SECONDS]\n", stderr);
		return 2;
	}
	fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	at.sll_ifindex = if_nametoindex(argv[1]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror("inject");
		return 1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	if (!listen_in(fd, seconds)) {
		puts("no connection was idle after a WRITE");
		return 1;
	}
	sum = icrc(last, last_bytes);
	printf("a WRITE of %zd bytes to queue pair %#x; its checksum is %s; next number %u\n",
	       last_bytes - PAYLOAD - ICRC, last_dest,
	       memcmp(&sum, last + last_bytes - ICRC, ICRC) ? "wrong" : "right",
	       next_psn & 0xffffff);
	forge(bad_key);
	do {
		number(next_psn &= 0xffffff);
		if (send(fd, last, last_bytes, 0) != last_bytes) {
			perror("send");
			return 1;
		}
		said = wait_for_answer(fd, &again);
	} while (again && tries++ < TRIES);
	printf("answer %#x\n", said);
	return said < 0 || (bad_key ? said != ANSWER_ACCESS : said & ANSWER_MASK);
}
