// SPDX-License-Identifier: GPL-2.0
/*
 * farswapd with clients that do anything: connect, resume, send what is right or damaged, vanish;
 * while the operator evicts, drains and denies clients, the device fails, and time passes. After
 * each step it must still keep its promises: see promises(). At the end nothing may be left.
 *
 * In half of the runs clients have keys. They look into the daemon for its half of the keys, and so
 * need no handshake of their own.
 */
#include "auth.c"

#include "client.h"
#include "drain.h"
#include "evict.h"
#include "invite.h"
#include "listener.h"
#include "meminfo.h"
#include "mock.h"

#include <malloc.h>

#define CLIENTS		3
#define SESSIONS_MAX	6
#define SLAB		8192u
#define KNOWN		32

/* What a client has heard. */
static struct known {
	uint64_t secret[4];
	uint64_t region[KNOWN];
	struct { uint64_t region; uint32_t seq; } evict[KNOWN];
	struct farswap_check_activity activity[8];
	uint32_t ping[8];
	unsigned int nr_secrets, nr_regions, nr_evicts, nr_activities, nr_pings;
	uint8_t key[FARSWAP_NOISE_KEY_BYTES], public[FARSWAP_NOISE_KEY_BYTES];
	uint8_t pair_key[FARSWAP_NOISE_KEY_BYTES];
	bool allowed;
} known[CLIENTS];

static uint8_t donor_public[FARSWAP_NOISE_KEY_BYTES];
static bool with_keys;
static struct drain_wait drained;
static bool waits;
/* Somebody waits for a client that joins. */
static bool invites;

/* Both of these are for arrays that are written round and round. */
#define KNOW(array, nr)		(&(array)[(nr)++ % ARRAY_LEN(array)])
#define ARRAY_LEN(array)	(sizeof(array) / sizeof((array)[0]))
#define PICK(array, nr)							\
	((array)[(nr) ? fuzz_below((nr) < ARRAY_LEN(array) ?		\
				   (nr) : ARRAY_LEN(array)) : 0])

/*
 * Wraps the daemon's calls of free(). Sessions and their messages contain secrets and rkeys, so
 * they must be zeroed before they are freed.
 */
void __real_free(void *ptr);
void __wrap_free(void *ptr);
void __wrap_free(void *ptr)
{
	static const uint8_t zero[FARSWAP_MSG_BYTES];
	const uint8_t *bytes = ptr;
	size_t len = ptr ? malloc_usable_size(ptr) : 0, part;

	if (len == sizeof(struct session) ||
	    len == (FARSWAP_RECV_DEPTH + SESSION_SENDS) * FARSWAP_MSG_BYTES)
		for (part = 0; part < len; part += sizeof(zero))
			FUZZ_CHECK(!memcmp(bytes + part, zero, len - part < sizeof(zero) ?
					   len - part : sizeof(zero)));
	__real_free(ptr);
}

static struct known *known_of(const struct rdma_cm_id *id)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&id->route.addr.dst_addr;

	return &known[ntohl(in->sin_addr.s_addr) % 256 - 1];
}

static struct session *session_of_qp(const struct mock_qp *qp)
{
	return ((struct conn *)qp->qp.qp_context)->session;
}

static void check_lent(const struct mock_qp *qp, const struct farswap_mr_info *info)
{
	unsigned int i, byte;

	for (i = 0; i < region_total(); i++) {
		struct region *region = region_at(i);

		if (region->id != le64toh(info->region) || region->state != REGION_MAPPED)
			continue;
		for (byte = 0; byte < SLAB; byte++)
			FUZZ_CHECK(!region->addr[byte]);
		FUZZ_CHECK(region->rkey == le32toh(info->rkey));
		FUZZ_CHECK(session_of(region->owner) == session_of_qp(qp));
		FUZZ_CHECK(((struct mock_mr *)region->mr)->iova == le64toh(info->addr));
		/* The client writes to it. */
		memset(region->addr, 0xa5, SLAB);
		return;
	}
	FUZZ_CHECK(!"the region of MR_INFO is not lent");
}

/* When a session is resumed nothing of the old one may reach the regions any more. */
static void check_domain(const struct session *session)
{
	struct mock_qp *qp;

	for (qp = mock_qps; qp && !mock_leaks; qp = qp->next)
		FUZZ_CHECK(qp->pd != session->lend_pd || session_of_qp(qp) == session);
}

