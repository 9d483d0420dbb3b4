// SPDX-License-Identifier: GPL-2.0
/*
 * Handles clients' messages and sends the answers. A message that is malformed or comes at
 * the wrong time ends its session and affects nothing else.
 *
 * MAP is answered at once from the regions staged for its client. Otherwise it waits until memory
 * is registered, or zeroed and registered. The pool's work, one bounded piece per turn, serves the
 * clients with MAPs in turn, each as many of them as it has weight. A MAP that waits too long is
 * refused: the client has given up by then, and would return the region at once, to be zeroed again
 * while others wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "evict.h"
#include "invite.h"
#include "log.h"
#include "meminfo.h"
#include "session.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define MESSAGE_INSTANCE	"/sys/kernel/farswap/instance"
#define MESSAGE_RETRY_MS	5000
/* Less than the second that a client waits for MR_INFO. */
#define MESSAGE_MAP_MS		800

static struct {
	uint8_t node[FARSWAP_NODE_BYTES];
	uint64_t instance;
	unsigned int queues;
	void (*idle)(void);
	struct list line;		/* struct client, with MAPs that wait */
	struct loop_work pool;
	struct loop_timer retry;	/* retries failed registrations */
	struct loop_timer late;		/* refuses the MAP that is too old first */
} message;

/* Map a wire error to its END_BAD_ reason. */
static enum stats_counter message_bad(enum wire_error error)
{
	_Static_assert(STAT_END_BAD_RANGE - STAT_END_BAD_SHORT == WIRE_RANGE - WIRE_SHORT,
		       "the reasons are in the errors' order");
	return STAT_END_BAD_SHORT + (error - WIRE_SHORT);
}

static void message_welcome(struct session *session, uint32_t seq, unsigned int status)
{
	struct farswap_welcome welcome;

	wire_init(&welcome.hdr, FARSWAP_MSG_WELCOME, seq);
	welcome.status = htole32(status);
	welcome.slab_bytes = htole64(region_bytes());
	if (status == FARSWAP_STATUS_OK) {
		memcpy(welcome.node, message.node, sizeof(welcome.node));
		welcome.instance = htole64(message.instance);
		welcome.queues = htole16(session->queues);
		if (session->resuming)
			welcome.resumed = htole16(session->rekeyed ? FARSWAP_RESUMED_NEW_KEYS :
						  FARSWAP_RESUMED_SAME_KEYS);
		welcome.session = htole64(session->secret);
		welcome.answers = htole64(session->answers);
	}
	control_send(session, &welcome.hdr, true);
}

static void message_close(struct session *session, unsigned int status,
			  enum stats_counter reason)
{
	log_peer(session->peer, "session %" PRIu64 " refused: %s", session->number,
		 wire_status_name(status));
	session->close_reason = reason;
	session_set_state(session, SESSION_CLOSING);
	loop_timer_set(&session->deadline, SESSION_CLOSE_MS);
}

static void message_refuse(struct session *session, uint32_t seq, unsigned int status,
			   enum stats_counter reason)
{
	message_close(session, status, reason);
	message_welcome(session, seq, status);
}

/*
 * Is the client the kernel of this machine? Read each time, because the module may be reloaded.
 * Returns false if the module, or the file, is not visible.
 */
static bool message_is_self(const struct farswap_hello *hello)
{
	uint64_t own = meminfo_number(MESSAGE_INSTANCE, 16);

	return own && own == le64toh(hello->instance);
}

