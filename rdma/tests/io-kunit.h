/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page I/O on a device that only records: what is posted when, what is merged, and which I/O
 * completes how.
 */
#include <kunit/test.h>
#include <linux/gfp.h>

#define IO_TEST_IOS	48
#define IO_TEST_ORDER	6
#define IO_TEST_ADDR	0x100000000ULL

/* A work request, as it was posted. */
struct io_test_posted {
	enum ib_wr_opcode opcode;
	struct ib_cqe *cqe;
	u64 addr;
	u32 rkey;
	unsigned int nr_sges;
	struct ib_sge sges[FARSWAP_RDMA_SGES];
};

struct io_test_io {
	struct farswap_io io;
	unsigned int ended;
	int error;
};

struct io_test {
	struct ib_device device;
	struct ib_pd pd;
	struct ib_qp qp;
	struct farswap_rdma_link *link;
	struct farswap_region regions[2];
	struct page *pages;
	struct io_test_io ios[IO_TEST_IOS];
	unsigned int nr_posted;
	struct io_test_posted posted[IO_TEST_IOS];
};

static int io_test_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			     const struct ib_send_wr **bad_wr)
{
	struct io_test *io_test = container_of(qp, struct io_test, qp);
	struct io_test_posted *posted = &io_test->posted[io_test->nr_posted++];

	posted->opcode = wr->opcode;
	posted->cqe = wr->wr_cqe;
	posted->addr = rdma_wr(wr)->remote_addr;
	posted->rkey = rdma_wr(wr)->rkey;
	posted->nr_sges = wr->num_sge;
	memcpy(posted->sges, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	return 0;
}

static void io_test_done(struct farswap_io *io, int error)
{
	struct io_test_io *ended = container_of(io, struct io_test_io, io);

	ended->ended++;
	ended->error = error;
}

static int io_test_init(struct kunit *test)
{
	struct io_test *io_test = kunit_kzalloc(test, sizeof(*io_test), GFP_KERNEL);
	struct farswap_rdma_link *link = kunit_kzalloc(test, struct_size(link, queue, 2),
						       GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, io_test);
	KUNIT_ASSERT_NOT_NULL(test, link);
	link->conn.session = kunit_kzalloc(test, sizeof(*link->conn.session), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, link->conn.session);
	io_test->pages = alloc_pages(GFP_KERNEL, IO_TEST_ORDER);
	KUNIT_ASSERT_NOT_NULL(test, io_test->pages);
	test->priv = io_test;
	io_test->device.ops.post_send = io_test_post_send;
	io_test->pd.local_dma_lkey = 7;
	io_test->qp.device = &io_test->device;
	io_test->link = link;
	init_waitqueue_head(&link->conn.wait);
	link->device = &io_test->device;
	link->pd = &io_test->pd;
	link->map_bytes = SZ_1G;
	link->conn.open = true;
	link->conn.nr_queues = 2;
	for (i = 0; i < 2; i++) {
		link->queue[i].chan.link = link;
		farswap_rdma_io_init(&link->queue[i]);
		link->queue[i].chan.qp = &io_test->qp;
		link->queue[i].depth = 64;
		link->queue[i].max_sges = i ? FARSWAP_RDMA_SGES : 1;
		io_test->regions[i].conn = &link->conn;
		io_test->regions[i].addr = IO_TEST_ADDR * (i + 1);
		io_test->regions[i].bytes = SZ_16M;
		io_test->regions[i].rkey = 11 + i;
	}
	return 0;
}

static void io_test_exit(struct kunit *test)
{
	struct io_test *io_test = test->priv;

	if (io_test)
		__free_pages(io_test->pages, IO_TEST_ORDER);
}

static void io_test_submit(struct kunit *test, unsigned int nth, enum farswap_io_op op,
			   unsigned int region, unsigned int slot)
{
	struct io_test *io_test = test->priv;
	struct farswap_io *io = &io_test->ios[nth].io;

	io->region = &io_test->regions[region];
	io->page = io_test->pages + nth;
	io->offset = slot << PAGE_SHIFT;
	io->length = PAGE_SIZE;
	io->op = op;
	io->done = io_test_done;
	KUNIT_ASSERT_EQ(test, farswap_rdma_io_submit(io), 0);
}

/* Submit a READ that a task waits for. */
static void io_test_submit_urgent(struct kunit *test, unsigned int nth)
{
	struct io_test *io_test = test->priv;

	io_test->ios[nth].io.urgent = true;
	io_test_submit(test, nth, FARSWAP_IO_READ, 0, nth);
}

static void io_test_complete(struct io_test *io_test, unsigned int nth, enum ib_wc_status status)
{
	struct ib_wc wc = { .wr_cqe = io_test->posted[nth].cqe, .status = status };

	wc.wr_cqe->done(NULL, &wc);
}

/* Have exactly the first @nr I/Os completed, once each, without an error? */
static bool io_test_ended(const struct io_test *io_test, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < IO_TEST_IOS; i++) {
		unsigned int times = i < nr ? 1 : 0;

		if (io_test->ios[i].ended != times || io_test->ios[i].error)
			return false;
	}
	return true;
}

