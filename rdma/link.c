// SPDX-License-Identifier: GPL-2.0
/*
 * The queue pairs of a connection: one for control and several for data, to one donor.
 */
#include <linux/dma-mapping.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "internal.h"

#define LINK_DEPTH		256
/* Depth of a queue that has READs only. */
#define LINK_READ_DEPTH		128
/* Depth of a queue that has WRITEs only; it posts fewer than that before it merges. */
#define LINK_WRITE_DEPTH	64

/**
 * farswap_rdma_link_alloc() - allocate a connection
 * @session:	session
 *
 * Context: may sleep; session->work only.
 * Return: the connection, or NULL.
 */
struct farswap_rdma_conn *farswap_rdma_link_alloc(struct farswap_session *session)
{
	struct farswap_rdma_conn *conn;
	unsigned int i;

	/* Several pages, which need not be contiguous: memory may be fragmented. */
	conn = vzalloc(struct_size(conn, queue, session->queues));
	if (!conn)
		return NULL;
	kref_init(&conn->ref);
	conn->session = session;
	conn->attempt = ++session->attempt;
	init_waitqueue_head(&conn->wait);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->sends);
	INIT_LIST_HEAD(&conn->releases);
	hash_init(conn->regions);
	conn->control.conn = conn;
	conn->nr_chans = session->queues;
	for (i = 0; i < session->queues; i++) {
		conn->queue[i].chan.conn = conn;
		farswap_rdma_io_init(&conn->queue[i]);
	}
	return conn;
}

/**
 * farswap_rdma_link_connect_data() - connect a data queue
 * @conn:	connection with a WELCOME
 * @nr:		number of the queue
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int farswap_rdma_link_connect_data(struct farswap_rdma_conn *conn, unsigned int nr)
{
	struct farswap_rdma_queue *queue = &conn->queue[nr];
	unsigned int total = conn->welcome.queues;
	bool loads = nr < farswap_rdma_loads(total);
	u32 depth = total == 1 ? LINK_DEPTH : loads ? LINK_READ_DEPTH : LINK_WRITE_DEPTH;
	unsigned int vector;
	int err;

	err = farswap_rdma_chan_resolve(&queue->chan);
	if (err)
		return err;
	if (queue->chan.id->device != conn->device) {
		strscpy(conn->detail, "is reached through more than one device");
		return -EXDEV;
	}
	/* The drain needs one entry of the queue, and two of the completion queue. */
	depth = min3(depth, (u32)conn->device->attrs.max_qp_wr - 1,
		     (u32)conn->device->attrs.max_cqe - 2);
	queue->depth = depth;
	queue->max_sges = min(conn->device->attrs.max_send_sge, FARSWAP_RDMA_SGES);
	if (loads)
		queue->max_sges = clamp_t(u32, conn->device->attrs.max_sge_rd, 1,
					  queue->max_sges);
	vector = farswap_rdma_chan_next_vector(conn->device, loads);
	err = farswap_rdma_chan_create_qp(&queue->chan, depth, queue->max_sges, 0, vector,
					  IB_POLL_SOFTIRQ);
	if (err && queue->max_sges > 1) {
		/* Some devices support fewer than they report. */
		queue->max_sges = 1;
		err = farswap_rdma_chan_create_qp(&queue->chan, depth, 1, 0, vector,
						  IB_POLL_SOFTIRQ);
	}
	if (err)
		return err;
	return farswap_rdma_chan_connect(&queue->chan, FARSWAP_CONNECT_DATA,
					 conn->welcome.session, nr);
}

/* The most bytes that can be mapped at once, a multiple of the page size. */
static unsigned int link_map_bytes(struct ib_device *device)
{
	size_t most = SZ_1G;

	if (!ib_uses_virt_dma(device))
		most = min(most, dma_max_mapping_size(device->dma_device));
	return max(round_down(most, PAGE_SIZE), PAGE_SIZE);
}

/**
 * farswap_rdma_link_connect() - find the device and connect the control queue pair
 * @conn:	connection
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int farswap_rdma_link_connect(struct farswap_rdma_conn *conn)
{
	struct farswap_rdma_chan *chan = &conn->control;
	struct ib_device *device;
	int err;

	err = farswap_rdma_chan_resolve(chan);
	if (err)
		return err;
	device = chan->id->device;
	if (rdma_protocol_iwarp(device, chan->id->port_num)) {
		snprintf(conn->detail, sizeof(conn->detail),
			 "is reached through %s, an iWARP device, which is not supported",
			 device->name);
		return -EOPNOTSUPP;
	}
	WRITE_ONCE(conn->rxe, device->ops.driver_id == RDMA_DRIVER_RXE);
	conn->device = device;
	conn->map_bytes = link_map_bytes(device);
	conn->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(conn->pd)) {
		err = PTR_ERR(conn->pd);
		conn->pd = NULL;
		return err;
	}
	err = farswap_rdma_control_create(conn);
	if (err)
		return err;
	return farswap_rdma_chan_connect(chan, FARSWAP_CONNECT_CONTROL,
					 conn->session->token, 0);
}

/**
 * farswap_rdma_link_quiesce() - complete everything that a dead connection has in flight
 * @conn:	connection
 *
 * I/O completes first, because a control message may have called the core, and the
 * callback may be waiting for that I/O.
 *
 * Context: process; waits for the device, not for the CM or the donor.
 */
void farswap_rdma_link_quiesce(struct farswap_rdma_conn *conn)
{
	unsigned int i, count = conn->session->queues;

	for (i = 0; i < count; i++)
		farswap_rdma_io_flush_backlog(&conn->queue[i]);
	for (i = 0; i < count; i++)
		farswap_rdma_chan_stop(&conn->queue[i].chan);
	for (i = 0; i < count; i++)
		farswap_rdma_io_end(&conn->queue[i]);
	farswap_rdma_control_quiesce(conn);
	cancel_delayed_work_sync(&conn->tick);
}

/**
 * farswap_rdma_link_retire() - destroy the objects of a quiet connection
 * @conn:	connection
 *
 * The identifiers are destroyed last, because a device stays as long as one is bound to
 * it. Destroying them notifies the donor, so they may outlive the connection: see port.c.
 *
 * Context: may sleep; waits for the CM.
 */
void farswap_rdma_link_retire(struct farswap_rdma_conn *conn)
{
	unsigned int i;

	/* Submitters that saw the connection alive may still map and unmap for its device. */
	synchronize_rcu();
	for (i = 0; i < conn->nr_chans; i++)
		farswap_rdma_chan_destroy_qp(&conn->queue[i].chan);
	farswap_rdma_control_destroy(conn);
	if (conn->pd)
		ib_dealloc_pd(conn->pd);
	conn->pd = NULL;
	farswap_rdma_port_release(conn);
}
