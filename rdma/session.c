// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: the core opens them, and they are reconnected until the core closes them. One
 * work item connects and retires connections; another, conn->fail_work, ends a live
 * connection. fail_work never waits for the first one nor for the CM, because I/O
 * completes through it.
 *
 * Locking: session->lock covers state, closing and conn; ops_lock serialises the
 * callbacks of the core.
 */
#define pr_fmt(fmt) "farswap_rdma: " fmt

#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <trace/events/farswap_rdma.h>

#include "internal.h"

#define SESSION_PAUSE_MIN_MS	100
#define SESSION_PAUSE_MAX_MS	5000
/* While suspended: grace_ms is short. */
#define SESSION_PAUSE_HELD_MS	500U
/* First limit while suspended: the CM retransmits a lost connect request only after seconds. */
#define SESSION_ACCEPT_HELD_MS	1500U
/* The donor is this machine's own farswapd. Retry nevertheless: the address may move. */
#define SESSION_PAUSE_SELF_MS	300000
/* Limits the log to a few lines a minute per donor; debugfs counts the rest. */
#define SESSION_LOG_BURST	10

/* For each state, the states that may follow it. */
static const u8 session_moves[FARSWAP_RDMA_STATES] = {
	[FARSWAP_RDMA_IDLE]		= BIT(FARSWAP_RDMA_CONNECTING) | BIT(FARSWAP_RDMA_CLOSED),
	[FARSWAP_RDMA_CONNECTING]	= BIT(FARSWAP_RDMA_LIVE) | BIT(FARSWAP_RDMA_IDLE),
	[FARSWAP_RDMA_LIVE]		= BIT(FARSWAP_RDMA_FAILING),
	[FARSWAP_RDMA_FAILING]		= BIT(FARSWAP_RDMA_IDLE),
};

static bool session_may_become(enum farswap_rdma_state from, enum farswap_rdma_state to)
{
	return session_moves[from] & BIT(to);
}

/*
 * Return false without a change if the move to LIVE is illegal. The other states only follow what
 * was done to the connection; if one were refused the session would never connect again.
 */
static bool session_become(struct farswap_session *session, enum farswap_rdma_state state)
{
	lockdep_assert_held(&session->lock);

	if (state == FARSWAP_RDMA_LIVE && !session_may_become(session->state, state))
		return false;
	trace_farswap_rdma_session_state(session->address, session->state, state);
	session->state = state;
	return true;
}

/* The only writer of session->state. Returns what session_become() returns. */
static bool farswap_rdma_session_set_state(struct farswap_session *session,
					   enum farswap_rdma_state state)
{
	WARN_ON_ONCE(!session_may_become(session->state, state));
	return session_become(session, state);
}

static void session_queue_connect(struct farswap_session *session, unsigned int ms)
{
	queue_delayed_work(farswap_rdma_connect_wq, &session->work,
			   msecs_to_jiffies(ms));
}

/* The pause before the next attempt grows, and is random, so that clients spread out. */
static unsigned int session_next_pause(struct farswap_session *session, int error)
{
	unsigned int ms = session->pause_ms;

	if (READ_ONCE(session->held))
		ms = min(ms, SESSION_PAUSE_HELD_MS);
	else if (error == -ELOOP)
		ms = SESSION_PAUSE_SELF_MS;
	session->pause_ms = min(2 * ms, SESSION_PAUSE_MAX_MS);
	return ms - ms / 8 + get_random_u32_below(ms / 4);
}

/* Count the reason, and log it if it has changed. */
static void session_log(struct farswap_session *session, const char *what,
			struct farswap_rdma_conn *conn, int error)
{
	const char *why = conn->detail[0] ? conn->detail : READ_ONCE(conn->why);
	char line[sizeof(session->last_logged)];

	why = why ?: "?";
	farswap_rdma_reason_count(why);
	if (error == -ELOOP)
		strscpy(line, why);
	else
		snprintf(line, sizeof(line), "%s: %s (%d)", what, why, error);
	if (!strcmp(line, session->last_logged))
		return;
	strscpy(session->last_logged, line, sizeof(session->last_logged));
	if (!__ratelimit(&session->log_limit))
		return;
	if (error == -ELOOP)
		pr_info("donor %s: %s\n", session->address, line);
	else
		pr_warn("donor %s: %s\n", session->address, line);
}

