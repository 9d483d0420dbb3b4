// SPDX-License-Identifier: GPL-2.0
/*
 * What the donor asks of us: EVICT, CHECK_ACTIVITY, PING; and PONG. The core is
 * asked through its callbacks; only about regions that it holds, and not more
 * often than a donor has reason to: its answers cost this machine's time.
 */
#include "internal.h"

/* A donor's seconds are not ours. */
#define MESSAGE_ASKS_MAX	(2 * FARSWAP_ASKS_PER_SECOND)

/* False: it is too much, and the connection dead. */
static bool message_count_asks(struct farswap_rdma_conn *conn, unsigned int asks)
{
	if (time_after(jiffies, conn->asks_since + HZ)) {
		conn->asks_since = jiffies;
		conn->nr_asks = 0;
	}
	conn->nr_asks += asks;
	if (conn->nr_asks <= MESSAGE_ASKS_MAX)
		return true;
	farswap_rdma_conn_fail(conn, -EPROTO, "asks more than it may in a second");
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
		conn->wanted = true;
		region->evicted = true;
		region->evict_seq = farswap_wire_seq(buf);
	} else if (conn->nr_released) {
		/* Our UNMAP or DONE has crossed it: once for each that we gave back. */
		conn->nr_released--;
		crossed = true;
	}
	spin_unlock(&conn->lock);
	if (crossed)
		return;
	if (!first) {
		message_count_asks(conn, 1);
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
	if (!message_count_asks(conn, count))
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

	if (!message_count_asks(conn, 1))
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
		conn->session->answered++;
	}
	spin_unlock(&conn->lock);
	if (!ours)
		farswap_rdma_conn_fail(conn, -EPROTO, "answer to nothing we asked");
}

/**
 * farswap_rdma_message_handle() - act on a message that is no answer to a call
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
