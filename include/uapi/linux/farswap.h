/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The farswap control protocol, between a client (the kernel module) and a
 * donor (farswapd). This file alone defines the wire format; the message
 * exchanges are described in Documentation/mm/farswap/protocol.rst.
 *
 * Every field is little-endian and naturally aligned; there is no implicit
 * padding. Reserved fields are sent as zero and refused otherwise. Numbers are
 * never reused.
 */
#ifndef _UAPI_LINUX_FARSWAP_H
#define _UAPI_LINUX_FARSWAP_H

#include <linux/types.h>

#define FARSWAP_MAGIC			0x70777366U	/* "fswp" */
#define FARSWAP_VERSION			6
/* The oldest version that this one can speak. */
#define FARSWAP_VERSION_OLDEST		6
#define FARSWAP_PORT			9400

/* Receives that each side keeps posted on the control queue pair. */
#define FARSWAP_RECV_DEPTH		64
/* Unanswered messages that a side may have sent. */
#define FARSWAP_CREDITS			16
/* The longest message; every receive buffer has this size. */
#define FARSWAP_MSG_BYTES		512
/* Regions in one CHECK_ACTIVITY or ACTIVITY. */
#define FARSWAP_ACTIVITY_REGIONS	16
/* Regions in one RESUME. */
#define FARSWAP_RESUME_REGIONS		58
/*
 * Regions that a donor may query in a second; each PING counts as one. A client
 * ends a session with more than twice as many in a second of its own.
 */
#define FARSWAP_QUERIES_PER_SECOND		1024

#define FARSWAP_SLAB_BYTES_MIN		(2ULL << 20)
#define FARSWAP_SLAB_BYTES_MAX		(1ULL << 30)
/* Data queue pairs a session may have. */
#define FARSWAP_QUEUES_MAX		16
#define FARSWAP_NODE_BYTES		16
#define FARSWAP_AUTH_BYTES		32
#define FARSWAP_KEY_ID_BYTES		8
#define FARSWAP_MAC_BYTES		16
/* Sealing adds this to a message; the length in its header does not count it. */
#define FARSWAP_TAG_BYTES		16
/* The handshake's two messages, with payloads of 8 bytes. */
#define FARSWAP_AUTH_FIRST_BYTES	104
#define FARSWAP_AUTH_SECOND_BYTES	56

/* Features of farswap_connect and farswap_accept. Unknown ones are ignored. */
#define FARSWAP_FEATURE_SEALED		1	/* AUTH comes first; what follows is sealed */
#define FARSWAP_FEATURE_INVITED		2	/* with SEALED: the client introduces its key */

/* struct farswap_connect and farswap_accept begin with what version 5 had of them. */
#define FARSWAP_CONNECT_BYTES_OLD	24
#define FARSWAP_ACCEPT_BYTES_OLD	16

/* struct farswap_connect.kind */
#define FARSWAP_CONNECT_CONTROL		1
#define FARSWAP_CONNECT_DATA		2

/* struct farswap_hello.auth_kind; auth is zero. */
#define FARSWAP_AUTH_NONE		0	/* the network is trusted */
#define FARSWAP_AUTH_NOISE		1	/* Noise_IKpsk2_25519_ChaChaPoly_SHA256 */

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
#define FARSWAP_MSG_AUTH		18
#define FARSWAP_MSG_AUTHED		19
#define FARSWAP_MSG_MAX			19
/* A message with this bit in its type is ignored by a receiver that does not know it. */
#define FARSWAP_MSG_OPTIONAL		0x8000

/* struct farswap_welcome.resumed */
#define FARSWAP_RESUMED_NOT		0
#define FARSWAP_RESUMED_SAME_KEYS	1
#define FARSWAP_RESUMED_NEW_KEYS	2	/* another device: KEY queries each rkey */