/**
 * farswap_rdma_session_failed() - a connection has just died
 * @conn:	the connection
 *
 * fail_work ends a live connection. A connection that is being made is left to the work
 * that makes it. May be called twice.
 *
 * Context: any.
 */
void farswap_rdma_session_failed(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	unsigned long flags;

	spin_lock_irqsave(&session->lock, flags);
	if (session->conn == conn && session->state == FARSWAP_RDMA_LIVE) {
		farswap_rdma_session_set_state(session, FARSWAP_RDMA_FAILING);
		queue_work(farswap_rdma_wq, &conn->fail_work);
	}
	spin_unlock_irqrestore(&session->lock, flags);
}

/**
 * farswap_rdma_session_closing() - is the session being closed
 * @session:	session
 *
 * Context: process.
 * Return: whether no other connection will be made.
 */
bool farswap_rdma_session_closing(struct farswap_session *session)
{
	bool closing;

	spin_lock_irq(&session->lock);
	closing = session->closing;
	spin_unlock_irq(&session->lock);
	return closing;
}

/**
 * farswap_rdma_session_get_conn() - the session's connection, in any state
 * @session:	session
 *
 * Context: process.
 * Return: the connection, referenced, or NULL.
 */
struct farswap_rdma_conn *farswap_rdma_session_get_conn(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn;

	spin_lock_irq(&session->lock);
	conn = session->conn;
	if (conn)
		kref_get(&conn->ref);
	spin_unlock_irq(&session->lock);
	return conn;
}

/**
 * farswap_rdma_session_is_live() - is the session connected
 * @session:	session
 *
 * Context: process.
 * Return: whether it is.
 */
bool farswap_rdma_session_is_live(struct farswap_session *session)
{
	return READ_ONCE(session->state) == FARSWAP_RDMA_LIVE;
}

/**
 * farswap_rdma_session_kick() - connect soon, if an attempt is due later
 * @session:	session, watched by port.c
 * @ms:		how soon
 *
 * Attempts that wait for the CM look whether there is still a use in that.
 *
 * Context: process.
 */
void farswap_rdma_session_kick(struct farswap_session *session, unsigned int ms)
{
	spin_lock_irq(&session->lock);
	if (session->conn)
		wake_up_all(&session->conn->wait);
	else if (!session->closing)
		mod_delayed_work(farswap_rdma_connect_wq, &session->work, msecs_to_jiffies(ms));
	spin_unlock_irq(&session->lock);
}

static void session_down(struct farswap_session *session, int error)
{
	mutex_lock(&session->ops_lock);
	/* A suspended session stays suspended when an attempt to connect fails. */
	if (!session->held && !farswap_rdma_session_closing(session))
		session->ops->down(session->ctx, error);
	mutex_unlock(&session->ops_lock);
}

/**
 * farswap_rdma_session_fail_work() - end a live connection
 * @work:	its fail_work
 *
 * Completes all its I/O, then notifies the core, then leaves what needs the CM to
 * session->work. Page-outs wait for this work, so it must not wait for a page-out:
 * drivers allocate memory when they modify a queue pair.
 */
void farswap_rdma_session_fail_work(struct work_struct *work)
{
	struct farswap_rdma_conn *conn = container_of(work, struct farswap_rdma_conn,
						      fail_work);
	struct farswap_session *session = conn->session;
	unsigned int noio = memalloc_noio_save();

	farswap_rdma_conn_quiesce(conn);
	if (conn->error != -ESHUTDOWN)
		session_log(session, "lost", conn, conn->error);
	if (time_after(jiffies, conn->live_since +
				msecs_to_jiffies(SESSION_PAUSE_MAX_MS)))
		session->pause_ms = SESSION_PAUSE_MIN_MS;
	if (!farswap_rdma_resume_suspend(conn))
		session_down(session, conn->error);
	WRITE_ONCE(conn->quiet, true);
	session_queue_connect(session, 0);
	memalloc_noio_restore(noio);
}

