// SPDX-License-Identifier: GPL-2.0
/*
 * Page I/O: READ and WRITE work requests, in order on their queue.
 *
 * Few of those that nobody waits for, WRITEs and what is read ahead, are posted at a time. Those
 * that wait meanwhile are merged when their turn comes, as far as they follow each other (those
 * that don't are posted): a single work request with as many scatter or gather entries costs the
 * network one acknowledgment or request and this machine one completion. So how much is merged
 * adapts itself: nothing while the network is faster than reclaim, and a fault finds no long
 * queue ahead of it. Where the adapter is software, WRITEs go one by one, and small, while tasks
 * wait for READs: a fault needs the processor three times, for its READ to be sent, to complete,
 * and to go on, and finds it busy with all packets of what is posted.
 *
 * Why no late WRITE can hurt (rule 6):
 * 1. A slot is stored elsewhere or again only after done(), and done() reports an
 *    error only after farswap_rdma_conn_fail() has marked the connection dead.
 * 2. A dead connection's regions are dead: submit refuses them, and a WRITE that
 *    succeeds after all is reported as failed. So a packet that is late hits
 *    memory nobody will read as ours; the donor's own side is rule 7. Regions that
 *    go over to another connection come alive only when the donor has destroyed
 *    its ends of the dead one's queue pairs, and nothing late can arrive.
 * 3. Posting and looking for death are one critical section of queue->lock. That lock is
 *    taken once after the mark, so nothing is posted when the queue pair is destroyed.
 * 4. A page is handed back only with its work request's completion, or after the queue
 *    pair is destroyed: a late READ response finds no work request to land in.
 *
 * A READ's status alone isn't believed. When the donor's network stack refuses to
 * send a READ response, rxe 6.12 resumes it with the wrong opcode, and the other
 * rxe, which has no status for that, completes the READ as good with nothing
 * read. So each READ overwrites a canary, at the end of each page or folio that it reads, since
 * packets arrive in order.
 *
 * Locking: queue->lock.
 */
#include <linux/error-injection.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "internal.h"

/* A fault waits no longer for one that is under way, and a large folio's may be larger. */
#define IO_MERGE_BYTES	SZ_128K
/* Work requests that keep the network busy while others wait to be merged. */
#define IO_POSTED	4U
/* A software adapter's WRITE while tasks wait for READs, and for so long after the last. */
#define IO_BESIDE_BYTES	SZ_16K
#define IO_BESIDE_TIME	(HZ / 10)
/* A dead queue pair's work requests complete in much less. */
#define IO_FLUSH_MS		100
/* With more than these waiting, they are in a hurry too: one that is late fails the connection. */
#define IO_BESIDE_MAX	64

/* In struct farswap_io.transport. */
struct farswap_rdma_io {
	struct list_head entry;		/* queue->posted, ->backlog, another's merged */
	struct list_head merged;	/* what its work request has besides */
	unsigned int nr;		/* I/Os that it has */
	unsigned int bytes;
	struct ib_cqe cqe;
	struct farswap_rdma_queue *queue;
	unsigned int nr_sges;		/* of this I/O alone */
	union {
		u64 dma;
		u64 *pieces;		/* with more than one */
	};
};

static_assert(sizeof(struct farswap_rdma_io) <=
	      FARSWAP_IO_PRIVATE_WORDS * sizeof(unsigned long));

/* What no page holds: random, and nobody is told. */
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
	unsigned int most = to_rio(io)->queue->chan.conn->map_bytes;

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
 * Bounce buffers, of guests whose memory is encrypted, take no large folio as a whole. If it
 * can't be mapped in pieces either it is stored or read elsewhere.
 */
static int io_map_pieces(struct farswap_io *io, struct ib_device *device)
{
	struct farswap_rdma_io *rio = to_rio(io);
	unsigned int most = rio->queue->chan.conn->map_bytes;
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

	if (unlikely(io->length > rio->queue->chan.conn->map_bytes))
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

/* Where the canary is: the last word of what is read. */
static u64 *io_canary_place(const struct farswap_io *io)
{
	return page_address(io->page) + io->length - sizeof(u64);
}

static void io_canary_set(const struct farswap_io *io)
{
	if (io->op == FARSWAP_IO_READ)
		*io_canary_place(io) = io_canary;
}

/* Swapped data that looks like this is one in 2^64, and read from elsewhere. */
static bool io_canary_alive(const struct farswap_rdma_io *rio)
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

static void io_be_alone(struct farswap_rdma_io *rio)
{
	INIT_LIST_HEAD(&rio->merged);
	rio->nr = 1;
	rio->bytes = to_io(rio)->length;
}

/* Tell whose pages they are, all those of a work request. @rio may be gone afterwards. */
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
	struct ib_device *device = rio->queue->chan.conn->device;
	struct farswap_rdma_io *other;

	io_unmap(to_io(rio), device);
	list_for_each_entry(other, &rio->merged, entry)
		io_unmap(to_io(other), device);
}

/* It was never posted, or its queue pair is gone. */
static void io_abandon(struct farswap_rdma_io *rio)
{
	io_unmap_all(rio);
	io_report(rio, -EHOSTDOWN);
}

