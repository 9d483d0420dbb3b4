/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the transport. A session is with one donor and lives from
 * open to close. A connection is one attempt to connect that session, successful or
 * not, and is never revived. A region belongs to a connection and dies with it, unless
 * it moves to the next connection: see resume.c.
 *
 * Lock order, outermost first. None of the five is held while waiting for the network:
 *
 *	port_lock		(mutex) list of sessions, parked connections: see port.c
 *	session->ops_lock	(mutex) callbacks of one session, one at a time
 *	  conn->lock		(process context) control messages and regions;
 *				an older connection's lock before a newer one's
 *	  queue->lock		(irq) I/O of one data queue
 *	    session->lock	(irq) state and current connection
 */
#ifndef FARSWAP_RDMA_INTERNAL_H
#define FARSWAP_RDMA_INTERNAL_H

#include <linux/completion.h>
#include <linux/farswap-transport.h>
#include <linux/hashtable.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "wire.h"

/* Requests in flight at once; PING has a credit of its own. */
#define FARSWAP_RDMA_RPCS	(FARSWAP_CREDITS - 1)
/* Send buffers. The last ones are reserved for requests and answers: releases can't use them. */
#define FARSWAP_RDMA_SENDS	(4 * FARSWAP_CREDITS)
#define FARSWAP_RDMA_SENDS_KEPT	(3 * FARSWAP_CREDITS)
/* Messages that fit into a page, and pages of a ring of buffers. */
#define FARSWAP_RDMA_PAGE_MSGS	(PAGE_SIZE / FARSWAP_MSG_BYTES)
#define FARSWAP_RDMA_RING_PAGES	DIV_ROUND_UP(FARSWAP_RDMA_SENDS, FARSWAP_RDMA_PAGE_MSGS)
/* The longest answer to a request of this side is WELCOME. */
#define FARSWAP_RDMA_ANSWER_BYTES	72
/* Samples kept of a queue's progress; ten are taken in one io_timeout_ms. */
#define FARSWAP_RDMA_MARKS	7
/* Limit of gather entries of one work request. */
#define FARSWAP_RDMA_SGES	32
#define FARSWAP_RDMA_RPC_MS	1000
/* The adapter retransmits an unacknowledged packet this many times. */
#define FARSWAP_RDMA_RETRIES	7
/* Limit for address and for route resolution. */
#define FARSWAP_RDMA_CM_MS	3000
/* The CM retransmits a lost message of its own after about 4.5 s. */
#define FARSWAP_RDMA_ACCEPT_MS	5500

/* Errors can only be injected into a function that is not inlined. */
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
#define farswap_rdma_injectable	noinline
#else
#define farswap_rdma_injectable
#endif

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
 * @entry:	in the list of port.c
 * @conn:	the connection, from its first step to its retirement
 * @ops_lock:	held over each callback
 * @ops:	callbacks
 * @ctx:	first argument of the callbacks
 * @work:	connects, and retires what fail_work left; waits for the CM
 * @pause_ms:	pause before the next attempt; only @work and fail_work use it, one at a time
 * @accept_ms:	how long to wait for an accept; used by @work only
 * @last_logged: last reason that was logged; used by @work and fail_work
 * @log_limit:	rate limit of the log
 * @attempt:	number of the last connection; used by @work only
 * @proven:	pages are known to arrive, and not only messages: see probe.c
 * @token:	identifier that the donor gave the last session, to resume it; @work only
 * @nr_requests: requests sent in the donor's session over all its connections, HELLO not
 *		counted; protected by the lock of the current connection, as is @nr_answers
 * @nr_answers: how many of those were answered
 * @held:	while suspended, the connection whose regions wait to be resumed, with a
 *		reference; written under @ops_lock
 * @held_until:	jiffies; protected by @ops_lock. Counts from the first failure until the
 *		donor is healthy again
 * @grace_work:	gives the held regions up at @held_until
 * @send_page:	send buffers of each of its connections. They are kept, because connecting
 *		again must not need memory that reclaim can't find
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
 * enum farswap_rdma_step - progress of a connect request
 * @FARSWAP_RDMA_STEP_NONE:		not started
 * @FARSWAP_RDMA_STEP_ADDR:		address resolved, bound to a device
 * @FARSWAP_RDMA_STEP_ROUTE:		route resolved
 * @FARSWAP_RDMA_STEP_ESTABLISHED:	accepted
 */
