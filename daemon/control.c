// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue pair: buffers, receives, sends and their completions. message.c
 * handles the contents.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "log.h"
#include "session.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Completions of one session handled in one turn of the loop. */
#define CONTROL_BATCH	16
/*
 * Most completions of one session handled within a window, so that one client does not keep the
 * loop busy. The rest waits, and the client with it.
 */
#define CONTROL_WINDOW		160
#define CONTROL_WINDOW_MS	10
#define CONTROL_RECV	(1ULL << 32)	/* flag in wr_id, above the buffer's number */

struct session_buffers {
	uint8_t recv[FARSWAP_RECV_DEPTH][FARSWAP_MSG_BYTES];
	uint8_t send[SESSION_SENDS][FARSWAP_MSG_BYTES];
};

static int control_post_receive(struct session *session, unsigned int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)session->buffers->recv[i],
		.length = FARSWAP_MSG_BYTES,
		.lkey = session->buffers_mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = CONTROL_RECV | i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return -ibv_post_recv(session->control.id->qp, &wr, &bad);
}

int control_post_receives(struct session *session)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < FARSWAP_RECV_DEPTH && !err; i++)
		err = control_post_receive(session, i);
	return err;
}

void control_send(struct session *session, const struct farswap_hdr *hdr, bool is_answer)
{
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_sge sge;
	unsigned int i;
	size_t len;
	int err;

	if (session_is_over(session))
		return;
	if (is_answer && session->nr_answers == SESSION_ANSWERS_MAX) {
		session_end(session, STAT_END_BAD_FLOOD, "sends requests but receives no answers");
		return;
	}
	/*
	 * The other buffers are for requests, which are limited by credits. But a credit
	 * returns with the answer, a buffer only with the acknowledgment.
	 */
	if (!session->nr_free_sends) {
		session_end(session, STAT_END_BAD_FLOOD, "acknowledges nothing");
		return;
	}
	i = session->free_sends[--session->nr_free_sends];
	session->send_is_answer[i] = is_answer;
	session->nr_answers += is_answer;
	session->answers += is_answer && le16toh(hdr->type) != FARSWAP_MSG_WELCOME &&
			    le16toh(hdr->type) != FARSWAP_MSG_AUTHED;
	len = le32toh(hdr->length);
	memcpy(session->buffers->send[i], hdr, len);
	if (session->auth.sealed && le16toh(hdr->type) != FARSWAP_MSG_AUTHED)
		len = auth_seal(&session->auth, (struct farswap_hdr *)session->buffers->send[i]);
	if (!len) {
		session_end(session, STAT_END_BAD_SEAL, "the numbers of sealed messages are used up");
		return;
	}
	sge.addr = (uintptr_t)session->buffers->send[i];
	sge.length = len;
	sge.lkey = session->buffers_mr->lkey;
	wr.wr_id = i;
	wr.sg_list = &sge;
	err = ibv_post_send(session->control.id->qp, &wr, &bad);
	if (err)
		session_lost(session, STAT_END_LINK, "cannot send: %s", strerror(err));
}

bool control_is_idle(const struct session *session)
{
	return session->nr_free_sends == SESSION_SENDS;
}

static void control_failed(struct session *session, const struct ibv_wc *wc)
{
	const char *what = wc->wr_id & CONTROL_RECV ? "receive" : "send";

	/* Adapters differ in the status of a message that is longer than the buffer. */
	if (wc->wr_id & CONTROL_RECV &&
	    (wc->status == IBV_WC_LOC_LEN_ERR || wc->status == IBV_WC_LOC_QP_OP_ERR ||
	     wc->status == IBV_WC_REM_INV_REQ_ERR))
		session_end(session, STAT_END_BAD_LONG, "message: %s", wire_error_name(WIRE_LONG));
	else
		session_lost(session, STAT_END_LINK, "%s failed: %s", what,
			     ibv_wc_status_str(wc->status));
}

static void control_received(struct session *session, void *msg, size_t len)
{
	if (session->auth.sealed) {
		len = auth_open(&session->auth, msg, len);
		if (!len) {
			session_end(session, STAT_END_BAD_SEAL, "a message is not authentic");
			return;
		}
	}
	message_received(session, msg, len);
}

static void control_completed(struct session *session, const struct ibv_wc *wc)
{
	unsigned int i = (uint32_t)wc->wr_id;
	int err;

	if (wc->status != IBV_WC_SUCCESS) {
		control_failed(session, wc);
		return;
	}
	if (wc->wr_id & CONTROL_RECV) {
		/* A WRITE with immediate data consumes a receive, too. */
		if (wc->opcode != IBV_WC_RECV ||
		    wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)) {
			session_end(session, STAT_END_BAD_TYPE, "message: not a plain SEND");
			return;
		}
		control_received(session, session->buffers->recv[i], wc->byte_len);
		if (session_is_over(session))
			return;
		err = control_post_receive(session, i);
		if (err)
			session_lost(session, STAT_END_LINK, "cannot receive: %s", strerror(-err));
		return;
	}
	session->nr_answers -= session->send_is_answer[i];
	session->free_sends[session->nr_free_sends++] = i;
	message_sent(session);
}

