/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is below farswapd, without a device: verbs, the connection manager, the event loop with a
 * clock of its own, and the worker. It keeps count of all objects, and refuses what a device
 * refuses: to free a domain that is in use, for one.
 */
#ifndef MOCK_H
#define MOCK_H

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>

#include "link.h"
#include "log.h"
#include "loop.h"
#include "reclaim.h"
#include "region.h"
#include "session.h"
#include "worker.h"

#include "fuzz.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define MOCK_REGIONS	24
#define MOCK_WCS	1024
#define MOCK_RECVS	256
#define MOCK_REMOTE	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/* The next call of each kind fails. */
static struct {
	bool reg, send, qp, dereg, destroy;
} mock_fails;
/* Objects that the device would not destroy may remain. */
static bool mock_leaks;

/* The event loop. */

static uint64_t mock_ns = 1000000000;
static struct list mock_timers = { &mock_timers, &mock_timers };
static struct list mock_works = { &mock_works, &mock_works };
static struct list mock_jobs = { &mock_jobs, &mock_jobs };
static struct loop_fd *mock_fds[1024];
static unsigned int mock_nr_fds;

uint64_t loop_now_ns(void)
{
	return mock_ns;
}

uint64_t loop_now_ms(void)
{
	return mock_ns / 1000000;
}

int loop_fd_add(struct loop_fd *lf, int fd, uint32_t events, void (*fn)(void *, uint32_t),
		void *arg)
{
	(void)events;
	lf->fd = fd;
	lf->fn = fn;
	lf->arg = arg;
	FUZZ_CHECK(mock_nr_fds < sizeof(mock_fds) / sizeof(mock_fds[0]));
	mock_fds[mock_nr_fds++] = lf;
	return 0;
}

void loop_fd_del(struct loop_fd *lf)
{
	unsigned int i;

	if (lf->fd < 0)
		return;
	lf->fd = -1;
	for (i = 0; i < mock_nr_fds && mock_fds[i] != lf; i++)
		;
	FUZZ_CHECK(i < mock_nr_fds);
	mock_fds[i] = mock_fds[--mock_nr_fds];
}

void loop_timer_init(struct loop_timer *timer, void (*fn)(void *), void *arg)
{
	list_init(&timer->link);
	timer->fn = fn;
	timer->arg = arg;
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	struct list *pos;

	list_del(&timer->link);
	timer->at_ms = loop_now_ms() + ms;
	for (pos = mock_timers.prev; pos != &mock_timers; pos = pos->prev)
		if (container_of(pos, struct loop_timer, link)->at_ms <= timer->at_ms)
			break;
	list_add(&timer->link, pos);
}

void loop_timer_stop(struct loop_timer *timer)
{
	list_del(&timer->link);
}

void loop_work_init(struct loop_work *work, void (*fn)(void *), void *arg)
{
	list_init(&work->link);
	work->fn = fn;
	work->arg = arg;
}

void loop_work_queue(struct loop_work *work)
{
	if (list_empty(&work->link))
		list_add_tail(&work->link, &mock_works);
}

void loop_work_cancel(struct loop_work *work)
{
	list_del(&work->link);
}

void worker_queue(struct worker_job *job)
{
	list_add_tail(&job->link, &mock_jobs);
}

void worker_queue_urgent(struct worker_job *job)
{
	list_add(&job->link, &mock_jobs);
}

/* Move the entries of @from to the empty list @to. */
static void mock_take(struct list *from, struct list *to)
{
	list_init(to);
	if (list_empty(from))
		return;
	list_add_tail(to, from);
	list_del(from);
}

