// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions whose connection failed for want of a network, or for a key that was dead: their
 * regions are held for a while, and go to the connection that the donor accepts as theirs,
 * but for those that it has taken back meanwhile.
 *
 * A region that moves was dead, as its old connection was, and is alive again
 * when the new one opens. By then the donor has destroyed its end of the old
 * queue pairs, as we did with ours: nothing of the old connection can reach the
 * region, nor a page of ours, any more. That is what rule 6 asks for.
 *
 * Locking: ops_lock covers session->held; both connections' locks a region's move.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

static unsigned int resume_grace_ms;

/*
 * Is it the network that failed, or our device, or did we miss that a region is gone? Likewise an
 * access that the donor's adapter could not make, for want of memory or of order. A donor that
 * breaks the protocol gets no second chance.
 */
static bool resume_may_follow(int error)
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
static bool resume_is_worth_it(const struct farswap_rdma_conn *conn)
{
	unsigned int i;

	if (READ_ONCE(conn->session->proven))
		return true;
	for (i = 0; i < conn->nr_queues; i++)
		if (conn->queue[i].good)
			return true;
	return conn->resumed;
}

/* Has any page been moved by these queues, if they were given one? */
static bool resume_queues_well(const struct farswap_rdma_queue *queue, unsigned int nr)
{
	bool used = false, good = false;

	for (; nr--; queue++) {
		used |= queue->submitted[0] || queue->submitted[1];
		good |= queue->good;
	}
	return good || !used;
}

/*
 * Was the donor well before it failed? One that answers messages but moves no page, or none
 * in one direction, is resumed each time, and must be lost some time nevertheless. So must one
 * whose keys are dead again and again, though it wants no region back and has lost none.
 */
static bool resume_was_well(const struct farswap_rdma_conn *conn, unsigned int ms)
{
	unsigned int loads = farswap_rdma_loads(conn->nr_queues);

	if (!conn->resumed ||
	    time_after(jiffies, conn->live_since + msecs_to_jiffies(ms)))
		return true;
	if (READ_ONCE(conn->revoked) && conn->unexplained)
		return false;
	return resume_queues_well(conn->queue, loads) &&
	       resume_queues_well(conn->queue + loads, conn->nr_queues - loads);
}

/* The regions are dead for good. */
static void resume_give_up(struct farswap_session *session, int error)
{
	struct farswap_rdma_conn *held = session->held;

	lockdep_assert_held(&session->ops_lock);
	if (!held)
		return;
	WRITE_ONCE(session->held, NULL);
	/* It may be the one with which they were about to be resumed. */
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
	/* Else it was resumed, and has failed again. */
	if (time_after_eq(jiffies, session->held_until))
		resume_give_up(session, -ETIMEDOUT);
	mutex_unlock(&session->ops_lock);
}

/**
 * farswap_rdma_resume_suspend() - hold the regions of a connection that failed
 * @conn:	dead and quiesced
 *
 * Context: process.
 * Return: false if there is nothing to resume, or no use in it: the session is
 * down. Else the core has been told that it is suspended.
 */
bool farswap_rdma_resume_suspend(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	unsigned int ms = READ_ONCE(resume_grace_ms);
	bool suspended = false;

	if (!ms || !resume_may_follow(conn->error) || !resume_count(conn))
		return false;
	mutex_lock(&session->ops_lock);
	if (farswap_rdma_session_closing(session) || !resume_is_worth_it(conn))
		goto out_unlock;
	if (resume_was_well(conn, ms))
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
 * farswap_rdma_resume_lost() - the donor has the regions no more
 * @session:	suspended, or nothing happens
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
 * farswap_rdma_resume_hello() - what HELLO says about it
 * @session:	session
 * @hello:	grace and session to be resumed are filled in
 *
 * The last session is named even if its regions were given up: then the donor is
 * told that none is held, and has them back at once.
 *
 * Context: process, of session->work.
 */
void farswap_rdma_resume_hello(struct farswap_session *session,
			       struct farswap_wire_greeting *hello)
{
	hello->grace_ms = READ_ONCE(resume_grace_ms);
	hello->resume = session->token;
}

/*
 * All at once: what is released before is not named, what is released later is
 * named, and given back when the connection is open.
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
		/* An EVICT that it had been sent for is sent anew. */
		region->evicted = false;
		kref_get(&to->ref);
		WRITE_ONCE(region->conn, to);
		hash_add(to->regions, &region->hash, region->id);
		id[count++] = region->id;
	}
	spin_unlock(&to->lock);
	spin_unlock(&from->lock);
	for (i = 0; i < count; i++)
		farswap_rdma_conn_put(from);
	return count;
}

/*
 * The held regions' ids; they are @conn's then. NULL: no memory. The connection whose they were
 * is @from's, a reference; NULL if none are held.
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
	 * No more are added to a dead connection. The grace ends under this lock, so
	 * nothing here may wait for memory; there will be another attempt.
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
 * A region that the donor has no more goes back to a connection that is dead, as it is for good.
 * False: it was released since, and is not to be given back to who does not know it.
 */
static bool resume_return(struct farswap_rdma_conn *conn, struct farswap_rdma_conn *dead, u64 id)
{
	struct farswap_region *region, *released = NULL;

	/* As resume_move(). */
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
	/* Else they were all given up, and the core knows. */
	if (session->held == conn && resume_return(conn, dead, id) &&
	    !farswap_rdma_session_closing(session))
		session->ops->lost(session->ctx, id);
	mutex_unlock(&session->ops_lock);
}

