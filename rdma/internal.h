/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the transport's files share. A session is with one donor and lives from
 * open to close; a connection is one attempt of it, successful or not, and is
 * never revived. Regions belong to a connection and are dead when it is, but may
 * go over to another: see resume.c.
 *
 * Lock order, outermost first; all five are never held while sleeping for the
 * network:
 *
 *	port_lock		(mutex) all sessions, and what is parked: see port.c
 *	session->ops_lock	(mutex) callbacks of one session, one at a time
 *	  conn->lock		(process context) control messages and regions;
 *				an older connection's before a newer one's
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

/* Requests we may have out, a PING aside. */
#define FARSWAP_RDMA_CALLS	(FARSWAP_CREDITS - 1)
/* Send buffers; that many are kept for requests and answers, not releases. */
#define FARSWAP_RDMA_SENDS	(4 * FARSWAP_CREDITS)
#define FARSWAP_RDMA_SENDS_KEPT	(3 * FARSWAP_CREDITS)
/* Messages in a page, and pages of a ring. */
#define FARSWAP_RDMA_PAGE_MSGS	(PAGE_SIZE / FARSWAP_MSG_BYTES)
#define FARSWAP_RDMA_RING_PAGES	DIV_ROUND_UP(FARSWAP_RDMA_SENDS, FARSWAP_RDMA_PAGE_MSGS)
/* Longest answer to a request of ours: WELCOME. */
#define FARSWAP_RDMA_ANSWER_BYTES	72
/* Samples of a queue's progress that are kept, of the ten in one io_timeout_ms. */
#define FARSWAP_RDMA_MARKS	7
/* Gather entries of a work request, at most. */
#define FARSWAP_RDMA_SGES	32
#define FARSWAP_RDMA_CALL_MS	1000
/* How often an adapter sends again what nobody acknowledges. */
#define FARSWAP_RDMA_RETRIES	7
/* To find the address, and the route. */
#define FARSWAP_RDMA_CM_MS	3000
/* The CM sends again what was lost of its own after some 4.5 s. */
#define FARSWAP_RDMA_ACCEPT_MS	5500

/* Errors can be injected into what is a function of its own only. */
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
#define farswap_rdma_injectable	noinline
#else
#define farswap_rdma_injectable
#endif

