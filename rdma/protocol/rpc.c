// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to the donor and their answers, matched by sequence number. A request whose
 * task has given up stays until its answer arrives: it holds a credit, and the answer may
 * still bring a region.
 *
 * Locking: conn->lock covers conn->call.
 */
#include <linux/jiffies.h>

#include "protocol.h"

/* A donor that is this late after the caller gave up is failed. */
#define RPC_OVERDUE_MS	10000

/* Do both sides count a request with this type of answer? They do so from WELCOME on. */
static bool rpc_counts(u16 type)
{
	return type != FARSWAP_MSG_WELCOME && type != FARSWAP_MSG_AUTHED;
}

/**
 * farswap_rdma_rpc_answered() - handle an answer
 * @conn:	connection
 * @buf:	the answer, checked
 * @len:	its length
 *
 * A region whose caller has given up goes to conn->releases.
 *
 * Context: process, under conn->lock.
 * Return: NULL, or what is wrong with the answer.
 */
const char *farswap_rdma_rpc_answered(struct farswap_rdma_conn *conn,
				      const void *buf, size_t len)
{
	u32 seq = farswap_wire_seq(buf);
	u16 type = farswap_wire_type(buf);
	struct farswap_wire_region info = {};
	struct farswap_rdma_rpc *call;
	const char *wrong = NULL;
	bool abandoned;
	unsigned int i;

	lockdep_assert_held(&conn->lock);
	for (i = 0; i < FARSWAP_RDMA_RPCS; i++) {
		call = &conn->call[i];
		if ((call->state == FARSWAP_RDMA_RPC_WAITING ||
		     call->state == FARSWAP_RDMA_RPC_ABANDONED) &&
		    call->seq == seq && call->type == type)
			break;
	}
	if (i == FARSWAP_RDMA_RPCS)
		return "answer without a request";

	conn->session->nr_answers += rpc_counts(type);
	abandoned = call->state == FARSWAP_RDMA_RPC_ABANDONED;
	if (type == FARSWAP_MSG_MR_INFO)
		farswap_wire_read_region(buf, &info);
	if (type == FARSWAP_MSG_MR_INFO && info.status == FARSWAP_STATUS_OK)
		wrong = farswap_rdma_region_mapped(conn, call->region, &info);
	if (wrong)
		return wrong;

	if (!abandoned) {
		memcpy(call->answer, buf, min(len, sizeof(call->answer)));
		call->state = FARSWAP_RDMA_RPC_DONE;
		return NULL;
	}
	call->state = FARSWAP_RDMA_RPC_FREE;
	if (!call->region)
		return NULL;
	if (info.status == FARSWAP_STATUS_OK) {
		hash_del(&call->region->hash);
		list_add_tail(&call->region->entry, &conn->releases);
	} else {
		farswap_rdma_region_free(call->region);
	}
	call->region = NULL;
	return NULL;
}

/* Send the request in a free call. Return NULL with *@err 0 when no call is free yet. */
static struct farswap_rdma_rpc *rpc_begin(struct farswap_rdma_conn *conn,
					  void *msg, size_t len, u16 type,
					    struct farswap_region *region, int *err)
{
	struct farswap_rdma_rpc *call = NULL;
	unsigned int i;

	spin_lock(&conn->lock);
	*err = farswap_rdma_conn_dead(conn) ? -EHOSTDOWN : 0;
	if (*err)
		goto out_unlock;
	for (i = 0; i < FARSWAP_RDMA_RPCS && !call; i++)
		if (conn->call[i].state == FARSWAP_RDMA_RPC_FREE)
			call = &conn->call[i];
	if (!call)
		goto out_unlock;

	call->seq = conn->next_seq++;
	farswap_wire_set_seq(msg, call->seq);
	*err = farswap_rdma_conn_send(conn, msg, len);
	if (*err) {
		call = NULL;
		if (*err == -EAGAIN)
			*err = 0;
		goto out_unlock;
	}
	call->type = type;
	call->region = region;
	call->state = FARSWAP_RDMA_RPC_WAITING;
	conn->session->nr_requests += rpc_counts(type);
out_unlock:
	spin_unlock(&conn->lock);
	return call;
}

