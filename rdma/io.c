// SPDX-License-Identifier: GPL-2.0
/*
 * Page I/O: READ and WRITE work requests, in order on their queue.
 *
 * Only a few I/Os that no task waits for (WRITEs and readahead) are posted at a time. The others
 * wait in the backlog and are merged when their turn comes, if they are contiguous; I/Os that are
 * not contiguous are posted at once. One work request with many gather entries costs the network
 * one acknowledgment or request, and this machine one completion. So merging adapts itself: there
 * is none while the network is faster than reclaim, and a fault never finds a long queue ahead of
 * it. With a software adapter WRITEs are posted singly and small while tasks wait for READs: a
 * fault needs the processor three times (to send the READ, to complete it, to continue), and each
 * time waits for the packets of all that is posted.
 *
 * Why no late WRITE can do harm (rule 6):
 * 1. A slot is stored elsewhere or again only after done(), and done() reports an
 *    error only after farswap_rdma_conn_fail() has marked the connection dead.
 * 2. A dead connection's regions are dead: submit refuses them, and a WRITE that
 *    succeeds nevertheless is reported as failed. So a late packet hits memory that
 *    nobody reads as ours; rule 7 covers the donor's side. A region moves to another
 *    connection only after the donor has destroyed its ends of the dead connection's
 *    queue pairs, when nothing late can arrive.
 * 3. A critical section of queue->flow.lock checks for death and posts. The lock is taken once
 *    after the connection is marked dead, so nothing is posted when the queue pair is destroyed.
 * 4. A page is handed back only when its work request has completed, or after the queue
 *    pair is destroyed: a late READ response finds no work request.
 *
 * The status of a READ is not sufficient. When the donor's network stack refuses to send a READ
 * response, rxe of Linux 6.12 continues with the wrong opcode. The other rxe has no status for
 * that, and completes the READ as successful without any data. So each READ overwrites a canary
 * at the end of each page or folio; packets arrive in order, so the end arrives last.
 *
 * Locking: queue->flow.lock.
 */
#include <linux/error-injection.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "verbs.h"

/* Bounds how long a fault waits for a WRITE in progress. A single large folio may be larger. */
#define IO_MERGE_BYTES	SZ_128K
/* Enough work requests to keep the network busy while others wait to be merged. */
#define IO_POSTED	4U
/* Limits a software adapter's WRITE while tasks wait for READs, and for a while afterwards. */
#define IO_YIELD_BYTES	SZ_16K
#define IO_YIELD_TIME	(HZ / 10)
/* A dead queue pair's work requests complete much sooner. */
#define IO_FLUSH_MS		100
/* With more than these in flight WRITEs don't yield: a late one would fail the connection. */
#define IO_YIELD_MAX	64

/* Stored in struct farswap_io.transport. */
struct farswap_rdma_io {
	struct list_head entry;		/* queue->posted, queue->backlog or another's merged */
	struct list_head merged;	/* other I/Os of its work request */
	unsigned int nr;		/* number of I/Os of its work request */
	unsigned int bytes;
	struct ib_cqe cqe;
	struct farswap_rdma_queue *queue;
	unsigned int nr_sges;		/* for this I/O only */
	union {
		u64 dma;
		u64 *pieces;		/* if nr_sges > 1 */
	};
};

static_assert(sizeof(struct farswap_rdma_io) <=
	      FARSWAP_IO_PRIVATE_WORDS * sizeof(unsigned long));

/* Random and secret, so that no page holds it. */
static u64 io_canary __ro_after_init;

static struct farswap_rdma_io *to_rio(struct farswap_io *io)
{
	return (struct farswap_rdma_io *)io->transport;
}

static struct farswap_io *to_io(const struct farswap_rdma_io *rio)
{
	return container_of((void *)rio, struct farswap_io, transport);
}

