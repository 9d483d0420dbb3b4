/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol: sessions with donors, control messages, requests, regions and resumption. It does
 * not know what carries it. That is a link, which makes connections, moves messages and pages, and
 * reports what arrives; verbs.h has the only one.
 *
 * A session is with one donor and lives from open to close. A connection is one attempt to connect
 * that session, successful or not, and is never revived. A region belongs to a connection and dies
 * with it, unless it moves to the next connection: see resume.c.
 *
 * Lock order, outermost first. None of these is held while waiting for the network:
 *
 *	a link's list of sessions (mutex): see port.c
 *	session->ops_lock	(mutex) callbacks of one session, one at a time
 *	  conn->lock		(process context) control messages and regions;
 *				an older connection's lock before a newer one's
 *	  flow->lock		(irq) I/O of one data queue
 *	    session->lock	(irq) state and current connection
 */
#ifndef FARSWAP_RDMA_PROTOCOL_H
#define FARSWAP_RDMA_PROTOCOL_H

#include <linux/completion.h>
#include <linux/farswap-transport.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "auth.h"
#include "wire.h"

/* Requests in flight at once; PING has a credit of its own. */
#define FARSWAP_RDMA_RPCS	(FARSWAP_CREDITS - 1)
/* Send buffers. The last ones are reserved for requests and answers: releases can't use them. */
#define FARSWAP_RDMA_SENDS	(4 * FARSWAP_CREDITS)
#define FARSWAP_RDMA_SENDS_KEPT	(3 * FARSWAP_CREDITS)
/* Messages that fit into a page, and pages of a link's buffers in one direction. */
#define FARSWAP_RDMA_PAGE_MSGS	(PAGE_SIZE / FARSWAP_MSG_BYTES)
#define FARSWAP_RDMA_RING_PAGES	DIV_ROUND_UP(FARSWAP_RDMA_SENDS, FARSWAP_RDMA_PAGE_MSGS)
/* The longest answer to a request of this side is WELCOME. */
#define FARSWAP_RDMA_ANSWER_BYTES	72
/* Samples kept of a queue's progress; ten are taken in one io_timeout_ms. */
#define FARSWAP_RDMA_MARKS	7
#define FARSWAP_RDMA_RPC_MS	1000

struct farswap_rdma_link_ops;

/**
 * enum farswap_rdma_state - states of a session
 * @FARSWAP_RDMA_IDLE:		no connection; the next attempt is scheduled
 * @FARSWAP_RDMA_CONNECTING:	an attempt is being made
 * @FARSWAP_RDMA_LIVE:		connected
 * @FARSWAP_RDMA_FAILING:	a live connection has died and is being taken down
 * @FARSWAP_RDMA_CLOSED:	closed for good
 * @FARSWAP_RDMA_STATES:	number of states
 */
enum farswap_rdma_state {
	FARSWAP_RDMA_IDLE,
	FARSWAP_RDMA_CONNECTING,
	FARSWAP_RDMA_LIVE,
	FARSWAP_RDMA_FAILING,
	FARSWAP_RDMA_CLOSED,
	FARSWAP_RDMA_STATES,
};

/**
 * struct farswap_session - a session with one donor, from open to close
 * @lock:	protects @state, @closing and @conn
 * @state:	written by farswap_rdma_session_set_state() only
 * @closing:	set by close; no new connection is begun
 * @link:	operations of the link
 * @entry:	in a list of the link
 * @conn:	the connection, from its first step to its retirement
 * @ops_lock:	held over each callback
 * @ops:	callbacks
 * @ctx:	first argument of the callbacks
 * @work:	connects, and retires what fail_work left; may wait for the network
 * @pause_ms:	pause before the next attempt; only @work and fail_work use it, one at a time
 * @accept_ms:	how long to wait for an accept; used by @work only
 * @last_logged: last reason that was logged; used by @work and fail_work
 * @log_limit:	rate limit of the log
 * @attempt:	number of the last connection; used by @work only
 * @proven:	pages are known to arrive, and not only messages: see the link's probe
 * @token:	identifier that the donor gave the last session, to resume it; @work only
 * @name:	name that the handshake gave the last session; @work only
 * @has_key:	the donor is authenticated, and messages are sealed
 * @donor_key:	public key of the donor
 * @nr_requests: requests sent in the donor's session over all its connections, HELLO not
 *		counted; protected by the lock of the current connection, as is @nr_answers
 * @nr_answers: how many of those were answered
 * @held:	while suspended, the connection whose regions wait to be resumed, with a
 *		reference; written under @ops_lock
 * @held_until:	jiffies; protected by @ops_lock. Counts from the first failure until the
 *		donor is healthy again
 * @grace_work:	gives the held regions up at @held_until
 * @send_page:	the link's send buffers, of each connection in turn. They are kept, because
 *		connecting again must not need memory that reclaim can't find
 * @recv_page:	receive buffers, kept for the same reason
 * @slab_bytes:	size of a region
 * @queues:	number of data queues wanted
 * @instance:	identity of this run
 * @node:	identity of this machine
 * @address:	address of the donor, as given to open
 */
