// SPDX-License-Identifier: GPL-2.0
/*
 * Builds the control messages and the CM's private data, except for the sequence
 * number. Other files decide when a message is sent.
 */
#include <linux/string.h>

#include <asm/byteorder.h>

#include "wire.h"

static size_t begin(void *buf, u16 type, u32 len)
{
	struct farswap_hdr *hdr = buf;

	memset(buf, 0, len);
	hdr->magic = cpu_to_le32(FARSWAP_MAGIC);
	hdr->version = cpu_to_le16(FARSWAP_VERSION);
	hdr->type = cpu_to_le16(type);
	hdr->length = cpu_to_le32(len);
	return len;
}

/**
 * farswap_wire_connect() - build a connect request's private data
 * @buf:	destination
 * @kind:	FARSWAP_CONNECT_*
 * @session:	for data, WELCOME's session; for control, the session to resume, or 0
 * @queue:	number of the queue pair, for data
 * @attempt:	number of this attempt to connect
 *
 * Return: its length.
 */
size_t farswap_wire_connect(void *buf, u16 kind, u64 session, u16 queue,
			    u32 attempt)
{
	struct farswap_connect *connect = buf;

	memset(connect, 0, sizeof(*connect));
	connect->magic = cpu_to_le32(FARSWAP_MAGIC);
	connect->version = cpu_to_le16(FARSWAP_VERSION);
	connect->oldest = cpu_to_le16(FARSWAP_VERSION_OLDEST);
	connect->kind = cpu_to_le16(kind);
	connect->session = cpu_to_le64(session);
	connect->queue = cpu_to_le16(queue);
	connect->attempt = cpu_to_le32(attempt);
	return sizeof(*connect);
}

/**
 * farswap_wire_auth() - build an AUTH whose handshake message is still zero
 * @buf:	destination
 *
 * Return: its length.
 */
size_t farswap_wire_auth(void *buf)
{
	return begin(buf, FARSWAP_MSG_AUTH, sizeof(struct farswap_auth));
}

/**
 * farswap_wire_bare() - build a message that is only a header
 * @buf:	destination
 * @type:	QUERY_MEM, PING or PONG
 *
 * Return: its length.
 */
size_t farswap_wire_bare(void *buf, u16 type)
{
	return begin(buf, type, sizeof(struct farswap_hdr));
}

/**
 * farswap_wire_hello() - build a HELLO
 * @buf:	destination
 * @hello:	its contents
 *
 * Return: its length.
 */
size_t farswap_wire_hello(void *buf, const struct farswap_wire_greeting *hello)
{
	struct farswap_hello *msg = buf;
	size_t len = begin(buf, FARSWAP_MSG_HELLO, sizeof(*msg));

	memcpy(msg->node, hello->node, sizeof(msg->node));
	msg->instance = cpu_to_le64(hello->instance);
	msg->slab_bytes = cpu_to_le64(hello->slab_bytes);
	msg->queues = cpu_to_le16(hello->queues);
	msg->auth_kind = cpu_to_le16(hello->sealed ? FARSWAP_AUTH_NOISE : FARSWAP_AUTH_NONE);
	msg->grace_ms = cpu_to_le32(hello->grace_ms);
	msg->resume = cpu_to_le64(hello->resume);
	return len;
}

/**
 * farswap_wire_map() - build a MAP
 * @buf:	destination
 * @slab:	the client's name for the slab
 *
 * Return: its length.
 */
size_t farswap_wire_map(void *buf, u64 slab)
{
	struct farswap_map *msg = buf;
	size_t len = begin(buf, FARSWAP_MSG_MAP, sizeof(*msg));

	msg->slab = cpu_to_le64(slab);
	return len;
}

/**
 * farswap_wire_region_msg() - build an UNMAP, a DONE or a KEY
 * @buf:	destination
 * @type:	FARSWAP_MSG_UNMAP, FARSWAP_MSG_DONE or FARSWAP_MSG_KEY
 * @region:	the region
 *
 * Return: its length.
 */
size_t farswap_wire_region_msg(void *buf, u16 type, u64 region)
{
	struct farswap_region_msg *msg = buf;
	size_t len = begin(buf, type, sizeof(*msg));

	msg->region = cpu_to_le64(region);
	return len;
}

/**
 * farswap_wire_activity() - build an ACTIVITY
 * @buf:	destination
 * @region:	the queried regions
 * @pages:	their activities
 * @count:	number of regions, at most FARSWAP_ACTIVITY_REGIONS
 *
 * Return: its length.
 */
size_t farswap_wire_activity(void *buf, const u64 *region, const u32 *pages,
			     unsigned int count)
{
	struct farswap_activity *msg = buf;
	size_t len = begin(buf, FARSWAP_MSG_ACTIVITY, sizeof(*msg));
	unsigned int i;

	msg->count = cpu_to_le32(count);
	for (i = 0; i < count; i++) {
		msg->entry[i].region = cpu_to_le64(region[i]);
		msg->entry[i].pages = cpu_to_le32(pages[i]);
	}
	return len;
}

/**
 * farswap_wire_resume() - build a RESUME
 * @buf:	destination
 * @region:	regions that this client holds
 * @count:	number of regions, at most FARSWAP_RESUME_REGIONS; exactly that many if @more
 * @more:	another RESUME follows
 *
 * Return: its length.
 */
size_t farswap_wire_resume(void *buf, const u64 *region, unsigned int count,
			   bool more)
{
	struct farswap_resume *msg = buf;
	size_t len = begin(buf, FARSWAP_MSG_RESUME, sizeof(*msg));
	unsigned int i;

	msg->count = cpu_to_le32(count);
	msg->more = cpu_to_le32(more);
	for (i = 0; i < count; i++)
		msg->region[i] = cpu_to_le64(region[i]);
	return len;
}

/**
 * farswap_wire_set_seq() - set the sequence number of a message
 * @buf:	the message
 * @seq:	the number
 */
void farswap_wire_set_seq(void *buf, u32 seq)
{
	((struct farswap_hdr *)buf)->seq = cpu_to_le32(seq);
}