/* Destroy the dead and quiet connection. Return false when no other may follow. */
static bool session_retire(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn = session->conn;
	bool again;

	farswap_rdma_conn_retire(conn);
	spin_lock_irq(&session->lock);
	session->conn = NULL;
	farswap_rdma_session_set_state(session, FARSWAP_RDMA_IDLE);
	again = !session->closing;
	spin_unlock_irq(&session->lock);
	farswap_rdma_conn_put(conn);
	return again;
}

static bool session_begin(struct farswap_session *session,
			  struct farswap_rdma_conn *conn)
{
	bool begun = false;

	spin_lock_irq(&session->lock);
	if (!session->closing) {
		session->conn = conn;
		farswap_rdma_session_set_state(session, FARSWAP_RDMA_CONNECTING);
		begun = true;
	}
	spin_unlock_irq(&session->lock);
	return begun;
}

/* Notify the core that the session is up, unless it has died or is closing. */
static bool session_up(struct farswap_session *session,
		       struct farswap_rdma_conn *conn)
{
	struct farswap_peer peer = { .instance = conn->welcome.instance };
	bool up = false;

	memcpy(peer.node, conn->welcome.node, sizeof(peer.node));
	/* down() must not overtake up(): fail_work takes ops_lock before it calls down(). */
	mutex_lock(&session->ops_lock);
	conn->live_since = jiffies;
	spin_lock_irq(&session->lock);
	if (!session->closing && !farswap_rdma_conn_dead(conn))
		up = farswap_rdma_session_set_state(session, FARSWAP_RDMA_LIVE);
	spin_unlock_irq(&session->lock);
	if (up) {
		if (__ratelimit(&session->log_limit))
			pr_info("donor %s: connected over %s, %u data queues\n",
				session->address, conn->device->name,
				conn->nr_queues);
		session->last_logged[0] = '\0';
		session->accept_ms = 0;
		session->token = conn->welcome.session;
		farswap_rdma_control_open(conn);
		if (farswap_rdma_resume_end(conn))
			session->ops->resumed(session->ctx);
		else
			session->ops->up(session->ctx, &peer);
	}
	mutex_unlock(&session->ops_lock);
	return up;
}

static void session_connect(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn;
	int err;

	conn = farswap_rdma_conn_alloc(session);
	if (!conn) {
		session_down(session, -ENOMEM);
		session_queue_connect(session, session_next_pause(session, -ENOMEM));
		return;
	}
	if (!session_begin(session, conn)) {
		farswap_rdma_conn_put(conn);
		return;
	}
	session->accept_ms = READ_ONCE(session->held) ?
		clamp(2 * session->accept_ms, SESSION_ACCEPT_HELD_MS,
		      FARSWAP_RDMA_ACCEPT_MS + 0U) : FARSWAP_RDMA_ACCEPT_MS;
	err = farswap_rdma_conn_connect(conn);
	if (!err && session_up(session, conn))
		return;

	farswap_rdma_conn_fail(conn, err ?: -ESHUTDOWN, "can't be set up");
	/* After a refusal the donor disconnects, and that may be seen before the answer. */
	err = conn->refused ?: conn->error;
	if (conn->error != -ESHUTDOWN)
		session_log(session, "can't connect", conn, err);
	farswap_rdma_conn_quiesce(conn);
	if (conn->regions_gone)
		farswap_rdma_resume_lost(session, err);
	session_down(session, err);
	if (session_retire(session))
		session_queue_connect(session, session_next_pause(session, err));
}

static void session_work(struct work_struct *work)
{
	struct farswap_session *session = container_of(to_delayed_work(work),
						       struct farswap_session, work);
	/* Allocations here must not wait for swap. */
	unsigned int noio = memalloc_noio_save();

	/* The work may have been kicked in a state in which it has nothing to do. */
	if (!session->conn)
		session_connect(session);
	else if (READ_ONCE(session->conn->quiet) && session_retire(session))
		session_queue_connect(session, session_next_pause(session, 0));
	memalloc_noio_restore(noio);
}

/**
 * farswap_rdma_session_get_live() - the session's live connection
 * @session:	session
 *
 * Context: process.
 * Return: the connection, referenced, or NULL while there is none.
 */
