// SPDX-License-Identifier: GPL-2.0
/*
 * A client of farswapd in user space that obeys or breaks the protocol:
 *
 *	peer ADDRESS[:PORT] COMMAND [NUMBER]
 *
 * "peer" alone lists the commands. Prints TAP.
 */
#include "verbs.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/random.h>

#define ARRAY_SIZE_OF(a)	(sizeof(a) / sizeof((a)[0]))
#define PAGE		4096
#define MAPS_MAX	4096
/* farswapd's deadlines, plus slack for an emulated machine. */
#define SLACK_MS	10000
#define DROP_MS		10000

union message {
	struct farswap_hdr hdr;
	struct farswap_hello hello;
	struct farswap_welcome welcome;
	struct farswap_free_mem free_mem;
	struct farswap_map map;
	struct farswap_mr_info mr_info;
	struct farswap_region_msg region;
	struct farswap_evict evict;
	struct farswap_check_activity check;
	struct farswap_activity activity;
	struct farswap_resume resume;
	struct farswap_resumed resumed;
	uint8_t bytes[FARSWAP_MSG_BYTES];
	uint8_t room[VERBS_BUF_BYTES];
};

struct peer {
	struct verbs control;
	struct verbs data;
	struct ibv_mr *mr;		/* of @pages, in the data connection's domain */
	uint8_t *pages;
	uint32_t seq;
	uint64_t session;
	uint64_t slab;
	int resumed;
	uint64_t answers;
};

struct mapping {
	uint64_t region;
	uint64_t addr;
	uint32_t rkey;
};

static struct sockaddr_storage donor;
static uint64_t number;			/* the command's argument */
static uint64_t slab_bytes = 64 << 20;	/* corrected by the donor */
static uint32_t grace_ms;		/* as requested by HELLO */
static uint64_t resume;			/* session that HELLO resumes */
static uint32_t attempt = 7;		/* attempt number of connect requests */
static uint8_t node[FARSWAP_NODE_BYTES];

static void peer_hello(struct peer *peer, union message *msg)
{
	wire_init(&msg->hdr, FARSWAP_MSG_HELLO, ++peer->seq);
	memcpy(msg->hello.node, node, sizeof(msg->hello.node));
	msg->hello.instance = htole64(1);
	msg->hello.slab_bytes = htole64(slab_bytes);
	msg->hello.queues = htole16(2);
	msg->hello.grace_ms = htole32(grace_ms);
	msg->hello.resume = htole64(resume);
}

static int peer_connect(struct peer *peer)
{
	struct farswap_connect connect;

	memset(peer, 0, sizeof(*peer));
	wire_init_connect(&connect, FARSWAP_CONNECT_CONTROL, resume, 0);
	connect.attempt = htole32(attempt);
	return verbs_connect(&peer->control, (struct sockaddr *)&donor, NULL, &connect,
			     sizeof(connect));
}

/*
 * The next message that is not a PING (those it answers) within @ms: its type,
 * or 0. Messages that the gate refuses count as failures.
 */
static unsigned int peer_recv(struct peer *peer, union message *msg, int ms)
{
	uint64_t end = verbs_now_ms() + ms;
	union message pong;
	int bytes;

	for (;;) {
		int left = end - verbs_now_ms();

		bytes = verbs_recv(&peer->control, msg, left > 0 ? left : 0);
		if (bytes < 0)
			return 0;
		if (wire_check(msg, bytes, WIRE_TO_CLIENT) != WIRE_OK) {
			tap(0, "the donor's messages are well formed");
			return 0;
		}
		if (le16toh(msg->hdr.type) != FARSWAP_MSG_PING)
			return le16toh(msg->hdr.type);
		wire_init(&pong.hdr, FARSWAP_MSG_PONG, le32toh(msg->hdr.seq));
		verbs_send(&peer->control, &pong, sizeof(pong.hdr));
	}
}

/* Sends it and waits for its answer, of that type and number: 0. */
static int peer_ask(struct peer *peer, union message *msg, unsigned int type)
{
	uint32_t seq = msg->hdr.seq;

	if (verbs_send(&peer->control, msg, le32toh(msg->hdr.length)))
		return -1;
	return peer_recv(peer, msg, VERBS_IO_MS) == type && msg->hdr.seq == seq ? 0 : -1;
}

static void peer_close(struct peer *peer)
{
	if (peer->mr)
		ibv_dereg_mr(peer->mr);
	free(peer->pages);
	verbs_close(&peer->data);
	verbs_close(&peer->control);
}

static int peer_data(struct peer *peer, uint64_t session, unsigned int queue)
{
	struct farswap_connect connect;

	wire_init_connect(&connect, FARSWAP_CONNECT_DATA, session, queue);
	connect.attempt = htole32(attempt);
	return verbs_connect(&peer->data, (struct sockaddr *)&donor, NULL, &connect,
			     sizeof(connect));
}

/* The donor may not have noticed yet that an earlier client disconnected. */
static int peer_connect_patiently(struct peer *peer)
{
	uint64_t end = verbs_now_ms() + VERBS_IO_MS;
	int status;

	for (;;) {
		status = peer_connect(peer);
		if (status != RDMA_CM_EVENT_REJECTED || verbs_now_ms() > end ||
		    le16toh(peer->control.accept.status) != FARSWAP_STATUS_BUSY)
			return status;
		verbs_close(&peer->control);
		usleep(50000);
	}
}

/* HELLO; the slab size is the donor's after the second attempt. 0: welcome. */
static int peer_greet(struct peer *peer)
{
	union message msg;
	int try;

	for (try = 0; try < 2; try++) {
		int status = peer_connect_patiently(peer);

		if (status) {
			printf("# no connection: %s, %s\n", rdma_event_str(status),
			       wire_status_name(le16toh(peer->control.accept.status)));
			return -1;
		}
		peer_hello(peer, &msg);
		if (peer_ask(peer, &msg, FARSWAP_MSG_WELCOME)) {
			puts("# HELLO has no answer");
			return -1;
		}
		if (le32toh(msg.welcome.status) != FARSWAP_STATUS_BAD_SLAB_SIZE)
			break;
		slab_bytes = le64toh(msg.welcome.slab_bytes);
		peer_close(peer);
	}
	peer->session = le64toh(msg.welcome.session);
	peer->resumed = le16toh(msg.welcome.resumed);
	peer->answers = le64toh(msg.welcome.answers);
	peer->slab = le64toh(msg.welcome.slab_bytes);
	return le32toh(msg.welcome.status) ? -1 : 0;
}

