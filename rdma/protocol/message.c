// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages: what arrives, and what is not a request of this side (see rpc.c). Callbacks
 * pass the donor's requests to the core, but only for regions that it holds, and only up to a rate
 * that suffices for any donor: answering costs time of this machine.
 */
#include "protocol.h"

/* Twice the limit of the donor, since the clocks differ. */
#define MESSAGE_QUERIES_MAX	(2 * FARSWAP_QUERIES_PER_SECOND)

/* Fail the connection and return false if the donor queries too often. */
static bool message_count_queries(struct farswap_rdma_conn *conn, unsigned int count)
{
	if (time_after(jiffies, conn->queries_since + HZ)) {
		conn->queries_since = jiffies;
		conn->nr_queries = 0;
	}
	conn->nr_queries += count;
	if (conn->nr_queries <= MESSAGE_QUERIES_MAX)
		return true;
	farswap_rdma_conn_fail(conn, -EPROTO, "too many queries in a second");
	return false;
}

/* Answer a request of the donor. @seq: sequence number of the request */
static void message_answer(struct farswap_rdma_conn *conn, void *msg, size_t len, u32 seq)
{
	int err;

	farswap_wire_set_seq(msg, seq);
	spin_lock(&conn->lock);
	err = farswap_rdma_conn_send(conn, msg, len);
	spin_unlock(&conn->lock);
	if (err == -EAGAIN)
		farswap_rdma_conn_fail(conn, -EPROTO, "more requests than credits");
	else if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

static void message_evict(struct farswap_rdma_conn *conn, const void *buf)
{
	struct farswap_session *session = conn->session;
	bool first = false, crossed = false;
	struct farswap_region *region;
	u32 deadline_ms;
	u64 id;

	id = farswap_wire_read_evict(buf, &deadline_ms);
	spin_lock(&conn->lock);
	region = farswap_rdma_region_find(conn, id);
	if (region) {
		first = !region->evicted;
		conn->evict_requested = true;
		region->evicted = true;
		region->evict_seq = farswap_wire_seq(buf);
	} else if (conn->nr_released) {
		/* Our UNMAP or DONE has crossed this EVICT, once for each region given back. */
		conn->nr_released--;
		crossed = true;
	}
	spin_unlock(&conn->lock);
	if (crossed)
		return;
	if (!first) {
		message_count_queries(conn, 1);
		return;
	}

	mutex_lock(&session->ops_lock);
	if (!farswap_rdma_conn_dead(conn))
		session->ops->evict(session->ctx, id, deadline_ms);
	mutex_unlock(&session->ops_lock);
}

static bool message_region_held(struct farswap_rdma_conn *conn, u64 id)
{
	bool held;

	spin_lock(&conn->lock);
	held = farswap_rdma_region_find(conn, id);
	spin_unlock(&conn->lock);
	return held;
}

static void message_check_activity(struct farswap_rdma_conn *conn, const void *buf)
{
	struct farswap_session *session = conn->session;
	u64 region[FARSWAP_ACTIVITY_REGIONS];
	u32 pages[FARSWAP_ACTIVITY_REGIONS] = {};
	struct farswap_activity answer;
	unsigned int count, i;
	size_t len;

	count = farswap_wire_read_check_activity(buf, region);
	if (!message_count_queries(conn, count))
		return;
	mutex_lock(&session->ops_lock);
	for (i = 0; i < count && !farswap_rdma_conn_dead(conn); i++)
		if (message_region_held(conn, region[i]))
			pages[i] = session->ops->activity(session->ctx, region[i]);
	mutex_unlock(&session->ops_lock);

	len = farswap_wire_activity(&answer, region, pages, count);
	message_answer(conn, &answer, len, farswap_wire_seq(buf));
}

static void message_ping(struct farswap_rdma_conn *conn, const void *buf)
{
	struct farswap_hdr answer;
	size_t len = farswap_wire_bare(&answer, FARSWAP_MSG_PONG);

	if (!message_count_queries(conn, 1))
		return;
	message_answer(conn, &answer, len, farswap_wire_seq(buf));
}

static void message_pong(struct farswap_rdma_conn *conn, const void *buf)
{
	bool ours;

	spin_lock(&conn->lock);
	ours = conn->ping_out && !conn->ping_unsent &&
	       conn->ping_seq == farswap_wire_seq(buf);
	if (ours) {
		conn->ping_out = false;
		conn->session->nr_answers++;
	}
	spin_unlock(&conn->lock);
	if (!ours)
		farswap_rdma_conn_fail(conn, -EPROTO, "answer without a request");
}

static void message_answered(struct farswap_rdma_conn *conn, const void *buf, size_t len)
{
	const char *wrong;
	int err = 0;

	spin_lock(&conn->lock);
	wrong = farswap_rdma_rpc_answered(conn, buf, len);
	if (!wrong)
		err = farswap_rdma_region_send_releases(conn);
	spin_unlock(&conn->lock);
	if (wrong)
		farswap_rdma_conn_fail(conn, -EPROTO, wrong);
	else if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
	wake_up_all(&conn->wait);
}

/**
 * farswap_rdma_message_received() - handle a message that has arrived
 * @conn:	connection
 * @buf:	the message; may be changed
 * @len:	its length
 *
 * Context: process; one message of a connection at a time, in the order of their arrival.
 */
void farswap_rdma_message_received(struct farswap_rdma_conn *conn, void *buf, size_t len)
{
	enum farswap_wire_fault fault;

	if (READ_ONCE(conn->auth.sealed) && farswap_auth_open(&conn->auth, buf, &len)) {
		farswap_rdma_conn_fail(conn, -EPROTO, "message that is not authentic");
		return;
	}
	fault = farswap_wire_check(buf, len);
	if (fault == FARSWAP_WIRE_IGNORE) {
		message_count_queries(conn, 1);
		return;
	}
	if (fault) {
		farswap_rdma_conn_fail(conn, -EPROTO, farswap_wire_fault_name(fault));
		return;
	}
	switch (farswap_wire_type(buf)) {
	case FARSWAP_MSG_AUTHED:
	case FARSWAP_MSG_WELCOME:
	case FARSWAP_MSG_FREE_MEM:
	case FARSWAP_MSG_MR_INFO:
	case FARSWAP_MSG_RESUMED:
	case FARSWAP_MSG_KEYED:
		message_answered(conn, buf, len);
		break;
	case FARSWAP_MSG_EVICT:
		message_evict(conn, buf);
		break;
	case FARSWAP_MSG_CHECK_ACTIVITY:
		message_check_activity(conn, buf);
		break;
	case FARSWAP_MSG_PING:
		message_ping(conn, buf);
		break;
	case FARSWAP_MSG_PONG:
		message_pong(conn, buf);
		break;
	default:
		farswap_rdma_conn_fail(conn, -EPROTO, "message only a client may send");
		break;
	}
}

/**
 * farswap_rdma_message_sent() - a message has been acknowledged, or the connection is dead
 * @conn:	connection
 *
 * Context: process.
 */
void farswap_rdma_message_sent(struct farswap_rdma_conn *conn)
{
	int err = 0;

	spin_lock(&conn->lock);
	conn->nr_sends++;
	if (!farswap_rdma_conn_dead(conn))
		err = farswap_rdma_region_send_releases(conn);
	spin_unlock(&conn->lock);
	if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
	wake_up_all(&conn->wait);
}

/**
 * farswap_rdma_message_ping() - send a PING, or retry to send it
 * @conn:	connection; no other PING is in flight
 *
 * The time counts from the first attempt, so that a donor that accepts nothing more is
 * found late too.
 *
 * Context: process.
 */
void farswap_rdma_message_ping(struct farswap_rdma_conn *conn)
{
	struct farswap_hdr msg;
	size_t len = farswap_wire_bare(&msg, FARSWAP_MSG_PING);
	int err;

	spin_lock(&conn->lock);
	if (!conn->ping_out) {
		conn->ping_seq = conn->next_seq++;
		conn->ping_begun = jiffies;
		conn->ping_out = true;
	}
	farswap_wire_set_seq(&msg, conn->ping_seq);
	err = farswap_rdma_conn_send(conn, &msg, len);
	conn->ping_unsent = err == -EAGAIN;
	conn->session->nr_requests += !err;
	spin_unlock(&conn->lock);
	if (err && err != -EAGAIN)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

/**
 * farswap_rdma_message_open() - allow I/O and releases
 * @conn:	connection, which is live from now on
 *
 * Context: process; doesn't wait.
 */
void farswap_rdma_message_open(struct farswap_rdma_conn *conn)
{
	int err;

	spin_lock(&conn->lock);
	/* Orders the set-up of the queues before @open; pairs with farswap_rdma_io_submit(). */
	smp_store_release(&conn->open, true);
	err = farswap_rdma_region_send_releases(conn);
	spin_unlock(&conn->lock);
	if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

static bool message_is_flushed(struct farswap_rdma_conn *conn)
{
	bool flushed;

	spin_lock(&conn->lock);
	flushed = farswap_rdma_conn_dead(conn) || !conn->open ||
		  (list_empty(&conn->releases) && conn->nr_sends == FARSWAP_RDMA_SENDS);
	spin_unlock(&conn->lock);
	return flushed;
}

/**
 * farswap_rdma_message_flush() - wait until all that was sent is acknowledged
 * @conn:	connection
 *
 * Context: may sleep, a second at most.
 */
void farswap_rdma_message_flush(struct farswap_rdma_conn *conn)
{
	wait_event_timeout(conn->wait, message_is_flushed(conn), HZ);
}

/**
 * farswap_rdma_message_quiesce() - drop the requests and releases of a dead connection
 * @conn:	dead connection; no message is being handled
 *
 * Context: process.
 */
void farswap_rdma_message_quiesce(struct farswap_rdma_conn *conn)
{
	struct farswap_region *region, *next;
	LIST_HEAD(dead);

	spin_lock(&conn->lock);
	list_splice_init(&conn->releases, &dead);
	farswap_rdma_rpc_quiesce(conn, &dead);
	spin_unlock(&conn->lock);
	list_for_each_entry_safe(region, next, &dead, entry)
		farswap_rdma_region_free(region);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/message-kunit.h"
#endif