static void message_hello(struct session *session, const void *msg)
{
	const struct farswap_hello *hello = msg;
	uint32_t seq = le32toh(hello->hdr.seq);
	struct session *old;

	if (message_is_self(hello)) {
		message_refuse(session, seq, FARSWAP_STATUS_SELF, STAT_END_REFUSED);
		return;
	}
	if (le64toh(hello->slab_bytes) != region_bytes()) {
		log_peer(session->peer, "its slab_mb is %" PRIu64 ", but slab is %" PRIu64 "M here: set both to the same value",
			 le64toh(hello->slab_bytes) >> 20, region_bytes() >> 20);
		message_refuse(session, seq, FARSWAP_STATUS_BAD_SLAB_SIZE, STAT_END_REFUSED);
		return;
	}
	if (le16toh(hello->auth_kind) != (session->auth.sealed ? FARSWAP_AUTH_NOISE :
					  FARSWAP_AUTH_NONE)) {
		message_refuse(session, seq, FARSWAP_STATUS_BAD_AUTH, STAT_END_REFUSED);
		return;
	}
	if (session_leaving()) {
		message_refuse(session, seq, FARSWAP_STATUS_LEAVING, STAT_END_LEAVING);
		return;
	}
	/* Others may have sent HELLO since this one connected. */
	old = grace_find(session, hello);
	if (session_is_full(old)) {
		message_refuse(session, seq, FARSWAP_STATUS_BUSY, STAT_END_REFUSED);
		return;
	}
	session->hello = *hello;
	session->queues = le16toh(hello->queues);
	if (session->queues > message.queues)
		session->queues = message.queues;
	region_owner_add(&session->owner, session->lend_pd);
	session->owner.account = &session->client->account;
	session->has_owner = true;
	session_set_state(session, SESSION_READY);
	if (old)
		grace_adopt(session, old);
	loop_timer_set(&session->deadline, SESSION_DATA_MS);
	request_start(session);
	message_welcome(session, seq, FARSWAP_STATUS_OK);
	log_peer(session->peer, "session %" PRIu64 " begun, %u data queue pairs",
		 session->number, session->queues);
	message_kick_pool();
}

static void message_auth(struct session *session, const void *msg)
{
	struct farswap_authed answer;
	const char *wrong = auth_answer(&session->auth, msg, &answer);

	if (wrong)
		session_end(session, STAT_END_AUTH, "not authenticated: %s", wrong);
	else
		control_send(session, &answer.hdr, true);
}

static void message_query_mem(struct session *session, const void *msg)
{
	const struct farswap_hdr *query = msg;
	const unsigned int *nr = session->owner.nr;
	struct farswap_free_mem answer;

	wire_init(&answer.hdr, FARSWAP_MSG_FREE_MEM, le32toh(query->seq));
	if (!session_leaving())
		answer.free_bytes = htole64(client_left(session->client) * region_bytes());
	answer.mapped = htole32(nr[REGION_MAPPED] + nr[REGION_EVICT_WAIT] + nr[REGION_EVICTING]);
	control_send(session, &answer.hdr, true);
}

static void message_mr_info(struct session *session, uint32_t seq, unsigned int status,
			    const struct region *region)
{
	struct farswap_mr_info info;

	wire_init(&info.hdr, FARSWAP_MSG_MR_INFO, seq);
	info.status = htole32(status);
	if (status == FARSWAP_STATUS_OK) {
		info.rkey = htole32(region->rkey);
		info.region = htole64(region->id);
		info.addr = htole64(region->iova);
		info.bytes = htole64(region_bytes());
	}
	stats_inc(status == FARSWAP_STATUS_OK ? STAT_MAPS : STAT_MAPS_REFUSED);
	control_send(session, &info.hdr, true);
}

static void message_map_later(struct session *session, const struct farswap_map *map)
{
	struct session_map *wait = session->maps;

	if (session->nr_maps == ARRAY_SIZE(session->maps)) {
		session_end(session, STAT_END_BAD_FLOOD, "more than %u unanswered MAPs",
			    FARSWAP_CREDITS);
		return;
	}
	while (wait->session)
		wait++;
	wait->session = session;
	wait->seq = le32toh(map->hdr.seq);
	wait->until_ms = loop_now_ms() + MESSAGE_MAP_MS;
	session->nr_maps++;
	list_add_tail(&wait->link, &session->client->maps);
	if (list_empty(&session->client->line)) {
		session->client->served = 0;
		list_add_tail(&session->client->line, &message.line);
	}
	message_kick_pool();
}

