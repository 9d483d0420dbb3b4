/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reliable connection made with the RDMA CM, for test programs: blocking, with
 * a bound on every wait. Includes the daemon's code of the wire format.
 */
#ifndef _FARSWAP_VERBS_H
#define _FARSWAP_VERBS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "wire.c"

#define VERBS_CM_MS	20000	/* software RDMA on an emulated machine is slow */
#define VERBS_IO_MS	20000
#define VERBS_LATE_MS	200
#define VERBS_RECVS	FARSWAP_RECV_DEPTH
#define VERBS_SENDS	64
#define VERBS_BUF_BYTES	1024	/* longer than any message, to send too long ones */
#define VERBS_RECV	(1ULL << 32)

struct verbs {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	int owns_pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;		/* of @buf */
	uint8_t *buf;			/* receives, then sends */
	int next_send;			/* buffer of @buf */
	int got[VERBS_RECVS];		/* receives completed and not taken */
	uint32_t got_bytes[VERBS_RECVS];
	int nr_got;
	int sends_done;
	enum ibv_wc_status status;	/* of the last send or RDMA */
	int immediate;			/* sends have immediate data */
	int broken;			/* disconnected, or a completion failed */
	uint64_t late;			/* deadline for earlier completions after a failure, ms */
	struct farswap_accept accept;	/* private data of the answer to connect */
};

static int tap_nr, tap_failed;

__attribute__((format(printf, 2, 3)))
static inline int tap(int good, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tap_nr);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !good;
	return good;
}

__attribute__((noreturn))
static inline void tap_exit(void)
{
	printf("1..%d\n", tap_nr);
	fflush(stdout);
	_exit(tap_failed || !tap_nr ? 1 : 0);
}

__attribute__((noreturn))
static inline void tap_bail(const char *what)
{
	printf("Bail out! %s\n", what);
	fflush(stdout);
	_exit(1);
}

static inline uint64_t verbs_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* The next CM event within @ms, or -1. Its private data, if any, is kept. */
static inline int verbs_event(struct verbs *v, int ms)
{
	struct pollfd pfd = { .fd = v->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int type;

	if (poll(&pfd, 1, ms) != 1 || rdma_get_cm_event(v->channel, &event))
		return -1;
	type = event->event;
	if (event->param.conn.private_data &&
	    event->param.conn.private_data_len >= sizeof(v->accept))
		memcpy(&v->accept, event->param.conn.private_data, sizeof(v->accept));
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		v->broken = 1;
	return type;
}

static inline void verbs_post_recv(struct verbs *v, int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)v->buf + i * VERBS_BUF_BYTES,
		.length = VERBS_BUF_BYTES,
		.lkey = v->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = VERBS_RECV | i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (ibv_post_recv(v->id->qp, &wr, &bad))
		v->broken = 1;
}

/* Collect completions without waiting. */
static inline void verbs_poll(struct verbs *v)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(v->cq, 1, &wc) == 1) {
		if (wc.status != IBV_WC_SUCCESS)
			v->broken = 1;
		if (!(wc.wr_id & VERBS_RECV)) {
			v->status = wc.status;
			v->sends_done++;
		} else if (wc.status == IBV_WC_SUCCESS && v->nr_got < VERBS_RECVS) {
			v->got[v->nr_got] = (uint32_t)wc.wr_id;
			v->got_bytes[v->nr_got++] = wc.byte_len;
		}
	}
}

