// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of the control messages and of the CM's private data; checks and reads
 * received ones. farswap_wire_check() is the only gate: nothing reads a buffer that has
 * not passed it. Other files interpret the messages.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include <asm/byteorder.h>

#include "wire.h"

/* The layout in literal numbers; the daemon has a list of its own. */
static_assert(sizeof(struct farswap_connect) == 56);
static_assert(offsetof(struct farswap_connect, mac) == 40);
static_assert(sizeof(struct farswap_accept) == 32);
static_assert(offsetof(struct farswap_accept, mac) == 16);
static_assert(sizeof(struct farswap_hdr) == 16);
static_assert(offsetof(struct farswap_hdr, seq) == 12);
static_assert(sizeof(struct farswap_auth) == 120);
static_assert(offsetof(struct farswap_auth, noise) == 16);
static_assert(sizeof(struct farswap_authed) == 72);
static_assert(offsetof(struct farswap_authed, noise) == 16);
static_assert(sizeof(struct farswap_hello) == 96);
static_assert(offsetof(struct farswap_hello, auth) == 64);
static_assert(sizeof(struct farswap_welcome) == 72);
static_assert(offsetof(struct farswap_welcome, answers) == 64);
static_assert(sizeof(struct farswap_free_mem) == 32);
static_assert(offsetof(struct farswap_free_mem, reserved) == 28);
static_assert(sizeof(struct farswap_map) == 24);
static_assert(offsetof(struct farswap_map, slab) == 16);
static_assert(sizeof(struct farswap_mr_info) == 48);
static_assert(offsetof(struct farswap_mr_info, bytes) == 40);
static_assert(sizeof(struct farswap_region_msg) == 24);
static_assert(offsetof(struct farswap_region_msg, region) == 16);
static_assert(sizeof(struct farswap_evict) == 32);
static_assert(offsetof(struct farswap_evict, reserved) == 28);
static_assert(sizeof(struct farswap_check_activity) == 152);
static_assert(offsetof(struct farswap_check_activity, region) == 24);
static_assert(sizeof(struct farswap_activity_entry) == 16);
static_assert(sizeof(struct farswap_activity) == 280);
static_assert(offsetof(struct farswap_activity, entry) == 24);
static_assert(sizeof(struct farswap_resume) == 488);
static_assert(offsetof(struct farswap_resume, region) == 24);
static_assert(sizeof(struct farswap_resumed) == 24);
static_assert(offsetof(struct farswap_resumed, gone) == 16);
static_assert(sizeof(struct farswap_keyed) == 32);
static_assert(offsetof(struct farswap_keyed, region) == 24);

/* Limits of rdma_connect(3) and rdma_accept(3) for RDMA_PS_TCP. */
static_assert(sizeof(struct farswap_connect) <= 56);
static_assert(sizeof(struct farswap_accept) <= 196);
static_assert(sizeof(struct farswap_resume) + FARSWAP_TAG_BYTES <= FARSWAP_MSG_BYTES);

static const u32 farswap_wire_length[] = {
	[FARSWAP_MSG_HELLO] = sizeof(struct farswap_hello),
	[FARSWAP_MSG_WELCOME] = sizeof(struct farswap_welcome),
	[FARSWAP_MSG_QUERY_MEM] = sizeof(struct farswap_hdr),
	[FARSWAP_MSG_FREE_MEM] = sizeof(struct farswap_free_mem),
	[FARSWAP_MSG_MAP] = sizeof(struct farswap_map),
	[FARSWAP_MSG_MR_INFO] = sizeof(struct farswap_mr_info),
	[FARSWAP_MSG_UNMAP] = sizeof(struct farswap_region_msg),
	[FARSWAP_MSG_EVICT] = sizeof(struct farswap_evict),
	[FARSWAP_MSG_DONE] = sizeof(struct farswap_region_msg),
	[FARSWAP_MSG_CHECK_ACTIVITY] = sizeof(struct farswap_check_activity),
	[FARSWAP_MSG_ACTIVITY] = sizeof(struct farswap_activity),
	[FARSWAP_MSG_PING] = sizeof(struct farswap_hdr),
	[FARSWAP_MSG_PONG] = sizeof(struct farswap_hdr),
	[FARSWAP_MSG_RESUME] = sizeof(struct farswap_resume),
	[FARSWAP_MSG_RESUMED] = sizeof(struct farswap_resumed),
	[FARSWAP_MSG_KEY] = sizeof(struct farswap_region_msg),
	[FARSWAP_MSG_KEYED] = sizeof(struct farswap_keyed),
	[FARSWAP_MSG_AUTH] = sizeof(struct farswap_auth),
	[FARSWAP_MSG_AUTHED] = sizeof(struct farswap_authed),
};