static void learn(struct known *client, const struct mock_qp *qp, const struct farswap_hdr *hdr)
{
	const struct farswap_mr_info *info = (const void *)hdr;
	const struct farswap_evict *evict = (const void *)hdr;

	switch (le16toh(hdr->type)) {
	case FARSWAP_MSG_WELCOME:
		check_domain(session_of_qp(qp));
		*KNOW(client->secret, client->nr_secrets) =
			le64toh(((const struct farswap_welcome *)hdr)->session);
		break;
	case FARSWAP_MSG_MR_INFO:
		if (info->status)
			break;
		check_lent(qp, info);
		*KNOW(client->region, client->nr_regions) = le64toh(info->region);
		break;
	case FARSWAP_MSG_EVICT:
		client->evict[client->nr_evicts % KNOWN].region = le64toh(evict->region);
		client->evict[client->nr_evicts++ % KNOWN].seq = le32toh(hdr->seq);
		break;
	case FARSWAP_MSG_CHECK_ACTIVITY:
		*KNOW(client->activity, client->nr_activities) =
			*(const struct farswap_check_activity *)hdr;
		break;
	case FARSWAP_MSG_PING:
		*KNOW(client->ping, client->nr_pings) = le32toh(hdr->seq);
		break;
	}
}

static void mock_sent(struct mock_qp *qp, void *msg, size_t len)
{
	union {
		struct farswap_hdr hdr;
		uint8_t bytes[FARSWAP_MSG_BYTES];
	} copy;
	struct session *session = session_of_qp(qp);
	struct farswap_noise_cipher cipher;

	FUZZ_CHECK(&session->control == qp->qp.qp_context);
	memcpy(&copy, msg, len);
	if (with_keys && le16toh(copy.hdr.type) != FARSWAP_MSG_AUTHED) {
		FUZZ_CHECK(session->auth.sealed && len >= sizeof(copy.hdr) + TAG);
		cipher = session->auth.keys.send;
		cipher.nonce--;
		FUZZ_CHECK(!farswap_noise_open(&cipher, &copy, HDR, copy.bytes + HDR, len - HDR));
		len -= TAG;
	}
	FUZZ_CHECK(wire_check(&copy, len, WIRE_TO_CLIENT) == WIRE_OK);
	learn(known_of(session->control.id), qp, &copy.hdr);
}

static void check_region(const struct region *region)
{
	struct mock_qp *qp;
	unsigned int i;

	switch (region->state) {
	case REGION_EMPTY:
		FUZZ_CHECK(!region->addr && !region->mr);
		break;
	case REGION_DIRTY:
	case REGION_FREE:
		FUZZ_CHECK(!region->mr && !region->owner);
		break;
	case REGION_STAGED:
		FUZZ_CHECK(region->mr);
		break;
	default:
		break;
	}
	if (region->state == REGION_FREE || region->state == REGION_STAGED)
		for (i = 0; i < SLAB; i += 64)
			FUZZ_CHECK(!region->addr[i]);
	if (!region->mr || !region->owner || mock_leaks || region->state == REGION_BROKEN)
		return;
	/* A region is reached by the queue pairs of one session only. */
	for (qp = mock_qps; qp; qp = qp->next)
		if (qp->pd == ((struct mock_mr *)region->mr)->mr.pd)
			FUZZ_CHECK(session_of_qp(qp) == session_of(region->owner));
}

static void promises(void)
{
	unsigned int i, sessions = 0;
	struct mock_qp *qp;
	struct mock_mr *mr;
	struct list *pos;

	for (i = 0; i < region_total(); i++)
		check_region(region_at(i));
	/* A control queue pair reaches no region, and no queue pair has more than it needs. */
	for (qp = mock_qps; qp && !mock_leaks; qp = qp->next) {
		bool control = qp->qp.qp_context == &session_of_qp(qp)->control;

		FUZZ_CHECK(!control || !qp->access);
		for (mr = mock_mrs; control && mr; mr = mr->next)
			FUZZ_CHECK(mr->mr.pd != qp->pd || !(mr->access & MOCK_REMOTE));
	}
	list_for_each(pos, &session_list) {
		struct session *session = container_of(pos, struct session, link);

		sessions++;
		/* Nobody gets memory who has not shown a key, where keys are required. */
		if (with_keys && session->has_owner)
			FUZZ_CHECK(session->auth.sealed && !session->auth.invited);
	}
	FUZZ_CHECK(sessions == session_count());
	FUZZ_CHECK(grace_count() <= SESSIONS_MAX);
}

