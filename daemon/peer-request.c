// SPDX-License-Identifier: GPL-2.0
/*
 * The donor's requests to a client (EVICT, CHECK_ACTIVITY, PING), the matching of answers,
 * and what happens without an answer.
 *
 * Each unanswered request takes a credit; one credit is reserved for PING. An EVICT without a
 * credit waits, but its deadline does not. When the deadline passes the region's rkey is
 * revoked, whether EVICT was sent or not; the credit returns only with DONE.
 */
#include <errno.h>
#include <inttypes.h>

#include "evict.h"
#include "log.h"
#include "session.h"

#define REQUEST_MAX	(FARSWAP_CREDITS - 1)
/* Longer than a retransmitted READ that was sent before the region was returned stays in flight. */
#define REQUEST_LINGER_MS	500

static struct session_request *request_alloc(struct session *session, unsigned int type)
{
	struct session_request *request = session->requests;

	if (session->state != SESSION_READY || session->resuming || session->sweeping ||
	    session->nr_requests == REQUEST_MAX)
		return NULL;
	while (request->type)
		request++;
	request->type = type;
	request->seq = ++session->seq;
	request->sent_ns = loop_now_ns();
	session->nr_requests++;
	return request;
}

static void request_free(struct session *session, struct session_request *request)
{
	request->type = 0;
	session->nr_requests--;
}

static struct session_request *request_find(struct session *session, unsigned int type,
					    uint32_t seq)
{
	int i;

	for (i = 0; i < FARSWAP_CREDITS; i++)
		if (session->requests[i].type == type && session->requests[i].seq == seq)
			return &session->requests[i];
	return NULL;
}

static struct session_request *request_find_evict(struct session *session, uint64_t region)
{
	int i;

	for (i = 0; i < FARSWAP_CREDITS; i++)
		if (session->requests[i].type == FARSWAP_MSG_EVICT &&
		    session->requests[i].region[0] == region)
			return &session->requests[i];
	return NULL;
}

static void request_settle(struct session *session, uint64_t region, uint32_t seq)
{
	session->settled[session->next_settled].region = region;
	session->settled[session->next_settled].seq = seq;
	session->next_settled = (session->next_settled + 1) % SESSION_SETTLED;
}

/* Return true once for each settled eviction with this sequence number. */
static bool request_was_settled(struct session *session, uint64_t region, uint32_t seq)
{
	int i;

	for (i = 0; region && i < SESSION_SETTLED; i++) {
		if (session->settled[i].region != region || session->settled[i].seq != seq)
			continue;
		session->settled[i].region = 0;
		return true;
	}
	return false;
}

void request_region_is_back(struct region *region, bool dead)
{
	uint64_t job = region->evict_job;

	region->evict_job = 0;
	if (job)
		evict_region_gone(job, !dead ? EVICT_BROKEN :
				  region->revoked ? EVICT_REVOKED : EVICT_RETURNED);
}

/* Revoke the rkey. The eviction job is notified when that is done. */
static void request_region_back(struct region *region, enum stats_counter how)
{
	stats_inc(how);
	region->revoked = how == STAT_RETURN_REVOKED;
	region_return(region);
	message_kick_pool();
}

/* The client has returned the region: see region_return_later(). */
static void request_region_given(struct session *session, struct region *region,
				 enum stats_counter how)
{
	stats_inc(how);
	region_return_later(region, loop_now_ms() + REQUEST_LINGER_MS);
	if (session->owner.nr[REGION_RETURNED] == 1)
		loop_timer_set(&session->linger, REQUEST_LINGER_MS);
	message_kick_pool();
}

static void request_linger_over(void *arg)
{
	struct session *session = arg;
	uint64_t now = loop_now_ms();
	struct region *region;

	while ((region = list_first(&session->owner.regions[REGION_RETURNED],
				    struct region, link))) {
		if (region->evict_at_ms > now) {
			loop_timer_set(&session->linger, region->evict_at_ms - now);
			return;
		}
		region_return(region);
	}
}

