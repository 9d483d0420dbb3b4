// SPDX-License-Identifier: GPL-2.0
/*
 * Batch eviction. Whose regions go is decided by what each client has: see share.h. Which of a
 * client's regions go is decided by their activity: pick E + E' of them at random, query the
 * activity of each from the client, evict the E least active. A client that does not answer in time
 * loses any of them. Its answer counts among its own regions only, so that a client that lies
 * gains nothing. Does not depend on messages.
 *
 * Regions of sessions in their grace period go first, because they need neither a query nor a
 * wait.
 */
#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>

#include "evict.h"
#include "session.h"
#include "share.h"

#define EVICT_QUERY_MS		1000
/* E': as many as are evicted and a few more, so that there is a choice. */
#define EVICT_SPARE(count)	((count) + 4)

enum evict_phase {
	EVICT_QUERYING,
	EVICT_WAITING,
};

struct evict_candidate {
	uint64_t region;
	struct region_owner *owner;	/* not valid once the clients are queried */
	unsigned int client;		/* index of its client in the job's shares */
	unsigned int index;		/* for region_at() */
	uint32_t pages;
	uint32_t random;		/* decides between equally active regions */
	bool lost;			/* its session is in its grace period */
};

struct evict_job {
	struct list link;
	uint64_t number;
	enum evict_phase phase;
	struct evict_candidate *candidates;
	unsigned int nr;
	bool reserve;			/* a client waits for its reserve */
	uint64_t begun_ms;
	struct share *shares;		/* of clients */
	unsigned int nr_shares;
	unsigned int unanswered;		/* unanswered CHECK_ACTIVITY */
	unsigned int pending;		/* regions being evicted */
	struct evict_result result;
	struct loop_timer timer;
	struct loop_work finish;
	void (*done)(void *arg, const struct evict_result *result);
	void *arg;
};

static struct {
	struct list jobs;
	uint64_t number;
	unsigned int evict_ms;
	uint64_t reserve_job;	/* number of the last that got a client its reserve */
} evict = { .jobs = { &evict.jobs, &evict.jobs } };

static struct evict_job *evict_find(uint64_t number)
{
	struct list *pos;

	list_for_each(pos, &evict.jobs) {
		struct evict_job *job = container_of(pos, struct evict_job, link);

		if (number && job->number == number)
			return job;
	}
	return NULL;
}

static void evict_free(struct evict_job *job)
{
	free(job->candidates);
	free(job->shares);
	free(job);
}

static void evict_finish(void *arg)
{
	struct evict_job *job = arg;

	if (job->done)
		job->done(job->arg, &job->result);
	loop_timer_stop(&job->timer);
	list_del(&job->link);
	evict_free(job);
}

static int evict_by_pages(const void *a, const void *b)
{
	const struct evict_candidate *left = a, *right = b;

	if (left->client != right->client)
		return left->client > right->client ? 1 : -1;
	if (left->lost != right->lost)
		return right->lost - left->lost;
	if (left->pages != right->pages)
		return left->pages > right->pages ? 1 : -1;
	return (left->random > right->random) - (left->random < right->random);
}

static int evict_by_owner(const void *a, const void *b)
{
	const struct evict_candidate *left = a, *right = b;
	uint64_t first = session_of(left->owner)->number;
	uint64_t second = session_of(right->owner)->number;

	return (first > second) - (first < second);
}

/* Put the candidates of each client together, the lost ones first, the others at random. */
static int evict_by_client(const void *a, const void *b)
{
	const struct evict_candidate *left = a, *right = b;

	if (left->client != right->client)
		return left->client > right->client ? 1 : -1;
	if (left->lost != right->lost)
		return right->lost - left->lost;
	return (left->random > right->random) - (left->random < right->random);
}

/* The query counts if a client waits for its reserve, so that silence wins no time. */
static unsigned int evict_deadline(const struct evict_job *job)
{
	uint64_t passed = job->reserve ? loop_now_ms() - job->begun_ms : 0;

	return passed < evict.evict_ms ? evict.evict_ms - passed : 1;
}

/*
 * Evict the least active of each client. A region returned since the query counts, another job's
 * does not.
 */
