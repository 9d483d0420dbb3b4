// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes, the length table and the checks of the wire format. Does no I/O and keeps no state:
 * the session decides which message is allowed when.
 */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "wire.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Literal numbers, repeated in rdma/protocol/wire.c: both programs must agree. */
#define ASSERT_WIRE(type, bytes, last, at)				\
	static_assert(sizeof(struct type) == (bytes) &&			\
		      offsetof(struct type, last) == (at), "layout of " #type)

ASSERT_WIRE(farswap_connect, 56, mac, 40);
ASSERT_WIRE(farswap_accept, 32, mac, 16);
ASSERT_WIRE(farswap_hdr, 16, seq, 12);
ASSERT_WIRE(farswap_auth, 120, noise, 16);
ASSERT_WIRE(farswap_authed, 72, noise, 16);
ASSERT_WIRE(farswap_hello, 96, auth, 64);
ASSERT_WIRE(farswap_welcome, 72, answers, 64);
ASSERT_WIRE(farswap_free_mem, 32, reserved, 28);
ASSERT_WIRE(farswap_map, 24, slab, 16);
ASSERT_WIRE(farswap_mr_info, 48, bytes, 40);
ASSERT_WIRE(farswap_region_msg, 24, region, 16);
ASSERT_WIRE(farswap_evict, 32, reserved, 28);
ASSERT_WIRE(farswap_check_activity, 152, region, 24);
ASSERT_WIRE(farswap_activity_entry, 16, reserved, 12);
ASSERT_WIRE(farswap_activity, 280, entry, 24);
ASSERT_WIRE(farswap_resume, 488, region, 24);
ASSERT_WIRE(farswap_resumed, 24, gone, 16);
ASSERT_WIRE(farswap_keyed, 32, region, 24);
static_assert(FARSWAP_MSG_BYTES == 512, "receive buffer");
static_assert(sizeof(struct farswap_resume) + FARSWAP_TAG_BYTES <= FARSWAP_MSG_BYTES,
	      "longest message");
/* Limits of rdma_connect(3), rdma_accept(3) and rdma_reject(3). */
static_assert(sizeof(struct farswap_connect) <= 56, "private data of a connect request");
static_assert(sizeof(struct farswap_accept) <= 148, "private data of an accept or a reject");

static const struct {
	const char *name;
	uint16_t bytes;
	uint8_t direction;
} wire_table[] = {
	[FARSWAP_MSG_HELLO] = { "HELLO", 96, WIRE_TO_DONOR },
	[FARSWAP_MSG_WELCOME] = { "WELCOME", 72, WIRE_TO_CLIENT },
	[FARSWAP_MSG_QUERY_MEM] = { "QUERY_MEM", 16, WIRE_TO_DONOR },
	[FARSWAP_MSG_FREE_MEM] = { "FREE_MEM", 32, WIRE_TO_CLIENT },
	[FARSWAP_MSG_MAP] = { "MAP", 24, WIRE_TO_DONOR },
	[FARSWAP_MSG_MR_INFO] = { "MR_INFO", 48, WIRE_TO_CLIENT },
	[FARSWAP_MSG_UNMAP] = { "UNMAP", 24, WIRE_TO_DONOR },
	[FARSWAP_MSG_EVICT] = { "EVICT", 32, WIRE_TO_CLIENT },
	[FARSWAP_MSG_DONE] = { "DONE", 24, WIRE_TO_DONOR },
	[FARSWAP_MSG_CHECK_ACTIVITY] = { "CHECK_ACTIVITY", 152, WIRE_TO_CLIENT },
	[FARSWAP_MSG_ACTIVITY] = { "ACTIVITY", 280, WIRE_TO_DONOR },
	[FARSWAP_MSG_PING] = { "PING", 16, WIRE_TO_DONOR | WIRE_TO_CLIENT },
	[FARSWAP_MSG_PONG] = { "PONG", 16, WIRE_TO_DONOR | WIRE_TO_CLIENT },
	[FARSWAP_MSG_RESUME] = { "RESUME", 488, WIRE_TO_DONOR },
	[FARSWAP_MSG_RESUMED] = { "RESUMED", 24, WIRE_TO_CLIENT },
	[FARSWAP_MSG_KEY] = { "KEY", 24, WIRE_TO_DONOR },
	[FARSWAP_MSG_KEYED] = { "KEYED", 32, WIRE_TO_CLIENT },
	[FARSWAP_MSG_AUTH] = { "AUTH", 120, WIRE_TO_DONOR },
	[FARSWAP_MSG_AUTHED] = { "AUTHED", 72, WIRE_TO_CLIENT },
};

static_assert(ARRAY_SIZE(wire_table) == FARSWAP_MSG_MAX + 1, "a row for every message");

static bool wire_is_zero(const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len--)
		if (*byte++)
			return false;
	return true;
}