/* A connection that a test needs first, with a HELLO or without. */
static void peer_reach(struct peer *peer, int greeted)
{
	if (greeted ? peer_greet(peer) : peer_connect(peer))
		tap_bail("cannot connect");
}

static void peer_open_data(struct peer *peer)
{
	if (peer_data(peer, peer->session, 0))
		tap_bail("no data connection");
	peer->pages = aligned_alloc(PAGE, 16 * PAGE);
	peer->mr = ibv_reg_mr(peer->data.pd, peer->pages, 16 * PAGE, IBV_ACCESS_LOCAL_WRITE);
	if (!peer->mr)
		tap_bail("no memory registration");
}

/* A whole session: control, one data connection, memory. */
static void peer_open(struct peer *peer)
{
	if (peer_greet(peer))
		tap_bail("the donor does not welcome a good client");
	peer_open_data(peer);
}

static unsigned int peer_map(struct peer *peer, struct mapping *map)
{
	union message msg;

	wire_init(&msg.hdr, FARSWAP_MSG_MAP, ++peer->seq);
	msg.map.slab = htole64(peer->seq);
	if (peer_ask(peer, &msg, FARSWAP_MSG_MR_INFO))
		return ~0U;
	map->region = le64toh(msg.mr_info.region);
	map->addr = le64toh(msg.mr_info.addr);
	map->rkey = le32toh(msg.mr_info.rkey);
	return le32toh(msg.mr_info.status);
}

static int peer_region_msg(struct peer *peer, unsigned int type, uint32_t seq, uint64_t region)
{
	union message msg;

	wire_init(&msg.hdr, type, seq);
	msg.region.region = htole64(region);
	return verbs_send(&peer->control, &msg, sizeof(msg.region));
}

static int peer_is_alive(struct peer *peer)
{
	union message msg;

	wire_init(&msg.hdr, FARSWAP_MSG_PING, ++peer->seq);
	return !peer_ask(peer, &msg, FARSWAP_MSG_PONG);
}

static int peer_write(struct peer *peer, const struct mapping *map, uint64_t offset, uint8_t seed)
{
	int i;

	for (i = 0; i < PAGE; i++)
		peer->pages[i] = seed + i * 7;
	return verbs_rdma(&peer->data, IBV_WR_RDMA_WRITE, peer->mr, peer->pages, PAGE,
			  map->addr + offset, map->rkey);
}

static int peer_read(struct peer *peer, const struct mapping *map, uint64_t offset)
{
	memset(peer->pages, 0xee, PAGE);
	return verbs_rdma(&peer->data, IBV_WR_RDMA_READ, peer->mr, peer->pages, PAGE,
			  map->addr + offset, map->rkey);
}

/* The selftests' runner tells failures about data from others by "DATA: ". */
static int peer_data_is_wrong(const char *what)
{
	printf("# DATA: the page read %s\n", what);
	return 0;
}

static int peer_page_is(const struct peer *peer, uint8_t seed)
{
	int i;

	for (i = 0; i < PAGE; i++)
		if (peer->pages[i] != (uint8_t)(seed + i * 7))
			return peer_data_is_wrong("is not the one written");
	return 1;
}

static int peer_page_is_zero(const struct peer *peer)
{
	return wire_is_zero(peer->pages, PAGE) || peer_data_is_wrong("is not zero");
}

/* Regions until the donor has no more, or until there are @max. */
static int peer_map_many(struct peer *peer, struct mapping *maps, int max, unsigned int *status)
{
	int n = 0;

	*status = 0;
	while (n < max && !(*status = peer_map(peer, &maps[n])))
		n++;
	return n;
}

static void cmd_ok(void)
{
	static struct mapping maps[MAPS_MAX];
	struct peer peer;
	unsigned int status;
	union message msg;
	int i, n, good = 1, zero = 1;

	peer_open(&peer);
	tap(1, "HELLO is answered and a data connection accepted");
	wire_init(&msg.hdr, FARSWAP_MSG_QUERY_MEM, ++peer.seq);
	tap(!peer_ask(&peer, &msg, FARSWAP_MSG_FREE_MEM) && msg.free_mem.free_bytes &&
	    !msg.free_mem.mapped, "QUERY_MEM reports free memory");
	n = peer_map_many(&peer, maps, MAPS_MAX, &status);
	tap(n > 0, "MAP gives regions (%d)", n);
	tap(status == FARSWAP_STATUS_NO_MEMORY, "MAP is refused when no region is left");
	for (i = 0; i < n; i++)
		good &= !peer_write(&peer, &maps[i], 0, i) &&
			!peer_write(&peer, &maps[i], peer.slab - PAGE, i + 100);
	tap(good, "all are writable to their last byte");
	for (i = 0; i < n; i++)
		good &= !peer_read(&peer, &maps[i], 0) && peer_page_is(&peer, i) &&
			!peer_read(&peer, &maps[i], peer.slab - PAGE) &&
			peer_page_is(&peer, i + 100);
	tap(good, "pages read are as written");
	for (i = 0; i < n; i++)
		good &= !peer_region_msg(&peer, FARSWAP_MSG_UNMAP, ++peer.seq, maps[i].region);
	tap(good && peer_is_alive(&peer), "UNMAP is accepted");
	n = peer_map_many(&peer, maps, n, &status);
	tap(n > 0 && !status, "all can be mapped again (%d)", n);
	for (i = 0; i < n; i++)
		zero &= !peer_read(&peer, &maps[i], 0) && peer_page_is_zero(&peer) &&
			!peer_read(&peer, &maps[i], peer.slab - PAGE) && peer_page_is_zero(&peer);
	tap(zero, "memory lent again is zero");
	good = !!peer_read(&peer, &maps[0], peer.slab - PAGE / 2);
	tap(good, "a READ beyond the end fails (%s)", ibv_wc_status_str(peer.data.status));
	peer_close(&peer);
}

