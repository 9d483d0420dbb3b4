// SPDX-License-Identifier: GPL-2.0
/*
 * The check of messages: every valid message passes, and every invalid one is refused
 * for the right reason; no input can harm it.
 */
#include "wire.c"

#include <stdlib.h>

#include "tap.h"

#define FUZZ_ROUNDS	300000

static union {
	uint64_t align;
	uint8_t bytes[FARSWAP_MSG_BYTES + 64];
	struct farswap_hdr hdr;
	struct farswap_hello hello;
	struct farswap_welcome welcome;
	struct farswap_free_mem free_mem;
	struct farswap_mr_info mr_info;
	struct farswap_evict evict;
	struct farswap_check_activity check;
	struct farswap_activity activity;
	struct farswap_resume resume;
} msg;

/* Build a valid message of this type, and return its length. */
static size_t make(unsigned int type)
{
	memset(&msg, 0xaa, sizeof(msg));
	wire_init(&msg.hdr, type, 42);
	switch (type) {
	case FARSWAP_MSG_HELLO:
		msg.hello.queues = htole16(4);
		break;
	case FARSWAP_MSG_CHECK_ACTIVITY:
	case FARSWAP_MSG_ACTIVITY:
		msg.check.count = htole32(1);
		break;
	}
	return wire_length(type);
}

static unsigned int direction_of(unsigned int type)
{
	return wire_table[type].direction & WIRE_TO_DONOR ? WIRE_TO_DONOR : WIRE_TO_CLIENT;
}

static enum wire_error check(unsigned int type, size_t len)
{
	return wire_check(&msg, len, direction_of(type));
}

/* For every type: valid, and with every fault that any message can have. */
static void test_header(unsigned int type)
{
	const char *name = wire_type_name(type);
	size_t len = make(type);
	size_t cut;
	bool all = true;

	ok(check(type, len) == WIRE_OK, "%s is right", name);
	for (cut = 0; cut < sizeof(msg.hdr); cut++)
		all &= check(type, cut) == WIRE_SHORT;
	ok(all, "%s shorter than a header", name);
	ok(check(type, len - 1) == (len == 16 ? WIRE_SHORT : WIRE_LENGTH) &&
	   check(type, len + 1) == WIRE_LENGTH, "%s of another length than it says", name);
	ok(check(type, FARSWAP_MSG_BYTES + 1) == WIRE_LONG, "%s longer than any", name);

	make(type);
	msg.hdr.length = htole32(len + 8);
	ok(check(type, len + 8) == WIRE_LONG, "%s that says it is longer", name);
	if (len > sizeof(msg.hdr)) {
		msg.hdr.length = htole32(len - 8);
		ok(check(type, len - 8) == WIRE_SHORT, "%s that says it is shorter", name);
	}
	make(type);
	msg.hdr.magic ^= htole32(1);
	ok(check(type, len) == WIRE_MAGIC, "%s of a wrong magic number", name);
	make(type);
	msg.hdr.version = htole16(FARSWAP_VERSION + 1);
	ok(check(type, len) == WIRE_VERSION, "%s of another version", name);
	make(type);
	if (wire_table[type].direction != (WIRE_TO_DONOR | WIRE_TO_CLIENT))
		ok(wire_check(&msg, len, direction_of(type) ^ 3) == WIRE_DIRECTION,
		   "%s to the wrong side", name);
}

static void test_type(void)
{
	static const unsigned int types[] = { 0, FARSWAP_MSG_MAX + 1, 255, 0x7fff };
	bool all = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		make(FARSWAP_MSG_PING);
		msg.hdr.type = htole16(types[i]);
		all &= wire_check(&msg, 16, WIRE_TO_DONOR) == WIRE_TYPE;
	}
	ok(all, "unknown types");
}

/* A bit set at @offset is refused as reserved. */
static void reserved(unsigned int type, size_t offset, const char *what)
{
	size_t len = make(type);

	msg.bytes[offset] = 0x80;
	ok(check(type, len) == WIRE_RESERVED, "%s: %s", wire_type_name(type), what);
}

