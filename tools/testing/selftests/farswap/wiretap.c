// SPDX-License-Identifier: GPL-2.0
/*
 * Looks for what must not be seen:
 *
 *	wiretap record INTERFACE FILE	copy all packets to a file, until killed
 *	wiretap count FILE HEX		print how often the file has these bytes
 *	wiretap keys			exit 0 if no key named farswap:self can be read
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PACKET_BYTES	65536
/* Control messages are short; pages are left out, or the file would fill the memory. */
#define KEPT_BYTES	1024

static int record(const char *interface, const char *path)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(interface),
	};
	static char packet[PACKET_BYTES];
	FILE *file = fopen(path, "w");
	int size = 16 << 20, fd;
	ssize_t len;

	fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	if (!file || fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		perror("wiretap");
		return 1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setbuf(file, NULL);
	puts("ready");
	fflush(stdout);
	while ((len = recv(fd, packet, sizeof(packet), 0)) >= 0)
		if (len <= KEPT_BYTES && fwrite(packet, len, 1, file) != 1)
			return 1;
	return 1;
}

static int digit(char c)
{
	return c > '9' ? c - 'a' + 10 : c - '0';
}

static int count(const char *path, const char *hex)
{
	unsigned char bytes[64];
	FILE *file = fopen(path, "r");
	size_t len, left;
	struct stat st;
	char *text, *at;
	unsigned int found = 0;

	for (len = 0; len < sizeof(bytes) && hex[2 * len]; len++)
		bytes[len] = digit(hex[2 * len]) << 4 | digit(hex[2 * len + 1]);
	if (!file || fstat(fileno(file), &st))
		return 1;
	text = malloc(st.st_size + 1);
	if (!text || fread(text, 1, st.st_size, file) != (size_t)st.st_size)
		return 1;
	left = st.st_size;
	for (at = text; (at = memmem(at, left, bytes, len)); at++) {
		found++;
		left = text + st.st_size - at - 1;
	}
	printf("%u\n", found);
	return 0;
}

static int read_keys(void)
{
	FILE *file = fopen("/proc/keys", "r");
	char line[256], secret[256];
	unsigned long number;
	int nr = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (!strstr(line, " farswap:self"))
			continue;
		number = strtoul(line, NULL, 16);
		nr++;
		printf("%s", line);
		if (syscall(SYS_keyctl, KEYCTL_READ, number, secret, sizeof(secret)) >= 0) {
			puts("can be read");
			return 1;
		}
		printf("cannot be read: %s\n", strerror(errno));
	}
	return !nr;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "record"))
		return record(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "count"))
		return count(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "keys"))
		return read_keys();
	fprintf(stderr, "usage: wiretap record INTERFACE FILE | count FILE HEX | keys\n");
	return 2;
}