struct farswap_rdma_conn *farswap_rdma_session_get_live(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn = NULL;

	spin_lock_irq(&session->lock);
	if (session->state == FARSWAP_RDMA_LIVE) {
		conn = session->conn;
		kref_get(&conn->ref);
	}
	spin_unlock_irq(&session->lock);
	return conn;
}

static void session_free(struct farswap_session *session)
{
	unsigned int i;

	for (i = 0; i < FARSWAP_RDMA_RING_PAGES; i++) {
		free_page((unsigned long)session->send_page[i]);
		free_page((unsigned long)session->recv_page[i]);
	}
	kfree(session);
}

static bool session_alloc_pages(struct farswap_session *session)
{
	unsigned int i;

	for (i = 0; i < FARSWAP_RDMA_RING_PAGES; i++) {
		session->send_page[i] = (void *)get_zeroed_page(GFP_KERNEL);
		session->recv_page[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!session->send_page[i] || !session->recv_page[i])
			return false;
	}
	return true;
}

/**
 * farswap_rdma_session_open() - &struct farswap_transport.open
 * @address:	address of the donor
 * @params:	parameters
 * @ops:	callbacks
 * @ctx:	first argument of the callbacks
 *
 * Context: may sleep.
 * Return: the session, or ERR_PTR(-ENOMEM).
 */
struct farswap_session *farswap_rdma_session_open(const char *address,
						  const struct farswap_session_params *params,
						  const struct farswap_session_ops *ops,
						  void *ctx)
{
	struct farswap_session *session;
	size_t bytes = strlen(address) + 1;

	session = kzalloc(struct_size(session, address, bytes), GFP_KERNEL);
	if (!session)
		return ERR_PTR(-ENOMEM);
	if (!session_alloc_pages(session)) {
		session_free(session);
		return ERR_PTR(-ENOMEM);
	}
	spin_lock_init(&session->lock);
	mutex_init(&session->ops_lock);
	INIT_DELAYED_WORK(&session->work, session_work);
	ratelimit_state_init(&session->log_limit, 60 * HZ, SESSION_LOG_BURST);
	farswap_rdma_resume_init(session);
	session->attempt = get_random_u32();
	session->ops = ops;
	session->ctx = ctx;
	session->pause_ms = SESSION_PAUSE_MIN_MS;
	session->slab_bytes = params->slab_bytes;
	session->queues = clamp(farswap_rdma_default_queues(),
				2U, FARSWAP_QUEUES_MAX + 0U);
	session->instance = params->instance;
	memcpy(session->node, params->node, sizeof(session->node));
	memcpy(session->address, address, bytes);

	session_queue_connect(session, 0);
	farswap_rdma_port_watch(session);
	return session;
}

/**
 * farswap_rdma_session_close() - &struct farswap_transport.close
 * @session:	session; freed
 *
 * The order stops the two work items from queueing each other: once closing is seen no
 * connection begins or becomes live, so fail_work can't be queued again after it is
 * flushed, nor session->work after it is cancelled.
 *
 * Context: may sleep; waits until the donor has received the releases, a second at
 * most.
 */
void farswap_rdma_session_close(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn;

	spin_lock_irq(&session->lock);
	session->closing = true;
	conn = session->conn;
	if (conn)
		kref_get(&conn->ref);
	spin_unlock_irq(&session->lock);
	farswap_rdma_port_unwatch(session);

	if (conn) {
		/* Otherwise the donor would keep the regions that the core has released. */
		farswap_rdma_control_flush(conn);
		farswap_rdma_conn_fail(conn, -ESHUTDOWN, "closed");
		/* The task that failed it first may not have called this yet. */
		farswap_rdma_session_failed(conn);
		flush_work(&conn->fail_work);
		farswap_rdma_conn_put(conn);
	}
	cancel_delayed_work_sync(&session->work);
	if (session->conn)
		session_retire(session);
	farswap_rdma_resume_exit(session);

	spin_lock_irq(&session->lock);
	farswap_rdma_session_set_state(session, FARSWAP_RDMA_CLOSED);
	spin_unlock_irq(&session->lock);
	mutex_destroy(&session->ops_lock);
	session_free(session);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/session-kunit.h"
#endif
