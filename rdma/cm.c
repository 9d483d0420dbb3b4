// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs and the CM. The CM's handler only records what happened: the task that
 * connects waits for that, and a connection that breaks later is failed. The handler
 * never sleeps, maps, destroys or returns non-zero, which would destroy the identifier.
 */
#include <linux/compiler.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "verbs.h"

/* A dead queue pair's work requests complete much sooner, unless callbacks are running. */
#define CHAN_DRAIN_MS	200
/* An adapter's timeout is a power of two of this. The useful powers are 17 ms to 2 s. */
#define CHAN_ACK_NS	4096
#define CHAN_ACK_LEAST	12
/* A factor of four, as a power of two. */
#define CHAN_ACK_SLOWER	2
#define CHAN_ACK_MOST	19

static void cm_advance(struct farswap_rdma_chan *chan, enum farswap_rdma_step step)
{
	/* Orders the results of the step before @step; pairs with the acquire in chan_reached(). */
	smp_store_release(&chan->step, step);
	wake_up_all(&chan->link->conn.wait);
}

static void cm_copy_address(u8 *to, const struct sockaddr *address)
{
	struct in6_addr in6 = {};

	if (address->sa_family == AF_INET6)
		in6 = ((const struct sockaddr_in6 *)address)->sin6_addr;
	else if (address->sa_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)address)->sin_addr.s_addr,
				       &in6);
	memcpy(to, &in6, sizeof(in6));
}

/* Return NULL, or what is wrong with the private data of the accept. */
static const char *cm_check_accept(struct farswap_rdma_chan *chan,
				   const struct rdma_conn_param *param)
{
	const struct rdma_addr *addr = &chan->id->route.addr;
	struct farswap_auth_path path = {
		/* The queue pair may be gone: the accept can come while a timeout ends the link. */
		.client_qpn = chan->qpn,
		.donor_qpn = param->qp_num,
	};

	cm_copy_address(path.client_address, (const struct sockaddr *)&addr->src_addr);
	cm_copy_address(path.donor_address, (const struct sockaddr *)&addr->dst_addr);
	return farswap_auth_accepted(&chan->link->conn.auth, &chan->connect,
				     param->private_data, &path);
}

static void cm_established(struct farswap_rdma_chan *chan,
			   const struct rdma_conn_param *param)
{
	struct farswap_rdma_conn *conn = &chan->link->conn;
	struct farswap_wire_answer answer = {};
	const char *wrong;

	if (farswap_wire_check_accept(param->private_data,
				      param->private_data_len, &answer) ||
	    answer.version != FARSWAP_VERSION ||
	    answer.status != FARSWAP_STATUS_OK) {
		farswap_rdma_conn_fail(conn, -EPROTO, "invalid private data in the accept");
		return;
	}
	wrong = cm_check_accept(chan, param);
	if (wrong)
		farswap_rdma_conn_fail(conn, -EPROTO, wrong);
	else
		cm_advance(chan, FARSWAP_RDMA_STEP_ESTABLISHED);
}

static const char cm_no_device[] = "no RDMA device for this address";

static void cm_rejected(struct farswap_rdma_chan *chan, struct rdma_cm_event *event)
{
	struct farswap_rdma_conn *conn = &chan->link->conn;
	struct farswap_wire_answer answer = {};
	const void *data;
	u8 len;

	data = rdma_consumer_reject_data(chan->id, event, &len);
	if (data && !farswap_wire_check_accept(data, len, &answer))
		conn->refusal = answer;
	/* No program listens on that port. */
	if (event->status == IB_CM_REJ_INVALID_SERVICE_ID)
		conn->regions_gone = true;
	farswap_rdma_conn_fail(conn, -ECONNREFUSED,
			       rdma_reject_msg(chan->id, event->status));
}

static int cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct farswap_rdma_chan *chan = id->context;
	struct farswap_rdma_conn *conn = &chan->link->conn;
	const char *why = rdma_event_msg(event->event);

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		cm_advance(chan, FARSWAP_RDMA_STEP_ADDR);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		cm_advance(chan, FARSWAP_RDMA_STEP_ROUTE);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		cm_established(chan, &event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		cm_rejected(chan, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		/* The neighbour was found, and no device has the interface to it. */
		if (event->status == -ENODEV)
			why = cm_no_device;
		fallthrough;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		farswap_rdma_conn_fail(conn, -EHOSTUNREACH, why);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		farswap_rdma_conn_fail(conn, -ETIMEDOUT, why);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		farswap_rdma_conn_fail(conn, -ENODEV, why);
		farswap_rdma_port_removed(chan->link);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		farswap_rdma_conn_fail(conn, -ECONNRESET, why);
		break;
	}
	return 0;
}

