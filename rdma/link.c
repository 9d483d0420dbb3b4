// SPDX-License-Identifier: GPL-2.0
/*
 * The queue pairs of a connection: one for control and several for data, to one donor.
 */
#include <linux/dma-mapping.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "verbs.h"

#define LINK_DEPTH		256
/* Depth of a queue that has READs only. */
#define LINK_READ_DEPTH		128
/* Depth of a queue that has WRITEs only; it posts fewer than that before it merges. */
#define LINK_WRITE_DEPTH	64

static struct farswap_rdma_conn *link_alloc(unsigned int queues)
{
	struct farswap_rdma_link *link;
	unsigned int i;

	/* Several pages, which need not be contiguous: memory may be fragmented. */
	link = vzalloc(struct_size(link, queue, queues));
	if (!link)
		return NULL;
	INIT_LIST_HEAD(&link->sends);
	link->control.link = link;
	link->nr_chans = queues;
	for (i = 0; i < queues; i++) {
		link->queue[i].chan.link = link;
		link->conn.flow[i] = &link->queue[i].flow;
		farswap_rdma_io_init(&link->queue[i]);
	}
	return &link->conn;
}

static int link_connect_data(struct farswap_rdma_conn *conn, unsigned int nr)
{
	struct farswap_rdma_link *link = to_link(conn);
	struct farswap_rdma_queue *queue = &link->queue[nr];
	unsigned int total = conn->welcome.queues;
	unsigned int nr_loads = farswap_rdma_loads(total);
	bool loads = nr < nr_loads;
	u32 depth = total == 1 ? LINK_DEPTH : loads ? LINK_READ_DEPTH : LINK_WRITE_DEPTH;
	unsigned int vector;
	int err;

	err = farswap_rdma_chan_resolve(&queue->chan);
	if (err)
		return err;
	if (queue->chan.id->device != link->device) {
		strscpy(conn->detail, "is reached through more than one device");
		return -EXDEV;
	}
	/* The drain needs one entry of the queue, and two of the completion queue. */
	depth = min3(depth, (u32)link->device->attrs.max_qp_wr - 1,
		     (u32)link->device->attrs.max_cqe - 2);
	queue->depth = depth;
	queue->max_sges = min(link->device->attrs.max_send_sge, FARSWAP_RDMA_SGES);
	if (loads)
		queue->max_sges = clamp_t(u32, link->device->attrs.max_sge_rd, 1,
					  queue->max_sges);
	vector = farswap_rdma_chan_next_vector(link->device, loads, loads ? nr : nr - nr_loads,
					       loads ? nr_loads : total - nr_loads);
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
					 conn->auth.on ? conn->auth.name : conn->welcome.session,
					 nr);
}

/* The most bytes that can be mapped at once, a multiple of the page size. */
static unsigned int link_map_bytes(struct ib_device *device)
{
	size_t most = SZ_1G;

	if (!ib_uses_virt_dma(device))
		most = min(most, dma_max_mapping_size(device->dma_device));
	return max(round_down(most, PAGE_SIZE), PAGE_SIZE);
}

/* Find the device and connect the control queue pair. */
static int link_connect(struct farswap_rdma_conn *conn)
{
	struct farswap_rdma_link *link = to_link(conn);
	struct farswap_rdma_chan *chan = &link->control;
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
	WRITE_ONCE(link->rxe, device->ops.driver_id == RDMA_DRIVER_RXE);
	link->device = device;
	conn->via = device->name;
	link->map_bytes = link_map_bytes(device);
	link->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(link->pd)) {
		err = PTR_ERR(link->pd);
		link->pd = NULL;
		return err;
	}
	err = farswap_rdma_control_create(link);
	if (err)
		return err;
	return farswap_rdma_chan_connect(chan, FARSWAP_CONNECT_CONTROL,
					 conn->auth.on ? conn->session->name :
					 conn->session->token, 0);
}

static void link_quiesce(struct farswap_rdma_conn *conn)
{
	struct farswap_rdma_link *link = to_link(conn);
	unsigned int i;

	for (i = 0; i < link->nr_chans; i++)
		farswap_rdma_io_flush_backlog(&link->queue[i]);
	for (i = 0; i < link->nr_chans; i++)
		farswap_rdma_chan_stop(&link->queue[i].chan);
	for (i = 0; i < link->nr_chans; i++)
		farswap_rdma_io_end(&link->queue[i]);
	/* A poster that saw the connection alive has posted by now. */
	spin_lock(&conn->lock);
	spin_unlock(&conn->lock);
	farswap_rdma_chan_drain(&link->control);
}

/*
 * The identifiers are destroyed last, because a device stays as long as one is bound to
 * it. Destroying them notifies the donor, so they may outlive the connection: see port.c.
 */
static void link_retire(struct farswap_rdma_conn *conn)
{
	struct farswap_rdma_link *link = to_link(conn);
	unsigned int i;

	/* Submitters that saw the connection alive may still map and unmap for its device. */
	synchronize_rcu();
	for (i = 0; i < link->nr_chans; i++)
		farswap_rdma_chan_destroy_qp(&link->queue[i].chan);
	farswap_rdma_control_destroy(link);
	if (link->pd)
		ib_dealloc_pd(link->pd);
	link->pd = NULL;
	farswap_rdma_port_release(link);
}

/* The functions that the protocol calls. Pages go through farswap_rdma_io_submit(). */
const struct farswap_rdma_link_ops farswap_rdma_link_ops = {
	.alloc		= link_alloc,
	.connect	= link_connect,
	.connect_data	= link_connect_data,
	.probe		= farswap_rdma_probe,
	.send		= farswap_rdma_control_send,
	.quiesce	= link_quiesce,
	.retire		= link_retire,
	.watch		= farswap_rdma_port_watch,
	.unwatch	= farswap_rdma_port_unwatch,
};