#define FIELD_IS_ZERO(field)	wire_is_zero((field), sizeof(field))

static enum wire_error wire_check_hello(const struct farswap_hello *hello)
{
	if (!FIELD_IS_ZERO(hello->auth))
		return WIRE_RESERVED;
	return le16toh(hello->queues) ? WIRE_OK : WIRE_RANGE;
}

static enum wire_error wire_check_welcome(const struct farswap_welcome *welcome)
{
	if (le32toh(welcome->status) != FARSWAP_STATUS_OK)
		return welcome->resumed || welcome->answers ? WIRE_RESERVED : WIRE_OK;
	if (!welcome->resumed && welcome->answers)
		return WIRE_RANGE;
	return le16toh(welcome->resumed) <= FARSWAP_RESUMED_NEW_KEYS ? WIRE_OK : WIRE_RANGE;
}

static enum wire_error wire_check_mr_info(const struct farswap_mr_info *info)
{
	const size_t rest = offsetof(struct farswap_mr_info, rkey);

	if (le32toh(info->status) == FARSWAP_STATUS_OK)
		return WIRE_OK;
	if (le32toh(info->status) == FARSWAP_STATUS_SELF)
		return WIRE_RANGE;
	return wire_is_zero((const uint8_t *)info + rest, sizeof(*info) - rest) ?
		WIRE_OK : WIRE_RESERVED;
}

static enum wire_error wire_check_check_activity(const struct farswap_check_activity *check)
{
	uint32_t count = le32toh(check->count);

	if (!FIELD_IS_ZERO(check->reserved))
		return WIRE_RESERVED;
	if (!count || count > FARSWAP_ACTIVITY_REGIONS)
		return WIRE_RANGE;
	return wire_is_zero(&check->region[count],
			    (FARSWAP_ACTIVITY_REGIONS - count) * sizeof(check->region[0])) ?
		WIRE_OK : WIRE_RESERVED;
}

static enum wire_error wire_check_activity(const struct farswap_activity *activity)
{
	uint32_t count = le32toh(activity->count), i;

	if (!FIELD_IS_ZERO(activity->reserved))
		return WIRE_RESERVED;
	if (!count || count > FARSWAP_ACTIVITY_REGIONS)
		return WIRE_RANGE;
	for (i = 0; i < count; i++)
		if (!FIELD_IS_ZERO(activity->entry[i].reserved))
			return WIRE_RESERVED;
	return wire_is_zero(&activity->entry[count],
			    (FARSWAP_ACTIVITY_REGIONS - count) * sizeof(activity->entry[0])) ?
		WIRE_OK : WIRE_RESERVED;
}

static enum wire_error wire_check_resume(const struct farswap_resume *resume)
{
	uint32_t count = le32toh(resume->count), more = le32toh(resume->more);

	/* All but the last must be full, which bounds their number. */
	if (more > 1 || count > FARSWAP_RESUME_REGIONS ||
	    (more && count != FARSWAP_RESUME_REGIONS))
		return WIRE_RANGE;
	return wire_is_zero(&resume->region[count],
			    (FARSWAP_RESUME_REGIONS - count) * sizeof(resume->region[0])) ?
		WIRE_OK : WIRE_RESERVED;
}