static struct session *pick_session(void)
{
	unsigned int n = session_count() ? fuzz_below(session_count()) : 0;
	struct list *pos;

	list_for_each(pos, &session_list)
		if (!n--)
			return container_of(pos, struct session, link);
	return NULL;
}

static struct mock_id *new_id(unsigned int client)
{
	struct mock_id *id = calloc(1, sizeof(*id));
	struct sockaddr_in *in = (struct sockaddr_in *)&id->id.route.addr.dst_addr;

	in->sin_family = AF_INET;
	in->sin_port = htons(1024);
	in->sin_addr.s_addr = htonl(0x0a000001 + client);
	*(struct sockaddr_in *)&id->id.route.addr.src_addr = *in;
	id->id.verbs = &mock_context;
	id->id.channel = &mock_cm;
	id->qpn = fuzz_u64() & 0xffffff;
	id->next = mock_ids;
	mock_ids = id;
	mock_nr_ids++;
	return id;
}

static void seal_connect(struct farswap_connect *connect, const uint8_t *key, uint32_t qpn)
{
	uint8_t data[sizeof(*connect) + 4];

	connect->features |= htole32(FARSWAP_FEATURE_SEALED);
	auth_request(data, connect, qpn);
	farswap_noise_mac(connect->mac, key, data, sizeof(data));
}

static void act_connect(void)
{
	struct session *session = pick_session();
	bool data = session && session->state == SESSION_READY && fuzz_once_in(2);
	unsigned int client = fuzz_below(CLIENTS);
	size_t len = sizeof(struct farswap_connect);
	struct farswap_connect connect;
	struct mock_id *id;

	if (mock_nr_ids > 48)
		return;
	if (session && session->control.id && !fuzz_once_in(6))
		client = known_of(session->control.id) - known;
	id = new_id(client);
	wire_init_connect(&connect, data ? FARSWAP_CONNECT_DATA : FARSWAP_CONNECT_CONTROL, 0,
			  data ? fuzz_below(session->queues + fuzz_once_in(8)) : 0);
	connect.attempt = data ? htole32(session->attempt) : htole32(fuzz_below(3));
	if (data || (session && fuzz_once_in(2)))
		connect.session = htole64(with_keys ? session->auth.bind_id : session->secret);
	if (auths.invite.open && !data && fuzz_once_in(2)) {
		connect.session = 0;
		connect.features = htole32(FARSWAP_FEATURE_INVITED);
		memcpy(connect.key_id, auths.invite.id, sizeof(connect.key_id));
		seal_connect(&connect, auths.invite.key, id->qpn);
	} else if (with_keys != fuzz_once_in(20)) {
		farswap_noise_key_id(connect.key_id, known[client].public);
		if (data)
			memset(connect.key_id, 0, sizeof(connect.key_id));
		seal_connect(&connect, data ? session->auth.keys.bind : known[client].pair_key,
			     id->qpn);
	}
	if (fuzz_once_in(12))
		fuzz_damage(&connect, sizeof(connect));
	if (fuzz_once_in(20))
		len = fuzz_below(sizeof(connect));
	if (!mock_event(id, RDMA_CM_EVENT_CONNECT_REQUEST, &connect, len))
		rdma_destroy_id(&id->id);
}

static void act_cm(void)
{
	static const enum rdma_cm_event_type types[] = {
		RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_ESTABLISHED,
		RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED,
		RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_CONNECT_ERROR,
		RDMA_CM_EVENT_TIMEWAIT_EXIT,
	};
	unsigned int n = mock_nr_ids ? fuzz_below(mock_nr_ids) : 0;
	struct mock_id *id;

	for (id = mock_ids; id && n; id = id->next)
		n--;
	if (id && id->accepted)
		mock_event(id, types[fuzz_below(ARRAY_LEN(types))], NULL, 0);
}