/* A valid session works, so the donor does. */
static void check_donor(const char *after)
{
	struct mapping map;
	struct peer peer;

	peer_open(&peer);
	tap(!peer_map(&peer, &map) && !peer_write(&peer, &map, 0, 3) &&
	    !peer_read(&peer, &map, 0) && peer_page_is(&peer, 3),
	    "the donor serves others after %s", after);
	peer_close(&peer);
}

static void cmd_garbage(void)
{
	int i, j, sent, good = 1, random_data = 1, rounds = 40;
	struct verbs raw;
	union message msg;
	struct peer peer;

	srandom(number);
	for (i = 0; i < rounds && good; i++) {
		uint32_t len = random() % (FARSWAP_MSG_BYTES + 1);

		peer_reach(&peer, i % 2);
		for (j = 0; j < VERBS_BUF_BYTES; j++)
			msg.room[j] = random();
		/* From all bytes random to only the last bytes of a good message. */
		switch (i % 4) {
		case 1:
			msg.hdr.magic = htole32(FARSWAP_MAGIC);
			msg.hdr.version = htole16(FARSWAP_VERSION);
			break;
		case 2:
			peer_hello(&peer, &msg);
			msg.hello.auth[random() % FARSWAP_AUTH_BYTES] = 1 + random() % 255;
			len = sizeof(msg.hello);
			break;
		case 3:
			wire_init(&msg.hdr, 1 + random() % FARSWAP_MSG_MAX, random());
			len = wire_length(le16toh(msg.hdr.type));
			for (j = sizeof(msg.hdr); j < (int)len; j++)
				msg.bytes[j] = random();
			break;
		}
		sent = !verbs_send(&peer.control, &msg, len);
		/*
		 * All but three are valid or answerable whatever they contain. A client
		 * that is disconnected may not learn that its message has arrived.
		 */
		if (i % 4 != 3 || !(1 << le16toh(msg.hdr.type) &
				    (1 << FARSWAP_MSG_QUERY_MEM | 1 << FARSWAP_MSG_MAP |
				     1 << FARSWAP_MSG_PING)))
			good = verbs_is_dropped(&peer.control, DROP_MS);
		else
			good = sent;
		peer_close(&peer);
	}
	tap(good, "garbage ends its session, %d of %d, seed %llu", i, rounds,
	    (unsigned long long)number);
	for (i = 0; i < 20; i++) {
		uint8_t data[56];

		for (j = 0; j < (int)sizeof(data); j++)
			data[j] = random();
		random_data &= verbs_connect(&raw, (struct sockaddr *)&donor, NULL, data,
					     random() % sizeof(data)) == RDMA_CM_EVENT_REJECTED;
		verbs_close(&raw);
	}
	tap(random_data, "a connect request of garbage is rejected");
	check_donor("garbage");
}

static void cmd_badversion(void)
{
	struct farswap_connect connect;
	union message msg;
	struct peer peer;
	struct verbs raw;

	wire_init_connect(&connect, FARSWAP_CONNECT_CONTROL, 0, 0);
	connect.version = htole16(FARSWAP_VERSION + 1);
	connect.oldest = htole16(FARSWAP_VERSION + 1);
	tap(verbs_connect(&raw, (struct sockaddr *)&donor, NULL, &connect, sizeof(connect)) ==
	    RDMA_CM_EVENT_REJECTED, "a connect request of another version is rejected");
	tap(wire_check_accept(&raw.accept, sizeof(raw.accept)) == WIRE_OK &&
	    le16toh(raw.accept.status) == FARSWAP_STATUS_BAD_VERSION &&
	    le16toh(raw.accept.version) == FARSWAP_VERSION,
	    "the reject says why, and which version would be right");
	verbs_close(&raw);

	peer_reach(&peer, 0);
	peer_hello(&peer, &msg);
	msg.hdr.version = htole16(FARSWAP_VERSION + 1);
	tap(!peer_ask(&peer, &msg, FARSWAP_MSG_WELCOME) &&
	    le32toh(msg.welcome.status) == FARSWAP_STATUS_BAD_VERSION,
	    "HELLO of another version is refused with the reason");
	tap(verbs_is_dropped(&peer.control, DROP_MS), "and disconnected");
	peer_close(&peer);
	check_donor("another version");
}

/* A client of a later release that speaks this version too. */
static void cmd_later(void)
{
	struct farswap_connect connect;
	union message msg;
	struct peer peer;
	struct verbs raw;

	wire_init_connect(&connect, FARSWAP_CONNECT_CONTROL, 0, 0);
	connect.version = htole16(FARSWAP_VERSION + 1);
	connect.features = htole32(0x80000000);
	tap(!verbs_connect(&raw, (struct sockaddr *)&donor, NULL, &connect, sizeof(connect)),
	    "a later version that includes this one is accepted");
	tap(!le32toh(raw.accept.features), "without a feature that the donor does not have");
	verbs_close(&raw);

	peer_reach(&peer, 1);
	memset(&msg, 0xa5, sizeof(msg));
	wire_init(&msg.hdr, FARSWAP_MSG_PING, ++peer.seq);
	msg.hdr.type = htole16(FARSWAP_MSG_OPTIONAL | 77);
	msg.hdr.length = htole32(200);
	verbs_send(&peer.control, &msg, 200);
	tap(peer_is_alive(&peer), "an optional message that it does not know is ignored");
	msg.hdr.type = htole16(77);
	verbs_send(&peer.control, &msg, 200);
	tap(verbs_is_dropped(&peer.control, DROP_MS), "another one ends the session");
	peer_close(&peer);
	check_donor("a later version");
}