struct farswap_session {
	spinlock_t lock;	/* @state, @closing, @conn */
	enum farswap_rdma_state state;
	bool closing;
	struct farswap_rdma_conn *conn;
	const struct farswap_rdma_link_ops *link;
	struct list_head entry;

	struct mutex ops_lock;	/* one callback at a time */
	const struct farswap_session_ops *ops;
	void *ctx;

	struct delayed_work work;
	unsigned int pause_ms;
	unsigned int accept_ms;
	char last_logged[192];
	struct ratelimit_state log_limit;

	u32 attempt;
	bool proven;
	u64 token;
	u64 name;
	bool has_key;
	u8 donor_key[FARSWAP_NOISE_KEY_BYTES];
	u64 nr_requests;
	u64 nr_answers;
	struct farswap_rdma_conn *held;
	unsigned long held_until;
	struct delayed_work grace_work;

	void *send_page[FARSWAP_RDMA_RING_PAGES];
	void *recv_page[FARSWAP_RDMA_RING_PAGES];
	u64 slab_bytes;
	unsigned int queues;
	u64 instance;
	u8 node[FARSWAP_NODE_BYTES];
	char address[];
};

/**
 * struct farswap_region - a mapped region of a donor's memory
 * @conn:	the connection that the region belongs to, with a reference. Changes under the
 *		locks of both connections; read under one of them, or under RCU
 * @addr:	remote address
 * @bytes:	length
 * @rkey:	remote key
 * @id:		the donor's name for the region
 * @evicted:	an EVICT has arrived; conn->lock
 * @evict_seq:	sequence number of that EVICT; conn->lock
 * @hash:	in conn->regions while the core holds the region; conn->lock
 * @entry:	in conn->releases until UNMAP or DONE is sent; conn->lock
 */
struct farswap_region {
	struct farswap_rdma_conn *conn;
	u64 addr;
	u32 bytes;
	u32 rkey;

	u64 id;
	bool evicted;
	u32 evict_seq;
	struct hlist_node hash;
	struct list_head entry;
};

/**
 * enum farswap_rdma_rpc_state - states of a request
 * @FARSWAP_RDMA_RPC_FREE:	unused
 * @FARSWAP_RDMA_RPC_WAITING:	sent; a task waits for the answer
 * @FARSWAP_RDMA_RPC_DONE:	answered; the task has not read the answer yet
 * @FARSWAP_RDMA_RPC_ABANDONED: sent; the task has given up waiting
 */
enum farswap_rdma_rpc_state {
	FARSWAP_RDMA_RPC_FREE,
	FARSWAP_RDMA_RPC_WAITING,
	FARSWAP_RDMA_RPC_DONE,
	FARSWAP_RDMA_RPC_ABANDONED,
};

/**
 * struct farswap_rdma_rpc - a request of this side; conn->lock protects it
 * @state:	state
 * @seq:	sequence number
 * @type:	type of the expected answer
 * @region:	for MAP: the region to fill in; owned by the call once it is abandoned
 * @abandoned_at: when the task gave up, jiffies
 * @answer:	the answer, when done
 */
struct farswap_rdma_rpc {
	enum farswap_rdma_rpc_state state;
	u32 seq;
	u16 type;
	struct farswap_region *region;
	unsigned long abandoned_at;
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
};

