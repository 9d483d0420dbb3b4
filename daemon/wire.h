/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire as user space sees it: the gate that every received byte passes,
 * and helpers that build messages. What the fields mean is in
 * <linux/farswap.h>.
 */
#ifndef WIRE_H
#define WIRE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/farswap.h>

enum wire_direction {
	WIRE_TO_DONOR = 1,
	WIRE_TO_CLIENT = 2,
};

enum wire_error {
	WIRE_OK,
	WIRE_SHORT,		/* shorter than its type is */
	WIRE_LONG,		/* longer than its type is */
	WIRE_MAGIC,
	WIRE_VERSION,
	WIRE_TYPE,		/* no such message */
	WIRE_DIRECTION,		/* not for this side */
	WIRE_LENGTH,		/* the header's length is not the message's */
	WIRE_RESERVED,		/* something that has to be zero is not */
	WIRE_RANGE,		/* a field out of its range */
	WIRE_ERRORS
};

/* What a log says of those that don't agree: the other's, FARSWAP_VERSION. */
#define WIRE_VERSIONS \
	"it speaks version %u of the protocol, this farswapd version %u: install the same release on both"

/* Nothing else may look at a received message before this said WIRE_OK. */
enum wire_error wire_check(const void *msg, size_t len, enum wire_direction direction);
/* The same for private data of a connect request and of its answer. */
enum wire_error wire_check_connect(const void *data, size_t len);
enum wire_error wire_check_accept(const void *data, size_t len);
const char *wire_error_name(enum wire_error error);
const char *wire_type_name(unsigned int type);
const char *wire_status_name(unsigned int status);

/* Bytes of a message of this type; 0 if there is no such type. */
size_t wire_length(unsigned int type);
/* Zeroes the message and fills in its header. */
void wire_init(struct farswap_hdr *hdr, unsigned int type, uint32_t seq);
void wire_init_connect(struct farswap_connect *connect, unsigned int kind,
		       uint64_t session, unsigned int queue);
void wire_init_accept(struct farswap_accept *accept, unsigned int status);

#endif