static void cmd_badslab(void)
{
	union message msg;
	struct peer peer;

	peer_reach(&peer, 1);
	peer_close(&peer);
	peer_reach(&peer, 0);
	peer_hello(&peer, &msg);
	msg.hello.slab_bytes = htole64(slab_bytes * 2);
	tap(!peer_ask(&peer, &msg, FARSWAP_MSG_WELCOME) &&
	    le32toh(msg.welcome.status) == FARSWAP_STATUS_BAD_SLAB_SIZE &&
	    le64toh(msg.welcome.slab_bytes) == slab_bytes && !msg.welcome.session,
	    "another slab size is refused, and the right one told");
	tap(verbs_is_dropped(&peer.control, DROP_MS), "and disconnected");
	peer_close(&peer);
	check_donor("another slab size");
}

/* A message of each type, shorter or longer by @by bytes; the header says so or not. */
static void bad_lengths(int by, const char *what)
{
	unsigned int type, honest;
	union message msg;
	struct peer peer;

	for (type = 1; type <= FARSWAP_MSG_MAX; type++) {
		int dropped = 1;

		for (honest = 0; honest < 2; honest++) {
			peer_reach(&peer, type != FARSWAP_MSG_HELLO);
			memset(&msg, 0, sizeof(msg));
			if (type == FARSWAP_MSG_HELLO)
				peer_hello(&peer, &msg);
			else
				wire_init(&msg.hdr, type, ++peer.seq);
			if (honest)
				msg.hdr.length = htole32(wire_length(type) + by);
			verbs_send(&peer.control, &msg, wire_length(type) + by);
			dropped &= verbs_is_dropped(&peer.control, DROP_MS);
			peer_close(&peer);
		}
		tap(dropped, "%s too %s ends its session", wire_type_name(type), what);
	}
}

static void send_and_drop(uint32_t len, int immediate, const char *what)
{
	union message msg;
	struct peer peer;

	peer_reach(&peer, 1);
	memset(&msg, 0, sizeof(msg));
	wire_init(&msg.hdr, FARSWAP_MSG_PING, ++peer.seq);
	peer.control.immediate = immediate;
	verbs_send(&peer.control, &msg, len);
	tap(verbs_is_dropped(&peer.control, DROP_MS), "%s ends its session", what);
	peer_close(&peer);
}

static void cmd_short(void)
{
	bad_lengths(-8, "short");
	send_and_drop(0, 0, "an empty message");
	send_and_drop(15, 0, "less than a header");
	check_donor("short messages");
}

static void cmd_long(void)
{
	bad_lengths(8, "long");
	send_and_drop(FARSWAP_MSG_BYTES + 8, 0, "more than the receive buffer");
	check_donor("long messages");
}

static void cmd_outoforder(void)
{
	static const struct {
		unsigned int type;
		int greeted;
		const char *what;
	} sent[] = {
		{ FARSWAP_MSG_MAP, 0, "MAP before HELLO" },
		{ FARSWAP_MSG_PING, 0, "PING before HELLO" },
		{ FARSWAP_MSG_HELLO, 1, "a second HELLO" },
		{ FARSWAP_MSG_UNMAP, 1, "UNMAP of a region never lent" },
		{ FARSWAP_MSG_DONE, 1, "DONE without EVICT" },
		{ FARSWAP_MSG_ACTIVITY, 1, "ACTIVITY not asked for" },
		{ FARSWAP_MSG_PONG, 1, "PONG without PING" },
		{ FARSWAP_MSG_RESUME, 0, "RESUME before HELLO" },
		{ FARSWAP_MSG_RESUME, 1, "RESUME of a session that is not resumed" },
		{ FARSWAP_MSG_WELCOME, 1, "WELCOME from a client" },
		{ FARSWAP_MSG_EVICT, 1, "EVICT from a client" },
	};
	union message msg;
	struct mapping map;
	struct peer peer;
	size_t i;

	for (i = 0; i < ARRAY_SIZE_OF(sent); i++) {
		peer_reach(&peer, sent[i].greeted);
		memset(&msg, 0, sizeof(msg));
		if (sent[i].type == FARSWAP_MSG_HELLO)
			peer_hello(&peer, &msg);
		else
			wire_init(&msg.hdr, sent[i].type, 77);
		if (sent[i].type == FARSWAP_MSG_ACTIVITY)
			msg.activity.count = htole32(1);
		if (sent[i].type == FARSWAP_MSG_UNMAP || sent[i].type == FARSWAP_MSG_DONE)
			msg.region.region = htole64(4711);
		verbs_send(&peer.control, &msg, wire_length(sent[i].type));
		tap(verbs_is_dropped(&peer.control, DROP_MS), "%s ends its session", sent[i].what);
		peer_close(&peer);
	}
	peer_open(&peer);
	peer_map(&peer, &map);
	peer_region_msg(&peer, FARSWAP_MSG_UNMAP, ++peer.seq, map.region);
	peer_region_msg(&peer, FARSWAP_MSG_UNMAP, ++peer.seq, map.region);
	tap(verbs_is_dropped(&peer.control, DROP_MS), "a second UNMAP ends its session");
	peer_close(&peer);
	send_and_drop(sizeof(msg.hdr), 1, "a message with immediate data");
	check_donor("messages out of order");
}

static void cmd_stolenkey(void)
{
	struct mapping map, other;
	struct peer a, b;
	int failed;

	peer_open(&a);
	peer_open(&b);
	if (peer_map(&a, &map) || peer_map(&b, &other))
		tap_bail("no regions");
	tap(!peer_write(&a, &map, 0, 1), "the owner of a key can write");
	failed = peer_write(&b, &map, 0, 2);
	tap(failed && b.data.status == IBV_WC_REM_ACCESS_ERR,
	    "another client's WRITE with it fails (%s)", ibv_wc_status_str(b.data.status));
	peer_close(&b);
	peer_open(&b);
	failed = peer_read(&b, &map, 0);
	tap(failed && b.data.status == IBV_WC_REM_ACCESS_ERR,
	    "another client's READ with it fails (%s)", ibv_wc_status_str(b.data.status));
	tap(!peer_read(&a, &map, 0) && peer_page_is(&a, 1), "the owner reads its own data");
	failed = verbs_rdma(&a.control, IBV_WR_RDMA_READ, a.control.mr, a.control.buf, 64,
			    map.addr, map.rkey);
	tap(failed, "its control connection cannot use it (%s)",
	    ibv_wc_status_str(a.control.status));
	peer_close(&a);
	peer_close(&b);
	check_donor("stolen keys");
}

