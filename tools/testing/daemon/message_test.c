// SPDX-License-Identifier: GPL-2.0
/*
 * Whose MAP is served when, however many MAPs others have waiting; and what a client may say that
 * only introduces its key. Sessions have no verbs, and regions no memory.
 */
#include "message.c"
#include "json.c"
#include "metrics.c"
#include "stats.c"
#include "wire.c"

#include "tap.h"

#define SESSIONS	5

static struct client greedy, honest;
static struct session session[SESSIONS];
static struct region lent;
static uint64_t now_ms;
static bool can_lend;
static unsigned int ended, pongs, refused, welcomes;
static struct client *served[64];
static unsigned int nr_served;
static void *joined;
static bool joins;

void control_send(struct session *to, const struct farswap_hdr *hdr, bool is_answer)
{
	const struct farswap_mr_info *info = (const void *)hdr;

	if (!is_answer || wire_check(hdr, le32toh(hdr->length), WIRE_TO_CLIENT) != WIRE_OK)
		ok(false, "an answer is well formed");
	pongs += le16toh(hdr->type) == FARSWAP_MSG_PONG;
	welcomes += le16toh(hdr->type) == FARSWAP_MSG_WELCOME;
	if (le16toh(hdr->type) != FARSWAP_MSG_MR_INFO)
		return;
	if (info->status)
		refused++;
	else
		served[nr_served++ % 64] = to->client;
}

bool control_is_idle(const struct session *of)
{
	(void)of;
	return true;
}

int region_lend(struct region_owner *owner, struct region **region)
{
	(void)owner;
	*region = &lent;
	return can_lend ? 0 : -EAGAIN;
}

void session_end(struct session *of, enum stats_counter reason, const char *fmt, ...)
{
	(void)reason;
	(void)fmt;
	of->state = SESSION_DEAD;
	message_stop(of);
	ended++;
}

void session_set_state(struct session *of, enum session_state state)
{
	of->state = state;
}

uint64_t loop_now_ms(void)
{
	return now_ms;
}

bool invite_joins(void *who, const uint8_t *public)
{
	(void)public;
	joined = joins ? who : NULL;
	return joins;
}

void *invite_settled(void)
{
	void *who = joined;

	joined = NULL;
	return who;
}

void invite_leaves(const void *who)
{
	(void)who;
}

unsigned int client_left(const struct client *client)
{
	(void)client;
	return 1000;
}

uint64_t region_bytes(void)
{
	return 2 << 20;
}

uint64_t region_free_bytes(void)
{
	return 1000 * region_bytes();
}

/* These are not reached, or change nothing here. */
const char *auth_answer(struct auth *auth, const struct farswap_auth *request,
			struct farswap_authed *answer)
{
	(void)auth;
	(void)request;
	(void)answer;
	return "no keys";
}

bool auth_is_on(void)
{
	return true;
}

bool evict_for(const struct client *client)
{
	(void)client;
	return false;
}

bool region_is_over(void)
{
	return false;
}

void region_listen(const struct region_events *what)
{
	(void)what;
}

void region_owner_add(struct region_owner *owner, void *pd)
{
	(void)owner;
	(void)pd;
}

void region_retry(void)
{
}

bool region_step(void)
{
	return false;
}

void log_peer(const char *peer, const char *fmt, ...)
{
	(void)peer;
	(void)fmt;
}

void loop_timer_init(struct loop_timer *timer, void (*fn)(void *arg), void *arg)
{
	(void)timer;
	(void)fn;
	(void)arg;
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	(void)timer;
	(void)ms;
}

void loop_work_init(struct loop_work *work, void (*fn)(void *arg), void *arg)
{
	(void)work;
	(void)fn;
	(void)arg;
}

void loop_work_queue(struct loop_work *work)
{
	(void)work;
}

uint64_t meminfo_number(const char *path, int base)
{
	(void)path;
	(void)base;
	return 0;
}

bool session_leaving(void)
{
	return false;
}

bool session_is_full(bool resumes)
{
	(void)resumes;
	return false;
}

void session_idle(struct region_owner *owner)
{
	(void)owner;
}

struct session *grace_find(const struct session *of, const struct farswap_hello *hello)
{
	(void)of;
	(void)hello;
	return NULL;
}

void grace_adopt(struct session *to, struct session *old)
{
	(void)to;
	(void)old;
}

bool grace_claim(struct session *of, const struct farswap_resume *resume, uint64_t *gone)
{
	(void)of;
	(void)resume;
	(void)gone;
	return false;
}

void grace_resumed(struct session *of)
{
	(void)of;
}

void request_alive(struct session *of)
{
	(void)of;
}

void request_start(struct session *of)
{
	(void)of;
}

bool request_activity_answer(struct session *of, const struct farswap_activity *answer)
{
	(void)of;
	(void)answer;
	return false;
}

bool request_done(struct session *of, uint64_t region, uint32_t seq)
{
	(void)of;
	(void)region;
	(void)seq;
	return false;
}

int request_key(struct session *of, uint64_t region, uint32_t *rkey)
{
	(void)of;
	(void)region;
	(void)rkey;
	return -ENOENT;
}

bool request_pong(struct session *of, uint32_t seq)
{
	(void)of;
	(void)seq;
	return false;
}

void request_region_is_back(struct region *region, bool dead)
{
	(void)region;
	(void)dead;
}

bool request_unmap(struct session *of, uint64_t region)
{
	(void)of;
	(void)region;
	return false;
}

static void client_init_test(struct client *client, unsigned int weight)
{
	memset(client, 0, sizeof(*client));
	client->weight = weight;
	client->max = 1000;
	list_init(&client->line);
	list_init(&client->maps);
}

