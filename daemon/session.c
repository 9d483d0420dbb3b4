// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: setup, connections and teardown. control.c, message.c and peer-request.c
 * handle the messages.
 *
 * A session ends in steps, one per turn of the loop. First its queue pairs are destroyed, so
 * that the client can't reach its memory. Then the rkey of each region is revoked and the region
 * returns to the pool. Then the rest is freed. If the connections failed the session may stop
 * after the first step: see grace.c.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "address.h"
#include "device.h"
#include "link.h"
#include "log.h"
#include "session.h"

struct list session_list = { &session_list, &session_list };

static struct {
	unsigned int max;
	unsigned int count;
	uint64_t number;
	bool leaving;
} sessions;

#define BIT(n)	(1U << (n))

/* For each state, the legal next states. HELLO may arrive before the connection is up. */
static const unsigned int session_moves[SESSION_STATES] = {
	[SESSION_CONNECTING] = BIT(SESSION_GREETING) | BIT(SESSION_READY) | BIT(SESSION_CLOSING) |
			       BIT(SESSION_DEAD),
	[SESSION_GREETING] = BIT(SESSION_READY) | BIT(SESSION_CLOSING) | BIT(SESSION_DEAD),
	[SESSION_READY] = BIT(SESSION_GRACE) | BIT(SESSION_DEAD),
	[SESSION_CLOSING] = BIT(SESSION_DEAD),
	[SESSION_GRACE] = BIT(SESSION_DEAD),
};

static bool session_is_half_open(enum session_state state)
{
	return state < SESSION_READY || state == SESSION_CLOSING;
}

void session_set_state(struct session *session, enum session_state state)
{
	assert(session_moves[session->state] & BIT(state));
	session->state = state;
	if (session->half_open && !session_is_half_open(state)) {
		session->half_open = false;
		client_half_open(session->client, -1);
	}
}

static void session_deadline(void *arg)
{
	struct session *session = arg;

	switch (session->state) {
	case SESSION_CONNECTING:
		session_end(session, STAT_END_CONNECT, "connecting timed out");
		break;
	case SESSION_GREETING:
		session_end(session, STAT_END_HELLO, "no HELLO within %u ms",
			    SESSION_HELLO_MS);
		break;
	case SESSION_READY:
		/* The session may be one that is being resumed. */
		session_lost(session, STAT_END_DATA, "no data queue pair within %u ms",
			     SESSION_DATA_MS);
		break;
	case SESSION_CLOSING:
		session_end(session, session->close_reason, "refused");
		break;
	case SESSION_GRACE:
		session_end(session, STAT_END_GRACE, "not resumed within grace_ms");
		break;
	default:
		break;
	}
}

static void conn_timeout(void *arg)
{
	struct conn *conn = arg;

	session_lost(conn->session, STAT_END_CONNECT, "connecting a data queue pair timed out");
}

static void conn_init(struct conn *conn, struct session *session)
{
	conn->session = session;
	loop_timer_init(&conn->timer, conn_timeout, conn);
}

/* By default the CM lets the peer read and write; only data queue pairs may allow that. */
static int conn_set_access(struct conn *conn, int access)
{
	struct ibv_qp_attr attr = {
		.qp_access_flags = access,
		.min_rnr_timer = 12,	/* 0.64 ms */
	};

	return -ibv_modify_qp(conn->id->qp, &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER);
}

static uint8_t conn_depth(int device, uint8_t asked)
{
	return device < asked ? device : asked;
}

/* Fill in the private data of the accept, and bind the connection to what both sides see of it. */
static void conn_authenticate(struct conn *conn, const struct rdma_conn_param *asked,
			      const struct farswap_connect *connect, struct farswap_accept *accept)
{
	struct session *session = conn->session;
	uint8_t client[16], donor[16];

	wire_init_accept(accept, FARSWAP_STATUS_OK);
	if (conn != &session->control) {
		auth_accept_data(&session->auth, connect, accept, conn->id->qp->qp_num);
		return;
	}
	if (!session->auth.on)
		return;
	accept->features = htole32(FARSWAP_FEATURE_SEALED);
	address_copy(client, rdma_get_peer_addr(conn->id));
	address_copy(donor, rdma_get_local_addr(conn->id));
	auth_bind(&session->auth, connect, accept, client, donor, asked->qp_num,
		  conn->id->qp->qp_num);
}