static void cmd_silent(void)
{
	struct peer peer;

	peer_reach(&peer, 0);
	tap(verbs_is_dropped(&peer.control, 5000 + SLACK_MS),
	    "a client without HELLO is disconnected");
	peer_close(&peer);
	peer_reach(&peer, 1);
	tap(verbs_is_dropped(&peer.control, 10000 + SLACK_MS),
	    "a client without a data connection is disconnected");
	peer_close(&peer);
	check_donor("silence");
}

static void cmd_nopong(void)
{
	struct peer peer;

	peer_open(&peer);
	tap(verbs_is_dropped(&peer.control, 20000 + SLACK_MS),
	    "a client that answers no PING is disconnected");
	peer_close(&peer);
	check_donor("a client that was dropped");
}

static void cmd_flood(void)
{
	union message msg;
	struct peer peer;
	int i, sent = 0;

	peer_open(&peer);
	for (i = 0; i < 2000 && !peer.control.broken; i++) {
		wire_init(&msg.hdr, FARSWAP_MSG_MAP, ++peer.seq);
		sent += !verbs_send(&peer.control, &msg, sizeof(msg.map));
	}
	tap(peer.control.broken || verbs_is_dropped(&peer.control, DROP_MS),
	    "a client that receives no answers is disconnected, after %d requests", sent);
	peer_close(&peer);
	check_donor("a flood");
}

/* Waits up to 30 s for an eviction that the test starts. */
static void cmd_hold(void)
{
	struct mapping map;
	union message msg;
	struct peer peer;
	uint64_t end;
	int failed;

	peer_open(&peer);
	if (peer_map(&peer, &map) || peer_write(&peer, &map, 0, 9))
		tap_bail("no region");
	printf("# holds region %llu: now evict it\n", (unsigned long long)map.region);
	fflush(stdout);
	while (peer_recv(&peer, &msg, 30000) == FARSWAP_MSG_CHECK_ACTIVITY)
		;
	if (le16toh(msg.hdr.type) != FARSWAP_MSG_EVICT)
		tap_bail("nobody evicted");
	tap(le64toh(msg.evict.region) == map.region, "EVICT names the region");
	tap(!peer_read(&peer, &map, 0) && peer_page_is(&peer, 9),
	    "before the deadline the region is still there");
	end = verbs_now_ms() + le32toh(msg.evict.deadline_ms) + 3000;
	while (verbs_now_ms() < end)
		peer_recv(&peer, &msg, 100);
	tap(peer_is_alive(&peer), "the session survives a deadline that passes");
	failed = peer_read(&peer, &map, 0);
	tap(failed && peer.data.status == IBV_WC_REM_ACCESS_ERR,
	    "after the deadline the key is dead (%s)", ibv_wc_status_str(peer.data.status));
	peer_close(&peer);
}

/* Its UNMAP crosses the EVICT; the extra DONE must be harmless. */
static void cmd_cross(void)
{
	struct mapping map;
	union message msg;
	struct peer peer;

	peer_open(&peer);
	if (peer_map(&peer, &map))
		tap_bail("no region");
	printf("# holds region %llu: now evict it\n", (unsigned long long)map.region);
	fflush(stdout);
	if (peer_recv(&peer, &msg, 30000) != FARSWAP_MSG_EVICT)
		tap_bail("nobody evicted");
	peer_region_msg(&peer, FARSWAP_MSG_UNMAP, ++peer.seq, map.region);
	peer_region_msg(&peer, FARSWAP_MSG_DONE, le32toh(msg.hdr.seq), map.region);
	tap(peer_is_alive(&peer), "UNMAP and DONE for one EVICT are accepted");
	peer_region_msg(&peer, FARSWAP_MSG_DONE, le32toh(msg.hdr.seq), map.region);
	tap(verbs_is_dropped(&peer.control, DROP_MS), "a second DONE is refused");
	peer_close(&peer);
}

/* What a client reports of its regions' activity. */
enum says {
	SAYS_NOTHING,
	SAYS_TRUTH,
	SAYS_MOST,		/* each is busier than any region can be */
};

/* Maps NUMBER regions (default 8) and gives back each evicted one, until none is left. */
static void give_back(enum says says)
{
	static struct mapping maps[MAPS_MAX];
	int i, n, left, want = number ? number : 8;
	union message msg, answer;
	unsigned int status, type;
	struct peer peer;

	peer_open(&peer);
	n = peer_map_many(&peer, maps, want < MAPS_MAX ? want : MAPS_MAX, &status);
	printf("# holds %d regions: now evict them\n", n);
	fflush(stdout);
	for (left = n; left && (type = peer_recv(&peer, &msg, 60000)); ) {
		if (type == FARSWAP_MSG_EVICT) {
			peer_region_msg(&peer, FARSWAP_MSG_DONE, le32toh(msg.hdr.seq),
					le64toh(msg.evict.region));
			for (i = 0; i < n && maps[i].region != le64toh(msg.evict.region); i++)
				;
			printf("# gave region %d back\n", i);
			fflush(stdout);
			left--;
		} else if (type == FARSWAP_MSG_CHECK_ACTIVITY && says) {
			wire_init(&answer.hdr, FARSWAP_MSG_ACTIVITY, le32toh(msg.hdr.seq));
			answer.activity.count = msg.check.count;
			for (i = 0; i < (int)le32toh(msg.check.count); i++) {
				int j = 0;

				/* Later regions are busier. */
				while (j < n && maps[j].region != le64toh(msg.check.region[i]))
					j++;
				answer.activity.entry[i].region = msg.check.region[i];
				answer.activity.entry[i].pages =
					htole32(says == SAYS_MOST ? UINT32_MAX : (unsigned int)j);
			}
			verbs_send(&peer.control, &answer, sizeof(answer.activity));
		}
	}
	tap(!left, "all %d regions were evicted", n);
	tap(peer_is_alive(&peer), "the session survives without any region");
	peer_close(&peer);
}

