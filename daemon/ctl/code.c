// SPDX-License-Identifier: GPL-2.0
/*
 * The code of an invitation: where the donor is, its public key, and a secret. It is one word, so
 * that it is copied whole.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "ctl.h"
#include "donors.h"
#include "resolve.h"

#define CODE_RDMA	"/sys/class/infiniband"

static bool code_socket(struct code *code)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&code->socket;
	struct sockaddr_in *in = (struct sockaddr_in *)&code->socket;
	char copy[CODE_ADDRESS], *host, *digits, *end = NULL;
	unsigned long port = RESOLVE_PORT;

	snprintf(copy, sizeof(copy), "%s", code->address);
	digits = donors_split(copy, &host);
	if (digits)
		port = strtoul(digits, &end, 10);
	if (digits && (*digits < '0' || *digits > '9' || *end || !port || port > 65535))
		return false;
	memset(&code->socket, 0, sizeof(code->socket));
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return true;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
}

bool code_parse(struct code *code, const char *text)
{
	const char *address = text + strlen(CODE_PREFIX), *key, *secret;

	memset(code, 0, sizeof(*code));
	if (strncmp(text, CODE_PREFIX, strlen(CODE_PREFIX)) != 0)
		return false;
	key = strchr(address, '#');
	secret = key ? strchr(key + 1, '#') : NULL;
	if (!secret || key - address >= CODE_ADDRESS ||
	    secret - key - 1 != FARSWAP_NOISE_TEXT_CHARS)
		return false;
	memcpy(code->address, address, key - address);
	memcpy(code->key, key + 1, FARSWAP_NOISE_TEXT_CHARS);
	return code_socket(code) &&
	       !farswap_noise_parse(code->donor, code->key, FARSWAP_NOISE_TEXT_CHARS) &&
	       !farswap_noise_parse(code->secret, secret + 1, strlen(secret + 1));
}

/* Write an address, and its port unless that is the usual one. */
static void code_address(char address[CODE_ADDRESS], const char *host, unsigned int port)
{
	if (port == RESOLVE_PORT)
		snprintf(address, CODE_ADDRESS, "%s", host);
	else
		snprintf(address, CODE_ADDRESS, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
}

/* Read an address from a line of a device's table, if others can use it. */
static bool code_gid(const char *device, unsigned int line, char host[INET6_ADDRSTRLEN])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct in6_addr gid;
	char path[320], text[INET6_ADDRSTRLEN];

	snprintf(path, sizeof(path), CODE_RDMA "/%.64s/ports/1/gids/%u", device, line);
	if (!file_line(path, text, sizeof(text)) || inet_pton(AF_INET6, text, &gid) != 1 ||
	    IN6_IS_ADDR_UNSPECIFIED(&gid) || IN6_IS_ADDR_LINKLOCAL(&gid))
		return false;
	if (!memcmp(&gid, mapped, sizeof(mapped)))
		return inet_ntop(AF_INET, &gid.s6_addr[12], host, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, &gid, host, INET6_ADDRSTRLEN);
}

/* Find the first address of an RDMA device; one of IPv4, if there is one. */
static bool code_find(char host[INET6_ADDRSTRLEN])
{
	char path[320], other[INET6_ADDRSTRLEN];
	const struct dirent *device;
	bool found = false;
	unsigned int line;
	DIR *devices;

	file_path(path, sizeof(path), CODE_RDMA);
	devices = opendir(path);
	while (devices && (device = readdir(devices))) {
		for (line = 0; line < 16; line++) {
			if (*device->d_name == '.' || !code_gid(device->d_name, line, other) ||
			    (found && strchr(other, ':')) || (found && !strchr(host, ':')))
				continue;
			snprintf(host, INET6_ADDRSTRLEN, "%s", other);
			found = true;
		}
	}
	if (devices)
		closedir(devices);
	return found;
}

bool code_own_address(char address[CODE_ADDRESS], const struct sockaddr *listen)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)listen;
	const struct sockaddr_in *in = (const struct sockaddr_in *)listen;
	char host[INET6_ADDRSTRLEN];
	bool is_set;

	/* The port is at the same place in both. */
	if (listen->sa_family == AF_INET) {
		is_set = in->sin_addr.s_addr != htonl(INADDR_ANY);
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
	} else {
		is_set = !IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
	}
	if (!is_set && !code_find(host))
		return false;
	code_address(address, host, ntohs(in->sin_port));
	return true;
}