static_assert(sizeof(farswap_wire_length) ==
	      (FARSWAP_MSG_MAX + 1) * sizeof(farswap_wire_length[0]));

static const char * const farswap_wire_fault_names[] = {
	[FARSWAP_WIRE_OK] = "ok",
	[FARSWAP_WIRE_SHORT] = "message shorter than a header",
	[FARSWAP_WIRE_MAGIC] = "message without the magic number",
	[FARSWAP_WIRE_VERSION] = "message with a different protocol version",
	[FARSWAP_WIRE_TYPE] = "message of unknown type",
	[FARSWAP_WIRE_LENGTH] = "message of wrong length",
	[FARSWAP_WIRE_RESERVED] = "reserved field not zero",
	[FARSWAP_WIRE_VALUE] = "field out of range",
	[FARSWAP_WIRE_IGNORE] = "unknown optional message",
};

static_assert(sizeof(farswap_wire_fault_names) ==
	      FARSWAP_WIRE_FAULTS * sizeof(farswap_wire_fault_names[0]));

static bool all_zero(const void *bytes, size_t len)
{
	return !memchr_inv(bytes, 0, len);
}

static enum farswap_wire_fault check_welcome(const struct farswap_welcome *msg)
{
	u64 slab_bytes = le64_to_cpu(msg->slab_bytes);
	u16 queues = le16_to_cpu(msg->queues);
	u16 resumed = le16_to_cpu(msg->resumed);

	if (le32_to_cpu(msg->status) != FARSWAP_STATUS_OK)
		return resumed || msg->answers ? FARSWAP_WIRE_RESERVED : FARSWAP_WIRE_OK;
	if (resumed > FARSWAP_RESUMED_NEW_KEYS || (!resumed && msg->answers))
		return FARSWAP_WIRE_VALUE;
	if (queues < 1 || queues > FARSWAP_QUEUES_MAX)
		return FARSWAP_WIRE_VALUE;
	if (!is_power_of_2(slab_bytes) || slab_bytes < FARSWAP_SLAB_BYTES_MIN ||
	    slab_bytes > FARSWAP_SLAB_BYTES_MAX)
		return FARSWAP_WIRE_VALUE;
	return FARSWAP_WIRE_OK;
}

static enum farswap_wire_fault check_mr_info(const struct farswap_mr_info *msg)
{
	u64 end;

	if (le32_to_cpu(msg->status) == FARSWAP_STATUS_SELF)
		return FARSWAP_WIRE_VALUE;
	if (le32_to_cpu(msg->status) != FARSWAP_STATUS_OK) {
		if (msg->rkey || msg->region || msg->addr || msg->bytes)
			return FARSWAP_WIRE_RESERVED;
		return FARSWAP_WIRE_OK;
	}
	if (!msg->bytes || check_add_overflow(le64_to_cpu(msg->addr),
					      le64_to_cpu(msg->bytes), &end))
		return FARSWAP_WIRE_VALUE;
	return FARSWAP_WIRE_OK;
}

static enum farswap_wire_fault check_keyed(const struct farswap_keyed *msg)
{
	if (le32_to_cpu(msg->status) != FARSWAP_STATUS_OK && msg->rkey)
		return FARSWAP_WIRE_RESERVED;
	return FARSWAP_WIRE_OK;
}

static enum farswap_wire_fault
check_check_activity(const struct farswap_check_activity *msg)
{
	u32 count = le32_to_cpu(msg->count);

	if (!all_zero(msg->reserved, sizeof(msg->reserved)))
		return FARSWAP_WIRE_RESERVED;
	if (count < 1 || count > FARSWAP_ACTIVITY_REGIONS)
		return FARSWAP_WIRE_VALUE;
	if (!all_zero(&msg->region[count],
		      (FARSWAP_ACTIVITY_REGIONS - count) * sizeof(msg->region[0])))
		return FARSWAP_WIRE_RESERVED;
	return FARSWAP_WIRE_OK;
}

/**
 * farswap_wire_check() - check a received message
 * @buf:	the bytes received
 * @len:	their number
 *
 * Checks everything that does not depend on the request. For messages that only a client
 * sends it checks just the length.
 *
 * Return: FARSWAP_WIRE_OK or the fault.
 */
enum farswap_wire_fault farswap_wire_check(const void *buf, size_t len)
{
	const struct farswap_hdr *hdr = buf;
	u16 type;

