// SPDX-License-Identifier: GPL-2.0
/*
 * The grace period: regions are kept for their client only, for the agreed time, and are reachable
 * only after the old queue pairs are destroyed. Regions that the client does not claim are
 * reclaimed; it is notified of those that are lost. Sessions have no verbs, and the pool's
 * memory is not registered.
 */
#include "address.c"
#include "auth.c"
#include "grace.c"
#include "loop.c"
#include "mem.c"
#include "region.c"
#include "fill.c"
#include "peer-request.c"
#include "json.c"
#include "metrics.c"
#include "stats.c"
#include "wire.c"

#include "pool.h"
#include "quiet.h"
#include "tap.h"
#include "turn.h"

#define TOTAL	(FARSWAP_RESUME_REGIONS + 8)
#define SECRET	0x1122334455667788ULL

struct list session_list = { &session_list, &session_list };
static bool leaving, leaked;
static unsigned int evicts_sent, ended, disconnected;
static struct session *old, *fresh;
static struct region *region[TOTAL];
static uint64_t id[TOTAL];

static bool may_resume(uint64_t name, const struct sockaddr *from)
{
	struct farswap_connect connect = { .session = htole64(name) };

	return grace_may_resume(&connect, from);
}

void log_peer(const char *peer, const char *fmt, ...)
{
	(void)peer;
	(void)fmt;
}

unsigned int session_lent(const struct session *session)
{
	const unsigned int *nr = session->owner.nr;

	return nr[REGION_MAPPED] + nr[REGION_EVICT_WAIT] + nr[REGION_EVICTING];
}

bool session_leaving(void)
{
	return leaving;
}

bool session_disconnect(struct session *session)
{
	/* The session still has its regions, so no other queue pair reaches them. */
	disconnected += session == old && session_lent(old) && !session_lent(fresh);
	return !leaked;
}

void session_set_state(struct session *session, enum session_state state)
{
	session->state = state;
}

void session_end(struct session *session, enum stats_counter reason, const char *why, ...)
{
	(void)why;
	stats_inc(reason);
	if (session->state == SESSION_GRACE)
		grace_leave();
	session->state = SESSION_DEAD;
	ended++;
}

void session_lost(struct session *session, enum stats_counter reason, const char *why, ...)
{
	if (!grace_enter(session, why))
		session_end(session, reason, "%s", why);
}

void control_stop(struct session *session)
{
	(void)session;
}

void control_send(struct session *session, const struct farswap_hdr *hdr, bool is_answer)
{
	(void)session;
	(void)is_answer;
	evicts_sent += le16toh(hdr->type) == FARSWAP_MSG_EVICT;
}

void message_stop(struct session *session)
{
	(void)session;
}

void message_kick_pool(void)
{
}

void evict_region_gone(uint64_t job, enum evict_end end)
{
	(void)job;
	(void)end;
}

void evict_set_activity(uint64_t job, uint64_t of, uint32_t pages)
{
	(void)job;
	(void)of;
	(void)pages;
}

void evict_answered(uint64_t job)
{
	(void)job;
}

bool evict_is_querying(uint64_t job)
{
	(void)job;
	return false;
}

unsigned int evict_deadline_ms(void)
{
	return 60000;
}

static void expire(void *arg)
{
	session_end(arg, STAT_END_GRACE, "over");
}

static struct client clients[2];

/* Address 10.0.0.@host. */
static struct sockaddr_storage from_host(unsigned int host)
{
	struct address_range range;
	char text[32];

	snprintf(text, sizeof(text), "10.0.0.%u", host);
	address_parse_range(text, &range);
	return range.address;
}

static struct session *session_make(uint32_t grace_ms)
{
	struct session *session = calloc(1, sizeof(*session));

	session->state = SESSION_READY;
	session->hello.grace_ms = htole32(grace_ms);
	session->client = &clients[0];
	session->hello.node[3] = 7;
	session->hello.instance = htole64(99);
	session->has_owner = true;
	loop_timer_init(&session->deadline, expire, session);
	request_init(session);
	grace_init_session(session);
	region_owner_add(&session->owner, session);
	list_add_tail(&session->link, &session_list);
	return session;
}

static void session_drop(struct session *session)
{
	loop_timer_stop(&session->deadline);
	request_stop(session);
	loop_work_cancel(&session->sweep);
	while (request_reclaim(session))
		;
	region_owner_del(&session->owner);
	list_del(&session->link);
	free(session);
}