static void test_reserved(void)
{
	size_t len;

	reserved(FARSWAP_MSG_HELLO, 64, "auth");
	reserved(FARSWAP_MSG_HELLO, 95, "last byte of auth");
	reserved(FARSWAP_MSG_FREE_MEM, 28, "first reserved byte");
	reserved(FARSWAP_MSG_FREE_MEM, 31, "last reserved byte");
	reserved(FARSWAP_MSG_EVICT, 28, "first reserved byte");
	reserved(FARSWAP_MSG_EVICT, 31, "last reserved byte");
	reserved(FARSWAP_MSG_CHECK_ACTIVITY, 20, "reserved byte");
	reserved(FARSWAP_MSG_CHECK_ACTIVITY, 32, "a region past count");
	reserved(FARSWAP_MSG_CHECK_ACTIVITY, 151, "the last byte past count");
	reserved(FARSWAP_MSG_ACTIVITY, 20, "reserved byte");
	reserved(FARSWAP_MSG_ACTIVITY, 36, "reserved byte of an entry");
	reserved(FARSWAP_MSG_ACTIVITY, 40, "an entry past count");
	reserved(FARSWAP_MSG_ACTIVITY, 279, "the last byte past count");
	reserved(FARSWAP_MSG_RESUME, 32, "a region past count");
	reserved(FARSWAP_MSG_RESUME, 487, "the last byte past count");

	len = make(FARSWAP_MSG_KEYED);
	msg.bytes[20] = 1;
	ok(check(FARSWAP_MSG_KEYED, len) == WIRE_OK, "KEYED: OK with a key");
	msg.bytes[16] = 1;
	ok(check(FARSWAP_MSG_KEYED, len) == WIRE_RESERVED, "KEYED: gone with a key");
	len = make(FARSWAP_MSG_MR_INFO);
	msg.mr_info.rkey = htole32(1);
	ok(check(FARSWAP_MSG_MR_INFO, len) == WIRE_OK, "MR_INFO: OK with a key");
	msg.mr_info.status = htole32(FARSWAP_STATUS_NO_MEMORY);
	ok(check(FARSWAP_MSG_MR_INFO, len) == WIRE_RESERVED, "MR_INFO: refused, with a key");

	len = make(FARSWAP_MSG_MR_INFO);
	msg.mr_info.status = htole32(FARSWAP_STATUS_SELF);
	ok(check(FARSWAP_MSG_MR_INFO, len) == WIRE_RANGE,
	   "MR_INFO: a status that is WELCOME's alone");

	len = make(FARSWAP_MSG_WELCOME);
	msg.welcome.status = htole32(FARSWAP_STATUS_SELF);
	ok(check(FARSWAP_MSG_WELCOME, len) == WIRE_OK, "WELCOME: the client is this machine");

	len = make(FARSWAP_MSG_WELCOME);
	msg.welcome.resumed = htole16(1);
	ok(check(FARSWAP_MSG_WELCOME, len) == WIRE_OK, "WELCOME: resumed");
	msg.welcome.status = htole32(FARSWAP_STATUS_LEAVING);
	ok(check(FARSWAP_MSG_WELCOME, len) == WIRE_RESERVED, "WELCOME: refused and resumed");

	len = make(FARSWAP_MSG_HELLO);
	msg.hello.grace_ms = htole32(~0U);
	msg.hello.resume = htole64(~0ULL);
	ok(check(FARSWAP_MSG_HELLO, len) == WIRE_OK, "HELLO: any grace, any session to resume");
	len = make(FARSWAP_MSG_HELLO);
	msg.hello.auth_kind = htole16(1);
	ok(check(FARSWAP_MSG_HELLO, len) == WIRE_OK, "HELLO: another auth_kind");
}

