/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resuming: which connection the regions move to, whether the donor has them or not; the callbacks;
 * and when a connection was healthy. Connections have no link.
 */
#include <kunit/test.h>
#include <linux/vmalloc.h>

#define RESUME_TEST_REGIONS	4

struct resume_test {
	struct farswap_session *session;
	struct farswap_rdma_conn *dead;
	struct farswap_rdma_conn *conn;
	struct farswap_region *regions[RESUME_TEST_REGIONS];
	unsigned int nr_lost;
	u64 lost;
};

static void resume_test_lost(void *ctx, u64 id)
{
	struct resume_test *resume_test = ctx;

	resume_test->nr_lost++;
	resume_test->lost = id;
}

static const struct farswap_session_ops resume_test_ops = {
	.lost	= resume_test_lost,
};

static struct farswap_rdma_conn *resume_test_alloc(unsigned int queues)
{
	return vzalloc(sizeof(struct farswap_rdma_conn));
}

static const struct farswap_rdma_link_ops resume_test_link = {
	.alloc	= resume_test_alloc,
};

/* All regions are held: their connection has failed, and another has taken them over. */
static int resume_test_init(struct kunit *test)
{
	struct resume_test *resume_test = kunit_kzalloc(test, sizeof(*resume_test), GFP_KERNEL);
	struct farswap_session *session = kunit_kzalloc(test, struct_size(session, address, 1),
							GFP_KERNEL);
	u64 ids[RESUME_TEST_REGIONS];
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, resume_test);
	KUNIT_ASSERT_NOT_NULL(test, session);
	test->priv = resume_test;
	resume_test->session = session;
	spin_lock_init(&session->lock);
	mutex_init(&session->ops_lock);
	session->queues = 2;
	session->ops = &resume_test_ops;
	session->link = &resume_test_link;
	session->ctx = resume_test;
	resume_test->dead = farswap_rdma_conn_alloc(session);
	resume_test->conn = farswap_rdma_conn_alloc(session);
	KUNIT_ASSERT_NOT_NULL(test, resume_test->dead);
	KUNIT_ASSERT_NOT_NULL(test, resume_test->conn);
	for (i = 0; i < RESUME_TEST_REGIONS; i++) {
		struct farswap_region *region = kzalloc(sizeof(*region), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, region);
		region->id = 100 + i;
		region->conn = resume_test->dead;
		kref_get(&resume_test->dead->ref);
		hash_add(resume_test->dead->regions, &region->hash,
			 farswap_region_hash(region->id));
		resume_test->regions[i] = region;
	}
	farswap_rdma_conn_fail(resume_test->dead, -ETIMEDOUT, "test");
	KUNIT_ASSERT_EQ(test, RESUME_TEST_REGIONS,
			resume_move(resume_test->dead, resume_test->conn, ids));
	session->held = resume_test->conn;
	return 0;
}

/* The second connection has died, too, so releasing frees the regions at once. */
static void resume_test_exit(struct kunit *test)
{
	struct resume_test *resume_test = test->priv;
	unsigned int i;

	farswap_rdma_conn_fail(resume_test->conn, -ESHUTDOWN, "test");
	for (i = 0; i < RESUME_TEST_REGIONS; i++)
		if (resume_test->regions[i])
			farswap_rdma_region_release(resume_test->regions[i]);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&resume_test->dead->ref));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&resume_test->conn->ref));
	farswap_rdma_conn_put(resume_test->dead);
	farswap_rdma_conn_put(resume_test->conn);
}

static void resume_test_revoked(struct kunit *test)
{
	struct resume_test *resume_test = test->priv;
	struct farswap_rdma_conn *conn = resume_test->conn, *dead = resume_test->dead;
	struct farswap_region *region = resume_test->regions[1];

	resume_lose(conn, dead, 101);
	KUNIT_EXPECT_EQ(test, 1, resume_test->nr_lost);
	KUNIT_EXPECT_EQ(test, 101, resume_test->lost);
	KUNIT_EXPECT_PTR_EQ(test, region->conn, dead);
	KUNIT_EXPECT_PTR_EQ(test, resume_test->regions[0]->conn, conn);
	KUNIT_EXPECT_EQ(test, RESUME_TEST_REGIONS - 1, resume_count(conn));
	KUNIT_EXPECT_EQ(test, 2, kref_read(&dead->ref));
	/* A repeated or unknown region has no effect. */
	resume_lose(conn, dead, 101);
	resume_lose(conn, dead, 4711);
	KUNIT_EXPECT_EQ(test, 1, resume_test->nr_lost);
	/* The donor no longer has the region, so it gets no UNMAP. */
	farswap_rdma_region_release(region);
	resume_test->regions[1] = NULL;
	KUNIT_EXPECT_TRUE(test, list_empty(&conn->releases));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&dead->ref));
}

