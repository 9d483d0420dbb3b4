/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pair events end a connection in a way that allows it to be resumed: some adapters raise
 * them for a failed request of ours before it completes.
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
	for (i = 0; i < 2 * ARRAY_SIZE(cm_test_events); i++) {
		const struct cm_test_event *expected = &cm_test_events[i / 2];
		struct ib_event event = { .event = expected->event };
		struct farswap_rdma_conn *conn = farswap_rdma_conn_alloc(session);

		KUNIT_ASSERT_NOT_NULL(test, conn);
		data = i % 2;
		cm_qp_event(&event, data ? &conn->queue[0].chan : &conn->control);
		KUNIT_EXPECT_EQ_MSG(test, conn->error, expected->error, "event %d, data %u",
				    expected->event, data);
		farswap_rdma_conn_fail(conn, -ESHUTDOWN, "test");
		farswap_rdma_conn_put(conn);
	}
}

static struct kunit_case cm_cases[] = {
	KUNIT_CASE(cm_test_qp_event),
	{}
};

static struct kunit_suite cm_suite = {
	.name		= "farswap_rdma_cm",
	.test_cases	= cm_cases,
};

kunit_test_suite(cm_suite);
