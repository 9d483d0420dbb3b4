// SPDX-License-Identifier: GPL-2.0
/*
 * A donor that misbehaves, to see what the kernel's client makes of it:
 *
 *	fakedonor MODE [PORT [SECONDS]]
 *
 * "fakedonor" alone lists the modes. Serves any number of sessions, one after the
 * other or at the same time, until it is killed or the time is over. Says what
 * happens, a line each: "connect", "hello", "query", "probe REGION", "map REGION", "unmap
 * REGION", "done REGION", "ping", "pong", "activity", "resume", "bad REASON", "gone".
 */
#include "verbs.h"

#include <arpa/inet.h>

#define CONNS_MAX	256
#define REGIONS_MAX	64
/* Size of all regions but the first, which may have any size. */
#define LENT_MAX	(64ULL << 20)
#define ARRAY_SIZE_OF(a)	(sizeof(a) / sizeof((a)[0]))
#define UNKNOWN_REGION	0x123456789aULL

enum mode {
	GOOD,
	GARBAGE,
	BADVERSION,
	WRONGSEQ,
	LONGMSG,
	LONGLATER,
	SHORTMSG,
	EVICTUNKNOWN,
	BADRKEY,
	BADREGION,
	SILENT,
	MUTE,
	CURIOUS,
	ROLLEDBACK,
	MISNAMES,
	DEADKEY,
	MISPLACED,
	REACHES,
	IMMEDIATE,
};

static const struct {
	const char *name;
	const char *what;
} modes[] = {
	[GOOD] = { "good", "nothing wrong" },
	[GARBAGE] = { "garbage", "random bytes instead of WELCOME, or after it" },
	[BADVERSION] = { "badversion", "rejects as another version, or WELCOME is of one" },
	[WRONGSEQ] = { "wrongseq", "answers of a wrong number" },
	[LONGMSG] = { "longmsg", "messages too long" },
	[LONGLATER] = { "longlater", "messages too long, once a region is lent" },
	[SHORTMSG] = { "shortmsg", "messages too short" },
	[EVICTUNKNOWN] = { "evictunknown", "EVICT of a region the client hasn't" },
	[BADRKEY] = { "badrkey", "a key that is none" },
	[BADREGION] = { "badregion", "a region of the wrong size" },
	[SILENT] = { "silent", "never answers HELLO" },
	[MUTE] = { "mute", "never says anything any more after MR_INFO" },
	[ROLLEDBACK] = { "rolledback", "the same, and then goes on from before it" },
	[MISNAMES] = { "misnames", "the same, and then has lost regions that nobody named" },
	[DEADKEY] = { "deadkey", "kills all keys after a while, and says that no region is gone" },
	[MISPLACED] = { "misplaced", "says where only WELCOME may that it is the client itself" },
	[REACHES] = { "reaches", "writes to the client's memory" },
	[IMMEDIATE] = { "immediate", "answers with immediate data" },
	[CURIOUS] = { "curious", "asks how busy a region is, again and again" },
};

struct region {
	uint64_t id;
	void *addr;
	struct ibv_mr *mr;
};

struct conn {
	struct verbs v;
	struct conn *control;		/* of a data connection */
	int gone;
	int mute;
	uint64_t session;
	uint64_t slab;
	struct region regions[REGIONS_MAX];
};

static enum mode mode;
static struct rdma_event_channel *channel;
static struct conn *conns[CONNS_MAX];
static unsigned int nr_connects;
static uint64_t next_id = 1;
static uint64_t lent;
static uint64_t answers;

__attribute__((format(printf, 1, 2)))
static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static void send_bytes(struct conn *conn, const void *msg, uint32_t len)
{
	if (verbs_post_send(&conn->v, msg, len))
		conn->v.broken = 1;
}

static void send_garbage(struct conn *conn)
{
	uint8_t msg[FARSWAP_MSG_BYTES];
	size_t i;

	for (i = 0; i < sizeof(msg); i++)
		msg[i] = random();
	send_bytes(conn, msg, 1 + random() % sizeof(msg));
}

