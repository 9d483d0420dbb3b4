// SPDX-License-Identifier: GPL-2.0
/*
 * Connects to a donor as the kernel module does, from user space, to use an invitation: AUTH and
 * AUTHED, then PING, which the donor answers once this machine's key is in its configuration. Each
 * wait is bounded.
 */
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "join-donor.h"
#include "join.h"

/* To resolve, to connect, and for each message; the last one waits for the donor's farswapctl. */
#define DONOR_MS	10000
#define DONOR_RECVS	4
#define DONOR_POLL_NS	1000000L

struct donor {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct donor_buffers {
		uint8_t recv[DONOR_RECVS][FARSWAP_MSG_BYTES];
		uint8_t send[FARSWAP_MSG_BYTES];
	} *buffers;
	struct farswap_accept answer;	/* private data of the accept or of the reject */
	bool has_answer;
	bool sent;
	unsigned int nr_received;
	unsigned int nr_taken;
	uint32_t bytes[DONOR_RECVS];
	bool failed;
};

static bool donor_event(struct donor *donor, enum rdma_cm_event_type expected)
{
	struct pollfd wait = { .fd = donor->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	bool same;

	if (poll(&wait, 1, DONOR_MS) != 1 || rdma_get_cm_event(donor->channel, &event))
		return false;
	same = event->event == expected;
	if (event->param.conn.private_data &&
	    event->param.conn.private_data_len >= sizeof(donor->answer)) {
		memcpy(&donor->answer, event->param.conn.private_data, sizeof(donor->answer));
		donor->has_answer = true;
	}
	rdma_ack_cm_event(event);
	return same;
}

/* The buffers are used once: the donor sends two messages, and at most as many PINGs. */
static bool donor_create(struct donor *donor)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = DONOR_RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_recv_wr *bad;
	unsigned int i;

	donor->pd = ibv_alloc_pd(donor->id->verbs);
	donor->cq = ibv_create_cq(donor->id->verbs, DONOR_RECVS + 1, NULL, NULL, 0);
	donor->buffers = aligned_alloc(4096, 4096);
	_Static_assert(sizeof(*donor->buffers) <= 4096, "buffers");
	if (!donor->pd || !donor->cq || !donor->buffers)
		return false;
	memset(donor->buffers, 0, sizeof(*donor->buffers));
	donor->mr = ibv_reg_mr(donor->pd, donor->buffers, sizeof(*donor->buffers),
			       IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = donor->cq;
	attr.recv_cq = donor->cq;
	if (!donor->mr || rdma_create_qp(donor->id, donor->pd, &attr))
		return false;
	for (i = 0; i < DONOR_RECVS; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)donor->buffers->recv[i],
			.length = FARSWAP_MSG_BYTES,
			.lkey = donor->mr->lkey,
		};
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		if (ibv_post_recv(donor->id->qp, &wr, &bad))
			return false;
	}
	return true;
}

static void donor_close(struct donor *donor)
{
	if (donor->id && donor->id->qp) {
		rdma_disconnect(donor->id);
		rdma_destroy_qp(donor->id);
	}
	if (donor->mr)
		ibv_dereg_mr(donor->mr);
	if (donor->cq)
		ibv_destroy_cq(donor->cq);
	if (donor->pd)
		ibv_dealloc_pd(donor->pd);
	if (donor->id)
		rdma_destroy_id(donor->id);
	if (donor->channel)
		rdma_destroy_event_channel(donor->channel);
	free(donor->buffers);
}

