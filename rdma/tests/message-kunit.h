/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of the donor: an EVICT of a region that is held, or was just given back, and the limit
 * for others. The connection has no link.
 */
#include <kunit/test.h>
#include <linux/vmalloc.h>

#define MESSAGE_TEST_REGIONS	3

struct message_test {
	struct farswap_rdma_conn *conn;
	struct farswap_region *regions[MESSAGE_TEST_REGIONS];
	unsigned int nr_evicts;
	u64 evicted;
};

static void message_test_evicted(void *ctx, u64 id, u32 deadline_ms)
{
	struct message_test *message_test = ctx;

	message_test->nr_evicts++;
	message_test->evicted = id;
}

static const struct farswap_session_ops message_test_ops = {
	.evict	= message_test_evicted,
};

static struct farswap_rdma_conn *message_test_alloc(unsigned int queues)
{
	return vzalloc(sizeof(struct farswap_rdma_conn));
}

static const struct farswap_rdma_link_ops message_test_link = {
	.alloc	= message_test_alloc,
};

static int message_test_init(struct kunit *test)
{
	struct message_test *message_test = kunit_kzalloc(test, sizeof(*message_test), GFP_KERNEL);
	struct farswap_session *session = kunit_kzalloc(test, struct_size(session, address, 1),
							GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, message_test);
	KUNIT_ASSERT_NOT_NULL(test, session);
	test->priv = message_test;
	spin_lock_init(&session->lock);
	mutex_init(&session->ops_lock);
	session->queues = 2;
	session->ops = &message_test_ops;
	session->link = &message_test_link;
	session->ctx = message_test;
	message_test->conn = farswap_rdma_conn_alloc(session);
	KUNIT_ASSERT_NOT_NULL(test, message_test->conn);
	/* No other second begins during the test. */
	message_test->conn->queries_since = jiffies + 60 * HZ;
	for (i = 0; i < MESSAGE_TEST_REGIONS; i++) {
		struct farswap_region *region = kzalloc(sizeof(*region), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, region);
		region->id = 100 + i;
		region->conn = message_test->conn;
		kref_get(&message_test->conn->ref);
		hash_add(message_test->conn->regions, &region->hash,
			 farswap_region_hash(region->id));
		message_test->regions[i] = region;
	}
	return 0;
}

/* Free the pending releases, as quiescing the connection does. */
static void message_test_exit(struct kunit *test)
{
	struct message_test *message_test = test->priv;
	struct farswap_rdma_conn *conn = message_test->conn;
	struct farswap_region *region, *next;
	unsigned int i;

	farswap_rdma_conn_fail(conn, -ESHUTDOWN, "test");
	list_for_each_entry_safe(region, next, &conn->releases, entry)
		farswap_rdma_region_free(region);
	INIT_LIST_HEAD(&conn->releases);
	for (i = 0; i < MESSAGE_TEST_REGIONS; i++)
		if (message_test->regions[i])
			farswap_rdma_region_release(message_test->regions[i]);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&conn->ref));
	farswap_rdma_conn_put(conn);
}

static void message_test_comes(struct message_test *message_test, u64 id)
{
	struct farswap_evict msg = {
		.region		= cpu_to_le64(id),
		.deadline_ms	= cpu_to_le32(1000),
	};

	message_evict(message_test->conn, &msg);
}

static void message_test_held(struct kunit *test)
{
	struct message_test *message_test = test->priv;

	message_test_comes(message_test, 101);
	KUNIT_EXPECT_EQ(test, 1, message_test->nr_evicts);
	KUNIT_EXPECT_EQ(test, 101, message_test->evicted);
	KUNIT_EXPECT_EQ(test, 0, message_test->conn->nr_queries);
	/* A repeated EVICT counts as a query. */
	message_test_comes(message_test, 101);
	KUNIT_EXPECT_EQ(test, 1, message_test->nr_evicts);
	KUNIT_EXPECT_EQ(test, 1, message_test->conn->nr_queries);
}

/* A donor that evicts many regions while the client gives many back must not be failed. */
static void message_test_crossed(struct kunit *test)
{
	struct message_test *message_test = test->priv;
	struct farswap_rdma_conn *conn = message_test->conn;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		farswap_rdma_region_release(message_test->regions[i]);
		message_test->regions[i] = NULL;
	}
	conn->nr_queries = MESSAGE_QUERIES_MAX;
	message_test_comes(message_test, 100);
	message_test_comes(message_test, 101);
	KUNIT_EXPECT_FALSE(test, farswap_rdma_conn_dead(conn));
	KUNIT_EXPECT_EQ(test, 0, message_test->nr_evicts);
	/* 102 is still held and not evicted yet; an EVICT of any other region is a query. */
	message_test_comes(message_test, 102);
	KUNIT_EXPECT_EQ(test, 1, message_test->nr_evicts);
	KUNIT_EXPECT_FALSE(test, farswap_rdma_conn_dead(conn));
	message_test_comes(message_test, 100);
	KUNIT_EXPECT_EQ(test, -EPROTO, conn->error);
}

static struct kunit_case message_cases[] = {
	KUNIT_CASE(message_test_held),
	KUNIT_CASE(message_test_crossed),
	{}
};

static struct kunit_suite message_suite = {
	.name		= "farswap_rdma_message",
	.init		= message_test_init,
	.exit		= message_test_exit,
	.test_cases	= message_cases,
};

kunit_test_suite(message_suite);