/* Change a message as the mode requires, unless it is changed elsewhere. */
static void send_msg(struct conn *conn, struct farswap_hdr *hdr)
{
	uint8_t msg[FARSWAP_MSG_BYTES + 64] = { 0 };
	uint32_t len = le32toh(hdr->length);

	if (mode == WRONGSEQ && le16toh(hdr->type) != FARSWAP_MSG_WELCOME)
		hdr->seq = htole32(le32toh(hdr->seq) + 1000);
	memcpy(msg, hdr, len);
	if (mode == LONGMSG)
		len = nr_connects % 2 ? len + 8 : sizeof(msg);
	if (mode == LONGLATER && le16toh(hdr->type) == FARSWAP_MSG_PONG)
		len = sizeof(msg);
	conn->v.immediate = mode == IMMEDIATE && le16toh(hdr->type) != FARSWAP_MSG_WELCOME;
	if (mode == SHORTMSG)
		len = nr_connects % 2 ? len - 8 : 7;
	send_bytes(conn, msg, len);
	answers += le16toh(hdr->type) == FARSWAP_MSG_FREE_MEM ||
		   le16toh(hdr->type) == FARSWAP_MSG_MR_INFO ||
		   le16toh(hdr->type) == FARSWAP_MSG_PONG;
}

static void send_evict(struct conn *conn, uint64_t region)
{
	struct farswap_evict evict;

	wire_init(&evict.hdr, FARSWAP_MSG_EVICT, 4711);
	evict.region = htole64(region);
	evict.deadline_ms = htole32(1000);
	send_msg(conn, &evict.hdr);
}

static void send_check(struct conn *conn, uint64_t region)
{
	struct farswap_check_activity check;
	int i;

	wire_init(&check.hdr, FARSWAP_MSG_CHECK_ACTIVITY, 4712);
	check.count = htole32(FARSWAP_ACTIVITY_REGIONS);
	for (i = 0; i < FARSWAP_ACTIVITY_REGIONS; i++)
		check.region[i] = htole64(region);
	send_msg(conn, &check.hdr);
}

static void on_hello(struct conn *conn, const struct farswap_hello *hello)
{
	struct farswap_welcome welcome;

	say("hello");
	if (mode == SILENT)
		return;
	if (mode == GARBAGE && nr_connects % 2) {
		send_garbage(conn);
		return;
	}
	conn->slab = le64toh(hello->slab_bytes);
	wire_init(&welcome.hdr, FARSWAP_MSG_WELCOME, le32toh(hello->hdr.seq));
	if (mode == BADVERSION)
		welcome.hdr.version = htole16(FARSWAP_VERSION + 1);
	welcome.queues = hello->queues;
	memset(welcome.node, 0xfd, sizeof(welcome.node));
	welcome.instance = htole64(getpid());
	welcome.slab_bytes = hello->slab_bytes;
	welcome.session = htole64(conn->session);
	if ((mode == ROLLEDBACK || mode == MISNAMES || mode == DEADKEY) && hello->resume) {
		welcome.session = hello->resume;
		conn->session = le64toh(hello->resume);
		welcome.resumed = htole16(1);
		welcome.answers = htole64(mode == ROLLEDBACK ? 1 : answers);
	}
	send_msg(conn, &welcome.hdr);
	if (mode == GARBAGE)
		send_garbage(conn);
	if (mode == EVICTUNKNOWN)
		send_evict(conn, UNKNOWN_REGION);
}

static struct region *region_find(struct conn *conn, uint64_t id)
{
	int i;

	for (i = 0; i < REGIONS_MAX; i++)
		if (conn->regions[i].id == id)
			return &conn->regions[i];
	return NULL;
}

static void region_drop(struct region *region)
{
	if (region->mr) {
		lent -= region->mr->length;
		ibv_dereg_mr(region->mr);
	}
	free(region->addr);
	memset(region, 0, sizeof(*region));
}

