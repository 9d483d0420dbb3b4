// SPDX-License-Identifier: GPL-2.0
/*
 * The life of connections: their references, how they die, and the state of their session, which
 * follows. A connection is made once and dies once, in three steps that must come in this order:
 *
 *	fail	any context: nothing more is posted, every region is dead
 *	quiesce	process: all that was posted has completed; waits for the local device only
 *	retire	process: the link destroys what it has
 *
 * The last region's reference frees the memory. All other files call this one, and it calls none.
 *
 * Locking: session->lock covers state, closing and conn.
 */
#include <linux/slab.h>

#include <trace/events/farswap_rdma.h>

#include "protocol.h"

/* Ends and monitors sessions. I/O waits for this queue, so it never waits for the network. */
struct workqueue_struct *farswap_rdma_wq;
/* Connects. Waits for the network, and for what may wait for memory. */
struct workqueue_struct *farswap_rdma_connect_wq;

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

/**
 * farswap_rdma_session_set_state() - the only writer of session->state
 * @session:	session
 * @state:	the next state
 *
 * Context: any, under session->lock.
 * Return: false without a change if the session must not become live.
 */
bool farswap_rdma_session_set_state(struct farswap_session *session,
				    enum farswap_rdma_state state)
{
	WARN_ON_ONCE(!session_may_become(session->state, state));
	return session_become(session, state);
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
 * @session:	session that the link watches
 * @ms:		how soon
 *
 * An attempt that waits looks whether there is still a use in that.
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

/**
 * farswap_rdma_conn_alloc() - allocate a connection
 * @session:	session
 *
 * Context: may sleep; session->work only.
 * Return: the connection, or NULL.
 */
struct farswap_rdma_conn *farswap_rdma_conn_alloc(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn = session->link->alloc(session->queues);

	if (!conn)
		return NULL;
	kref_init(&conn->ref);
	conn->session = session;
	conn->attempt = ++session->attempt;
	init_waitqueue_head(&conn->wait);
	spin_lock_init(&conn->lock);
	conn->nr_sends = FARSWAP_RDMA_SENDS;
	INIT_LIST_HEAD(&conn->releases);
	hash_init(conn->regions);
	return conn;
}

static void conn_free(struct kref *ref)
{
	struct farswap_rdma_conn *conn = container_of(ref, struct farswap_rdma_conn,
						      ref);

	farswap_auth_end(&conn->auth);
	/* A task may still be submitting to a region that has moved to another connection. */
	kvfree_rcu(conn, rcu);
}

/**
 * farswap_rdma_conn_put() - drop a reference
 * @conn:	connection
 *
 * Context: any.
 */
void farswap_rdma_conn_put(struct farswap_rdma_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}

/**
 * farswap_rdma_conn_fail() - mark the connection dead, and with it its regions
 * @conn:	connection
 * @error:	-errno
 * @why:	@error in words; static
 *
 * This is the only way for a connection to die. The first caller's reason is kept.
 *
 * Context: any.
 */
void farswap_rdma_conn_fail(struct farswap_rdma_conn *conn, int error,
			    const char *why)
{
	if (cmpxchg(&conn->error, 0, error))
		return;
	WRITE_ONCE(conn->why, why);
	trace_farswap_rdma_session_error(conn->session->address, error, why);
	wake_up_all(&conn->wait);
	farswap_rdma_session_failed(conn);
}

/* The sealed copy is valid until conn->lock is dropped. */
static int conn_seal(struct farswap_rdma_conn *conn, const void **msg, size_t *len)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->auth.sealed)
		return 0;
	memcpy(conn->sealed_copy, *msg, *len);
	*msg = conn->sealed_copy;
	return farswap_auth_seal(&conn->auth, conn->sealed_copy, len);
}

/**
 * farswap_rdma_conn_send() - send a copy of a message
 * @conn:	connection
 * @msg:	the message
 * @len:	its length
 *
 * Context: process, under conn->lock.
 * Return: 0; -EAGAIN when no buffer is free; -EHOSTDOWN when the connection is dead; any
 * other error must be passed to farswap_rdma_conn_fail().
 */
int farswap_rdma_conn_send(struct farswap_rdma_conn *conn, const void *msg, size_t len)
{
	int err;

	lockdep_assert_held(&conn->lock);
	if (farswap_rdma_conn_dead(conn))
		return -EHOSTDOWN;
	if (!conn->nr_sends)
		return -EAGAIN;
	err = conn_seal(conn, &msg, &len);
	if (!err)
		err = conn->session->link->send(conn, msg, len);
	if (!err)
		conn->nr_sends--;
	return err;
}

/**
 * farswap_rdma_conn_init() - create the workqueues
 *
 * Return: 0 or -ENOMEM.
 */
int __init farswap_rdma_conn_init(void)
{
	farswap_rdma_wq = alloc_workqueue("farswap_rdma",
					  WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!farswap_rdma_wq)
		return -ENOMEM;
	farswap_rdma_connect_wq = alloc_workqueue("farswap_rdma_connect",
						  WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (farswap_rdma_connect_wq)
		return 0;
	destroy_workqueue(farswap_rdma_wq);
	return -ENOMEM;
}

/**
 * farswap_rdma_conn_exit() - undo farswap_rdma_conn_init()
 */
void farswap_rdma_conn_exit(void)
{
	destroy_workqueue(farswap_rdma_connect_wq);
	destroy_workqueue(farswap_rdma_wq);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/conn-kunit.h"
#endif
