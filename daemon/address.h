/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses of machines, without ports.
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A range of addresses: one address, or all that begin with the same bits. */
struct address_range {
	struct sockaddr_storage address;
	unsigned int bits;
};

#define ADDRESS_NAME_MAX	48

void address_name(const struct sockaddr *address, char name[ADDRESS_NAME_MAX]);
socklen_t address_size(const struct sockaddr *address);
uint32_t address_hash(const struct sockaddr *address, uint32_t seed);
/* Copy the address into 16 bytes, an IPv4 address in the form ::ffff:10.0.0.1. */
void address_copy(uint8_t bytes[16], const struct sockaddr *address);
bool address_equal(const struct sockaddr *a, const struct sockaddr *b);
/* Parse ADDRESS or ADDRESS/BITS. Return false if it is neither. */
bool address_parse_range(const char *text, struct address_range *range);
bool address_in_range(const struct sockaddr *address, const struct address_range *range);

#endif
