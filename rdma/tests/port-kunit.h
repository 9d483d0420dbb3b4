/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which connections end before an interface goes down. The device of a connection that has been
 * retired may be freed already, so nothing may look into it.
 */
#include <kunit/test.h>

static void port_test_outlives(struct kunit *test)
{
	struct farswap_session *session = kunit_kzalloc(test, struct_size(session, address, 1),
							GFP_KERNEL);
	struct farswap_rdma_link *link = kunit_kzalloc(test, sizeof(*link), GFP_KERNEL);
	unsigned int state;

	KUNIT_ASSERT_NOT_NULL(test, session);
	KUNIT_ASSERT_NOT_NULL(test, link);
	link->device = ERR_PTR(-ENODEV);
	for (state = 0; state < FARSWAP_RDMA_STATES; state++) {
		session->state = state;
		link->rxe = false;
		KUNIT_EXPECT_EQ(test, port_outlives(session, link), state == FARSWAP_RDMA_LIVE);
		link->rxe = true;
		KUNIT_EXPECT_FALSE(test, port_outlives(session, link));
	}
}

static struct kunit_case port_cases[] = {
	KUNIT_CASE(port_test_outlives),
	{}
};

static struct kunit_suite port_suite = {
	.name		= "farswap_rdma_port",
	.test_cases	= port_cases,
};

kunit_test_suite(port_suite);