static void test_range(void)
{
	static const unsigned int types[] = { FARSWAP_MSG_CHECK_ACTIVITY, FARSWAP_MSG_ACTIVITY };
	static const uint32_t counts[] = { 0, FARSWAP_ACTIVITY_REGIONS + 1, 0x80000000, ~0U };
	size_t i, j, len;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		len = make(types[i]);
		for (j = 0; j < ARRAY_SIZE(counts); j++) {
			msg.check.count = htole32(counts[j]);
			ok(check(types[i], len) == WIRE_RANGE, "%s: count %u",
			   wire_type_name(types[i]), counts[j]);
		}
		msg.check.count = htole32(FARSWAP_ACTIVITY_REGIONS);
		msg.bytes[len - 8] = 1;
		ok(check(types[i], len) == WIRE_OK, "%s: full", wire_type_name(types[i]));
	}
	len = make(FARSWAP_MSG_HELLO);
	msg.hello.queues = 0;
	ok(check(FARSWAP_MSG_HELLO, len) == WIRE_RANGE, "HELLO: no queues");
	len = make(FARSWAP_MSG_WELCOME);
	msg.welcome.resumed = htole16(2);
	ok(check(FARSWAP_MSG_WELCOME, len) == WIRE_OK, "WELCOME: resumed with new keys");
	msg.welcome.resumed = htole16(3);
	ok(check(FARSWAP_MSG_WELCOME, len) == WIRE_RANGE, "WELCOME: resumed is 0, 1 or 2");
	msg.welcome.resumed = 0;
	msg.welcome.answers = htole64(1);
	ok(check(FARSWAP_MSG_WELCOME, len) == WIRE_RANGE, "WELCOME: answers, but not resumed");
}

/* The last may have any number of regions, the others must be full. */
static void test_resume(void)
{
	size_t len = make(FARSWAP_MSG_RESUME);

	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_OK, "RESUME: of no region");
	msg.resume.more = htole32(1);
	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_RANGE, "RESUME: of no region, and more");
	memset(msg.resume.region, 0x55, sizeof(msg.resume.region));
	msg.resume.count = htole32(FARSWAP_RESUME_REGIONS - 1);
	msg.resume.region[FARSWAP_RESUME_REGIONS - 1] = 0;
	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_RANGE, "RESUME: not full, and more");
	msg.resume.more = 0;
	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_OK, "RESUME: not full, the last");
	msg.resume.count = htole32(FARSWAP_RESUME_REGIONS);
	msg.resume.region[FARSWAP_RESUME_REGIONS - 1] = 1;
	msg.resume.more = htole32(1);
	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_OK, "RESUME: full, and more");
	msg.resume.more = htole32(2);
	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_RANGE, "RESUME: more is 0 or 1");
	msg.resume.more = 0;
	msg.resume.count = htole32(FARSWAP_RESUME_REGIONS + 1);
	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_RANGE, "RESUME: too many");
	msg.resume.count = htole32(~0U);
	ok(check(FARSWAP_MSG_RESUME, len) == WIRE_RANGE, "RESUME: far too many");
}