static void cm_qp_event(struct ib_event *event, void *context)
{
	struct farswap_rdma_chan *chan = context;

	switch (event->event) {
	/*
	 * The donor tried to access memory of this machine, which it never may. bnxt_re and irdma
	 * also raise these events when the donor refused or did not answer a request of ours; the
	 * completion that says so may come later.
	 */
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_QP_FATAL:
		farswap_rdma_conn_fail(&chan->link->conn, -EIO, ib_event_msg(event->event));
		break;
	default:
		break;
	}
}

static bool chan_reached(const struct farswap_rdma_chan *chan,
			 enum farswap_rdma_step step)
{
	/* Pairs with the release in cm_advance(). */
	return smp_load_acquire(&chan->step) >= step;
}

static int chan_wait(struct farswap_rdma_chan *chan, enum farswap_rdma_step step)
{
	struct farswap_rdma_conn *conn = &chan->link->conn;
	bool accept = step == FARSWAP_RDMA_STEP_ESTABLISHED;
	unsigned int ms = accept ? conn->session->accept_ms : FARSWAP_RDMA_CM_MS;

	wait_event_timeout(conn->wait,
			   chan_reached(chan, step) || READ_ONCE(conn->error) ||
			   (accept && farswap_rdma_port_is_lost(chan->id)),
			   msecs_to_jiffies(ms));
	if (READ_ONCE(conn->error))
		return conn->error;
	if (chan_reached(chan, step))
		return 0;
	strscpy(conn->detail, accept ? "doesn't answer" : "can't be resolved in time");
	return -ETIMEDOUT;
}

/*
 * The adapter's retransmission timeout, the exponent of &struct ib_qp_attr.timeout: 4.096 us times
 * a power of two. It is chosen so that all retransmissions are over within io_timeout_ms. Adapters
 * may wait up to four times the configured time, and many do, unless they are @exact.
 */
static u8 chan_ack_timeout(unsigned int io_timeout_ms, bool exact)
{
	u64 ns = (u64)io_timeout_ms * NSEC_PER_MSEC;
	int power = fls64(ns / (FARSWAP_RDMA_RETRIES + 1) / CHAN_ACK_NS);

	if (!exact)
		power -= CHAN_ACK_SLOWER;
	return clamp(power, CHAN_ACK_LEAST, CHAN_ACK_MOST);
}

/**
 * farswap_rdma_chan_resolve() - find the device that reaches the donor
 * @chan:	channel without an identifier or a queue pair
 *
 * On success chan->id is bound to a device.
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int farswap_rdma_chan_resolve(struct farswap_rdma_chan *chan)
{
	struct farswap_rdma_link *link = chan->link;
	struct farswap_rdma_conn *conn = &link->conn;
	struct sockaddr_storage sockaddr;
	struct rdma_cm_id *id;
	int err;

	/* Parsed each time: an interface that returns under its name has another index. */
	err = farswap_address_parse(conn->session->address, &sockaddr);
	if (err) {
		strscpy(conn->detail, "no such network interface");
		return err;
	}
	id = rdma_create_id(&init_net, cm_handler, chan, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	chan->id = id;
	err = rdma_resolve_addr(id, NULL, (struct sockaddr *)&sockaddr, FARSWAP_RDMA_CM_MS);
	if (err) {
		strscpy(conn->detail, cm_no_device);
		return err;
	}
	err = chan_wait(chan, FARSWAP_RDMA_STEP_ADDR);
	if (err)
		return err;
	WRITE_ONCE(link->ifindex, id->route.addr.dev_addr.bound_dev_if);
	/* The CM's default is a second for many adapters, which is longer than an I/O may take. */
	if (chan != &link->control)
		rdma_set_ack_timeout(id, chan_ack_timeout(farswap_rdma_keepalive_io_ms(),
							  link->rxe));
	return 0;
}

static void chan_notify(struct irq_work *work)
{
	struct farswap_rdma_chan *chan = container_of(work, struct farswap_rdma_chan, notify_work);

	chan->notify(chan->cq, chan);
}

