/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's wire format: what it builds, byte by byte, and what its check accepts.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/slab.h>

static u64 buffer[FARSWAP_MSG_BYTES / 8];
static u8 *const bytes = (u8 *)buffer;

static u64 le(size_t at, size_t len)
{
	u64 value = 0;

	while (len--)
		value = value << 8 | bytes[at + len];
	return value;
}

static bool is_header(u16 type, u32 len, u32 seq)
{
	return !memcmp(bytes, "fswp", 4) && le(4, 2) == 6 && le(6, 2) == type &&
	       le(8, 4) == len && le(12, 4) == seq;
}

static bool is_zero(size_t from, size_t to)
{
	while (from < to)
		if (bytes[from++])
			return false;
	return true;
}

/* Each built message has the bytes of protocol.rst, and touches no others. */
static void wire_test_build(struct kunit *test)
{
	static const u8 connect[] = "fswp\6\0\2\0\x8\7\6\5\4\3\2\1\3\0\6\0\xd\xc\xb\xa";
	static const u8 node[16] = "0123456789abcdef";
	const u64 region[2] = { 0x1122334455667788ULL, 7 };
	const u32 pages[2] = { 0xa0b0c0d0, 9 };
	const struct farswap_wire_greeting hello = {
		.node = node,
		.instance = 0x77,
		.slab_bytes = 64 << 20,
		.queues = 4,
		.grace_ms = 10000,
		.resume = 0xa1b2c3d4e5f60718ULL,
	};

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	KUNIT_EXPECT_EQ(test, 56, farswap_wire_connect(bytes, FARSWAP_CONNECT_DATA,
						       0x0102030405060708ULL, 3, 0x0a0b0c0d));
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(bytes, connect, 24) && is_zero(24, 56) &&
			      bytes[56] == 0xff, "connect");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_hello(bytes, &hello) == 96, "hello's length");
	farswap_wire_set_seq(bytes, 0x01020304);
	KUNIT_EXPECT_TRUE_MSG(test, is_header(1, 96, 0x01020304) &&
			      !memcmp(bytes + 16, node, 16) && le(32, 8) == 0x77 &&
			      le(40, 8) == 64 << 20 && le(48, 2) == 4 && is_zero(50, 52) &&
			      le(52, 4) == 10000 && le(56, 8) == 0xa1b2c3d4e5f60718ULL &&
			      is_zero(64, 96) && bytes[96] == 0xff, "hello");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_auth(bytes) == 120 && is_header(18, 120, 0) &&
			      is_zero(16, 120) && bytes[120] == 0xff, "auth");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_bare(bytes, FARSWAP_MSG_PING) == 16 &&
			      is_header(12, 16, 0), "ping");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_map(bytes, region[0] + 5) == 24 &&
			      is_header(5, 24, 0) && le(16, 8) == region[0] + 5, "map");
	KUNIT_EXPECT_TRUE_MSG(test,
			      farswap_wire_region_msg(bytes, FARSWAP_MSG_DONE, region[0]) == 24 &&
			      is_header(9, 24, 0) && le(16, 8) == region[0], "done");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_activity(bytes, region, pages, 2) == 280 &&
			      is_header(11, 280, 0) && le(16, 8) == 2 && le(24, 8) == region[0] &&
			      le(32, 4) == pages[0] && le(36, 4) == 0 && le(40, 8) == 7 &&
			      le(48, 4) == 9 && is_zero(52, 280) && bytes[280] == 0xff, "activity");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_resume(bytes, region, 2, true) == 488 &&
			      is_header(14, 488, 0) && le(16, 4) == 2 && le(20, 4) == 1 &&
			      le(24, 8) == region[0] && le(32, 8) == 7 && is_zero(40, 488) &&
			      bytes[488] == 0xff, "resume");
}