static enum dma_data_direction io_direction(const struct farswap_io *io)
{
	return io->op == FARSWAP_IO_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

static unsigned int io_piece_bytes(struct farswap_io *io, unsigned int nth)
{
	unsigned int most = to_rio(io)->queue->chan.link->map_bytes;

	return min(most, io->length - nth * most);
}

static void io_unmap_pieces(struct farswap_io *io, struct ib_device *device, unsigned int nr)
{
	struct farswap_rdma_io *rio = to_rio(io);

	while (nr--)
		ib_dma_unmap_page(device, rio->pieces[nr], io_piece_bytes(io, nr),
				  io_direction(io));
	kfree(rio->pieces);
}

/*
 * Bounce buffers, as in guests with encrypted memory, can't take a large folio as a whole. If it
 * can't be mapped in pieces either, the core stores or reads it elsewhere.
 */
static int io_map_pieces(struct farswap_io *io, struct ib_device *device)
{
	struct farswap_rdma_io *rio = to_rio(io);
	unsigned int most = rio->queue->chan.link->map_bytes;
	unsigned int nr = DIV_ROUND_UP(io->length, most), i;

	if (nr > rio->queue->max_sges)
		return -ENOMEM;
	rio->pieces = kmalloc_array(nr, sizeof(*rio->pieces), GFP_ATOMIC | __GFP_NOWARN);
	if (!rio->pieces)
		return -ENOMEM;
	rio->nr_sges = nr;
	for (i = 0; i < nr; i++) {
		rio->pieces[i] = ib_dma_map_page(device, io->page + i * (most >> PAGE_SHIFT), 0,
						 io_piece_bytes(io, i), io_direction(io));
		if (ib_dma_mapping_error(device, rio->pieces[i])) {
			io_unmap_pieces(io, device, i);
			return -ENOMEM;
		}
	}
	return 0;
}

static int io_map(struct farswap_io *io, struct ib_device *device)
{
	struct farswap_rdma_io *rio = to_rio(io);

	if (unlikely(io->length > rio->queue->chan.link->map_bytes))
		return io_map_pieces(io, device);
	rio->nr_sges = 1;
	rio->dma = ib_dma_map_page(device, io->page, 0, io->length,
				   io_direction(io));
	return ib_dma_mapping_error(device, rio->dma);
}

static void io_unmap(struct farswap_io *io, struct ib_device *device)
{
	struct farswap_rdma_io *rio = to_rio(io);

	if (unlikely(rio->nr_sges > 1))
		io_unmap_pieces(io, device, rio->nr_sges);
	else
		ib_dma_unmap_page(device, rio->dma, io->length, io_direction(io));
}

/* The last word of what is read. */
static u64 *io_canary_place(const struct farswap_io *io)
{
	return page_address(io->page) + io->length - sizeof(u64);
}

static void io_canary_set(const struct farswap_io *io)
{
	if (io->op == FARSWAP_IO_READ)
		*io_canary_place(io) = io_canary;
}

/* A page contains this value with probability 2^-64; it is then read from another copy. */
static bool io_canary_intact(const struct farswap_rdma_io *rio)
{
	const struct farswap_rdma_io *other;

	if (to_io(rio)->op != FARSWAP_IO_READ)
		return false;
	if (*io_canary_place(to_io(rio)) == io_canary)
		return true;
	list_for_each_entry(other, &rio->merged, entry)
		if (*io_canary_place(to_io(other)) == io_canary)
			return true;
	return false;
}

static void io_init_single(struct farswap_rdma_io *rio)
{
	INIT_LIST_HEAD(&rio->merged);
	rio->nr = 1;
	rio->bytes = to_io(rio)->length;
}

/* Complete all I/Os of a work request. @rio may be freed afterwards. */
static void io_report(struct farswap_rdma_io *rio, int error)
{
	struct farswap_rdma_io *other, *next;
	struct farswap_io *io = to_io(rio);

	list_for_each_entry_safe(other, next, &rio->merged, entry)
		to_io(other)->done(to_io(other), error);
	io->done(io, error);
}

static void io_unmap_all(struct farswap_rdma_io *rio)
{
	struct ib_device *device = rio->queue->chan.link->device;
	struct farswap_rdma_io *other;

	io_unmap(to_io(rio), device);
	list_for_each_entry(other, &rio->merged, entry)
		io_unmap(to_io(other), device);
}

/* Fail a work request that was never posted, or whose queue pair is destroyed. */
static void io_abandon(struct farswap_rdma_io *rio)
{
	io_unmap_all(rio);
	io_report(rio, -EHOSTDOWN);
}

/* Does @next begin where @io ends? */
static bool io_is_contiguous(const struct farswap_io *io, const struct farswap_io *next)
{
	return next->op == io->op && next->region == io->region &&
	       next->offset == io->offset + io->length;
}

/* Must this WRITE yield to READs that tasks wait for? */
static bool io_must_yield(const struct farswap_rdma_queue *queue, const struct farswap_io *io)
{
	const struct farswap_rdma_link *link = queue->chan.link;

	return io->op == FARSWAP_IO_WRITE && READ_ONCE(link->soft) && link->conn.nr_queues > 1 &&
	       queue->flow.submitted[0] - queue->flow.completed[0] <= IO_YIELD_MAX &&
	       time_before(jiffies, READ_ONCE(link->urgent_at) + IO_YIELD_TIME);
}

/* May this I/O be posted at once, rather than wait to be merged? */
static bool io_has_room(const struct farswap_rdma_queue *queue, const struct farswap_io *io)
{
	if (io->urgent || queue->max_sges == 1)
		return queue->inflight < queue->depth;
	if (io_must_yield(queue, io))
		return !queue->bulk;
	return queue->bulk < min(queue->depth, IO_POSTED);
}

/*
 * Beyond that the first I/O is posted if the second is not contiguous with it, because waiting
 * would not merge anything.
 */
static bool io_may_post(struct farswap_rdma_queue *queue, struct list_head *list)
{
	struct farswap_rdma_io *rio = list_first_entry(list, struct farswap_rdma_io, entry);
	const struct farswap_io *first = to_io(rio);

	if (queue->inflight == queue->depth)
		return false;
	if (io_has_room(queue, first))
		return true;
	if (first->urgent || queue->bulk_bytes >= IO_MERGE_BYTES || list_is_singular(list) ||
	    io_must_yield(queue, first))
		return false;
	return !io_is_contiguous(first, to_io(list_next_entry(rio, entry)));
}

/* Merge the I/Os that follow @rio in the backlog, as far as they are contiguous. */
static void io_merge(struct farswap_rdma_queue *queue, struct farswap_rdma_io *rio,
		     struct list_head *list)
{
	struct farswap_io *last = to_io(rio), *next;
	unsigned int most = io_must_yield(queue, last) ? IO_YIELD_BYTES : IO_MERGE_BYTES;
	unsigned int sges = rio->nr_sges;