/*
 * A software adapter completes in a work item, with interrupts off. There the softirq that polls
 * would run in ksoftirqd, one more task switch for each page. Raised from an interrupt it runs
 * when the interrupt ends. Real adapters complete in a softirq or an interrupt.
 */
static void chan_completed(struct ib_cq *cq, void *context)
{
	struct farswap_rdma_chan *chan = context;

	if (!in_interrupt() && !READ_ONCE(chan->link->soft))
		WRITE_ONCE(chan->link->soft, true);
	if (!in_interrupt() && arch_irq_work_has_interrupt() && !IS_ENABLED(CONFIG_PREEMPT_RT))
		irq_work_queue(&chan->notify_work);
	else
		chan->notify(cq, context);
}

/*
 * CPU c submits to the queue c % nr of its kind. The completions of a queue go to the vector with
 * the number of one of the CPUs that submit to it, because most drivers have that vector's
 * interrupt on that CPU. Several sessions take different ones, so that all interrupts are used
 * evenly. READs, which tasks wait for, are counted apart from the others.
 */
static atomic_t chan_vectors[2];

static unsigned int chan_next_vector(bool loads, unsigned int nth, unsigned int nr, int vectors)
{
	unsigned int turn = (u32)(atomic_inc_return(&chan_vectors[loads]) - 1) / nr;

	vectors = max(vectors, 1);
	if (nth >= vectors)
		return (nth + turn) % vectors;
	return nth + turn % DIV_ROUND_UP(vectors - nth, nr) * nr;
}

/**
 * farswap_rdma_chan_next_vector() - completion vector of the next queue
 * @device:	its device
 * @loads:	the queue has READs only
 * @nth:	its index among the queues of its kind
 * @nr:		number of queues of its kind
 *
 * Context: any.
 * Return: the vector.
 */
unsigned int farswap_rdma_chan_next_vector(const struct ib_device *device, bool loads,
					   unsigned int nth, unsigned int nr)
{
	return chan_next_vector(loads, nth, nr,
				min_t(int, device->num_comp_vectors, num_online_cpus()));
}

/**
 * farswap_rdma_chan_create_qp() - create the queue pair and its completion queue
 * @chan:	bound to a device
 * @max_sends:	limit of posted sends, without the drain's
 * @max_sges:	limit of gather entries of a send
 * @max_recvs:	limit of posted receives, without the drain's
 * @vector:	completion vector, any number
 * @poll:	context of completions
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int farswap_rdma_chan_create_qp(struct farswap_rdma_chan *chan, u32 max_sends,
				u32 max_sges, u32 max_recvs, unsigned int vector,
				enum ib_poll_context poll)
{
	struct ib_device *device = chan->link->device;
	struct ib_qp_init_attr attr = {
		.event_handler = cm_qp_event,
		.qp_context = chan,
		.cap.max_send_wr = max_sends + 1,	/* one for the drain */
		.cap.max_recv_wr = max_recvs + 1,
		.cap.max_send_sge = max_sges,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_cq *cq;
	int err;

	cq = ib_alloc_cq(device, chan, attr.cap.max_send_wr + attr.cap.max_recv_wr,
			 vector % device->num_comp_vectors, poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	chan->cq = cq;
	init_irq_work(&chan->notify_work, chan_notify);
	/* Nothing completes before the queue pair exists. */
	if (poll == IB_POLL_SOFTIRQ) {
		chan->notify = cq->comp_handler;
		cq->comp_handler = chan_completed;
	}
	attr.send_cq = cq;
	attr.recv_cq = cq;
	err = rdma_create_qp(chan->id, chan->link->pd, &attr);
	if (err) {
		chan->cq = NULL;
		ib_free_cq(cq);
		return err;
	}
	chan->qp = chan->id->qp;
	chan->qpn = chan->qp->qp_num;
	return 0;
}

