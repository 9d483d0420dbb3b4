/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format for user space: the check that every received message must pass, and
 * helpers that build messages. <linux/farswap.h> describes the fields.
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
	WIRE_SHORT,		/* shorter than the length of its type */
	WIRE_LONG,		/* longer than the length of its type */
	WIRE_MAGIC,
	WIRE_VERSION,
	WIRE_TYPE,		/* no such message */
	WIRE_DIRECTION,		/* not meant for this side */
	WIRE_LENGTH,		/* the header's length differs from the message's */
	WIRE_RESERVED,		/* a reserved field is not zero */
	WIRE_RANGE,		/* a field is out of range */
	WIRE_IGNORE,		/* no error: an optional message of a later version */
	WIRE_ERRORS
};

/* Log message for different versions: the peer's, then FARSWAP_VERSION. */
#define WIRE_VERSIONS \
	"the client has protocol version %u, this farswapd version %u: install the same release on both"

/* Check a received message. It must not be read unless this returns WIRE_OK. */
enum wire_error wire_check(const void *msg, size_t len, enum wire_direction direction);
/* Check the private data of a connect request, and of an accept or reject. */
enum wire_error wire_check_connect(const void *data, size_t len);
enum wire_error wire_check_accept(const void *data, size_t len);
const char *wire_error_name(enum wire_error error);
const char *wire_type_name(unsigned int type);
const char *wire_status_name(unsigned int status);

/* Length of a message of this type; 0 if there is no such type. */
size_t wire_length(unsigned int type);
/* Zero the message and fill in its header. */
void wire_init(struct farswap_hdr *hdr, unsigned int type, uint32_t seq);
void wire_init_connect(struct farswap_connect *connect, unsigned int kind,
		       uint64_t session, unsigned int queue);
void wire_init_accept(struct farswap_accept *accept, unsigned int status);

#endif