static int region_make(struct conn *conn, struct region *region)
{
	if (lent && lent + conn->slab > LENT_MAX)
		return -1;
	region->addr = aligned_alloc(4096, conn->slab);
	if (!region->addr)
		return -1;
	memset(region->addr, 0, conn->slab);
	region->mr = ibv_reg_mr(conn->v.pd, region->addr, conn->slab, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (!region->mr) {
		region_drop(region);
		return -1;
	}
	lent += conn->slab;
	region->id = next_id++;
	return 0;
}

/* A MAP to probe the path with is answered as it should be, unless its answer is what is wrong. */
static bool is_probe(const struct farswap_map *map)
{
	return le64toh(map->slab) == UINT64_MAX && mode != MISPLACED && mode != BADREGION &&
	       mode != BADRKEY;
}

/* A queue pair of the client lets nobody write, whatever the rkey is. */
static void reach(struct conn *conn)
{
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { 4096, 1 },
	}, *bad;
	uint64_t end = verbs_now_ms() + VERBS_IO_MS;
	struct conn *data = NULL;
	struct ibv_sge sge;
	int i, done;

	for (i = 0; i < CONNS_MAX && !data; i++)
		if (conns[i] && conns[i]->control == conn)
			data = conns[i];
	if (!data)
		return;
	sge = (struct ibv_sge){ (uintptr_t)data->v.buf, 64, data->v.mr->lkey };
	wr.sg_list = &sge;
	done = data->v.sends_done;
	if (ibv_post_send(data->v.id->qp, &wr, &bad))
		return;
	while (data->v.sends_done == done && verbs_now_ms() < end) {
		verbs_poll(&data->v);
		usleep(1000);
	}
	say("reached %s", ibv_wc_status_str(data->v.status));
}

static void on_map(struct conn *conn, const struct farswap_map *map)
{
	struct region *region = region_find(conn, 0);
	struct farswap_mr_info info;
	int i;

	wire_init(&info.hdr, FARSWAP_MSG_MR_INFO, le32toh(map->hdr.seq));
	if (mode == MISPLACED) {
		info.status = htole32(FARSWAP_STATUS_SELF);
		say("map 0");
	} else if (!region || region_make(conn, region)) {
		info.status = htole32(FARSWAP_STATUS_NO_MEMORY);
		say("map refused");
	} else {
		info.rkey = htole32(mode == BADRKEY ? region->mr->rkey ^ 0x5a5a5a5a :
				    region->mr->rkey);
		info.region = htole64(region->id);
		info.addr = htole64((uintptr_t)region->addr);
		info.bytes = htole64(mode == BADREGION ? conn->slab / 2 : conn->slab);
		say("%s %llu", is_probe(map) ? "probe" : "map", (unsigned long long)region->id);
	}
	send_msg(conn, &info.hdr);
	if (is_probe(map))
		return;
	conn->mute = mode == MUTE || mode == ROLLEDBACK || mode == MISNAMES;
	if (mode == REACHES)
		reach(conn);
	if (mode == EVICTUNKNOWN)
		send_evict(conn, UNKNOWN_REGION + 1);
	/* As many as may be pending; each answer triggers the next. */
	for (i = 0; mode == CURIOUS && region == conn->regions && i < FARSWAP_CREDITS / 2; i++)
		send_check(conn, region->id);
}

static void on_query(struct conn *conn, const struct farswap_hdr *query)
{
	struct farswap_free_mem answer;

	say("query");
	wire_init(&answer.hdr, FARSWAP_MSG_FREE_MEM, le32toh(query->seq));
	/* Plenty, so that the client chooses this donor. */
	answer.free_bytes = htole64(1ULL << 40);
	send_msg(conn, &answer.hdr);
}

static void on_region(struct conn *conn, const struct farswap_region_msg *msg, const char *what)
{
	uint64_t id = le64toh(msg->region);
	struct region *region = id ? region_find(conn, id) : NULL;

	say("%s %llu", what, (unsigned long long)id);
	if (region)
		region_drop(region);
}

