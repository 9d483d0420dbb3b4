/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Retransmission timeout: all retries are over within io_timeout_ms, whether the adapter waits as
 * configured or four times as long, unless the smallest or the largest timeout applies.
 */
#include <kunit/test.h>

#define KEEPALIVE_TEST_ACK_NS(power)	(4096ULL << (power))

static void keepalive_test_ack_timeout(struct kunit *test)
{
	static const unsigned int io_timeout_ms[] = { 1, 100, 500, 1000, 3000, 10000, 600000 };
	unsigned int before = keepalive_io_timeout_ms, i;
	u64 all, bound, once;
	int exact;

	for (i = 0; i < ARRAY_SIZE(io_timeout_ms); i++)
		for (exact = 0; exact < 2; exact++) {
			u8 power;

			farswap_rdma_keepalive_set_io_timeout(io_timeout_ms[i]);
			power = farswap_rdma_keepalive_ack_timeout(exact);
			KUNIT_EXPECT_GE(test, power, KEEPALIVE_ACK_LEAST);
			KUNIT_EXPECT_LE(test, power, KEEPALIVE_ACK_MOST);
			once = KEEPALIVE_TEST_ACK_NS(power) * (exact ? 1 : 4);
			all = once * (FARSWAP_RDMA_RETRIES + 1);
			bound = io_timeout_ms[i] * (u64)NSEC_PER_MSEC;
			/* The nearest power of two: less than twice, more than half. */
			if (power > KEEPALIVE_ACK_LEAST)
				KUNIT_EXPECT_LE_MSG(test, all, 2 * bound, "%u ms, exact %d",
						    io_timeout_ms[i], exact);
			if (power < KEEPALIVE_ACK_MOST)
				KUNIT_EXPECT_GT_MSG(test, all, bound / 2, "%u ms, exact %d",
						    io_timeout_ms[i], exact);
		}
	farswap_rdma_keepalive_set_io_timeout(before);
}

/* Only for a resumed connection, and a direction in which nothing has passed. */
static void keepalive_test_length(struct kunit *test)
{
	struct farswap_rdma_conn *conn = kunit_kzalloc(test, struct_size(conn, queue, 4),
						       GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	conn->nr_queues = 4;
	KUNIT_EXPECT_FALSE(test, keepalive_is_mtu(conn, 0));
	conn->resumed = true;
	KUNIT_EXPECT_TRUE(test, keepalive_is_mtu(conn, 0));
	KUNIT_EXPECT_TRUE(test, keepalive_is_mtu(conn, 3));
	conn->queue[2].good = true;
	KUNIT_EXPECT_TRUE(test, keepalive_is_mtu(conn, 1));
	KUNIT_EXPECT_FALSE(test, keepalive_is_mtu(conn, 3));
	conn->queue[1].good = true;
	KUNIT_EXPECT_FALSE(test, keepalive_is_mtu(conn, 0));
}

static struct kunit_case keepalive_cases[] = {
	KUNIT_CASE(keepalive_test_length),
	KUNIT_CASE(keepalive_test_ack_timeout),
	{}
};

static struct kunit_suite keepalive_suite = {
	.name		= "farswap_rdma_keepalive",
	.test_cases	= keepalive_cases,
};

kunit_test_suite(keepalive_suite);
