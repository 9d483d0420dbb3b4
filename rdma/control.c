// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue pair and its buffers. message.c handles what arrives.
 *
 * Everything is posted under conn->lock after a check of conn->error. So once conn->error is
 * set and the lock has been taken and dropped, nothing more is posted to the queue pair, and it
 * can be destroyed. Completions are handled in process context.
 */
#include <linux/error-injection.h>
#include <linux/slab.h>

#include "verbs.h"

static void control_ring_unmap(struct farswap_rdma_link *link,
			       struct farswap_rdma_ring *ring)
{
	while (ring->nr_mapped)
		ib_dma_unmap_single(link->device, ring->dma[--ring->nr_mapped], PAGE_SIZE,
				    ring->dir);
}

/* After an error control_ring_unmap() unmaps what was mapped before it. */
static int control_ring_map(struct farswap_rdma_link *link,
			    struct farswap_rdma_ring *ring, void **page, unsigned int count,
			    enum dma_data_direction dir,
			    void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	unsigned int i;

	static_assert(ARRAY_SIZE(ring->msg) >= FARSWAP_RECV_DEPTH);

	ring->page = page;
	ring->count = count;
	ring->dir = dir;
	for (i = 0; i < DIV_ROUND_UP(count, FARSWAP_RDMA_PAGE_MSGS); i++) {
		ring->dma[i] = ib_dma_map_single(link->device, page[i], PAGE_SIZE, dir);
		if (ib_dma_mapping_error(link->device, ring->dma[i]))
			return -ENOMEM;
		ring->nr_mapped++;
	}
	for (i = 0; i < count; i++) {
		ring->msg[i].link = link;
		ring->msg[i].cqe.done = done;
	}
	return 0;
}

static void *control_buffer(const struct farswap_rdma_ring *ring,
			    const struct farswap_rdma_msg *msg)
{
	unsigned long nr = msg - ring->msg;

	return ring->page[nr / FARSWAP_RDMA_PAGE_MSGS] +
	       nr % FARSWAP_RDMA_PAGE_MSGS * FARSWAP_MSG_BYTES;
}

static u64 control_dma(const struct farswap_rdma_ring *ring, const struct farswap_rdma_msg *msg)
{
	unsigned long nr = msg - ring->msg;

	return ring->dma[nr / FARSWAP_RDMA_PAGE_MSGS] +
	       nr % FARSWAP_RDMA_PAGE_MSGS * FARSWAP_MSG_BYTES;
}

static farswap_rdma_injectable int control_post_recv(struct farswap_rdma_link *link,
						     struct farswap_rdma_msg *msg)
{
	struct ib_sge sge = {
		.addr = control_dma(&link->recv, msg),
		.length = FARSWAP_MSG_BYTES,
		.lkey = link->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &msg->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	lockdep_assert_held(&link->conn.lock);
	if (farswap_rdma_conn_dead(&link->conn))
		return -EHOSTDOWN;
	ib_dma_sync_single_for_device(link->device, sge.addr, FARSWAP_MSG_BYTES,
				      DMA_FROM_DEVICE);
	return ib_post_recv(link->control.qp, &wr, NULL);
}
ALLOW_ERROR_INJECTION(control_post_recv, ERRNO);

static farswap_rdma_injectable int control_post_send(struct farswap_rdma_link *link,
						     const struct ib_send_wr *wr)
{
	return ib_post_send(link->control.qp, wr, NULL);
}
ALLOW_ERROR_INJECTION(control_post_send, ERRNO);

/**
 * farswap_rdma_control_send() - &struct farswap_rdma_link_ops.send
 * @conn:	connection, not dead: a dead one may be retired already, and its objects gone
 * @msg:	the message
 * @len:	its length
 *
 * Context: process, under conn->lock.
 * Return: 0 or -errno.
 */
int farswap_rdma_control_send(struct farswap_rdma_conn *conn, const void *msg, size_t len)
{
	struct farswap_rdma_link *link = to_link(conn);
	struct farswap_rdma_msg *buffer = list_first_entry(&link->sends, struct farswap_rdma_msg,
							   entry);
	struct ib_sge sge = {
		.addr = control_dma(&link->send, buffer),
		.length = len,
		.lkey = link->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &buffer->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err;

	lockdep_assert_held(&conn->lock);
	ib_dma_sync_single_for_cpu(link->device, sge.addr, len, DMA_TO_DEVICE);
	memcpy(control_buffer(&link->send, buffer), msg, len);
	ib_dma_sync_single_for_device(link->device, sge.addr, len, DMA_TO_DEVICE);
	err = control_post_send(link, &wr);
	if (!err)
		list_del(&buffer->entry);
	return err;
}

static void control_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct farswap_rdma_msg *msg = container_of(wc->wr_cqe,
						    struct farswap_rdma_msg, cqe);
	struct farswap_rdma_conn *conn = &msg->link->conn;

	if (wc->status != IB_WC_SUCCESS)
		farswap_rdma_conn_fail(conn, wc->status == IB_WC_RETRY_EXC_ERR ?
				       -ETIMEDOUT : -EIO,
				       ib_wc_status_msg(wc->status));
	spin_lock(&conn->lock);
	list_add_tail(&msg->entry, &msg->link->sends);
	spin_unlock(&conn->lock);
	farswap_rdma_message_sent(conn);
}

static void control_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct farswap_rdma_msg *msg = container_of(wc->wr_cqe,
						    struct farswap_rdma_msg, cqe);
	struct farswap_rdma_link *link = msg->link;
	struct farswap_rdma_conn *conn = &link->conn;
	int err;