/**
 * struct farswap_rdma_flow - what became of the I/O of a data queue, counted by its link
 * @lock:	protects the fields below, and those that the link adds
 * @submitted:	I/Os accepted, by urgency
 * @completed:	I/Os completed, by urgency; each kind completes in order
 * @good:	an I/O has completed successfully
 * @mark:	past values of @submitted, one per sample
 */
struct farswap_rdma_flow {
	spinlock_t lock;	/* all fields below */
	u32 submitted[2];
	u32 completed[2];
	bool good;
	u32 mark[2][FARSWAP_RDMA_MARKS];
};

/**
 * struct farswap_rdma_conn - one connection with a donor; the first member of a link's own
 * @ref:	the session's reference, one more while it is held, and one for each region
 * @rcu:	frees it
 * @session:	session; valid while the connection is not dead
 * @attempt:	number of the connection, sent to the donor with each connect request
 * @error:	0, or why the connection is dead. Set once, by farswap_rdma_conn_fail();
 *		whatever posts checks it first
 * @why:	@error in words; static, set just after @error
 * @revoked:	the donor has refused an I/O, mostly because it revoked the region's key. @error
 *		may differ, when an event of the link came first
 * @resumed:	continues with the regions of an earlier connection; session->ops_lock
 * @quiet:	has been live, and all that was posted has completed
 * @regions_gone: the peer that answered is not the daemon that had the regions; set before @error
 * @refused:	0, or the -errno for the donor's refusal; used by session->work only
 * @revoked_unexplained: the previous connection failed by a revoked key, and the donor did
 *		not name the region; used by session->work only
 * @detail:	details of the failure, for the log; used by session->work only
 * @refusal:	contents of a reject; written before @error is set
 * @via:	name of the local device, for the log; set by the link
 * @wait:	waits for steps, answers, free calls and @error
 * @auth:	keys; auth.sealed is set, and auth.keys.send is used, under @lock
 * @sealed_copy: the message that is being sent, sealed; @lock
 * @welcome:	the donor's WELCOME; written before the connection is live
 * @live_since:	when the connection became live, jiffies
 * @open:	I/O and releases may be posted: it is, or was, live; set under @lock
 * @fail_work:	ends a live connection: I/O first; never waits for the network
 * @tick:	keep-alive and watchdog
 * @next_mark:	when the next sample is due, jiffies; used by @tick only, as is @nr_marks
 * @nr_marks:	samples taken
 * @queries_since: start of the current count of the donor's queries, jiffies; used where messages
 *		arrive only, as are the next two
 * @nr_queries:	queries since then
 * @evict_requested: an EVICT has arrived
 * @lock:	protects the fields from @nr_sends to @ping_begun
 * @nr_sends:	messages that may be sent before one is acknowledged
 * @next_seq:	sequence number of the next request
 * @call:	requests in flight
 * @releases:	regions whose UNMAP or DONE is not sent yet
 * @nr_released: regions given back, minus the EVICTs that arrived for them afterwards
 * @regions:	regions that the core holds, by id
 * @ping_out:	a PING is in flight
 * @ping_unsent:	that PING waits for a buffer
 * @ping_seq:	its sequence number
 * @ping_begun:	when it was first tried, jiffies
 * @nr_queues:	number of connected data queues; fixed once the connection is live
 * @flow:	the I/O of each; set by the link
 */
struct farswap_rdma_conn {
	struct kref ref;
	struct rcu_head rcu;
	struct farswap_session *session;
	u32 attempt;
	int error;
	const char *why;
	bool revoked;
	bool resumed;
	bool quiet;
	bool regions_gone;
	int refused;
	bool revoked_unexplained;
	char detail[128];
	struct farswap_wire_answer refusal;
	const char *via;
	wait_queue_head_t wait;

	struct farswap_auth_state auth;
	u8 sealed_copy[FARSWAP_MSG_BYTES] __aligned(8);
	struct farswap_wire_welcome welcome;
	unsigned long live_since;
	bool open;
	struct work_struct fail_work;
	struct delayed_work tick;
	unsigned long next_mark;
	unsigned int nr_marks;
	unsigned long queries_since;
	unsigned int nr_queries;
	bool evict_requested;