/* A turn of the loop, and at times of the worker. */
static void mock_turn(void)
{
	struct loop_fd *ready[sizeof(mock_fds) / sizeof(mock_fds[0])];
	unsigned int i, j, n = mock_nr_fds;
	struct worker_job *job;
	struct loop_timer *timer;
	struct loop_work *work;
	struct list batch;

	memcpy(ready, mock_fds, n * sizeof(ready[0]));
	for (i = 0; i < n; i++) {
		for (j = 0; j < mock_nr_fds && mock_fds[j] != ready[i]; j++)
			;
		if (j < mock_nr_fds)
			ready[i]->fn(ready[i]->arg, 1);
	}
	for (n = 0; n < 1000; n++) {
		timer = list_first(&mock_timers, struct loop_timer, link);
		if (!timer || timer->at_ms > loop_now_ms())
			break;
		list_del(&timer->link);
		timer->fn(timer->arg);
	}
	FUZZ_CHECK(n < 1000);
	mock_take(&mock_works, &batch);
	while ((work = list_first(&batch, struct loop_work, link))) {
		list_del(&work->link);
		work->fn(work->arg);
	}
	for (n = fuzz_below(4); n && (job = list_first(&mock_jobs, struct worker_job, link)); n--) {
		list_del(&job->link);
		job->run(job);
		job->done(job);
	}
}

/* The rest of the daemon. */