	lockdep_assert_held(&queue->flow.lock);
	for (rio->nr = 1; !list_empty(list); rio->nr++) {
		next = to_io(list_first_entry(list, struct farswap_rdma_io, entry));
		sges += to_rio(next)->nr_sges;
		if (sges > queue->max_sges || rio->bytes + next->length > most ||
		    !io_is_contiguous(last, next))
			break;
		rio->bytes += next->length;
		list_move_tail(&to_rio(next)->entry, &rio->merged);
		last = next;
	}
}

/* Return the next free entry. */
static struct ib_sge *io_set_sges(const struct farswap_rdma_queue *queue,
				  struct farswap_rdma_io *rio, struct ib_sge *sge)
{
	u32 lkey = queue->chan.link->pd->local_dma_lkey;
	struct farswap_io *io = to_io(rio);
	unsigned int i;

	if (likely(rio->nr_sges == 1)) {
		*sge = (struct ib_sge){ rio->dma, io->length, lkey };
		return sge + 1;
	}
	for (i = 0; i < rio->nr_sges; i++)
		*sge++ = (struct ib_sge){ rio->pieces[i], io_piece_bytes(io, i), lkey };
	return sge;
}

static farswap_rdma_injectable int io_post(struct farswap_rdma_queue *queue,
					   struct farswap_rdma_io *rio)
{
	struct ib_sge *sge = queue->sges;
	const struct farswap_io *io = to_io(rio);
	struct farswap_rdma_io *other;
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &rio->cqe,
		.wr.sg_list = queue->sges,
		.wr.opcode = io->op == FARSWAP_IO_READ ? IB_WR_RDMA_READ :
							 IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_SIGNALED,
		.remote_addr = io->region->addr + io->offset,
		.rkey = io->region->rkey,
	};
	int err;

	lockdep_assert_held(&queue->flow.lock);
	sge = io_set_sges(queue, rio, sge);
	list_for_each_entry(other, &rio->merged, entry)
		sge = io_set_sges(queue, other, sge);
	wr.wr.num_sge = sge - queue->sges;
	err = ib_post_send(queue->chan.qp, &wr.wr, NULL);
	if (unlikely(err))
		return err;
	list_add_tail(&rio->entry, &queue->posted);
	queue->inflight++;
	if (!io->urgent) {
		queue->bulk++;
		queue->bulk_bytes += rio->bytes;
	}
	return 0;
}
ALLOW_ERROR_INJECTION(io_post, ERRNO);

/*
 * Post the backlog. I/O that can't be posted stays there; the caller then fails the connection,
 * which flushes it.
 */