static void resume_test_released(struct kunit *test)
{
	struct resume_test *resume_test = test->priv;
	struct farswap_rdma_conn *conn = resume_test->conn;

	farswap_rdma_region_release(resume_test->regions[0]);
	farswap_rdma_region_release(resume_test->regions[2]);
	resume_test->regions[0] = NULL;
	resume_lose(conn, resume_test->dead, 102);
	resume_test->regions[2] = NULL;
	KUNIT_EXPECT_EQ(test, 0, resume_test->nr_lost);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&conn->releases));
	KUNIT_EXPECT_EQ(test, 100, list_first_entry(&conn->releases, struct farswap_region,
						    entry)->id);
	resume_lose(conn, resume_test->dead, 100);
	KUNIT_EXPECT_EQ(test, 0, resume_test->nr_lost);
	KUNIT_EXPECT_TRUE(test, list_empty(&conn->releases));
}

static void resume_test_given_up(struct kunit *test)
{
	struct resume_test *resume_test = test->priv;

	resume_test->session->held = NULL;
	resume_lose(resume_test->conn, resume_test->dead, 100);
	KUNIT_EXPECT_EQ(test, 0, resume_test->nr_lost);
	KUNIT_EXPECT_PTR_EQ(test, resume_test->regions[0]->conn, resume_test->conn);
}

static void resume_test_healthy(struct kunit *test)
{
	struct resume_test *resume_test = test->priv;
	struct farswap_rdma_conn *conn = resume_test->conn;
	struct farswap_rdma_flow loads = { .good = true }, stores = { .submitted[0] = 1 };

	conn->nr_queues = 2;
	conn->flow[0] = &loads;
	conn->flow[1] = &stores;
	conn->live_since = jiffies;
	KUNIT_EXPECT_TRUE_MSG(test, resume_was_healthy(conn, 10000), "not resumed before");
	conn->resumed = true;
	KUNIT_EXPECT_FALSE_MSG(test, resume_was_healthy(conn, 10000), "no store got through");
	stores.good = true;
	KUNIT_EXPECT_TRUE_MSG(test, resume_was_healthy(conn, 10000), "a store got through");
	conn->revoked = true;
	KUNIT_EXPECT_TRUE_MSG(test, resume_was_healthy(conn, 10000), "first revoked rkey");
	conn->revoked_unexplained = true;
	KUNIT_EXPECT_FALSE_MSG(test, resume_was_healthy(conn, 10000), "revoked rkey again");
	conn->revoked = false;
	KUNIT_EXPECT_TRUE_MSG(test, resume_was_healthy(conn, 10000), "another error");
	conn->revoked = true;
	conn->live_since = jiffies - msecs_to_jiffies(20000);
	KUNIT_EXPECT_TRUE_MSG(test, resume_was_healthy(conn, 10000), "live for long enough");
}

/* After errors of the network, the local device or an rkey, but not of the protocol. */
static void resume_test_is_possible(struct kunit *test)
{
	static const int resumable[] = {
		-EKEYREVOKED, -ETIMEDOUT, -ECONNRESET, -EHOSTDOWN, -EHOSTUNREACH, -ENETDOWN, -EIO,
		-ENODEV, -EREMOTEIO,
	};
	static const int others[] = {
		-EPROTO, -ECONNREFUSED, -EOPNOTSUPP, -ESHUTDOWN, -EINVAL, -ENOMEM,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(resumable); i++)
		KUNIT_EXPECT_TRUE_MSG(test, resume_is_possible(resumable[i]), "%d", resumable[i]);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		KUNIT_EXPECT_FALSE_MSG(test, resume_is_possible(others[i]), "%d", others[i]);
}

static void resume_test_pending(struct kunit *test)
{
	struct resume_test *resume_test = test->priv;
	struct farswap_session *session = resume_test->session;

	KUNIT_EXPECT_TRUE(test, resume_is_pending(session, -ETIMEDOUT, 0));
	KUNIT_EXPECT_TRUE(test, resume_is_pending(session, -EPROTO, 3));
	session->held = NULL;
	KUNIT_EXPECT_TRUE(test, resume_is_pending(session, -EHOSTDOWN, 3));
	KUNIT_EXPECT_FALSE(test, resume_is_pending(session, -EHOSTDOWN, 0));
	KUNIT_EXPECT_FALSE(test, resume_is_pending(session, -EPROTO, 3));
}

static struct kunit_case resume_cases[] = {
	KUNIT_CASE(resume_test_revoked),
	KUNIT_CASE(resume_test_released),
	KUNIT_CASE(resume_test_given_up),
	KUNIT_CASE(resume_test_healthy),
	KUNIT_CASE(resume_test_is_possible),
	KUNIT_CASE(resume_test_pending),
	{}
};

static struct kunit_suite resume_suite = {
	.name		= "farswap_rdma_resume",
	.init		= resume_test_init,
	.exit		= resume_test_exit,
	.test_cases	= resume_cases,
};

kunit_test_suite(resume_suite);