static enum wire_error wire_check_keyed(const struct farswap_keyed *keyed)
{
	return le32toh(keyed->status) == FARSWAP_STATUS_OK || !keyed->rkey ?
		WIRE_OK : WIRE_RESERVED;
}

static enum wire_error wire_check_body(const struct farswap_hdr *hdr)
{
	const void *msg = hdr;

	switch (le16toh(hdr->type)) {
	case FARSWAP_MSG_HELLO:
		return wire_check_hello(msg);
	case FARSWAP_MSG_WELCOME:
		return wire_check_welcome(msg);
	case FARSWAP_MSG_FREE_MEM:
		return FIELD_IS_ZERO(((const struct farswap_free_mem *)msg)->reserved) ?
			WIRE_OK : WIRE_RESERVED;
	case FARSWAP_MSG_MR_INFO:
		return wire_check_mr_info(msg);
	case FARSWAP_MSG_EVICT:
		return FIELD_IS_ZERO(((const struct farswap_evict *)msg)->reserved) ?
			WIRE_OK : WIRE_RESERVED;
	case FARSWAP_MSG_CHECK_ACTIVITY:
		return wire_check_check_activity(msg);
	case FARSWAP_MSG_ACTIVITY:
		return wire_check_activity(msg);
	case FARSWAP_MSG_RESUME:
		return wire_check_resume(msg);
	case FARSWAP_MSG_KEYED:
		return wire_check_keyed(msg);
	default:
		return WIRE_OK;
	}
}

enum wire_error wire_check(const void *msg, size_t len, enum wire_direction direction)
{
	const struct farswap_hdr *hdr = msg;
	unsigned int type;

	if (len < sizeof(*hdr))
		return WIRE_SHORT;
	if (len > FARSWAP_MSG_BYTES)
		return WIRE_LONG;
	if (le32toh(hdr->magic) != FARSWAP_MAGIC)
		return WIRE_MAGIC;
	if (le16toh(hdr->version) != FARSWAP_VERSION)
		return WIRE_VERSION;
	type = le16toh(hdr->type);
	if (!wire_length(type) && type & FARSWAP_MSG_OPTIONAL)
		return le32toh(hdr->length) == len ? WIRE_IGNORE : WIRE_LENGTH;
	if (!wire_length(type))
		return WIRE_TYPE;
	if (!(wire_table[type].direction & direction))
		return WIRE_DIRECTION;
	if (le32toh(hdr->length) != len)
		return WIRE_LENGTH;
	if (len < wire_table[type].bytes)
		return WIRE_SHORT;
	if (len > wire_table[type].bytes)
		return WIRE_LONG;
	return wire_check_body(hdr);
}

enum wire_error wire_check_connect(const void *data, size_t len)
{
	const struct farswap_connect *connect = data;

	/* The CM pads private data, so it may be longer. */
	if (!data || len < FARSWAP_CONNECT_BYTES_OLD)
		return WIRE_SHORT;
	if (le32toh(connect->magic) != FARSWAP_MAGIC)
		return WIRE_MAGIC;
	if (le16toh(connect->oldest) > FARSWAP_VERSION ||
	    le16toh(connect->version) < FARSWAP_VERSION_OLDEST)
		return WIRE_VERSION;
	if (len < sizeof(*connect))
		return WIRE_SHORT;
	if (le16toh(connect->oldest) > le16toh(connect->version))
		return WIRE_RANGE;
	if (!FIELD_IS_ZERO(connect->reserved))
		return WIRE_RESERVED;
	if (!(le32toh(connect->features) & FARSWAP_FEATURE_SEALED) &&
	    (!FIELD_IS_ZERO(connect->key_id) || !FIELD_IS_ZERO(connect->mac)))
		return WIRE_RESERVED;
	if ((le32toh(connect->features) & FARSWAP_FEATURE_INVITED) && connect->session)
		return WIRE_RESERVED;
	switch (le16toh(connect->kind)) {
	case FARSWAP_CONNECT_CONTROL:
		return connect->queue ? WIRE_RESERVED : WIRE_OK;
	case FARSWAP_CONNECT_DATA:
		return le16toh(connect->queue) < FARSWAP_QUEUES_MAX ? WIRE_OK : WIRE_RANGE;
	default:
		return WIRE_TYPE;
	}
}

