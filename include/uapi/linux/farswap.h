/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The farswap control protocol, between a client (the kernel module) and a
 * donor (farswapd). The only definition of the wire; the prose and the message
 * ladders are in Documentation/mm/farswap/protocol.rst.
 *
 * Every field is little-endian and naturally aligned; there is no implicit
 * padding. Reserved fields are sent as zero and refused otherwise. Numbers are
 * never reused.
 */
#ifndef _UAPI_LINUX_FARSWAP_H
#define _UAPI_LINUX_FARSWAP_H

#include <linux/types.h>

#define FARSWAP_MAGIC			0x70777366U	/* "fswp" */
#define FARSWAP_VERSION			5
#define FARSWAP_PORT			9400

/* Receives that each side keeps posted on the control queue pair. */
#define FARSWAP_RECV_DEPTH		64
/* Messages a side may have sent that the other has not answered yet. */
#define FARSWAP_CREDITS			16
/* No message is longer; every receive buffer has this size. */
#define FARSWAP_MSG_BYTES		512
/* Regions in one CHECK_ACTIVITY or ACTIVITY. */
#define FARSWAP_ACTIVITY_REGIONS	16
/* Regions in one RESUME. */
#define FARSWAP_RESUME_REGIONS		60
/*
 * Regions that a donor may ask about in a second; each PING counts as one. A client
 * ends a session with more than twice as many in a second of its own.
 */
#define FARSWAP_QUERIES_PER_SECOND		1024

#define FARSWAP_SLAB_BYTES_MIN		(2ULL << 20)
#define FARSWAP_SLAB_BYTES_MAX		(1ULL << 30)
/* Data queue pairs a session may have. */
#define FARSWAP_QUEUES_MAX		16
#define FARSWAP_NODE_BYTES		16
#define FARSWAP_AUTH_BYTES		32

/* struct farswap_connect.kind */
#define FARSWAP_CONNECT_CONTROL		1
#define FARSWAP_CONNECT_DATA		2

/* struct farswap_hello.auth_kind: the network is trusted; auth is zero. */
#define FARSWAP_AUTH_NONE		0

/* struct farswap_hdr.type */
#define FARSWAP_MSG_HELLO		1
#define FARSWAP_MSG_WELCOME		2
#define FARSWAP_MSG_QUERY_MEM		3
#define FARSWAP_MSG_FREE_MEM		4
#define FARSWAP_MSG_MAP			5
#define FARSWAP_MSG_MR_INFO		6
#define FARSWAP_MSG_UNMAP		7
#define FARSWAP_MSG_EVICT		8
#define FARSWAP_MSG_DONE		9
#define FARSWAP_MSG_CHECK_ACTIVITY	10
#define FARSWAP_MSG_ACTIVITY		11
#define FARSWAP_MSG_PING		12
#define FARSWAP_MSG_PONG		13
#define FARSWAP_MSG_RESUME		14
#define FARSWAP_MSG_RESUMED		15
#define FARSWAP_MSG_KEY			16
#define FARSWAP_MSG_KEYED		17
#define FARSWAP_MSG_MAX			17

/* struct farswap_welcome.resumed */
#define FARSWAP_RESUMED_NOT		0
#define FARSWAP_RESUMED_SAME_KEYS	1
#define FARSWAP_RESUMED_NEW_KEYS	2	/* another device: KEY asks for each */

/* The status of farswap_accept, farswap_welcome and farswap_mr_info; 9 was used once */
#define FARSWAP_STATUS_OK		0
#define FARSWAP_STATUS_NO_MEMORY	1	/* nothing left to lend */
#define FARSWAP_STATUS_BAD_VERSION	2	/* see the version beside it */
#define FARSWAP_STATUS_BAD_SLAB_SIZE	3	/* see the slab_bytes beside it */
#define FARSWAP_STATUS_BAD_AUTH		4
#define FARSWAP_STATUS_BAD_SESSION	5	/* a data queue pair of no session */
#define FARSWAP_STATUS_BAD_MESSAGE	6
#define FARSWAP_STATUS_BUSY		7	/* too many clients or queue pairs */
#define FARSWAP_STATUS_LEAVING		8	/* the donor is shutting down */
#define FARSWAP_STATUS_SELF		10	/* in WELCOME only: the client is this machine */