union message {
	struct farswap_hdr hdr;
	struct farswap_auth auth;
	struct farswap_hello hello;
	struct farswap_region_msg region;
	struct farswap_map map;
	struct farswap_activity activity;
	struct farswap_resume resume;
	uint8_t bytes[FARSWAP_MSG_BYTES + 64];
};

/* The first message of a handshake for this session. */
static void fill_auth(union message *msg, const struct session *session,
		      const struct known *client)
{
	static const uint8_t none[8];
	uint8_t ephemeral[FARSWAP_NOISE_KEY_BYTES];
	struct farswap_noise noise;

	fuzz_fill(ephemeral, sizeof(ephemeral));
	farswap_noise_begin_client(&noise, session->auth.prologue, session->auth.prologue_len,
				   client->key, donor_public);
	farswap_noise_write_first(&noise, ephemeral, none, sizeof(none), msg->auth.noise);
}

static void fill_activity(union message *msg, const struct known *client)
{
	const struct farswap_check_activity *check = &PICK(client->activity, client->nr_activities);
	unsigned int i;

	msg->hdr.seq = check->hdr.seq;
	msg->activity.count = check->count;
	for (i = 0; i < le32toh(check->count); i++) {
		msg->activity.entry[i].region = check->region[i];
		msg->activity.entry[i].pages = htole32(fuzz_below(100));
	}
}

static void fill_resume(union message *msg, const struct known *client)
{
	unsigned int i, n = fuzz_below(8);

	msg->resume.more = htole32(fuzz_once_in(4));
	msg->resume.count = htole32(n);
	for (i = 0; i < n; i++)
		msg->resume.region[i] =
			htole64(client->region[(client->nr_regions - 1 - i) % KNOWN]);
}

/* Mostly one that the session has. */
static uint64_t pick_region(const struct session *session, const struct known *client)
{
	const struct region *region = session->has_owner ?
		list_first(&session->owner.regions[REGION_MAPPED], struct region, link) : NULL;

	return region && !fuzz_once_in(4) ? region->id : PICK(client->region, client->nr_regions);
}

static void fill(union message *msg, unsigned int type, const struct session *session,
		 const struct known *client)
{
	unsigned int i;

	switch (type) {
	case FARSWAP_MSG_AUTH:
		if (with_keys)
			fill_auth(msg, session, client);
		break;
	case FARSWAP_MSG_HELLO:
		msg->hello.slab_bytes = htole64(SLAB << fuzz_once_in(20));
		msg->hello.queues = htole16(1 + fuzz_below(4));
		msg->hello.grace_ms = htole32(fuzz_below(20000));
		msg->hello.auth_kind = htole16(with_keys != fuzz_once_in(30));
		msg->hello.node[0] = fuzz_once_in(8);
		msg->hello.instance = htole64(fuzz_once_in(30) ? 0x5e1f : 1);
		if (fuzz_once_in(2))
			msg->hello.resume = htole64(PICK(client->secret, client->nr_secrets));
		break;
	case FARSWAP_MSG_UNMAP:
	case FARSWAP_MSG_KEY:
		msg->region.region = htole64(pick_region(session, client));
		break;
	case FARSWAP_MSG_DONE:
		i = client->nr_evicts - 1 - fuzz_below(2);
		msg->region.region = htole64(client->evict[i % KNOWN].region);
		msg->hdr.seq = htole32(client->evict[i % KNOWN].seq);
		break;
	case FARSWAP_MSG_ACTIVITY:
		fill_activity(msg, client);
		break;
	case FARSWAP_MSG_PONG:
		msg->hdr.seq = htole32(PICK(client->ping, client->nr_pings));
		break;
	case FARSWAP_MSG_RESUME:
		fill_resume(msg, client);
		break;
	}
}

