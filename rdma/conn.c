// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: one control and several data queue pairs to one donor. It is made once
 * and dies once, in three steps that must come in this order:
 *
 *	fail	any context: nothing more is posted, every region is dead
 *	quiesce	process: all that was posted has completed; waits for the device only
 *	retire	process: destroys what needs the CM
 *
 * The last region's reference frees the memory.
 */
#include <linux/dma-mapping.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <trace/events/farswap_rdma.h>

#include "internal.h"

#define CONN_DEPTH		256
/* Depth of a queue that has READs only. */
#define CONN_READ_DEPTH		128
/* Depth of a queue that has WRITEs only; it posts fewer than that before it merges. */
#define CONN_WRITE_DEPTH	64

/**
 * farswap_rdma_conn_alloc() - allocate a connection
 * @session:	session
 *
 * Context: may sleep; session->work only.
 * Return: the connection, or NULL.
 */
struct farswap_rdma_conn *farswap_rdma_conn_alloc(struct farswap_session *session)
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
	INIT_WORK(&conn->fail_work, farswap_rdma_session_fail_work);
	INIT_DELAYED_WORK(&conn->tick, farswap_rdma_keepalive_tick);
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

static void conn_free(struct kref *ref)
{
	struct farswap_rdma_conn *conn = container_of(ref, struct farswap_rdma_conn,
						      ref);

	WARN_ON_ONCE(conn->pd || conn->control.id);
	/* A task may still be submitting to a region that has moved to another connection. */
	kvfree_rcu(conn, rcu);
}

/**
 * farswap_rdma_conn_put() - drop a reference
 * @conn:	connection
 *
 * Context: any.
 */
void farswap_rdma_conn_put(struct farswap_rdma_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}

/**
 * farswap_rdma_conn_fail() - mark the connection dead, and with it its regions
 * @conn:	connection
 * @error:	-errno
 * @why:	@error in words; static
 *
 * This is the only way for a connection to die. The first caller's reason is kept.
 *
 * Context: any.
 */
void farswap_rdma_conn_fail(struct farswap_rdma_conn *conn, int error,
			    const char *why)
{
	if (cmpxchg(&conn->error, 0, error))
		return;
	WRITE_ONCE(conn->why, why);
	trace_farswap_rdma_session_error(conn->session->address, error, why);
	wake_up_all(&conn->wait);
	farswap_rdma_session_failed(conn);
}

/* Put the donor's refusal into words that an administrator can act on. */
static int conn_refusal(struct farswap_rdma_conn *conn, u32 status, u16 version)
{
	u64 ours = conn->session->slab_bytes >> 20;
	u64 theirs = conn->welcome.slab_bytes >> 20;

	if (version && version != FARSWAP_VERSION) {
		snprintf(conn->detail, sizeof(conn->detail),
			 "speaks version %u of the protocol, this module version %u",
			 version, FARSWAP_VERSION);
		conn->regions_gone = true;
		return -EOPNOTSUPP;
	}
	if (status == FARSWAP_STATUS_SELF) {
		strscpy(conn->detail, farswap_wire_status_name(status));
		return farswap_wire_status_errno(status);
	}
	if (theirs && theirs != ours) {
		snprintf(conn->detail, sizeof(conn->detail),
			 "lends slabs of %llu MiB, slab_mb here is %llu",
			 theirs, ours);
		conn->regions_gone = true;
		return -EINVAL;
	}
	conn->regions_gone = status == FARSWAP_STATUS_LEAVING;
	snprintf(conn->detail, sizeof(conn->detail), "refused the connection: %s",
		 farswap_wire_status_name(status));
	return farswap_wire_status_errno(status) ?: -EPROTO;
}

static int conn_refused(struct farswap_rdma_conn *conn, u32 status, u16 version)
{
	conn->refused = conn_refusal(conn, status, version);
	return conn->refused;
}