enum wire_error wire_check_accept(const void *data, size_t len)
{
	const struct farswap_accept *accept = data;

	if (!data || len < FARSWAP_ACCEPT_BYTES_OLD)
		return WIRE_SHORT;
	if (le32toh(accept->magic) != FARSWAP_MAGIC)
		return WIRE_MAGIC;
	/* A reject by another version. */
	if (le16toh(accept->version) != FARSWAP_VERSION)
		return WIRE_OK;
	if (len < sizeof(*accept))
		return WIRE_SHORT;
	if (!FIELD_IS_ZERO(accept->reserved))
		return WIRE_RESERVED;
	return le16toh(accept->status) == FARSWAP_STATUS_SELF ? WIRE_RANGE : WIRE_OK;
}

const char *wire_error_name(enum wire_error error)
{
	static const char *const names[] = {
		[WIRE_OK] = "no error",
		[WIRE_SHORT] = "too short",
		[WIRE_LONG] = "too long",
		[WIRE_MAGIC] = "wrong magic number",
		[WIRE_VERSION] = "different version",
		[WIRE_TYPE] = "unknown type",
		[WIRE_DIRECTION] = "type is not for this side",
		[WIRE_LENGTH] = "length field differs from the length",
		[WIRE_RESERVED] = "reserved bytes not zero",
		[WIRE_RANGE] = "field out of range",
		[WIRE_IGNORE] = "unknown optional message",
	};

	static_assert(ARRAY_SIZE(names) == WIRE_ERRORS, "a name for every error");
	return error < WIRE_ERRORS ? names[error] : "?";
}

const char *wire_type_name(unsigned int type)
{
	return wire_length(type) ? wire_table[type].name : "unknown message";
}

const char *wire_status_name(unsigned int status)
{
	static const char *const names[] = {
		[FARSWAP_STATUS_OK] = "ok",
		[FARSWAP_STATUS_NO_MEMORY] = "no memory",
		[FARSWAP_STATUS_BAD_VERSION] = "different version",
		[FARSWAP_STATUS_BAD_SLAB_SIZE] = "different slab size",
		[FARSWAP_STATUS_BAD_AUTH] = "authentication refused",
		[FARSWAP_STATUS_BAD_SESSION] = "no such session",
		[FARSWAP_STATUS_BAD_MESSAGE] = "malformed message",
		[FARSWAP_STATUS_BUSY] = "too many clients or queue pairs",
		[FARSWAP_STATUS_LEAVING] = "shutting down",
		[FARSWAP_STATUS_SELF] = "the client is this machine",
	};

	return status < ARRAY_SIZE(names) && names[status] ? names[status] : "unknown status";
}

size_t wire_length(unsigned int type)
{
	return type < ARRAY_SIZE(wire_table) ? wire_table[type].bytes : 0;
}

void wire_init(struct farswap_hdr *hdr, unsigned int type, uint32_t seq)
{
	size_t len = wire_length(type);

	memset(hdr, 0, len);
	hdr->magic = htole32(FARSWAP_MAGIC);
	hdr->version = htole16(FARSWAP_VERSION);
	hdr->type = htole16(type);
	hdr->length = htole32(len);
	hdr->seq = htole32(seq);
}

void wire_init_connect(struct farswap_connect *connect, unsigned int kind,
		       uint64_t session, unsigned int queue)
{
	memset(connect, 0, sizeof(*connect));
	connect->magic = htole32(FARSWAP_MAGIC);
	connect->version = htole16(FARSWAP_VERSION);
	connect->oldest = htole16(FARSWAP_VERSION_OLDEST);
	connect->kind = htole16(kind);
	connect->session = htole64(session);
	connect->queue = htole16(queue);
}

void wire_init_accept(struct farswap_accept *accept, unsigned int status)
{
	memset(accept, 0, sizeof(*accept));
	accept->magic = htole32(FARSWAP_MAGIC);
	accept->version = htole16(FARSWAP_VERSION);
	accept->status = htole16(status);
}