static void message_map(struct session *session, const void *msg)
{
	const struct farswap_map *map = msg;
	struct region *region;

	if (session_leaving())
		message_mr_info(session, le32toh(map->hdr.seq), FARSWAP_STATUS_LEAVING, NULL);
	else if (session->nr_maps || !client_left(session->client) || !session->owner.nr[REGION_STAGED] ||
		 region_lend(&session->owner, &region))
		message_map_later(session, map);
	else
		message_mr_info(session, le32toh(map->hdr.seq), FARSWAP_STATUS_OK, region);
	message_kick_pool();
}

static void message_map_forget(struct session_map *wait)
{
	list_del(&wait->link);
	if (list_empty(&wait->session->client->maps))
		list_del(&wait->session->client->line);
	wait->session->nr_maps--;
	wait->session = NULL;
}

/* Return the status to answer a waiting MAP with, or -EAGAIN. */
static int message_map_try(struct session_map *wait, uint64_t now, struct region **region)
{
	struct client *client = wait->session->client;
	bool free = region_free_bytes();
	int err = -ENOSPC;

	if (session_leaving())
		return FARSWAP_STATUS_LEAVING;
	/* The client has reached its limit, or the free regions are reserved for others. */
	if (now >= wait->until_ms || client->account.lent >= client->max ||
	    (free && !client_left(client)))
		return FARSWAP_STATUS_NO_MEMORY;
	if (free)
		err = region_lend(&wait->session->owner, region);
	if (err == -ENOSPC && !region_is_over() && evict_for(client))
		err = -EAGAIN;
	if (err == -EAGAIN)
		return err;
	return err ? FARSWAP_STATUS_NO_MEMORY : FARSWAP_STATUS_OK;
}

/* Serve the first MAP of the client that can be served. Return false if there is none. */
static bool message_client_serve(struct client *client, uint64_t now)
{
	struct list *pos;

	list_for_each(pos, &client->maps) {
		struct session_map *wait = container_of(pos, struct session_map, link);
		struct session *session = wait->session;
		struct region *region = NULL;
		int status = message_map_try(wait, now, &region);

		if (status == -EAGAIN)
			continue;
		/* The next client's turn, unless this one has more weight. */
		if (status == FARSWAP_STATUS_OK && ++client->served >= client->weight) {
			client->served = 0;
			list_del(&client->line);
			list_add_tail(&client->line, &message.line);
		}
		message_map_forget(wait);
		message_mr_info(session, wait->seq, status, region);
		return true;
	}
	return false;
}

/* Return the time at which the first MAP is refused, or UINT64_MAX. */
static uint64_t message_map_first_ms(void)
{
	uint64_t first = UINT64_MAX;
	struct list *pos;

	list_for_each(pos, &message.line) {
		struct client *client = container_of(pos, struct client, line);
		struct session_map *wait = list_first(&client->maps, struct session_map, link);

		if (wait && wait->until_ms < first)
			first = wait->until_ms;
	}
	return first;
}

/*
 * Answer a MAP of the first client that has one that can be answered. Return false if there is
 * none. A client whose device registers memory slowly does not block the others.
 */
static bool message_map_serve(void)
{
	uint64_t now = loop_now_ms(), first;
	struct list *pos;

	list_for_each(pos, &message.line)
		if (message_client_serve(container_of(pos, struct client, line), now))
			return true;
	first = message_map_first_ms();
	if (first != UINT64_MAX)
		loop_timer_set(&message.late, first > now ? first - now : 0);
	return false;
}

static void message_pool_work(void *arg)
{
	bool served = message_map_serve();

	(void)arg;
	/* While shutting down nothing more is zeroed or registered. */
	if ((!session_leaving() && region_step()) || served)
		loop_work_queue(&message.pool);
	else
		message.idle();
}