enum farswap_rdma_step {
	FARSWAP_RDMA_STEP_NONE,
	FARSWAP_RDMA_STEP_ADDR,
	FARSWAP_RDMA_STEP_ROUTE,
	FARSWAP_RDMA_STEP_ESTABLISHED,
};

/**
 * struct farswap_rdma_drain - the last work request of a queue
 * @cqe:	completion handler
 * @done:	completed when the work request is
 */
struct farswap_rdma_drain {
	struct ib_cqe cqe;
	struct completion done;
};

/**
 * struct farswap_rdma_chan - a queue pair with its CM identifier
 * @conn:	connection
 * @id:		CM identifier; NULL before it is created
 * @qp:		queue pair; NULL unless it exists
 * @cq:		completion queue of sends and receives
 * @notify:	the RDMA core's handler, which schedules the softirq that polls @cq
 * @notify_work: calls @notify from an interrupt
 * @drain:	last work requests of the send queue [0] and of the receive queue [1]
 * @step:	progress of the connect request; written by the CM's handler
 */
struct farswap_rdma_chan {
	struct farswap_rdma_conn *conn;
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	struct ib_cq *cq;
	void (*notify)(struct ib_cq *cq, void *context);
	struct irq_work notify_work;
	struct farswap_rdma_drain drain[2];
	enum farswap_rdma_step step;
};

/**
 * struct farswap_rdma_queue - a data queue
 * @chan:	its queue pair
 * @lock:	protects the fields below
 * @depth:	limit of posted work requests
 * @inflight:	posted work requests
 * @bulk:	posted work requests that are not urgent
 * @bulk_bytes:	bytes in those
 * @max_sges:	limit of gather entries of a work request
 * @posted:	first I/O of each posted work request, in the order posted
 * @backlog:	accepted I/Os that are not posted; [1] are urgent and go first. Empty unless
 *		something is posted or the connection is dead
 * @turn:	counts posts while both lists wait: each eighth post is not urgent
 * @submitted:	I/Os accepted, by urgency
 * @completed:	I/Os completed, by urgency; each kind completes in order
 * @good:	an I/O has completed successfully
 * @mark:	past values of @submitted, one per sample
 * @sges:	gather entries of the work request that is being posted; on the stack they
 *		would be cleared on each call
 */
struct farswap_rdma_queue {
	struct farswap_rdma_chan chan;

	spinlock_t lock;	/* all fields below */
	unsigned int depth;
	unsigned int inflight;
	unsigned int bulk;
	unsigned int bulk_bytes;
	unsigned int max_sges;
	struct list_head posted;
	struct list_head backlog[2];
	unsigned int turn;
	u32 submitted[2];
	u32 completed[2];
	bool good;
	u32 mark[2][FARSWAP_RDMA_MARKS];
	struct ib_sge sges[FARSWAP_RDMA_SGES];
};

/**
 * struct farswap_rdma_msg - a buffer of a ring
 * @conn:	connection
 * @cqe:	completion handler
 * @entry:	in conn->sends while unused
 */
struct farswap_rdma_msg {
	struct farswap_rdma_conn *conn;
	struct ib_cqe cqe;
	struct list_head entry;
};

/**
 * struct farswap_rdma_ring - mapped buffers of FARSWAP_MSG_BYTES
 * @page:	pages of the buffers; the session owns them
 * @dma:	DMA addresses of the pages
 * @nr_mapped:	number of pages that have a DMA address
 * @dir:	DMA direction
 * @count:	number of buffers
 * @msg:	state of each buffer
 */