static void test_connect(void)
{
	union {
		struct farswap_connect connect;
		uint8_t bytes[64];
	} data = { 0 };

	wire_init_connect(&data.connect, FARSWAP_CONNECT_CONTROL, 0, 0);
	ok(wire_check_connect(&data, 56) == WIRE_OK, "connect request");
	ok(wire_check_connect(&data, 64) == WIRE_OK, "connect request, padded by the CM");
	ok(wire_check_connect(&data, 55) == WIRE_SHORT, "connect request, short");
	ok(wire_check_connect(&data, 23) == WIRE_SHORT, "connect request, shorter than any version's");
	ok(wire_check_connect(NULL, 0) == WIRE_SHORT, "connect request without data");
	data.connect.session = htole64(1);
	ok(wire_check_connect(&data, 56) == WIRE_OK, "control connection that resumes a session");
	data.connect.queue = htole16(1);
	ok(wire_check_connect(&data, 56) == WIRE_RESERVED, "control connection with a queue");
	wire_init_connect(&data.connect, FARSWAP_CONNECT_DATA, 7, FARSWAP_QUEUES_MAX - 1);
	ok(wire_check_connect(&data, 56) == WIRE_OK, "data connection");
	wire_init_connect(&data.connect, FARSWAP_CONNECT_DATA, 7, FARSWAP_QUEUES_MAX);
	ok(wire_check_connect(&data, 56) == WIRE_RANGE, "data connection, queue out of range");
	wire_init_connect(&data.connect, 3, 7, 0);
	ok(wire_check_connect(&data, 56) == WIRE_TYPE, "connection of unknown kind");

	wire_init_connect(&data.connect, FARSWAP_CONNECT_CONTROL, 0, 0);
	data.connect.features = htole32(0x80000000);
	ok(wire_check_connect(&data, 56) == WIRE_OK, "an unknown feature");
	data.connect.key_id[7] = 1;
	ok(wire_check_connect(&data, 56) == WIRE_RESERVED, "a key in a request that is not sealed");
	data.connect.key_id[7] = 0;
	data.connect.mac[15] = 1;
	ok(wire_check_connect(&data, 56) == WIRE_RESERVED, "a MAC in a request that is not sealed");
	data.connect.features = htole32(FARSWAP_FEATURE_SEALED);
	ok(wire_check_connect(&data, 56) == WIRE_OK, "a MAC in one that is");
	data.connect.reserved[3] = 1;
	ok(wire_check_connect(&data, 56) == WIRE_RESERVED, "connect request, reserved byte");

	data.connect.version = htole16(FARSWAP_VERSION + 3);
	data.connect.oldest = htole16(FARSWAP_VERSION);
	data.connect.reserved[3] = 0;
	ok(wire_check_connect(&data, 56) == WIRE_OK, "a later version that speaks this one");
	data.connect.oldest = htole16(FARSWAP_VERSION + 1);
	ok(wire_check_connect(&data, 56) == WIRE_VERSION, "a later version that does not");
	data.connect.version = htole16(FARSWAP_VERSION);
	ok(wire_check_connect(&data, 56) == WIRE_VERSION, "a range that is none");
	data.connect.version = htole16(FARSWAP_VERSION_OLDEST - 1);
	data.connect.oldest = 0;
	ok(wire_check_connect(&data, FARSWAP_CONNECT_BYTES_OLD) == WIRE_VERSION,
	   "an earlier version, whose request is shorter");
	data.connect.reserved[3] = 1;
	ok(wire_check_connect(&data, 56) == WIRE_VERSION, "the version is looked at first");
	data.connect.magic = 0;
	ok(wire_check_connect(&data, 56) == WIRE_MAGIC, "but the magic before it");
}

static void test_accept(void)
{
	struct farswap_accept accept;

	wire_init_accept(&accept, FARSWAP_STATUS_BUSY);
	ok(wire_check_accept(&accept, sizeof(accept)) == WIRE_OK &&
	   le16toh(accept.status) == FARSWAP_STATUS_BUSY, "accept");
	ok(wire_check_accept(&accept, 31) == WIRE_SHORT, "accept, short");
	ok(wire_check_accept(&accept, 15) == WIRE_SHORT, "accept, shorter than any version's");
	accept.status = htole16(FARSWAP_STATUS_SELF);
	ok(wire_check_accept(&accept, sizeof(accept)) == WIRE_RANGE,
	   "accept, with a status that is WELCOME's alone");
	accept.reserved[3] = 1;
	ok(wire_check_accept(&accept, sizeof(accept)) == WIRE_RESERVED, "accept, reserved byte");
	accept.version = htole16(5);
	ok(wire_check_accept(&accept, 16) == WIRE_OK, "reject by an earlier version");
	accept.magic = 0;
	ok(wire_check_accept(&accept, sizeof(accept)) == WIRE_MAGIC, "accept, magic");
}