	if (len < sizeof(*hdr))
		return FARSWAP_WIRE_SHORT;
	if (le32_to_cpu(hdr->magic) != FARSWAP_MAGIC)
		return FARSWAP_WIRE_MAGIC;
	if (le16_to_cpu(hdr->version) != FARSWAP_VERSION)
		return FARSWAP_WIRE_VERSION;
	type = le16_to_cpu(hdr->type);
	if (type & FARSWAP_MSG_OPTIONAL)
		return le32_to_cpu(hdr->length) == len ? FARSWAP_WIRE_IGNORE : FARSWAP_WIRE_LENGTH;
	if (type > FARSWAP_MSG_MAX || !farswap_wire_length[type])
		return FARSWAP_WIRE_TYPE;
	if (len != farswap_wire_length[type] || le32_to_cpu(hdr->length) != len)
		return FARSWAP_WIRE_LENGTH;

	switch (type) {
	case FARSWAP_MSG_WELCOME:
		return check_welcome(buf);
	case FARSWAP_MSG_FREE_MEM:
		if (!all_zero(((const struct farswap_free_mem *)buf)->reserved,
			      sizeof_field(struct farswap_free_mem, reserved)))
			return FARSWAP_WIRE_RESERVED;
		return FARSWAP_WIRE_OK;
	case FARSWAP_MSG_MR_INFO:
		return check_mr_info(buf);
	case FARSWAP_MSG_KEYED:
		return check_keyed(buf);
	case FARSWAP_MSG_EVICT:
		if (!all_zero(((const struct farswap_evict *)buf)->reserved,
			      sizeof_field(struct farswap_evict, reserved)))
			return FARSWAP_WIRE_RESERVED;
		return FARSWAP_WIRE_OK;
	case FARSWAP_MSG_CHECK_ACTIVITY:
		return check_check_activity(buf);
	default:
		return FARSWAP_WIRE_OK;
	}
}

/**
 * farswap_wire_check_accept() - check and read the private data of an accept or reject
 * @buf:	private data; the CM may have padded it
 * @len:	its length
 * @answer:	its contents; set if the magic is right, whatever the version
 *
 * Return: FARSWAP_WIRE_OK or the fault. A different version is not a fault here: the
 * caller reports it.
 */
enum farswap_wire_fault farswap_wire_check_accept(const void *buf, size_t len,
						  struct farswap_wire_answer *answer)
{
	const struct farswap_accept *accept = buf;

	if (!buf || len < FARSWAP_ACCEPT_BYTES_OLD)
		return FARSWAP_WIRE_SHORT;
	if (le32_to_cpu(accept->magic) != FARSWAP_MAGIC)
		return FARSWAP_WIRE_MAGIC;
	answer->version = le16_to_cpu(accept->version);
	answer->status = le16_to_cpu(accept->status);
	if (answer->version != FARSWAP_VERSION)
		return FARSWAP_WIRE_OK;
	if (len < sizeof(*accept))
		return FARSWAP_WIRE_SHORT;
	answer->sealed = le32_to_cpu(accept->features) & FARSWAP_FEATURE_SEALED;
	if (!all_zero(accept->reserved, sizeof(accept->reserved)))
		return FARSWAP_WIRE_RESERVED;
	return answer->status == FARSWAP_STATUS_SELF ? FARSWAP_WIRE_VALUE : FARSWAP_WIRE_OK;
}

/**
 * farswap_wire_fault_name() - describe a fault
 * @fault:	the fault
 *
 * Return: a static string.
 */
const char *farswap_wire_fault_name(enum farswap_wire_fault fault)
{
	return fault < FARSWAP_WIRE_FAULTS ? farswap_wire_fault_names[fault] : "?";
}

/**
 * farswap_wire_status_name() - describe a FARSWAP_STATUS_*
 * @status:	the status; a newer donor may send an unknown one
 *
 * Return: a static string.
 */
const char *farswap_wire_status_name(u32 status)
{
	switch (status) {
	case FARSWAP_STATUS_OK:
		return "ok";
	case FARSWAP_STATUS_NO_MEMORY:
		return "no memory left to lend";
	case FARSWAP_STATUS_BAD_VERSION:
		return "different protocol version";
	case FARSWAP_STATUS_BAD_SLAB_SIZE:
		return "different slab size";
	case FARSWAP_STATUS_BAD_AUTH:
		return "not authorised";
	case FARSWAP_STATUS_BAD_SESSION:
		return "no such session";
	case FARSWAP_STATUS_BAD_MESSAGE:
		return "invalid message";
	case FARSWAP_STATUS_BUSY:
		return "too many clients";
	case FARSWAP_STATUS_LEAVING:
		return "shutting down";
	case FARSWAP_STATUS_SELF:
		return "is this machine: not used";
	default:
		return "unknown status";
	}
}

/**
 * farswap_wire_status_errno() - convert a FARSWAP_STATUS_* to an error
 * @status:	the status
 *
 * Return: 0 or -errno.
 */
