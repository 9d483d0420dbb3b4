// SPDX-License-Identifier: GPL-2.0
/*
 * Compares and parses addresses of machines.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"

socklen_t address_size(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
		sizeof(struct sockaddr_in);
}

/* Return the bytes of the address and their number. */
static const uint8_t *address_bytes(const struct sockaddr *address, unsigned int *nr)
{
	if (address->sa_family == AF_INET6) {
		*nr = sizeof(struct in6_addr);
		return ((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr;
	}
	*nr = sizeof(struct in_addr);
	return (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr;
}

void address_name(const struct sockaddr *address, char name[ADDRESS_NAME_MAX])
{
	unsigned int nr;

	if (!inet_ntop(address->sa_family, address_bytes(address, &nr), name, ADDRESS_NAME_MAX))
		name[0] = '\0';
}

uint32_t address_hash(const struct sockaddr *address, uint32_t seed)
{
	uint32_t hash = 2166136261U ^ seed;	/* FNV-1a */
	const uint8_t *bytes;
	unsigned int nr, i;

	bytes = address_bytes(address, &nr);
	for (i = 0; i < nr; i++)
		hash = (hash ^ bytes[i]) * 16777619U;
	return hash ^ hash >> 16;
}

void address_copy(uint8_t bytes[16], const struct sockaddr *address)
{
	unsigned int nr;
	const uint8_t *from = address_bytes(address, &nr);

	memset(bytes, 0, 10);
	memset(bytes + 10, 0xff, 6);
	memcpy(bytes + 16 - nr, from, nr);
}

bool address_equal(const struct sockaddr *a, const struct sockaddr *b)
{
	unsigned int nr, nr_b;
	const uint8_t *bytes = address_bytes(a, &nr), *bytes_b = address_bytes(b, &nr_b);

	return a->sa_family == b->sa_family && !memcmp(bytes, bytes_b, nr);
}

bool address_in_range(const struct sockaddr *address, const struct address_range *range)
{
	const struct sockaddr *first = (const struct sockaddr *)&range->address;
	unsigned int nr, nr_first, whole = range->bits / 8, rest = range->bits % 8;
	const uint8_t *bytes = address_bytes(address, &nr);
	const uint8_t *bytes_first = address_bytes(first, &nr_first);

	if (address->sa_family != first->sa_family || memcmp(bytes, bytes_first, whole))
		return false;
	return !rest || !((bytes[whole] ^ bytes_first[whole]) >> (8 - rest));
}

bool address_parse_range(const char *text, struct address_range *range)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&range->address;
	struct sockaddr_in *in = (struct sockaddr_in *)&range->address;
	size_t len = strcspn(text, "/");
	unsigned long bits;
	unsigned int nr;
	char host[64], *end;

	memset(range, 0, sizeof(*range));
	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1)
		in6->sin6_family = AF_INET6;
	else if (inet_pton(AF_INET, host, &in->sin_addr) == 1)
		in->sin_family = AF_INET;
	else
		return false;
	address_bytes((struct sockaddr *)&range->address, &nr);
	range->bits = 8 * nr;
	if (!text[len])
		return true;
	if (!isdigit((unsigned char)text[len + 1]))
		return false;
	bits = strtoul(text + len + 1, &end, 10);
	if (*end || bits > range->bits)
		return false;
	range->bits = bits;
	return true;
}
