// SPDX-License-Identifier: GPL-2.0
/*
 * Selection of regions to evict: first those of clients in their grace period, client by client and
 * without a query; then of the clients that have most, of each the least active of those that were
 * queried. Sessions have no verbs, and return regions at once.
 */
#include "address.c"
#include "client.c"
#include "evict.c"
#include "share.c"
#include "loop.c"
#include "mem.c"
#include "region.c"
#include "fill.c"
#include "json.c"
#include "metrics.c"
#include "stats.c"

#include "pool.h"
#include "quiet.h"
#include "tap.h"

#define TOTAL	64
#define SESSIONS 4

struct list session_list = { &session_list, &session_list };
static struct session *sessions[SESSIONS];
static struct client *owners[SESSIONS];
static struct region *region[TOTAL];
static unsigned int asked, killed, cold_taken, done, taken[SESSIONS];
static uint32_t busy[SESSIONS];
static bool cold[TOTAL];	/* by index in the pool */
static struct loop_timer end;
static bool silent;	/* clients don't answer */
static bool slow;	/* clients don't return regions */
static struct evict_result result;

static unsigned int index_of(const struct session *session)
{
	unsigned int i = 0;

	while (sessions[i] != session)
		i++;
	return i;
}

unsigned int session_count(void)
{
	return SESSIONS;
}

bool request_activity(struct session *session, uint64_t job, const uint64_t *regions,
		      unsigned int count)
{
	unsigned int i;

	if (session->state != SESSION_READY)
		return false;
	asked += count;
	if (silent)
		return true;
	for (i = 0; i < count; i++)
		evict_set_activity(job, regions[i], cold[region_index(regions[i])] ? 0 :
				   busy[index_of(session)]);
	evict_answered(job);
	return true;
}

void request_evict(struct region *which, uint64_t job, unsigned int evict_ms)
{
	struct session *session = session_of(which->owner);
	bool kill = session->state == SESSION_GRACE;

	(void)evict_ms;
	taken[index_of(session)]++;
	cold_taken += cold[region_index(which->id)];
	killed += kill;
	region_set_state(which, REGION_EVICT_WAIT);
	if (slow)
		return;
	region_return(which);
	evict_region_gone(job, which->state == REGION_BROKEN ? EVICT_BROKEN :
			  kill ? EVICT_REVOKED : EVICT_RETURNED);
}

static void evicted(void *arg, const struct evict_result *of)
{
	(void)arg;
	result = *of;
	done++;
	loop_stop();
}

static void stop(void *arg)
{
	(void)arg;
	loop_stop();
}

/* Sixteen regions for each client, contiguous in the pool; @lost has a bit for each client. */
static void setup(unsigned int lost)
{
	unsigned int i;

	pool_init(TOTAL);
	evict_init(1000);
	asked = killed = cold_taken = done = 0;
	memset(cold, 0, sizeof(cold));
	for (i = 0; i < SESSIONS; i++) {
		struct address_range range;
		char text[32];

		snprintf(text, sizeof(text), "10.0.0.%u", i);
		address_parse_range(text, &range);
		owners[i] = client_get("", (const struct sockaddr *)&range.address);
		sessions[i] = calloc(1, sizeof(*sessions[i]));
		sessions[i]->client = owners[i];
		list_add_tail(&sessions[i]->link, &session_list);
		sessions[i]->state = lost & 1U << i ? SESSION_GRACE : SESSION_READY;
		sessions[i]->number = i + 1;
		region_owner_add(&sessions[i]->owner, sessions[i]);
		sessions[i]->owner.account = &owners[i]->account;
		taken[i] = 0;
		busy[i] = 0;
	}
	for (i = 0; i < TOTAL; i++)
		region_lend(&sessions[i % SESSIONS]->owner, &region[i]);
}