struct farswap_rdma_ring {
	void **page;
	u64 dma[FARSWAP_RDMA_RING_PAGES];
	unsigned int nr_mapped;
	enum dma_data_direction dir;
	unsigned int count;
	struct farswap_rdma_msg msg[FARSWAP_RDMA_SENDS];
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
 * struct farswap_rdma_conn - one connection with a donor
 * @ref:	the session's reference, one more while it is held, and one for each region
 * @rcu:	frees it
 * @session:	session; valid while the connection is not dead
 * @attempt:	number of the connection, sent to the donor with each connect request
 * @error:	0, or why the connection is dead. Set once, by farswap_rdma_conn_fail();
 *		whatever posts checks it first
 * @why:	@error in words; static, set just after @error
 * @revoked:	the donor's adapter has refused an I/O, mostly because the region's MR was
 *		deregistered. @error may differ, when an adapter's event came first
 * @resumed:	continues with the regions of an earlier connection; session->ops_lock
 * @quiet:	has been live, and all that was posted has completed
 * @removed:	its device waits for its identifiers to be destroyed
 * @ifindex:	its network interface; 0 before the address is resolved
 * @parked:	in the list of port.c, when only its identifiers are left
 * @regions_gone: the peer that answered is not the daemon that had the regions; set before @error
 * @refused:	0, or the -errno for the donor's refusal; used by session->work only
 * @revoked_unexplained: the previous connection failed by a revoked rkey, and the donor did
 *		not name the region; used by session->work only
 * @detail:	details of the failure, for the log; used by session->work only
 * @refusal:	contents of a reject; written before @error is set
 * @wait:	waits for steps, answers, free calls and @error
 * @device:	device; NULL before the address is resolved
 * @rxe:	the device is soft RoCE; unlike @device valid after the connection is retired
 * @map_bytes:	most bytes that the device can map at once
 * @pd:		protection domain; NULL unless it exists
 * @welcome:	the donor's WELCOME; written before the connection is live
 * @live_since:	when the connection became live, jiffies
 * @open:	I/O and releases may be posted: it is, or was, live; set under @lock
 * @fail_work:	ends a live connection: I/O first; waits for no CM
 * @tick:	keep-alive and watchdog
 * @next_mark:	when the next sample is due, jiffies; used by @tick only, as is @nr_marks
 * @nr_marks:	samples taken
 * @queries_since: start of the current count of the donor's queries, jiffies; used by the
 *		handler of the control queue pair only, as are the next two
 * @nr_queries:	queries since then
 * @evict_requested: an EVICT has arrived
 * @control:	control queue pair
 * @lock:	protects the fields from @send to @ping_begun
 * @send:	send buffers
 * @recv:	receive buffers
 * @sends:	unused buffers of @send
 * @nr_sends:	number of unused buffers
 * @next_seq:	sequence number of the next request
 * @call:	requests in flight
 * @releases:	regions whose UNMAP or DONE is not sent yet
 * @nr_released: regions given back, minus the EVICTs that arrived for them afterwards
 * @regions:	regions that the core holds, by id
 * @ping_out:	a PING is in flight
 * @ping_unsent:	that PING waits for a buffer
 * @ping_seq:	its sequence number
 * @ping_begun:	when it was first tried, jiffies
 * @soft:	the adapter is software: it completes in a task, not in an interrupt
 * @urgent_at:	when the last READ that a task waits for was submitted, jiffies
 * @nr_queues:	number of connected data queues; fixed once the connection is live
 * @nr_chans:	number of entries in @queue
 * @queue:	data queues, as many as the session wants
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
	bool removed;
	int ifindex;
	struct list_head parked;
	bool regions_gone;
	int refused;
	bool revoked_unexplained;
	char detail[128];
	struct farswap_wire_answer refusal;
	wait_queue_head_t wait;

	struct ib_device *device;
	bool rxe;
	unsigned int map_bytes;
	struct ib_pd *pd;
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

	struct farswap_rdma_chan control;
	spinlock_t lock;	/* the fields down to @ping_begun */
	struct farswap_rdma_ring send;
	struct farswap_rdma_ring recv;
	struct list_head sends;
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

	bool soft;
	unsigned long urgent_at;
	unsigned int nr_queues;
	unsigned int nr_chans;
	struct farswap_rdma_queue queue[];
};

/* READs use the first queues, WRITEs the others. A single queue takes both. */
static inline unsigned int farswap_rdma_loads(unsigned int nr_queues)
{
	return nr_queues - nr_queues / 2;
}

/* session.c */
struct farswap_session *farswap_rdma_session_open(const char *address,
						  const struct farswap_session_params *params,
						  const struct farswap_session_ops *ops,
						  void *ctx, unsigned int queues);
void farswap_rdma_session_close(struct farswap_session *session);

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

/* link.c */
struct farswap_rdma_conn *farswap_rdma_link_alloc(struct farswap_session *session);
int farswap_rdma_link_connect(struct farswap_rdma_conn *conn);
int farswap_rdma_link_connect_data(struct farswap_rdma_conn *conn, unsigned int nr);
void farswap_rdma_link_quiesce(struct farswap_rdma_conn *conn);
void farswap_rdma_link_retire(struct farswap_rdma_conn *conn);

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
void farswap_rdma_conn_put(struct farswap_rdma_conn *conn);
void farswap_rdma_conn_fail(struct farswap_rdma_conn *conn, int error,
			    const char *why);

