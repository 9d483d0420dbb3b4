// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions whose connection failed because of the network or a revoked rkey. Their regions are
 * held for a while, and move to the next connection if the donor confirms it, except those that
 * the donor has reclaimed.
 *
 * A region that moves was dead, like its old connection, and is alive again when the
 * new one opens. By then both sides have destroyed their ends of the old queue pairs, so
 * nothing of the old connection can reach the region or a page of this machine any more.
 * That is what rule 6 requires.
 *
 * Locking: ops_lock covers session->held; a region moves under the locks of both connections.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "protocol.h"

static unsigned int resume_grace_ms;

/*
 * May the session be resumed after this error? It may if the network or the local device failed,
 * if an EVICT was missed, or if the donor's adapter refused an access for lack of resources. It may
 * not if the donor broke the protocol.
 */
static bool resume_is_possible(int error)
{
	switch (error) {
	case -EKEYREVOKED:
	case -EREMOTEIO:
	case -ETIMEDOUT:
	case -ECONNRESET:
	case -EHOSTDOWN:
	case -EHOSTUNREACH:
	case -ENETDOWN:
	case -EIO:
	case -ENODEV:
		return true;
	default:
		return false;
	}
}

static unsigned int resume_count(struct farswap_rdma_conn *conn)
{
	struct farswap_region *region;
	unsigned int bucket, count = 0;

	spin_lock(&conn->lock);
	hash_for_each(conn->regions, bucket, region, hash)
		count++;
	spin_unlock(&conn->lock);
	return count;
}

/* Return whether the donor may hold a page: the path takes pages, or has taken some. */
static bool resume_has_pages(const struct farswap_rdma_conn *conn)
{
	unsigned int i;

	if (READ_ONCE(conn->session->proven))
		return true;
	for (i = 0; i < conn->nr_queues; i++)
		if (conn->flow[i]->good)
			return true;
	return conn->resumed;
}

/* Have these queues moved a page, if they had any I/O? */
static bool resume_queues_healthy(struct farswap_rdma_flow *const *flow, unsigned int nr)
{
	bool used = false, good = false;

	for (; nr--; flow++) {
		used |= (*flow)->submitted[0] || (*flow)->submitted[1];
		good |= (*flow)->good;
	}
	return good || !used;
}

/*
 * Was the connection healthy before it failed? A donor that answers messages but moves no pages, or
 * none in one direction, would be resumed forever; it must be lost some time. So must a donor whose
 * rkeys are revoked again and again although it evicts no region and reports none lost.
 */
static bool resume_was_healthy(const struct farswap_rdma_conn *conn, unsigned int ms)
{
	unsigned int loads = farswap_rdma_loads(conn->nr_queues);

	if (!conn->resumed ||
	    time_after(jiffies, conn->live_since + msecs_to_jiffies(ms)))
		return true;
	if (READ_ONCE(conn->revoked) && conn->revoked_unexplained)
		return false;
	return resume_queues_healthy(conn->flow, loads) &&
	       resume_queues_healthy(conn->flow + loads, conn->nr_queues - loads);
}

/* Declare the held regions dead for good. */
static void resume_give_up(struct farswap_session *session, int error)
{
	struct farswap_rdma_conn *held = session->held;

	lockdep_assert_held(&session->ops_lock);
	if (!held)
		return;
	WRITE_ONCE(session->held, NULL);
	/* The held connection may be the one that is about to resume them. */
	farswap_rdma_conn_fail(held, error, "not resumed");
	if (!farswap_rdma_session_closing(session))
		session->ops->down(session->ctx, error);
	farswap_rdma_conn_put(held);
}

static void resume_grace_over(struct work_struct *work)
{
	struct farswap_session *session = container_of(to_delayed_work(work),
						       struct farswap_session,
						       grace_work);

	mutex_lock(&session->ops_lock);
	/* Otherwise the session was resumed, and has failed again. */
	if (time_after_eq(jiffies, session->held_until))
		resume_give_up(session, -ETIMEDOUT);
	mutex_unlock(&session->ops_lock);
}

/**
 * farswap_rdma_resume_suspend() - hold the regions of a connection that failed
 * @conn:	dead and quiesced
 *
 * Context: process.
 * Return: true if the session is suspended, and the core was notified of that; false if
 * there is nothing to resume, or it would be useless: the session is down.
 */
