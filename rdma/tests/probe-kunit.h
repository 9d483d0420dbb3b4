/* SPDX-License-Identifier: GPL-2.0 */
/* The probe of the path: which pieces count as come through, and when length is what failed. */
#include <kunit/test.h>

static void probe_test_of_length(struct kunit *test)
{
	unsigned long good;

	for (good = 0; good < PROBE_ALL; good++)
		KUNIT_EXPECT_EQ_MSG(test, probe_is_of_length(good),
				    good == 1 || good == 3 || good == 7, "good %lx", good);
}

/* A READ that completes without data, or without the end of it, is not good. */
static void probe_test_check(struct kunit *test)
{
	u64 *page = (u64 *)get_zeroed_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, 0, probe_check(page, 1, PROBE_ALL));
	probe_fill(page, 1);
	KUNIT_EXPECT_EQ(test, PROBE_ALL, probe_check(page, 1, PROBE_ALL));
	KUNIT_EXPECT_EQ(test, 1, probe_check(page, 1, 1));
	memset((void *)page + probe_bytes[1], 0, PAGE_SIZE - probe_bytes[1]);
	KUNIT_EXPECT_EQ(test, 3, probe_check(page, 1, PROBE_ALL));
	free_page((unsigned long)page);
}

/* A page that was not written need not be read. */
static void probe_test_result(struct kunit *test)
{
	static const unsigned long good[][2] = {
		{ PROBE_ALL, PROBE_ALL }, { PROBE_ALL, 3 }, { PROBE_ALL, 5 }, { 1, 0 }, { 0, 0 },
	};
	struct farswap_rdma_link *link = kunit_kzalloc(test, struct_size(link, queue, 2),
						       GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, link);
	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_EQ(test, i ? -EIO : 0, probe_result(link, good[i]));
	link->conn.error = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, probe_result(link, good[1]));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, probe_result(link, good[4]));
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(probe_test_of_length),
	KUNIT_CASE(probe_test_check),
	KUNIT_CASE(probe_test_result),
	{}
};

static struct kunit_suite probe_suite = {
	.name		= "farswap_rdma_probe",
	.test_cases	= probe_cases,
};

kunit_test_suite(probe_suite);