static int rpc_end(struct farswap_rdma_conn *conn,
		   struct farswap_rdma_rpc *call, void *answer)
{
	int err = 0;

	spin_lock(&conn->lock);
	if (call->state == FARSWAP_RDMA_RPC_DONE) {
		memcpy(answer, call->answer, sizeof(call->answer));
		call->state = FARSWAP_RDMA_RPC_FREE;
		call->region = NULL;
	} else if (farswap_rdma_conn_dead(conn)) {
		err = -EHOSTDOWN;
		call->state = FARSWAP_RDMA_RPC_FREE;
		call->region = NULL;
	} else {
		err = -ETIMEDOUT;
		call->state = FARSWAP_RDMA_RPC_ABANDONED;
		call->abandoned_at = jiffies;
	}
	spin_unlock(&conn->lock);
	return err;
}

/**
 * farswap_rdma_rpc_call() - send a request and wait for the answer
 * @conn:	connection
 * @msg:	the request; numbered here
 * @len:	its length
 * @type:	type of the answer
 * @region:	for MAP: the region to fill in
 * @answer:	buffer of FARSWAP_RDMA_ANSWER_BYTES for the answer
 * @timeout_ms:	how long to wait
 *
 * Unless it returns 0 the caller loses @region: it is freed now, or later if the answer
 * may still arrive.
 *
 * Context: may sleep.
 * Return: 0, -EHOSTDOWN or -ETIMEDOUT.
 */
int farswap_rdma_rpc_call(struct farswap_rdma_conn *conn, void *msg, size_t len,
			  u16 type, struct farswap_region *region, void *answer,
			   unsigned int timeout_ms)
{
	long left = msecs_to_jiffies(timeout_ms);
	struct farswap_rdma_rpc *call;
	int err;

	left = wait_event_timeout(conn->wait,
				  (call = rpc_begin(conn, msg, len, type,
						     region, &err)) || err,
				  left);
	if (!call) {
		if (region)
			farswap_rdma_region_free(region);
		if (err && err != -EHOSTDOWN)
			farswap_rdma_conn_fail(conn, err, "posting failed");
		return err ? -EHOSTDOWN : -ETIMEDOUT;
	}
	wait_event_timeout(conn->wait,
			   READ_ONCE(call->state) == FARSWAP_RDMA_RPC_DONE ||
			   READ_ONCE(conn->error), left);
	err = rpc_end(conn, call, answer);
	wake_up_all(&conn->wait);
	if (err == -EHOSTDOWN && region)
		farswap_rdma_region_free(region);
	return err;
}

/**
 * farswap_rdma_rpc_overdue() - is an abandoned request still unanswered
 * @conn:	connection
 *
 * An abandoned request holds a credit until it is answered, so this must be bounded.
 *
 * Context: process.
 * Return: whether the donor is to be failed.
 */
bool farswap_rdma_rpc_overdue(struct farswap_rdma_conn *conn)
{
	unsigned long bound = msecs_to_jiffies(RPC_OVERDUE_MS);
	const struct farswap_rdma_rpc *call;
	bool overdue = false;

	spin_lock(&conn->lock);
	for (call = conn->call; call < conn->call + FARSWAP_RDMA_RPCS; call++)
		if (call->state == FARSWAP_RDMA_RPC_ABANDONED &&
		    time_after(jiffies, call->abandoned_at + bound))
			overdue = true;
	spin_unlock(&conn->lock);
	return overdue;
}

/**
 * farswap_rdma_rpc_quiesce() - drop the abandoned requests
 * @conn:	dead connection; no message is being handled
 * @dead:	list to which their regions are added
 *
 * Context: process, under conn->lock.
 */
void farswap_rdma_rpc_quiesce(struct farswap_rdma_conn *conn,
			      struct list_head *dead)
{
	struct farswap_rdma_rpc *call;

	lockdep_assert_held(&conn->lock);
	for (call = conn->call; call < conn->call + FARSWAP_RDMA_RPCS; call++) {
		if (call->state != FARSWAP_RDMA_RPC_ABANDONED)
			continue;
		call->state = FARSWAP_RDMA_RPC_FREE;
		if (call->region)
			list_add_tail(&call->region->entry, dead);
		call->region = NULL;
	}
}
