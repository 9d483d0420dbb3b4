/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion vectors: the queues for loads use all of them in turn, independent of other queues.
 */
#include <kunit/test.h>

static void conn_test_vectors(struct kunit *test)
{
	unsigned int used[4] = {}, i, j;

	/* Counted together, the two queues for loads would get half of the vectors. */
	for (i = 0; i < 16; i++) {
		for (j = 0; j < 2; j++)
			used[conn_next_vector(true, ARRAY_SIZE(used))]++;
		for (j = 0; j < 2; j++)
			KUNIT_EXPECT_LT(test, conn_next_vector(false, 4), 4);
	}
	for (i = 0; i < ARRAY_SIZE(used); i++)
		KUNIT_EXPECT_EQ_MSG(test, used[i], 8, "vector %u", i);
	KUNIT_EXPECT_EQ(test, conn_next_vector(true, 1), 0);
	KUNIT_EXPECT_EQ(test, conn_next_vector(true, 0), 0);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(conn_test_vectors),
	{}
};

static struct kunit_suite conn_suite = {
	.name		= "farswap_rdma_conn",
	.test_cases	= conn_cases,
};

kunit_test_suite(conn_suite);
