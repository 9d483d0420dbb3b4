/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link over RDMA: queue pairs, the connection manager, page I/O and what becomes of ports.
 * It carries the protocol of protocol/, which calls it by farswap_rdma_link_ops only.
 */
#ifndef FARSWAP_RDMA_VERBS_H
#define FARSWAP_RDMA_VERBS_H

#include <linux/irq_work.h>

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "protocol/protocol.h"

/* Limit of gather entries of one work request. */
#define FARSWAP_RDMA_SGES	32
/* The adapter retransmits an unacknowledged packet this many times. */
#define FARSWAP_RDMA_RETRIES	7
/* Limit for address and for route resolution. */
#define FARSWAP_RDMA_CM_MS	3000

/* Errors can only be injected into a function that is not inlined. */
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
#define farswap_rdma_injectable	noinline
#else
#define farswap_rdma_injectable
#endif

/**
 * enum farswap_rdma_step - progress of a connect request
 * @FARSWAP_RDMA_STEP_NONE:		not started
 * @FARSWAP_RDMA_STEP_ADDR:		address resolved, bound to a device
 * @FARSWAP_RDMA_STEP_ROUTE:		route resolved
 * @FARSWAP_RDMA_STEP_ESTABLISHED:	accepted
 */
enum farswap_rdma_step {
	FARSWAP_RDMA_STEP_NONE,
	FARSWAP_RDMA_STEP_ADDR,
	FARSWAP_RDMA_STEP_ROUTE,
	FARSWAP_RDMA_STEP_ESTABLISHED,
};

/**
 * struct farswap_rdma_drain - the last work request of a queue
 * @cqe:	completion handler
 * @done:	completed when the work request is
 */
struct farswap_rdma_drain {
	struct ib_cqe cqe;
	struct completion done;
};

/**
 * struct farswap_rdma_chan - a queue pair with its CM identifier
 * @link:	link
 * @id:		CM identifier; NULL before it is created
 * @qp:		queue pair; NULL unless it exists
 * @qpn:	its number; also after it was destroyed
 * @cq:		completion queue of sends and receives
 * @notify:	the RDMA core's handler, which schedules the softirq that polls @cq
 * @notify_work: calls @notify from an interrupt
 * @drain:	last work requests of the send queue [0] and of the receive queue [1]
 * @step:	progress of the connect request; written by the CM's handler
 * @connect:	private data of the connect request
 */
struct farswap_rdma_chan {
	struct farswap_rdma_link *link;
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	u32 qpn;
	struct ib_cq *cq;
	void (*notify)(struct ib_cq *cq, void *context);
	struct irq_work notify_work;
	struct farswap_rdma_drain drain[2];
	enum farswap_rdma_step step;
	struct farswap_connect connect;
};

/**
 * struct farswap_rdma_queue - a data queue
 * @chan:	its queue pair
 * @depth:	limit of posted work requests
 * @max_sges:	limit of gather entries of a work request
 * @flow:	counts its I/O; flow.lock protects the fields below
 * @inflight:	posted work requests
 * @bulk:	posted work requests that are not urgent
 * @bulk_bytes:	bytes in those
 * @posted:	first I/O of each posted work request, in the order posted
 * @backlog:	accepted I/Os that are not posted; [1] are urgent and go first. Empty unless
 *		something is posted or the connection is dead
 * @turn:	counts posts while both backlogs have requests: every eighth post takes one that is
 *		not urgent
 * @sges:	gather entries of the work request that is being posted; on the stack they
 *		would be cleared on each call
 *
 * Submission and completion write the fields from @flow on, under one lock. No line has fields of
 * two queues.
 */
struct farswap_rdma_queue {
	struct farswap_rdma_chan chan;
	unsigned int depth;
	unsigned int max_sges;

	struct farswap_rdma_flow flow ____cacheline_aligned_in_smp;
	unsigned int inflight;
	unsigned int bulk;
	unsigned int bulk_bytes;
	struct list_head posted;
	struct list_head backlog[2];
	unsigned int turn;
	struct ib_sge sges[FARSWAP_RDMA_SGES];
};

/**
 * struct farswap_rdma_msg - a buffer of a ring
 * @link:	link
 * @cqe:	completion handler
 * @entry:	in link->sends while unused
 */
struct farswap_rdma_msg {
	struct farswap_rdma_link *link;
	struct ib_cqe cqe;
	struct list_head entry;
};