/* Create a client, lost or not known to be, with @nr regions. */
static void setup(unsigned int nr, uint32_t grace_ms)
{
	unsigned int i;

	clients[0].address = from_host(1);
	clients[1].address = from_host(2);
	pool_init(TOTAL);
	grace_init(5000, 1, false);
	grace.count = 0;
	leaving = false;
	evicts_sent = ended = disconnected = 0;
	old = session_make(grace_ms);
	old->secret = SECRET;
	fresh = session_make(grace_ms);
	for (i = 0; i < nr; i++) {
		region_lend(&old->owner, &region[i]);
		id[i] = region[i]->id;
	}
}

static void teardown(void)
{
	session_drop(old);
	session_drop(fresh);
	region_exit();
}

static struct farswap_hello hello_of(uint64_t secret)
{
	struct farswap_hello hello = fresh->hello;

	hello.resume = htole64(secret);
	return hello;
}

static uint64_t gone;

static bool claim(const uint64_t *ids, unsigned int nr, bool more)
{
	struct farswap_resume resume;
	unsigned int i;
	bool good;

	wire_init(&resume.hdr, FARSWAP_MSG_RESUME, 1);
	resume.count = htole32(nr);
	resume.more = htole32(more);
	for (i = 0; i < nr; i++)
		resume.region[i] = htole64(ids[i]);
	ok(wire_check(&resume, sizeof(resume), WIRE_TO_DONOR) == WIRE_OK, "RESUME of %u", nr);
	good = grace_claim(fresh, &resume, &gone);
	if (good && !more)
		grace_resumed(fresh);
	return good;
}

static void test_enter(void)
{
	setup(3, 1000);
	leaving = true;
	ok(!grace_enter(old, "x"), "who leaves keeps nothing");
	leaving = false;
	old->hello.grace_ms = 0;
	ok(!grace_enter(old, "x"), "nor for who wants no grace");
	old->hello.grace_ms = htole32(~0U);
	ok(grace_limit_ms(old) == 5000, "nor longer than the donor will");
	grace_init(0, 1, false);
	ok(!grace_enter(old, "x"), "which may be not at all");
	grace_init(5000, 1, false);
	ok(!grace_enter(fresh, "x"), "nor for who has no region");
	old->hello.grace_ms = htole32(1000);
	ok(grace_enter(old, "x") && old->state == SESSION_GRACE && grace_count() == 1 && !keys_killed,
	   "but else regions are kept, with their keys");
	region_lend(&fresh->owner, &region[9]);
	ok(!grace_enter(fresh, "x"), "of not too many");
	teardown();
}

static void test_expire(void)
{
	setup(3, 300);
	grace_enter(old, "x");
	turn_ms(10);
	ok(!ended, "before its time is over a session stays");
	turn_ms(500);
	ok(ended == 1 && old->state == SESSION_DEAD && !grace_count(), "then it ends");
	teardown();
}

static void test_find(void)
{
	const struct sockaddr *elsewhere = (const struct sockaddr *)&clients[1].address, *here;
	struct farswap_hello hello;

	setup(1, 1000);
	here = (const struct sockaddr *)&clients[0].address;
	grace_enter(old, "x");
	hello = hello_of(SECRET);
	ok(grace_find(fresh, &hello) == old, "who knows the secret finds it");
	ok(may_resume(SECRET, here) && !may_resume(SECRET ^ 1, here) &&
	   !may_resume(0, here), "which can be told before HELLO");
	fresh->client = &clients[1];
	ok(!grace_find(fresh, &hello) && !may_resume(SECRET, elsewhere) &&
	   !grace_is_from(old, elsewhere), "who knows it at another address does not find it");
	grace_init(5000, 1, true);
	grace.count = 1;
	ok(grace_find(fresh, &hello) == old && may_resume(SECRET, elsewhere) &&
	   grace_is_from(old, elsewhere), "unless any address may resume");
	grace_init(5000, 1, false);
	fresh->client = &clients[0];
	hello.instance ^= 1;
	ok(!grace_find(fresh, &hello), "another run does not");
	hello = hello_of(SECRET);
	hello.node[0]++;
	ok(!grace_find(fresh, &hello), "nor another machine");
	hello = hello_of(SECRET ^ 1);
	ok(!grace_find(fresh, &hello), "nor who guesses");
	hello = hello_of(SECRET);
	old->auth.on = true;
	strcpy(old->auth.name, "web1");
	ok(!grace_find(fresh, &hello), "nor who is not authenticated");
	fresh->auth = old->auth;
	strcpy(fresh->auth.name, "web2");
	ok(!grace_find(fresh, &hello), "nor who has another key");
	fresh->auth = old->auth;
	ok(grace_find(fresh, &hello) == old, "who has the same name, by a key, finds it");
	ok(grace_is_from(old, elsewhere), "from another address too");
	old->auth.sealed = true;
	old->auth.bind_id = 77;
	ok(may_resume(77, here) && !may_resume(78, here) && !may_resume(SECRET, here),
	   "before HELLO by what its handshake made, and not by the secret");
	memset(&old->auth, 0, sizeof(old->auth));
	memset(&fresh->auth, 0, sizeof(fresh->auth));
	hello = hello_of(0);
	old->secret = 0;
	ok(!grace_find(fresh, &hello), "nor who does not ask");
	old->secret = SECRET;
	hello = hello_of(SECRET);
	fresh->device = (void *)&grace;
	ok(grace_find(fresh, &hello) == old, "by another device too");
	fresh->device = NULL;
	old->state = SESSION_READY;
	grace_leave();
	ok(grace_find(fresh, &hello) == old, "of one not known to be lost too");
	grace_init(0, 1, false);
	ok(!grace_find(fresh, &hello), "but not where nothing is kept");
	teardown();
}