static void io_test_expect_posted(struct kunit *test, unsigned int nth, unsigned int region,
				  unsigned int slot, unsigned int first, unsigned int nr)
{
	struct io_test *io_test = test->priv;
	const struct io_test_posted *posted = &io_test->posted[nth];
	unsigned int i;

	KUNIT_ASSERT_GT(test, io_test->nr_posted, nth);
	KUNIT_EXPECT_EQ(test, posted->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, posted->addr, io_test->regions[region].addr +
					    ((u64)slot << PAGE_SHIFT));
	KUNIT_EXPECT_EQ(test, posted->rkey, io_test->regions[region].rkey);
	KUNIT_ASSERT_EQ(test, posted->nr_sges, nr);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, posted->sges[i].addr,
				(u64)(unsigned long)page_address(io_test->pages + first + i));
		KUNIT_EXPECT_EQ(test, posted->sges[i].length, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, posted->sges[i].lkey, 7);
	}
}

/* I/Os that wait are merged in order, and all complete with their work request. */
static void io_test_merge(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	const struct farswap_rdma_queue *queue = &io_test->link->queue[1];
	unsigned int i;

	for (i = 0; i < 40; i++)
		io_test_submit(test, i, FARSWAP_IO_WRITE, 0, 100 + i);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, IO_POSTED);
	for (i = 0; i < IO_POSTED; i++)
		io_test_expect_posted(test, i, 0, 100 + i, i, 1);
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, 0));

	for (i = 0; i < IO_POSTED; i++)
		io_test_complete(io_test, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, 4));
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 6);
	io_test_expect_posted(test, 4, 0, 104, 4, 32);
	io_test_expect_posted(test, 5, 0, 136, 36, 4);

	io_test_complete(io_test, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, 36));
	io_test_complete(io_test, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, 40));
	KUNIT_EXPECT_EQ(test, queue->inflight, 0);
	KUNIT_EXPECT_EQ(test, queue->bulk_bytes, 0);
	KUNIT_EXPECT_EQ(test, queue->flow.submitted[0], 40);
	KUNIT_EXPECT_EQ(test, queue->flow.completed[0], 40);
}

/* I/Os that are not contiguous don't wait, up to a bound. */
static void io_test_apart(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	unsigned int i;

	for (i = 0; i < IO_TEST_IOS; i++)
		io_test_submit(test, i, FARSWAP_IO_WRITE, 0, 2 * i);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, IO_MERGE_BYTES >> PAGE_SHIFT);
	for (i = 0; i < IO_TEST_IOS; i++) {
		io_test_expect_posted(test, i, 0, 2 * i, i, 1);
		io_test_complete(io_test, i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, IO_TEST_IOS));
}

/* Not contiguous though the numbers are: another region, and descending offsets. */
static void io_test_boundaries(struct kunit *test)
{
	static const u8 regions[] = { 0, 0, 1, 1, 1 }, slots[] = { 10, 11, 12, 13, 12 };
	struct io_test *io_test = test->priv;
	unsigned int i;

	for (i = 0; i < IO_POSTED; i++)
		io_test_submit(test, i, FARSWAP_IO_WRITE, 0, 1000 + i);
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		io_test_submit(test, IO_POSTED + i, FARSWAP_IO_WRITE, regions[i], slots[i]);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, IO_POSTED);
	for (i = 0; i < IO_POSTED; i++)
		io_test_complete(io_test, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, IO_POSTED + 3);
	io_test_expect_posted(test, 4, 0, 10, 4, 2);
	io_test_expect_posted(test, 5, 1, 12, 6, 2);
	io_test_expect_posted(test, 6, 1, 12, 8, 1);
}