static void cmd_polite(void)
{
	give_back(SAYS_TRUTH);
}

static void cmd_taciturn(void)
{
	give_back(SAYS_NOTHING);
}

static void cmd_liar(void)
{
	give_back(SAYS_MOST);
}

/* Asks for regions without end, as often as it may, and gives none back. */
static void cmd_hungry(void)
{
	unsigned int type, asked = 0;
	union message msg;
	struct peer peer;

	peer_open(&peer);
	puts("# asks");
	fflush(stdout);
	for (;;) {
		while (asked < FARSWAP_CREDITS - 1) {
			wire_init(&msg.hdr, FARSWAP_MSG_MAP, ++peer.seq);
			msg.map.slab = htole64(peer.seq);
			if (verbs_send(&peer.control, &msg, sizeof(msg.map)))
				tap_bail("cannot send");
			asked++;
		}
		type = peer_recv(&peer, &msg, 30000);
		if (!type)
			tap_bail("disconnected");
		asked -= type == FARSWAP_MSG_MR_INFO;
	}
}

/* Asks for regions until it has NUMBER of them, and keeps them for a while. */
static void cmd_want(void)
{
	uint64_t begun = verbs_now_ms(), refused = 0;
	struct mapping map;
	struct peer peer;
	unsigned int n = 0;

	peer_open(&peer);
	printf("# connected after %llu ms\n", (unsigned long long)(verbs_now_ms() - begun));
	fflush(stdout);
	begun = verbs_now_ms();
	while (n < number && verbs_now_ms() < begun + 60000) {
		if (!peer_map(&peer, &map)) {
			n++;
			continue;
		}
		refused++;
		usleep(50000);
	}
	tap(n == number, "has %u regions after %llu ms and %llu refusals", n,
	    (unsigned long long)(verbs_now_ms() - begun), (unsigned long long)refused);
	fflush(stdout);
	sleep(3);
	peer_close(&peer);
}

/* RESUME with the first @nr; returns those that RESUMED reports as revoked, or ~0. */
static uint64_t peer_claim(struct peer *peer, const struct mapping *maps, int nr)
{
	union message msg;
	int i;

	wire_init(&msg.hdr, FARSWAP_MSG_RESUME, ++peer->seq);
	msg.resume.count = htole32(nr);
	for (i = 0; i < nr; i++)
		msg.resume.region[i] = htole64(maps[i].region);
	return peer_ask(peer, &msg, FARSWAP_MSG_RESUMED) ? ~0ULL : le64toh(msg.resumed.gone);
}

/* A second connection that resumes the session of the first. */
static void peer_resume(struct peer *peer, uint64_t session, int expect, const char *what)
{
	resume = session;
	if (peer_greet(peer))
		tap_bail("the donor does not welcome a good client");
	resume = 0;
	tap(peer->resumed == expect, "%s", what);
}

/* Both need the same identity for takeover. */
static void takeover_node(void)
{
	memset(node, 7, sizeof(node));
}

/* Prints its session and stays. */
static void cmd_victim(void)
{
	struct mapping map;
	union message msg;
	struct peer peer;

	takeover_node();
	grace_ms = 30000;
	peer_open(&peer);
	if (peer_map(&peer, &map))
		tap_bail("no region");
	printf("# session %llu\n", (unsigned long long)peer.session);
	fflush(stdout);
	while (!verbs_is_over(&peer.control, verbs_now_ms()))
		peer_recv(&peer, &msg, 1000);
	tap_bail("disconnected");
}

/* Knows all that the network shows of the session NUMBER, which is another machine's. */
static void cmd_takeover(void)
{
	struct peer peer, other;

	takeover_node();
	memset(&other, 0, sizeof(other));
	tap(peer_data(&other, number, 1) == RDMA_CM_EVENT_REJECTED &&
	    le16toh(other.data.accept.status) == FARSWAP_STATUS_BAD_SESSION,
	    "a data connection of another address is rejected");
	verbs_close(&other.data);
	grace_ms = 30000;
	peer_resume(&peer, number, 0, "another address resumes nothing");
	peer_close(&peer);
}

/* Exits with NUMBER regions (default 4) mapped. */
static void peer_die(void)
{
	static struct mapping maps[MAPS_MAX];
	unsigned int status;
	struct peer peer;
	int n;

	peer_open(&peer);
	n = peer_map_many(&peer, maps, number ? number : 4, &status);
	tap(n > 0, "exits with %d regions", n);
	tap_exit();
}

static void cmd_die(void)
{
	peer_die();
}

/* The donor keeps them, in case that it returns. */
static void cmd_vanish(void)
{
	grace_ms = 60000;
	peer_die();
}

/*
 * Sends NUMBER connect requests a second (default 1000) for as long as it lives, and answers
 * nothing: each that the donor accepts costs it a queue pair.
 */