/* Put the region at the head of the queue of evictions. */
static void request_queue_first(struct region *region)
{
	region_set_state(region, REGION_EVICT_WAIT);
	list_del(&region->link);
	list_add(&region->link, &region->owner->regions[REGION_EVICT_WAIT]);
}

/* Return the region with the next deadline; evictions are in the order of their deadlines. */
static struct region *request_overdue(struct session *session)
{
	struct region *waits, *sent;

	waits = list_first(&session->owner.regions[REGION_EVICT_WAIT], struct region, link);
	sent = list_first(&session->owner.regions[REGION_EVICTING], struct region, link);
	if (!waits || !sent)
		return waits ? waits : sent;
	return waits->evict_at_ms < sent->evict_at_ms ? waits : sent;
}

static void request_set_timer(struct session *session)
{
	struct region *region = request_overdue(session);
	uint64_t now = loop_now_ms();

	loop_timer_stop(&session->evict);
	if (region && session->state != SESSION_DEAD)
		loop_timer_set(&session->evict,
			       region->evict_at_ms > now ? region->evict_at_ms - now : 0);
}

void request_send_evicts(struct session *session)
{
	struct farswap_evict evict;
	struct region *region;

	while ((region = list_first(&session->owner.regions[REGION_EVICT_WAIT],
				    struct region, link))) {
		struct session_request *request = request_alloc(session, FARSWAP_MSG_EVICT);
		uint64_t now = loop_now_ms();

		if (!request)
			break;
		request->region[0] = region->id;
		region->evict_seq = request->seq;
		region_set_state(region, REGION_EVICTING);
		wire_init(&evict.hdr, FARSWAP_MSG_EVICT, request->seq);
		evict.region = htole64(region->id);
		evict.deadline_ms = htole32(region->evict_at_ms > now ?
					    region->evict_at_ms - now : 1);
		stats_inc(STAT_EVICTS);
		control_send(session, &evict.hdr, false);
	}
}

void request_evict(struct region *region, uint64_t job, unsigned int evict_ms)
{
	struct session *session = session_of(region->owner);

	/* In the grace period there is no client to wait for. */
	if (session->state == SESSION_GRACE)
		evict_ms = 0;
	region->evict_job = job;
	region->evict_at_ms = loop_now_ms() + evict_ms;
	region->evict_by_ms = region->evict_at_ms + evict_ms;
	if (evict_ms)
		region_set_state(region, REGION_EVICT_WAIT);
	else
		request_queue_first(region);
	request_send_evicts(session);
	request_set_timer(session);
}

/* Revoke one rkey per turn, because another client may be waiting. */
static void request_revoke_overdue(void *arg)
{
	struct session *session = arg;
	struct region *region = request_overdue(session);

	if (region && region->evict_at_ms <= loop_now_ms()) {
		log_peer(session->peer, "session %" PRIu64 " did not return region %" PRIu64 ": rkey revoked",
			 session->number, region->id);
		/* If EVICT was sent its request waits for a late DONE, and need not be recorded. */
		if (region->state == REGION_EVICT_WAIT)
			request_settle(session, region->id, 0);
		session->revoked = true;
		request_region_back(region, STAT_RETURN_REVOKED);
	}
	request_set_timer(session);
}

bool request_unmap(struct session *session, uint64_t id)
{
	struct session_request *request = request_find_evict(session, id);
	struct region *region = region_find(&session->owner, id);

	if (request) {
		/* UNMAP has crossed our EVICT, which the client may answer or not. */
		request_settle(session, id, request->seq);
		request_free(session, request);
	} else if (!region) {
		/* Only the last revocations are recorded, so accept any region that was lent. */
		return request_was_settled(session, id, 0) ||
		       (session->revoked && region_was_lent(id));
	}
	if (region)
		request_region_given(session, region, STAT_RETURN_UNMAP);
	request_send_evicts(session);
	request_set_timer(session);
	return true;
}