static int io_post_backlog(struct farswap_rdma_queue *queue)
{
	struct farswap_rdma_io *rio;
	struct list_head *list;
	bool urgent;
	int err;

	lockdep_assert_held(&queue->flow.lock);
	while (!farswap_rdma_conn_dead(&queue->chan.link->conn)) {
		/* Urgent I/O first, but never so that the rest starves. */
		urgent = !list_empty(&queue->backlog[1]) &&
			 (list_empty(&queue->backlog[0]) || ++queue->turn % 8 ||
			  !io_may_post(queue, &queue->backlog[0]));
		list = &queue->backlog[urgent];
		rio = list_first_entry_or_null(list, struct farswap_rdma_io, entry);
		if (!rio || !io_may_post(queue, list))
			break;
		list_del(&rio->entry);
		if (!urgent)
			io_merge(queue, rio, list);
		err = io_post(queue, rio);
		if (unlikely(err)) {
			list_splice_init(&rio->merged, list);
			io_init_single(rio);
			list_add(&rio->entry, list);
			return err;
		}
	}
	return 0;
}

static farswap_rdma_injectable int io_status_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_WR_FLUSH_ERR:
		return -EHOSTDOWN;
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	case IB_WC_REM_ACCESS_ERR:
		return -EKEYREVOKED;
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
	case IB_WC_REM_ABORT_ERR:
		return -EREMOTEIO;
	default:
		return -EIO;
	}
}
ALLOW_ERROR_INJECTION(io_status_errno, ERRNO);

static void io_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct farswap_rdma_io *rio = container_of(wc->wr_cqe,
						   struct farswap_rdma_io, cqe);
	struct farswap_rdma_queue *queue = rio->queue;
	struct farswap_rdma_conn *conn = &queue->chan.link->conn;
	struct farswap_io *io = to_io(rio);
	int error = io_status_errno(wc->status);
	unsigned long flags;
	bool flushed;
	int err;

	io_unmap_all(rio);
	/* The connection is marked dead before done(): see the top of this file. */
	if (unlikely(error)) {
		if (error == -EKEYREVOKED || error == -EREMOTEIO)
			WRITE_ONCE(conn->revoked, true);
		if (error == -ETIMEDOUT)
			farswap_rdma_probe_again(conn);
		farswap_rdma_conn_fail(conn, error, ib_wc_status_msg(wc->status));
	} else if (unlikely(io_canary_intact(rio))) {
		error = -EIO;
		farswap_rdma_probe_again(conn);
		farswap_rdma_conn_fail(conn, error, "READ completed without data");
	}

	spin_lock_irqsave(&queue->flow.lock, flags);
	list_del(&rio->entry);
	queue->inflight--;
	if (!io->urgent) {
		queue->bulk--;
		queue->bulk_bytes -= rio->bytes;
	}
	queue->flow.completed[io->urgent] += rio->nr;
	if (likely(!error) && unlikely(!queue->flow.good))
		queue->flow.good = true;
	err = io_post_backlog(queue);
	flushed = farswap_rdma_conn_dead(conn) && list_empty(&queue->posted);
	spin_unlock_irqrestore(&queue->flow.lock, flags);

	if (unlikely(err))
		farswap_rdma_conn_fail(conn, err, "posting failed");
	if (unlikely(flushed))
		wake_up_all(&conn->wait);
	if (io->op == FARSWAP_IO_WRITE && farswap_rdma_conn_dead(conn) && !error)
		error = -EHOSTDOWN;
	io_report(rio, error);
}

/* READs use the first half of the queues, WRITEs the second. */
static struct farswap_rdma_queue *io_pick_queue(struct farswap_rdma_link *link,
						enum farswap_io_op op)
{
	unsigned int loads = farswap_rdma_loads(link->conn.nr_queues);
	unsigned int stores = link->conn.nr_queues - loads;
	unsigned int cpu = raw_smp_processor_id();

	if (op == FARSWAP_IO_READ || !stores)
		return &link->queue[cpu % loads];
	return &link->queue[loads + cpu % stores];
}

/**
 * farswap_rdma_io_submit() - &struct farswap_transport.submit
 * @io:		the I/O
 *
 * The device is used under RCU: link_retire() waits for a grace period.
 *
 * Context: any up to softirq.
 * Return: 0; -EHOSTDOWN, or -ENOMEM when the page can't be mapped for the device.
 */