static void test_resume(void)
{
	bool same = true;
	unsigned int i;

	setup(FARSWAP_RESUME_REGIONS + 3, 1000);
	old->lend_pd = (void *)&grace;
	old->answers = 17;
	grace_enter(old, "x");
	grace_adopt(fresh, old);
	ok(disconnected == 1 && fresh->lend_pd == (void *)&grace && fresh->secret == SECRET &&
	   fresh->answers == 17 && old->state == SESSION_DEAD && !grace_count() && fresh->owner.pd == old,
	   "first the old queue pairs go, then the regions are the new session's");
	ok(!request_alloc(fresh, FARSWAP_MSG_EVICT), "which is asked nothing yet");
	ok(claim(id, FARSWAP_RESUME_REGIONS, true) && !gone && fresh->resuming,
	   "many are claimed in pieces");
	ok(claim(id + FARSWAP_RESUME_REGIONS, 2, false) && !gone && !fresh->resuming,
	   "to the last");
	turn_ms(20);
	for (i = 0; i < FARSWAP_RESUME_REGIONS + 2; i++)
		same &= region_find(&fresh->owner, id[i]) == region[i] && region[i]->rkey &&
			region[i]->owner == &fresh->owner;
	ok(same && session_lent(fresh) == FARSWAP_RESUME_REGIONS + 2, "they are as they were");
	ok(keys_killed == 1 && !region_find(&fresh->owner, id[i]), "what was not claimed comes back");
	region_lend(&fresh->owner, &region[i]);
	fresh->sweeping = true;
	grace_sweep(fresh);
	ok(keys_killed == 1, "what is lent from then on does not");
	teardown();
}

/* The device was removed, or the client uses another one. */
static void test_other_device(void)
{
	struct session *third;
	uint32_t key = 0, again = 0;
	bool same = true;
	unsigned int i;

	setup(3, 1000);
	old->device = (void *)&grace;
	old->lend_pd = (void *)&grace;
	fresh->device = (void *)&ended;
	fresh->lend_pd = (void *)&ended;
	pool.ahead = 1;
	fresh->owner.leaving = true;
	while (region_step())
		;
	fresh->owner.leaving = false;
	pool.ahead = 0;
	ok(old->owner.nr[REGION_STAGED] == 1, "one is staged as well");
	grace_enter(old, "x");
	ok(request_unregister(old) && keys_killed == 1, "when a device goes its keys die one a turn");
	for (i = 0; request_unregister(old); i++)
		;
	ok(i == 3 && keys_killed == 4 && session_lent(old) == 3 && !old->owner.nr[REGION_STAGED] &&
	   !old->owner.pd, "and what is lent stays so");
	while (region_step())
		;
	old->device = NULL;
	grace_adopt(fresh, old);
	ok(disconnected == 1 && fresh->rekeyed && fresh->lend_pd == (void *)&ended &&
	   fresh->owner.pd == fresh && session_lent(fresh) == 3,
	   "a client that comes by another has its regions in the new domain");
	ok(claim(id, 3, false) && !gone, "and claims them");
	ok(!request_key(fresh, id[0], &key) && key == region[0]->rkey && region[0]->mr,
	   "each gets a key when it asks");
	ok(!request_key(fresh, id[0], &again) && again == key, "the same when it asks again");
	ok(request_key(fresh, id[2] + 1, &key) == -ENOENT, "one that there is not gets none");

	/* The answer to that was lost. */
	grace_enter(fresh, "x");
	session_drop(old);
	old = fresh;
	third = session_make(1000);
	fresh = third;
	fresh->device = old->device;
	grace_adopt(fresh, old);
	ok(fresh->rekeyed && fresh->lend_pd == (void *)&ended && fresh->owner.pd == old->owner.pd,
	   "who has not heard all of them asks again");
	refuse_keys = true;
	ok(!request_key(fresh, id[0], &again) && again == region[0]->rkey &&
	   request_key(fresh, id[1], &key) && !region_find(&fresh->owner, id[1]) &&
	   session_lent(fresh) == 2, "one that can't be registered is gone, the others are not");
	refuse_keys = false;
	for (i = 0; i < 3; i += 2)
		same &= region_find(&fresh->owner, id[i]) == region[i];
	ok(same, "they keep their names");
	teardown();

	setup(2, 1000);
	grace_enter(old, "x");
	unbroken = 1;
	while (request_unregister(old))
		;
	unbroken = UINT_MAX;
	ok(session_lent(old) == 1 && region_count(REGION_BROKEN) == 1,
	   "one whose key lives on is never given again");
	grace_adopt(fresh, old);
	ok(claim(id, 2, false) && gone, "its client is told that it is gone");
	teardown();
}