bool farswap_rdma_resume_suspend(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	unsigned int ms = READ_ONCE(resume_grace_ms);
	bool suspended = false;

	if (!ms || !resume_is_possible(conn->error) || !resume_count(conn))
		return false;
	mutex_lock(&session->ops_lock);
	if (farswap_rdma_session_closing(session) || !resume_has_pages(conn))
		goto out_unlock;
	if (resume_was_healthy(conn, ms))
		session->held_until = jiffies + msecs_to_jiffies(ms);
	if (time_before(jiffies, session->held_until)) {
		kref_get(&conn->ref);
		WRITE_ONCE(session->held, conn);
		session->ops->suspended(session->ctx, conn->error);
		mod_delayed_work(farswap_rdma_wq, &session->grace_work,
				 session->held_until - jiffies);
		suspended = true;
	}
out_unlock:
	mutex_unlock(&session->ops_lock);
	return suspended;
}

/**
 * farswap_rdma_resume_lost() - the donor no longer has any of the held regions
 * @session:	session; nothing happens unless it is suspended
 * @error:	-errno
 *
 * Context: process.
 */
void farswap_rdma_resume_lost(struct farswap_session *session, int error)
{
	mutex_lock(&session->ops_lock);
	resume_give_up(session, error);
	mutex_unlock(&session->ops_lock);
}

/**
 * farswap_rdma_resume_hello() - fill in HELLO's fields about resuming
 * @session:	session
 * @hello:	grace_ms and resume are set
 *
 * Names the last session even if its regions were given up: RESUME then names none of
 * them, so that the donor gets them back at once.
 *
 * Context: process, session->work only.
 */
void farswap_rdma_resume_hello(struct farswap_session *session,
			       struct farswap_wire_greeting *hello)
{
	hello->grace_ms = READ_ONCE(resume_grace_ms);
	hello->resume = session->token;
}

/*
 * Move all regions at once. A region released before is not named in RESUME; a region released
 * later is named, and its release is sent when the connection is open.
 */
static unsigned int resume_move(struct farswap_rdma_conn *from,
				struct farswap_rdma_conn *to, u64 *id)
{
	struct farswap_region *region;
	unsigned int bucket, i, count = 0;
	struct hlist_node *next;

	spin_lock(&from->lock);
	spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	hash_for_each_safe(from->regions, bucket, next, region, hash) {
		hash_del(&region->hash);
		/* The donor repeats the EVICT, if it has sent one. */
		region->evicted = false;
		kref_get(&to->ref);
		WRITE_ONCE(region->conn, to);
		hash_add(to->regions, &region->hash, farswap_region_hash(region->id));
		id[count++] = region->id;
	}
	spin_unlock(&to->lock);
	spin_unlock(&from->lock);
	for (i = 0; i < count; i++)
		farswap_rdma_conn_put(from);
	return count;
}

/*
 * Move the held regions to @conn, and return their ids, or NULL without memory. *@from is the
 * connection that had them, with a reference; NULL if none are held.
 */