int farswap_rdma_io_submit(struct farswap_io *io)
{
	struct farswap_rdma_io *rio = to_rio(io);
	struct farswap_rdma_queue *queue;
	struct farswap_rdma_link *link;
	struct farswap_rdma_conn *conn;
	unsigned long flags, now = jiffies;
	int err, backlog_err = 0;

	if (WARN_ON_ONCE((u64)io->offset + io->length > io->region->bytes))
		return -EINVAL;

	rcu_read_lock();
	conn = READ_ONCE(io->region->conn);
	/* Pairs with the release in farswap_rdma_message_open(): the queues are set up. */
	if (farswap_rdma_conn_dead(conn) || unlikely(!smp_load_acquire(&conn->open))) {
		err = -EHOSTDOWN;
		goto out_unlock_rcu;
	}
	link = to_link(conn);
	queue = io_pick_queue(link, io->op);
	rio->queue = queue;
	io_init_single(rio);
	rio->cqe.done = io_done;
	io_canary_set(io);
	/* Written only when it changes: WRITEs on other processors read it. */
	if (io->urgent && READ_ONCE(link->urgent_at) != now)
		WRITE_ONCE(link->urgent_at, now);
	err = io_map(io, link->device);
	if (unlikely(err)) {
		err = -ENOMEM;
		goto out_unlock_rcu;
	}

	spin_lock_irqsave(&queue->flow.lock, flags);
	if (farswap_rdma_conn_dead(conn)) {
		err = -EHOSTDOWN;
	} else if (io_has_room(queue, io) && queue->inflight < queue->depth &&
		   list_empty(&queue->backlog[io->urgent])) {
		err = io_post(queue, rio);
	} else {
		list_add_tail(&rio->entry, &queue->backlog[io->urgent]);
		backlog_err = io_post_backlog(queue);
	}
	if (!err)
		queue->flow.submitted[io->urgent]++;
	spin_unlock_irqrestore(&queue->flow.lock, flags);

	/* If the backlog can't be posted it is flushed with the connection. */
	if (unlikely(err || backlog_err))
		farswap_rdma_conn_fail(conn, err ?: backlog_err, "posting failed");
	if (unlikely(err)) {
		io_unmap(io, link->device);
		err = -EHOSTDOWN;
	}
out_unlock_rcu:
	rcu_read_unlock();
	return err;
}

/**
 * farswap_rdma_io_flush_backlog() - fail the I/O that a dead queue has not posted
 * @queue:	the queue; its connection is dead
 *
 * On return nothing more is posted to the queue.
 *
 * Context: process.
 */
void farswap_rdma_io_flush_backlog(struct farswap_rdma_queue *queue)
{
	struct farswap_rdma_io *rio, *next;
	LIST_HEAD(flush);

	WARN_ON_ONCE(!farswap_rdma_conn_dead(&queue->chan.link->conn));
	spin_lock_irq(&queue->flow.lock);
	list_splice_tail_init(&queue->backlog[1], &flush);
	list_splice_tail_init(&queue->backlog[0], &flush);
	spin_unlock_irq(&queue->flow.lock);

	list_for_each_entry_safe(rio, next, &flush, entry)
		io_abandon(rio);
}

static bool io_is_flushed(struct farswap_rdma_queue *queue)
{
	bool flushed;

	spin_lock_irq(&queue->flow.lock);
	flushed = list_empty(&queue->posted);
	spin_unlock_irq(&queue->flow.lock);
	return flushed;
}

/**
 * farswap_rdma_io_end() - complete the I/O that a dead queue has posted
 * @queue:	the queue; its backlog is flushed, its queue pair in error
 *
 * An adapter that loses completions would lose those of a drain too, and ib_drain_qp() waits
 * without a bound. So I/O that is not flushed soon completes when the queue pair is destroyed.
 *
 * Context: process; waits for the device only.
 */
void farswap_rdma_io_end(struct farswap_rdma_queue *queue)
{
	struct farswap_rdma_io *rio, *next;

	if (wait_event_timeout(queue->chan.link->conn.wait, io_is_flushed(queue),
			       msecs_to_jiffies(IO_FLUSH_MS)))
		return;
	farswap_rdma_chan_destroy_qp(&queue->chan);
	/* The queue pair is destroyed, so no completion handler runs. */
	list_for_each_entry_safe(rio, next, &queue->posted, entry) {
		list_del(&rio->entry);
		io_abandon(rio);
	}
}

/**
 * farswap_rdma_io_init() - initialise a queue
 * @queue:	the queue, with its link set
 */
void farswap_rdma_io_init(struct farswap_rdma_queue *queue)
{
	queue->chan.link->urgent_at = jiffies - IO_YIELD_TIME;
	spin_lock_init(&queue->flow.lock);
	INIT_LIST_HEAD(&queue->posted);
	INIT_LIST_HEAD(&queue->backlog[0]);
	INIT_LIST_HEAD(&queue->backlog[1]);
}

/**
 * farswap_rdma_io_prepare() - choose the canary
 */
void __init farswap_rdma_io_prepare(void)
{
	io_canary = get_random_u64();
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/io-kunit.h"
#endif