/**
 * struct farswap_rdma_ring - mapped buffers of FARSWAP_MSG_BYTES
 * @page:	pages of the buffers; the session owns them
 * @dma:	DMA addresses of the pages
 * @nr_mapped:	number of pages that have a DMA address
 * @dir:	DMA direction
 * @count:	number of buffers
 * @msg:	state of each buffer
 */
struct farswap_rdma_ring {
	void **page;
	u64 dma[FARSWAP_RDMA_RING_PAGES];
	unsigned int nr_mapped;
	enum dma_data_direction dir;
	unsigned int count;
	struct farswap_rdma_msg msg[FARSWAP_RDMA_SENDS];
};

/**
 * struct farswap_rdma_link - the queue pairs of a connection
 * @conn:	connection
 * @removed:	its device waits for its identifiers to be destroyed
 * @ifindex:	its network interface; 0 before the address is resolved
 * @parked:	in the list of port.c, when only its identifiers are left
 * @device:	device; NULL before the address is resolved
 * @rxe:	the device is soft RoCE; unlike @device valid after the link is retired
 * @map_bytes:	most bytes that the device can map at once
 * @pd:		protection domain; NULL unless it exists
 * @control:	control queue pair
 * @send:	send buffers
 * @recv:	receive buffers
 * @sends:	unused buffers of @send; conn.lock
 * @soft:	the adapter is software: it completes in a task, not in an interrupt
 * @urgent_at:	when the last READ that a task waits for was submitted, jiffies
 * @nr_chans:	number of entries in @queue
 * @queue:	data queues, as many as the session wants
 */
struct farswap_rdma_link {
	struct farswap_rdma_conn conn;
	bool removed;
	int ifindex;
	struct list_head parked;

	struct ib_device *device;
	bool rxe;
	unsigned int map_bytes;
	struct ib_pd *pd;
	struct farswap_rdma_chan control;
	struct farswap_rdma_ring send;
	struct farswap_rdma_ring recv;
	struct list_head sends;

	bool soft;
	unsigned long urgent_at;
	unsigned int nr_chans;
	struct farswap_rdma_queue queue[];
};

static_assert(offsetof(struct farswap_rdma_link, conn) == 0);

static inline struct farswap_rdma_link *to_link(struct farswap_rdma_conn *conn)
{
	return container_of(conn, struct farswap_rdma_link, conn);
}

/* link.c */
extern const struct farswap_rdma_link_ops farswap_rdma_link_ops;

/* cm.c */
int farswap_rdma_chan_resolve(struct farswap_rdma_chan *chan);
unsigned int farswap_rdma_chan_next_vector(const struct ib_device *device, bool loads,
					   unsigned int nth, unsigned int nr);
int farswap_rdma_chan_create_qp(struct farswap_rdma_chan *chan, u32 max_sends,
				u32 max_sges, u32 max_recvs, unsigned int vector,
				enum ib_poll_context poll);
int farswap_rdma_chan_connect(struct farswap_rdma_chan *chan, u16 kind, u64 session,
			      u16 number);
void farswap_rdma_chan_stop(struct farswap_rdma_chan *chan);
void farswap_rdma_chan_drain(struct farswap_rdma_chan *chan);
void farswap_rdma_chan_destroy_qp(struct farswap_rdma_chan *chan);

/* port.c */
int farswap_rdma_port_init(void);
void farswap_rdma_port_exit(void);
bool farswap_rdma_port_is_ready(const struct rdma_cm_id *id);
bool farswap_rdma_port_is_lost(const struct rdma_cm_id *id);
void farswap_rdma_port_release(struct farswap_rdma_link *link);
void farswap_rdma_port_removed(struct farswap_rdma_link *link);
void farswap_rdma_port_watch(struct farswap_session *session);
void farswap_rdma_port_unwatch(struct farswap_session *session);

/* control.c */
int farswap_rdma_control_create(struct farswap_rdma_link *link);
void farswap_rdma_control_destroy(struct farswap_rdma_link *link);
int farswap_rdma_control_send(struct farswap_rdma_conn *conn, const void *msg, size_t len);

/* probe.c */
int farswap_rdma_probe(struct farswap_rdma_conn *conn);

/* io.c */
void farswap_rdma_io_prepare(void);
void farswap_rdma_io_init(struct farswap_rdma_queue *queue);
int farswap_rdma_io_submit(struct farswap_io *io);
void farswap_rdma_io_flush_backlog(struct farswap_rdma_queue *queue);
void farswap_rdma_io_end(struct farswap_rdma_queue *queue);

#endif /* FARSWAP_RDMA_VERBS_H */