static void on_resume(struct conn *conn, const struct farswap_resume *resume)
{
	struct farswap_resumed answer;

	say("resume");
	wire_init(&answer.hdr, FARSWAP_MSG_RESUMED, le32toh(resume->hdr.seq));
	if (mode == MISNAMES)
		answer.gone = htole64(~0ULL);
	if (mode == MISNAMES || mode == DEADKEY)
		send_msg(conn, &answer.hdr);
}

static void on_ping(struct conn *conn, const struct farswap_hdr *ping)
{
	struct farswap_hdr pong;
	int i;

	say("ping");
	for (i = 0; mode == DEADKEY && i < REGIONS_MAX; i++)
		if (conn->regions[i].id)
			region_drop(&conn->regions[i]);
	wire_init(&pong, FARSWAP_MSG_PONG, le32toh(ping->seq));
	send_msg(conn, &pong);
}

static void on_message(struct conn *conn, const void *msg, size_t len)
{
	enum wire_error error = wire_check(msg, len, WIRE_TO_DONOR);
	const struct farswap_hdr *hdr = msg;

	if (error) {
		say("bad %s", wire_error_name(error));
		return;
	}
	if (conn->mute)
		return;
	switch (le16toh(hdr->type)) {
	case FARSWAP_MSG_HELLO:
		on_hello(conn, msg);
		break;
	case FARSWAP_MSG_QUERY_MEM:
		on_query(conn, hdr);
		break;
	case FARSWAP_MSG_MAP:
		on_map(conn, msg);
		break;
	case FARSWAP_MSG_UNMAP:
		on_region(conn, msg, "unmap");
		break;
	case FARSWAP_MSG_DONE:
		on_region(conn, msg, "done");
		break;
	case FARSWAP_MSG_PING:
		on_ping(conn, hdr);
		break;
	case FARSWAP_MSG_PONG:
		say("pong");
		break;
	case FARSWAP_MSG_RESUME:
		on_resume(conn, msg);
		break;
	case FARSWAP_MSG_ACTIVITY:
		if (mode == CURIOUS)
			send_check(conn, conn->regions[0].id);
		else
			say("activity");
		break;
	}
}

static void conn_free(int slot)
{
	struct conn *conn = conns[slot];
	int i;

	for (i = 0; i < CONNS_MAX; i++)
		if (conns[i] && conns[i]->control == conn)
			conn_free(i);
	if (!conn->control)
		say("gone");
	if (conn->v.id->qp) {
		rdma_disconnect(conn->v.id);
		rdma_destroy_qp(conn->v.id);
	}
	for (i = 0; i < REGIONS_MAX; i++)
		if (conn->regions[i].id)
			region_drop(&conn->regions[i]);
	conns[slot] = NULL;
	verbs_close(&conn->v);
	free(conn);
}

static void reject(struct rdma_cm_id *id, unsigned int status)
{
	struct farswap_accept accept;

	wire_init_accept(&accept, status);
	if (status == FARSWAP_STATUS_BAD_VERSION)
		accept.version = htole16(FARSWAP_VERSION + 1);
	rdma_reject(id, &accept, sizeof(accept));
	rdma_destroy_id(id);
}

static struct conn *conn_of_session(uint64_t session)
{
	int i;

	for (i = 0; i < CONNS_MAX; i++)
		if (conns[i] && !conns[i]->control && conns[i]->session == session)
			return conns[i];
	return NULL;
}