/* @dead: whose the regions were. */
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
	err = farswap_rdma_call_make(conn, &msg, len, FARSWAP_MSG_RESUMED, NULL,
				     answer, FARSWAP_RDMA_CALL_MS);
	if (err == -ETIMEDOUT)
		strscpy(conn->detail, "doesn't answer RESUME");
	if (err)
		return err;
	static_assert(FARSWAP_RESUME_REGIONS < BITS_PER_LONG_LONG);
	gone = farswap_wire_read_resumed(answer);
	if (gone >> count) {
		strscpy(conn->detail, "can't resume: it has lost regions that we did not name");
		farswap_rdma_resume_lost(conn->session, -EPROTO);
		return -EPROTO;
	}
	if (gone)
		conn->unexplained = false;
	for (i = 0; i < count; i++)
		if (gone & BIT_ULL(i))
			resume_lose(conn, dead, id[i]);
	return 0;
}

/*
 * The donor has registered the region with another device, its own having been away: under the
 * same address, but with another key. Nothing is posted before the connection opens.
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
	/* It was released, or the donor has it no more. */
	if (!region)
		return 0;
	len = farswap_wire_region_msg(&msg, FARSWAP_MSG_KEY, id);
	err = farswap_rdma_call_make(conn, &msg, len, FARSWAP_MSG_KEYED, NULL,
				     answer, FARSWAP_RDMA_CALL_MS);
	if (err == -ETIMEDOUT)
		strscpy(conn->detail, "doesn't answer KEY");
	if (err)
		return err;
	status = farswap_wire_read_keyed(answer, &named, &rkey);
	if (named != id) {
		strscpy(conn->detail, "gives the key of another region");
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

/* Is the donor that says so the one that has the regions? */
static bool resume_is_same(struct farswap_rdma_conn *conn, u64 asked)
{
	const struct farswap_wire_welcome *welcome = &conn->welcome;
	struct farswap_session *session = conn->session;
	bool same = asked && welcome->session == asked;

	mutex_lock(&session->ops_lock);
	if (session->held)
		same = same && welcome->instance == session->held->welcome.instance &&
		       !memcmp(welcome->node, session->held->welcome.node,
			       sizeof(welcome->node));
	mutex_unlock(&session->ops_lock);
	return same;
}

/*
 * Is it as we left it? The donor has answered what it was heard to answer, and no more
 * than it was asked. If not, one of both is a virtual machine that was put back to an
 * earlier state, and the regions, or what we know of them, are not the last.
 */
static bool resume_is_in_step(struct farswap_rdma_conn *conn)
{
	struct farswap_session *session = conn->session;
	u64 answers = conn->welcome.answers;

	return !READ_ONCE(session->held) ||
	       (session->answered <= answers && answers <= session->asked);
}

/*
 * Is the donor still to hear of the session, of which so many regions were to be claimed? If they
 * were given up meanwhile it has them until it does.
 */
static bool resume_is_owed(const struct farswap_session *session, int error, unsigned int count)
{
	return READ_ONCE(session->held) || (count && error != -EPROTO);
}

/**
 * farswap_rdma_resume_claim() - have the donor confirm the held regions
 * @conn:	connection with a WELCOME, of which nobody knows yet
 * @asked:	the session that HELLO asked for
 *
 * If this is another session the regions are lost, and the connection good. So it is if the
 * donor has no more some of them, which are lost alone.
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int farswap_rdma_resume_claim(struct farswap_rdma_conn *conn, u64 asked)
{
	struct farswap_session *session = conn->session;
	unsigned int count, at = 0, nr;
	struct farswap_rdma_conn *from;
	const char *wrong = NULL;
	int err = 0;
	u64 *id;

	if (!conn->welcome.resumed)
		farswap_rdma_resume_lost(session, -ECONNRESET);
	else if (!resume_is_same(conn, asked))
		wrong = "resumes another session than ours";
	else if (!resume_is_in_step(conn))
		wrong = "can't resume: it, or this machine, was put back to an earlier state";
	if (wrong) {
		strscpy(conn->detail, wrong);
		farswap_rdma_resume_lost(session, -EPROTO);
		session->token = 0;
		return -EPROTO;
	}
	/* What the old connections had out is forgotten on both sides. */
	session->asked = conn->welcome.answers;
	session->answered = conn->welcome.answers;
	if (!conn->welcome.resumed)
		return 0;
	id = resume_take(conn, &from, &count);
	if (!id)
		return -ENOMEM;
	/* Of a region that it wanted back, the key may well be dead. */
	conn->unexplained = from && READ_ONCE(from->revoked) && !from->wanted;
	/* One at least, though no region be held: the donor waits for it. */
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
		/* Who saw a region here that is gone has seen by then that we are not open. */
		synchronize_rcu();
		farswap_rdma_conn_put(from);
	}
	if (err && !resume_is_owed(session, err, count))
		session->token = 0;
	return err;
}

/**
 * farswap_rdma_resume_end() - a connection is live: does it go on with regions
 * @conn:	connection
 *
 * Context: process, under ops_lock.
 * Return: whether it does; then they are not held any more.
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
 * farswap_rdma_resume_init() - a session that holds nothing
 * @session:	session
 */
void farswap_rdma_resume_init(struct farswap_session *session)
{
	INIT_DELAYED_WORK(&session->grace_work, resume_grace_over);
}

/**
 * farswap_rdma_resume_exit() - let go of what is held
 * @session:	closing; it is neither connected nor suspended any more
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