/**
 * struct farswap_connect - private data of a connect request
 * @magic:	FARSWAP_MAGIC
 * @version:	FARSWAP_VERSION of the client
 * @kind:	FARSWAP_CONNECT_CONTROL or FARSWAP_CONNECT_DATA
 * @session:	for control 0, or the session to be resumed, as in HELLO; for data the
 *		session WELCOME gave
 * @queue:	0 for control; for data the queue pair's number, from 0
 * @reserved:	zero
 * @attempt:	the client's number for this attempt to connect, the same in all its
 *		requests and another in the next: a data request that comes late is
 *		not taken for one of the connection that resumes the session
 */
struct farswap_connect {
	__le32 magic;
	__le16 version;
	__le16 kind;
	__le64 session;
	__le16 queue;
	__u8 reserved[2];
	__le32 attempt;
};

/**
 * struct farswap_accept - private data of an accept and of a reject
 * @magic:	FARSWAP_MAGIC
 * @version:	FARSWAP_VERSION of the donor
 * @status:	FARSWAP_STATUS_OK in an accept, the reason in a reject
 * @reserved:	zero
 */
struct farswap_accept {
	__le32 magic;
	__le16 version;
	__le16 status;
	__u8 reserved[8];
};

/**
 * struct farswap_hdr - what every message begins with
 * @magic:	FARSWAP_MAGIC
 * @version:	FARSWAP_VERSION
 * @type:	FARSWAP_MSG_*
 * @length:	bytes of the whole message, this header included
 * @seq:	a request's number, the sender's choice; its answer repeats it
 */
struct farswap_hdr {
	__le32 magic;
	__le16 version;
	__le16 type;
	__le32 length;
	__le32 seq;
};

/**
 * struct farswap_hello - client to donor, the first message of a session
 * @hdr:	header
 * @node:	the client's machine, the same over reboots
 * @instance:	the client's run, another each time its module is loaded; a farswapd that
 *		finds it in /sys/kernel/farswap/instance runs on the client itself
 * @slab_bytes:	size of a slab, a power of two
 * @queues:	data queue pairs the client will connect
 * @auth_kind:	FARSWAP_AUTH_NONE
 * @grace_ms:	how long the session's regions are to be kept when its connections
 *		fail, milliseconds; 0: not at all
 * @resume:	0, or the session WELCOME gave whose regions are to be kept on
 * @auth:	zero
 */
struct farswap_hello {
	struct farswap_hdr hdr;
	__u8 node[FARSWAP_NODE_BYTES];
	__le64 instance;
	__le64 slab_bytes;
	__le16 queues;
	__le16 auth_kind;
	__le32 grace_ms;
	__le64 resume;
	__u8 auth[FARSWAP_AUTH_BYTES];
};

/**
 * struct farswap_welcome - donor to client, answers HELLO
 * @hdr:	header
 * @status:	FARSWAP_STATUS_*; unless OK the donor disconnects next
 * @queues:	data queue pairs the client may connect, at most what it asked
 * @resumed:	FARSWAP_RESUMED_*: whether this is the session that HELLO asked for, with
 *		its regions; then RESUME comes next
 * @node:	the donor's machine
 * @instance:	the donor's run, another each time farswapd starts
 * @slab_bytes:	size of the donor's regions
 * @session:	what the data connections present, and HELLO to resume; hard to
 *		guess; stays the same when it is resumed
 * @answers:	how many requests of the client, HELLO aside, the donor has answered in
 *		this session, whatever the connection; 0 for another than was asked for
 */
struct farswap_welcome {
	struct farswap_hdr hdr;
	__le32 status;
	__le16 queues;
	__le16 resumed;
	__u8 node[FARSWAP_NODE_BYTES];
	__le64 instance;
	__le64 slab_bytes;
	__le64 session;
	__le64 answers;
};

/**
 * struct farswap_free_mem - donor to client, answers QUERY_MEM
 * @hdr:	header
 * @free_bytes:	memory the donor can still lend
 * @mapped:	regions this client holds here
 * @reserved:	zero
 */
struct farswap_free_mem {
	struct farswap_hdr hdr;
	__le64 free_bytes;
	__le32 mapped;
	__u8 reserved[4];
};