static const char *donor_reach(struct donor *donor, const struct sockaddr *address)
{
	donor->channel = rdma_create_event_channel();
	if (!donor->channel || rdma_create_id(donor->channel, &donor->id, NULL, RDMA_PS_TCP))
		return "this machine has no RDMA: load the device's driver and rdma_ucm";
	if (rdma_resolve_addr(donor->id, NULL, (struct sockaddr *)address, DONOR_MS) ||
	    !donor_event(donor, RDMA_CM_EVENT_ADDR_RESOLVED) ||
	    rdma_resolve_route(donor->id, DONOR_MS) ||
	    !donor_event(donor, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return "it can't be reached over RDMA: farswapctl check may say why";
	return donor_create(donor) ? NULL : "this machine can't make a queue pair";
}

static const char *donor_refusal(const struct donor *donor)
{
	if (!donor->has_answer)
		return "it does not answer; is farswapd running there?";
	switch (le16toh(donor->answer.status)) {
	case FARSWAP_STATUS_BAD_AUTH:
		return "it refuses the code, which is used, has expired, or is not whole: make another with farswapctl invite";
	case FARSWAP_STATUS_BUSY:
		return "it has too many connections: try again";
	case FARSWAP_STATUS_LEAVING:
		return "it is shutting down";
	case FARSWAP_STATUS_BAD_VERSION:
		return "it has another version of farswap: install the same release on both";
	default:
		return "it refuses the connection; its log says why";
	}
}

static const char *donor_connect(struct donor *donor, const struct join *join,
				 struct farswap_connect *connect)
{
	struct rdma_conn_param param = {
		.private_data = connect,
		.private_data_len = sizeof(*connect),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	join_connect(join, connect, donor->id->qp->qp_num);
	if (rdma_connect(donor->id, &param))
		return "this machine can't connect";
	return donor_event(donor, RDMA_CM_EVENT_ESTABLISHED) ? NULL : donor_refusal(donor);
}

static uint64_t donor_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void donor_poll(struct donor *donor)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(donor->cq, 1, &wc) == 1) {
		if (wc.status != IBV_WC_SUCCESS)
			donor->failed = true;
		else if (wc.opcode == IBV_WC_RECV)
			donor->bytes[donor->nr_received++] = wc.byte_len;
		else
			donor->sent = true;
	}
}

/* Return the next message, and its length in @len, or NULL if there is none in time. */
static void *donor_receive(struct donor *donor, size_t *len)
{
	const struct timespec pause = { .tv_nsec = DONOR_POLL_NS };
	uint64_t end = donor_now_ms() + DONOR_MS;

	for (;;) {
		/* This also finds messages that came before the connection failed. */
		donor_poll(donor);
		if (donor->nr_taken < donor->nr_received)
			break;
		if (donor->failed || donor_now_ms() > end)
			return NULL;
		nanosleep(&pause, NULL);
	}
	*len = donor->bytes[donor->nr_taken];
	return donor->buffers->recv[donor->nr_taken++];
}

static bool donor_send(struct donor *donor, const void *msg, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)donor->buffers->send,
		.length = len,
		.lkey = donor->mr->lkey,
	};
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	const struct timespec pause = { .tv_nsec = DONOR_POLL_NS };
	uint64_t end = donor_now_ms() + DONOR_MS;
	struct ibv_send_wr *bad;

	memcpy(donor->buffers->send, msg, len);
	donor->sent = false;
	if (ibv_post_send(donor->id->qp, &wr, &bad))
		return false;
	while (donor_poll(donor), !donor->sent) {
		if (donor->failed || donor_now_ms() > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static const char *donor_handshake(struct donor *donor, struct join *join,
				   const struct farswap_connect *connect)
{
	struct join_path path = {
		.client_qpn = donor->id->qp->qp_num,
	};
	struct ibv_qp_init_attr init;
	struct farswap_auth first;
	struct ibv_qp_attr attr;
	const char *wrong;
	size_t len = 0;
	void *msg;

	if (ibv_query_qp(donor->id->qp, &attr, IBV_QP_DEST_QPN, &init))
		return "this machine can't query a queue pair";
	path.donor_qpn = attr.dest_qp_num;
	address_copy(path.client_address, rdma_get_local_addr(donor->id));
	address_copy(path.donor_address, rdma_get_peer_addr(donor->id));
	wrong = join_first(join, connect, &donor->answer, &path, &first);
	if (wrong)
		return wrong;
	if (!donor_send(donor, &first, sizeof(first)))
		return "it has ended the connection; its log says why";
	msg = donor_receive(donor, &len);
	if (!msg || wire_check(msg, len, WIRE_TO_CLIENT) != WIRE_OK ||
	    le16toh(((struct farswap_hdr *)msg)->type) != FARSWAP_MSG_AUTHED)
		return "it does not answer the handshake; its log says why";
	return join_second(join, msg);
}

/* The donor answers when its farswapctl has added this machine. */
static const char *donor_join(struct donor *donor, struct join *join)
{
	static const char lost[] = "it does not say that it has added this machine; if it has, run farswapctl donors add with its address and key, else make another code";
	uint8_t ping[sizeof(struct farswap_hdr) + FARSWAP_TAG_BYTES];
	struct farswap_hdr *hdr = (struct farswap_hdr *)ping;
	size_t len = 0;
	void *msg;

	wire_init(hdr, FARSWAP_MSG_PING, 2);
	len = auth_seal(&join->auth, hdr);
	if (!len || !donor_send(donor, ping, len))
		return "it has ended the connection; its log says why";
	msg = donor_receive(donor, &len);
	if (msg)
		len = auth_open(&join->auth, msg, len);
	if (!msg || !len || wire_check(msg, len, WIRE_TO_CLIENT) != WIRE_OK ||
	    le16toh(((struct farswap_hdr *)msg)->type) != FARSWAP_MSG_PONG)
		return lost;
	return NULL;
}

const char *join_donor(const struct sockaddr *address, const uint8_t *secret,
		       const uint8_t *public, const uint8_t *invitation)
{
	struct farswap_connect connect;
	struct donor donor = { 0 };
	struct join join = { 0 };
	const char *wrong;

	memcpy(join.secret, secret, sizeof(join.secret));
	memcpy(join.donor, public, sizeof(join.donor));
	memcpy(join.invitation, invitation, sizeof(join.invitation));
	wrong = donor_reach(&donor, address);
	if (!wrong)
		wrong = donor_connect(&donor, &join, &connect);
	if (!wrong)
		wrong = donor_handshake(&donor, &join, &connect);
	if (!wrong)
		wrong = donor_join(&donor, &join);
	join_end(&join);
	donor_close(&donor);
	return wrong;
}