static u64 *resume_take(struct farswap_rdma_conn *conn, struct farswap_rdma_conn **from,
			unsigned int *count)
{
	struct farswap_session *session = conn->session;
	struct farswap_rdma_conn *held;
	u64 *id;

	*from = NULL;
	*count = 0;
	mutex_lock(&session->ops_lock);
	held = session->held;
	/*
	 * A dead connection gets no more regions, so the count holds. The end of grace_ms takes
	 * this lock, so nothing here may wait for memory; the next attempt retries.
	 */
	id = kvmalloc_array(held ? resume_count(held) + 1 : 1, sizeof(*id),
			    GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	if (id && held) {
		*count = resume_move(held, conn, id);
		kref_get(&conn->ref);
		WRITE_ONCE(session->held, conn);
		*from = held;
	}
	mutex_unlock(&session->ops_lock);
	return id;
}

/*
 * Give a region that the donor no longer has back to the dead connection, so that it is dead for
 * good. Return false if it was released since; then its release is not sent.
 */
static bool resume_return(struct farswap_rdma_conn *conn, struct farswap_rdma_conn *dead, u64 id)
{
	struct farswap_region *region, *released = NULL;

	/* resume_move() uses this order too. */
	spin_lock(&dead->lock);
	spin_lock_nested(&conn->lock, SINGLE_DEPTH_NESTING);
	region = farswap_rdma_region_find(conn, id);
	if (region) {
		hash_del(&region->hash);
		kref_get(&dead->ref);
		WRITE_ONCE(region->conn, dead);
	} else {
		list_for_each_entry(released, &conn->releases, entry)
			if (released->id == id)
				break;
		if (list_entry_is_head(released, &conn->releases, entry))
			released = NULL;
		else
			list_del(&released->entry);
	}
	spin_unlock(&conn->lock);
	spin_unlock(&dead->lock);
	if (region)
		farswap_rdma_conn_put(conn);
	if (released)
		farswap_rdma_region_free(released);
	return region;
}

static void resume_lose(struct farswap_rdma_conn *conn, struct farswap_rdma_conn *dead, u64 id)
{
	struct farswap_session *session = conn->session;

	mutex_lock(&session->ops_lock);
	/* Otherwise all were given up, and the core was notified. */
	if (session->held == conn && resume_return(conn, dead, id) &&
	    !farswap_rdma_session_closing(session))
		session->ops->lost(session->ctx, id);
	mutex_unlock(&session->ops_lock);
}

/* Name these regions in a RESUME. @dead: the connection that had them. */
static int resume_claim(struct farswap_rdma_conn *conn, struct farswap_rdma_conn *dead,
			const u64 *id, unsigned int count, bool more)
{
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
	struct farswap_resume msg;
	unsigned int i;
	size_t len;
	u64 gone;
	int err;

	len = farswap_wire_resume(&msg, id, count, more);
	err = farswap_rdma_rpc_call(conn, &msg, len, FARSWAP_MSG_RESUMED, NULL,
				    answer, FARSWAP_RDMA_RPC_MS);
	if (err == -ETIMEDOUT)
		strscpy(conn->detail, "doesn't answer RESUME");
	if (err)
		return err;
	static_assert(FARSWAP_RESUME_REGIONS < BITS_PER_LONG_LONG);
	gone = farswap_wire_read_resumed(answer);
	if (gone >> count) {
		strscpy(conn->detail, "can't resume: it reports regions lost that we did not name");
		farswap_rdma_resume_lost(conn->session, -EPROTO);
		return -EPROTO;
	}
	if (gone)
		conn->revoked_unexplained = false;
	for (i = 0; i < count; i++)
		if (gone & BIT_ULL(i))
			resume_lose(conn, dead, id[i]);
	return 0;
}

/*
 * Get the new rkey of a region that the donor has registered with another device, because its own
 * was removed. The address is unchanged. Nothing is posted before the connection opens.
 */
static int resume_key(struct farswap_rdma_conn *conn, struct farswap_rdma_conn *dead, u64 id)
{
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
	struct farswap_region_msg msg;
	struct farswap_region *region;
	u32 rkey, status;
	u64 named;
	size_t len;
	int err;

	spin_lock(&conn->lock);
	region = farswap_rdma_region_find(conn, id);
	spin_unlock(&conn->lock);
	/* The region was released, or the donor no longer has it. */
	if (!region)
		return 0;
	len = farswap_wire_region_msg(&msg, FARSWAP_MSG_KEY, id);
	err = farswap_rdma_rpc_call(conn, &msg, len, FARSWAP_MSG_KEYED, NULL,
				    answer, FARSWAP_RDMA_RPC_MS);
	if (err == -ETIMEDOUT)
		strscpy(conn->detail, "doesn't answer KEY");
	if (err)
		return err;
	status = farswap_wire_read_keyed(answer, &named, &rkey);
	if (named != id) {
		strscpy(conn->detail, "KEYED names another region");
		farswap_rdma_resume_lost(conn->session, -EPROTO);
		return -EPROTO;
	}
	if (status != FARSWAP_STATUS_OK) {
		resume_lose(conn, dead, id);
		return 0;
	}
	spin_lock(&conn->lock);
	region = farswap_rdma_region_find(conn, id);
	if (region)
		region->rkey = rkey;
	spin_unlock(&conn->lock);
	return 0;
}

/* Is this the donor that has the regions? */
static bool resume_is_same(struct farswap_rdma_conn *conn, u64 requested)
{
	const struct farswap_wire_welcome *welcome = &conn->welcome;
	struct farswap_session *session = conn->session;
	bool same = requested && welcome->session == requested;

	mutex_lock(&session->ops_lock);
	if (session->held)
		same = same && welcome->instance == session->held->welcome.instance &&
		       !memcmp(welcome->node, session->held->welcome.node,
			       sizeof(welcome->node));
	mutex_unlock(&session->ops_lock);
	return same;
}

/*
 * Are both sides in the state in which the connection failed? The donor must have answered at least
 * the requests whose answers have arrived, and at most those that were sent. Otherwise one side is
 * a virtual machine restored to an earlier state, and the regions or their map are outdated.
 */
static bool resume_is_consistent(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	u64 answers = conn->welcome.answers;

	return !READ_ONCE(session->held) ||
	       (session->nr_answers <= answers && answers <= session->nr_requests);
}

/*
 * Must the session be named again in the next HELLO? If its @count regions were given up meanwhile
 * the donor keeps them until then.
 */
static bool resume_is_pending(const struct farswap_session *session, int error, unsigned int count)
{
	return READ_ONCE(session->held) || (count && error != -EPROTO);
}

/**
 * farswap_rdma_resume_claim() - have the donor confirm the held regions
 * @conn:	connection with a WELCOME, not live yet
 * @requested:	the session that HELLO named
 *
 * If the donor has begun another session the held regions are lost, and if it no longer has
 * some of them only those are lost; the connection is usable in both cases.
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int farswap_rdma_resume_claim(struct farswap_rdma_conn *conn, u64 requested)
{
	struct farswap_session *session = conn->session;
	unsigned int count, at = 0, nr;
	struct farswap_rdma_conn *from;
	const char *wrong = NULL;
	int err = 0;
	u64 *id;

	if (!conn->welcome.resumed)
		farswap_rdma_resume_lost(session, -ECONNRESET);
	else if (!resume_is_same(conn, requested))
		wrong = "resumes a different session";
	else if (!resume_is_consistent(conn))
		wrong = "can't resume: it, or this machine, was restored to an earlier state";
	if (wrong) {
		strscpy(conn->detail, wrong);
		farswap_rdma_resume_lost(session, -EPROTO);
		session->token = 0;
		return -EPROTO;
	}
	/* Both sides have dropped the pending requests of the old connection. */
	session->nr_requests = conn->welcome.answers;
	session->nr_answers = conn->welcome.answers;
	if (!conn->welcome.resumed)
		return 0;
	id = resume_take(conn, &from, &count);
	if (!id)
		return -ENOMEM;
	/* A revoked rkey is explained if the donor was evicting a region. */
	conn->revoked_unexplained = from && READ_ONCE(from->revoked) && !from->evict_requested;
	/* At least one RESUME, even without a region: the donor waits for it. */
	do {
		nr = min(count - at, FARSWAP_RESUME_REGIONS + 0U);
		err = resume_claim(conn, from, id + at, nr, at + nr < count);
		at += nr;
	} while (!err && at < count);
	if (conn->welcome.resumed == FARSWAP_RESUMED_NEW_KEYS)
		for (at = 0; !err && at < count; at++)
			err = resume_key(conn, from, id[at]);
	kvfree(id);
	if (from) {
		/* Submitters that saw a lost region on @conn have seen that it is not open. */
		synchronize_rcu();
		farswap_rdma_conn_put(from);
	}
	if (err && !resume_is_pending(session, err, count))
		session->token = 0;
	return err;
}

