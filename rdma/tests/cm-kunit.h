/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pair events end a connection in a way that allows it to be resumed: some adapters raise
 * them for a failed request of ours before it completes. An accept may come late.
 */
#include <kunit/test.h>

static const struct cm_test_event {
	enum ib_event_type event;
	int error;
} cm_test_events[] = {
	{ IB_EVENT_QP_REQ_ERR, -EIO },
	{ IB_EVENT_QP_ACCESS_ERR, -EIO },
	{ IB_EVENT_QP_FATAL, -EIO },
	{ IB_EVENT_COMM_EST, 0 },
	{ IB_EVENT_SQ_DRAINED, 0 },
};

static void cm_test_qp_event(struct kunit *test)
{
	struct farswap_session *session = kunit_kzalloc(test, struct_size(session, address, 1),
							GFP_KERNEL);
	unsigned int i, data;

	KUNIT_ASSERT_NOT_NULL(test, session);
	spin_lock_init(&session->lock);
	session->queues = 2;
	session->link = &farswap_rdma_link_ops;
	for (i = 0; i < 2 * ARRAY_SIZE(cm_test_events); i++) {
		const struct cm_test_event *expected = &cm_test_events[i / 2];
		struct ib_event event = { .event = expected->event };
		struct farswap_rdma_conn *conn = farswap_rdma_conn_alloc(session);

		KUNIT_ASSERT_NOT_NULL(test, conn);
		data = i % 2;
		cm_qp_event(&event, data ? &to_link(conn)->queue[0].chan : &to_link(conn)->control);
		KUNIT_EXPECT_EQ_MSG(test, conn->error, expected->error, "event %d, data %u",
				    expected->event, data);
		farswap_rdma_conn_fail(conn, -ESHUTDOWN, "test");
		farswap_rdma_conn_put(conn);
	}
}

/*
 * An accept arrives while a timeout ends the link, after the queue pair was destroyed. The accept
 * is bound to the number that the queue pair had.
 */
static void cm_test_late_accept(struct kunit *test)
{
	struct farswap_session *session = kunit_kzalloc(test, struct_size(session, address, 1),
							GFP_KERNEL);
	struct rdma_cm_id *id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	struct farswap_accept accept = {
		.magic		= cpu_to_le32(FARSWAP_MAGIC),
		.version	= cpu_to_le16(FARSWAP_VERSION),
		.status		= cpu_to_le16(FARSWAP_STATUS_OK),
		.features	= cpu_to_le32(FARSWAP_FEATURE_SEALED),
	};
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_ESTABLISHED,
		.param.conn = {
			.private_data		= &accept,
			.private_data_len	= sizeof(accept),
			.qp_num			= 0x654321,
		},
	};
	struct farswap_rdma_chan *chan;
	struct farswap_rdma_conn *conn;
	__le32 *numbers;

	KUNIT_ASSERT_NOT_NULL(test, session);
	KUNIT_ASSERT_NOT_NULL(test, id);
	spin_lock_init(&session->lock);
	session->queues = 2;
	session->link = &farswap_rdma_link_ops;
	conn = farswap_rdma_conn_alloc(session);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	conn->auth.on = true;
	chan = &to_link(conn)->control;
	chan->id = id;
	chan->qpn = 0x123456;
	id->context = chan;
	cm_handler(id, &event);
	KUNIT_EXPECT_EQ(test, conn->error, 0);
	KUNIT_EXPECT_EQ(test, chan->step, FARSWAP_RDMA_STEP_ESTABLISHED);
	numbers = (__le32 *)(conn->auth.prologue + sizeof(conn->auth.prologue)) - 2;
	KUNIT_EXPECT_EQ(test, le32_to_cpu(numbers[0]), 0x123456);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(numbers[1]), 0x654321);
	chan->id = NULL;
	farswap_rdma_conn_fail(conn, -ESHUTDOWN, "test");
	farswap_rdma_conn_put(conn);
}

/* A vector is that of a CPU which submits to the queue, if it can be. */
static unsigned int test_vector(struct kunit *test, bool loads, unsigned int nth, unsigned int nr,
				unsigned int vectors)
{
	unsigned int vector = chan_next_vector(loads, nth, nr, vectors);

	KUNIT_EXPECT_LT(test, vector, vectors);
	if (nth < vectors)
		KUNIT_EXPECT_EQ(test, vector % nr, nth);
	return vector;
}

/* The queues for loads use all completion vectors in turn, independent of other queues. */
static void cm_test_vectors(struct kunit *test)
{
	unsigned int used[4] = {}, i, j;

	/* Counted together, the two queues for loads would get half of the vectors. */
	for (i = 0; i < 16; i++) {
		for (j = 0; j < 2; j++)
			used[test_vector(test, true, j, 2, ARRAY_SIZE(used))]++;
		for (j = 0; j < 2; j++)
			test_vector(test, false, j, 2, 4);
	}
	for (i = 0; i < ARRAY_SIZE(used); i++)
		KUNIT_EXPECT_EQ_MSG(test, used[i], 8, "vector %u", i);
	/* More queues than vectors, and numbers that do not divide each other. */
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++) {
			test_vector(test, true, j, 8, 3);
			test_vector(test, false, j % 3, 3, 8);
		}
	KUNIT_EXPECT_EQ(test, chan_next_vector(true, 0, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, chan_next_vector(true, 7, 8, 0), 0);
}

#define CM_TEST_ACK_NS(power)	(4096ULL << (power))

/*
 * All retries are over within io_timeout_ms, whether the adapter waits as configured or four times
 * as long, unless the smallest or the largest timeout applies.
 */
static void cm_test_ack_timeout(struct kunit *test)
{
	static const unsigned int io_timeout_ms[] = { 1, 100, 500, 1000, 3000, 10000, 600000 };
	unsigned int i;
	u64 all, bound, once;
	int exact;

	for (i = 0; i < ARRAY_SIZE(io_timeout_ms); i++)
		for (exact = 0; exact < 2; exact++) {
			u8 power = chan_ack_timeout(io_timeout_ms[i], exact);

			KUNIT_EXPECT_GE(test, power, CHAN_ACK_LEAST);
			KUNIT_EXPECT_LE(test, power, CHAN_ACK_MOST);
			once = CM_TEST_ACK_NS(power) * (exact ? 1 : 4);
			all = once * (FARSWAP_RDMA_RETRIES + 1);
			bound = io_timeout_ms[i] * (u64)NSEC_PER_MSEC;
			/* The nearest power of two: less than twice, more than half. */
			if (power > CHAN_ACK_LEAST)
				KUNIT_EXPECT_LE_MSG(test, all, 2 * bound, "%u ms, exact %d",
						    io_timeout_ms[i], exact);
			if (power < CHAN_ACK_MOST)
				KUNIT_EXPECT_GT_MSG(test, all, bound / 2, "%u ms, exact %d",
						    io_timeout_ms[i], exact);
		}
}

static struct kunit_case cm_cases[] = {
	KUNIT_CASE(cm_test_qp_event),
	KUNIT_CASE(cm_test_late_accept),
	KUNIT_CASE(cm_test_vectors),
	KUNIT_CASE(cm_test_ack_timeout),
	{}
};

static struct kunit_suite cm_suite = {
	.name		= "farswap_rdma_cm",
	.test_cases	= cm_cases,
};

kunit_test_suite(cm_suite);