	spinlock_t lock;	/* the fields down to @ping_begun */
	unsigned int nr_sends;
	u32 next_seq;
	struct farswap_rdma_rpc call[FARSWAP_RDMA_RPCS];
	struct list_head releases;
	unsigned int nr_released;
	DECLARE_HASHTABLE(regions, 7);
	bool ping_out;
	bool ping_unsent;
	u32 ping_seq;
	unsigned long ping_begun;

	unsigned int nr_queues;
	struct farswap_rdma_flow *flow[FARSWAP_QUEUES_MAX];
};

/**
 * struct farswap_rdma_link_ops - what carries the protocol
 * @alloc:	Allocate a connection that can have so many data queues, zeroed except for
 *		what the link needs in its own part, and flow. Freed by kvfree(). May sleep.
 *		NULL without memory.
 * @connect:	Connect the control queue of a new connection: messages can be sent and arrive.
 *		Sets @via. May sleep, seconds. 0 or -errno.
 * @connect_data: Connect the data queue @nr. conn->welcome is set. May sleep, seconds. 0 or
 *		-errno.
 * @probe:	Test whether pages arrive at the donor and come back, unless session->proven.
 *		Requests a region. All data queues are connected; nothing else uses them. May
 *		sleep, seconds. 0 or -errno.
 * @send:	Send a copy of a message. Called under conn->lock, for FARSWAP_RDMA_SENDS
 *		messages at most that farswap_rdma_message_sent() has not been called for. Process
 *		context; does not sleep. 0, or -errno to fail the connection with.
 * @quiesce:	Complete all that a dead connection has in flight, I/O first, because a message
 *		may have called the core, and the callback may wait for that I/O. On return
 *		nothing is being handled that has arrived, nor will be. Process context; waits
 *		for the local device, but not for the network.
 * @retire:	Destroy what a quiet connection has, after which it may be freed. May sleep.
 * @watch:	Call farswap_rdma_session_kick() when a session may be able to connect.
 * @unwatch:	Undo @watch. May sleep.
 *
 * After an error of @connect, @connect_data or @probe, @quiesce and @retire end what exists. The
 * link calls farswap_rdma_conn_fail() when the connection fails, and for each message that has
 * arrived farswap_rdma_message_received(). &struct farswap_transport.submit is the link's too.
 */
struct farswap_rdma_link_ops {
	struct farswap_rdma_conn *(*alloc)(unsigned int queues);
	int (*connect)(struct farswap_rdma_conn *conn);
	int (*connect_data)(struct farswap_rdma_conn *conn, unsigned int nr);
	int (*probe)(struct farswap_rdma_conn *conn);
	int (*send)(struct farswap_rdma_conn *conn, const void *msg, size_t len);
	void (*quiesce)(struct farswap_rdma_conn *conn);
	void (*retire)(struct farswap_rdma_conn *conn);
	void (*watch)(struct farswap_session *session);
	void (*unwatch)(struct farswap_session *session);
};

/* READs use the first queues, WRITEs the others. A single queue takes both. */
static inline unsigned int farswap_rdma_loads(unsigned int nr_queues)
{
	return nr_queues - nr_queues / 2;
}

/* Nothing may be posted on a dead connection, though its regions may move to another one. */
static inline bool farswap_rdma_conn_dead(const struct farswap_rdma_conn *conn)
{
	return unlikely(READ_ONCE(conn->error));
}

/* An I/O got no answer, perhaps because of its length: probe the next connection. */
static inline void farswap_rdma_probe_again(struct farswap_rdma_conn *conn)
{
	WRITE_ONCE(conn->session->proven, false);
}

/* conn.c */
extern struct workqueue_struct *farswap_rdma_wq;
extern struct workqueue_struct *farswap_rdma_connect_wq;
int farswap_rdma_conn_init(void);
void farswap_rdma_conn_exit(void);
bool farswap_rdma_session_set_state(struct farswap_session *session,
				    enum farswap_rdma_state state);
void farswap_rdma_session_failed(struct farswap_rdma_conn *conn);
bool farswap_rdma_session_closing(struct farswap_session *session);
bool farswap_rdma_session_is_live(struct farswap_session *session);
void farswap_rdma_session_kick(struct farswap_session *session, unsigned int ms);
struct farswap_rdma_conn *farswap_rdma_session_get_conn(struct farswap_session *session);
struct farswap_rdma_conn *farswap_rdma_session_get_live(struct farswap_session *session);
struct farswap_rdma_conn *farswap_rdma_conn_alloc(struct farswap_session *session);
void farswap_rdma_conn_put(struct farswap_rdma_conn *conn);
void farswap_rdma_conn_fail(struct farswap_rdma_conn *conn, int error,
			    const char *why);