	switch (wc->status) {
	case IB_WC_SUCCESS:
		break;
	/* Adapters differ in this status. All our buffers are valid and equally large. */
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_LOC_QP_OP_ERR:
	case IB_WC_REM_INV_REQ_ERR:
		farswap_rdma_conn_fail(conn, -EPROTO, "message too long");
		return;
	default:
		farswap_rdma_conn_fail(conn, -EIO, ib_wc_status_msg(wc->status));
		return;
	}
	/* A WRITE with immediate data consumes a receive, too. */
	if (wc->opcode != IB_WC_RECV || wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE)) {
		farswap_rdma_conn_fail(conn, -EPROTO, "message is not a plain SEND");
		return;
	}
	if (farswap_rdma_conn_dead(conn))
		return;
	ib_dma_sync_single_for_cpu(link->device, control_dma(&link->recv, msg),
				   FARSWAP_MSG_BYTES, DMA_FROM_DEVICE);
	farswap_rdma_message_received(conn, control_buffer(&link->recv, msg), wc->byte_len);

	spin_lock(&conn->lock);
	err = control_post_recv(link, msg);
	spin_unlock(&conn->lock);
	if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

/**
 * farswap_rdma_control_create() - create the control queue pair and map its buffers
 * @link:	bound to a device, with a protection domain
 *
 * The receives are posted.
 *
 * Context: may sleep.
 * Return: 0 or -errno; after an error farswap_rdma_control_destroy() removes what exists.
 */
int farswap_rdma_control_create(struct farswap_rdma_link *link)
{
	struct farswap_rdma_conn *conn = &link->conn;
	unsigned int i;
	int err;

	err = control_ring_map(link, &link->send, conn->session->send_page, FARSWAP_RDMA_SENDS,
			       DMA_TO_DEVICE, control_send_done);
	if (err)
		return err;
	err = control_ring_map(link, &link->recv, conn->session->recv_page, FARSWAP_RECV_DEPTH,
			       DMA_FROM_DEVICE, control_recv_done);
	if (err)
		return err;
	err = farswap_rdma_chan_create_qp(&link->control, FARSWAP_RDMA_SENDS, 1,
					  FARSWAP_RECV_DEPTH,
					  farswap_rdma_chan_next_vector(link->device, false, 0, 1),
					  IB_POLL_UNBOUND_WORKQUEUE);
	if (err)
		return err;

	spin_lock(&conn->lock);
	for (i = 0; i < link->send.count; i++)
		list_add_tail(&link->send.msg[i].entry, &link->sends);
	for (i = 0; !err && i < link->recv.count; i++)
		err = control_post_recv(link, &link->recv.msg[i]);
	spin_unlock(&conn->lock);
	return err;
}

/**
 * farswap_rdma_control_destroy() - undo farswap_rdma_control_create()
 * @link:	quiet; may be incomplete
 *
 * Context: may sleep.
 */
void farswap_rdma_control_destroy(struct farswap_rdma_link *link)
{
	farswap_rdma_chan_destroy_qp(&link->control);
	control_ring_unmap(link, &link->recv);
	control_ring_unmap(link, &link->send);
}
