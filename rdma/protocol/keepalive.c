// SPDX-License-Identifier: GPL-2.0
/*
 * Monitors a live connection: sends a PING periodically, and bounds the time of I/O.
 *
 * I/Os of one urgency complete in the order they were submitted, since a queue
 * posts each kind in order and completes in the order posted. So it suffices to
 * sample how many have been submitted: if fewer than a sample have completed
 * FARSWAP_RDMA_MARKS samples later, an I/O is overdue. Ten samples are taken in
 * io_timeout_ms, so an overdue I/O is found after 0.7 to 0.8 of it; the rest of the
 * time is left to end the queue pair.
 */
#include "protocol.h"

#define KEEPALIVE_PERIOD_MS		500
#define KEEPALIVE_PING_MS		2000
#define KEEPALIVE_PONG_MS		5000
#define KEEPALIVE_IO_TIMEOUT_MS	1000
#define KEEPALIVE_SAMPLES		10

static_assert(FARSWAP_RDMA_MARKS < KEEPALIVE_SAMPLES);

static const char keepalive_mtu[] =
	"messages arrive, pages don't: check the MTU on both sides";

static unsigned int keepalive_io_timeout_ms = KEEPALIVE_IO_TIMEOUT_MS;

static unsigned long keepalive_sample_jiffies(void)
{
	return max(msecs_to_jiffies(READ_ONCE(keepalive_io_timeout_ms)) / KEEPALIVE_SAMPLES,
		   1UL);
}

/* Return whether an I/O is overdue, and take a sample. */
static bool keepalive_flow(struct farswap_rdma_flow *flow, unsigned int nr_marks)
{
	unsigned int at = nr_marks % FARSWAP_RDMA_MARKS;
	bool overdue = false;
	int urgent;

	spin_lock_irq(&flow->lock);
	for (urgent = 0; urgent < 2; urgent++) {
		u32 *mark = &flow->mark[urgent][at];

		if ((s32)(flow->completed[urgent] - *mark) < 0)
			overdue = true;
		*mark = flow->submitted[urgent];
	}
	spin_unlock_irq(&flow->lock);
	return overdue;
}

/*
 * Do long packets get lost on this queue? That is likely if the connection was resumed, so that
 * messages, which are short, have passed, but no page has in this direction.
 */
static bool keepalive_is_mtu(const struct farswap_rdma_conn *conn, unsigned int nr)
{
	unsigned int loads = farswap_rdma_loads(conn->nr_queues);
	unsigned int i = nr < loads ? 0 : loads, end = nr < loads ? loads : conn->nr_queues;

	for (; i < end; i++)
		if (READ_ONCE(conn->flow[i]->good))
			return false;
	return conn->resumed;
}

static void keepalive_overdue(struct farswap_rdma_conn *conn, unsigned int nr)
{
	farswap_rdma_probe_again(conn);
	farswap_rdma_conn_fail(conn, -ETIMEDOUT, keepalive_is_mtu(conn, nr) ?
			       keepalive_mtu : "I/O not done within io_timeout_ms");
}

static void keepalive_io(struct farswap_rdma_conn *conn)
{
	unsigned int i;

	if (time_before(jiffies, conn->next_mark))
		return;
	/* Counted from now, so that a late tick does not shorten the next period. */
	conn->next_mark = jiffies + keepalive_sample_jiffies();
	for (i = 0; i < conn->nr_queues; i++)
		if (keepalive_flow(conn->flow[i], conn->nr_marks))
			keepalive_overdue(conn, i);
	conn->nr_marks++;
}

static void keepalive_ping(struct farswap_rdma_conn *conn)
{
	bool out, late, due;

	spin_lock(&conn->lock);
	out = conn->ping_out;
	late = time_after(jiffies, conn->ping_begun + msecs_to_jiffies(KEEPALIVE_PONG_MS));
	due = out ? conn->ping_unsent :
	      time_after_eq(jiffies, conn->ping_begun + msecs_to_jiffies(KEEPALIVE_PING_MS));
	spin_unlock(&conn->lock);

	if (out && late)
		farswap_rdma_conn_fail(conn, -ETIMEDOUT, "doesn't answer PING");
	else if (due)
		farswap_rdma_message_ping(conn);
}

static void keepalive_queue_tick(struct farswap_rdma_conn *conn)
{
	unsigned long now = jiffies, pause = msecs_to_jiffies(KEEPALIVE_PERIOD_MS);

	/* Not later than the next sample, or the bound would grow by the difference. */
	if (time_before(conn->next_mark, now + pause))
		pause = time_after(conn->next_mark, now) ? conn->next_mark - now : 0;
	queue_delayed_work(farswap_rdma_wq, &conn->tick, pause);
}

static void keepalive_tick(struct work_struct *work)
{
	struct farswap_rdma_conn *conn = container_of(to_delayed_work(work),
						      struct farswap_rdma_conn, tick);

	keepalive_io(conn);
	keepalive_ping(conn);
	if (farswap_rdma_rpc_overdue(conn))
		farswap_rdma_conn_fail(conn, -ETIMEDOUT, "doesn't answer a request");
	if (!farswap_rdma_conn_dead(conn))
		keepalive_queue_tick(conn);
}

/**
 * farswap_rdma_keepalive_init() - initialise a connection that is not monitored yet
 * @conn:	connection
 */
void farswap_rdma_keepalive_init(struct farswap_rdma_conn *conn)
{
	INIT_DELAYED_WORK(&conn->tick, keepalive_tick);
}

/**
 * farswap_rdma_keepalive_start() - start to monitor
 * @conn:	complete connection; monitored until it is quiesced
 *
 * Context: any.
 */
void farswap_rdma_keepalive_start(struct farswap_rdma_conn *conn)
{
	conn->ping_begun = jiffies;
	conn->next_mark = jiffies + keepalive_sample_jiffies();
	keepalive_queue_tick(conn);
}

/**
 * farswap_rdma_keepalive_stop() - stop to monitor
 * @conn:	dead connection
 *
 * Context: may sleep.
 */
void farswap_rdma_keepalive_stop(struct farswap_rdma_conn *conn)
{
	cancel_delayed_work_sync(&conn->tick);
}

/**
 * farswap_rdma_keepalive_io_ms() - how long an I/O may take
 *
 * Context: any.
 * Return: milliseconds.
 */
unsigned int farswap_rdma_keepalive_io_ms(void)
{
	return READ_ONCE(keepalive_io_timeout_ms);
}

/**
 * farswap_rdma_keepalive_set_io_timeout() - &struct farswap_transport.set_io_timeout
 * @ms:		milliseconds
 *
 * Context: any.
 */
void farswap_rdma_keepalive_set_io_timeout(unsigned int ms)
{
	WRITE_ONCE(keepalive_io_timeout_ms, ms);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/keepalive-kunit.h"
#endif
