// SPDX-License-Identifier: GPL-2.0
/*
 * Feeds the module's parsers with what a donor, or somebody in its place, might send: messages that
 * are right, damaged, cut or random. Buffers have exactly the message's length, so that the
 * sanitizer finds each access beyond it.
 */
#include <asm/byteorder.h>

#include "protocol/auth.h"
#include "protocol/wire.h"

#include "fuzz.h"

static u8 donor_public[FARSWAP_NOISE_KEY_BYTES];

static void read_message(const void *msg)
{
	u64 regions[FARSWAP_ACTIVITY_REGIONS];
	struct farswap_wire_welcome welcome;
	struct farswap_wire_region region;
	u32 deadline, rkey;
	u64 id;

	switch (farswap_wire_type(msg)) {
	case FARSWAP_MSG_WELCOME:
		farswap_wire_read_welcome(msg, &welcome);
		break;
	case FARSWAP_MSG_MR_INFO:
		farswap_wire_read_region(msg, &region);
		break;
	case FARSWAP_MSG_FREE_MEM:
		farswap_wire_read_free_mem(msg);
		break;
	case FARSWAP_MSG_EVICT:
		farswap_wire_read_evict(msg, &deadline);
		break;
	case FARSWAP_MSG_CHECK_ACTIVITY:
		FUZZ_CHECK(farswap_wire_read_check_activity(msg, regions) <=
			   FARSWAP_ACTIVITY_REGIONS);
		break;
	case FARSWAP_MSG_RESUMED:
		farswap_wire_read_resumed(msg);
		break;
	case FARSWAP_MSG_KEYED:
		farswap_wire_read_keyed(msg, &id, &rkey);
		break;
	}
	farswap_wire_seq(msg);
}

/* Lengths of the messages to the client, as in the documents. */
static size_t length_of(unsigned int type)
{
	static const u16 bytes[FARSWAP_MSG_MAX + 1] = {
		[FARSWAP_MSG_WELCOME] = 72, [FARSWAP_MSG_FREE_MEM] = 32,
		[FARSWAP_MSG_MR_INFO] = 48, [FARSWAP_MSG_EVICT] = 32,
		[FARSWAP_MSG_CHECK_ACTIVITY] = 152, [FARSWAP_MSG_PING] = 16,
		[FARSWAP_MSG_PONG] = 16, [FARSWAP_MSG_RESUMED] = 24, [FARSWAP_MSG_KEYED] = 32,
		[FARSWAP_MSG_AUTHED] = 72,
	};

	return type <= FARSWAP_MSG_MAX ? bytes[type] : 0;
}

static void fuzz_message(void)
{
	static unsigned int accepted;
	unsigned int type = fuzz_below(FARSWAP_MSG_MAX + 3);
	size_t len = length_of(type) ?: 16 + fuzz_below(120), i;
	struct farswap_hdr *msg;

	if (fuzz_once_in(16))
		len = fuzz_below(FARSWAP_MSG_BYTES + 1);
	msg = malloc(len ?: 1);
	memset(msg, 0, len);
	/* Most fields are small numbers or zero. */
	for (i = sizeof(*msg); i < len; i++)
		if (fuzz_once_in(8))
			((u8 *)msg)[i] = fuzz_once_in(2) ? fuzz_below(18) : fuzz_u64();
	if (len >= sizeof(*msg)) {
		msg->magic = cpu_to_le32(FARSWAP_MAGIC);
		msg->version = cpu_to_le16(FARSWAP_VERSION);
		msg->type = cpu_to_le16(fuzz_once_in(20) ? type | FARSWAP_MSG_OPTIONAL : type);
		msg->length = cpu_to_le32(len);
		msg->seq = cpu_to_le32(fuzz_below(8));
	}
	if (fuzz_once_in(4))
		fuzz_damage(msg, len);
	if (farswap_wire_check(msg, len) == FARSWAP_WIRE_OK) {
		accepted++;
		read_message(msg);
	}
	/* Otherwise only the gate is tested. */
	if (!(++fuzz_actions & 0xfffff))
		FUZZ_CHECK(accepted > 0xffff);
	free(msg);
}

static void fuzz_accept(void)
{
	size_t len = fuzz_once_in(4) ? fuzz_below(64) : sizeof(struct farswap_accept);
	struct farswap_wire_answer answer;
	struct farswap_accept *accept = malloc(len ?: 1);

	memset(accept, 0, len);
	if (len >= 8) {
		accept->magic = cpu_to_le32(FARSWAP_MAGIC);
		accept->version = cpu_to_le16(FARSWAP_VERSION - fuzz_once_in(4));
		accept->status = cpu_to_le16(fuzz_below(12));
	}
	if (fuzz_once_in(3))
		fuzz_damage(accept, len);
	farswap_wire_check_accept(accept, len, &answer);
	free(accept);
	fuzz_actions++;
}

/* A donor without the key can't complete the handshake, nor send a sealed message. */
static void fuzz_handshake(void)
{
	u8 ephemeral[FARSWAP_NOISE_KEY_BYTES];
	struct farswap_auth_state auth = { .on = true };
	struct farswap_auth_path path = {};
	struct farswap_connect connect;
	struct farswap_accept accept = {};
	struct farswap_authed authed;
	struct farswap_auth first;
	size_t len;
	u8 *msg;

	fuzz_fill(auth.secret, sizeof(auth.secret));
	memcpy(auth.donor, donor_public, sizeof(auth.donor));
	farswap_wire_connect(&connect, FARSWAP_CONNECT_CONTROL, 0, 0, 1);
	FUZZ_CHECK(!farswap_auth_connect(&auth, &connect, 1));
	accept.features = cpu_to_le32(FARSWAP_FEATURE_SEALED);
	FUZZ_CHECK(!farswap_auth_accepted(&auth, &connect, &accept, &path));
	fuzz_fill(ephemeral, sizeof(ephemeral));
	farswap_wire_auth(&first);
	FUZZ_CHECK(!farswap_auth_first(&auth, ephemeral, &first));
	fuzz_fill(&authed, sizeof(authed));
	FUZZ_CHECK(farswap_auth_second(&auth, &authed));
	for (len = 0; len < 64; len++) {
		size_t opened = len;

		msg = malloc(len ?: 1);
		fuzz_fill(msg, len);
		FUZZ_CHECK(farswap_auth_open(&auth, msg, &opened));
		free(msg);
	}
	farswap_auth_end(&auth);
	fuzz_actions++;
}

static void run(void)
{
	unsigned int i;

	for (i = 0; i < 20000; i++)
		if (fuzz_once_in(8))
			fuzz_accept();
		else
			fuzz_message();
	fuzz_handshake();
}

int main(int argc, char **argv)
{
	static const u8 secret[FARSWAP_NOISE_KEY_BYTES] = { 5 };

	farswap_noise_public(donor_public, secret);
	return fuzz_main(argc, argv, "the module's parsers", run);
}
