// SPDX-License-Identifier: GPL-2.0
/*
 * The probe of the path: messages are short, so they pass where the MTUs of interfaces and
 * switches differ, and pages do not. Before a session is live for the first time, and again after
 * an I/O got no answer, the client writes a page to a region of the donor and reads it back, in
 * pieces of growing length. The longest piece that arrives tells which MTU to look for.
 *
 * The region is mapped like any other and returned at once. A donor without a free region is not
 * probed; no page goes there either.
 *
 * The connection is not open yet, so its data queues have no other work requests.
 */
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/random.h>

#include "verbs.h"

/* The client's name for the region, as seen in packet traces. */
#define PROBE_SLAB	U64_MAX

/* Each is one packet where the path MTU allows it. */
static const unsigned int probe_bytes[] = { 512, 1024, 2048, 4096 };

#define PROBE_PIECES	ARRAY_SIZE(probe_bytes)
#define PROBE_ALL	(BIT(PROBE_PIECES) - 1)

static_assert(PAGE_SIZE >= 4096);

struct probe;

/**
 * struct probe_piece - one work request
 * @cqe:	completion
 * @probe:	what it is a part of
 */
struct probe_piece {
	struct ib_cqe cqe;
	struct probe *probe;
};

/**
 * struct probe - a page that goes one way, in pieces
 * @link:	link
 * @piece:	its work requests, as in probe_bytes
 * @good:	bits of those that have completed well
 * @nr_done:	how many have completed
 */
struct probe {
	struct farswap_rdma_link *link;
	struct probe_piece piece[PROBE_PIECES];
	unsigned long good;
	unsigned int nr_done;
};

static void probe_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct probe_piece *piece = container_of(wc->wr_cqe, struct probe_piece, cqe);
	struct probe *probe = piece->probe;
	wait_queue_head_t *wait = &probe->link->conn.wait;

	if (wc->status == IB_WC_SUCCESS)
		probe->good |= BIT(piece - probe->piece);
	/* Pairs with probe_is_over(): what is good can be seen with it. */
	smp_store_release(&probe->nr_done, probe->nr_done + 1);
	wake_up_all(wait);
}

static bool probe_is_over(const struct probe *probe)
{
	/* Pairs with probe_done(). */
	return smp_load_acquire(&probe->nr_done) == PROBE_PIECES;
}

static int probe_post(struct probe *probe, struct ib_qp *qp, enum ib_wr_opcode opcode,
		      const struct farswap_region *region, u64 dma)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < PROBE_PIECES; i++) {
		struct probe_piece *piece = &probe->piece[i];
		struct ib_sge sge = { dma, probe_bytes[i], probe->link->pd->local_dma_lkey };
		struct ib_rdma_wr wr = {
			.wr.wr_cqe = &piece->cqe,
			.wr.sg_list = &sge,
			.wr.num_sge = 1,
			.wr.opcode = opcode,
			.wr.send_flags = IB_SEND_SIGNALED,
			.remote_addr = region->addr,
			.rkey = region->rkey,
		};

		piece->cqe.done = probe_done;
		piece->probe = probe;
		err = ib_post_send(qp, &wr.wr, NULL);
	}
	return err;
}

/*
 * Return the bits of the pieces that arrived in one direction. Unless that is all of them, the
 * connection is dead and its queue pair destroyed, so no work request is left.
 */
static unsigned long probe_move(struct farswap_rdma_chan *chan, enum ib_wr_opcode opcode,
				const struct farswap_region *region, u64 dma)
{
	struct farswap_rdma_conn *conn = &chan->link->conn;
	struct probe probe = { .link = chan->link };

	if (!probe_post(&probe, chan->qp, opcode, region, dma))
		wait_event_timeout(conn->wait,
				   probe_is_over(&probe) || farswap_rdma_conn_dead(conn),
				   msecs_to_jiffies(farswap_rdma_keepalive_io_ms()));
	if (probe_is_over(&probe) && probe.good == PROBE_ALL)
		return PROBE_ALL;
	farswap_rdma_conn_fail(conn, -ETIMEDOUT, "moves no page");
	farswap_rdma_chan_destroy_qp(chan);
	return probe.good;
}