int farswap_wire_status_errno(u32 status)
{
	switch (status) {
	case FARSWAP_STATUS_OK:
		return 0;
	case FARSWAP_STATUS_NO_MEMORY:
		return -ENOSPC;
	case FARSWAP_STATUS_BAD_VERSION:
		return -EOPNOTSUPP;
	case FARSWAP_STATUS_BAD_SLAB_SIZE:
		return -EINVAL;
	case FARSWAP_STATUS_BAD_AUTH:
		return -EACCES;
	case FARSWAP_STATUS_BUSY:
		return -EBUSY;
	case FARSWAP_STATUS_SELF:
		return -ELOOP;
	default:
		return -ECONNREFUSED;
	}
}

/**
 * farswap_wire_type() - a checked message's type
 * @buf:	the message
 *
 * Return: FARSWAP_MSG_*.
 */
u16 farswap_wire_type(const void *buf)
{
	return le16_to_cpu(((const struct farswap_hdr *)buf)->type);
}

/**
 * farswap_wire_seq() - a checked message's number
 * @buf:	the message
 *
 * Return: the number.
 */
u32 farswap_wire_seq(const void *buf)
{
	return le32_to_cpu(((const struct farswap_hdr *)buf)->seq);
}

/**
 * farswap_wire_read_welcome() - read a checked WELCOME
 * @buf:	the message
 * @welcome:	its contents
 */
void farswap_wire_read_welcome(const void *buf, struct farswap_wire_welcome *welcome)
{
	const struct farswap_welcome *msg = buf;

	welcome->status = le32_to_cpu(msg->status);
	welcome->queues = le16_to_cpu(msg->queues);
	welcome->resumed = le16_to_cpu(msg->resumed);
	memcpy(welcome->node, msg->node, sizeof(welcome->node));
	welcome->instance = le64_to_cpu(msg->instance);
	welcome->slab_bytes = le64_to_cpu(msg->slab_bytes);
	welcome->session = le64_to_cpu(msg->session);
	welcome->answers = le64_to_cpu(msg->answers);
}

/**
 * farswap_wire_read_region() - read a checked MR_INFO
 * @buf:	the message
 * @region:	its contents
 */
void farswap_wire_read_region(const void *buf, struct farswap_wire_region *region)
{
	const struct farswap_mr_info *msg = buf;

	region->status = le32_to_cpu(msg->status);
	region->rkey = le32_to_cpu(msg->rkey);
	region->id = le64_to_cpu(msg->region);
	region->addr = le64_to_cpu(msg->addr);
	region->bytes = le64_to_cpu(msg->bytes);
}

/**
 * farswap_wire_read_free_mem() - read a checked FREE_MEM
 * @buf:	the message
 *
 * Return: bytes the donor can still lend.
 */
u64 farswap_wire_read_free_mem(const void *buf)
{
	return le64_to_cpu(((const struct farswap_free_mem *)buf)->free_bytes);
}

/**
 * farswap_wire_read_evict() - read a checked EVICT
 * @buf:	the message
 * @deadline_ms: milliseconds left
 *
 * Return: the region.
 */
u64 farswap_wire_read_evict(const void *buf, u32 *deadline_ms)
{
	const struct farswap_evict *msg = buf;

	*deadline_ms = le32_to_cpu(msg->deadline_ms);
	return le64_to_cpu(msg->region);
}

/**
 * farswap_wire_read_check_activity() - read a checked CHECK_ACTIVITY
 * @buf:	the message
 * @region:	FARSWAP_ACTIVITY_REGIONS numbers; as many as returned are set
 *
 * Return: number of regions in the message.
 */
unsigned int farswap_wire_read_check_activity(const void *buf, u64 *region)
{
	const struct farswap_check_activity *msg = buf;
	unsigned int count = le32_to_cpu(msg->count);
	unsigned int i;

	for (i = 0; i < count; i++)
		region[i] = le64_to_cpu(msg->region[i]);
	return count;
}

/**
 * farswap_wire_read_resumed() - read a checked RESUMED
 * @buf:	the message
 *
 * Return: a bit for each region of the RESUME that is gone.
 */
u64 farswap_wire_read_resumed(const void *buf)
{
	return le64_to_cpu(((const struct farswap_resumed *)buf)->gone);
}

/**
 * farswap_wire_read_keyed() - read a checked KEYED
 * @buf:	the message
 * @region:	the region that it is about
 * @rkey:	its key
 *
 * Return: FARSWAP_STATUS_*; unless OK the donor has the region no more.
 */
u32 farswap_wire_read_keyed(const void *buf, u64 *region, u32 *rkey)
{
	const struct farswap_keyed *msg = buf;

	*region = le64_to_cpu(msg->region);
	*rkey = le32_to_cpu(msg->rkey);
	return le32_to_cpu(msg->status);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/wire-kunit.h"
#endif
