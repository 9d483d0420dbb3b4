// SPDX-License-Identifier: GPL-2.0
/*
 * The watch over a live connection: a PING now and then, and the bound on I/O.
 *
 * I/Os of one urgency complete in the order they were submitted, since a queue
 * posts each kind in order and completes in the order posted. So it is enough
 * to note now and then how many have been submitted: when FARSWAP_RDMA_MARKS
 * samples later not as many have completed, one is overdue. A sample is taken
 * ten times in io_timeout_ms, so an overdue I/O is noticed in 0.7 to 0.8 of it;
 * the rest is for the end of the queue pair.
 */
#include "internal.h"

#define WATCH_PERIOD_MS		500
#define WATCH_PING_MS		2000
#define WATCH_PONG_MS		5000
#define WATCH_IO_TIMEOUT_MS	1000
#define WATCH_SAMPLES		10
/* Of which an adapter's timeout is a power of two; the powers that are of use: 17 ms, 2 s. */
#define WATCH_ACK_NS		4096
#define WATCH_ACK_LEAST		12
/* Four times, as a power of two. */
#define WATCH_ACK_SLOWER	2
#define WATCH_ACK_MOST		19

static_assert(FARSWAP_RDMA_MARKS < WATCH_SAMPLES);

static const char watch_of_length[] =
	"pages don't come through as messages do: is each MTU the same?";

static unsigned int watch_io_timeout_ms = WATCH_IO_TIMEOUT_MS;

static unsigned long watch_sample_jiffies(void)
{
	return max(msecs_to_jiffies(READ_ONCE(watch_io_timeout_ms)) / WATCH_SAMPLES,
		   1UL);
}

/* Is an I/O overdue? Else take a sample. */
static bool watch_queue(struct farswap_rdma_queue *queue, unsigned int nr_marks)
{
	unsigned int at = nr_marks % FARSWAP_RDMA_MARKS;
	bool overdue = false;
	int urgent;

	spin_lock_irq(&queue->lock);
	for (urgent = 0; urgent < 2; urgent++) {
		u32 *mark = &queue->mark[urgent][at];

		if ((s32)(queue->completed[urgent] - *mark) < 0)
			overdue = true;
		*mark = queue->submitted[urgent];
	}
	spin_unlock_irq(&queue->lock);
	return overdue;
}

/*
 * Is it a matter of length that this queue's pages don't come through? It may be if the connection
 * is not the first, so that messages, which are short, have just done so, and no page has in this
 * direction.
 */
static bool watch_is_of_length(const struct farswap_rdma_conn *conn, unsigned int nr)
{
	unsigned int loads = farswap_rdma_loads(conn->nr_queues);
	unsigned int i = nr < loads ? 0 : loads, end = nr < loads ? loads : conn->nr_queues;

	for (; i < end; i++)
		if (READ_ONCE(conn->queue[i].good))
			return false;
	return conn->resumed;
}

static void watch_io(struct farswap_rdma_conn *conn)
{
	unsigned int i;

	if (time_before(jiffies, conn->next_mark))
		return;
	/* From now, not from when it was due: a late tick must not come early. */
	conn->next_mark = jiffies + watch_sample_jiffies();
	for (i = 0; i < conn->nr_queues; i++)
		if (watch_queue(&conn->queue[i], conn->nr_marks))
			farswap_rdma_conn_fail(conn, -ETIMEDOUT, watch_is_of_length(conn, i) ?
					       watch_of_length :
					       "I/O not done within io_timeout_ms");
	conn->nr_marks++;
}

static void watch_ping(struct farswap_rdma_conn *conn)
{
	bool out, late, due;

	spin_lock(&conn->lock);
	out = conn->ping_out;
	late = time_after(jiffies, conn->ping_begun + msecs_to_jiffies(WATCH_PONG_MS));
	due = out ? conn->ping_unsent :
	      time_after_eq(jiffies, conn->ping_begun + msecs_to_jiffies(WATCH_PING_MS));
	spin_unlock(&conn->lock);

	if (out && late)
		farswap_rdma_conn_fail(conn, -ETIMEDOUT, "doesn't answer PING");
	else if (due)
		farswap_rdma_control_ping(conn);
}

static void watch_queue_tick(struct farswap_rdma_conn *conn)
{
	unsigned long now = jiffies, pause = msecs_to_jiffies(WATCH_PERIOD_MS);

	/* No later than the next sample, or the bound would grow by the rest. */
	if (time_before(conn->next_mark, now + pause))
		pause = time_after(conn->next_mark, now) ? conn->next_mark - now : 0;
	queue_delayed_work(farswap_rdma_wq, &conn->tick, pause);
}

/**
 * farswap_rdma_watch_tick() - look once and come again
 * @work:	conn->tick
 */
void farswap_rdma_watch_tick(struct work_struct *work)
{
	struct farswap_rdma_conn *conn = container_of(to_delayed_work(work),
						      struct farswap_rdma_conn, tick);

	watch_io(conn);
	watch_ping(conn);
	if (farswap_rdma_call_overdue(conn))
		farswap_rdma_conn_fail(conn, -ETIMEDOUT, "doesn't answer a request");
	if (!farswap_rdma_conn_dead(conn))
		watch_queue_tick(conn);
}

/**
 * farswap_rdma_watch_start() - begin to watch
 * @conn:	connection, complete; watched until it is quiesced
 *
 * Context: any.
 */
void farswap_rdma_watch_start(struct farswap_rdma_conn *conn)
{
	conn->ping_begun = jiffies;
	conn->next_mark = jiffies + watch_sample_jiffies();
	watch_queue_tick(conn);
}

/**
 * farswap_rdma_watch_ack_timeout() - when an adapter is to send again
 * @exact:	it is known to wait no longer than it is told
 *
 * So that it has done so as often as it may when io_timeout_ms is over. Other adapters may take
 * up to four times as long as they are told, and many do.
 *
 * Context: any.
 * Return: as in &struct ib_qp_attr.timeout, a power of two of 4.096 us.
 */
u8 farswap_rdma_watch_ack_timeout(bool exact)
{
	u64 ns = (u64)READ_ONCE(watch_io_timeout_ms) * NSEC_PER_MSEC;
	int power = fls64(ns / (FARSWAP_RDMA_RETRIES + 1) / WATCH_ACK_NS);

	if (!exact)
		power -= WATCH_ACK_SLOWER;
	return clamp(power, WATCH_ACK_LEAST, WATCH_ACK_MOST);
}

/**
 * farswap_rdma_watch_set_io_timeout() - &struct farswap_transport.set_io_timeout
 * @ms:		milliseconds
 *
 * Context: any.
 */
void farswap_rdma_watch_set_io_timeout(unsigned int ms)
{
	WRITE_ONCE(watch_io_timeout_ms, ms);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/watch-kunit.h"
#endif