/* Is what @next is about right behind what @io is? */
static bool io_is_followed(const struct farswap_io *io, const struct farswap_io *next)
{
	return next->op == io->op && next->region == io->region &&
	       next->offset == io->offset + io->length;
}

/* Is it to give way to READs that tasks wait for? */
static bool io_is_beside(const struct farswap_rdma_queue *queue, const struct farswap_io *io)
{
	const struct farswap_rdma_conn *conn = queue->chan.conn;

	return io->op == FARSWAP_IO_WRITE && READ_ONCE(conn->soft) && conn->nr_queues > 1 &&
	       queue->submitted[0] - queue->completed[0] <= IO_BESIDE_MAX &&
	       time_before(jiffies, READ_ONCE(conn->urgent_at) + IO_BESIDE_TIME);
}

/* Is there room for one that nobody waits to be merged with? */
static bool io_has_room(const struct farswap_rdma_queue *queue, const struct farswap_io *io)
{
	if (io->urgent || queue->max_sges == 1)
		return queue->inflight < queue->depth;
	if (io_is_beside(queue, io))
		return !queue->bulk;
	return queue->bulk < min(queue->depth, IO_POSTED);
}

/*
 * Beyond that, what waits first is posted if what waits next doesn't follow it: then there is
 * nothing to wait for.
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
	    io_is_beside(queue, first))
		return false;
	return !io_is_followed(first, to_io(list_next_entry(rio, entry)));
}

/* What waits next goes with @rio, as far as it follows. */
static void io_merge(struct farswap_rdma_queue *queue, struct farswap_rdma_io *rio,
		     struct list_head *list)
{
	struct farswap_io *last = to_io(rio), *next;
	unsigned int most = io_is_beside(queue, last) ? IO_BESIDE_BYTES : IO_MERGE_BYTES;
	unsigned int sges = rio->nr_sges;

	lockdep_assert_held(&queue->lock);
	for (rio->nr = 1; !list_empty(list); rio->nr++) {
		next = to_io(list_first_entry(list, struct farswap_rdma_io, entry));
		sges += to_rio(next)->nr_sges;
		if (sges > queue->max_sges || rio->bytes + next->length > most ||
		    !io_is_followed(last, next))
			break;
		rio->bytes += next->length;
		list_move_tail(&to_rio(next)->entry, &rio->merged);
		last = next;
	}
}

/* Return the next free one. */
static struct ib_sge *io_set_sges(const struct farswap_rdma_queue *queue,
				  struct farswap_rdma_io *rio, struct ib_sge *sge)
{
	u32 lkey = queue->chan.conn->pd->local_dma_lkey;
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