static void evict_coldest(void *arg)
{
	struct evict_job *job = arg;
	unsigned int i, taken = 0;

	job->phase = EVICT_WAITING;
	loop_timer_stop(&job->timer);
	qsort(job->candidates, job->nr, sizeof(*job->candidates), evict_by_pages);
	job->pending++;
	for (i = 0; i < job->nr; i++) {
		struct evict_candidate *candidate = &job->candidates[i];
		struct share *share = &job->shares[candidate->client];
		struct region *region = region_at(candidate->index);

		if (!share->take)
			continue;
		if (region->id != candidate->region || region->state != REGION_MAPPED) {
			if (region->id == candidate->region)
				continue;
			job->result.returned++;
		} else {
			job->pending++;
			request_evict(region, job->number, evict_deadline(job));
		}
		share->take--;
		taken++;
	}
	job->result.requested = taken;
	if (!--job->pending)
		loop_work_queue(&job->finish);
}

void evict_region_gone(uint64_t number, enum evict_end end)
{
	struct evict_job *job = evict_find(number);

	if (!job)
		return;
	if (end == EVICT_BROKEN)
		job->result.broken++;
	else if (end == EVICT_REVOKED)
		job->result.revoked++;
	else
		job->result.returned++;
	if (!--job->pending)
		loop_work_queue(&job->finish);
}

void evict_set_activity(uint64_t number, uint64_t region, uint32_t pages)
{
	struct evict_job *job = evict_find(number);
	unsigned int i;

	if (!job || job->phase != EVICT_QUERYING)
		return;
	for (i = 0; i < job->nr; i++)
		if (job->candidates[i].region == region)
			job->candidates[i].pages = pages;
}

void evict_answered(uint64_t number)
{
	struct evict_job *job = evict_find(number);

	if (!job || job->phase != EVICT_QUERYING)
		return;
	if (!--job->unanswered)
		loop_timer_set(&job->timer, 0);
}

bool evict_is_querying(uint64_t number)
{
	struct evict_job *job = evict_find(number);

	return job && job->phase == EVICT_QUERYING;
}

static uint32_t evict_random(void)
{
	static uint32_t random;
	uint32_t next;

	if (getrandom(&next, sizeof(next), GRND_NONBLOCK) == sizeof(next))
		random = next;
	else
		random = random * 1664525 + 1013904223;
	return random;
}

/* Send a CHECK_ACTIVITY per client and 16 regions. A client that can't be queried is idle. */
static void evict_query(struct evict_job *job)
{
	uint64_t ids[FARSWAP_ACTIVITY_REGIONS];
	unsigned int i, n = 0;

	qsort(job->candidates, job->nr, sizeof(*job->candidates), evict_by_owner);
	for (i = 0; i < job->nr; i++) {
		struct evict_candidate *candidate = &job->candidates[i];

		ids[n++] = candidate->region;
		if (n < FARSWAP_ACTIVITY_REGIONS && i + 1 < job->nr &&
		    candidate[1].owner == candidate->owner)
			continue;
		/* Counted first: sending may end the session, which answers for it. */
		job->unanswered++;
		if (!request_activity(session_of(candidate->owner), job->number, ids, n))
			job->unanswered--;
		n = 0;
	}
	loop_timer_set(&job->timer, job->unanswered ? EVICT_QUERY_MS : 0);
}

/* Return the index of the client's share, which is added if there is none. */
static unsigned int evict_share(struct evict_job *job, struct client *client)
{
	struct share *share;

	if (client->share == UINT_MAX) {
		client->share = job->nr_shares++;
		share = &job->shares[client->share];
		share->weight = client->weight;
		share->min = client->min;
		share->random = evict_random();
	}
	return client->share;
}

static int evict_collect(struct evict_job *job, bool ordinary)
{
	struct list *pos;
	unsigned int i;

	job->candidates = calloc(region_count(REGION_MAPPED) + 1, sizeof(*job->candidates));
	job->shares = calloc(session_count() + 1, sizeof(*job->shares));
	if (!job->candidates || !job->shares)
		return -1;
	list_for_each(pos, &client_list)
		container_of(pos, struct client, link)->share = UINT_MAX;
	for (i = 0; i < region_total(); i++) {
		struct evict_candidate *candidate = &job->candidates[job->nr];
		struct region *region = region_at(i);
		struct session *session;

		if (region->state != REGION_MAPPED || (ordinary && region->huge))
			continue;
		session = session_of(region->owner);
		if (session->state == SESSION_DEAD)
			continue;
		candidate->region = region->id;
		candidate->owner = region->owner;
		candidate->client = evict_share(job, session->client);
		candidate->index = i;
		candidate->random = evict_random();
		candidate->lost = session->state == SESSION_GRACE;
		job->shares[candidate->client].lent++;
		job->shares[candidate->client].lost += candidate->lost;
		job->nr++;
	}
	return 0;
}