static int conn_accept(struct conn *conn, const struct rdma_conn_param *asked,
		       const struct farswap_connect *connect, int access)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct farswap_accept accept;
	struct ibv_device_attr attr;

	if (!link_is_up(conn->id))
		return -ENETDOWN;
	if (ibv_query_device(conn->id->verbs, &attr))
		return -EIO;
	conn_authenticate(conn, asked, connect, &accept);
	param.private_data = &accept;
	param.private_data_len = sizeof(accept);
	/* The most READs in flight that both sides support. */
	param.responder_resources = conn_depth(attr.max_qp_rd_atom, asked->responder_resources);
	param.initiator_depth = conn_depth(attr.max_qp_init_rd_atom, asked->initiator_depth);
	if (rdma_accept(conn->id, &param))
		return -errno;
	return conn_set_access(conn, access);
}

static int conn_create_qp(struct conn *conn, struct ibv_pd *pd, unsigned int sends,
			  unsigned int recvs)
{
	struct session *session = conn->session;
	struct ibv_qp_init_attr attr = {
		.qp_context = conn,
		.send_cq = session->cq,
		.recv_cq = session->cq,
		.cap = {
			.max_send_wr = sends,
			.max_recv_wr = recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(conn->id, pd, &attr) ? -errno : 0;
}

static void conn_destroy_qp(struct conn *conn)
{
	struct session *session = conn->session;
	int err;

	loop_timer_stop(&conn->timer);
	if (conn->state == CONN_NONE)
		return;
	/* Answer the client's disconnect. Otherwise destroying the id sends the disconnect. */
	if (conn->left && link_is_up(conn->id))
		rdma_disconnect(conn->id);
	/* rdma_destroy_qp() returns no error. */
	err = ibv_destroy_qp(conn->id->qp);
	conn->id->qp = NULL;
	conn->state = CONN_NONE;
	if (!err)
		return;
	log_err("%s: cannot destroy a queue pair: %s", session->peer, strerror(err));
	session->leaked = true;
	/* The control queue pair can't reach regions. */
	session->reachable |= conn != &session->control;
}

static void conn_destroy_id(struct conn *conn)
{
	if (conn->id)
		link_destroy_id(conn->id);
	conn->id = NULL;
}

static void session_free_pd(const struct session *session, struct ibv_pd *pd)
{
	int err = pd ? ibv_dealloc_pd(pd) : 0;

	if (err)
		log_err("%s: cannot free its protection domain: %s", session->peer, strerror(err));
}

static void session_free(struct session *session)
{
	if (session->has_owner)
		region_owner_del(&session->owner);
	control_destroy(session);
	session_free_pd(session, session->pd);
	session_free_pd(session, session->lend_pd);
	conn_destroy_id(&session->control);
	device_put(session->device);
	list_del(&session->link);
	client_put(session->client);
	sessions.count--;
	/* The device may still deliver events for this session. */
	if (session->leaked)
		return;
	explicit_bzero(session, sizeof(*session));
	free(session);
}

bool session_disconnect(struct session *session)
{
	int i;

	control_stop(session);
	for (i = 0; i < FARSWAP_QUEUES_MAX; i++) {
		conn_destroy_qp(&session->data[i]);
		conn_destroy_id(&session->data[i]);
	}
	conn_destroy_qp(&session->control);
	control_destroy(session);
	return !session->reachable;
}

/*
 * Release everything on the removed device; only the regions' memory stays. Each turn of the loop
 * revokes one rkey, so that other sessions do not wait for all of them.
 */
static void session_leave_device(struct session *session)
{
	if (request_unregister(session)) {
		loop_work_queue(&session->teardown);
		return;
	}
	if (region_owner_is_busy(&session->owner))
		return;
	session_free_pd(session, session->pd);
	session_free_pd(session, session->lend_pd);
	session->pd = NULL;
	session->lend_pd = NULL;
	conn_destroy_id(&session->control);
	device_put(session->device);
	session->device = NULL;
}

static void session_teardown(void *arg)
{
	struct session *session = arg;
	bool unreached = session_disconnect(session);

	/* The id of the control connection keeps the device open. */
	if (session->state == SESSION_GRACE) {
		if (!unreached)
			session_end(session, STAT_END_LINK, SESSION_REACHABLE);
		else if (session->device_gone)
			session_leave_device(session);
		return;
	}
	if (request_reclaim(session)) {
		loop_work_queue(&session->teardown);
		return;
	}
	/* session_idle() continues when the worker is done. */
	if (session->has_owner && region_owner_is_busy(&session->owner))
		return;
	session_free(session);
	message_kick_pool();
}

void session_idle(struct region_owner *owner)
{
	struct session *session = session_of(owner);

	if (session->state == SESSION_DEAD || session->device_gone)
		loop_work_queue(&session->teardown);
}

unsigned int session_lent(const struct session *session)
{
	unsigned int lent = 0;
	int i;

	for (i = REGION_MAPPED; session->has_owner && i <= REGION_EVICTING; i++)
		lent += session->owner.nr[i];
	return lent;
}

unsigned int session_dying(void)
{
	unsigned int dying = 0;
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		if (session->state == SESSION_DEAD && session->has_owner)
			dying += session->owner.nr[REGION_MAPPED];
	}
	return dying;
}

void session_end(struct session *session, enum stats_counter reason, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	if (session->state == SESSION_DEAD)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	log_peer(session->peer, "session %" PRIu64 " ended: %s (%u regions)",
		 session->number, why, session_lent(session));
	stats_inc(reason);
	if (session->state == SESSION_GRACE)
		grace_leave();
	session_set_state(session, SESSION_DEAD);
	loop_timer_stop(&session->deadline);
	if (session->has_owner)
		region_owner_leave(&session->owner);
	control_stop(session);
	loop_work_cancel(&session->sweep);
	message_stop(session);
	request_stop(session);
	loop_work_queue(&session->teardown);
}

void session_lost(struct session *session, enum stats_counter reason, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	if (session_is_over(session))
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (grace_enter(session, why))
		loop_work_queue(&session->teardown);
	else
		session_end(session, reason, "%s", why);
}

void session_end_all(enum stats_counter reason, const char *why)
{
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		session_end(session, reason, "%s", why);
	}
}

