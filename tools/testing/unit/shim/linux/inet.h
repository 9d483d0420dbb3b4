/* SPDX-License-Identifier: GPL-2.0 */
#include <arpa/inet.h>
#include <net/if.h>
#include "../kernel.h"

/* A number as kstrtouint(..., 0, ...) reads it. */
static inline bool shim_number(const char *s, unsigned long max, unsigned long *number)
{
	char *end;

	s += *s == '+';
	*number = strtoul(s, &end, 0);
	return *s >= '0' && *s <= '9' && !*end && *number <= max;
}

/* As the kernel's, whose IPv4 addresses end at a colon too. */
static inline bool shim_ipv4(const char *src, unsigned long port, struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	char host[INET_ADDRSTRLEN] = "";
	size_t length = strcspn(src, ":");

	if (strlen(src) > INET_ADDRSTRLEN || length >= sizeof(host))
		return false;
	memcpy(host, src, length);
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	return inet_pton(AF_INET, host, &in->sin_addr) == 1;
}

static inline bool shim_ipv6(const char *src, unsigned long port, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	size_t length = strcspn(src, "%");
	char host[INET6_ADDRSTRLEN] = "";
	unsigned long scope = 0;

	if (length >= sizeof(host))
		return false;
	memcpy(host, src, length);
	if (src[length] && !shim_number(src + length + 1, U32_MAX, &scope)) {
		scope = if_nametoindex(src + length + 1);
		if (!scope)
			return false;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	in6->sin6_scope_id = scope;
	return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
}

struct net;

static inline int inet_pton_with_scope(struct net *net, int family, const char *src,
				       const char *port, struct sockaddr_storage *addr)
{
	unsigned long number;

	(void)net;
	if (!shim_number(port, 65535, &number))
		return -EINVAL;
	if (family != AF_INET6 && shim_ipv4(src, number, addr))
		return 0;
	return family != AF_INET && shim_ipv6(src, number, addr) ? 0 : -EINVAL;
}
