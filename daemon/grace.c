// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions in their grace period: the connections failed, and the regions are kept for a while
 * with their rkeys, so that the client can resume the session.
 *
 * This is safe because the old queue pairs are destroyed before a new one that can reach the
 * regions is created: everything that the client sent on the old ones has arrived by then or
 * never will.
 *
 * A region that is reclaimed meanwhile is lost, and RESUMED reports that to the client. It keeps
 * the others.
 */
#include <inttypes.h>
#include <string.h>

#include "log.h"
#include "session.h"

static struct {
	unsigned int grace_ms;
	unsigned int max;
	unsigned int count;
	bool anywhere;
} grace;

/* The client's limit or the donor's, whichever is shorter. */
static unsigned int grace_limit_ms(const struct session *session)
{
	uint32_t wanted = le32toh(session->hello.grace_ms);

	return wanted < grace.grace_ms ? wanted : grace.grace_ms;
}

bool grace_enter(struct session *session, const char *why)
{
	unsigned int ms = grace_limit_ms(session);

	if (session->state != SESSION_READY || !ms || !session_lent(session) ||
	    session_leaving() || grace.count >= grace.max)
		return false;
	log_peer(session->peer, "session %" PRIu64 " lost: %s; its %u regions are kept for %u ms",
		 session->number, why, session_lent(session), ms);
	stats_inc(STAT_GRACE);
	grace.count++;
	session_set_state(session, SESSION_GRACE);
	session->resuming = false;
	session->sweeping = false;
	region_owner_leave(&session->owner);
	control_stop(session);
	loop_work_cancel(&session->sweep);
	message_stop(session);
	request_grace(session);
	loop_timer_set(&session->deadline, ms);
	return true;
}

void grace_leave(void)
{
	grace.count--;
}

unsigned int grace_count(void)
{
	return grace.count;
}

/*
 * Without keys an eavesdropper knows the secret, but does not receive packets that are sent to the
 * client.
 */
bool grace_is_from(const struct session *session, const struct sockaddr *from)
{
	return grace.anywhere || session->auth.on ||
	       address_equal((const struct sockaddr *)&session->client->address,
						from);
}

/* The connections may have failed without an event so far, so a ready session counts too. */
static bool grace_can_be(const struct session *old, const struct sockaddr *from)
{
	return grace.grace_ms && grace_is_from(old, from) &&
	       (old->state == SESSION_READY || old->state == SESSION_GRACE);
}

bool grace_may_resume(const struct farswap_connect *connect, const struct sockaddr *from)
{
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *old = container_of(pos, struct session, link);

		if (connect->session && session_is_named(old, connect) && grace_can_be(old, from))
			return true;
	}
	return false;
}

/* Called for @session, whose own secret the client does not know yet. */
struct session *grace_find(const struct session *session, const struct farswap_hello *hello)
{
	const struct sockaddr *from = (const struct sockaddr *)&session->client->address;
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *old = container_of(pos, struct session, link);

		if (hello->resume && old->secret == le64toh(hello->resume) && old != session &&
		    !strcmp(old->auth.name, session->auth.name) &&
		    old->hello.instance == hello->instance &&
		    !memcmp(old->hello.node, hello->node, sizeof(hello->node)) &&
		    grace_can_be(old, from))
			return old;
	}
	return NULL;
}

void grace_adopt(struct session *session, struct session *old)
{
	struct ibv_pd *unused = session->lend_pd;

	/* First of all. If it fails the old connections could still reach the regions. */
	if (!session_disconnect(old)) {
		session_end(old, STAT_END_LINK, SESSION_REACHABLE);
		return;
	}
	/*
	 * Domains and rkeys belong to a device. If the device has changed, or was removed, the
	 * client queries the rkeys; the answers of the last attempt may not have reached it.
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
	/* The client knows this secret, even if it has missed our last WELCOME. */
	session->secret = old->secret;
	session->answers = old->answers;
	session->resuming = true;
	request_adopt(session);
	session_end(old, STAT_END_RESUMED, "resumed as session %" PRIu64, session->number);
}

bool grace_claim(struct session *session, const struct farswap_resume *resume, uint64_t *gone)
{
	unsigned int i;

	_Static_assert(FARSWAP_RESUME_REGIONS <= 64, "a bit for each");
	*gone = 0;
	session->nr_claims += le32toh(resume->count);
	/* A client may name regions that have been lent to others since. */
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

/* Reclaim one region per turn that the client did not claim: its MR_INFO or UNMAP was lost. */
static void grace_sweep(void *arg)
{
	struct session *session = arg;

	session->sweeping = request_sweep(session);
	if (session->sweeping)
		loop_work_queue(&session->sweep);
	else
		request_send_evicts(session);
}

void grace_resumed(struct session *session)
{
	session->resuming = false;
	session->sweeping = true;
	loop_work_queue(&session->sweep);
	log_peer(session->peer, "session %" PRIu64 " resumed: %u of its %u regions are lost",
		 session->number, session->nr_gone, session->nr_claims);
}

void grace_init_session(struct session *session)
{
	loop_work_init(&session->sweep, grace_sweep, session);
}

void grace_init(unsigned int grace_ms, unsigned int max, bool anywhere)
{
	grace.grace_ms = grace_ms;
	grace.max = max;
	grace.anywhere = anywhere;
}