/* Later versions may add messages that this one ignores. */
static void test_optional(void)
{
	make(FARSWAP_MSG_RESUME);
	msg.hdr.type = htole16(FARSWAP_MSG_OPTIONAL | FARSWAP_MSG_HELLO);
	msg.hdr.length = htole32(40);
	ok(wire_check(&msg, 40, WIRE_TO_DONOR) == WIRE_IGNORE &&
	   wire_check(&msg, 40, WIRE_TO_CLIENT) == WIRE_IGNORE, "an unknown optional message");
	ok(wire_check(&msg, 41, WIRE_TO_DONOR) == WIRE_LENGTH, "of another length than it says");
	ok(wire_check(&msg, 15, WIRE_TO_DONOR) == WIRE_SHORT, "shorter than a header");
	msg.hdr.type = htole16(0x4000);
	ok(wire_check(&msg, 40, WIRE_TO_DONOR) == WIRE_TYPE, "one that is not optional");
}

static void test_names(void)
{
	bool all = true;
	int i;

	for (i = 0; i < WIRE_ERRORS + 2; i++)
		all &= wire_error_name(i) != NULL;
	for (i = 0; i < FARSWAP_MSG_MAX + 3; i++)
		all &= wire_type_name(i) != NULL && wire_status_name(i) != NULL;
	ok(all, "everything has a name");
}

/* Xorshift, so that the bytes are the same everywhere. */
static uint64_t fuzz_state = 88172645463325252ULL;

static uint64_t fuzz_next(void)
{
	fuzz_state ^= fuzz_state << 13;
	fuzz_state ^= fuzz_state >> 7;
	fuzz_state ^= fuzz_state << 17;
	return fuzz_state;
}

/* In memory of exactly that length, so that the sanitizer finds any access beyond it. */
static enum wire_error fuzz_one(size_t len, unsigned int direction)
{
	void *copy = malloc(len ? len : 1);
	enum wire_error error;

	memcpy(copy, &msg, len);
	error = wire_check(copy, len, direction);
	wire_check_connect(copy, len);
	wire_check_accept(copy, len);
	free(copy);
	return error;
}

static void test_fuzz(void)
{
	unsigned int seen[WIRE_ERRORS] = { 0 }, i, type, missing = 0;
	size_t len, at;
	bool sane = true;

	for (i = 0; i < FUZZ_ROUNDS; i++) {
		type = 1 + fuzz_next() % FARSWAP_MSG_MAX;
		len = make(type);
		if (i % 3 == 0) {
			for (at = 0; at < sizeof(msg); at += 8)
				memcpy(&msg.bytes[at], (uint64_t[]){ fuzz_next() }, 8);
			len = fuzz_next() % sizeof(msg);
		} else if (i % 3 == 1) {
			for (at = fuzz_next() % 4; at; at--)
				msg.bytes[fuzz_next() % len] = fuzz_next();
		} else {
			len = fuzz_next() % sizeof(msg);
			msg.hdr.length = htole32(len);
		}
		enum wire_error error = fuzz_one(len, 1 + fuzz_next() % 2);

		sane &= error < WIRE_ERRORS;
		/* A message that passes has the length of its type. */
		if (error == WIRE_OK)
			sane &= wire_length(le16toh(msg.hdr.type)) == len;
		seen[error]++;
	}
	for (i = 0; i < WIRE_ERRORS; i++)
		missing += !seen[i];
	ok(sane, "random bytes: what passes is of its type's length");
	ok(!missing, "random bytes: every verdict was seen");
}

int main(void)
{
	unsigned int type;

	for (type = 1; type <= FARSWAP_MSG_MAX; type++)
		test_header(type);
	test_type();
	test_reserved();
	test_range();
	test_resume();
	test_connect();
	test_accept();
	test_optional();
	test_names();
	test_fuzz();
	return tap_done();
}