static size_t wire_make(u16 type)
{
	struct farswap_hdr *hdr = (void *)bytes;
	size_t len = farswap_wire_length[type];

	memset(bytes, 0, len);
	farswap_wire_bare(bytes, type);
	hdr->length = cpu_to_le32(len);

	switch (type) {
	case FARSWAP_MSG_WELCOME: {
		struct farswap_welcome *msg = (void *)bytes;

		msg->queues = cpu_to_le16(4);
		msg->slab_bytes = cpu_to_le64(64 << 20);
		msg->session = cpu_to_le64(99);
		msg->instance = cpu_to_le64(98);
		break;
	}
	case FARSWAP_MSG_MR_INFO: {
		struct farswap_mr_info *msg = (void *)bytes;

		msg->rkey = cpu_to_le32(1);
		msg->region = cpu_to_le64(2);
		msg->addr = cpu_to_le64(3);
		msg->bytes = cpu_to_le64(64 << 20);
		break;
	}
	case FARSWAP_MSG_CHECK_ACTIVITY: {
		struct farswap_check_activity *msg = (void *)bytes;

		msg->count = cpu_to_le32(2);
		msg->region[0] = cpu_to_le64(10);
		msg->region[1] = cpu_to_le64(11);
		break;
	}
	}
	return len;
}

/* Every type passes at its own length and at no other. */
static void wire_test_length(struct kunit *test)
{
	bool exact = true, others = true;
	size_t len, wrong;
	u16 type;

	for (type = 1; type <= FARSWAP_MSG_MAX; type++) {
		len = wire_make(type);
		if (farswap_wire_check(bytes, len))
			exact = false;
		for (wrong = 0; wrong <= FARSWAP_MSG_BYTES; wrong++)
			if (wrong != len && !farswap_wire_check(bytes, wrong))
				others = false;
		((struct farswap_hdr *)bytes)->length = cpu_to_le32(len + 8);
		if (farswap_wire_check(bytes, len) != FARSWAP_WIRE_LENGTH)
			others = false;
	}
	KUNIT_EXPECT_TRUE_MSG(test, exact, "every message passes at its length");
	KUNIT_EXPECT_TRUE_MSG(test, others, "no message passes at another length");
}

/* The check reads nothing of a message that is too short; otherwise the sanitizer reports it. */
static void wire_test_short(struct kunit *test)
{
	size_t len;
	bool good = true;

	for (len = 0; len < 16; len++) {
		u8 *copy = kmalloc(len ?: 1, GFP_KERNEL);

		wire_make(FARSWAP_MSG_PING);
		memcpy(copy, bytes, len);
		if (farswap_wire_check(copy, len) != FARSWAP_WIRE_SHORT)
			good = false;
		kfree(copy);
	}
	KUNIT_EXPECT_TRUE_MSG(test, good, "shorter than a header");
}

static enum farswap_wire_fault check_with(u16 type, size_t at, u8 value)
{
	size_t len = wire_make(type);

	bytes[at] = value;
	return farswap_wire_check(bytes, len);
}

