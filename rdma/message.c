// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of the donor: EVICT, CHECK_ACTIVITY and PING; and PONG. Callbacks pass them to
 * the core, but only for regions that it holds, and only up to a rate that suffices for any
 * donor: answering costs time of this machine.
 */
#include "internal.h"

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
	farswap_rdma_control_answer(conn, &answer, len, farswap_wire_seq(buf));
}

static void message_ping(struct farswap_rdma_conn *conn, const void *buf)
{
	struct farswap_hdr answer;
	size_t len = farswap_wire_bare(&answer, FARSWAP_MSG_PONG);

	if (!message_count_queries(conn, 1))
		return;
	farswap_rdma_control_answer(conn, &answer, len, farswap_wire_seq(buf));
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

/**
 * farswap_rdma_message_handle() - handle a message that is not an answer
 * @conn:	connection
 * @buf:	the message, checked
 *
 * Context: process.
 */
void farswap_rdma_message_handle(struct farswap_rdma_conn *conn, const void *buf)
{
	switch (farswap_wire_type(buf)) {
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

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/message-kunit.h"
#endif