static void cmd_burst(void)
{
	static struct rdma_cm_id *ids[4096];
	unsigned int rate = number ? number : 1000, rejected = 0, accepted = 0, other = 0;
	struct rdma_event_channel *channel = rdma_create_event_channel();
	uint64_t begun = verbs_now_ms(), sent = 0, told = begun;
	struct farswap_connect connect;
	struct rdma_cm_event *event;
	uint32_t qp = 0x100;	/* the donor's kernel refuses a number that it knows */
	size_t next = 0;

	if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		tap_bail("no event channel");
	wire_init_connect(&connect, FARSWAP_CONNECT_CONTROL, 0, 0);
	for (;;) {
		uint64_t now = verbs_now_ms();

		while (sent < (now - begun) * rate / 1000) {
			struct rdma_cm_id **id = &ids[next++ % ARRAY_SIZE_OF(ids)];

			if (*id)
				rdma_destroy_id(*id);
			*id = NULL;
			sent++;
			if (!rdma_create_id(channel, id, NULL, RDMA_PS_TCP))
				rdma_resolve_addr(*id, NULL, (struct sockaddr *)&donor, 2000);
			if (verbs_now_ms() > now + 100)
				break;
		}
		while (!rdma_get_cm_event(channel, &event)) {
			struct rdma_conn_param param = {
				.private_data = &connect,
				.private_data_len = sizeof(connect),
				.qp_num = qp++,
			};
			enum rdma_cm_event_type type = event->event;
			struct rdma_cm_id *id = event->id;

			rdma_ack_cm_event(event);
			if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
				rdma_resolve_route(id, 2000);
			else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED)
				rdma_connect(id, &param);
			else if (type == RDMA_CM_EVENT_REJECTED)
				rejected++;
			else if (type == RDMA_CM_EVENT_CONNECT_RESPONSE)
				accepted++;
			else
				other++;
		}
		if (now > told + 1000) {
			told = now;
			printf("# %llu requests in %llu ms, %u rejected, %u accepted, %u other\n",
			       (unsigned long long)sent, (unsigned long long)(now - begun),
			       rejected, accepted, other);
			fflush(stdout);
		}
		usleep(1000);
	}
}

static void cmd_resume(void)
{
	struct peer a, b, c, other;
	struct mapping maps[3];
	union message msg;
	unsigned int status;
	int i, failed, good = 1;

	grace_ms = 30000;
	peer_open(&a);
	if (peer_map_many(&a, maps, 3, &status) != 3)
		tap_bail("no regions");
	for (i = 0; i < 3; i++)
		good &= !peer_write(&a, &maps[i], PAGE, 10 + i);
	tap(good, "a client has three regions");

	peer_resume(&other, a.session ^ 1, 0, "a guessed session id resumes nothing");
	peer_close(&other);
	node[0]++;
	peer_resume(&other, a.session, 0, "nor does another machine");
	node[0]--;
	peer_close(&other);
	tap(!peer_read(&a, &maps[0], PAGE) && peer_page_is(&a, 10), "the client does not notice");

	peer_resume(&b, a.session, 1, "it resumes its session, though the connections still work");
	tap(b.session == a.session, "with the same session id");
	tap(b.answers == 3, "the donor has counted its answers: %llu",
	    (unsigned long long)b.answers);
	failed = peer_write(&a, &maps[0], PAGE, 99);
	tap(failed, "its old connections fail (%s)", ibv_wc_status_str(a.data.status));
	tap(peer_data(&b, b.session, 0) == RDMA_CM_EVENT_REJECTED,
	    "before RESUME no data connection is accepted");
	verbs_close(&b.data);
	tap(!peer_claim(&b, maps, 2), "it names two of three");
	peer_open_data(&b);
	tap(!peer_read(&b, &maps[0], PAGE) && peer_page_is(&b, 10) &&
	    !peer_read(&b, &maps[1], PAGE) && peer_page_is(&b, 11),
	    "and finds what it had written, by the same keys");
	tap(!peer_write(&b, &maps[1], 0, 12), "and writes");
	wire_init(&msg.hdr, FARSWAP_MSG_QUERY_MEM, ++b.seq);
	tap(!peer_ask(&b, &msg, FARSWAP_MSG_FREE_MEM) && le32toh(msg.free_mem.mapped) == 2,
	    "the third is the donor's again");
	peer_close(&a);
	peer_close(&b);

	sleep(2);
	peer_resume(&c, b.session, 1, "it comes back after it was disconnected");
	tap(c.answers == 5, "and counted on: %llu", (unsigned long long)c.answers);
	tap(!peer_claim(&c, maps, 2), "and names its two");
	peer_open_data(&c);
	tap(!peer_read(&c, &maps[1], 0) && peer_page_is(&c, 12), "which it still has");
	failed = peer_read(&c, &maps[2], PAGE);
	tap(failed && c.data.status == IBV_WC_REM_ACCESS_ERR,
	    "the key of the third is dead (%s)", ibv_wc_status_str(c.data.status));
	peer_close(&c);

	peer_open(&a);
	if (peer_map_many(&a, maps, 2, &status) != 2)
		tap_bail("no regions");
	failed = peer_write(&a, &maps[0], PAGE, 20);
	peer_close(&a);
	maps[1].region++;
	peer_resume(&b, a.session, 1, "another comes back");
	tap(peer_claim(&b, maps, 2) == 2, "the donor reports that it does not have them");
	peer_open_data(&b);
	tap(!failed && !peer_read(&b, &maps[0], PAGE) && peer_page_is(&b, 20),
	    "and reads what it had");
	peer_close(&b);

	sleep(2);
	maps[1] = maps[0];
	peer_resume(&c, b.session, 1, "it comes back once more");
	tap(peer_claim(&c, maps, 2) == ~0ULL && verbs_is_dropped(&c.control, DROP_MS),
	    "and is disconnected when it claims one region twice");
	peer_close(&c);
	peer_resume(&c, b.session, 0, "after that there is nothing to resume");
	peer_close(&c);

	peer_open(&a);
	peer_map(&a, &maps[0]);
	peer_close(&a);
	peer_resume(&b, a.session, 1, "one more comes back");
	wire_init(&msg.hdr, FARSWAP_MSG_MAP, ++b.seq);
	verbs_send(&b.control, &msg, sizeof(msg.map));
	tap(verbs_is_dropped(&b.control, DROP_MS), "MAP before RESUME ends its session");
	peer_close(&b);
	grace_ms = 0;
	check_donor("resumptions");
}

/* For a drained donor. */
static int peer_is_busy(struct peer *peer)
{
	int busy = peer_connect(peer) == RDMA_CM_EVENT_REJECTED &&
		   le16toh(peer->control.accept.status) == FARSWAP_STATUS_BUSY;

	verbs_close(&peer->control);
	return busy;
}