static void wire_test_fields(struct kunit *test)
{
	KUNIT_EXPECT_TRUE_MSG(test, check_with(12, 0, 'F') == FARSWAP_WIRE_MAGIC, "wrong magic");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(12, 4, 1) == FARSWAP_WIRE_VERSION,
			      "another version");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(12, 6, 0) == FARSWAP_WIRE_TYPE, "type 0");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(12, 6, 20) == FARSWAP_WIRE_TYPE,
			      "type past the last");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(12, 7, 0x7f) == FARSWAP_WIRE_TYPE,
			      "type far past the last");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(12, 7, 0x80) == FARSWAP_WIRE_IGNORE,
			      "unknown type that is optional");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 22, 1) == FARSWAP_WIRE_OK, "welcome: resumed");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 22, 2) == FARSWAP_WIRE_OK,
			      "welcome: resumed with new keys");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 22, 3) == FARSWAP_WIRE_VALUE,
			      "welcome: resumed is 0, 1 or 2");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(17, 20, 3) == FARSWAP_WIRE_OK, "keyed: a key");
	bytes[16] = 1;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_check(bytes, 32) == FARSWAP_WIRE_RESERVED,
			      "keyed: a key of a region that is gone");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 23, 1) == FARSWAP_WIRE_VALUE,
			      "welcome: resumed, far from 0 and 1");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(15, 16, 9) == FARSWAP_WIRE_OK,
			      "resumed: some are gone");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 20, 0) == FARSWAP_WIRE_VALUE,
			      "welcome: no queues");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 20, 17) == FARSWAP_WIRE_VALUE,
			      "welcome: too many queues");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 48, 1) == FARSWAP_WIRE_VALUE,
			      "welcome: slab no power of two");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(2, 53, 1) == FARSWAP_WIRE_VALUE,
			      "welcome: slab too large");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(4, 28, 1) == FARSWAP_WIRE_RESERVED,
			      "free_mem: reserved");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(6, 16, 1) == FARSWAP_WIRE_RESERVED,
			      "mr_info: refused, yet a region");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(6, 16, FARSWAP_STATUS_SELF) == FARSWAP_WIRE_VALUE,
			      "mr_info: a status that is WELCOME's alone");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(6, 43, 0) == FARSWAP_WIRE_VALUE,
			      "mr_info: no bytes");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(8, 28, 1) == FARSWAP_WIRE_RESERVED,
			      "evict: reserved");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(10, 20, 1) == FARSWAP_WIRE_RESERVED,
			      "check_activity: reserved");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(10, 16, 0) == FARSWAP_WIRE_VALUE,
			      "check_activity: none");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(10, 16, 17) == FARSWAP_WIRE_VALUE,
			      "check_activity: too many");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(10, 19, 0xff) == FARSWAP_WIRE_VALUE,
			      "check_activity: far too many");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(10, 40, 1) == FARSWAP_WIRE_RESERVED,
			      "check_activity: more than counted");
	KUNIT_EXPECT_TRUE_MSG(test, check_with(10, 16, 16) == FARSWAP_WIRE_OK,
			      "check_activity: all");

	wire_make(FARSWAP_MSG_MR_INFO);
	memset(bytes + 32, 0xff, 8);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_check(bytes, 48) == FARSWAP_WIRE_VALUE,
			      "mr_info: address and length overflow");
	wire_make(FARSWAP_MSG_WELCOME);
	memset(bytes + 48, 0, 8);
	bytes[16] = FARSWAP_STATUS_BUSY;
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_wire_check(bytes, 72),
			      "welcome: a refusal needs no slab size");
	bytes[16] = FARSWAP_STATUS_SELF;
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_wire_check(bytes, 72), "welcome: of this machine");
	bytes[22] = 1;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_check(bytes, 72) == FARSWAP_WIRE_RESERVED,
			      "welcome: refused and resumed");
	wire_make(FARSWAP_MSG_WELCOME);
	bytes[64] = 1;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_check(bytes, 72) == FARSWAP_WIRE_VALUE,
			      "welcome: answers, but not resumed");
	bytes[22] = 1;
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_wire_check(bytes, 72), "welcome: resumed");
}

static void wire_test_read(struct kunit *test)
{
	struct farswap_wire_welcome welcome;
	struct farswap_wire_region region;
	u64 id[FARSWAP_ACTIVITY_REGIONS];
	u32 deadline_ms;

	wire_make(FARSWAP_MSG_WELCOME);
	farswap_wire_read_welcome(bytes, &welcome);
	KUNIT_EXPECT_TRUE_MSG(test, welcome.status == 0 && welcome.queues == 4 &&
			      !welcome.resumed && welcome.session == 99 &&
			      welcome.instance == 98 && welcome.slab_bytes == 64 << 20,
			      "welcome is read");
	wire_make(FARSWAP_MSG_MR_INFO);
	farswap_wire_read_region(bytes, &region);
	KUNIT_EXPECT_TRUE_MSG(test, region.status == 0 && region.rkey == 1 && region.id == 2 &&
			      region.addr == 3 && region.bytes == 64 << 20, "mr_info is read");
	wire_make(FARSWAP_MSG_CHECK_ACTIVITY);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_read_check_activity(bytes, id) == 2 &&
			      id[0] == 10 && id[1] == 11, "check_activity is read");
	wire_make(FARSWAP_MSG_RESUMED);
	bytes[16] = 9;
	bytes[23] = 1;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_read_resumed(bytes) == (9 | BIT_ULL(56)),
			      "resumed is read");
	wire_make(FARSWAP_MSG_EVICT);
	bytes[16] = 5;
	bytes[25] = 1;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_wire_read_evict(bytes, &deadline_ms) == 5 &&
			      deadline_ms == 256, "evict is read");
}