bool request_done(struct session *session, uint64_t id, uint32_t seq)
{
	struct session_request *request = request_find(session, FARSWAP_MSG_EVICT, seq);
	struct region *region = region_find(&session->owner, id);

	if (!request || request->region[0] != id)
		return request_was_settled(session, id, seq);
	request_free(session, request);
	/* The region is already gone if the deadline has passed. */
	if (region) {
		stats_time(STAT_TIME_EVICT, loop_now_ns() - request->sent_ns);
		request_region_given(session, region, STAT_RETURN_DONE);
	}
	request_send_evicts(session);
	request_set_timer(session);
	return true;
}

/*
 * Does the client owe an answer to a query that has timed out? Another query would delay the
 * next eviction as well.
 */
static bool request_is_late(const struct session *session)
{
	int i;

	for (i = 0; i < FARSWAP_CREDITS; i++)
		if (session->requests[i].type == FARSWAP_MSG_CHECK_ACTIVITY &&
		    !evict_is_querying(session->requests[i].job))
			return true;
	return false;
}

/* The client fails the session of a donor that queries more often. Leave some for PING. */
static bool request_may_query(struct session *session, unsigned int count)
{
	uint64_t now = loop_now_ms();

	if (now - session->queries_since_ms >= 1000) {
		session->queries_since_ms = now;
		session->nr_queries = 0;
	}
	if (session->nr_queries + count > FARSWAP_QUERIES_PER_SECOND - FARSWAP_CREDITS)
		return false;
	session->nr_queries += count;
	return true;
}

bool request_activity(struct session *session, uint64_t job, const uint64_t *regions,
		      unsigned int count)
{
	struct session_request *request;
	struct farswap_check_activity check;
	unsigned int i;

	if (request_is_late(session) || !request_may_query(session, count))
		return false;
	request = request_alloc(session, FARSWAP_MSG_CHECK_ACTIVITY);
	if (!request)
		return false;
	request->job = job;
	request->count = count;
	wire_init(&check.hdr, FARSWAP_MSG_CHECK_ACTIVITY, request->seq);
	check.count = htole32(count);
	for (i = 0; i < count; i++) {
		request->region[i] = regions[i];
		check.region[i] = htole64(regions[i]);
	}
	stats_inc(STAT_ACTIVITY);
	control_send(session, &check.hdr, false);
	return true;
}

bool request_activity_answer(struct session *session, const struct farswap_activity *answer)
{
	struct session_request *request;
	unsigned int i;

	request = request_find(session, FARSWAP_MSG_CHECK_ACTIVITY, le32toh(answer->hdr.seq));
	if (!request || le32toh(answer->count) != request->count)
		return false;
	for (i = 0; i < request->count; i++)
		if (le64toh(answer->entry[i].region) != request->region[i])
			return false;
	stats_time(STAT_TIME_ACTIVITY, loop_now_ns() - request->sent_ns);
	for (i = 0; i < request->count; i++)
		evict_set_activity(request->job, request->region[i], le32toh(answer->entry[i].pages));
	request_free(session, request);
	evict_answered(request->job);
	request_send_evicts(session);
	return true;
}

static void request_ping(void *arg)
{
	struct session *session = arg;
	struct farswap_hdr ping;

	loop_timer_set(&session->ping, SESSION_PING_MS);
	if (session->ping_waits) {
		if (++session->ping_misses >= SESSION_PING_MISSES)
			session_lost(session, STAT_END_PING, "no answer to PING for %u ms",
				     SESSION_PING_MS * SESSION_PING_MISSES);
		return;
	}
	session->ping_waits = true;
	session->ping_seq = ++session->seq;
	session->ping_ns = loop_now_ns();
	wire_init(&ping, FARSWAP_MSG_PING, session->ping_seq);
	control_send(session, &ping, false);
}