/* Each word differs from the others, and from those of other probes. */
static void probe_fill(u64 *page, u64 seed)
{
	unsigned int i;

	for (i = 0; i < PAGE_SIZE / sizeof(*page); i++)
		page[i] = seed + i;
}

/* Soft RoCE completes a READ without data if its answer is too long for the donor's interface. */
static unsigned long probe_check(const u64 *page, u64 seed, unsigned long good)
{
	unsigned int i, last;

	for (i = 0; i < PROBE_PIECES; i++) {
		last = probe_bytes[i] / sizeof(*page) - 1;
		if (page[last] != seed + last)
			good &= ~BIT(i);
	}
	return good;
}

/*
 * Write a page and read it back: @good has the bits of the pieces that arrived, of WRITEs and of
 * READs. It fails if the page can't be mapped for the device.
 */
static int probe_page(struct farswap_rdma_link *link, const struct farswap_region *region,
		      struct page *page, unsigned long good[2])
{
	struct farswap_rdma_chan *writes = &link->queue[link->conn.nr_queues - 1].chan;
	struct farswap_rdma_chan *reads = &link->queue[0].chan;
	u64 *words = page_address(page), seed = get_random_u64();
	u64 dma;

	probe_fill(words, seed);
	dma = ib_dma_map_page(link->device, page, 0, PAGE_SIZE, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(link->device, dma))
		return -ENOMEM;
	good[0] = probe_move(writes, IB_WR_RDMA_WRITE, region, dma);
	ib_dma_unmap_page(link->device, dma, PAGE_SIZE, DMA_TO_DEVICE);
	if (good[0] != PROBE_ALL)
		return 0;

	clear_page(words);
	dma = ib_dma_map_page(link->device, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(link->device, dma))
		return -ENOMEM;
	good[1] = probe_move(reads, IB_WR_RDMA_READ, region, dma);
	ib_dma_unmap_page(link->device, dma, PAGE_SIZE, DMA_FROM_DEVICE);
	good[1] = probe_check(words, seed, good[1]);
	return 0;
}

/* Return whether all pieces up to some length arrived, and no longer one. */
static bool probe_is_of_length(unsigned long good)
{
	return good && !(good & (good + 1));
}

static void probe_explain(struct farswap_rdma_link *link, unsigned long good, const char *way)
{
	unsigned int fits = fls_long(good) - 1;
	struct net_device *ndev = dev_get_by_index(&init_net, READ_ONCE(link->ifindex));

	if (!ndev)
		return;
	snprintf(link->conn.detail, sizeof(link->conn.detail),
		 "packets of %u bytes %s it are lost, of %u not: MTU is %u on %s, less there or on the way",
		 probe_bytes[fits + 1], way, probe_bytes[fits], ndev->mtu, ndev->name);
	dev_put(ndev);
}

static int probe_result(struct farswap_rdma_link *link, const unsigned long good[2])
{
	unsigned int back = good[0] == PROBE_ALL;

	if (good[back] == PROBE_ALL)
		return 0;
	if (probe_is_of_length(good[back]))
		probe_explain(link, good[back], back ? "from" : "to");
	return READ_ONCE(link->conn.error) ?: -EIO;
}

/**
 * farswap_rdma_probe() - &struct farswap_rdma_link_ops.probe
 * @conn:	connection with all its queues, not open yet
 *
 * Does nothing if the session is known to take pages. If the test is not possible, because the
 * donor has no region or memory is short, the connection is good, and the next one is probed.
 *
 * Context: may sleep; called by session->work.
 * Return: 0 or -errno. If only long packets are lost, conn->detail says so.
 */
int farswap_rdma_probe(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	struct farswap_rdma_link *link = to_link(conn);
	struct farswap_region *region;
	unsigned long good[2] = {};
	struct page *page;
	int err;

	if (READ_ONCE(session->proven))
		return 0;
	page = alloc_page(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	if (!page)
		return 0;
	region = farswap_rdma_region_map_on(conn, PROBE_SLAB);
	if (IS_ERR(region)) {
		err = READ_ONCE(conn->error);
		goto out_free_page;
	}
	err = probe_page(link, region, page, good);
	if (!err) {
		err = probe_result(link, good);
		WRITE_ONCE(session->proven, !err);
	} else {
		err = 0;
	}
	farswap_rdma_region_release(region);
out_free_page:
	__free_page(page);
	return err;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/probe-kunit.h"
#endif