static void test_lives_on(void)
{
	setup(2, 1000);
	grace_enter(old, "x");
	leaked = true;
	grace_adopt(fresh, old);
	leaked = false;
	ok(old->state == SESSION_DEAD && ended == 1 && !grace_count() && !fresh->resuming &&
	   !fresh->secret && !session_lent(fresh) && session_lent(old) == 2,
	   "whose queue pairs can't be destroyed ends, and nobody else gets its regions");
	teardown();
}

static void test_gone(void)
{
	uint64_t ids[2], rest[TOTAL - FARSWAP_RESUME_REGIONS + 1];

	setup(2, 1000);
	grace_enter(old, "x");
	request_evict(region[1], 0, 60000);
	ok(!keys_killed, "what is to be taken from a client that is lost");
	turn_ms(20);
	ok(keys_killed == 1 && session_lent(old) == 1, "is not asked for, but taken at once");
	grace_adopt(fresh, old);
	ok(claim(id, 2, false) && gone == 2, "who claims it is told that it is gone");
	turn_ms(20);
	ok(!fresh->resuming && session_lent(fresh) == 1 && region_find(&fresh->owner, id[0]) == region[0] &&
	   region[0]->rkey && keys_killed == 1, "and has the other");
	teardown();

	setup(2, 1000);
	grace_adopt(fresh, old);
	ids[0] = ids[1] = id[0];
	ok(!claim(ids, 2, false), "who claims one twice is refused");
	teardown();

	setup(TOTAL, 1000);
	grace_adopt(fresh, old);
	ok(claim(id, FARSWAP_RESUME_REGIONS, true) &&
	   !claim(id + TOTAL - FARSWAP_RESUME_REGIONS, FARSWAP_RESUME_REGIONS, true),
	   "or more than were ever lent");
	teardown();

	/* The client does not know yet that a region was reclaimed, which is lent to it again. */
	setup(TOTAL, 1000);
	request_evict(region[0], 0, 1);
	turn_ms(20);
	while (region_step())
		;
	ok(!region_lend(&old->owner, &region[0]) && region[0]->id != id[0], "one is lent again");
	grace_adopt(fresh, old);
	memcpy(rest, id + FARSWAP_RESUME_REGIONS, sizeof(rest) - sizeof(rest[0]));
	rest[TOTAL - FARSWAP_RESUME_REGIONS] = region[0]->id;
	ok(claim(id, FARSWAP_RESUME_REGIONS, true) && gone == 1,
	   "who names it by its first name is told");
	ok(claim(rest, TOTAL - FARSWAP_RESUME_REGIONS + 1, false) && !gone,
	   "though that makes more than there are");
	teardown();

	setup(FARSWAP_RESUME_REGIONS, 1000);
	grace_adopt(fresh, old);
	id[FARSWAP_RESUME_REGIONS - 1] = 4711;
	ok(claim(id, FARSWAP_RESUME_REGIONS, false) && gone == 1ULL << (FARSWAP_RESUME_REGIONS - 1),
	   "one that never was is gone, to the last of a message");
	turn_ms(20);
	ok(keys_killed == 1 && session_lent(fresh) == FARSWAP_RESUME_REGIONS - 1,
	   "and what was not claimed instead comes back");
	teardown();
}

