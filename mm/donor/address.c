// SPDX-License-Identifier: GPL-2.0
/*
 * The text form of a donor's address: "10.0.0.2", "10.0.0.2:9400", "fd00::2" or
 * "[fd00::2]:9400". Addresses are numeric; no name is resolved.
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

/* The scope of an IPv6 address is the name of an interface, after a percent sign. */
#define ADDRESS_BYTES	(INET6_ADDRSTRLEN + 1 + IFNAMSIZ + sizeof("[]:65535"))

/**
 * farswap_address_parse() - parse an address
 * @address:	the text
 * @sockaddr:	set to the address, with FARSWAP_TRANSPORT_PORT if @address has no port; all
 *		other bytes of it are zeroed
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
			/* An IPv4 parser would take the first colon as the end of the address. */
			family = AF_INET6;
		}
	}

	memset(sockaddr, 0, sizeof(*sockaddr));
	/* Reject port 0, and a leading 0, which would make the port octal or hexadecimal. */
	if (!isdigit(*port) || *port == '0' ||
	    inet_pton_with_scope(&init_net, family, host, port, sockaddr))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(farswap_address_parse);

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/address-kunit.h"
#endif
