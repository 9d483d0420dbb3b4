// SPDX-License-Identifier: GPL-2.0
/*
 * The client's wire: what it builds, byte by byte, and what its gate lets pass.
 */
#include "shim/kernel.h"
#include "tap.h"

#include "../../../rdma/wire.c"

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
	return !memcmp(bytes, "fswp", 4) && le(4, 2) == 1 && le(6, 2) == type &&
	       le(8, 4) == len && le(12, 4) == seq;
}

static bool is_zero(size_t from, size_t to)
{
	while (from < to)
		if (bytes[from++])
			return false;
	return true;
}

/* Each built message has the bytes protocol.rst says, and no other set. */
static void test_build(void)
{
	static const u8 node[16] = "0123456789abcdef";
	const u64 region[2] = { 0x1122334455667788ULL, 7 };
	const u32 pages[2] = { 0xa0b0c0d0, 9 };

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	ok(farswap_wire_connect(bytes, FARSWAP_CONNECT_DATA, 0x0102030405060708ULL, 3) == 24 &&
	   !memcmp(bytes, "fswp\1\0\2\0\x8\7\6\5\4\3\2\1\3\0\0\0\0\0\0\0", 24) &&
	   bytes[24] == 0xff, "connect");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	ok(farswap_wire_hello(bytes, node, 0x77, 64 << 20, 4) == 88, "hello's length");
	farswap_wire_set_seq(bytes, 0x01020304);
	ok(is_header(1, 88, 0x01020304) && !memcmp(bytes + 16, node, 16) &&
	   le(32, 8) == 0x77 && le(40, 8) == 64 << 20 && le(48, 2) == 4 &&
	   is_zero(50, 88) && bytes[88] == 0xff, "hello");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	ok(farswap_wire_bare(bytes, FARSWAP_MSG_PING) == 16 && is_header(12, 16, 0), "ping");
	ok(farswap_wire_map(bytes, 5) == 24 && is_header(5, 24, 0) && le(16, 8) == 5, "map");
	ok(farswap_wire_region_msg(bytes, FARSWAP_MSG_DONE, 6) == 24 &&
	   is_header(9, 24, 0) && le(16, 8) == 6, "done");

	memset(bytes, 0xff, FARSWAP_MSG_BYTES);
	ok(farswap_wire_activity(bytes, region, pages, 2) == 280 &&
	   is_header(11, 280, 0) && le(16, 8) == 2 && le(24, 8) == region[0] &&
	   le(32, 4) == pages[0] && le(36, 4) == 0 && le(40, 8) == 7 &&
	   le(48, 4) == 9 && is_zero(52, 280) && bytes[280] == 0xff, "activity");
}