/* Simulate that these pages have been read. */
static void io_test_fill(struct io_test *io_test, unsigned int first, unsigned int nr)
{
	for (; nr--; first++)
		memset(page_address(io_test->pages + first), first, PAGE_SIZE);
}

/* READs are merged, except those that a task waits for, which overtake the others. */
static void io_test_reads(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	struct farswap_rdma_queue *queue = &io_test->link->queue[0];
	unsigned int i;

	queue->max_sges = FARSWAP_RDMA_SGES;
	for (i = 0; i < 20; i++)
		io_test_submit(test, i, FARSWAP_IO_READ, 0, i);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, IO_POSTED);
	for (; i < 24; i++) {
		io_test->ios[i].io.urgent = true;
		io_test_submit(test, i, FARSWAP_IO_READ, 0, i);
	}
	KUNIT_ASSERT_EQ(test, io_test->nr_posted, IO_POSTED + 4);
	for (i = 0; i < IO_POSTED + 4; i++) {
		KUNIT_EXPECT_EQ(test, io_test->posted[i].opcode, IB_WR_RDMA_READ);
		KUNIT_EXPECT_EQ(test, io_test->posted[i].nr_sges, 1);
	}
	io_test_fill(io_test, 0, 24);
	io_test_complete(io_test, 0, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, io_test->nr_posted, IO_POSTED + 5);
	KUNIT_EXPECT_EQ(test, io_test->posted[IO_POSTED + 4].nr_sges, 16);
	for (i = 1; i < IO_POSTED + 5; i++)
		io_test_complete(io_test, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, 24));
	KUNIT_EXPECT_EQ(test, queue->inflight, 0);
	KUNIT_EXPECT_EQ(test, queue->bulk_bytes, 0);
}

/* Even when urgent I/O fills the queue the rest gets its turn. */
static void io_test_full(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	struct farswap_rdma_queue *queue = &io_test->link->queue[0];
	unsigned int i;

	queue->depth = 2;
	for (i = 0; i < 24; i++) {
		io_test->ios[i].io.urgent = i % 12;
		io_test_submit(test, i, FARSWAP_IO_READ, 0, i);
		KUNIT_EXPECT_LE(test, io_test->nr_posted, 2);
	}
	io_test_fill(io_test, 0, 24);
	for (i = 0; i < 24; i++) {
		KUNIT_ASSERT_EQ(test, io_test->nr_posted, min(i + 2, 24U));
		KUNIT_EXPECT_EQ(test, io_test->posted[i].nr_sges, 1);
		io_test_complete(io_test, i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, 24));
}

/* A successful completion, but one page of several was not written to. */
static void io_test_canary(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	struct farswap_rdma_queue *queue = &io_test->link->queue[0];
	unsigned int i;

	queue->max_sges = FARSWAP_RDMA_SGES;
	for (i = 0; i < 12; i++)
		io_test_submit(test, i, FARSWAP_IO_READ, 0, i);
	io_test_fill(io_test, 0, 9);
	io_test_fill(io_test, 10, 2);
	io_test_complete(io_test, 0, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, io_test->nr_posted, IO_POSTED + 1);
	/* Set directly: farswap_rdma_conn_fail() is not tested here. */
	io_test->link->conn.error = -ECONNRESET;
	for (i = 1; i < IO_POSTED + 1; i++)
		io_test_complete(io_test, i, IB_WC_SUCCESS);
	for (i = 0; i < 12; i++) {
		KUNIT_EXPECT_EQ(test, io_test->ios[i].ended, 1);
		KUNIT_EXPECT_EQ(test, io_test->ios[i].error, i < IO_POSTED ? 0 : -EIO);
	}
}

/*
 * While a task waits for a page, and for a while after that, a software adapter has one WRITE in
 * flight, of four pages at most, contiguous or not; readahead is not affected.
 */