/* Handle a batch of completions, and queue the rest for the next turn. */
static void control_poll_batch(struct session *session)
{
	struct ibv_wc wc[CONTROL_BATCH];
	int i, n;

	n = ibv_poll_cq(session->cq, ARRAY_SIZE(wc), wc);
	if (n < 0) {
		session_lost(session, STAT_END_LINK, "cannot poll for completions");
		return;
	}
	session->nr_polled += n;
	for (i = 0; i < n && !session_is_over(session); i++)
		control_completed(session, &wc[i]);
	if (n == ARRAY_SIZE(wc) && !session_is_over(session))
		loop_work_queue(&session->poll);
}

/* Poll now, or when the window ends if the session has used it up. */
static void control_poll(void *arg)
{
	struct session *session = arg;
	uint64_t now = loop_now_ms();

	if (now - session->polled_since_ms >= CONTROL_WINDOW_MS) {
		session->polled_since_ms = now;
		session->nr_polled = 0;
	}
	if (session->nr_polled < CONTROL_WINDOW)
		control_poll_batch(session);
	else
		loop_timer_set(&session->throttle,
			       session->polled_since_ms + CONTROL_WINDOW_MS - now);
}

static void control_event(void *arg, uint32_t events)
{
	struct session *session = arg;
	struct ibv_cq *cq;
	void *context;

	(void)events;
	if (ibv_get_cq_event(session->channel, &cq, &context))
		return;
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(session->cq, 0)) {
		session_lost(session, STAT_END_LINK, "cannot arm the completion queue");
		return;
	}
	control_poll(session);
}

void control_finish(struct session *session)
{
	unsigned int i;

	for (i = 0; session->cq && !session_is_over(session) &&
	     i <= (FARSWAP_RECV_DEPTH + SESSION_SENDS) / CONTROL_BATCH; i++)
		control_poll_batch(session);
}

static int control_create_cq(struct session *session)
{
	unsigned int vectors = session->device->num_comp_vectors;
	int flags, vector = 0;

	session->channel = ibv_create_comp_channel(session->device);
	if (!session->channel)
		return -errno;
	flags = fcntl(session->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(session->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	/* The data queue pairs complete nothing here, but need room in the queue. */
	if (vectors > 1)
		vector = (int)(session->number % vectors);
	session->cq = ibv_create_cq(session->device, FARSWAP_RECV_DEPTH + SESSION_SENDS +
				    2 * FARSWAP_QUEUES_MAX, session, session->channel, vector);
	if (!session->cq)
		return -errno;
	return -ibv_req_notify_cq(session->cq, 0);
}

int control_create(struct session *session)
{
	unsigned int i;
	int err;

	loop_work_init(&session->poll, control_poll, session);
	loop_timer_init(&session->throttle, control_poll, session);
	err = control_create_cq(session);
	if (err)
		return err;
	session->buffers = aligned_alloc(4096, sizeof(*session->buffers));
	if (!session->buffers)
		return -ENOMEM;
	memset(session->buffers, 0, sizeof(*session->buffers));
	session->buffers_mr = ibv_reg_mr(session->pd, session->buffers, sizeof(*session->buffers),
					 IBV_ACCESS_LOCAL_WRITE);
	if (!session->buffers_mr)
		return -errno;
	for (i = 0; i < SESSION_SENDS; i++)
		session->free_sends[session->nr_free_sends++] = i;
	return loop_fd_add(&session->channel_fd, session->channel->fd, EPOLLIN, control_event,
			   session);
}

void control_stop(struct session *session)
{
	loop_fd_del(&session->channel_fd);
	loop_work_cancel(&session->poll);
	loop_timer_stop(&session->throttle);
}

void control_destroy(struct session *session)
{
	loop_fd_del(&session->channel_fd);
	/* If the MR can't be deregistered the device may still write to the buffers. */
	if (!session->buffers_mr || !ibv_dereg_mr(session->buffers_mr)) {
		/* They contain secrets and rkeys. */
		if (session->buffers)
			explicit_bzero(session->buffers, sizeof(*session->buffers));
		free(session->buffers);
	}
	session->buffers_mr = NULL;
	session->buffers = NULL;
	if (session->cq && ibv_destroy_cq(session->cq))
		session->leaked = true;
	session->cq = NULL;
	if (session->channel)
		ibv_destroy_comp_channel(session->channel);
	session->channel = NULL;
}