static void cmd_full(void)
{
	struct peer a, b, other;
	struct mapping map;

	grace_ms = 30000;
	peer_open(&a);
	if (peer_map(&a, &map))
		tap_bail("no region");
	tap(peer_is_busy(&other), "a donor with all its clients rejects another");
	resume = a.session ^ 1;
	tap(peer_is_busy(&other), "and rejects a guessed session id");
	peer_resume(&b, a.session, 1, "but resumes the client's own session");
	tap(!peer_claim(&b, &map, 1), "with its region");
	peer_open_data(&b);
	tap(!peer_read(&b, &map, 0), "which it reads");
	tap(peer_is_busy(&other), "and it counts as one client");
	peer_close(&a);
	peer_close(&b);
}

static void cmd_drained(void)
{
	struct mapping map;
	union message msg;
	struct peer peer;

	peer_open(&peer);
	tap(1, "a drained donor accepts a client");
	wire_init(&msg.hdr, FARSWAP_MSG_QUERY_MEM, ++peer.seq);
	tap(!peer_ask(&peer, &msg, FARSWAP_MSG_FREE_MEM) && !msg.free_mem.free_bytes,
	    "QUERY_MEM says that there is no memory");
	tap(peer_map(&peer, &map) == FARSWAP_STATUS_NO_MEMORY, "MAP is refused");
	peer_close(&peer);
}

static void cmd_data_noauth(void)
{
	struct peer peer, other;

	memset(&other, 0, sizeof(other));
	tap(peer_data(&other, 0x1234567812345678, 0) == RDMA_CM_EVENT_REJECTED &&
	    le16toh(other.data.accept.status) == FARSWAP_STATUS_BAD_SESSION,
	    "a data connection of no session is rejected");
	verbs_close(&other.data);
	peer_open(&peer);
	tap(peer_data(&other, peer.session ^ 1, 0) == RDMA_CM_EVENT_REJECTED,
	    "a data connection of a session guessed nearly right is rejected");
	verbs_close(&other.data);
	attempt++;
	tap(peer_data(&other, peer.session, 1) == RDMA_CM_EVENT_REJECTED &&
	    le16toh(other.data.accept.status) == FARSWAP_STATUS_BAD_SESSION,
	    "a data connection of another attempt to connect is rejected");
	verbs_close(&other.data);
	attempt--;
	tap(peer_data(&other, peer.session, 0) == RDMA_CM_EVENT_REJECTED &&
	    le16toh(other.data.accept.status) == FARSWAP_STATUS_BUSY,
	    "the same queue pair twice is rejected");
	verbs_close(&other.data);
	tap(peer_data(&other, peer.session, 2) == RDMA_CM_EVENT_REJECTED,
	    "a queue pair beyond those agreed is rejected");
	verbs_close(&other.data);
	tap(peer_is_alive(&peer), "the session survives that");
	peer_close(&peer);
	check_donor("wrong data connections");
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *what;
} commands[] = {
	{ "ok", cmd_ok, "map everything, write, read, unmap, map again" },
	{ "garbage", cmd_garbage, "random bytes; NUMBER is the seed" },
	{ "badversion", cmd_badversion, "another version" },
	{ "later", cmd_later, "a later version" },
	{ "badslab", cmd_badslab, "another slab size" },
	{ "short", cmd_short, "messages too short" },
	{ "long", cmd_long, "messages too long" },
	{ "outoforder", cmd_outoforder, "messages at the wrong time" },
	{ "stolenkey", cmd_stolenkey, "one client's key in another's hands" },
	{ "silent", cmd_silent, "no HELLO, no data connection" },
	{ "nopong", cmd_nopong, "no PONG" },
	{ "flood", cmd_flood, "requests without end" },
	{ "hold", cmd_hold, "keeps a region for which EVICT came" },
	{ "cross", cmd_cross, "UNMAP and DONE for the same EVICT" },
	{ "polite", cmd_polite, "gives NUMBER regions back when asked" },
	{ "taciturn", cmd_taciturn, "the same, but never says how busy they are" },
	{ "liar", cmd_liar, "the same, but says that all are busier than any" },
	{ "hungry", cmd_hungry, "asks for regions without end" },
	{ "want", cmd_want, "asks until it has NUMBER regions" },
	{ "victim", cmd_victim, "prints its session" },
	{ "takeover", cmd_takeover, "wants session NUMBER, which is another machine's" },
	{ "burst", cmd_burst, "NUMBER connect requests a second, never completed" },
	{ "resume", cmd_resume, "loses its connections, and goes on with its regions" },
	{ "full", cmd_full, "one client too many" },
	{ "drained", cmd_drained, "asks a drained donor for memory" },
	{ "die", cmd_die, "ends with NUMBER regions" },
	{ "vanish", cmd_vanish, "ends with NUMBER regions, which are kept for it" },
	{ "data-noauth", cmd_data_noauth, "data connections that are not its own" },
};

static void usage(void)
{
	size_t i;

	fprintf(stderr, "peer ADDRESS[:PORT] COMMAND [NUMBER]\n");
	for (i = 0; i < ARRAY_SIZE_OF(commands); i++)
		fprintf(stderr, "  %-12s %s\n", commands[i].name, commands[i].what);
	exit(2);
}

static void parse_address(char *arg)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&donor;
	char *colon = strchr(arg, ':');

	if (colon)
		*colon = '\0';
	in->sin_family = AF_INET;
	in->sin_port = htons(colon ? atoi(colon + 1) : FARSWAP_PORT);
	if (inet_pton(AF_INET, arg, &in->sin_addr) != 1)
		usage();
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 3)
		usage();
	parse_address(argv[1]);
	number = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	getrandom(node, sizeof(node), 0);
	alarm(570);
	for (i = 0; i < ARRAY_SIZE_OF(commands); i++) {
		if (strcmp(commands[i].name, argv[2]))
			continue;
		printf("TAP version 13\n");
		commands[i].run();
		tap_exit();
	}
	usage();
}