static size_t make(u16 type)
{
	size_t len = begin(bytes, type);

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
static void test_length(void)
{
	bool exact = true, others = true;
	size_t len, wrong;
	u16 type;

	for (type = 1; type <= FARSWAP_MSG_MAX; type++) {
		len = make(type);
		if (farswap_wire_check(bytes, len))
			exact = false;
		for (wrong = 0; wrong <= FARSWAP_MSG_BYTES; wrong++)
			if (wrong != len && !farswap_wire_check(bytes, wrong))
				others = false;
		((struct farswap_hdr *)bytes)->length = cpu_to_le32(len + 8);
		if (farswap_wire_check(bytes, len) != FARSWAP_WIRE_LENGTH)
			others = false;
	}
	ok(exact, "every message passes at its length");
	ok(others, "no message passes at another length");
}

/* A message that is too short is not looked at: the sanitizer would say so. */
static void test_short(void)
{
	size_t len;
	bool good = true;

	for (len = 0; len < 16; len++) {
		u8 *copy = malloc(len ?: 1);

		make(FARSWAP_MSG_PING);
		memcpy(copy, bytes, len);
		if (farswap_wire_check(copy, len) != FARSWAP_WIRE_SHORT)
			good = false;
		free(copy);
	}
	ok(good, "shorter than a header");
}

static enum farswap_wire_fault check_with(u16 type, size_t at, u8 value)
{
	size_t len = make(type);

	bytes[at] = value;
	return farswap_wire_check(bytes, len);
}

static void test_fields(void)
{
	ok(check_with(12, 0, 'F') == FARSWAP_WIRE_MAGIC, "wrong magic");
	ok(check_with(12, 4, 2) == FARSWAP_WIRE_VERSION, "another version");
	ok(check_with(12, 6, 0) == FARSWAP_WIRE_TYPE, "type 0");
	ok(check_with(12, 6, 14) == FARSWAP_WIRE_TYPE, "type past the last");
	ok(check_with(12, 7, 0xff) == FARSWAP_WIRE_TYPE, "type far past the last");
	ok(check_with(2, 22, 1) == FARSWAP_WIRE_RESERVED, "welcome: reserved");
	ok(check_with(2, 20, 0) == FARSWAP_WIRE_VALUE, "welcome: no queues");
	ok(check_with(2, 20, 17) == FARSWAP_WIRE_VALUE, "welcome: too many queues");
	ok(check_with(2, 48, 1) == FARSWAP_WIRE_VALUE, "welcome: slab no power of two");
	ok(check_with(2, 53, 1) == FARSWAP_WIRE_VALUE, "welcome: slab too large");
	ok(check_with(4, 28, 1) == FARSWAP_WIRE_RESERVED, "free_mem: reserved");
	ok(check_with(6, 16, 1) == FARSWAP_WIRE_RESERVED, "mr_info: refused, yet a region");
	ok(check_with(6, 43, 0) == FARSWAP_WIRE_VALUE, "mr_info: no bytes");
	ok(check_with(8, 28, 1) == FARSWAP_WIRE_RESERVED, "evict: reserved");
	ok(check_with(10, 20, 1) == FARSWAP_WIRE_RESERVED, "check_activity: reserved");
	ok(check_with(10, 16, 0) == FARSWAP_WIRE_VALUE, "check_activity: none");
	ok(check_with(10, 16, 17) == FARSWAP_WIRE_VALUE, "check_activity: too many");
	ok(check_with(10, 19, 0xff) == FARSWAP_WIRE_VALUE, "check_activity: far too many");
	ok(check_with(10, 40, 1) == FARSWAP_WIRE_RESERVED, "check_activity: more than counted");
	ok(check_with(10, 16, 16) == FARSWAP_WIRE_OK, "check_activity: all");

	make(FARSWAP_MSG_MR_INFO);
	memset(bytes + 32, 0xff, 8);
	ok(farswap_wire_check(bytes, 48) == FARSWAP_WIRE_VALUE,
	   "mr_info: address and length overflow");
	make(FARSWAP_MSG_WELCOME);
	memset(bytes + 48, 0, 8);
	bytes[16] = FARSWAP_STATUS_BUSY;
	ok(!farswap_wire_check(bytes, 64), "welcome: a refusal needs no slab size");
}

static void test_read(void)
{
	struct farswap_wire_welcome welcome;
	struct farswap_wire_region region;
	u64 id[FARSWAP_ACTIVITY_REGIONS];
	u32 deadline_ms;

	make(FARSWAP_MSG_WELCOME);
	farswap_wire_read_welcome(bytes, &welcome);
	ok(welcome.status == 0 && welcome.queues == 4 && welcome.session == 99 &&
	   welcome.instance == 98 && welcome.slab_bytes == 64 << 20, "welcome is read");
	make(FARSWAP_MSG_MR_INFO);
	farswap_wire_read_region(bytes, &region);
	ok(region.status == 0 && region.rkey == 1 && region.id == 2 && region.addr == 3 &&
	   region.bytes == 64 << 20, "mr_info is read");
	make(FARSWAP_MSG_CHECK_ACTIVITY);
	ok(farswap_wire_read_check_activity(bytes, id) == 2 && id[0] == 10 && id[1] == 11,
	   "check_activity is read");
	make(FARSWAP_MSG_EVICT);
	bytes[16] = 5;
	bytes[25] = 1;
	ok(farswap_wire_read_evict(bytes, &deadline_ms) == 5 && deadline_ms == 256,
	   "evict is read");
}

static void test_accept(void)
{
	struct farswap_wire_answer answer = {};
	u8 padded[196] = "fswp\1\0\3\0";

	ok(farswap_wire_check_accept(NULL, 0, &answer) == FARSWAP_WIRE_SHORT, "no accept data");
	ok(farswap_wire_check_accept(padded, 15, &answer) == FARSWAP_WIRE_SHORT,
	   "short accept data");
	ok(!farswap_wire_check_accept(padded, 196, &answer) && answer.version == 1 &&
	   answer.status == 3, "padded accept data");
	padded[8] = 1;
	ok(farswap_wire_check_accept(padded, 196, &answer) == FARSWAP_WIRE_RESERVED,
	   "accept data: reserved");
	padded[4] = 2;
	ok(!farswap_wire_check_accept(padded, 196, &answer) && answer.version == 2,
	   "accept data of another version is told by its version");
	padded[0] = 0;
	ok(farswap_wire_check_accept(padded, 196, &answer) == FARSWAP_WIRE_MAGIC,
	   "accept data of something else");
}

/* Random damage never makes the gate or the readers leave the buffer. */
static void test_fuzz(void)
{
	struct farswap_wire_welcome welcome;
	u64 id[FARSWAP_ACTIVITY_REGIONS];
	unsigned int round, passed = 0;
	size_t len;
	u8 *copy;

	srand(1);
	for (round = 0; round < 300000; round++) {
		len = make(1 + rand() % FARSWAP_MSG_MAX);
		bytes[rand() % len] = rand();
		if (rand() % 2)
			len = rand() % (FARSWAP_MSG_BYTES + 1);
		copy = malloc(len ?: 1);
		memcpy(copy, bytes, len);
		if (!farswap_wire_check(copy, len)) {
			passed++;
			if (farswap_wire_type(copy) == FARSWAP_MSG_WELCOME)
				farswap_wire_read_welcome(copy, &welcome);
			if (farswap_wire_type(copy) == FARSWAP_MSG_CHECK_ACTIVITY)
				farswap_wire_read_check_activity(copy, id);
		}
		free(copy);
	}
	ok(passed > 0, "300000 damaged messages");
}

static void test_names(void)
{
	bool good = true;
	u32 i;

	for (i = 0; i < FARSWAP_WIRE_FAULTS + 2; i++)
		if (!farswap_wire_fault_name(i))
			good = false;
	for (i = 0; i < 12; i++)
		if (!farswap_wire_status_name(i) ||
		    (farswap_wire_status_errno(i) >= 0) != (i == 0))
			good = false;
	ok(good, "every fault and status has a name, every refusal an error");
}

int main(void)
{
	test_build();
	test_length();
	test_short();
	test_fields();
	test_read();
	test_accept();
	test_fuzz();
	test_names();
	return tap_done();
}
