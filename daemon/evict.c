// SPDX-License-Identifier: GPL-2.0
/*
 * Batch eviction: pick E + E' lent regions at random, query the activity of each from
 * its client, evict the E least active. A client that does not answer in time counts as
 * idle. Does not depend on messages.
 *
 * Regions of clients in their grace period go first, because they need neither a query nor a
 * wait. They are taken client by client, so that few clients are hit.
 */
#include <stdlib.h>
#include <sys/random.h>

#include "evict.h"
#include "session.h"

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
	unsigned int index;		/* for region_at() */
	uint32_t pages;
	uint32_t random;		/* decides between equally active regions */
	bool lost;			/* its client is in its grace period */
};

struct evict_job {
	struct list link;
	uint64_t number;
	enum evict_phase phase;
	struct evict_candidate *candidates;
	unsigned int nr;
	unsigned int nr_lost;		/* they come first until the query */
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

static void evict_finish(void *arg)
{
	struct evict_job *job = arg;

	if (job->done)
		job->done(job->arg, &job->result);
	loop_timer_stop(&job->timer);
	list_del(&job->link);
	free(job->candidates);
	free(job);
}

static int evict_by_pages(const void *a, const void *b)
{
	const struct evict_candidate *left = a, *right = b;

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

static int evict_by_loss(const void *a, const void *b)
{
	const struct evict_candidate *left = a, *right = b;

	if (left->lost != right->lost)
		return right->lost - left->lost;
	return left->lost ? evict_by_owner(a, b) : 0;
}

/* Evict the least active. A region returned since the query counts, another job's does not. */
static void evict_coldest(void *arg)
{
	struct evict_job *job = arg;
	unsigned int i, taken = 0;

	job->phase = EVICT_WAITING;
	loop_timer_stop(&job->timer);
	qsort(job->candidates, job->nr, sizeof(*job->candidates), evict_by_pages);
	job->pending++;
	for (i = 0; i < job->nr && taken < job->result.requested; i++) {
		struct region *region = region_at(job->candidates[i].index);

		if (region->id != job->candidates[i].region || region->state != REGION_MAPPED) {
			if (region->id == job->candidates[i].region)
				continue;
			job->result.returned++;
			taken++;
			continue;
		}
		job->pending++;
		taken++;
		request_evict(region, job->number, evict.evict_ms);
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

	for (i = 0; i < job->nr; i++)
		job->candidates[i].random = evict_random();
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

static int evict_collect(struct evict_job *job, bool ordinary)
{
	unsigned int i;

	job->candidates = calloc(region_count(REGION_MAPPED) + 1, sizeof(*job->candidates));
	if (!job->candidates)
		return -1;
	for (i = 0; i < region_total(); i++) {
		struct evict_candidate *candidate = &job->candidates[job->nr];
		struct region *region = region_at(i);

		if (region->state != REGION_MAPPED || (ordinary && region->huge) ||
		    session_of(region->owner)->state == SESSION_DEAD)
			continue;
		candidate->region = region->id;
		candidate->owner = region->owner;
		candidate->index = i;
		candidate->lost = session_of(region->owner)->state == SESSION_GRACE;
		job->nr_lost += candidate->lost;
		job->nr++;
	}
	qsort(job->candidates, job->nr, sizeof(*job->candidates), evict_by_loss);
	return 0;
}

/* Keep @count candidates: all whose client is lost, and a uniform choice of the others. */
static void evict_pick(struct evict_job *job, unsigned int count)
{
	struct evict_candidate swap;
	unsigned int i, other;

	for (i = job->nr_lost; i < count; i++) {
		other = i + evict_random() % (job->nr - i);
		swap = job->candidates[i];
		job->candidates[i] = job->candidates[other];
		job->candidates[other] = swap;
	}
	job->nr = count;
}

struct evict_job *evict_start(uint64_t count, bool ordinary,
			      void (*done)(void *arg, const struct evict_result *result),
			      void *arg)
{
	struct evict_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	if (evict_collect(job, ordinary)) {
		free(job);
		return NULL;
	}
	job->number = ++evict.number;
	job->done = done;
	job->arg = arg;
	loop_timer_init(&job->timer, evict_coldest, job);
	loop_work_init(&job->finish, evict_finish, job);
	list_add_tail(&job->link, &evict.jobs);

	job->result.requested = count < job->nr ? count : job->nr;
	if (job->nr_lost > job->result.requested)
		job->nr_lost = job->result.requested;
	if (job->nr_lost == job->result.requested)
		job->nr = job->nr_lost;
	if (job->result.requested == job->nr) {
		evict_coldest(job);
		return job;
	}
	if (EVICT_SPARE(count) + count < job->nr)
		evict_pick(job, EVICT_SPARE(count) + count);
	evict_query(job);
	return job;
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
