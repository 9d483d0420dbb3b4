// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue pair: its buffers, and the releases that wait for a buffer. rpc.c
 * handles answers, message.c everything else that arrives.
 *
 * Everything is posted under conn->lock after a check of conn->error. So once conn->error is
 * set and the lock has been taken and dropped, nothing more is posted to the queue pair, and it
 * can be destroyed. Completions are handled in process context.
 */
#include <linux/error-injection.h>
#include <linux/slab.h>

#include "internal.h"

static void control_ring_unmap(struct farswap_rdma_conn *conn,
			       struct farswap_rdma_ring *ring)
{
	while (ring->nr_mapped)
		ib_dma_unmap_single(conn->device, ring->dma[--ring->nr_mapped], PAGE_SIZE,
				    ring->dir);
}

/* After an error control_ring_unmap() unmaps what was mapped before it. */
static int control_ring_map(struct farswap_rdma_conn *conn,
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
		ring->dma[i] = ib_dma_map_single(conn->device, page[i], PAGE_SIZE, dir);
		if (ib_dma_mapping_error(conn->device, ring->dma[i]))
			return -ENOMEM;
		ring->nr_mapped++;
	}
	for (i = 0; i < count; i++) {
		ring->msg[i].conn = conn;
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

static farswap_rdma_injectable int control_post_recv(struct farswap_rdma_conn *conn,
						     struct farswap_rdma_msg *msg)
{
	struct ib_sge sge = {
		.addr = control_dma(&conn->recv, msg),
		.length = FARSWAP_MSG_BYTES,
		.lkey = conn->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &msg->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	lockdep_assert_held(&conn->lock);
	if (farswap_rdma_conn_dead(conn))
		return -EHOSTDOWN;
	ib_dma_sync_single_for_device(conn->device, sge.addr, FARSWAP_MSG_BYTES,
				      DMA_FROM_DEVICE);
	return ib_post_recv(conn->control.qp, &wr, NULL);
}
ALLOW_ERROR_INJECTION(control_post_recv, ERRNO);

static farswap_rdma_injectable int control_post_send(struct farswap_rdma_conn *conn,
						     const struct ib_send_wr *wr)
{
	return ib_post_send(conn->control.qp, wr, NULL);
}
ALLOW_ERROR_INJECTION(control_post_send, ERRNO);

/**
 * farswap_rdma_control_send() - send a copy of a message
 * @conn:	connection
 * @msg:	the message
 * @len:	its length
 *
 * Context: process, under conn->lock.
 * Return: 0; -EAGAIN when no buffer is free; -EHOSTDOWN when the connection is dead; any
 * other error must be passed to farswap_rdma_conn_fail().
 */
int farswap_rdma_control_send(struct farswap_rdma_conn *conn, const void *msg,
			      size_t len)
{
	struct farswap_rdma_msg *buffer;
	struct ib_sge sge = {
		.length = len,
	};
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err;

	lockdep_assert_held(&conn->lock);
	/* First of all: a dead connection may be retired already, and its objects gone. */
	if (farswap_rdma_conn_dead(conn))
		return -EHOSTDOWN;
	sge.lkey = conn->pd->local_dma_lkey;
	buffer = list_first_entry_or_null(&conn->sends, struct farswap_rdma_msg,
					  entry);
	if (!buffer)
		return -EAGAIN;
	sge.addr = control_dma(&conn->send, buffer);
	wr.wr_cqe = &buffer->cqe;
	ib_dma_sync_single_for_cpu(conn->device, sge.addr, len, DMA_TO_DEVICE);
	memcpy(control_buffer(&conn->send, buffer), msg, len);
	ib_dma_sync_single_for_device(conn->device, sge.addr, len, DMA_TO_DEVICE);
	err = control_post_send(conn, &wr);
	if (err)
		return err;
	list_del(&buffer->entry);
	conn->nr_sends--;
	return 0;
}

/* Send pending releases while buffers are left for them. */
static int control_send_releases(struct farswap_rdma_conn *conn)
{
	struct farswap_region_msg msg;
	struct farswap_region *region;
	size_t len;
	int err;

	lockdep_assert_held(&conn->lock);
	while (conn->open && conn->nr_sends > FARSWAP_RDMA_SENDS_KEPT) {
		region = list_first_entry_or_null(&conn->releases,
						  struct farswap_region, entry);
		if (!region)
			break;
		len = farswap_wire_region_msg(&msg, region->evicted ?
					      FARSWAP_MSG_DONE : FARSWAP_MSG_UNMAP,
					      region->id);
		farswap_wire_set_seq(&msg, region->evicted ? region->evict_seq :
							     conn->next_seq++);
		err = farswap_rdma_control_send(conn, &msg, len);
		if (err)
			return err;
		list_del(&region->entry);
		farswap_rdma_region_free(region);
	}
	return 0;
}

static void control_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct farswap_rdma_msg *msg = container_of(wc->wr_cqe,
						    struct farswap_rdma_msg, cqe);
	struct farswap_rdma_conn *conn = msg->conn;
	int err = 0;

	if (wc->status != IB_WC_SUCCESS)
		farswap_rdma_conn_fail(conn, wc->status == IB_WC_RETRY_EXC_ERR ?
				       -ETIMEDOUT : -EIO,
				       ib_wc_status_msg(wc->status));
	spin_lock(&conn->lock);
	list_add_tail(&msg->entry, &conn->sends);
	conn->nr_sends++;
	if (!farswap_rdma_conn_dead(conn))
		err = control_send_releases(conn);
	spin_unlock(&conn->lock);
	if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
	wake_up_all(&conn->wait);
}

static void control_received(struct farswap_rdma_conn *conn, const void *buf,
			     size_t len)
{
	enum farswap_wire_fault fault = farswap_wire_check(buf, len);
	const char *wrong;
	int err = 0;

	if (fault) {
		farswap_rdma_conn_fail(conn, -EPROTO, farswap_wire_fault_name(fault));
		return;
	}
	switch (farswap_wire_type(buf)) {
	case FARSWAP_MSG_WELCOME:
	case FARSWAP_MSG_FREE_MEM:
	case FARSWAP_MSG_MR_INFO:
	case FARSWAP_MSG_RESUMED:
	case FARSWAP_MSG_KEYED:
		spin_lock(&conn->lock);
		wrong = farswap_rdma_rpc_answered(conn, buf, len);
		if (!wrong)
			err = control_send_releases(conn);
		spin_unlock(&conn->lock);
		if (wrong)
			farswap_rdma_conn_fail(conn, -EPROTO, wrong);
		else if (err)
			farswap_rdma_conn_fail(conn, err, "posting failed");
		wake_up_all(&conn->wait);
		break;
	default:
		farswap_rdma_message_handle(conn, buf);
		break;
	}
}

static void control_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct farswap_rdma_msg *msg = container_of(wc->wr_cqe,
						    struct farswap_rdma_msg, cqe);
	struct farswap_rdma_conn *conn = msg->conn;
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
	if (farswap_rdma_conn_dead(conn))
		return;
	ib_dma_sync_single_for_cpu(conn->device, control_dma(&conn->recv, msg),
				   FARSWAP_MSG_BYTES, DMA_FROM_DEVICE);
	control_received(conn, control_buffer(&conn->recv, msg), wc->byte_len);

	spin_lock(&conn->lock);
	err = control_post_recv(conn, msg);
	spin_unlock(&conn->lock);
	if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

/**
 * farswap_rdma_control_create() - create the control queue pair and map its buffers
 * @conn:	bound to a device, with a protection domain
 *
 * The receives are posted.
 *
 * Context: may sleep.
 * Return: 0 or -errno; after an error farswap_rdma_control_destroy() removes what exists.
 */
int farswap_rdma_control_create(struct farswap_rdma_conn *conn)
{
	unsigned int i;
	int err;

	err = control_ring_map(conn, &conn->send, conn->session->send_page, FARSWAP_RDMA_SENDS,
			       DMA_TO_DEVICE, control_send_done);
	if (err)
		return err;
	err = control_ring_map(conn, &conn->recv, conn->session->recv_page, FARSWAP_RECV_DEPTH,
			       DMA_FROM_DEVICE, control_recv_done);
	if (err)
		return err;
	err = farswap_rdma_chan_create_qp(&conn->control, FARSWAP_RDMA_SENDS, 1,
					  FARSWAP_RECV_DEPTH,
					  farswap_rdma_chan_next_vector(conn->device, false),
					  IB_POLL_UNBOUND_WORKQUEUE);
	if (err)
		return err;

	spin_lock(&conn->lock);
	for (i = 0; i < conn->send.count; i++)
		list_add_tail(&conn->send.msg[i].entry, &conn->sends);
	conn->nr_sends = conn->send.count;
	for (i = 0; !err && i < conn->recv.count; i++)
		err = control_post_recv(conn, &conn->recv.msg[i]);
	spin_unlock(&conn->lock);
	return err;
}

/**
 * farswap_rdma_control_destroy() - undo farswap_rdma_control_create()
 * @conn:	quiet connection; may be incomplete
 *
 * Context: may sleep.
 */
void farswap_rdma_control_destroy(struct farswap_rdma_conn *conn)
{
	farswap_rdma_chan_destroy_qp(&conn->control);
	control_ring_unmap(conn, &conn->recv);
	control_ring_unmap(conn, &conn->send);
}

/**
 * farswap_rdma_control_quiesce() - complete a dead connection's messages and requests
 * @conn:	dead connection
 *
 * On return no message is being handled.
 *
 * Context: process; waits for the device, and for a callback that is running.
 */
void farswap_rdma_control_quiesce(struct farswap_rdma_conn *conn)
{
	struct farswap_region *region, *next;
	LIST_HEAD(dead);

	/* A poster that saw the connection alive has posted by now. */
	spin_lock(&conn->lock);
	spin_unlock(&conn->lock);
	farswap_rdma_chan_drain(&conn->control);

	spin_lock(&conn->lock);
	list_splice_init(&conn->releases, &dead);
	farswap_rdma_rpc_quiesce(conn, &dead);
	spin_unlock(&conn->lock);
	list_for_each_entry_safe(region, next, &dead, entry)
		farswap_rdma_region_free(region);
}

/**
 * farswap_rdma_control_answer() - answer a request of the donor
 * @conn:	connection
 * @msg:	the answer
 * @len:	its length
 * @seq:	sequence number of the request
 *
 * Context: process.
 */
void farswap_rdma_control_answer(struct farswap_rdma_conn *conn, void *msg,
				 size_t len, u32 seq)
{
	int err;

	farswap_wire_set_seq(msg, seq);
	spin_lock(&conn->lock);
	err = farswap_rdma_control_send(conn, msg, len);
	spin_unlock(&conn->lock);
	if (err == -EAGAIN)
		farswap_rdma_conn_fail(conn, -EPROTO, "more requests than credits");
	else if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

/**
 * farswap_rdma_control_ping() - send a PING, or retry to send it
 * @conn:	connection; no other PING is in flight
 *
 * The time counts from the first attempt, so that a donor that accepts nothing more is
 * found late too.
 *
 * Context: process.
 */
void farswap_rdma_control_ping(struct farswap_rdma_conn *conn)
{
	struct farswap_hdr msg;
	size_t len = farswap_wire_bare(&msg, FARSWAP_MSG_PING);
	int err;

	spin_lock(&conn->lock);
	if (!conn->ping_out) {
		conn->ping_seq = conn->next_seq++;
		conn->ping_begun = jiffies;
		conn->ping_out = true;
	}
	farswap_wire_set_seq(&msg, conn->ping_seq);
	err = farswap_rdma_control_send(conn, &msg, len);
	conn->ping_unsent = err == -EAGAIN;
	conn->session->nr_requests += !err;
	spin_unlock(&conn->lock);
	if (err && err != -EAGAIN)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

/**
 * farswap_rdma_control_release() - send the pending releases
 * @conn:	connection
 *
 * Context: process; doesn't wait.
 */
void farswap_rdma_control_release(struct farswap_rdma_conn *conn)
{
	int err;

	spin_lock(&conn->lock);
	err = control_send_releases(conn);
	spin_unlock(&conn->lock);
	if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
}

/**
 * farswap_rdma_control_open() - allow I/O and releases
 * @conn:	connection, which is live from now on
 *
 * Context: process; doesn't wait.
 */
void farswap_rdma_control_open(struct farswap_rdma_conn *conn)
{
	spin_lock(&conn->lock);
	/* Orders the set-up of the queues before @open; pairs with farswap_rdma_io_submit(). */
	smp_store_release(&conn->open, true);
	spin_unlock(&conn->lock);
	farswap_rdma_control_release(conn);
}

static bool control_is_flushed(struct farswap_rdma_conn *conn)
{
	bool flushed;

	spin_lock(&conn->lock);
	flushed = farswap_rdma_conn_dead(conn) || !conn->open ||
		  (list_empty(&conn->releases) && conn->nr_sends == conn->send.count);
	spin_unlock(&conn->lock);
	return flushed;
}

/**
 * farswap_rdma_control_flush() - wait until all that was sent is acknowledged
 * @conn:	connection
 *
 * Context: may sleep, a second at most.
 */
void farswap_rdma_control_flush(struct farswap_rdma_conn *conn)
{
	wait_event_timeout(conn->wait, control_is_flushed(conn), HZ);
}
