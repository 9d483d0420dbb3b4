/* SPDX-License-Identifier: GPL-2.0 */
/* Monitoring: when the length of packets is named as the reason of an overdue I/O. */
#include <kunit/test.h>

/* Only for a resumed connection, and a direction in which nothing has passed. */
static void keepalive_test_length(struct kunit *test)
{
	struct farswap_rdma_conn *conn = kunit_kzalloc(test, sizeof(*conn), GFP_KERNEL);
	struct farswap_rdma_flow flow[4] = {};
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	conn->nr_queues = ARRAY_SIZE(flow);
	for (i = 0; i < ARRAY_SIZE(flow); i++)
		conn->flow[i] = &flow[i];
	KUNIT_EXPECT_FALSE(test, keepalive_is_mtu(conn, 0));
	conn->resumed = true;
	KUNIT_EXPECT_TRUE(test, keepalive_is_mtu(conn, 0));
	KUNIT_EXPECT_TRUE(test, keepalive_is_mtu(conn, 3));
	flow[2].good = true;
	KUNIT_EXPECT_TRUE(test, keepalive_is_mtu(conn, 1));
	KUNIT_EXPECT_FALSE(test, keepalive_is_mtu(conn, 3));
	flow[1].good = true;
	KUNIT_EXPECT_FALSE(test, keepalive_is_mtu(conn, 0));
}

static struct kunit_case keepalive_cases[] = {
	KUNIT_CASE(keepalive_test_length),
	{}
};

static struct kunit_suite keepalive_suite = {
	.name		= "farswap_rdma_keepalive",
	.test_cases	= keepalive_cases,
};

kunit_test_suite(keepalive_suite);