/* All sessions but the last are the greedy client's. */
static void setup(unsigned int weight)
{
	static const uint8_t node[FARSWAP_NODE_BYTES] = { 1 };
	unsigned int i;

	message_init(node, 1, 4, NULL);
	client_init_test(&greedy, weight);
	client_init_test(&honest, 1);
	memset(session, 0, sizeof(session));
	for (i = 0; i < SESSIONS; i++) {
		session[i].state = SESSION_READY;
		session[i].client = i < SESSIONS - 1 ? &greedy : &honest;
	}
	lent.id = 1;
	nr_served = 0;
	refused = 0;
	ended = 0;
	pongs = 0;
	now_ms = 1000;
}

static void say(struct session *of, unsigned int type)
{
	union {
		struct farswap_hdr hdr;
		struct farswap_map map;
		struct farswap_hello hello;
	} msg;

	wire_init(&msg.hdr, type, 7);
	if (type == FARSWAP_MSG_HELLO) {
		msg.hello.queues = htole16(1);
		msg.hello.slab_bytes = htole64(region_bytes());
	}
	message_received(of, &msg, wire_length(type));
}

static void say_map(struct session *of, unsigned int nr)
{
	while (nr--)
		say(of, FARSWAP_MSG_MAP);
}

static unsigned int served_of(const struct client *client, unsigned int first)
{
	unsigned int i, nr = 0;

	for (i = 0; i < first; i++)
		nr += served[i] == client;
	return nr;
}

static void test_turns(void)
{
	unsigned int i;

	setup(1);
	can_lend = false;
	for (i = 0; i < SESSIONS - 1; i++)
		say_map(&session[i], FARSWAP_CREDITS);
	say_map(&session[SESSIONS - 1], 4);
	ok(!ended && !message_map_serve() && !nr_served, "68 MAPs wait");
	can_lend = true;
	for (i = 0; i < 8; i++)
		message_map_serve();
	ok(nr_served == 8 && served_of(&honest, 8) == 4,
	   "the one that came last gets every second region");
	for (i = 0; i < 60; i++)
		message_map_serve();
	ok(nr_served == 68 && !message_map_serve() && list_empty(&message.line),
	   "then the other one gets the rest");

	setup(3);
	can_lend = false;
	say_map(&session[0], FARSWAP_CREDITS);
	say_map(&session[SESSIONS - 1], 4);
	can_lend = true;
	for (i = 0; i < 8; i++)
		message_map_serve();
	ok(served_of(&honest, 8) == 2, "a client with more weight gets more in its turn");

	setup(1);
	can_lend = false;
	say_map(&session[0], FARSWAP_CREDITS);
	say_map(&session[0], 1);
	ok(ended == 1 && list_empty(&message.line), "a MAP too many ends its session and its MAPs");

	setup(1);
	say_map(&session[0], 2);
	now_ms += MESSAGE_MAP_MS - 1;
	say_map(&session[SESSIONS - 1], 1);
	now_ms++;
	while (message_map_serve())
		;
	ok(refused == 2 && !nr_served && !list_empty(&message.line),
	   "a MAP that is too old is refused");
	message_stop(&session[SESSIONS - 1]);
	ok(list_empty(&message.line), "one whose session ends is forgotten");
}

static void invited(void)
{
	setup(1);
	joined = NULL;
	session[0].state = SESSION_GREETING;
	session[0].auth.on = true;
	session[0].auth.invited = true;
	session[0].auth.sealed = true;
}

static void test_invited(void)
{
	static const unsigned int others[] = {
		FARSWAP_MSG_HELLO, FARSWAP_MSG_MAP, FARSWAP_MSG_QUERY_MEM, FARSWAP_MSG_UNMAP,
		FARSWAP_MSG_PONG, FARSWAP_MSG_KEY,
	};
	unsigned int i, accepted = 0;

	joins = true;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		invited();
		say(&session[0], others[i]);
		accepted += !ended;
	}
	ok(!accepted, "a client that is invited may say nothing else");
	invited();
	say(&session[0], FARSWAP_MSG_PING);
	ok(!ended && !pongs && joined == &session[0],
	   "PING introduces it, and is not answered yet");
	message_settle();
	ok(pongs == 1, "PONG comes when its key is in the configuration");
	message_settle();
	ok(pongs == 1, "once");
	invited();
	joins = false;
	say(&session[0], FARSWAP_MSG_PING);
	ok(ended == 1 && !pongs, "without an invitation its session ends");
	invited();
	session[0].auth.invited = false;
	say(&session[0], FARSWAP_MSG_PING);
	ok(ended == 1 && !pongs, "others have to say HELLO first");
}

/* Receive HELLO of another version, after the handshake if @sealed, otherwise before it. */
static void say_later(bool sealed)
{
	struct farswap_hello hello;

	setup(1);
	welcomes = 0;
	session[0].state = SESSION_GREETING;
	session[0].auth.on = true;
	session[0].auth.sealed = sealed;
	wire_init(&hello.hdr, FARSWAP_MSG_HELLO, 1);
	hello.hdr.version = htole16(FARSWAP_VERSION + 1);
	message_received(&session[0], &hello, sizeof(hello));
}

static void test_later(void)
{
	say_later(true);
	ok(welcomes == 1 && session[0].state == SESSION_CLOSING && !ended,
	   "a client of another version is told so");
	say_later(false);
	ok(!welcomes && ended == 1, "nothing is sent in the clear");
}

int main(void)
{
	test_turns();
	test_invited();
	test_later();
	return tap_done();
}