static void io_test_yield(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	unsigned long begun = jiffies;
	unsigned int i;

	io_test->link->soft = true;
	io_test->link->queue[0].max_sges = FARSWAP_RDMA_SGES;
	io_test_submit_urgent(test, 40);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 1);
	KUNIT_EXPECT_TRUE(test, time_before_eq(begun, io_test->link->urgent_at));
	/* Independent of how long the rest takes. */
	io_test->link->urgent_at = jiffies + 60 * HZ;
	for (i = 0; i < 10; i++)
		io_test_submit(test, i, FARSWAP_IO_WRITE, 0, i);
	for (i = 10; i < 12; i++)
		io_test_submit(test, i, FARSWAP_IO_WRITE, 1, 2 * i);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 2);
	KUNIT_EXPECT_EQ(test, io_test->posted[1].nr_sges, 1);
	for (i = 41; i < 41 + IO_POSTED; i++)
		io_test_submit(test, i, FARSWAP_IO_READ, 0, 2 * i);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 2 + IO_POSTED);
	io_test_complete(io_test, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 3 + IO_POSTED);
	KUNIT_EXPECT_EQ(test, io_test->posted[2 + IO_POSTED].nr_sges, 4);
	/* The wait ended long enough ago. */
	io_test->link->urgent_at = jiffies - IO_YIELD_TIME;
	io_test_complete(io_test, 2 + IO_POSTED, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 6 + IO_POSTED);
	KUNIT_EXPECT_EQ(test, io_test->posted[3 + IO_POSTED].nr_sges, 5);
	for (i = 0; i < 3; i++)
		io_test_complete(io_test, 3 + IO_POSTED + i, IB_WC_SUCCESS);
	for (i = 0; i < 12; i++)
		KUNIT_EXPECT_EQ(test, io_test->ios[i].ended, 1);
}

/* On a dead connection each I/O fails once, whether merged or waiting. */
static void io_test_dead(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	unsigned int i;

	for (i = 0; i < 44; i++)
		io_test_submit(test, i, FARSWAP_IO_WRITE, 0, i);
	io_test_complete(io_test, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 5);
	io_test->link->conn.error = -ECONNRESET;
	for (i = 1; i < 5; i++)
		io_test_complete(io_test, i, i == 1 ? IB_WC_SUCCESS : IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 5);
	farswap_rdma_io_flush_backlog(&io_test->link->queue[1]);
	for (i = 0; i < 44; i++) {
		KUNIT_EXPECT_EQ(test, io_test->ios[i].ended, 1);
		KUNIT_EXPECT_EQ(test, io_test->ios[i].error, i ? -EHOSTDOWN : 0);
	}
}

/* A folio that can't be mapped at once is still one work request, and nothing is merged with it. */
static void io_test_pieces(struct kunit *test)
{
	struct io_test *io_test = test->priv;
	const struct io_test_posted *posted = io_test->posted;
	struct farswap_io *io = &io_test->ios[0].io;
	static const unsigned int bytes[] = { 2 * PAGE_SIZE, 2 * PAGE_SIZE, PAGE_SIZE };
	unsigned int i;

	io_test->link->map_bytes = 2 * PAGE_SIZE;
	*io = (struct farswap_io){
		.region = &io_test->regions[0],
		.page = io_test->pages,
		.length = 5 * PAGE_SIZE,
		.op = FARSWAP_IO_WRITE,
		.done = io_test_done,
	};
	KUNIT_ASSERT_EQ(test, farswap_rdma_io_submit(io), 0);
	KUNIT_ASSERT_EQ(test, io_test->nr_posted, 1);
	KUNIT_ASSERT_EQ(test, posted->nr_sges, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, posted->sges[i].addr,
				(u64)(unsigned long)page_address(io_test->pages + 2 * i));
		KUNIT_EXPECT_EQ(test, posted->sges[i].length, bytes[i]);
		KUNIT_EXPECT_EQ(test, posted->sges[i].lkey, 7);
	}
	io_test_complete(io_test, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, io_test_ended(io_test, 1));

	/* More pieces than a READ can have. */
	io->op = FARSWAP_IO_READ;
	KUNIT_EXPECT_EQ(test, farswap_rdma_io_submit(io), -ENOMEM);
	KUNIT_EXPECT_EQ(test, io_test->nr_posted, 1);
}

static struct kunit_case io_test_cases[] = {
	KUNIT_CASE(io_test_merge),
	KUNIT_CASE(io_test_apart),
	KUNIT_CASE(io_test_boundaries),
	KUNIT_CASE(io_test_reads),
	KUNIT_CASE(io_test_full),
	KUNIT_CASE(io_test_yield),
	KUNIT_CASE(io_test_canary),
	KUNIT_CASE(io_test_dead),
	KUNIT_CASE(io_test_pieces),
	{}
};

static struct kunit_suite io_test_suite = {
	.name		= "farswap_rdma_io",
	.init		= io_test_init,
	.exit		= io_test_exit,
	.test_cases	= io_test_cases,
};

kunit_test_suite(io_test_suite);