static void teardown(void)
{
	unsigned int i, j;

	for (i = 0; i < SESSIONS; i++) {
		for (j = REGION_STAGED; j <= REGION_EVICTING; j++)
			while (!list_empty(&sessions[i]->owner.regions[j]))
				region_return(list_first(&sessions[i]->owner.regions[j],
							 struct region, link));
		region_owner_del(&sessions[i]->owner);
		list_del(&sessions[i]->link);
		free(sessions[i]);
		client_put(owners[i]);
	}
	region_exit();
}

static void run_of(uint64_t count, bool ordinary)
{
	ok(evict_start(count, ordinary, evicted, NULL), "an eviction of %llu", (unsigned long long)count);
	loop.stop = false;
	loop_run();
	ok(done == 1 && result.returned + result.revoked == result.requested, "is over");
}

static void run(uint64_t count)
{
	run_of(count, false);
}

static void run_once(void)
{
	evict_start(1, false, evicted, NULL);
	loop.stop = false;
	loop_run();
	while (region_step())
		;
}

/* A client that claims to be busy keeps nothing by that: it loses as much as the others. */
static void test_liar(void)
{
	bool even = true;
	unsigned int i;

	setup(0);
	busy[0] = UINT32_MAX;
	for (i = 0; i < 24; i++)
		run_once();
	for (i = 0; i < SESSIONS; i++)
		even &= taken[i] == 24 / SESSIONS;
	ok(even, "24 evictions: who lies loses as much as the others: %u, %u, %u, %u", taken[0],
	   taken[1], taken[2], taken[3]);
	teardown();
}

/* Of the client that loses regions the idle ones go. */
static void test_activity(void)
{
	unsigned int i;

	setup(0);
	for (i = 1; i < SESSIONS; i++)
		owners[i]->weight = 100;
	busy[0] = 50;
	for (i = 0; i < TOTAL; i++)
		cold[i] = i % 16 >= 4;
	run(4);
	ok(asked == EVICT_SPARE(4) + 4 && taken[0] == 4 && cold_taken == 4,
	   "one client has too much, and loses regions that are idle");
	teardown();
}

static void give_back(unsigned int i)
{
	struct region *which;

	while ((which = list_first(&sessions[i]->owner.regions[REGION_MAPPED], struct region, link)))
		region_return(which);
	while (region_step())
		;
}

/* Memory for a client that asks for more than is free. */
static void test_for_client(void)
{
	unsigned int i, n;

	setup(0);
	ok(!evict_for(owners[3]) && !done, "nobody has gone, and there is no reserve: nothing");
	give_back(3);
	for (i = 0; i < 16; i++)
		region_lend(&sessions[0]->owner, &region[i]);
	owners[3]->min = 8;
	owners[1]->min = 16;
	ok(owners[0]->account.lent == 32 && !owners[3]->account.lent, "one has half, one has nothing");
	ok(evict_for(owners[3]), "its reserve is got from the others");
	loop_timer_init(&end, stop, NULL);
	loop_timer_set(&end, 50);
	loop.stop = false;
	loop_run();
	ok(taken[0] == 8 && !taken[1] && !taken[2], "from the one that has most: %u, %u, %u", taken[0],
	   taken[1], taken[2]);
	while (region_step())
		;
	for (n = 0; !region_lend(&sessions[3]->owner, &region[0]); n++)
		;
	ok(n == 8 && !evict_for(owners[3]), "it has got it, and no more");
	teardown();

	setup(1U << 2);
	ok(!evict_for(owners[1]) && !taken[2], "who has gone keeps its part from one that has its own");
	owners[1]->account.lent = 2;
	owners[2]->min = 15;
	ok(evict_for(owners[1]) && taken[2] == 1 && !taken[0], "one that has less gets of it");
	while (region_step())
		;
	ok(!evict_for(owners[1]) && taken[2] == 1, "but not its reserve");
	ok(evict_for(owners[2]) && taken[2] == 2, "unless it asks itself");
	owners[1]->account.lent = 16;
	teardown();
}