static void on_connect(struct rdma_cm_id *id, const struct farswap_connect *connect,
		       const struct rdma_conn_param *asked)
{
	struct rdma_conn_param param = {
		.responder_resources = asked->responder_resources,
		.initiator_depth = asked->initiator_depth,
		.rnr_retry_count = 7,
		.private_data_len = sizeof(struct farswap_accept),
	};
	int data = le16toh(connect->kind) == FARSWAP_CONNECT_DATA, slot = 0;
	struct conn *control = data ? conn_of_session(le64toh(connect->session)) : NULL;
	struct farswap_accept accept;
	struct conn *conn;

	if (wire_check_connect(connect, sizeof(*connect)) || (data && !control)) {
		say("bad connect");
		reject(id, FARSWAP_STATUS_BAD_MESSAGE);
		return;
	}
	if (!data) {
		nr_connects++;
		say("connect");
		if (mode == BADVERSION && nr_connects % 2) {
			reject(id, FARSWAP_STATUS_BAD_VERSION);
			return;
		}
		if (mode == MISPLACED && nr_connects % 2) {
			reject(id, FARSWAP_STATUS_SELF);
			return;
		}
	}
	while (slot < CONNS_MAX && conns[slot])
		slot++;
	conn = slot < CONNS_MAX ? calloc(1, sizeof(*conn)) : NULL;
	if (!conn) {
		reject(id, FARSWAP_STATUS_BUSY);
		return;
	}
	conn->v.id = id;
	conn->control = control;
	conn->session = data ? 0 : 0x5e5510000ULL + nr_connects;
	id->context = conn;
	conns[slot] = conn;
	wire_init_accept(&accept, FARSWAP_STATUS_OK);
	param.private_data = &accept;
	if (verbs_create_qp(&conn->v, control ? control->v.pd : NULL) || rdma_accept(id, &param)) {
		say("cannot accept: %s", strerror(errno));
		conn->gone = 1;
	}
}

static void on_cm_event(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_conn_param param;
	struct farswap_connect connect;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct conn *conn;
	int type;

	if (poll(&pfd, 1, 1) != 1 || rdma_get_cm_event(channel, &event))
		return;
	id = event->id;
	type = event->event;
	param = event->param.conn;
	memset(&connect, 0, sizeof(connect));
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && param.private_data &&
	    param.private_data_len >= sizeof(connect))
		memcpy(&connect, param.private_data, sizeof(connect));
	rdma_ack_cm_event(event);
	conn = id->context;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		on_connect(id, &connect, &param);
	else if (conn && type != RDMA_CM_EVENT_ESTABLISHED && type != RDMA_CM_EVENT_ADDR_CHANGE)
		conn->gone = 1;
}

static void serve(uint64_t seconds)
{
	uint64_t end = verbs_now_ms() + seconds * 1000;
	union {
		uint64_t align;
		uint8_t bytes[FARSWAP_MSG_BYTES];
	} msg;
	int i, len;

	while (verbs_now_ms() < end) {
		on_cm_event();
		for (i = 0; i < CONNS_MAX; i++) {
			struct conn *conn = conns[i];

			if (!conn)
				continue;
			if (!conn->gone)
				verbs_poll(&conn->v);
			while (conn->v.nr_got && !conn->gone) {
				/* An event is pending, so this does not block. */
				len = verbs_recv(&conn->v, &msg, 0);
				if (len >= 0)
					on_message(conn, &msg, len);
			}
			if (conn->gone || conn->v.broken)
				conn_free(i);
		}
	}
}

static void usage(void)
{
	size_t i;

	fprintf(stderr, "fakedonor MODE [PORT [SECONDS]]\n");
	for (i = 0; i < ARRAY_SIZE_OF(modes); i++)
		fprintf(stderr, "  %-12s %s\n", modes[i].name, modes[i].what);
	exit(2);
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(FARSWAP_PORT) };
	struct rdma_cm_id *id;

	if (argc < 2)
		usage();
	while (strcmp(modes[mode].name, argv[1]))
		if (++mode == ARRAY_SIZE_OF(modes))
			usage();
	if (argc > 2)
		addr.sin_port = htons(atoi(argv[2]));
	srandom(1);
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr) || rdma_listen(id, 16)) {
		fprintf(stderr, "fakedonor: cannot listen: %s\n", strerror(errno));
		return 1;
	}
	say("ready");
	serve(argc > 3 ? strtoull(argv[3], NULL, 0) : 3600);
	return 0;
}