/* Nothing may be posted on a dead connection, though its regions may move to another one. */
static inline bool farswap_rdma_conn_dead(const struct farswap_rdma_conn *conn)
{
	return unlikely(READ_ONCE(conn->error));
}

/* cm.c */
int farswap_rdma_chan_resolve(struct farswap_rdma_chan *chan);
unsigned int farswap_rdma_chan_next_vector(const struct ib_device *device, bool loads);
int farswap_rdma_chan_create_qp(struct farswap_rdma_chan *chan, u32 max_sends,
				u32 max_sges, u32 max_recvs, unsigned int vector,
				enum ib_poll_context poll);
int farswap_rdma_chan_connect(struct farswap_rdma_chan *chan, u16 kind, u64 session,
			      u16 number);
void farswap_rdma_chan_stop(struct farswap_rdma_chan *chan);
void farswap_rdma_chan_drain(struct farswap_rdma_chan *chan);
void farswap_rdma_chan_destroy_qp(struct farswap_rdma_chan *chan);

/* probe.c */
int farswap_rdma_probe(struct farswap_rdma_conn *conn);

/* An I/O got no answer, perhaps because of its length: probe the next connection. */
static inline void farswap_rdma_probe_again(struct farswap_rdma_conn *conn)
{
	WRITE_ONCE(conn->session->proven, false);
}

/* port.c */
int farswap_rdma_port_init(void);
void farswap_rdma_port_exit(void);
bool farswap_rdma_port_is_ready(const struct rdma_cm_id *id);
bool farswap_rdma_port_is_lost(const struct rdma_cm_id *id);
void farswap_rdma_port_release(struct farswap_rdma_conn *conn);
void farswap_rdma_port_removed(struct farswap_rdma_conn *conn);
void farswap_rdma_port_watch(struct farswap_session *session);
void farswap_rdma_port_unwatch(struct farswap_session *session);

/* control.c */
int farswap_rdma_control_create(struct farswap_rdma_conn *conn);
void farswap_rdma_control_destroy(struct farswap_rdma_conn *conn);
void farswap_rdma_control_quiesce(struct farswap_rdma_conn *conn);
int farswap_rdma_control_send(struct farswap_rdma_conn *conn, const void *msg,
			      size_t len);
void farswap_rdma_control_answer(struct farswap_rdma_conn *conn, void *msg,
				 size_t len, u32 seq);
void farswap_rdma_control_ping(struct farswap_rdma_conn *conn);
void farswap_rdma_control_release(struct farswap_rdma_conn *conn);
void farswap_rdma_control_open(struct farswap_rdma_conn *conn);
void farswap_rdma_control_flush(struct farswap_rdma_conn *conn);

/* rpc.c */
int farswap_rdma_rpc_call(struct farswap_rdma_conn *conn, void *msg, size_t len,
			  u16 type, struct farswap_region *region, void *answer,
			   unsigned int timeout_ms);
bool farswap_rdma_rpc_overdue(struct farswap_rdma_conn *conn);
const char *farswap_rdma_rpc_answered(struct farswap_rdma_conn *conn,
				      const void *buf, size_t len);
void farswap_rdma_rpc_quiesce(struct farswap_rdma_conn *conn,
			      struct list_head *dead);

/* message.c */
void farswap_rdma_message_handle(struct farswap_rdma_conn *conn, const void *buf);

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

/* reason.c */
void farswap_rdma_reason_init(void);
void farswap_rdma_reason_exit(void);
void farswap_rdma_reason_count(const char *why);

/* io.c */
void farswap_rdma_io_prepare(void);
void farswap_rdma_io_init(struct farswap_rdma_queue *queue);
int farswap_rdma_io_submit(struct farswap_io *io);
void farswap_rdma_io_flush_backlog(struct farswap_rdma_queue *queue);
void farswap_rdma_io_end(struct farswap_rdma_queue *queue);

/* keepalive.c */
void farswap_rdma_keepalive_init(struct farswap_rdma_conn *conn);
void farswap_rdma_keepalive_start(struct farswap_rdma_conn *conn);
void farswap_rdma_keepalive_set_io_timeout(unsigned int ms);
u8 farswap_rdma_keepalive_ack_timeout(bool exact);
unsigned long farswap_rdma_keepalive_io_jiffies(void);

#endif /* FARSWAP_RDMA_INTERNAL_H */
