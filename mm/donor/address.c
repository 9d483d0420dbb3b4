// SPDX-License-Identifier: GPL-2.0
/*
 * A donor's address as people write it: "10.0.0.2", "10.0.0.2:9400", "fd00::2"
 * or "[fd00::2]:9400". Numbers only; nothing is looked up.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/farswap-transport.h>
#include <linux/if.h>
#include <linux/inet.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <net/net_namespace.h>

/* A scope is an interface's name, after a percent sign. */
#define ADDRESS_BYTES	(INET6_ADDRSTRLEN + 1 + IFNAMSIZ + sizeof("[]:65535"))

/**
 * farswap_address_parse() - read an address
 * @address:	as written
 * @sockaddr:	as used; with FARSWAP_TRANSPORT_PORT unless it names a port; every
 *		other byte of it is zero
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int farswap_address_parse(const char *address, struct sockaddr_storage *sockaddr)
{
	const char *port = __stringify(FARSWAP_TRANSPORT_PORT);
	int family = AF_UNSPEC;
	char copy[ADDRESS_BYTES];
	char *host = copy;
	char *end;

	if (strscpy(copy, address, sizeof(copy)) < 0)
		return -EINVAL;

	if (*host == '[') {
		family = AF_INET6;
		end = strchr(++host, ']');
		if (!end)
			return -EINVAL;
		*end++ = '\0';
		if (*end == ':')
			port = end + 1;
		else if (*end)
			return -EINVAL;
	} else {
		end = strchr(host, ':');
		if (end && !strchr(end + 1, ':')) {
			family = AF_INET;
			*end = '\0';
			port = end + 1;
		} else if (end) {
			/* What reads IPv4 addresses takes a colon for their end. */
			family = AF_INET6;
		}
	}

	memset(sockaddr, 0, sizeof(*sockaddr));
	/* Neither port 0 nor, by a 0 before it, one in octal or hexadecimal. */
	if (!isdigit(*port) || *port == '0' ||
	    inet_pton_with_scope(&init_net, family, host, port, sockaddr))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(farswap_address_parse);

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/address-kunit.h"
#endif