/* Mostly one that the donor takes in the session's state. */
static unsigned int pick_type(const struct session *session)
{
	static const uint8_t types[] = {
		FARSWAP_MSG_MAP, FARSWAP_MSG_MAP, FARSWAP_MSG_MAP, FARSWAP_MSG_QUERY_MEM,
		FARSWAP_MSG_UNMAP, FARSWAP_MSG_PING, FARSWAP_MSG_PING, FARSWAP_MSG_DONE,
		FARSWAP_MSG_PONG, FARSWAP_MSG_ACTIVITY,
	};

	if (fuzz_once_in(60))
		return fuzz_below(FARSWAP_MSG_MAX + 3);
	if (session->state < SESSION_READY)
		return with_keys && !session->auth.sealed ? FARSWAP_MSG_AUTH :
			session->auth.invited && !fuzz_once_in(8) ? FARSWAP_MSG_PING :
			FARSWAP_MSG_HELLO;
	if (session->resuming)
		return FARSWAP_MSG_RESUME;
	if (session->rekeyed && fuzz_once_in(2))
		return FARSWAP_MSG_KEY;
	if (session->has_owner && session->owner.nr[REGION_EVICTING] && fuzz_once_in(2))
		return FARSWAP_MSG_DONE;
	if (session->ping_waits && fuzz_once_in(2))
		return FARSWAP_MSG_PONG;
	if (session->nr_requests && fuzz_once_in(2))
		return FARSWAP_MSG_ACTIVITY;
	return types[fuzz_below(fuzz_once_in(20) ? sizeof(types) : 7)];
}

static unsigned int queued_messages(const struct mock_cq *cq)
{
	unsigned int i, n = 0;

	for (i = 0; i < cq->nr; i++)
		n += cq->wc[i].opcode == IBV_WC_RECV;
	return n;
}

/* A message arrives in the first of the posted receives. */
static void deliver(struct mock_qp *qp, const void *msg, size_t len)
{
	struct ibv_wc wc = { .opcode = IBV_WC_RECV, .byte_len = len };

	if (!qp->nr_recvs || qp->cq->nr > MOCK_WCS - SESSION_SENDS - 8)
		return;
	wc.wr_id = qp->recv[0].id;
	if (len > qp->recv[0].sge.length)
		wc.status = IBV_WC_LOC_LEN_ERR;
	else
		memcpy((void *)(uintptr_t)qp->recv[0].sge.addr, msg, len);
	if (fuzz_once_in(200))
		wc.status = IBV_WC_WR_FLUSH_ERR;
	if (fuzz_once_in(400))
		wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	memmove(qp->recv, qp->recv + 1, --qp->nr_recvs * sizeof(qp->recv[0]));
	mock_complete(qp->cq, &wc);
}

static void act_message(void)
{
	struct session *session = pick_session();
	struct farswap_noise_cipher cipher;
	union message msg;
	struct mock_qp *qp;
	unsigned int type;
	size_t len;

	if (!session || !session->control.id || !session->control.id->qp)
		return;
	qp = (struct mock_qp *)session->control.id->qp;
	type = pick_type(session);
	memset(&msg, 0, sizeof(msg));
	wire_init(&msg.hdr, wire_length(type) ? type : FARSWAP_MSG_PING, fuzz_below(4));
	msg.hdr.type = htole16(type | (fuzz_once_in(100) ? FARSWAP_MSG_OPTIONAL : 0));
	len = le32toh(msg.hdr.length);
	fill(&msg, type, session, known_of(session->control.id));
	if (fuzz_once_in(40))
		fuzz_damage(&msg, len);
	if (session->auth.sealed && !fuzz_once_in(60)) {
		cipher = session->auth.keys.receive;
		cipher.nonce += queued_messages(qp->cq);
		farswap_noise_seal(&cipher, &msg, HDR, msg.bytes + HDR, len - HDR);
		len += TAG;
	}
	if (fuzz_once_in(80))
		fuzz_damage(&msg, len);
	if (fuzz_once_in(100))
		len = fuzz_below(sizeof(msg));
	deliver(qp, &msg, len);
}

static void acknowledge(struct mock_qp *qp)
{
	struct ibv_wc wc = { .opcode = IBV_WC_SEND };

	while (qp->nr_sent && qp->cq->nr < MOCK_WCS - 8) {
		wc.wr_id = qp->sent[0];
		memmove(qp->sent, qp->sent + 1, --qp->nr_sent * sizeof(qp->sent[0]));
		mock_complete(qp->cq, &wc);
	}
}

static void acknowledge_all(void)
{
	struct mock_qp *qp;

	for (qp = mock_qps; qp; qp = qp->next)
		acknowledge(qp);
}