int farswap_rdma_conn_send(struct farswap_rdma_conn *conn, const void *msg, size_t len);

/* region.c */
int farswap_rdma_region_query(struct farswap_session *session, u64 *free_bytes);
struct farswap_region *farswap_rdma_region_map(struct farswap_session *session,
					       u64 slab);
struct farswap_region *farswap_rdma_region_map_on(struct farswap_rdma_conn *conn, u64 slab);
void farswap_rdma_region_release(struct farswap_region *region);
void farswap_rdma_region_free(struct farswap_region *region);
u64 farswap_rdma_region_id(struct farswap_region *region);
struct farswap_region *farswap_rdma_region_find(struct farswap_rdma_conn *conn,
						u64 id);
const char *farswap_rdma_region_mapped(struct farswap_rdma_conn *conn,
				       struct farswap_region *region,
				       const struct farswap_wire_region *info);
int farswap_rdma_region_send_releases(struct farswap_rdma_conn *conn);

/* rpc.c */
int farswap_rdma_rpc_call(struct farswap_rdma_conn *conn, void *msg, size_t len,
			  u16 type, struct farswap_region *region, void *answer,
			   unsigned int timeout_ms);
bool farswap_rdma_rpc_overdue(struct farswap_rdma_conn *conn);
const char *farswap_rdma_rpc_answered(struct farswap_rdma_conn *conn,
				      const void *buf, size_t len);
void farswap_rdma_rpc_quiesce(struct farswap_rdma_conn *conn,
			      struct list_head *dead);

/* keyring.c */
int farswap_rdma_keyring_init(void);
void farswap_rdma_keyring_exit(void);
int farswap_rdma_keyring_read(u8 *secret);

/* message.c */
void farswap_rdma_message_received(struct farswap_rdma_conn *conn, void *buf, size_t len);
void farswap_rdma_message_sent(struct farswap_rdma_conn *conn);
void farswap_rdma_message_ping(struct farswap_rdma_conn *conn);
void farswap_rdma_message_open(struct farswap_rdma_conn *conn);
void farswap_rdma_message_flush(struct farswap_rdma_conn *conn);
void farswap_rdma_message_quiesce(struct farswap_rdma_conn *conn);

/* resume.c */
void farswap_rdma_resume_init(struct farswap_session *session);
void farswap_rdma_resume_exit(struct farswap_session *session);
bool farswap_rdma_resume_suspend(struct farswap_rdma_conn *conn);
void farswap_rdma_resume_lost(struct farswap_session *session, int error);
void farswap_rdma_resume_hello(struct farswap_session *session,
			       struct farswap_wire_greeting *hello);
int farswap_rdma_resume_claim(struct farswap_rdma_conn *conn, u64 requested);
bool farswap_rdma_resume_end(struct farswap_rdma_conn *conn);
void farswap_rdma_resume_set_grace(unsigned int ms);

/* keepalive.c */
void farswap_rdma_keepalive_init(struct farswap_rdma_conn *conn);
void farswap_rdma_keepalive_start(struct farswap_rdma_conn *conn);
void farswap_rdma_keepalive_stop(struct farswap_rdma_conn *conn);
void farswap_rdma_keepalive_set_io_timeout(unsigned int ms);
unsigned int farswap_rdma_keepalive_io_ms(void);

/* reason.c */
void farswap_rdma_reason_init(void);
void farswap_rdma_reason_exit(void);
void farswap_rdma_reason_count(const char *why);
const char *farswap_rdma_reason_cure(const char *why);

/* session.c */
struct farswap_session *farswap_rdma_session_open(const char *address,
						  const struct farswap_session_params *params,
						  const struct farswap_session_ops *ops,
						  void *ctx,
						  const struct farswap_rdma_link_ops *link,
						  unsigned int queues);
void farswap_rdma_session_close(struct farswap_session *session);

#endif /* FARSWAP_RDMA_PROTOCOL_H */
