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
		struct farswap_rdma_conn *conn = farswap_rdma_link_alloc(session);

		KUNIT_ASSERT_NOT_NULL(test, conn);
		data = i % 2;
		cm_qp_event(&event, data ? &conn->queue[0].chan : &conn->control);
		KUNIT_EXPECT_EQ_MSG(test, conn->error, expected->error, "event %d, data %u",
				    expected->event, data);
		farswap_rdma_conn_fail(conn, -ESHUTDOWN, "test");
		farswap_rdma_conn_put(conn);
	}
}

/* The queues for loads use all completion vectors in turn, independent of other queues. */
static void cm_test_vectors(struct kunit *test)
{
	unsigned int used[4] = {}, i, j;

	/* Counted together, the two queues for loads would get half of the vectors. */
	for (i = 0; i < 16; i++) {
		for (j = 0; j < 2; j++)
			used[chan_next_vector(true, ARRAY_SIZE(used))]++;
		for (j = 0; j < 2; j++)
			KUNIT_EXPECT_LT(test, chan_next_vector(false, 4), 4);
	}
	for (i = 0; i < ARRAY_SIZE(used); i++)
		KUNIT_EXPECT_EQ_MSG(test, used[i], 8, "vector %u", i);
	KUNIT_EXPECT_EQ(test, chan_next_vector(true, 1), 0);
	KUNIT_EXPECT_EQ(test, chan_next_vector(true, 0), 0);
}

static struct kunit_case cm_cases[] = {
	KUNIT_CASE(cm_test_qp_event),
	KUNIT_CASE(cm_test_vectors),
	{}
};

static struct kunit_suite cm_suite = {
	.name		= "farswap_rdma_cm",
	.test_cases	= cm_cases,
};

kunit_test_suite(cm_suite);
