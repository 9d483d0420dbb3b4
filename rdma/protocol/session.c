// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: the core opens them, and they are reconnected until the core closes them. One
 * work item connects and retires connections; another, conn->fail_work, ends a live
 * connection. fail_work never waits for the first one nor for the CM, because I/O
 * completes through it.
 *
 * Locking: ops_lock serialises the callbacks of the core.
 */
#define pr_fmt(fmt) "farswap_rdma: " fmt

#include <crypto/sha2.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <trace/events/farswap_rdma.h>

#include "protocol.h"

#define SESSION_PAUSE_MIN_MS	100
#define SESSION_PAUSE_MAX_MS	5000
/* While suspended: grace_ms is short. */
#define SESSION_PAUSE_HELD_MS	500U
/* The CM retransmits a lost message of its own after about 4.5 s. */
#define SESSION_ACCEPT_MS	5500
/* First limit while suspended: the CM retransmits a lost connect request only after seconds. */
#define SESSION_ACCEPT_HELD_MS	1500U
/* The donor is this machine's own farswapd. Retry nevertheless: the address may move. */
#define SESSION_PAUSE_SELF_MS	300000
/* Limits the log to a few lines a minute per donor; debugfs counts the rest. */
#define SESSION_LOG_BURST	10

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
	const char *cure;

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
	cure = farswap_rdma_reason_cure(why) ?: "";
	if (error == -ELOOP)
		pr_info("donor %s: %s; %s\n", session->address, line, cure);
	else
		pr_warn("donor %s: %s%s%s\n", session->address, line, *cure ? "; " : "", cure);
}

static void session_down(struct farswap_session *session, int error)
{
	mutex_lock(&session->ops_lock);
	/* A suspended session stays suspended when an attempt to connect fails. */
	if (!session->held && !farswap_rdma_session_closing(session))
		session->ops->down(session->ctx, error);
	mutex_unlock(&session->ops_lock);
}

/* Complete everything that a dead connection has in flight. */
static void session_quiesce(struct farswap_rdma_conn *conn)
{
	conn->session->link->quiesce(conn);
	farswap_rdma_message_quiesce(conn);
	farswap_rdma_keepalive_stop(conn);
}

/*
 * End a live connection: complete all its I/O, then notify the core, then leave what needs the CM
 * to session->work. Page-outs wait for this work, so it must not wait for a page-out: drivers
 * allocate memory when they modify a queue pair.
 */