static void message_pool_retry(void *arg)
{
	(void)arg;
	region_retry();
	message_kick_pool();
	loop_timer_set(&message.retry, MESSAGE_RETRY_MS);
}

static void message_map_late(void *arg)
{
	(void)arg;
	message_kick_pool();
}

void message_kick_pool(void)
{
	loop_work_queue(&message.pool);
}

static void message_bad_order(struct session *session, const struct farswap_hdr *hdr)
{
	session_end(session, STAT_END_BAD_ORDER, "unexpected %s",
		    wire_type_name(le16toh(hdr->type)));
}

static void message_unmap(struct session *session, const void *msg)
{
	const struct farswap_region_msg *unmap = msg;

	if (!request_unmap(session, le64toh(unmap->region)))
		message_bad_order(session, msg);
}

static void message_done(struct session *session, const void *msg)
{
	const struct farswap_region_msg *done = msg;

	if (!request_done(session, le64toh(done->region), le32toh(done->hdr.seq)))
		message_bad_order(session, msg);
}

static void message_activity(struct session *session, const void *msg)
{
	if (!request_activity_answer(session, msg))
		message_bad_order(session, msg);
}

/* The first message of a client that introduces its key. */
static void message_joins(struct session *session, uint32_t seq)
{
	session->join_seq = seq;
	if (invite_joins(session, session->auth.public))
		loop_timer_set(&session->deadline, SESSION_DATA_MS);
	else
		session_end(session, STAT_END_AUTH, "its invitation is used or has ended");
}

void message_settle(void)
{
	struct session *session = invite_settled();
	struct farswap_hdr pong;

	if (!session)
		return;
	wire_init(&pong, FARSWAP_MSG_PONG, session->join_seq);
	control_send(session, &pong, true);
}

static void message_ping(struct session *session, const void *msg)
{
	const struct farswap_hdr *ping = msg;
	struct farswap_hdr pong;

	if (session->auth.invited) {
		message_joins(session, le32toh(ping->seq));
		return;
	}
	wire_init(&pong, FARSWAP_MSG_PONG, le32toh(ping->seq));
	control_send(session, &pong, true);
}

static void message_pong(struct session *session, const void *msg)
{
	const struct farswap_hdr *pong = msg;

	if (!request_pong(session, le32toh(pong->seq)))
		message_bad_order(session, msg);
}

static void message_resume(struct session *session, const void *msg)
{
	const struct farswap_resume *resume = msg;
	struct farswap_resumed answer;
	uint64_t gone;

	if (!session->resuming) {
		message_bad_order(session, msg);
		return;
	}
	if (!grace_claim(session, resume, &gone)) {
		session_end(session, message_bad(WIRE_RANGE),
			    "RESUME names a region twice, or more regions than were ever lent");
		return;
	}
	wire_init(&answer.hdr, FARSWAP_MSG_RESUMED, le32toh(resume->hdr.seq));
	answer.gone = htole64(gone);
	control_send(session, &answer.hdr, true);
	/* After the answer is sent: an EVICT must not overtake it. */
	if (!resume->more && !session_is_over(session))
		grace_resumed(session);
}

static void message_key(struct session *session, const void *msg)
{
	const struct farswap_region_msg *key = msg;
	struct farswap_keyed answer;
	uint32_t rkey = 0;

	if (!session->rekeyed) {
		message_bad_order(session, msg);
		return;
	}
	wire_init(&answer.hdr, FARSWAP_MSG_KEYED, le32toh(key->hdr.seq));
	answer.region = key->region;
	if (request_key(session, le64toh(key->region), &rkey))
		answer.status = htole32(FARSWAP_STATUS_NO_MEMORY);
	answer.rkey = htole32(rkey);
	control_send(session, &answer.hdr, true);
}

/* Message types allowed before the last RESUME. */
static bool message_may_precede_resume(unsigned int type)
{
	return type == FARSWAP_MSG_RESUME || type == FARSWAP_MSG_PING ||
	       type == FARSWAP_MSG_PONG;
}

