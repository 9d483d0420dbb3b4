// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions whose connections failed: for a while their regions are kept, with
 * their keys, for the client to come back and go on.
 *
 * What makes that safe is that the old queue pairs are destroyed before another
 * one is made that can reach the regions: whatever the client sent on the old
 * ones either has arrived by then or never will.
 *
 * A region that is taken back meanwhile is gone, and who names it is told so. It
 * loses no other by that.
 */
#include <inttypes.h>
#include <string.h>

#include "log.h"
#include "session.h"

static struct {
	unsigned int grace_ms;
	unsigned int max;
	unsigned int count;
} limbo;

/* What the client wants, but not longer than we do. */
static unsigned int limbo_ms(const struct session *session)
{
	uint32_t wanted = le32toh(session->hello.grace_ms);

	return wanted < limbo.grace_ms ? wanted : limbo.grace_ms;
}

bool limbo_enter(struct session *session, const char *why)
{
	unsigned int ms = limbo_ms(session);

	if (session->state != SESSION_READY || !ms || !session_lent(session) ||
	    session_leaving() || limbo.count >= limbo.max)
		return false;
	log_peer("%s: session %" PRIu64 " lost: %s; its %u regions are kept for %u ms",
		 session->peer, session->number, why, session_lent(session), ms);
	stats_inc(STAT_LIMBO);
	limbo.count++;
	session_set_state(session, SESSION_LIMBO);
	session->resuming = false;
	session->sweeping = false;
	region_owner_leave(&session->owner);
	queue_stop(session);
	loop_work_cancel(&session->sweep);
	message_stop(session);
	request_limbo(session);
	loop_timer_set(&session->deadline, ms);
	return true;
}

void limbo_leave(void)
{
	limbo.count--;
}

unsigned int limbo_count(void)
{
	return limbo.count;
}

/* The failure of the session's connections may not have been reported yet. */
static struct session *limbo_of(uint64_t secret)
{
	struct list *pos;

	if (!secret || !limbo.grace_ms)
		return NULL;
	list_for_each(pos, &session_list) {
		struct session *old = container_of(pos, struct session, link);

		if (old->secret == secret &&
		    (old->state == SESSION_READY || old->state == SESSION_LIMBO))
			return old;
	}
	return NULL;
}

bool limbo_may_resume(uint64_t secret)
{
	return limbo_of(secret);
}

/* Asked by @session, whose own secret nobody knows yet. */
struct session *limbo_find(const struct session *session, const struct farswap_hello *hello)
{
	struct session *old = limbo_of(le64toh(hello->resume));

	if (!old || old == session || old->hello.instance != hello->instance ||
	    memcmp(old->hello.node, hello->node, sizeof(hello->node)))
		return NULL;
	return old;
}

void limbo_adopt(struct session *session, struct session *old)
{
	struct ibv_pd *unused = session->lend_pd;

	/* First: from here on nothing of the old connections can arrive, or their keys must die. */
	if (!session_disconnect(old)) {
		session_end(old, STAT_END_LINK, SESSION_REACHED);
		return;
	}
	/*
	 * Domains and keys are of one device. By another, or the same that was away, the client
	 * asks for the keys; it may not have heard them the last time.
	 */
	session->rekeyed = old->rekeyed || old->device != session->device;
	if (old->device != session->device) {
		while (request_unregister(old))
			;
	}
	loop_timer_stop(&old->linger);
	region_owner_move(&old->owner, &session->owner);
	if (old->device == session->device) {
		session->lend_pd = old->lend_pd;
		old->lend_pd = unused;
	}
	/* The same, for an answer of ours that the client never got. */
	session->secret = old->secret;
	session->answers = old->answers;
	session->resuming = true;
	request_adopt(session);
	session_end(old, STAT_END_RESUMED, "resumed as session %" PRIu64, session->number);
}

bool limbo_claim(struct session *session, const struct farswap_resume *resume, uint64_t *gone)
{
	unsigned int i;

	_Static_assert(FARSWAP_RESUME_REGIONS <= 64, "a bit for each");
	*gone = 0;
	session->nr_claims += le32toh(resume->count);
	/* It may not know yet of some that they are others' by now. */
	if (session->nr_claims > region_loans())
		return false;
	for (i = 0; i < le32toh(resume->count); i++) {
		struct region *region = region_find(&session->owner, le64toh(resume->region[i]));

		if (region && region->claimed)
			return false;
		if (region)
			region->claimed = true;
		else
			*gone |= 1ULL << i;
	}
	session->nr_gone += __builtin_popcountll(*gone);
	return true;
}

/* One a turn: the client gave it back, or never heard that it has it. */
static void limbo_sweep(void *arg)
{
	struct session *session = arg;

	session->sweeping = request_sweep(session);
	if (session->sweeping)
		loop_work_queue(&session->sweep);
	else
		request_send_evicts(session);
}

void limbo_resumed(struct session *session)
{
	session->resuming = false;
	session->sweeping = true;
	loop_work_queue(&session->sweep);
	log_peer("%s: session %" PRIu64 " goes on; of the %u regions it knows %u are gone",
		 session->peer, session->number, session->nr_claims, session->nr_gone);
}

void limbo_init_session(struct session *session)
{
	loop_work_init(&session->sweep, limbo_sweep, session);
}

void limbo_init(unsigned int grace_ms, unsigned int max)
{
	limbo.grace_ms = grace_ms;
	limbo.max = max;
}