static void session_fail_work(struct work_struct *work)
{
	struct farswap_rdma_conn *conn = container_of(work, struct farswap_rdma_conn,
						      fail_work);
	struct farswap_session *session = conn->session;
	unsigned int noio = memalloc_noio_save();

	session_quiesce(conn);
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

/* Put the donor's refusal into words that an administrator can act on. */
static int session_refusal(struct farswap_rdma_conn *conn, u32 status, u16 version)
{
	u64 ours = conn->session->slab_bytes >> 20;
	u64 theirs = conn->welcome.slab_bytes >> 20;

	if (version && version != FARSWAP_VERSION) {
		snprintf(conn->detail, sizeof(conn->detail),
			 "speaks version %u of the protocol, this module version %u",
			 version, FARSWAP_VERSION);
		conn->regions_gone = true;
		return -EOPNOTSUPP;
	}
	if (status == FARSWAP_STATUS_SELF) {
		strscpy(conn->detail, farswap_wire_status_name(status));
		return farswap_wire_status_errno(status);
	}
	if (theirs && theirs != ours) {
		snprintf(conn->detail, sizeof(conn->detail),
			 "lends slabs of %llu MiB, slab_mb here is %llu",
			 theirs, ours);
		conn->regions_gone = true;
		return -EINVAL;
	}
	if (status == FARSWAP_STATUS_BAD_AUTH) {
		strscpy(conn->detail,
			"does not lend to this machine: see its log; or it wants a key, as in ADDRESS#KEY");
		if (conn->session->has_key)
			strscpy(conn->detail,
				"does not know this machine's key, or has another key: see its log");
		return -EACCES;
	}
	conn->regions_gone = status == FARSWAP_STATUS_LEAVING;
	snprintf(conn->detail, sizeof(conn->detail), "refused the connection: %s",
		 farswap_wire_status_name(status));
	return farswap_wire_status_errno(status) ?: -EPROTO;
}

static int session_refused(struct farswap_rdma_conn *conn, u32 status, u16 version)
{
	conn->refused = session_refusal(conn, status, version);
	return conn->refused;
}

static int session_auth_begin(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;

	if (!session->has_key)
		return 0;
	conn->auth.on = true;
	memcpy(conn->auth.donor, session->donor_key, sizeof(conn->auth.donor));
	if (!farswap_rdma_keyring_read(conn->auth.secret))
		return 0;
	strscpy(conn->detail, "has a key, but this machine has none: run farswapctl key");
	return -ENOKEY;
}

/* Authenticate the donor, and seal what follows. */
static int session_auth(struct farswap_rdma_conn *conn)
{
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
	u8 ephemeral[FARSWAP_NOISE_KEY_BYTES];
	struct farswap_auth msg;
	size_t len;
	int err;

	static_assert(sizeof(struct farswap_authed) <= FARSWAP_RDMA_ANSWER_BYTES);
	if (!conn->auth.on)
		return 0;
	len = farswap_wire_auth(&msg);
	get_random_bytes(ephemeral, sizeof(ephemeral));
	err = farswap_auth_first(&conn->auth, ephemeral, &msg);
	memzero_explicit(ephemeral, sizeof(ephemeral));
	if (!err)
		err = farswap_rdma_rpc_call(conn, &msg, len, FARSWAP_MSG_AUTHED, NULL, answer,
					    2 * FARSWAP_RDMA_RPC_MS);
	if (err == -ETIMEDOUT)
		strscpy(conn->detail, "doesn't answer AUTH");
	if (err)
		return err;
	if (farswap_auth_second(&conn->auth, (const struct farswap_authed *)answer)) {
		strscpy(conn->detail, "is not the donor that has this key");
		return -EKEYREJECTED;
	}
	spin_lock(&conn->lock);
	conn->auth.sealed = true;
	spin_unlock(&conn->lock);
	return 0;
}

static int session_hello(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	struct farswap_wire_welcome *welcome = &conn->welcome;
	struct farswap_wire_greeting ours = {
		.node		= session->node,
		.instance	= session->instance,
		.slab_bytes	= session->slab_bytes,
		.queues		= session->queues,
	};
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
	struct farswap_hello hello;
	size_t len;
	int err;

	ours.sealed = conn->auth.sealed;
	farswap_rdma_resume_hello(session, &ours);
	len = farswap_wire_hello(&hello, &ours);
	err = farswap_rdma_rpc_call(conn, &hello, len, FARSWAP_MSG_WELCOME, NULL,
				    answer, 2 * FARSWAP_RDMA_RPC_MS);
	if (err == -ETIMEDOUT)
		strscpy(conn->detail, "doesn't answer HELLO");
	if (err)
		return err;
	farswap_wire_read_welcome(answer, welcome);
	if (welcome->status != FARSWAP_STATUS_OK ||
	    welcome->slab_bytes != session->slab_bytes)
		return session_refused(conn, welcome->status, 0);
	if (welcome->queues > session->queues) {
		strscpy(conn->detail, "offers more queues than requested");
		return -EPROTO;
	}
	return farswap_rdma_resume_claim(conn, ours.resume);
}

/*
 * Connect all queues and greet the donor, a few seconds a step. After a failure the caller
 * quiesces and retires what exists.
 */
static int session_try(struct farswap_rdma_conn *conn)
{
	const struct farswap_rdma_link_ops *link = conn->session->link;
	unsigned int i;
	int err;

	err = session_auth_begin(conn);
	if (!err)
		err = link->connect(conn);
	if (!err)
		err = session_auth(conn);
	if (!err)
		err = session_hello(conn);
	for (i = 0; !err && i < conn->welcome.queues; i++)
		err = link->connect_data(conn, i);
	conn->nr_queues = conn->welcome.queues;
	if (!err)
		err = link->probe(conn);
	if (err) {
		if (err == -ECONNREFUSED && conn->refusal.version)
			err = session_refused(conn, conn->refusal.status,
					      conn->refusal.version);
		else if (err == -ECONNREFUSED && !conn->detail[0])
			snprintf(conn->detail, sizeof(conn->detail),
				 "no farswapd at this address: %s",
				 READ_ONCE(conn->why) ?: "rejected");
		return err;
	}
	farswap_rdma_keepalive_start(conn);
	return 0;
}

/* Destroy the dead and quiet connection. Return false when no other may follow. */
static bool session_retire(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn = session->conn;
	bool again;

	session->link->retire(conn);
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
	struct farswap_peer peer = {
		.instance = farswap_auth_instance(&conn->auth, conn->welcome.instance),
	};
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
				session->address, conn->via,
				conn->nr_queues);
		session->last_logged[0] = '\0';
		session->accept_ms = 0;
		session->token = conn->welcome.session;
		session->name = conn->auth.name;
		farswap_rdma_message_open(conn);
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
	INIT_WORK(&conn->fail_work, session_fail_work);
	farswap_rdma_keepalive_init(conn);
	if (!session_begin(session, conn)) {
		farswap_rdma_conn_put(conn);
		return;
	}
	session->accept_ms = READ_ONCE(session->held) ?
		clamp(2 * session->accept_ms, SESSION_ACCEPT_HELD_MS,
		      SESSION_ACCEPT_MS + 0U) : SESSION_ACCEPT_MS;
	err = session_try(conn);
	if (!err && session_up(session, conn))
		return;

	farswap_rdma_conn_fail(conn, err ?: -ESHUTDOWN, "can't be set up");
	/* After a refusal the donor disconnects, and that may be seen before the answer. */
	err = conn->refused ?: conn->error;
	if (conn->error != -ESHUTDOWN)
		session_log(session, "can't connect", conn, err);
	session_quiesce(conn);
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

/* Donors recognise the machine by this, but only its root may know the identity itself. */
static void session_hash_node(struct farswap_session *session, const u8 *node)
{
	static const char domain[] = "farswap-node";
	u8 data[sizeof(domain) + FARSWAP_NODE_BYTES], hash[SHA256_DIGEST_SIZE];

	memcpy(data, domain, sizeof(domain));
	memcpy(data + sizeof(domain), node, FARSWAP_NODE_BYTES);
	sha256(data, sizeof(data), hash);
	memcpy(session->node, hash, sizeof(session->node));
}

/**
 * farswap_rdma_session_open() - &struct farswap_transport.open, over a link
 * @address:	address of the donor
 * @params:	parameters
 * @ops:	callbacks
 * @ctx:	first argument of the callbacks
 * @link:	operations of the link
 * @queues:	number of data queues wanted
 *
 * Context: may sleep.
 * Return: the session, or ERR_PTR: -ENOMEM; -EINVAL if the donor's key is invalid.
 */
struct farswap_session *farswap_rdma_session_open(const char *address,
						  const struct farswap_session_params *params,
						  const struct farswap_session_ops *ops,
						  void *ctx,
						  const struct farswap_rdma_link_ops *link,
						  unsigned int queues)
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
	session->link = link;
	session->pause_ms = SESSION_PAUSE_MIN_MS;
	session->slab_bytes = params->slab_bytes;
	session->queues = queues;
	session->instance = params->instance;
	session_hash_node(session, params->node);
	memcpy(session->address, address, bytes);
	session->has_key = params->key;
	if (params->key && farswap_noise_parse(session->donor_key, params->key,
					       strlen(params->key))) {
		session_free(session);
		return ERR_PTR(-EINVAL);
	}
	if (!params->key)
		pr_warn("donor %s: not authenticated: give its key, as in donors=ADDRESS#KEY\n",
			session->address);

	session_queue_connect(session, 0);
	link->watch(session);
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
	session->link->unwatch(session);

	if (conn) {
		/* Otherwise the donor would keep the regions that the core has released. */
		farswap_rdma_message_flush(conn);
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
