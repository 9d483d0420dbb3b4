// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue pair: which completions are messages, and how much of the event loop one
 * session gets. There is no device; the test fills the completion queue.
 */
#include "control.c"
#include "stats.c"
#include "json.c"
#include "metrics.c"
#include "wire.c"

#include "quiet.h"
#include "tap.h"

#undef ibv_reg_mr

static struct session session, other;
static struct ibv_context device;
static struct ibv_comp_channel channel = { .fd = 0 };
static struct ibv_qp qp = { .context = &device };
static struct rdma_cm_id id = { .qp = &qp };
static struct ibv_mr mr;
static enum stats_counter end_reason;
static unsigned int ended, received, posted, other_received;
static uint64_t now_ms = 1000, throttle_ms;
static bool again;

/* A completion queue that has a number of the same completion. */
static struct queue {
	struct ibv_cq cq;
	struct ibv_wc wc;
	unsigned int nr;
} queues[2];

void session_end(struct session *of, enum stats_counter reason, const char *fmt, ...)
{
	(void)fmt;
	of->state = SESSION_DEAD;
	end_reason = reason;
	ended++;
}

void session_lost(struct session *of, enum stats_counter reason, const char *fmt, ...)
{
	(void)fmt;
	session_end(of, reason, "lost");
}

void message_received(struct session *of, const void *msg, size_t len)
{
	(void)msg;
	(void)len;
	if (of == &session)
		received++;
	else
		other_received++;
}

void message_sent(struct session *of)
{
	(void)of;
}

size_t auth_open(struct auth *auth, void *msg, size_t len)
{
	(void)auth;
	(void)msg;
	return len;
}

size_t auth_seal(struct auth *auth, struct farswap_hdr *hdr)
{
	(void)auth;
	return le32toh(hdr->length);
}

uint64_t loop_now_ms(void)
{
	return now_ms;
}

uint64_t loop_now_ns(void)
{
	return now_ms * 1000000;
}

int loop_fd_add(struct loop_fd *lf, int fd, uint32_t events, void (*fn)(void *, uint32_t),
		void *arg)
{
	(void)events;
	lf->fd = fd;
	lf->fn = fn;
	lf->arg = arg;
	return 0;
}

void loop_fd_del(struct loop_fd *lf)
{
	lf->fd = -1;
}

void loop_timer_init(struct loop_timer *timer, void (*fn)(void *arg), void *arg)
{
	timer->fn = fn;
	timer->arg = arg;
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	if (timer == &session.throttle)
		throttle_ms = ms;
}

void loop_timer_stop(struct loop_timer *timer)
{
	(void)timer;
}

void loop_work_init(struct loop_work *work, void (*fn)(void *arg), void *arg)
{
	work->fn = fn;
	work->arg = arg;
}

void loop_work_queue(struct loop_work *work)
{
	if (work == &session.poll)
		again = true;
}

void loop_work_cancel(struct loop_work *work)
{
	(void)work;
}

static int poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	struct queue *queue = (struct queue *)cq;
	int i;

	for (i = 0; i < nr && queue->nr; i++, queue->nr--)
		wc[i] = queue->wc;
	return i;
}

static int post_recv(struct ibv_qp *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)to;
	(void)wr;
	(void)bad;
	posted++;
	return 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	(void)context;
	return &channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *of)
{
	(void)of;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *arg,
			     struct ibv_comp_channel *of, int vector)
{
	struct queue *queue = arg == &session ? &queues[0] : &queues[1];

	(void)cqe;
	(void)of;
	(void)vector;
	queue->cq.context = context;
	return &queue->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **cq, void **arg)
{
	(void)of;
	(void)cq;
	(void)arg;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nr)
{
	(void)cq;
	(void)nr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	(void)pd;
	(void)addr;
	(void)len;
	(void)access;
	return &mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, len, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *of)
{
	(void)of;
	return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	(void)status;
	return "";
}

static void open_session(struct session *of)
{
	*of = (struct session) {
		.state = SESSION_READY,
		.device = &device,
		.control.id = &id,
		.number = of == &other,
	};
	if (control_create(of))
		ok(false, "the session has a completion queue");
	received = 0;
	posted = 0;
	ended = 0;
}

static void close_session(struct session *of)
{
	control_stop(of);
	control_destroy(of);
}

static void complete(struct queue *queue, unsigned int nr, enum ibv_wc_opcode opcode,
		     unsigned int flags)
{
	queue->wc = (struct ibv_wc) {
		.wr_id = CONTROL_RECV,
		.opcode = opcode,
		.wc_flags = flags,
		.byte_len = 16,
	};
	queue->nr = nr;
}

/* The completion is not a message: it ends the session, and no handler sees it. */
static void is_refused(enum ibv_wc_opcode opcode, unsigned int flags, const char *what)
{
	open_session(&session);
	complete(&queues[0], 2, opcode, flags);
	session.channel_fd.fn(&session, 0);
	ok(!received && ended == 1 && end_reason == STAT_END_BAD_TYPE, "%s is refused", what);
	close_session(&session);
	queues[0].nr = 0;
}

static void test_messages(void)
{
	open_session(&session);
	complete(&queues[0], 2, IBV_WC_RECV, 0);
	session.channel_fd.fn(&session, 0);
	ok(received == 2 && posted == 2 && !ended, "a SEND is a message");
	close_session(&session);
	is_refused(IBV_WC_RECV_RDMA_WITH_IMM, 0, "a WRITE with immediate data");
	is_refused(IBV_WC_RECV, IBV_WC_WITH_IMM, "a SEND with immediate data");
	is_refused(IBV_WC_RECV, IBV_WC_WITH_INV, "a SEND that invalidates a key");
}

/* Run the turns of the loop until the session has to wait. */
static void run_turns(void)
{
	session.channel_fd.fn(&session, 0);
	while (again) {
		again = false;
		session.poll.fn(session.poll.arg);
	}
}

static void test_flood(void)
{
	open_session(&session);
	open_session(&other);
	other_received = 0;
	complete(&queues[0], 100000, IBV_WC_RECV, 0);
	session.channel_fd.fn(&session, 0);
	ok(received == CONTROL_BATCH && again, "a turn of the loop handles one batch of messages");
	run_turns();
	ok(received == CONTROL_WINDOW && throttle_ms == CONTROL_WINDOW_MS && !ended,
	   "a session that floods waits after %d messages", CONTROL_WINDOW);
	now_ms += 4;
	throttle_ms = 0;
	run_turns();
	ok(received == CONTROL_WINDOW && throttle_ms == CONTROL_WINDOW_MS - 4,
	   "it waits until the window is over");
	complete(&queues[1], 3, IBV_WC_RECV, 0);
	other.channel_fd.fn(&other, 0);
	ok(other_received == 3, "another session need not wait");
	now_ms += throttle_ms;
	session.throttle.fn(session.throttle.arg);
	run_turns();
	ok(received == 2 * CONTROL_WINDOW, "then as many of its messages are handled again");
	close_session(&session);
	close_session(&other);
}

int main(void)
{
	device.ops.poll_cq = poll_cq;
	device.ops.post_recv = post_recv;
	device.ops.req_notify_cq = req_notify_cq;
	test_messages();
	test_flood();
	return tap_done();
}