static void test_evicting(void)
{
	setup(3, 1000);
	request_evict(region[0], 0, 60000);
	request_evict(region[1], 0, 60000);
	ok(evicts_sent == 2 && old->owner.nr[REGION_EVICTING] == 2, "EVICTs are out");
	grace_enter(old, "x");
	grace_adopt(fresh, old);
	turn_ms(10);
	ok(evicts_sent == 2 && !keys_killed, "when the connections fail");
	claim(id + 1, 2, false);
	turn_ms(20);
	ok(keys_killed == 1 && !region_find(&fresh->owner, id[0]), "one whose DONE was lost comes back");
	ok(evicts_sent == 3 && region[1]->state == REGION_EVICTING &&
	   fresh->nr_requests == 1, "for the other EVICT is sent again");
	ok(request_done(fresh, id[1], region[1]->evict_seq) && keys_killed == 1 &&
	   !region_find(&fresh->owner, id[1]), "and answered; its key lives on for a moment");
	turn_ms(2 * REQUEST_LINGER_MS);
	ok(keys_killed == 2 && region[1]->state == REGION_DIRTY, "then it is dead");
	ok(region[2]->state == REGION_MAPPED, "the rest is not touched");
	teardown();
}

/* More regions are being evicted than EVICTs may be in flight. */
static void test_queue(void)
{
	uint64_t last = 0;
	bool sorted = true;
	struct list *pos;
	unsigned int i;

	setup(REQUEST_MAX + 10, 1000);
	for (i = 0; i < REQUEST_MAX + 5; i++) {
		request_evict(region[i], 0, 60000);
		region[i]->evict_by_ms += i;
	}
	ok(evicts_sent == REQUEST_MAX && old->owner.nr[REGION_EVICT_WAIT] == 5, "a queue of EVICTs");
	grace_enter(old, "x");
	request_evict(region[i], 0, 60000);
	request_evict(region[i + 1], 0, 60000);
	turn_ms(20);
	ok(keys_killed == 2 && !region_find(&old->owner, id[i]) && !region_find(&old->owner, id[i + 1]),
	   "what is taken from a client that is lost does not wait behind them");
	grace_adopt(fresh, old);
	list_for_each(pos, &fresh->owner.regions[REGION_EVICT_WAIT]) {
		sorted &= container_of(pos, struct region, link)->evict_by_ms > last;
		last = container_of(pos, struct region, link)->evict_by_ms;
	}
	ok(sorted && fresh->owner.nr[REGION_EVICT_WAIT] == REQUEST_MAX + 5,
	   "those that are sent anew keep their order");
	teardown();
}

/* The client returns more revoked regions than are recorded. */
static void test_settled(void)
{
	unsigned int i;

	setup(2, 1000);
	old->nr_requests = REQUEST_MAX;
	request_evict(region[0], 0, 1);
	turn_ms(20);
	ok(keys_killed == 1 && !evicts_sent, "a key is killed of which the client was never told");
	for (i = 0; i < SESSION_SETTLED; i++)
		request_settle(old, id[1] + 1, 0);
	ok(request_unmap(old, id[0]), "who gives it back late is believed");
	ok(!request_unmap(old, id[0] ^ 1ULL << 63) && !request_unmap(fresh, id[0]),
	   "but not who gives back what was never lent, or had nothing killed");
	old->nr_requests = 0;
	teardown();
}

static void test_again(void)
{
	struct session *third;

	setup(2, 1000);
	grace_enter(old, "x");
	grace_adopt(fresh, old);
	session_lost(fresh, STAT_END_LINK, "x");
	ok(fresh->state == SESSION_GRACE && !fresh->resuming, "lost again before RESUME");
	session_drop(old);
	old = fresh;
	third = session_make(1000);
	fresh = third;
	grace_adopt(fresh, old);
	ok(claim(id, 2, false) && !gone && fresh->secret == SECRET,
	   "the same secret resumes it again");
	turn_ms(10);
	ok(!keys_killed && session_lent(fresh) == 2, "with all regions");
	teardown();
}

int main(void)
{
	if (loop_init())
		return 1;
	test_enter();
	test_expire();
	test_find();
	test_resume();
	test_other_device();
	test_lives_on();
	test_gone();
	test_evicting();
	test_queue();
	test_settled();
	test_again();
	loop_exit();
	return tap_done();
}