static void act_device(void)
{
	static const enum ibv_event_type types[] = {
		IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_FATAL,
		IBV_EVENT_COMM_EST, IBV_EVENT_CQ_ERR, IBV_EVENT_PORT_ERR,
	};
	unsigned int n = mock_nr_qps ? fuzz_below(mock_nr_qps) : 0;
	struct mock_qp *qp;

	for (qp = mock_qps; qp && n; qp = qp->next)
		n--;
	switch (fuzz_below(24)) {
	case 0:
		mock_fails.reg = true;
		break;
	case 1:
		mock_fails.send = true;
		break;
	case 2:
		mock_fails.qp = true;
		break;
	case 3:
		mock_fails.dereg = fuzz_once_in(8);
		break;
	case 4:
		mock_fails.destroy = fuzz_once_in(8);
		break;
	case 5:
	case 6:
		if (!qp)
			break;
		mock_async.event_type = types[fuzz_below(ARRAY_LEN(types))];
		if (mock_async.event_type == IBV_EVENT_CQ_ERR)
			mock_async.element.cq = &qp->cq->cq;
		else
			mock_async.element.qp = &qp->qp;
		mock_has_async = true;
		mock_turn();
		mock_has_async = false;
		break;
	}
}

/* The keys of all clients but one, or of all. */
static struct auth_client *client_keys(unsigned int denied)
{
	struct auth_client *keys = NULL, *key;
	unsigned int i;

	for (i = 0; i < CLIENTS; i++) {
		if (i == denied)
			continue;
		key = calloc(1, sizeof(*key));
		snprintf(key->name, sizeof(key->name), "c%u", i);
		memcpy(key->public, known[i].public, sizeof(key->public));
		key->next = keys;
		keys = key;
	}
	return keys;
}

static void drain_ended(void *arg, const struct drain_result *result)
{
	(void)arg;
	(void)result;
	waits = false;
}

static void joined(void *arg, const char *key)
{
	uint8_t public[FARSWAP_NOISE_KEY_BYTES];

	(void)arg;
	FUZZ_CHECK(invites && !auths.invite.open);
	FUZZ_CHECK(!key || !farswap_noise_parse(public, key, strlen(key)));
	invites = false;
}

/* An invitation is made, waited for, withdrawn, or the configuration has the key. */
static void act_invite(void)
{
	char secret[FARSWAP_NOISE_TEXT_CHARS + 1];
	int err = invite_open(1 + fuzz_below(30), secret);

	FUZZ_CHECK(with_keys ? !err || (err == -EBUSY && invites) : err == -ENOKEY);
	if (!err && !fuzz_once_in(6)) {
		invites = true;
		FUZZ_CHECK(!invite_wait(joined, NULL));
	} else if (err == -EBUSY && fuzz_once_in(4)) {
		invites = false;
		invite_cancel();
	}
	if (fuzz_once_in(2))
		message_settle();
}

static void act_operator(void)
{
	switch (fuzz_below(12)) {
	case 6:
	case 7:
	case 8:
		act_invite();
		break;
	case 0:
		evict_start(1 + fuzz_below(8), false, NULL, NULL);
		break;
	case 1:
		if (!drain_begin() && !waits) {
			waits = true;
			drain_wait(&drained, 0, drain_ended, NULL);
		}
		break;
	case 2:
	case 3:
		drain_stop(DRAIN_END_UNDRAINED);
		break;
	case 4:
		region_set_limit(fuzz_below(MOCK_REGIONS + 1));
		message_kick_pool();
		break;
	case 5:
		if (!with_keys)
			break;
		FUZZ_CHECK(!auth_set_clients(client_keys(fuzz_below(2 * CLIENTS))));
		session_end_denied();
		client_apply();
		break;
	}
}

static void act(void)
{
	switch (fuzz_below(16)) {
	case 0:
	case 1:
		act_connect();
		break;
	case 2:
	case 3:
		act_cm();
		break;
	case 4:
		mock_ns += fuzz_below(300) * 1000000ULL;
		break;
	case 5:
		if (fuzz_once_in(4))
			mock_ns += fuzz_below(20000) * 1000000ULL;
		break;
	case 6:
		act_operator();
		break;
	case 7:
		act_device();
		break;
	default:
		act_message();
	}
	mock_turn();
	if (fuzz_once_in(2)) {
		acknowledge_all();
		mock_turn();
	}
	promises();
	fuzz_actions++;
}