static void wire_test_accept(struct kunit *test)
{
	struct farswap_wire_answer answer = {};
	u8 padded[196] = "fswp\6\0\3\0";

	KUNIT_EXPECT_TRUE_MSG(test,
			      farswap_wire_check_accept(NULL, 0, &answer) == FARSWAP_WIRE_SHORT,
			      "no accept data");
	KUNIT_EXPECT_TRUE_MSG(test,
			      farswap_wire_check_accept(padded, 31, &answer) == FARSWAP_WIRE_SHORT,
			      "short accept data");
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_wire_check_accept(padded, 196, &answer) &&
			      answer.version == 6 && answer.status == 3 && !answer.sealed,
			      "padded accept data");
	padded[8] = 3;
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_wire_check_accept(padded, 196, &answer) &&
			      answer.sealed, "accept data with a feature, and an unknown one");
	padded[6] = FARSWAP_STATUS_SELF;
	KUNIT_EXPECT_EQ(test, FARSWAP_WIRE_VALUE,
			farswap_wire_check_accept(padded, 196, &answer));
	padded[15] = 1;
	KUNIT_EXPECT_EQ(test, FARSWAP_WIRE_RESERVED,
			farswap_wire_check_accept(padded, 196, &answer));
	padded[4] = 5;
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_wire_check_accept(padded, 16, &answer) &&
			      answer.version == 5,
			      "accept data of another version is told by its version");
	padded[0] = 0;
	KUNIT_EXPECT_TRUE_MSG(test,
			      farswap_wire_check_accept(padded, 196, &answer) == FARSWAP_WIRE_MAGIC,
			      "accept data of something else");
}

/* Each round allocates memory, which is slow with KASAN. */
#ifdef CONFIG_KASAN
#define FUZZ_ROUNDS	10000
#else
#define FUZZ_ROUNDS	100000
#endif

/* Randomly damaged messages never make the check or the readers leave the buffer. */
static void wire_test_fuzz(struct kunit *test)
{
	struct farswap_wire_welcome welcome;
	u64 id[FARSWAP_ACTIVITY_REGIONS];
	unsigned int round, passed = 0;
	struct rnd_state random;
	size_t len;
	u8 *copy;

	prandom_seed_state(&random, 1);
	for (round = 0; round < FUZZ_ROUNDS; round++) {
		len = wire_make(1 + prandom_u32_state(&random) % FARSWAP_MSG_MAX);
		bytes[prandom_u32_state(&random) % len] = prandom_u32_state(&random);
		if (prandom_u32_state(&random) % 2)
			len = prandom_u32_state(&random) % (FARSWAP_MSG_BYTES + 1);
		copy = kmalloc(len ?: 1, GFP_KERNEL);
		memcpy(copy, bytes, len);
		if (!farswap_wire_check(copy, len)) {
			passed++;
			if (farswap_wire_type(copy) == FARSWAP_MSG_WELCOME)
				farswap_wire_read_welcome(copy, &welcome);
			if (farswap_wire_type(copy) == FARSWAP_MSG_CHECK_ACTIVITY)
				farswap_wire_read_check_activity(copy, id);
		}
		kfree(copy);
	}
	KUNIT_EXPECT_TRUE_MSG(test, passed > 0, "%d damaged messages", FUZZ_ROUNDS);
}

static void wire_test_names(struct kunit *test)
{
	bool good = true;
	u32 i;

	for (i = 0; i < FARSWAP_WIRE_FAULTS + 2; i++)
		if (!farswap_wire_fault_name(i))
			good = false;
	for (i = 0; i < 12; i++)
		if (!farswap_wire_status_name(i) ||
		    (farswap_wire_status_errno(i) >= 0) != !i)
			good = false;
	KUNIT_EXPECT_TRUE_MSG(test, good,
			      "every fault and status has a name, every refusal an error");
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE(wire_test_build),
	KUNIT_CASE(wire_test_length),
	KUNIT_CASE(wire_test_short),
	KUNIT_CASE(wire_test_fields),
	KUNIT_CASE(wire_test_read),
	KUNIT_CASE(wire_test_accept),
	KUNIT_CASE(wire_test_fuzz),
	KUNIT_CASE(wire_test_names),
	{}
};

static struct kunit_suite wire_suite = {
	.name		= "farswap_wire",
	.test_cases	= wire_cases,
};

kunit_test_suite(wire_suite);