/**
 * farswap_rdma_chan_connect() - connect the queue pair
 * @chan:	channel with its queue pair
 * @kind:	FARSWAP_CONNECT_*
 * @session:	for data, the session of the queue; for control, the session to resume, or 0
 * @number:	number of the queue
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int farswap_rdma_chan_connect(struct farswap_rdma_chan *chan, u16 kind, u64 session,
			      u16 number)
{
	const struct ib_device_attr *attrs = &chan->link->device->attrs;
	struct farswap_rdma_conn *conn = &chan->link->conn;
	struct ib_qp_attr no_access = {};
	struct rdma_conn_param param = {
		.private_data = &chan->connect,
		.responder_resources = min(attrs->max_qp_rd_atom, U8_MAX),
		.initiator_depth = min(attrs->max_qp_init_rd_atom, U8_MAX),
		.flow_control = 1,
		.retry_count = FARSWAP_RDMA_RETRIES,
		.rnr_retry_count = 7,	/* forever */
	};
	int err;

	param.private_data_len = farswap_wire_connect(&chan->connect, kind, session, number,
						      conn->attempt);
	err = farswap_auth_connect(&conn->auth, &chan->connect, chan->qp->qp_num);
	if (err) {
		strscpy(conn->detail, "has an unusable key");
		return err;
	}
	err = rdma_resolve_route(chan->id, FARSWAP_RDMA_CM_MS);
	if (!err)
		err = chan_wait(chan, FARSWAP_RDMA_STEP_ROUTE);
	if (!err && !farswap_rdma_port_is_ready(chan->id)) {
		snprintf(conn->detail, sizeof(conn->detail),
			 "is reached through %s, whose port is down", chan->id->device->name);
		err = -ENETDOWN;
	}
	if (!err)
		err = rdma_connect(chan->id, &param);
	if (!err)
		err = chan_wait(chan, FARSWAP_RDMA_STEP_ESTABLISHED);
	/* By default the CM lets the other side read and write. A donor never does. */
	if (!err)
		err = ib_modify_qp(chan->qp, &no_access, IB_QP_ACCESS_FLAGS);
	return err;
}

/**
 * farswap_rdma_chan_stop() - put the queue pair into the error state
 * @chan:	channel, with or without a queue pair
 *
 * Context: may sleep; doesn't wait for the donor.
 */
void farswap_rdma_chan_stop(struct farswap_rdma_chan *chan)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (chan->qp)
		ib_modify_qp(chan->qp, &attr, IB_QP_STATE);
}

/**
 * farswap_rdma_chan_destroy_qp() - undo farswap_rdma_chan_create_qp()
 * @chan:	dead channel; may be called twice
 *
 * On return no completion is being handled.
 *
 * Context: may sleep.
 */
void farswap_rdma_chan_destroy_qp(struct farswap_rdma_chan *chan)
{
	if (!chan->qp)
		return;
	rdma_destroy_qp(chan->id);
	chan->qp = NULL;
	if (chan->notify) {
		/* Adapters may call the handler as long as the completion queue exists. */
		WRITE_ONCE(chan->cq->comp_handler, chan->notify);
		irq_work_sync(&chan->notify_work);
	}
	ib_free_cq(chan->cq);
	chan->cq = NULL;
}

static void chan_drained(struct ib_cq *cq, struct ib_wc *wc)
{
	struct farswap_rdma_drain *drain = container_of(wc->wr_cqe, struct farswap_rdma_drain, cqe);

	complete(&drain->done);
}

static void chan_drain_begin(struct farswap_rdma_drain *drain)
{
	drain->cqe.done = chan_drained;
	init_completion(&drain->done);
}

/**
 * farswap_rdma_chan_drain() - wait for what was posted, or destroy the queue pair
 * @chan:	dead channel, with or without a queue pair
 *
 * Like ib_drain_qp(), but bounded: an adapter that loses completions loses those of a
 * drain too. On return no completion is being handled, nor will any be.
 *
 * Context: may sleep; waits for the device only.
 */
void farswap_rdma_chan_drain(struct farswap_rdma_chan *chan)
{
	struct ib_rdma_wr send = {
		.wr.wr_cqe = &chan->drain[0].cqe,
		.wr.opcode = IB_WR_RDMA_WRITE,
	};
	struct ib_recv_wr recv = { .wr_cqe = &chan->drain[1].cqe };
	unsigned long left = msecs_to_jiffies(CHAN_DRAIN_MS);

	if (!chan->qp)
		return;
	chan_drain_begin(&chan->drain[0]);
	chan_drain_begin(&chan->drain[1]);
	farswap_rdma_chan_stop(chan);
	if (!ib_post_send(chan->qp, &send.wr, NULL) && !ib_post_recv(chan->qp, &recv, NULL)) {
		left = wait_for_completion_timeout(&chan->drain[0].done, left);
		if (left && wait_for_completion_timeout(&chan->drain[1].done, left))
			return;
	}
	farswap_rdma_chan_destroy_qp(chan);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/cm-kunit.h"
#endif