	lockdep_assert_held(&queue->lock);
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
 * Post what waits. What can't be posted waits on, for the flush that the caller
 * brings about by failing the connection.
 */
static int io_post_backlog(struct farswap_rdma_queue *queue)
{
	struct farswap_rdma_io *rio;
	struct list_head *list;
	bool urgent;
	int err;

	lockdep_assert_held(&queue->lock);
	while (!farswap_rdma_conn_dead(queue->chan.conn)) {
		/* Urgent ones first, but never so that the others stand still. */
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
			io_be_alone(rio);
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
	struct farswap_rdma_conn *conn = queue->chan.conn;
	struct farswap_io *io = to_io(rio);
	int error = io_status_errno(wc->status);
	unsigned long flags;
	bool flushed;
	int err;

	io_unmap_all(rio);
	/* Before done(): see the top of this file. */
	if (unlikely(error)) {
		if (error == -EKEYREVOKED || error == -EREMOTEIO)
			WRITE_ONCE(conn->revoked, true);
		farswap_rdma_conn_fail(conn, error, ib_wc_status_msg(wc->status));
	} else if (unlikely(io_canary_alive(rio))) {
		error = -EIO;
		farswap_rdma_conn_fail(conn, error, "READ completed without data");
	}

	spin_lock_irqsave(&queue->lock, flags);
	list_del(&rio->entry);
	queue->inflight--;
	if (!io->urgent) {
		queue->bulk--;
		queue->bulk_bytes -= rio->bytes;
	}
	queue->completed[io->urgent] += rio->nr;
	if (likely(!error) && unlikely(!queue->good))
		queue->good = true;
	err = io_post_backlog(queue);
	flushed = farswap_rdma_conn_dead(conn) && list_empty(&queue->posted);
	spin_unlock_irqrestore(&queue->lock, flags);

	if (unlikely(err))
		farswap_rdma_conn_fail(conn, err, "posting failed");
	if (unlikely(flushed))
		wake_up_all(&conn->wait);
	if (io->op == FARSWAP_IO_WRITE && farswap_rdma_conn_dead(conn) && !error)
		error = -EHOSTDOWN;
	io_report(rio, error);
}

/* Loads on the first half of the queues, stores on the second. */
static struct farswap_rdma_queue *io_pick_queue(struct farswap_rdma_conn *conn,
						enum farswap_io_op op)
{
	unsigned int loads = farswap_rdma_loads(conn->nr_queues);
	unsigned int stores = conn->nr_queues - loads;
	unsigned int cpu = raw_smp_processor_id();

	if (op == FARSWAP_IO_READ || !stores)
		return &conn->queue[cpu % loads];
	return &conn->queue[loads + cpu % stores];
}

/**
 * farswap_rdma_io_submit() - &struct farswap_transport.submit
 * @io:		the I/O
 *
 * The device is used under RCU: retirement waits for that before it goes.
 *
 * Context: any up to softirq.
 * Return: 0; -EHOSTDOWN, or -ENOMEM when the page can't be mapped for the device.
 */
int farswap_rdma_io_submit(struct farswap_io *io)
{
	struct farswap_rdma_io *rio = to_rio(io);
	struct farswap_rdma_queue *queue;
	struct farswap_rdma_conn *conn;
	unsigned long flags, now = jiffies;
	int err, backlog_err = 0;

	if (WARN_ON_ONCE((u64)io->offset + io->length > io->region->bytes))
		return -EINVAL;

	rcu_read_lock();
	conn = READ_ONCE(io->region->conn);
	/* Pairs with farswap_rdma_control_open(). */
	if (farswap_rdma_conn_dead(conn) || unlikely(!smp_load_acquire(&conn->open))) {
		err = -EHOSTDOWN;
		goto out_unlock_rcu;
	}
	queue = io_pick_queue(conn, io->op);
	rio->queue = queue;
	io_be_alone(rio);
	rio->cqe.done = io_done;
	io_canary_set(io);
	/* Stores look at it, on other processors too. */
	if (io->urgent && READ_ONCE(conn->urgent_at) != now)
		WRITE_ONCE(conn->urgent_at, now);
	err = io_map(io, conn->device);
	if (unlikely(err)) {
		err = -ENOMEM;
		goto out_unlock_rcu;
	}

	spin_lock_irqsave(&queue->lock, flags);
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
		queue->submitted[io->urgent]++;
	spin_unlock_irqrestore(&queue->lock, flags);

	/* What can't be posted from the backlog is flushed from there, with the rest. */
	if (unlikely(err || backlog_err))
		farswap_rdma_conn_fail(conn, err ?: backlog_err, "posting failed");
	if (unlikely(err)) {
		io_unmap(io, conn->device);
		err = -EHOSTDOWN;
	}
out_unlock_rcu:
	rcu_read_unlock();
	return err;
}

/**
 * farswap_rdma_io_flush_backlog() - fail what a dead queue has not posted
 * @queue:	the queue; its connection is dead
 *
 * On return nothing is posted to the queue any more.
 *
 * Context: process.
 */
void farswap_rdma_io_flush_backlog(struct farswap_rdma_queue *queue)
{
	struct farswap_rdma_io *rio, *next;
	LIST_HEAD(flush);

	WARN_ON_ONCE(!farswap_rdma_conn_dead(queue->chan.conn));
	spin_lock_irq(&queue->lock);
	list_splice_tail_init(&queue->backlog[1], &flush);
	list_splice_tail_init(&queue->backlog[0], &flush);
	spin_unlock_irq(&queue->lock);

	list_for_each_entry_safe(rio, next, &flush, entry)
		io_abandon(rio);
}

static bool io_is_flushed(struct farswap_rdma_queue *queue)
{
	bool flushed;

	spin_lock_irq(&queue->lock);
	flushed = list_empty(&queue->posted);
	spin_unlock_irq(&queue->lock);
	return flushed;
}

/**
 * farswap_rdma_io_end() - complete the I/O that a dead queue has posted
 * @queue:	the queue; its backlog is flushed, its queue pair in error
 *
 * An adapter that loses completions would lose a drain's too, and the wait for that has no bound.
 * So what has not been flushed soon is completed when the queue pair is destroyed.
 *
 * Context: process; waits for the device alone.
 */
void farswap_rdma_io_end(struct farswap_rdma_queue *queue)
{
	struct farswap_rdma_io *rio, *next;

	if (wait_event_timeout(queue->chan.conn->wait, io_is_flushed(queue),
			       msecs_to_jiffies(IO_FLUSH_MS)))
		return;
	farswap_rdma_chan_destroy_qp(&queue->chan);
	/* No completion is handled any more. */
	list_for_each_entry_safe(rio, next, &queue->posted, entry) {
		list_del(&rio->entry);
		io_abandon(rio);
	}
}

/**
 * farswap_rdma_io_init() - an empty queue
 * @queue:	the queue; its connection is known
 */
void farswap_rdma_io_init(struct farswap_rdma_queue *queue)
{
	queue->chan.conn->urgent_at = jiffies - IO_BESIDE_TIME;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->posted);
	INIT_LIST_HEAD(&queue->backlog[0]);
	INIT_LIST_HEAD(&queue->backlog[1]);
}

/**
 * farswap_rdma_io_prepare() - choose what no READ may leave behind
 */
void __init farswap_rdma_io_prepare(void)
{
	io_canary = get_random_u64();
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/io-kunit.h"
#endif