/*
 * Keep the candidates that may be evicted: for each client all that are lost, or as many of those
 * as go; and if others go too, a random choice of them. Return true if a client must be queried.
 */
static bool evict_pick(struct evict_job *job)
{
	unsigned int i, nr = 0, left = 0;
	bool query = false;
	const struct share *share;

	qsort(job->candidates, job->nr, sizeof(*job->candidates), evict_by_client);
	for (i = 0; i < job->nr; i++) {
		const struct evict_candidate *candidate = &job->candidates[i];
		unsigned int others;

		share = &job->shares[candidate->client];
		others = share->take - share->take_lost;
		if (!i || candidate->client != candidate[-1].client)
			left = share->take_lost + (others ? others + EVICT_SPARE(others) : 0);
		if (!left)
			continue;
		query |= !candidate->lost && others < share->lent - share->lost;
		job->candidates[nr++] = *candidate;
		left--;
	}
	job->nr = nr;
	return query;
}

static struct evict_job *evict_begin(uint64_t count, bool ordinary, bool reserve,
				     void (*done)(void *arg, const struct evict_result *result),
				     void *arg)
{
	struct evict_job *job = calloc(1, sizeof(*job));
	unsigned int i;

	if (!job)
		return NULL;
	if (evict_collect(job, ordinary)) {
		evict_free(job);
		return NULL;
	}
	job->number = ++evict.number;
	job->reserve = reserve;
	job->begun_ms = loop_now_ms();
	job->done = done;
	job->arg = arg;
	loop_timer_init(&job->timer, evict_coldest, job);
	loop_work_init(&job->finish, evict_finish, job);
	list_add_tail(&job->link, &evict.jobs);

	if (count < job->nr)
		share_take(job->shares, job->nr_shares, count, reserve);
	else
		for (i = 0; i < job->nr_shares; i++)
			job->shares[i].take = job->shares[i].lent;
	if (count < job->nr && evict_pick(job))
		evict_query(job);
	else
		evict_coldest(job);
	return job;
}

struct evict_job *evict_start(uint64_t count, bool ordinary,
			      void (*done)(void *arg, const struct evict_result *result),
			      void *arg)
{
	return evict_begin(count, ordinary, false, done, arg);
}

/* Is a region of a session without connections being taken back? */
static bool evict_is_taking_lost(void)
{
	struct list *pos;

	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		if (session->state == SESSION_GRACE && session->owner.nr[REGION_EVICT_WAIT])
			return true;
	}
	return region_count(REGION_REVOKING);
}

/*
 * May the memory of a session without connections go to a client that asks for some? A disconnected
 * client keeps its reserve. It keeps its share, too, if the asking client has its own.
 */
static bool evict_may_take(const struct client *from, const struct client *client)
{
	if (from == client)
		return true;
	return from->account.lent > from->min &&
	       (client->account.lent < client_fair(client) ||
		from->account.lent > client_fair(from));
}

static bool evict_lost(const struct client *client)
{
	struct list *pos;

	if (evict_is_taking_lost())
		return true;
	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);
		struct region *region;

		if (session->state != SESSION_GRACE || !evict_may_take(session->client, client))
			continue;
		region = list_first(&session->owner.regions[REGION_MAPPED], struct region, link);
		if (!region)
			continue;
		request_evict(region, 0, 0);
		return true;
	}
	return false;
}

/* Evict as many regions of others as the client lacks of its reserve. */
static bool evict_reserve(const struct client *client)
{
	unsigned int leaving = region_leaving(false), missing;
	struct evict_job *job;

	if (client->account.lent >= client_reserve(client))
		return false;
	missing = client_reserve(client) - client->account.lent;
	if (missing <= leaving || evict_is_querying(evict.reserve_job))
		return true;
	job = evict_begin(missing - leaving, false, true, NULL, NULL);
	if (!job)
		return false;
	evict.reserve_job = job->number;
	return job->result.requested || job->phase == EVICT_QUERYING;
}

bool evict_for(const struct client *client)
{
	return evict_lost(client) || evict_reserve(client);
}

uint64_t evict_number(const struct evict_job *job)
{
	return job->number;
}

void evict_forget(struct evict_job *job)
{
	job->done = NULL;
}

unsigned int evict_deadline_ms(void)
{
	return evict.evict_ms;
}

void evict_init(unsigned int evict_ms)
{
	evict.evict_ms = evict_ms;
}