void log_print(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

void log_peer(const char *peer, const char *fmt, ...)
{
	va_list ap;

	if (!getenv("FUZZ_LOG"))
		return;
	fprintf(stderr, "%s: ", peer);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void reclaim_drain(bool drained)
{
	region_set_limit(drained ? 0 : MOCK_REGIONS);
	message_kick_pool();
}

uint64_t meminfo_number(const char *path, int base)
{
	(void)path;
	(void)base;
	return 0x5e1f;	/* the instance of this machine's own module */
}

struct meminfo meminfo_now(void)
{
	return (struct meminfo){ .available = UINT64_MAX };
}

void link_init(void)
{
}

bool link_is_up(struct rdma_cm_id *id)
{
	(void)id;
	return true;
}

void link_destroy_id(struct rdma_cm_id *id)
{
	rdma_destroy_id(id);
}

unsigned int link_waiting(void)
{
	return 0;
}

/* Verbs. */

struct mock_cq {
	struct ibv_cq cq;
	struct mock_channel *channel;
	struct ibv_wc wc[MOCK_WCS];
	unsigned int nr;
	bool armed, event;
};

struct mock_channel {
	struct ibv_comp_channel channel;
	struct mock_cq *cq;
};

struct mock_qp {
	struct ibv_qp qp;
	struct mock_qp *next;
	struct ibv_pd *pd;
	struct mock_cq *cq;
	int access;
	struct { uint64_t id; struct ibv_sge sge; } recv[MOCK_RECVS];
	unsigned int nr_recvs;
	uint64_t sent[MOCK_RECVS];
	unsigned int nr_sent;
};

struct mock_mr {
	struct ibv_mr mr;
	struct mock_mr *next;
	uint64_t iova;
	int access;
};

static struct mock_qp *mock_qps;
static struct mock_mr *mock_mrs;
static unsigned int mock_nr_pds, mock_nr_cqs, mock_nr_channels, mock_nr_qps;
static uint32_t mock_next_key = 0x100, mock_next_qpn = 0x200;
static struct ibv_context mock_context;
static struct ibv_device mock_device = { .dev_path = "/" };
static struct ibv_async_event mock_async;
static bool mock_has_async;

/* Called with each message to a client. */
static void mock_sent(struct mock_qp *qp, void *msg, size_t len);

static void mock_complete(struct mock_cq *cq, const struct ibv_wc *wc)
{
	FUZZ_CHECK(cq->nr < MOCK_WCS);
	cq->wc[cq->nr++] = *wc;
	cq->event |= cq->armed;
	cq->armed = false;
}

static int mock_poll_cq(struct ibv_cq *of, int n, struct ibv_wc *wc)
{
	struct mock_cq *cq = (struct mock_cq *)of;
	unsigned int got = (unsigned int)n < cq->nr ? (unsigned int)n : cq->nr;

	memcpy(wc, cq->wc, got * sizeof(*wc));
	cq->nr -= got;
	memmove(cq->wc, cq->wc + got, cq->nr * sizeof(*wc));
	return got;
}

static int mock_req_notify_cq(struct ibv_cq *of, int solicited)
{
	(void)solicited;
	((struct mock_cq *)of)->armed = true;
	return 0;
}

static int mock_post_send(struct ibv_qp *of, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct mock_qp *qp = (struct mock_qp *)of;

	(void)bad;
	if (mock_fails.send) {
		mock_fails.send = false;
		return ENOMEM;
	}
	FUZZ_CHECK(wr->num_sge == 1 && wr->sg_list->length <= FARSWAP_MSG_BYTES);
	FUZZ_CHECK(qp->nr_sent < SESSION_SENDS);
	qp->sent[qp->nr_sent++] = wr->wr_id;
	mock_sent(qp, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	return 0;
}

static int mock_post_recv(struct ibv_qp *of, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mock_qp *qp = (struct mock_qp *)of;

	(void)bad;
	FUZZ_CHECK(qp->nr_recvs < FARSWAP_RECV_DEPTH);
	qp->recv[qp->nr_recvs].id = wr->wr_id;
	qp->recv[qp->nr_recvs++].sge = *wr->sg_list;
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 16;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = context;
	mock_nr_pds++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct mock_qp *qp;
	struct mock_mr *mr;

	for (qp = mock_qps; qp; qp = qp->next)
		if (qp->pd == pd)
			return EBUSY;
	for (mr = mock_mrs; mr; mr = mr->next)
		if (mr->mr.pd == pd)
			return EBUSY;
	mock_nr_pds--;
	free(pd);
	return 0;
}

static struct ibv_mr *mock_reg(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, int access)
{
	struct mock_mr *mr;

	if (mock_fails.reg) {
		mock_fails.reg = false;
		errno = fuzz_once_in(2) ? EFAULT : ENOMEM;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	mr->mr.pd = pd;
	mr->mr.addr = addr;
	mr->mr.length = len;
	mr->mr.rkey = mock_next_key++;
	mr->mr.lkey = mr->mr.rkey;
	mr->iova = iova;
	mr->access = access;
	mr->next = mock_mrs;
	mock_mrs = mr;
	return &mr->mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	return mock_reg(pd, addr, len, (uintptr_t)addr, access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
			       int access)
{
	return mock_reg(pd, addr, len, iova, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	return mock_reg(pd, addr, len, iova, access);
}

int ibv_dereg_mr(struct ibv_mr *of)
{
	struct mock_mr *mr = (struct mock_mr *)of, **link;

	if (mock_fails.dereg && mr->access & MOCK_REMOTE) {
		mock_fails.dereg = false;
		mock_leaks = true;
		return EBUSY;
	}
	for (link = &mock_mrs; *link && *link != mr; link = &(*link)->next)
		;
	FUZZ_CHECK(*link);
	*link = mr->next;
	free(mr);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct mock_channel *channel = calloc(1, sizeof(*channel));

	channel->channel.context = context;
	mock_nr_channels++;
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	mock_nr_channels--;
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *arg,
			     struct ibv_comp_channel *channel, int vector)
{
	struct mock_cq *cq = calloc(1, sizeof(*cq));

	(void)cqe;
	(void)vector;
	cq->cq.context = context;
	cq->cq.cq_context = arg;
	cq->channel = (struct mock_channel *)channel;
	cq->channel->cq = cq;
	mock_nr_cqs++;
	return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *of)
{
	struct mock_cq *cq = (struct mock_cq *)of;
	struct mock_qp *qp;

	for (qp = mock_qps; qp; qp = qp->next)
		if (qp->cq == cq)
			return EBUSY;
	cq->channel->cq = NULL;
	mock_nr_cqs--;
	free(cq);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **cq, void **arg)
{
	struct mock_channel *channel = (struct mock_channel *)of;

	if (!channel->cq || !channel->cq->event)
		return -1;
	channel->cq->event = false;
	*cq = &channel->cq->cq;
	*arg = channel->cq->cq.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq;
	(void)n;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS)
		((struct mock_qp *)qp)->access = attr->qp_access_flags;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *of)
{
	struct mock_qp *qp = (struct mock_qp *)of, **link;

	if (mock_fails.destroy) {
		mock_fails.destroy = false;
		mock_leaks = true;
		return EBUSY;
	}
	for (link = &mock_qps; *link && *link != qp; link = &(*link)->next)
		;
	FUZZ_CHECK(*link);
	*link = qp->next;
	mock_nr_qps--;
	free(qp);
	return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	(void)status;
	return "status";
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
	(void)type;
	return "event";
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	(void)device;
	return "mock0";
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	(void)context;
	if (!mock_has_async)
		return -1;
	mock_has_async = false;
	*event = mock_async;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

/* The connection manager. */

struct mock_id {
	struct rdma_cm_id id;
	struct mock_id *next;
	uint32_t qpn;
	bool accepted;
};

static struct rdma_event_channel mock_cm;
static struct mock_id *mock_ids;
static unsigned int mock_nr_ids;
static struct rdma_cm_event *mock_events[64];
static unsigned int mock_nr_events;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	return &mock_cm;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	(void)channel;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *arg,
		   enum rdma_port_space space)
{
	struct mock_id *mock = calloc(1, sizeof(*mock));

	(void)space;
	mock->id.channel = channel;
	mock->id.context = arg;
	*id = &mock->id;
	mock_nr_ids++;
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int option, void *value, size_t len)
{
	(void)id;
	(void)level;
	(void)option;
	(void)value;
	(void)len;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	(void)id;
	(void)address;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	(void)backlog;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	if (!mock_nr_events) {
		errno = EAGAIN;
		return -1;
	}
	*event = mock_events[0];
	memmove(mock_events, mock_events + 1, --mock_nr_events * sizeof(mock_events[0]));
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	free((void *)event->param.conn.private_data);
	free(event);
	return 0;
}

static bool mock_event(struct mock_id *id, enum rdma_cm_event_type type, const void *data,
		       size_t len)
{
	struct rdma_cm_event *event;

	if (mock_nr_events == sizeof(mock_events) / sizeof(mock_events[0]))
		return false;
	event = calloc(1, sizeof(*event));
	event->id = &id->id;
	event->event = type;
	if (len) {
		event->param.conn.private_data = memcpy(malloc(len), data, len);
		event->param.conn.private_data_len = len;
	}
	event->param.conn.qp_num = id->qpn;
	event->param.conn.responder_resources = 16;
	mock_events[mock_nr_events++] = event;
	return true;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	FUZZ_CHECK(param->private_data_len == sizeof(struct farswap_accept));
	((struct mock_id *)id)->accepted = true;
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	(void)id;
	FUZZ_CHECK(len == sizeof(struct farswap_accept) &&
		   wire_check_accept(data, len) == WIRE_OK);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	(void)id;
	(void)event;
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type type)
{
	(void)type;
	return "event";
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	unsigned int i, kept = 0;
	struct mock_id **link;

	FUZZ_CHECK(!id->qp);
	for (i = 0; i < mock_nr_events; i++)
		if (mock_events[i]->id == id)
			rdma_ack_cm_event(mock_events[i]);
		else
			mock_events[kept++] = mock_events[i];
	mock_nr_events = kept;
	for (link = &mock_ids; *link && &(*link)->id != id; link = &(*link)->next)
		;
	if (*link)
		*link = (*link)->next;
	mock_nr_ids--;
	free(id);
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct mock_qp *qp;

	if (mock_fails.qp) {
		mock_fails.qp = false;
		errno = ENOMEM;
		return -1;
	}
	qp = calloc(1, sizeof(*qp));
	qp->qp.context = &mock_context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.qp_num = mock_next_qpn++;
	qp->pd = pd;
	qp->cq = (struct mock_cq *)attr->send_cq;
	qp->access = MOCK_REMOTE;
	qp->next = mock_qps;
	mock_qps = qp;
	mock_nr_qps++;
	id->qp = &qp->qp;
	return 0;
}

#endif