/* Status of farswap_accept, farswap_welcome and farswap_mr_info; 9 was used once. */
#define FARSWAP_STATUS_OK		0
#define FARSWAP_STATUS_NO_MEMORY	1	/* no memory left to lend */
#define FARSWAP_STATUS_BAD_VERSION	2	/* see the version field */
#define FARSWAP_STATUS_BAD_SLAB_SIZE	3	/* see the slab_bytes field */
#define FARSWAP_STATUS_BAD_AUTH		4
#define FARSWAP_STATUS_BAD_SESSION	5	/* data queue pair of an unknown session */
#define FARSWAP_STATUS_BAD_MESSAGE	6
#define FARSWAP_STATUS_BUSY		7	/* too many clients or queue pairs */
#define FARSWAP_STATUS_LEAVING		8	/* the donor is shutting down */
#define FARSWAP_STATUS_SELF		10	/* in WELCOME only: the client is this machine */

/**
 * struct farswap_connect - private data of a connect request
 * @magic:	FARSWAP_MAGIC
 * @version:	FARSWAP_VERSION of the client
 * @kind:	FARSWAP_CONNECT_CONTROL or FARSWAP_CONNECT_DATA
 * @session:	for control 0, or the session to resume, as in HELLO; for data the
 *		session of WELCOME
 * @queue:	for data the number of the queue pair, from 0; for control 0
 * @oldest:	the oldest version that the client speaks, at most @version
 * @attempt:	number of this attempt to connect: the same in all its requests, and
 *		different in the next. So a late data request is not taken for one of
 *		the connection that resumes the session
 * @features:	FARSWAP_FEATURE_*
 * @reserved:	zero
 * @key_id:	the first bytes of the hash of the client's public key, or with
 *		FARSWAP_FEATURE_INVITED of the invitation's secret; zero without
 *		FARSWAP_FEATURE_SEALED, as is @mac
 * @mac:	MAC of this struct, with @mac zero, and of the client's queue pair number
 */
struct farswap_connect {
	__le32 magic;
	__le16 version;
	__le16 kind;
	__le64 session;
	__le16 queue;
	__le16 oldest;
	__le32 attempt;
	__le32 features;
	__u8 reserved[4];
	__u8 key_id[FARSWAP_KEY_ID_BYTES];
	__u8 mac[FARSWAP_MAC_BYTES];
};

/**
 * struct farswap_accept - private data of an accept and of a reject
 * @magic:	FARSWAP_MAGIC
 * @version:	FARSWAP_VERSION of the donor
 * @status:	FARSWAP_STATUS_OK in an accept, the reason in a reject
 * @features:	FARSWAP_FEATURE_* that the connection has
 * @reserved:	zero
 * @mac:	in an accept of a data queue pair of a sealed session, MAC of the request's @mac,
 *		of this struct with @mac zero, and of the donor's queue pair number
 */
struct farswap_accept {
	__le32 magic;
	__le16 version;
	__le16 status;
	__le32 features;
	__u8 reserved[4];
	__u8 mac[FARSWAP_MAC_BYTES];
};

/**
 * struct farswap_hdr - header of every message
 * @magic:	FARSWAP_MAGIC
 * @version:	FARSWAP_VERSION
 * @type:	FARSWAP_MSG_*
 * @length:	bytes of the whole message, this header included
 * @seq:	number of a request, chosen by the sender; the answer repeats it
 */
struct farswap_hdr {
	__le32 magic;
	__le16 version;
	__le16 type;
	__le32 length;
	__le32 seq;
};

/**
 * struct farswap_auth - client to donor, the first message of a sealed session
 * @hdr:	header
 * @noise:	the first message of the handshake; its payload is zero
 */
struct farswap_auth {
	struct farswap_hdr hdr;
	__u8 noise[FARSWAP_AUTH_FIRST_BYTES];
};

/**
 * struct farswap_authed - donor to client, answers AUTH
 * @hdr:	header
 * @noise:	the second message of the handshake; its payload is zero
 *
 * All messages after these two are sealed: the header in clear, the rest encrypted, and a tag
 * of FARSWAP_TAG_BYTES behind it.
 */