/* The first message, see message_first(), comes before a session is ready; all others require that. */
static void (*const message_handlers[FARSWAP_MSG_MAX + 1])(struct session *, const void *) = {
	[FARSWAP_MSG_AUTH] = message_auth,
	[FARSWAP_MSG_HELLO] = message_hello,
	[FARSWAP_MSG_QUERY_MEM] = message_query_mem,
	[FARSWAP_MSG_MAP] = message_map,
	[FARSWAP_MSG_UNMAP] = message_unmap,
	[FARSWAP_MSG_DONE] = message_done,
	[FARSWAP_MSG_ACTIVITY] = message_activity,
	[FARSWAP_MSG_PING] = message_ping,
	[FARSWAP_MSG_PONG] = message_pong,
	[FARSWAP_MSG_RESUME] = message_resume,
	[FARSWAP_MSG_KEY] = message_key,
};

/* Return the type of message that a session waits for before it is ready. */
static unsigned int message_first(const struct session *session)
{
	if (auth_is_on() && !session->auth.sealed)
		return FARSWAP_MSG_AUTH;
	return session->auth.invited ? FARSWAP_MSG_PING : FARSWAP_MSG_HELLO;
}

void message_received(struct session *session, const void *msg, size_t len)
{
	enum wire_error error = wire_check(msg, len, WIRE_TO_DONOR);
	const struct farswap_hdr *hdr = msg;
	bool greeting = session->state < SESSION_READY;

	if (session->state > SESSION_READY)
		return;
	/*
	 * The layout of another version is unknown, but its HELLO must be answered. Before the
	 * handshake it is not, because the answer would be sent in the clear.
	 */
	if (error == WIRE_VERSION && greeting && le16toh(hdr->type) == FARSWAP_MSG_HELLO &&
	    message_first(session) == FARSWAP_MSG_HELLO) {
		log_peer(session->peer, WIRE_VERSIONS, le16toh(hdr->version),
			 FARSWAP_VERSION);
		message_refuse(session, le32toh(hdr->seq), FARSWAP_STATUS_BAD_VERSION,
			       STAT_END_BAD_VERSION);
		return;
	}
	if (error == WIRE_IGNORE) {
		request_alive(session);
		return;
	}
	if (error) {
		session_end(session, message_bad(error), "message of %zu bytes: %s", len,
			    wire_error_name(error));
		return;
	}
	if (greeting != (le16toh(hdr->type) == message_first(session)) ||
	    (session->resuming && !message_may_precede_resume(le16toh(hdr->type)))) {
		message_bad_order(session, hdr);
		return;
	}
	request_alive(session);
	message_handlers[le16toh(hdr->type)](session, msg);
}

void message_sent(struct session *session)
{
	if (session->state == SESSION_CLOSING && control_is_idle(session))
		session_end(session, session->close_reason, "refused");
}

void message_stop(struct session *session)
{
	unsigned int i;

	invite_leaves(session);
	for (i = 0; i < ARRAY_SIZE(session->maps); i++)
		if (session->maps[i].session)
			message_map_forget(&session->maps[i]);
}

static const struct region_events events = {
	.changed = message_kick_pool,
	.back = request_region_is_back,
	.idle = session_idle,
};

void message_init(const uint8_t *node, uint64_t instance, unsigned int queues,
		  void (*idle)(void))
{
	memcpy(message.node, node, sizeof(message.node));
	message.instance = instance;
	message.queues = queues;
	message.idle = idle;
	list_init(&message.line);
	region_listen(&events);
	loop_work_init(&message.pool, message_pool_work, NULL);
	loop_timer_init(&message.late, message_map_late, NULL);
	loop_timer_init(&message.retry, message_pool_retry, NULL);
	loop_timer_set(&message.retry, MESSAGE_RETRY_MS);
}