/**
 * enum farswap_rdma_state - of a session
 * @FARSWAP_RDMA_IDLE:		no connection; the next attempt is due later
 * @FARSWAP_RDMA_CONNECTING:	an attempt is being made
 * @FARSWAP_RDMA_LIVE:		connected
 * @FARSWAP_RDMA_FAILING:	a live connection is dead and being taken down
 * @FARSWAP_RDMA_CLOSED:	for good
 * @FARSWAP_RDMA_STATES:	how many there are
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
 * struct farswap_session - what the core opened: a donor, for ever
 * @lock:	protects @state, @closing and @conn
 * @state:	written by farswap_rdma_session_set_state() only
 * @closing:	no new connection
 * @entry:	in port.c's list
 * @conn:	the connection, from its first step to its retirement
 * @ops_lock:	held over each callback
 * @ops:	callbacks
 * @ctx:	their first argument
 * @work:	connects, and retires what fail_work left; waits for the CM
 * @pause_ms:	before the next attempt; @work's and fail_work's, one at a time
 * @accept_ms:	how long to wait for an accept; @work's
 * @said:	last reason put in the log; likewise
 * @says:	how often something is
 * @attempt:	number of the last connection; @work's
 * @token:	what the donor called the last session, to resume it; @work's
 * @asked:	requests sent in the donor's session, over all its connections, HELLO
 *		aside; of one connection at a time, under its lock, as the next
 * @answered:	those of them that were answered
 * @held:	while suspended: the connection whose regions are to be resumed, a
 *		reference; written under @ops_lock
 * @held_until:	jiffies; @ops_lock. Of the first silence, until the donor is well again
 * @grace_work:	gives them up then
 * @send_page:	where each of its connections has its send buffers: connecting again must not need
 *		memory that reclaim can't find
 * @recv_page:	likewise receive buffers
 * @slab_bytes:	size of a region
 * @queues:	data queues wanted
 * @instance:	this run's identity
 * @node:	this machine's
 * @address:	the donor's, as it was given
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
	char said[192];
	struct ratelimit_state says;

	u32 attempt;
	u64 token;
	u64 asked;
	u64 answered;
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
 * struct farswap_region - a donor's memory, mapped
 * @conn:	the connection it belongs to; a reference. Changes under the locks of
 *		both; read under one of them, or under RCU
 * @addr:	remote address
 * @bytes:	length
 * @rkey:	remote key
 * @id:		the donor's name for it
 * @evicted:	an EVICT has come; conn->lock
 * @evict_seq:	its number; conn->lock
 * @hash:	in conn->regions while it is the core's; conn->lock
 * @entry:	in conn->releases while UNMAP or DONE is to be sent; conn->lock
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
 * enum farswap_rdma_step - how far a connect request has got
 * @FARSWAP_RDMA_STEP_NONE:		nowhere
 * @FARSWAP_RDMA_STEP_ADDR:		bound to a device
 * @FARSWAP_RDMA_STEP_ROUTE:		the way is known
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
 * @cqe:	completion
 * @done:	it has completed
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
 * @cq:		its completion queue, of sends and receives
 * @notify:	the RDMA core's, which has a softirq poll @cq
 * @notify_work: calls it from an interrupt
 * @drain:	of the sends, and of the receives
 * @step:	how far it has got; written by the CM's handler
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
 * @lock:	protects what follows
 * @depth:	work requests that may be posted
 * @inflight:	work requests that are
 * @bulk:	of those, the ones that are not urgent
 * @bulk_bytes:	in all of these
 * @max_sges:	I/Os that one may have
 * @posted:	the first I/Os of those that are, in the order posted
 * @backlog:	accepted but not posted; [1] are the urgent ones and go ahead.
 *		Not empty only while something is posted, or the connection dead
 * @turn:	counts posts while both wait: each eighth is not urgent
 * @submitted:	I/Os accepted, by urgency
 * @completed:	of those, how many have completed; each kind does so in order
 * @good:	one has completed well
 * @mark:	past values of @submitted, one a sample
 * @sges:	of the work request that is just being posted; on a stack they would be
 *		cleared each time
 */
struct farswap_rdma_queue {
	struct farswap_rdma_chan chan;