/* Queue pair and buffers for an id that has a device. */
static inline int verbs_create_qp(struct verbs *v, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = VERBS_SENDS,
			.max_recv_wr = VERBS_RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	size_t bytes = (VERBS_RECVS + VERBS_SENDS) * VERBS_BUF_BYTES;
	int i;

	v->pd = pd ? pd : ibv_alloc_pd(v->id->verbs);
	v->owns_pd = !pd;
	v->cq = ibv_create_cq(v->id->verbs, VERBS_SENDS + VERBS_RECVS, NULL, NULL, 0);
	v->buf = aligned_alloc(4096, bytes);
	if (!v->pd || !v->cq || !v->buf)
		return -1;
	memset(v->buf, 0, bytes);
	v->mr = ibv_reg_mr(v->pd, v->buf, bytes, IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = v->cq;
	attr.recv_cq = v->cq;
	if (!v->mr || rdma_create_qp(v->id, v->pd, &attr))
		return -1;
	for (i = 0; i < VERBS_RECVS; i++)
		verbs_post_recv(v, i);
	return 0;
}

static inline void verbs_close(struct verbs *v)
{
	if (v->id && v->id->qp) {
		rdma_disconnect(v->id);
		rdma_destroy_qp(v->id);
	}
	if (v->mr)
		ibv_dereg_mr(v->mr);
	if (v->cq)
		ibv_destroy_cq(v->cq);
	if (v->owns_pd && v->pd)
		ibv_dealloc_pd(v->pd);
	if (v->id)
		rdma_destroy_id(v->id);
	if (v->channel)
		rdma_destroy_event_channel(v->channel);
	free(v->buf);
	memset(v, 0, sizeof(*v));
}

/* 0 if accepted; else the CM event that came instead, and v->accept. */
static inline int verbs_connect(struct verbs *v, struct sockaddr *addr, struct ibv_pd *pd,
				const void *data, uint8_t len)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = 4,
		.initiator_depth = 16,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int event;

	memset(v, 0, sizeof(*v));
	v->channel = rdma_create_event_channel();
	if (!v->channel || rdma_create_id(v->channel, &v->id, NULL, RDMA_PS_TCP))
		tap_bail("no RDMA");
	if (rdma_resolve_addr(v->id, NULL, addr, VERBS_CM_MS) ||
	    verbs_event(v, VERBS_CM_MS) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	    rdma_resolve_route(v->id, VERBS_CM_MS) ||
	    verbs_event(v, VERBS_CM_MS) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		tap_bail("the donor's address cannot be resolved over RDMA");
	if (verbs_create_qp(v, pd))
		tap_bail("no queue pair");
	if (rdma_connect(v->id, &param))
		tap_bail("rdma_connect");
	event = verbs_event(v, VERBS_CM_MS);
	return event == RDMA_CM_EVENT_ESTABLISHED ? 0 : event;
}

/* Has all completed? Messages from before the failure may complete a little later. */
static inline int verbs_is_over(struct verbs *v, uint64_t end)
{
	uint64_t now = verbs_now_ms();

	if (v->broken && !v->late)
		v->late = now + VERBS_LATE_MS;
	return now > end || (v->broken && now > v->late);
}

static inline int verbs_wait_sends(struct verbs *v, int target)
{
	uint64_t end = verbs_now_ms() + VERBS_IO_MS;

	while (v->sends_done < target) {
		verbs_poll(v);
		if (v->sends_done >= target)
			break;
		/* A send to a disconnected peer may never complete. */
		if (verbs_is_over(v, end))
			return -1;
		verbs_event(v, 0);
		usleep(100);
	}
	return v->status == IBV_WC_SUCCESS ? 0 : -1;
}

/* Posts a send without waiting for it. */
static inline int verbs_post_send(struct verbs *v, const void *msg, uint32_t len)
{
	uint8_t *buf = v->buf + (VERBS_RECVS + v->next_send) * VERBS_BUF_BYTES;
	struct ibv_sge sge = { (uintptr_t)buf, len, v->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
		.opcode = v->immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
	};
	struct ibv_send_wr *bad;

	v->next_send = (v->next_send + 1) % VERBS_SENDS;
	memcpy(buf, msg, len);
	return ibv_post_send(v->id->qp, &wr, &bad);
}

/* Returns 0 once the other side has received it. */
static inline int verbs_send(struct verbs *v, const void *msg, uint32_t len)
{
	return verbs_post_send(v, msg, len) ? -1 : verbs_wait_sends(v, v->sends_done + 1);
}

/* READ or WRITE; 0 if it succeeded, v->status says how it failed. */
static inline int verbs_rdma(struct verbs *v, enum ibv_wr_opcode opcode, struct ibv_mr *mr,
			     void *local, uint32_t len, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)local, len, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { addr, rkey },
	}, *bad;

	v->status = IBV_WC_GENERAL_ERR;
	if (ibv_post_send(v->id->qp, &wr, &bad))
		return -1;
	return verbs_wait_sends(v, v->sends_done + 1);
}

/* Bytes of the next message, copied to @msg; -1: none in time, or disconnected. */
static inline int verbs_recv(struct verbs *v, void *msg, int ms)
{
	uint64_t end = verbs_now_ms() + ms;
	int i, bytes;

	for (;;) {
		verbs_poll(v);
		if (v->nr_got)
			break;
		if (verbs_is_over(v, end))
			return -1;
		verbs_event(v, 0);
		usleep(200);
	}
	i = v->got[0];
	bytes = v->got_bytes[0];
	v->nr_got--;
	memmove(v->got, v->got + 1, v->nr_got * sizeof(v->got[0]));
	memmove(v->got_bytes, v->got_bytes + 1, v->nr_got * sizeof(v->got_bytes[0]));
	if (bytes > FARSWAP_MSG_BYTES)
		bytes = FARSWAP_MSG_BYTES;
	memcpy(msg, v->buf + i * VERBS_BUF_BYTES, bytes);
	verbs_post_recv(v, i);
	return bytes;
}

/* True if the other side disconnects within @ms; data from it is discarded. */
static inline int verbs_is_dropped(struct verbs *v, int ms)
{
	uint64_t end = verbs_now_ms() + ms;
	uint8_t msg[FARSWAP_MSG_BYTES];

	while (!v->broken && verbs_now_ms() < end)
		verbs_recv(v, msg, 20);
	return v->broken;
}

#endif