bool request_pong(struct session *session, uint32_t seq)
{
	if (!session->ping_waits || session->ping_seq != seq)
		return false;
	stats_time(STAT_TIME_PING, loop_now_ns() - session->ping_ns);
	session->ping_waits = false;
	session->ping_misses = 0;
	return true;
}

void request_alive(struct session *session)
{
	session->ping_misses = 0;
}

bool request_reclaim(struct session *session)
{
	int state;

	if (!session->has_owner)
		return false;
	loop_timer_stop(&session->linger);
	for (state = REGION_STAGED; state <= REGION_RETURNED; state++) {
		struct region *region = list_first(&session->owner.regions[state],
						   struct region, link);

		if (!region)
			continue;
		if (state == REGION_STAGED || state == REGION_RETURNED)
			region_return(region);
		else
			request_region_back(region, STAT_RETURN_SESSION);
		return true;
	}
	return false;
}

bool request_sweep(struct session *session)
{
	struct list *pos;
	int state;

	for (state = REGION_MAPPED; state <= REGION_EVICTING; state++) {
		list_for_each(pos, &session->owner.regions[state]) {
			struct region *region = container_of(pos, struct region, link);

			if (region->claimed)
				continue;
			request_region_back(region, STAT_RETURN_SESSION);
			return true;
		}
	}
	return false;
}

static void request_unregister_region(struct region *region)
{
	uint64_t job = region->evict_job;

	if (region->state == REGION_STAGED || region->state == REGION_RETURNED)
		region_return(region);
	else if (!region_unregister(region) && job)
		evict_region_gone(job, EVICT_BROKEN);
}

bool request_unregister(struct session *session)
{
	struct list *pos;
	int state;

	for (state = REGION_STAGED; state <= REGION_RETURNED; state++) {
		list_for_each(pos, &session->owner.regions[state]) {
			struct region *region = container_of(pos, struct region, link);

			if (!region->mr)
				continue;
			request_unregister_region(region);
			return true;
		}
	}
	session->owner.pd = NULL;
	return false;
}

int request_key(struct session *session, uint64_t id, uint32_t *rkey)
{
	struct region *region = region_find(&session->owner, id);
	int err = region ? region_register(region) : -ENOENT;

	if (!err)
		*rkey = region->rkey;
	else if (region)
		request_region_back(region, STAT_RETURN_SESSION);
	return err;
}

void request_adopt(struct session *session)
{
	uint64_t at_ms = loop_now_ms() + evict_deadline_ms();
	struct region *region;
	struct list *pos;

	while ((region = list_last(&session->owner.regions[REGION_EVICTING],
				   struct region, link)))
		request_queue_first(region);
	list_for_each(pos, &session->owner.regions[REGION_EVICT_WAIT]) {
		region = container_of(pos, struct region, link);
		region->evict_at_ms = at_ms < region->evict_by_ms ? at_ms : region->evict_by_ms;
	}
	request_set_timer(session);
	if (session->owner.nr[REGION_RETURNED])
		loop_timer_set(&session->linger, REQUEST_LINGER_MS);
}

void request_grace(struct session *session)
{
	request_stop(session);
	request_set_timer(session);
}

void request_init(struct session *session)
{
	loop_timer_init(&session->ping, request_ping, session);
	loop_timer_init(&session->evict, request_revoke_overdue, session);
	loop_timer_init(&session->linger, request_linger_over, session);
}

void request_start(struct session *session)
{
	loop_timer_set(&session->ping, SESSION_PING_MS);
}

void request_stop(struct session *session)
{
	int i;

	loop_timer_stop(&session->ping);
	loop_timer_stop(&session->evict);
	for (i = 0; i < FARSWAP_CREDITS; i++) {
		struct session_request *request = &session->requests[i];

		if (request->type == FARSWAP_MSG_CHECK_ACTIVITY)
			evict_answered(request->job);
		request->type = 0;
	}
	session->nr_requests = 0;
}