/**
 * struct farswap_map - client to donor: lend a region
 * @hdr:	header
 * @slab:	the client's name for the slab, for who watches the wire
 */
struct farswap_map {
	struct farswap_hdr hdr;
	__le64 slab;
};

/**
 * struct farswap_mr_info - donor to client, answers MAP
 * @hdr:	header
 * @status:	FARSWAP_STATUS_*; unless OK the rest is zero
 * @rkey:	remote key
 * @region:	the donor's name for the region, never used twice in a run
 * @addr:	remote address of its first byte, never used twice in a run
 * @bytes:	its length, the slab size
 */
struct farswap_mr_info {
	struct farswap_hdr hdr;
	__le32 status;
	__le32 rkey;
	__le64 region;
	__le64 addr;
	__le64 bytes;
};

/**
 * struct farswap_region_msg - UNMAP and DONE, client to donor
 * @hdr:	header; DONE repeats the seq of the EVICT
 * @region:	the region the client will not touch any more
 *
 * Either gives the region back; neither is answered.
 */
struct farswap_region_msg {
	struct farswap_hdr hdr;
	__le64 region;
};

/**
 * struct farswap_evict - donor to client: give a region back
 * @hdr:	header
 * @region:	the region
 * @deadline_ms: milliseconds until the donor kills the region's key
 * @reserved:	zero
 *
 * Answered with DONE. A client that has just sent UNMAP for the region need
 * not answer.
 */
struct farswap_evict {
	struct farswap_hdr hdr;
	__le64 region;
	__le32 deadline_ms;
	__u8 reserved[4];
};

/**
 * struct farswap_check_activity - donor to client: how busy are these regions
 * @hdr:	header
 * @count:	how many of @region are meant, 1 to FARSWAP_ACTIVITY_REGIONS
 * @reserved:	zero
 * @region:	the regions; zero past @count
 */
struct farswap_check_activity {
	struct farswap_hdr hdr;
	__le32 count;
	__u8 reserved[4];
	__le64 region[FARSWAP_ACTIVITY_REGIONS];
};

/**
 * struct farswap_activity_entry - one region's activity
 * @region:	the region
 * @pages:	page I/Os a second, the client's moving average, rounded up
 * @reserved:	zero
 */
struct farswap_activity_entry {
	__le64 region;
	__le32 pages;
	__u8 reserved[4];
};

/**
 * struct farswap_activity - client to donor, answers CHECK_ACTIVITY
 * @hdr:	header
 * @count:	entries, as in the request; a region no longer held counts 0
 * @reserved:	zero
 * @entry:	the answers in the order asked; zero past @count
 */
struct farswap_activity {
	struct farswap_hdr hdr;
	__le32 count;
	__u8 reserved[4];
	struct farswap_activity_entry entry[FARSWAP_ACTIVITY_REGIONS];
};

/**
 * struct farswap_resume - client to donor: the regions it still holds
 * @hdr:	header
 * @count:	how many of @region are meant: all of them unless it is the last
 * @more:	1 if another RESUME follows the answer, 0 if this is the last
 * @region:	the regions, each named once; zero past @count
 */
struct farswap_resume {
	struct farswap_hdr hdr;
	__le32 count;
	__le32 more;
	__le64 region[FARSWAP_RESUME_REGIONS];
};

/**
 * struct farswap_resumed - donor to client, answers RESUME
 * @hdr:	header
 * @gone:	those of the regions that it has no more, a bit for each in the order in
 *		which RESUME named them, the lowest first; zero past its count
 */
struct farswap_resumed {
	struct farswap_hdr hdr;
	__le64 gone;
};

/**
 * struct farswap_keyed - donor to client, answers KEY, a struct farswap_region_msg
 * @hdr:	header
 * @status:	FARSWAP_STATUS_OK, or the region is gone
 * @rkey:	its key now; its address is the same as before
 * @region:	the region that KEY named
 */
struct farswap_keyed {
	struct farswap_hdr hdr;
	__le32 status;
	__le32 rkey;
	__le64 region;
};

/* QUERY_MEM, PING and PONG are a bare struct farswap_hdr. */

#endif /* _UAPI_LINUX_FARSWAP_H */
