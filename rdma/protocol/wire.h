/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's side of the wire format: messages are built, checked and read. Pure functions
 * from bytes to numbers, without verbs or allocation, so that they run in user space too.
 */
#ifndef FARSWAP_RDMA_WIRE_H
#define FARSWAP_RDMA_WIRE_H

#include <linux/types.h>
#include <uapi/linux/farswap.h>

/**
 * enum farswap_wire_fault - what is wrong with a received message
 * @FARSWAP_WIRE_OK:		nothing
 * @FARSWAP_WIRE_SHORT:		shorter than a header
 * @FARSWAP_WIRE_MAGIC:		not farswap
 * @FARSWAP_WIRE_VERSION:	different protocol version
 * @FARSWAP_WIRE_TYPE:		no such message
 * @FARSWAP_WIRE_LENGTH:	not the length of its type
 * @FARSWAP_WIRE_RESERVED:	a reserved or unused field is not zero
 * @FARSWAP_WIRE_VALUE:		a field is out of range
 * @FARSWAP_WIRE_IGNORE:	no fault: an optional message of a later version
 * @FARSWAP_WIRE_FAULTS:	number of faults
 */
enum farswap_wire_fault {
	FARSWAP_WIRE_OK,
	FARSWAP_WIRE_SHORT,
	FARSWAP_WIRE_MAGIC,
	FARSWAP_WIRE_VERSION,
	FARSWAP_WIRE_TYPE,
	FARSWAP_WIRE_LENGTH,
	FARSWAP_WIRE_RESERVED,
	FARSWAP_WIRE_VALUE,
	FARSWAP_WIRE_IGNORE,
	FARSWAP_WIRE_FAULTS,
};

/**
 * struct farswap_wire_greeting - contents of a HELLO
 * @node:	identity of this machine
 * @instance:	identity of this run
 * @slab_bytes:	size of a slab
 * @queues:	number of data queue pairs wanted
 * @grace_ms:	how long the donor keeps the regions when the connections fail
 * @resume:	0, or WELCOME's identifier of the session to resume
 * @sealed:	it is sent sealed, after a handshake
 */
struct farswap_wire_greeting {
	const u8 *node;
	u64 instance;
	u64 slab_bytes;
	u16 queues;
	u32 grace_ms;
	u64 resume;
	bool sealed;
};

/**
 * struct farswap_wire_welcome - contents of a WELCOME
 * @status:	FARSWAP_STATUS_*
 * @queues:	number of data queue pairs the client may connect
 * @resumed:	FARSWAP_RESUMED_*: whether the requested session is resumed
 * @node:	identity of the donor's machine
 * @instance:	identity of the donor's run
 * @slab_bytes:	size of the donor's regions
 * @session:	identifier that the data connections present
 * @answers:	number of requests the donor has answered in the session, HELLO not counted
 */
struct farswap_wire_welcome {
	u32 status;
	u16 queues;
	u16 resumed;
	u8 node[FARSWAP_NODE_BYTES];
	u64 instance;
	u64 slab_bytes;
	u64 session;
	u64 answers;
};

/**
 * struct farswap_wire_region - contents of an MR_INFO
 * @status:	FARSWAP_STATUS_*
 * @rkey:	remote key
 * @id:		the donor's name for the region
 * @addr:	remote address
 * @bytes:	length
 */
struct farswap_wire_region {
	u32 status;
	u32 rkey;
	u64 id;
	u64 addr;
	u64 bytes;
};

/**
 * struct farswap_wire_answer - private data of an accept or a reject
 * @version:	the donor's version
 * @status:	FARSWAP_STATUS_*
 * @sealed:	messages are sealed, after a handshake
 */
struct farswap_wire_answer {
	u16 version;
	u16 status;
	bool sealed;
};

/* wire.c: checking */
enum farswap_wire_fault farswap_wire_check(const void *buf, size_t len);
enum farswap_wire_fault farswap_wire_check_accept(const void *buf, size_t len,
						  struct farswap_wire_answer *answer);
const char *farswap_wire_fault_name(enum farswap_wire_fault fault);
const char *farswap_wire_status_name(u32 status);
int farswap_wire_status_errno(u32 status);

/* Reading: only messages that have passed farswap_wire_check(). */
u16 farswap_wire_type(const void *buf);
u32 farswap_wire_seq(const void *buf);
void farswap_wire_read_welcome(const void *buf, struct farswap_wire_welcome *welcome);
void farswap_wire_read_region(const void *buf, struct farswap_wire_region *region);
u64 farswap_wire_read_free_mem(const void *buf);
u64 farswap_wire_read_evict(const void *buf, u32 *deadline_ms);
unsigned int farswap_wire_read_check_activity(const void *buf, u64 *region);
u64 farswap_wire_read_resumed(const void *buf);
u32 farswap_wire_read_keyed(const void *buf, u64 *region, u32 *rkey);

/* wire-build.c: each function returns the message's length. */
size_t farswap_wire_connect(void *buf, u16 kind, u64 session, u16 queue,
			    u32 attempt);
size_t farswap_wire_auth(void *buf);
size_t farswap_wire_bare(void *buf, u16 type);
size_t farswap_wire_hello(void *buf, const struct farswap_wire_greeting *hello);
size_t farswap_wire_map(void *buf, u64 slab);
size_t farswap_wire_region_msg(void *buf, u16 type, u64 region);
size_t farswap_wire_activity(void *buf, const u64 *region, const u32 *pages,
			     unsigned int count);
size_t farswap_wire_resume(void *buf, const u64 *region, unsigned int count,
			   bool more);
void farswap_wire_set_seq(void *buf, u32 seq);

#endif /* FARSWAP_RDMA_WIRE_H */