/* Each of four equal clients loses a quarter, within ten standard deviations. */
static void test_ties(void)
{
	struct region *again;
	unsigned int i, try;
	bool even = true;

	setup(0);
	for (try = 0; try < 400; try++) {
		unsigned int before[SESSIONS];

		memcpy(before, taken, sizeof(before));
		run_once();
		for (i = 0; i < SESSIONS; i++)
			if (taken[i] > before[i])
				region_lend(&sessions[i]->owner, &again);
	}
	for (i = 0; i < SESSIONS; i++)
		even &= taken[i] > 13 && taken[i] < 187;
	ok(even, "idle clients lose equally often: %u, %u, %u, %u", taken[0], taken[1], taken[2],
	   taken[3]);
	teardown();
}

int main(void)
{
	static const struct client_config config = { .usual = { .weight = 1, .max = UINT64_MAX } };
	struct evict_job *job;
	unsigned int i;


	if (loop_init() || client_init(&config))
		return 1;

	setup(0);
	busy[0] = busy[1] = busy[2] = 50;
	run(TOTAL);
	ok(!asked && result.returned == TOTAL, "all are taken without a question");
	teardown();

	setup(0);
	busy[0] = busy[1] = busy[2] = 50;
	run(16);
	ok(asked == SESSIONS * (EVICT_SPARE(4) + 4), "of some the clients are asked how busy they are");
	ok(result.returned == 16 && taken[0] == 4 && taken[1] == 4 && taken[2] == 4,
	   "and each loses as much as the others");
	teardown();

	setup(1U << 2);
	run(10);
	ok(!asked && taken[2] == 10 && killed == 10, "those of a lost client go first, unasked");
	teardown();

	setup(1U << 1 | 1U << 2);
	run(18);
	ok(!asked && taken[1] + taken[2] == 18 && (taken[1] == 16 || taken[2] == 16),
	   "one lost client's before another's");
	teardown();

	setup(1U << 2);
	run(20);
	ok(asked == EVICT_SPARE(2) + 2 + 2 * (EVICT_SPARE(1) + 1) && taken[2] == 16 &&
	   result.revoked == 16, "then those of others that are idle");
	teardown();

	setup(0);
	for (i = 0; i < TOTAL; i++)
		region[i]->huge = i % SESSIONS != 3;
	run_of(TOTAL, true);
	ok(taken[3] == TOTAL / SESSIONS && result.returned == TOTAL / SESSIONS,
	   "of ordinary memory only");
	for (i = 0; i < TOTAL; i++)
		region[i]->huge = false;
	teardown();

	setup(0);
	unbroken = 3;
	ok(evict_start(TOTAL, false, evicted, NULL), "an eviction of what can't all be taken back");
	loop.stop = false;
	loop_run();
	ok(done == 1 && result.returned == 3 && result.broken == TOTAL - 3 &&
	   region_count(REGION_BROKEN) == TOTAL - 3, "says how much has a key that lives on");
	unbroken = UINT_MAX;
	teardown();

	setup(0);
	slow = true;
	silent = true;
	job = evict_start(4, false, evicted, NULL);
	ok(job && evict_is_querying(evict_number(job)), "nobody answers: the answers are waited for");
	evict_coldest(job);
	ok(!evict_is_querying(evict_number(job)) && region_count(REGION_EVICT_WAIT) == 4,
	   "but not what the answers are about, which may take long");
	job = evict_start(3, false, NULL, NULL);
	evict_coldest(job);
	ok(region_count(REGION_EVICT_WAIT) == 7, "more is taken back meanwhile");
	teardown();

	setup(0);
	job = evict_start(4, false, evicted, NULL);
	for (i = 0; i < TOTAL; i++)
		region_set_state(region[i], REGION_EVICT_WAIT);
	evict_coldest(job);
	loop.stop = false;
	loop_run();
	ok(done == 1 && !result.requested && !result.returned,
	   "what others have taken meanwhile does not count as given back");
	teardown();

	slow = false;
	silent = false;
	test_ties();
	test_liar();
	test_activity();
	test_for_client();

	loop_exit();
	return tap_done();
}