	spinlock_t lock;	/* all that follows */
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
 * @cqe:	completion
 * @entry:	in conn->sends while unused
 */
struct farswap_rdma_msg {
	struct farswap_rdma_conn *conn;
	struct ib_cqe cqe;
	struct list_head entry;
};

/**
 * struct farswap_rdma_ring - mapped buffers of FARSWAP_MSG_BYTES
 * @page:	their pages, the session's
 * @dma:	the pages' addresses for the device
 * @nr_mapped:	pages that have one
 * @dir:	direction
 * @count:	how many buffers
 * @msg:	what goes with each
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
 * enum farswap_rdma_call_state - of a request
 * @FARSWAP_RDMA_CALL_FREE:	none
 * @FARSWAP_RDMA_CALL_WAITING:	sent; someone waits for the answer
 * @FARSWAP_RDMA_CALL_DONE:	answered; the waiter has still to look
 * @FARSWAP_RDMA_CALL_ABANDONED: sent; nobody waits any more
 */
enum farswap_rdma_call_state {
	FARSWAP_RDMA_CALL_FREE,
	FARSWAP_RDMA_CALL_WAITING,
	FARSWAP_RDMA_CALL_DONE,
	FARSWAP_RDMA_CALL_ABANDONED,
};

/**
 * struct farswap_rdma_call - a request of ours
 * @state:	of it; protected by conn->lock, as all of it
 * @seq:	its number
 * @type:	type of its answer
 * @region:	for MAP: what the answer is about; the call's when abandoned
 * @abandoned_at: jiffies
 * @answer:	the answer, when done
 */
struct farswap_rdma_call {
	enum farswap_rdma_call_state state;
	u32 seq;
	u16 type;
	struct farswap_region *region;
	unsigned long abandoned_at;
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
};

/**
 * struct farswap_rdma_conn - one connection with a donor
 * @ref:	the session's, one more while it is held, and one for each region
 * @rcu:	frees it
 * @session:	session; valid while the connection isn't dead
 * @attempt:	its number, which the donor is told with each connect request
 * @error:	0, or why it is dead, for good. Set by farswap_rdma_conn_fail()
 *		only; everything that posts looks at it first
 * @why:	the same in words; static, set just after @error
 * @revoked:	the donor's adapter has refused an I/O, mostly for a dead key, be that @error or
 *		not: an adapter's event may be first
 * @resumed:	it goes on with the regions of an earlier one; session->ops_lock
 * @quiet:	it has been live, and what was posted has completed
 * @removed:	its device waits for its identifiers to be destroyed
 * @ifindex:	its network interface; 0 before the address is resolved
 * @parked:	in port.c's list, when only identifiers are left of it
 * @gone:	who answered is not the daemon that had our regions; set before @error
 * @refused:	0, or the error of what the donor has refused it with; of session->work
 * @unexplained: the one before it failed by a dead key, and the donor did not say of which
 *		region; of session->work
 * @detail:	more words, of session->work
 * @refusal:	what a reject said; written before @error is set
 * @wait:	for steps, answers, free calls and @error
 * @device:	device; NULL before the address is resolved
 * @map_bytes:	what can be mapped for the device at once
 * @pd:		protection domain; NULL unless it exists
 * @welcome:	what the donor said; written before the connection is live
 * @live_since:	jiffies
 * @open:	I/O and releases may be posted: it is, or was, live; set under @lock
 * @fail_work:	ends a live connection: I/O first; waits for no CM
 * @tick:	keep-alive and watchdog
 * @next_mark:	jiffies of the next sample; @tick's, as those below
 * @nr_marks:	samples taken
 * @asks_since:	when the donor's questions were last counted anew, jiffies;
 *		of the control queue pair's handler alone, as is the next
 * @nr_asks:	how many there were since
 * @wanted:	an EVICT has come; likewise
 * @control:	control queue pair
 * @lock:	protects what follows, down to @ping_begun
 * @send:	send buffers
 * @recv:	receive buffers
 * @sends:	unused ones of @send
 * @nr_sends:	how many
 * @next_seq:	number of the next request
 * @call:	requests that are out
 * @releases:	regions whose UNMAP or DONE is to be sent
 * @nr_released: regions given back, less those for which an EVICT has come nevertheless
 * @regions:	regions the core holds, by id
 * @ping_out:	a PING is out
 * @ping_unsent:	there was no buffer to send it in
 * @ping_seq:	its number
 * @ping_begun:	when it was first to be sent, jiffies
 * @soft:	its adapter is software, a task of this machine: it completes outside interrupts
 * @urgent_at:	when a READ was last submitted that a task waits for, jiffies
 * @nr_queues:	data queues that exist; fixed once the connection is live
 * @nr_chans:	how many there are in @queue
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
	bool gone;
	int refused;
	bool unexplained;
	char detail[128];
	struct farswap_wire_answer refusal;
	wait_queue_head_t wait;

	struct ib_device *device;
	unsigned int map_bytes;
	struct ib_pd *pd;
	struct farswap_wire_welcome welcome;
	unsigned long live_since;
	bool open;
	struct work_struct fail_work;
	struct delayed_work tick;
	unsigned long next_mark;
	unsigned int nr_marks;
	unsigned long asks_since;
	unsigned int nr_asks;
	bool wanted;

	struct farswap_rdma_chan control;
	spinlock_t lock;	/* all that follows, down to @ping_begun */
	struct farswap_rdma_ring send;
	struct farswap_rdma_ring recv;
	struct list_head sends;
	unsigned int nr_sends;
	u32 next_seq;
	struct farswap_rdma_call call[FARSWAP_RDMA_CALLS];
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

/* Of so many data queues, those for READs: they are the first. A single one takes all. */
static inline unsigned int farswap_rdma_loads(unsigned int nr_queues)
{
	return nr_queues - nr_queues / 2;
}

/* main.c */
extern struct workqueue_struct *farswap_rdma_wq;
extern struct workqueue_struct *farswap_rdma_connect_wq;
unsigned int farswap_rdma_default_queues(void);

/* session.c */
struct farswap_session *farswap_rdma_session_open(const char *address,
						  const struct farswap_session_params *params,
						  const struct farswap_session_ops *ops,
						  void *ctx);
void farswap_rdma_session_close(struct farswap_session *session);
struct farswap_rdma_conn *farswap_rdma_session_get_live(struct farswap_session *session);
void farswap_rdma_session_failed(struct farswap_rdma_conn *conn);
void farswap_rdma_session_fail_work(struct work_struct *work);
bool farswap_rdma_session_closing(struct farswap_session *session);
struct farswap_rdma_conn *farswap_rdma_session_get_conn(struct farswap_session *session);
bool farswap_rdma_session_is_live(struct farswap_session *session);
void farswap_rdma_session_hurry(struct farswap_session *session, unsigned int ms);

/* resume.c */
void farswap_rdma_resume_init(struct farswap_session *session);
void farswap_rdma_resume_exit(struct farswap_session *session);
bool farswap_rdma_resume_suspend(struct farswap_rdma_conn *conn);
void farswap_rdma_resume_lost(struct farswap_session *session, int error);
void farswap_rdma_resume_hello(struct farswap_session *session,
			       struct farswap_wire_greeting *hello);
int farswap_rdma_resume_claim(struct farswap_rdma_conn *conn, u64 asked);
bool farswap_rdma_resume_end(struct farswap_rdma_conn *conn);
void farswap_rdma_resume_set_grace(unsigned int ms);

/* conn.c */
struct farswap_rdma_conn *farswap_rdma_conn_alloc(struct farswap_session *session);
unsigned int farswap_rdma_conn_next_vector(const struct ib_device *device, bool loads);
void farswap_rdma_conn_put(struct farswap_rdma_conn *conn);
int farswap_rdma_conn_connect(struct farswap_rdma_conn *conn);
void farswap_rdma_conn_quiesce(struct farswap_rdma_conn *conn);
void farswap_rdma_conn_retire(struct farswap_rdma_conn *conn);
void farswap_rdma_conn_fail(struct farswap_rdma_conn *conn, int error,
			    const char *why);

/* Dead for good? Then nothing may be posted, though its regions may go over. */
static inline bool farswap_rdma_conn_dead(const struct farswap_rdma_conn *conn)
{
	return unlikely(READ_ONCE(conn->error));
}

/* cm.c */
int farswap_rdma_chan_resolve(struct farswap_rdma_chan *chan);
int farswap_rdma_chan_create_qp(struct farswap_rdma_chan *chan, u32 max_sends,
				u32 max_sges, u32 max_recvs, unsigned int vector,
				enum ib_poll_context poll);
int farswap_rdma_chan_connect(struct farswap_rdma_chan *chan, u16 kind, u64 session,
			      u16 number);
void farswap_rdma_chan_stop(struct farswap_rdma_chan *chan);
void farswap_rdma_chan_drain(struct farswap_rdma_chan *chan);
void farswap_rdma_chan_destroy_qp(struct farswap_rdma_chan *chan);
void farswap_rdma_chan_destroy_id(struct farswap_rdma_chan *chan);

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

/* call.c */
int farswap_rdma_call_make(struct farswap_rdma_conn *conn, void *msg, size_t len,
			   u16 type, struct farswap_region *region, void *answer,
			   unsigned int timeout_ms);
bool farswap_rdma_call_overdue(struct farswap_rdma_conn *conn);
const char *farswap_rdma_call_answered(struct farswap_rdma_conn *conn,
				       const void *buf, size_t len);
void farswap_rdma_call_quiesce(struct farswap_rdma_conn *conn,
			       struct list_head *dead);

/* message.c */
void farswap_rdma_message_handle(struct farswap_rdma_conn *conn, const void *buf);

/* region.c */
int farswap_rdma_region_query(struct farswap_session *session, u64 *free_bytes);
struct farswap_region *farswap_rdma_region_map(struct farswap_session *session,
					       u64 slab);
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

/* watch.c */
void farswap_rdma_watch_start(struct farswap_rdma_conn *conn);
void farswap_rdma_watch_tick(struct work_struct *work);
void farswap_rdma_watch_set_io_timeout(unsigned int ms);
u8 farswap_rdma_watch_ack_timeout(bool exact);

#endif /* FARSWAP_RDMA_INTERNAL_H */
