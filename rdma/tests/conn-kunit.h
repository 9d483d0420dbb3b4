/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sessions: every move between two states, legal or not.
 */
#include <kunit/test.h>

static const bool session_legal_moves[FARSWAP_RDMA_STATES][FARSWAP_RDMA_STATES] = {
	[FARSWAP_RDMA_IDLE][FARSWAP_RDMA_CONNECTING] = true,
	[FARSWAP_RDMA_IDLE][FARSWAP_RDMA_CLOSED] = true,
	[FARSWAP_RDMA_CONNECTING][FARSWAP_RDMA_IDLE] = true,
	[FARSWAP_RDMA_CONNECTING][FARSWAP_RDMA_LIVE] = true,
	[FARSWAP_RDMA_LIVE][FARSWAP_RDMA_FAILING] = true,
	[FARSWAP_RDMA_FAILING][FARSWAP_RDMA_IDLE] = true,
};

static void conn_test_moves(struct kunit *test)
{
	unsigned int from, to;

	for (from = 0; from < FARSWAP_RDMA_STATES; from++)
		for (to = 0; to < FARSWAP_RDMA_STATES; to++)
			KUNIT_EXPECT_EQ_MSG(test, session_may_become(from, to),
					    session_legal_moves[from][to],
					    "from %u to %u", from, to);
}

/* An illegal move does not make a session live. */
static void conn_test_refused(struct kunit *test)
{
	struct farswap_session *session = kunit_kzalloc(test, struct_size(session, address, 1),
							GFP_KERNEL);
	unsigned int from, to;
	bool moved;

	KUNIT_ASSERT_NOT_NULL(test, session);
	spin_lock_init(&session->lock);
	for (from = 0; from < FARSWAP_RDMA_STATES; from++)
		for (to = 0; to < FARSWAP_RDMA_STATES; to++) {
			session->state = from;
			spin_lock_irq(&session->lock);
			moved = session_become(session, to);
			spin_unlock_irq(&session->lock);
			KUNIT_EXPECT_EQ(test, moved, to != FARSWAP_RDMA_LIVE ||
					session_legal_moves[from][to]);
			KUNIT_EXPECT_EQ(test, session->state, moved ? to : from);
		}
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(conn_test_moves),
	KUNIT_CASE(conn_test_refused),
	{}
};

static struct kunit_suite conn_suite = {
	.name		= "farswap_rdma_conn",
	.test_cases	= conn_cases,
};

kunit_test_suite(conn_suite);