static int conn_hello(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	struct farswap_wire_welcome *welcome = &conn->welcome;
	struct farswap_wire_greeting ours = {
		.node		= session->node,
		.instance	= session->instance,
		.slab_bytes	= session->slab_bytes,
		.queues		= session->queues,
	};
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
	struct farswap_hello hello;
	size_t len;
	int err;

	farswap_rdma_resume_hello(session, &ours);
	len = farswap_wire_hello(&hello, &ours);
	err = farswap_rdma_rpc_call(conn, &hello, len, FARSWAP_MSG_WELCOME, NULL,
				    answer, 2 * FARSWAP_RDMA_RPC_MS);
	if (err == -ETIMEDOUT)
		strscpy(conn->detail, "doesn't answer HELLO");
	if (err)
		return err;
	farswap_wire_read_welcome(answer, welcome);
	if (welcome->status != FARSWAP_STATUS_OK ||
	    welcome->slab_bytes != session->slab_bytes)
		return conn_refused(conn, welcome->status, 0);
	if (welcome->queues > session->queues) {
		strscpy(conn->detail, "offers more queues than requested");
		return -EPROTO;
	}
	return farswap_rdma_resume_claim(conn, ours.resume);
}

/*
 * Spread the completions of all sessions over the interrupts. READs, which tasks wait for, are
 * counted apart from the others, so that they use all vectors evenly.
 */
static atomic_t conn_vectors[2];

static unsigned int conn_next_vector(bool loads, int nr)
{
	return (u32)(atomic_inc_return(&conn_vectors[loads]) - 1) % max(nr, 1);
}

/**
 * farswap_rdma_conn_next_vector() - completion vector of the next queue
 * @device:	its device
 * @loads:	the queue has READs only
 *
 * Context: any.
 * Return: the vector.
 */
unsigned int farswap_rdma_conn_next_vector(const struct ib_device *device, bool loads)
{
	return conn_next_vector(loads, min_t(int, device->num_comp_vectors, num_online_cpus()));
}

static int conn_connect_data(struct farswap_rdma_conn *conn, unsigned int nr)
{
	struct farswap_rdma_queue *queue = &conn->queue[nr];
	unsigned int total = conn->welcome.queues;
	bool loads = nr < farswap_rdma_loads(total);
	u32 depth = total == 1 ? CONN_DEPTH : loads ? CONN_READ_DEPTH : CONN_WRITE_DEPTH;
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
	vector = farswap_rdma_conn_next_vector(conn->device, loads);
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
static unsigned int conn_map_bytes(struct ib_device *device)
{
	size_t most = SZ_1G;

	if (!ib_uses_virt_dma(device))
		most = min(most, dma_max_mapping_size(device->dma_device));
	return max(round_down(most, PAGE_SIZE), PAGE_SIZE);
}

static int conn_connect_control(struct farswap_rdma_conn *conn)
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
	conn->device = device;
	conn->map_bytes = conn_map_bytes(device);
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
 * farswap_rdma_conn_connect() - connect all queues and greet the donor
 * @conn:	connection
 *
 * After a failure the caller quiesces and retires what exists.
 *
 * Context: may sleep, a few seconds a step.
 * Return: 0 or -errno.
 */
int farswap_rdma_conn_connect(struct farswap_rdma_conn *conn)
{
	unsigned int i;
	int err;

	err = conn_connect_control(conn);
	if (!err)
		err = conn_hello(conn);
	for (i = 0; !err && i < conn->welcome.queues; i++)
		err = conn_connect_data(conn, i);
	conn->nr_queues = conn->welcome.queues;
	if (!err)
		err = farswap_rdma_probe(conn);
	if (err) {
		if (err == -ECONNREFUSED && conn->refusal.version)
			err = conn_refused(conn, conn->refusal.status,
					   conn->refusal.version);
		else if (err == -ECONNREFUSED && !conn->detail[0])
			snprintf(conn->detail, sizeof(conn->detail),
				 "no farswapd at this address: %s",
				 READ_ONCE(conn->why) ?: "rejected");
		return err;
	}
	farswap_rdma_keepalive_start(conn);
	return 0;
}

/**
 * farswap_rdma_conn_quiesce() - complete everything that a dead connection has in flight
 * @conn:	connection
 *
 * I/O completes first, because a control message may have called the core, and the
 * callback may be waiting for that I/O.
 *
 * Context: process; waits for the device, not for the CM or the donor.
 */
void farswap_rdma_conn_quiesce(struct farswap_rdma_conn *conn)
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
 * farswap_rdma_conn_retire() - destroy the objects of a quiet connection
 * @conn:	connection
 *
 * The identifiers are destroyed last, because a device stays as long as one is bound to
 * it. Destroying them notifies the donor, so they may outlive the connection: see port.c.
 *
 * Context: may sleep; waits for the CM.
 */
void farswap_rdma_conn_retire(struct farswap_rdma_conn *conn)
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

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/conn-kunit.h"
#endif