/**
 * farswap_rdma_resume_end() - end the suspension when a connection is live
 * @conn:	connection
 *
 * Context: process, under ops_lock.
 * Return: whether the connection has taken over held regions.
 */
bool farswap_rdma_resume_end(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;

	lockdep_assert_held(&session->ops_lock);
	if (session->held != conn)
		return false;
	WRITE_ONCE(session->held, NULL);
	conn->resumed = true;
	cancel_delayed_work(&session->grace_work);
	farswap_rdma_conn_put(conn);
	return true;
}

/**
 * farswap_rdma_resume_set_grace() - &struct farswap_transport.set_grace
 * @ms:		milliseconds
 *
 * Context: any.
 */
void farswap_rdma_resume_set_grace(unsigned int ms)
{
	WRITE_ONCE(resume_grace_ms, ms);
}

/**
 * farswap_rdma_resume_init() - initialise a session without held regions
 * @session:	session
 */
void farswap_rdma_resume_init(struct farswap_session *session)
{
	INIT_DELAYED_WORK(&session->grace_work, resume_grace_over);
}

/**
 * farswap_rdma_resume_exit() - drop the held connection
 * @session:	closing; neither connected nor suspended
 *
 * Context: may sleep.
 */
void farswap_rdma_resume_exit(struct farswap_session *session)
{
	cancel_delayed_work_sync(&session->grace_work);
	if (session->held)
		farswap_rdma_conn_put(session->held);
	session->held = NULL;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/resume-kunit.h"
#endif