static void begin(void)
{
	static struct client_config config = {
		.usual = { .weight = 1, .max = UINT64_MAX },
		.sessions = 4,
		.clients = SESSIONS_MAX,
	};
	static const uint8_t node[FARSWAP_NODE_BYTES] = { 1 };
	struct sockaddr_in address = { .sin_family = AF_INET };
	unsigned int i;

	mock_leaks = false;
	for (i = 0; i < CLIENTS; i++)
		memset(&known[i], 0, offsetof(struct known, key));
	with_keys = fuzz_once_in(2);
	auths.on = false;
	if (with_keys)
		FUZZ_CHECK(!auth_set_clients(client_keys(CLIENTS)));
	invite_init();
	message_init(node, 1, 4, drain_check);
	session_init(SESSIONS_MAX);
	FUZZ_CHECK(!client_init(&config));
	evict_init(500);
	grace_init(15000, SESSIONS_MAX, fuzz_once_in(2));
	FUZZ_CHECK(!region_init((uint64_t)MOCK_REGIONS * SLAB, SLAB, 2, false));
	FUZZ_CHECK(!region_reserve());
	region_set_limit(MOCK_REGIONS);
	FUZZ_CHECK(!listener_init((struct sockaddr *)&address));
	message_kick_pool();
}

/* Everything ends, and nothing stays. */
static void end(void)
{
	unsigned int i;

	memset(&mock_fails, 0, sizeof(mock_fails));
	drain_stop(DRAIN_END_UNDRAINED);
	if (waits)
		drain_forget(&drained);
	waits = false;
	invites = false;
	invite_cancel();
	session_end_all(STAT_END_LEAVING, "the end");
	for (i = 0; i < 600; i++) {
		mock_ns += 100000000;
		acknowledge_all();
		mock_turn();
	}
	FUZZ_CHECK(!session_count() && !grace_count() && list_empty(&client_list));
	FUZZ_CHECK(mock_leaks || (!mock_nr_qps && !mock_mrs && !mock_nr_pds && !mock_nr_cqs &&
				  !mock_nr_channels));
	listener_exit();
	while (mock_nr_events)
		rdma_ack_cm_event(mock_events[--mock_nr_events]);
	while (mock_ids)
		rdma_destroy_id(&mock_ids->id);
	region_exit();
	/* The operator's and the pool's timers remain; the next run sets them again. */
	while (!list_empty(&mock_timers))
		list_del(mock_timers.next);
	while (!list_empty(&mock_works))
		list_del(mock_works.next);
}

/* What the device has kept is gone when the process ends. */
static void forget_leaks(void)
{
	while (mock_qps) {
		struct mock_qp *qp = mock_qps;

		mock_qps = qp->next;
		free(qp);
	}
	while (mock_mrs) {
		struct mock_mr *mr = mock_mrs;

		mock_mrs = mr->next;
		free(mr);
	}
	mock_nr_qps = 0;
	mock_nr_pds = 0;
	mock_nr_cqs = 0;
	mock_nr_channels = 0;
}

static void run(void)
{
	unsigned int i, n = 100 + fuzz_below(900);

	begin();
	for (i = 0; i < n; i++)
		act();
	end();
	forget_leaks();
}

/* A device that keeps an object keeps its session too; end() checks the rest. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	static uint8_t secrets[1][FARSWAP_NOISE_KEY_BYTES] = { { 9 } };
	unsigned int i;

	mock_context.device = &mock_device;
	mock_context.ops.poll_cq = mock_poll_cq;
	mock_context.ops.req_notify_cq = mock_req_notify_cq;
	mock_context.ops.post_send = mock_post_send;
	mock_context.ops.post_recv = mock_post_recv;
	mock_context.async_fd = 1000;
	mock_context.cmd_fd = -1;
	mock_cm.fd = 0;
	farswap_noise_public(donor_public, secrets[0]);
	for (i = 0; i < CLIENTS; i++) {
		known[i].key[0] = i + 1;
		farswap_noise_public(known[i].public, known[i].key);
		farswap_noise_pair_key(known[i].pair_key, known[i].key, donor_public);
	}
	auth_init((const uint8_t (*)[FARSWAP_NOISE_KEY_BYTES])secrets, 1);
	i = fuzz_main(argc, argv, "farswapd and hostile clients", run);
	/* Shows whether clients got far. */
	if (getenv("FUZZ_STATS"))
		stats_show(stdout);
	return (int)i;
}