struct farswap_authed {
	struct farswap_hdr hdr;
	__u8 noise[FARSWAP_AUTH_SECOND_BYTES];
};

/**
 * struct farswap_hello - client to donor, the first message of a session, after AUTH
 * @hdr:	header
 * @node:	identity of the client's machine, the same after a reboot
 * @instance:	identity of the client's run, different each time the module is loaded. A
 *		farswapd that finds it in /sys/kernel/farswap/instance runs on the client
 * @slab_bytes:	size of a slab, a power of two
 * @queues:	number of data queue pairs the client wants to connect
 * @auth_kind:	FARSWAP_AUTH_NOISE if it is sealed, otherwise FARSWAP_AUTH_NONE
 * @grace_ms:	how long the donor keeps the session's regions when its connections
 *		fail, milliseconds; 0: not at all
 * @resume:	0, or the session of an earlier WELCOME to resume
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
 * @status:	FARSWAP_STATUS_*; unless OK the donor then disconnects
 * @queues:	number of data queue pairs the client may connect, at most as requested
 * @resumed:	FARSWAP_RESUMED_*: whether this is the session that HELLO named, with its
 *		regions; if so RESUME comes next
 * @node:	identity of the donor's machine
 * @instance:	identity of the donor's run, different each time farswapd starts
 * @slab_bytes:	size of the donor's regions
 * @session:	identifier for the data connections, and for a HELLO that resumes the
 *		session; hard to guess; unchanged when the session is resumed
 * @answers:	number of requests of the client, HELLO not counted, that the donor has
 *		answered in this session over all its connections; 0 in a new session
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
 * @mapped:	number of regions lent to this client
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
 * @slab:	the client's name for the slab, for network traces
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
 * @region:	the donor's name for the region, never reused in a run
 * @addr:	remote address of its first byte, never reused in a run
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
 * @region:	the region that the client will not access again
 *
 * Either message gives the region back. Neither is answered.
 */
struct farswap_region_msg {
	struct farswap_hdr hdr;
	__le64 region;
};

/**
 * struct farswap_evict - donor to client: give a region back
 * @hdr:	header
 * @region:	the region
 * @deadline_ms: milliseconds until the donor deregisters the region's MR
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
 * struct farswap_check_activity - donor to client: query the activity of regions
 * @hdr:	header
 * @count:	entries used in @region, 1 to FARSWAP_ACTIVITY_REGIONS
 * @reserved:	zero
 * @region:	the regions; zero from @count on
 */
struct farswap_check_activity {
	struct farswap_hdr hdr;
	__le32 count;
	__u8 reserved[4];
	__le64 region[FARSWAP_ACTIVITY_REGIONS];
};

/**
 * struct farswap_activity_entry - activity of one region
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
 * @count:	number of entries, as in the request; a region no longer held counts 0
 * @reserved:	zero
 * @entry:	the answers in the order of the request; zero from @count on
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
 * @count:	entries used in @region; all of them, unless this is the last RESUME
 * @more:	1 if another RESUME follows the answer, 0 if this is the last
 * @region:	the regions, each once; zero from @count on
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
 * @gone:	bitmap of the regions that the donor no longer has: bit 0 is the first
 *		region of the RESUME; zero from its count on
 */
struct farswap_resumed {
	struct farswap_hdr hdr;
	__le64 gone;
};

/**
 * struct farswap_keyed - donor to client, answers KEY (a struct farswap_region_msg)
 * @hdr:	header
 * @status:	FARSWAP_STATUS_OK; otherwise the donor no longer has the region
 * @rkey:	its current rkey; its address is unchanged
 * @region:	the region of the KEY
 */
struct farswap_keyed {
	struct farswap_hdr hdr;
	__le32 status;
	__le32 rkey;
	__le64 region;
};

/* QUERY_MEM, PING and PONG are a bare struct farswap_hdr. */

#endif /* _UAPI_LINUX_FARSWAP_H */