void session_end_denied(void)
{
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		if (session->auth.on && !session->auth.invited && !auth_is_allowed(&session->auth))
			session_end(session, STAT_END_AUTH,
				    "client '%s' may not connect with this key any more",
				    session->auth.name);
	}
}

void session_device_gone(struct ibv_context *device)
{
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		if (session->device != device)
			continue;
		session->device_gone = true;
		if (session->state == SESSION_GRACE)
			loop_work_queue(&session->teardown);
		else
			session_lost(session, STAT_END_LINK, "the RDMA device was removed");
	}
}

void session_device_failed(struct ibv_context *device)
{
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		if (session->device == device)
			session_lost(session, STAT_END_LINK, "the RDMA device failed");
	}
}

void session_peer_name(struct rdma_cm_id *id, char name[SESSION_PEER_MAX])
{
	struct sockaddr *addr = rdma_get_peer_addr(id);
	socklen_t len = addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
		sizeof(struct sockaddr_in);
	char host[48], port[8];

	if (getnameinfo(addr, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(name, SESSION_PEER_MAX, "unknown address");
	else
		snprintf(name, SESSION_PEER_MAX,
			 addr->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static struct session *session_alloc(struct rdma_cm_id *id, const struct auth *auth)
{
	struct session *session = calloc(1, sizeof(*session));
	int i;

	if (!session)
		return NULL;
	session->auth = *auth;
	session->client = client_get(auth->name, rdma_get_peer_addr(id));
	if (!session->client || getrandom(&session->secret, sizeof(session->secret), GRND_NONBLOCK) !=
	    sizeof(session->secret)) {
		if (session->client)
			client_put(session->client);
		free(session);
		return NULL;
	}
	session->half_open = true;
	client_half_open(session->client, 1);
	session->number = ++sessions.number;
	session->control.id = id;
	session->device = id->verbs;
	session_peer_name(id, session->peer);
	conn_init(&session->control, session);
	for (i = 0; i < FARSWAP_QUEUES_MAX; i++)
		conn_init(&session->data[i], session);
	session->channel_fd.fd = -1;
	loop_timer_init(&session->deadline, session_deadline, session);
	loop_work_init(&session->teardown, session_teardown, session);
	request_init(session);
	grace_init_session(session);
	list_add_tail(&session->link, &session_list);
	sessions.count++;
	return session;
}

/*
 * A client that resumes replaces its old session when it sends HELLO. The factor bounds the number
 * of clients that connect without HELLO.
 */
bool session_is_full(bool resumes)
{
	unsigned int count = sessions.count - grace_count() - client_nr_half_open();

	return count >= (resumes ? 2 * sessions.max : sessions.max);
}

/*
 * Make room for another session without HELLO. The oldest has had the most time: a client that
 * means to use its connection sends HELLO at once.
 */
static void session_drop_half_open(void)
{
	struct list *pos;

	if (client_nr_half_open() < client_half_open_max())
		return;
	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		if (!session->half_open)
			continue;
		session_end(session, STAT_END_HALF_OPEN, "more than %u connections without HELLO",
			    client_half_open_max());
		return;
	}
}

/* Return the status to reject the request with. Nothing is allocated for it so far. */
static int session_check(struct rdma_cm_id *id, const struct farswap_connect *connect,
			 uint32_t qpn, struct auth *auth)
{
	const struct sockaddr *from = rdma_get_peer_addr(id);
	bool resumes = grace_may_resume(connect, from);
	char peer[SESSION_PEER_MAX];
	const char *wrong;

	if (sessions.leaving)
		return FARSWAP_STATUS_LEAVING;
	if (!auth_is_on() && !client_is_allowed(from))
		return FARSWAP_STATUS_BAD_AUTH;
	if (!client_count_connect(from))
		return FARSWAP_STATUS_BUSY;
	wrong = auth_check_control(auth, connect, from, qpn);
	if (wrong) {
		session_peer_name(id, peer);
		log_peer(peer, "not authenticated: %s", wrong);
		return FARSWAP_STATUS_BAD_AUTH;
	}
	if (!client_may_connect(auth->name, from, resumes) || session_is_full(resumes))
		return FARSWAP_STATUS_BUSY;
	return FARSWAP_STATUS_OK;
}

int session_create(struct rdma_cm_id *id, const struct rdma_conn_param *param,
		   const struct farswap_connect *connect)
{
	struct session *session;
	struct auth auth;
	int err = session_check(id, connect, param->qp_num, &auth);

	if (err)
		return err;
	session_drop_half_open();
	session = session_alloc(id, &auth);
	if (!session)
		return FARSWAP_STATUS_NO_MEMORY;
	session->attempt = le32toh(connect->attempt);
	device_get(id->verbs);
	session->pd = ibv_alloc_pd(id->verbs);
	session->lend_pd = ibv_alloc_pd(id->verbs);
	err = session->pd && session->lend_pd ? 0 : -ENOMEM;
	if (!err)
		err = control_create(session);
	if (!err)
		err = conn_create_qp(&session->control, session->pd, SESSION_SENDS,
				     FARSWAP_RECV_DEPTH);
	if (err)
		goto out_free;
	session->control.state = CONN_ACCEPTED;
	id->context = &session->control;
	stats_inc(STAT_SESSIONS);
	loop_timer_set(&session->deadline, SESSION_CONNECT_MS);
	err = control_post_receives(session);
	if (!err)
		err = conn_accept(&session->control, param, connect, 0);
	/* The CM may know the id by now, so end the session in the normal way. */
	if (err)
		session_end(session, STAT_END_INTERNAL, "cannot be accepted: %s", strerror(-err));
	return FARSWAP_STATUS_OK;

out_free:
	log_peer(session->peer, "cannot create a session: %s", strerror(-err));
	session->control.id = NULL;
	session_set_state(session, SESSION_DEAD);
	session_free(session);
	return FARSWAP_STATUS_NO_MEMORY;
}

/*
 * A resumed session keeps its secret, so match the attempt: an old request may be late. The secret
 * crosses the network in clear, so match the address too.
 */
static struct session *session_find(const struct farswap_connect *connect,
				    struct rdma_cm_id *id)
{
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		if (session->state == SESSION_READY && !session->resuming &&
		    session_is_named(session, connect) &&
		    session->attempt == le32toh(connect->attempt) &&
		    session->device == id->verbs &&
		    grace_is_from(session, rdma_get_peer_addr(id)))
			return session;
	}
	return NULL;
}

int session_add_data(struct rdma_cm_id *id, const struct rdma_conn_param *param,
		     const struct farswap_connect *connect)
{
	struct session *session = session_find(connect, id);
	unsigned int queue = le16toh(connect->queue);
	struct conn *conn;
	int err;

	if (!session)
		return FARSWAP_STATUS_BAD_SESSION;
	if (auth_check_data(&session->auth, connect, param->qp_num))
		return FARSWAP_STATUS_BAD_AUTH;
	conn = &session->data[queue];
	if (queue >= session->queues || conn->state != CONN_NONE)
		return FARSWAP_STATUS_BUSY;
	conn->id = id;
	err = conn_create_qp(conn, session->lend_pd, 1, 1);
	if (err) {
		log_peer(session->peer, "cannot create a data queue pair: %s", strerror(-err));
		conn->id = NULL;
		return FARSWAP_STATUS_NO_MEMORY;
	}
	id->context = conn;
	conn->state = CONN_ACCEPTED;
	loop_timer_set(&conn->timer, SESSION_CONNECT_MS);
	err = conn_accept(conn, param, connect, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (err)
		session_lost(session, STAT_END_INTERNAL, "data queue pair %u cannot be accepted: %s",
			     queue, strerror(-err));
	return FARSWAP_STATUS_OK;
}

void session_established(struct conn *conn)
{
	struct session *session = conn->session;

	if (conn->state != CONN_ACCEPTED || session_is_over(session))
		return;
	conn->state = CONN_UP;
	if (conn != &session->control) {
		/* The client has queried all rkeys before it connects data queues. */
		session->rekeyed = false;
		loop_timer_stop(&conn->timer);
		if (session->state == SESSION_READY)
			loop_timer_stop(&session->deadline);
		return;
	}
	/* HELLO may have arrived before this event. */
	if (session->state == SESSION_CONNECTING) {
		session_set_state(session, SESSION_GREETING);
		loop_timer_set(&session->deadline, SESSION_HELLO_MS);
	}
}

const char *session_state_name(enum session_state state)
{
	static const char *const names[SESSION_STATES] = {
		[SESSION_CONNECTING] = "connecting",
		[SESSION_GREETING] = "greeting",
		[SESSION_READY] = "ready",
		[SESSION_CLOSING] = "closing",
		[SESSION_GRACE] = "grace",
		[SESSION_DEAD] = "ending",
	};

	return names[state];
}

void session_init(unsigned int max)
{
	sessions.max = max;
}

void session_leave(void)
{
	sessions.leaving = true;
}

bool session_leaving(void)
{
	return sessions.leaving;
}

unsigned int session_count(void)
{
	return sessions.count;
}
