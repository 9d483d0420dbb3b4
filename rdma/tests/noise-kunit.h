/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The handshake against public numbers, and every way to spoil it. The host runs this suite with
 * the primitives of farswapd, and a kernel with those of the module.
 */
#include <kunit/test.h>

#include "noise-vectors.h"

#define TRANSCRIPTS	16

/* A pair of handshakes, and what both sides know. */
static struct {
	u8 prologue[FARSWAP_NOISE_INPUT_MAX];
	size_t prologue_len;
	u8 psk[KEY], client_secret[KEY], donor_secret[KEY], donor_public[KEY];
	u8 client_ephemeral[KEY], donor_ephemeral[KEY];
	u8 payload[2][FARSWAP_NOISE_PAYLOAD_MAX];
	size_t payload_len[2];
	u8 message[2][FARSWAP_NOISE_FIRST_BYTES + FARSWAP_NOISE_PAYLOAD_MAX + 1];
	size_t len[2];
	u8 out[FARSWAP_NOISE_PAYLOAD_MAX];
	struct farswap_noise client, donor;
	struct farswap_noise_keys client_keys, donor_keys;
} pair;

/* Decode hexadecimal digits, and return how many bytes they are. */
static size_t noise_hex(void *to, const char *hex)
{
	u8 *out = to;
	size_t len;

	for (len = 0; hex[2 * len]; len++) {
		u8 high = hex[2 * len], low = hex[2 * len + 1];

		high = high > '9' ? high - 'a' + 10 : high - '0';
		low = low > '9' ? low - 'a' + 10 : low - '0';
		out[len] = high << 4 | low;
	}
	return len;
}

static bool noise_is(const void *data, size_t len, const char *hex)
{
	u8 right[256];

	return noise_hex(right, hex) == len && !memcmp(data, right, len);
}

static bool noise_is_message(const u8 *data, size_t len, unsigned int number)
{
	const char *const *part = noise_vector.message[number].sealed;
	u8 right[128];
	size_t at = 0;
	int i;

	for (i = 0; i < 4 && part[i]; i++)
		at += noise_hex(right + at, part[i]);
	return at == len && !memcmp(data, right, len);
}

static bool noise_is_zero(const void *data, size_t len)
{
	const u8 *byte = data;

	while (len--)
		if (*byte++)
			return false;
	return true;
}

static void pair_from_vector(void)
{
	memset(&pair, 0, sizeof(pair));
	pair.prologue_len = noise_hex(pair.prologue, noise_vector.prologue);
	noise_hex(pair.psk, noise_vector.psk);
	noise_hex(pair.client_secret, noise_vector.client);
	noise_hex(pair.donor_secret, noise_vector.donor);
	noise_hex(pair.donor_public, noise_vector.donor_public);
	noise_hex(pair.client_ephemeral, noise_vector.client_ephemeral);
	noise_hex(pair.donor_ephemeral, noise_vector.donor_ephemeral);
	pair.payload_len[0] = noise_hex(pair.payload[0], noise_vector.message[0].payload);
	pair.payload_len[1] = noise_hex(pair.payload[1], noise_vector.message[1].payload);
}

static int pair_write_first(void)
{
	int err;

	err = farswap_noise_begin_client(&pair.client, pair.prologue, pair.prologue_len,
					 pair.client_secret, pair.donor_public);
	if (err)
		return err;
	pair.len[0] = FARSWAP_NOISE_FIRST_BYTES + pair.payload_len[0];
	return farswap_noise_write_first(&pair.client, pair.client_ephemeral, pair.payload[0],
					 pair.payload_len[0], pair.message[0]);
}

static int pair_read_first(void)
{
	int err;

	err = farswap_noise_begin_donor(&pair.donor, pair.prologue, pair.prologue_len,
					pair.donor_secret);
	return err ? err : farswap_noise_read_first(&pair.donor, pair.message[0], pair.len[0],
						    pair.out);
}

static int pair_write_second(void)
{
	pair.len[1] = FARSWAP_NOISE_SECOND_BYTES + pair.payload_len[1];
	return farswap_noise_write_second(&pair.donor, pair.donor_ephemeral, pair.psk,
					  pair.payload[1], pair.payload_len[1], pair.message[1]);
}

static int pair_read_second(void)
{
	return farswap_noise_read_second(&pair.client, pair.psk, pair.message[1], pair.len[1],
					 pair.out);
}

/* The whole handshake, from what the pair has. */
static int pair_shake(void)
{
	int err = pair_write_first();

	if (!err)
		err = pair_read_first();
	if (!err)
		err = pair_write_second();
	if (!err)
		err = pair_read_second();
	if (!err)
		err = farswap_noise_split(&pair.client, &pair.client_keys);
	return err ? err : farswap_noise_split(&pair.donor, &pair.donor_keys);
}

/* The public vector, byte by byte: both messages, the hash, and four sealed messages. */
static void noise_test_vector(struct kunit *test)
{
	u8 body[64], public[KEY];
	int i;

	pair_from_vector();
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_noise_public(public, pair.donor_secret) &&
			      noise_is(public, KEY, noise_vector.donor_public), "public key");
	KUNIT_EXPECT_EQ(test, pair_write_first(), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is_message(pair.message[0], pair.len[0], 0),
			      "first message");
	KUNIT_EXPECT_EQ(test, pair_read_first(), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is(pair.out, pair.payload_len[0],
					     noise_vector.message[0].payload), "first payload");
	farswap_noise_public(public, pair.client_secret);
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(pair.donor.peer, public, KEY),
			      "the donor learns the client's public key");
	KUNIT_EXPECT_EQ(test, pair_write_second(), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is_message(pair.message[1], pair.len[1], 1),
			      "second message");
	KUNIT_EXPECT_EQ(test, pair_read_second(), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is(pair.out, pair.payload_len[1],
					     noise_vector.message[1].payload), "second payload");
	KUNIT_EXPECT_EQ(test, farswap_noise_split(&pair.client, &pair.client_keys), 0);
	KUNIT_EXPECT_EQ(test, farswap_noise_split(&pair.donor, &pair.donor_keys), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is(pair.client_keys.hash, HASH, noise_vector.hash) &&
			      noise_is(pair.donor_keys.hash, HASH, noise_vector.hash), "hash");
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(pair.client_keys.bind, pair.donor_keys.bind, KEY) &&
			      !noise_is_zero(pair.client_keys.bind, KEY), "binding key");
	for (i = 2; i < 6; i++) {
		struct farswap_noise_keys *from = i % 2 ? &pair.donor_keys : &pair.client_keys;
		struct farswap_noise_keys *to = i % 2 ? &pair.client_keys : &pair.donor_keys;
		size_t len = noise_hex(body, noise_vector.message[i].payload);

		KUNIT_EXPECT_EQ(test, farswap_noise_seal(&from->send, NULL, 0, body, len), 0);
		KUNIT_EXPECT_TRUE_MSG(test, noise_is_message(body, len + TAG, i),
				      "sealed message %d", i);
		KUNIT_EXPECT_EQ(test, farswap_noise_open(&to->receive, NULL, 0, body, len + TAG),
				0);
		KUNIT_EXPECT_TRUE_MSG(test, noise_is(body, len, noise_vector.message[i].payload),
				      "opened message %d", i);
	}
}

static void transcript_seed(u8 *out, u8 round, u8 number)
{
	u8 input[] = "farswap noise ??";

	input[14] = round;
	input[15] = number;
	farswap_noise_crypto_hash(out, input, 16);
}

static void transcript_add(u8 *digest, const void *data, size_t len)
{
	u8 input[HASH + 512];

	memcpy(input, digest, HASH);
	memcpy(input + HASH, data, len);
	farswap_noise_crypto_hash(digest, input, HASH + len);
}

/* Many handshakes, and sealed messages of many lengths: both back ends come to one digest. */
static void noise_test_transcripts(struct kunit *test)
{
	u8 digest[HASH] = {}, body[480], header[16];
	unsigned int round, i;
	int err = 0;

	for (round = 0; round < TRANSCRIPTS && !err; round++) {
		memset(&pair, 0, sizeof(pair));
		transcript_seed(pair.client_secret, round, 0);
		transcript_seed(pair.donor_secret, round, 1);
		transcript_seed(pair.client_ephemeral, round, 2);
		transcript_seed(pair.donor_ephemeral, round, 3);
		transcript_seed(pair.psk, round, 4);
		farswap_noise_public(pair.donor_public, pair.donor_secret);
		pair.prologue_len = round * 16;
		for (i = 0; i < pair.prologue_len; i++)
			pair.prologue[i] = round ^ i;
		pair.payload_len[0] = round * 4;
		pair.payload_len[1] = 64 - round * 4;
		memset(pair.payload[0], round, pair.payload_len[0]);
		memset(pair.payload[1], ~round, pair.payload_len[1]);
		err = pair_shake();
		transcript_add(digest, pair.message[0], pair.len[0]);
		transcript_add(digest, pair.message[1], pair.len[1]);
		transcript_add(digest, pair.client_keys.hash, HASH);
		transcript_add(digest, pair.client_keys.bind, KEY);
		for (i = 0; i < 4 && !err; i++) {
			size_t len = round * 29 + i;

			memset(header, i, sizeof(header));
			memset(body, round + i, len);
			err = farswap_noise_seal(i % 2 ? &pair.donor_keys.send :
						 &pair.client_keys.send, header, 16, body, len);
			transcript_add(digest, body, len + TAG);
			if (!err)
				err = farswap_noise_open(i % 2 ? &pair.client_keys.receive :
							 &pair.donor_keys.receive, header, 16,
							 body, len + TAG);
		}
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is(digest, HASH, noise_transcripts),
			      "digest of the transcripts");
}

/* Each bit of both messages counts, and so does each byte of their lengths. */
static void noise_test_altered(struct kunit *test)
{
	unsigned int bit, accepted = 0, alive = 0;
	size_t len;

	pair_from_vector();
	pair_write_first();
	/* Both sides ignore the highest bit of a point, but the hash does not. */
	for (bit = 0; bit < 8 * pair.len[0]; bit += bit % 8 == 7 ? 1 : 7) {
		pair.message[0][bit / 8] ^= 1 << bit % 8;
		accepted += !pair_read_first();
		alive += !noise_is_zero(&pair.donor, sizeof(pair.donor));
		pair.message[0][bit / 8] ^= 1 << bit % 8;
	}
	KUNIT_EXPECT_TRUE_MSG(test, !accepted && !alive, "an altered bit of the first message");
	len = pair.len[0];
	for (pair.len[0] = 0; pair.len[0] < FARSWAP_NOISE_FIRST_BYTES; pair.len[0]++)
		accepted += pair_read_first() != -EMSGSIZE;
	for (; pair.len[0] < len; pair.len[0]++)
		accepted += pair_read_first() != -EBADMSG;
	pair.len[0] = len + 1;
	accepted += pair_read_first() != -EBADMSG;
	pair.len[0] = sizeof(pair.message[0]);
	accepted += pair_read_first() != -EMSGSIZE;
	KUNIT_EXPECT_TRUE_MSG(test, !accepted, "a first message of another length");

	pair.len[0] = len;
	pair_read_first();
	pair_write_second();
	for (bit = 0; bit < 8 * pair.len[1]; bit += bit % 8 == 7 ? 1 : 7) {
		pair_write_first();
		pair.message[1][bit / 8] ^= 1 << bit % 8;
		accepted += !pair_read_second();
		alive += !noise_is_zero(&pair.client, sizeof(pair.client));
		pair.message[1][bit / 8] ^= 1 << bit % 8;
	}
	KUNIT_EXPECT_TRUE_MSG(test, !accepted && !alive, "an altered bit of the second message");
	len = pair.len[1];
	for (pair.len[1] = 0; pair.len[1] < len; pair.len[1]++) {
		pair_write_first();
		accepted += pair_read_second() !=
			    (pair.len[1] < FARSWAP_NOISE_SECOND_BYTES ? -EMSGSIZE : -EBADMSG);
	}
	pair_write_first();
	pair.len[1] = len + 1;
	accepted += pair_read_second() != -EBADMSG;
	KUNIT_EXPECT_TRUE_MSG(test, !accepted, "a second message of another length");
	pair_write_first();
	pair.len[1] = len;
	KUNIT_EXPECT_EQ(test, pair_read_second(), 0);
}

/* Whoever knows all but one of what both sides must know is refused. */
static void noise_test_wrong(struct kunit *test)
{
	pair_from_vector();
	pair.donor_public[3] ^= 1;
	pair_write_first();
	KUNIT_EXPECT_TRUE_MSG(test, pair_read_first() == -EBADMSG, "wrong key of the donor");

	pair_from_vector();
	pair_write_first();
	pair.prologue[2] ^= 1;
	KUNIT_EXPECT_TRUE_MSG(test, pair_read_first() == -EBADMSG, "wrong prologue");
	pair.prologue[2] ^= 1;
	pair.prologue_len--;
	KUNIT_EXPECT_TRUE_MSG(test, pair_read_first() == -EBADMSG, "short prologue");
	pair.prologue_len = FARSWAP_NOISE_INPUT_MAX + 1;
	KUNIT_EXPECT_TRUE_MSG(test, pair_read_first() == -EINVAL, "prologue too long");

	pair_from_vector();
	pair_write_first();
	pair_read_first();
	pair_write_second();
	pair.psk[31] ^= 0x80;
	KUNIT_EXPECT_TRUE_MSG(test, pair_read_second() == -EBADMSG, "wrong psk");

	/* A donor that answers another client's message, or an old one of this client. */
	pair_from_vector();
	pair_write_first();
	pair_read_first();
	pair_write_second();
	pair.client_ephemeral[5] ^= 1;
	pair_write_first();
	KUNIT_EXPECT_TRUE_MSG(test, pair_read_second() == -EBADMSG, "repeated second message");
}

/* A repeated first message is answered, but what was sealed after it is not accepted again. */
static void noise_test_replay(struct kunit *test)
{
	u8 body[TAG + 4] = "old";
	struct farswap_noise old;

	pair_from_vector();
	KUNIT_EXPECT_EQ(test, pair_shake(), 0);
	KUNIT_EXPECT_EQ(test, farswap_noise_seal(&pair.client_keys.send, NULL, 0, body, 4), 0);
	KUNIT_EXPECT_EQ(test, pair_read_first(), 0);
	pair.donor_ephemeral[7] ^= 1;
	KUNIT_EXPECT_EQ(test, pair_write_second(), 0);
	KUNIT_EXPECT_EQ(test, farswap_noise_split(&pair.donor, &pair.donor_keys), 0);
	KUNIT_EXPECT_EQ(test, farswap_noise_open(&pair.donor_keys.receive, NULL, 0, body,
						 sizeof(body)), -EBADMSG);
	/* Within one handshake, each message is read once. */
	pair_from_vector();
	pair_write_first();
	pair_read_first();
	old = pair.donor;
	KUNIT_EXPECT_EQ(test, farswap_noise_read_first(&pair.donor, pair.message[0], pair.len[0],
						       pair.out), -EINVAL);
	KUNIT_EXPECT_EQ(test, pair_write_second(), -EINVAL);
	pair.donor = old;
	KUNIT_EXPECT_EQ(test, pair_write_second(), 0);
	KUNIT_EXPECT_EQ(test, pair_write_second(), -EINVAL);
}

/* Points that make every shared secret zero are refused, for what they are. */
static void noise_test_low_order(struct kunit *test)
{
	unsigned int i, refused = 0;
	u8 shared[KEY];

	for (i = 0; i < ARRAY_SIZE(noise_low_order); i++) {
		u8 point[KEY];

		noise_hex(point, noise_low_order[i]);
		pair_from_vector();
		refused += farswap_noise_crypto_dh(shared, pair.client_secret, point) ==
			   -EKEYREJECTED;
		memcpy(pair.donor_public, point, KEY);
		refused += pair_write_first() == -EKEYREJECTED;
		pair_from_vector();
		pair_write_first();
		memcpy(pair.message[0], point, KEY);
		refused += pair_read_first() == -EKEYREJECTED;
		pair_write_first();
		memcpy(pair.message[1], point, KEY);
		pair.len[1] = FARSWAP_NOISE_SECOND_BYTES;
		refused += pair_read_second() == -EKEYREJECTED;
	}
	KUNIT_EXPECT_EQ(test, refused, 4 * i);
}

/* A handshake goes one way, and what is over leaves no secret in memory. */
static void noise_test_steps(struct kunit *test)
{
	const struct farswap_noise_keys none = { .send.dead = 1, .receive.dead = 1 };

	pair_from_vector();
	pair_write_first();
	KUNIT_EXPECT_EQ(test, farswap_noise_split(&pair.client, &pair.client_keys), -EINVAL);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is_zero(&pair.client, sizeof(pair.client)),
			      "a handshake out of step is wiped");
	KUNIT_EXPECT_EQ(test, farswap_noise_seal(&pair.client_keys.send, NULL, 0, pair.out, 1),
			-EKEYREJECTED);
	pair_write_first();
	KUNIT_EXPECT_EQ(test, farswap_noise_read_first(&pair.client, pair.message[0], pair.len[0],
						       pair.out), -EINVAL);
	farswap_noise_begin_donor(&pair.donor, pair.prologue, pair.prologue_len,
				  pair.donor_secret);
	KUNIT_EXPECT_EQ(test, pair_write_second(), -EINVAL);
	pair_from_vector();
	pair.payload_len[0] = FARSWAP_NOISE_PAYLOAD_MAX + 1;
	KUNIT_EXPECT_EQ(test, pair_write_first(), -EINVAL);
	pair_from_vector();
	KUNIT_EXPECT_EQ(test, pair_shake(), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is_zero(&pair.client, sizeof(pair.client)) &&
			      noise_is_zero(&pair.donor, sizeof(pair.donor)),
			      "a finished handshake is wiped");
	farswap_noise_keys_end(&pair.client_keys);
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(&pair.client_keys, &none, sizeof(none)),
			      "the keys are wiped");
}

/* Seal a message from the client with this body. */
static size_t noise_seal_one(u8 *message, u8 byte)
{
	memset(message, byte, 24);
	farswap_noise_seal(&pair.client_keys.send, message, 16, message + 16, 8);
	return 24 + TAG;
}

static int noise_open_one(u8 *message, size_t len)
{
	return farswap_noise_open(&pair.donor_keys.receive, message, 16, message + 16, len - 16);
}

/* A sealed message is opened once, in its turn, and unaltered; nothing is opened after another. */
static void noise_test_sealed(struct kunit *test)
{
	u8 first[40], second[40], altered[40];
	unsigned int bit, accepted = 0, revived = 0;
	struct farswap_noise_keys keys;
	size_t len;

	pair_from_vector();
	pair_shake();
	len = noise_seal_one(first, 'a');
	noise_seal_one(second, 'b');
	keys = pair.donor_keys;
	for (bit = 0; bit < 8 * len; bit++) {
		pair.donor_keys = keys;
		memcpy(altered, first, len);
		altered[bit / 8] ^= 1 << bit % 8;
		accepted += !noise_open_one(altered, len);
		memcpy(altered, second, len);
		revived += !noise_open_one(altered, len);
	}
	KUNIT_EXPECT_TRUE_MSG(test, !accepted, "an altered bit, in clear or sealed");
	KUNIT_EXPECT_TRUE_MSG(test, !revived, "a right message after a wrong one");
	for (bit = 16; bit < len; bit++) {
		pair.donor_keys = keys;
		memcpy(altered, first, len);
		accepted += !noise_open_one(altered, bit);
	}
	KUNIT_EXPECT_TRUE_MSG(test, !accepted, "a shorter message");
	pair.donor_keys = keys;
	memcpy(altered, second, len);
	KUNIT_EXPECT_TRUE_MSG(test, noise_open_one(altered, len) == -EBADMSG,
			      "a reordered message");
	pair.donor_keys = keys;
	memcpy(altered, first, len);
	KUNIT_EXPECT_EQ(test, noise_open_one(altered, len), 0);
	KUNIT_EXPECT_TRUE_MSG(test, altered[16] == 'a' && altered[23] == 'a', "the right message");
	memcpy(altered, first, len);
	KUNIT_EXPECT_TRUE_MSG(test, noise_open_one(altered, len) == -EBADMSG, "a repeated message");
	pair.donor_keys = keys;
	memcpy(altered, first, len);
	noise_open_one(altered, len);
	KUNIT_EXPECT_EQ(test, noise_open_one(second, len), 0);

	/* A message sent back to its sender. */
	noise_seal_one(first, 'c');
	KUNIT_EXPECT_EQ(test, farswap_noise_open(&pair.client_keys.receive, first, 16, first + 16,
						 len - 16), -EBADMSG);
	pair.client_keys.send.nonce = ~0ULL - 1;
	KUNIT_EXPECT_EQ(test, farswap_noise_seal(&pair.client_keys.send, NULL, 0, first, 8), 0);
	KUNIT_EXPECT_EQ(test, farswap_noise_seal(&pair.client_keys.send, NULL, 0, first, 8),
			-EKEYREJECTED);
}

static void noise_test_mac(struct kunit *test)
{
	u8 key[KEY], data[FARSWAP_NOISE_INPUT_MAX + 1] = {}, mac[FARSWAP_NOISE_MAC_BYTES];
	unsigned int i, bit, accepted = 0;
	size_t len;

	for (i = 0; i < 2; i++) {
		noise_hex(key, noise_mac_vector[i][0]);
		len = noise_hex(data, noise_mac_vector[i][1]);
		KUNIT_EXPECT_EQ(test, farswap_noise_mac(mac, key, data, len), 0);
		KUNIT_EXPECT_TRUE_MSG(test, noise_is(mac, sizeof(mac), noise_mac_vector[i][2]),
				      "case %u of RFC 4231", i + 1);
		KUNIT_EXPECT_EQ(test, farswap_noise_mac_check(mac, key, data, len), 0);
		for (bit = 0; bit < 8 * sizeof(mac); bit++) {
			mac[bit / 8] ^= 1 << bit % 8;
			accepted += farswap_noise_mac_check(mac, key, data, len) != -EBADMSG;
			mac[bit / 8] ^= 1 << bit % 8;
		}
		data[0] ^= 1;
		accepted += farswap_noise_mac_check(mac, key, data, len) != -EBADMSG;
		data[0] ^= 1;
		key[31] ^= 1;
		accepted += farswap_noise_mac_check(mac, key, data, len) != -EBADMSG;
	}
	KUNIT_EXPECT_TRUE_MSG(test, !accepted, "a wrong MAC, data or key");
	KUNIT_EXPECT_EQ(test, farswap_noise_mac(mac, key, data, sizeof(data)), -EINVAL);
	KUNIT_EXPECT_EQ(test, farswap_noise_mac_check(mac, key, data, sizeof(data)), -EINVAL);
}

static int noise_parse_secret(u8 *key, const char *text)
{
	return farswap_noise_parse_secret(key, text, strlen(text));
}

/* Keys as text: one spelling each, and a secret key is not taken for a public one. */
static void noise_test_text(struct kunit *test)
{
	/* RFC 7748, section 6.1: Alice's public key. */
	static const char right[] = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
	static const char alice[] =
		"8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
	char text[FARSWAP_NOISE_SECRET_CHARS + 3];
	u8 key[KEY], again[KEY];
	unsigned int i, c, accepted = 0, same = 0;

	KUNIT_EXPECT_EQ(test, farswap_noise_parse(key, right, strlen(right)), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is(key, KEY, alice), "a key read");
	farswap_noise_text(text, key);
	KUNIT_EXPECT_TRUE_MSG(test, !strcmp(text, right), "a key printed");
	for (i = 0; i < 256; i++) {
		transcript_seed(key, i, 9);
		farswap_noise_text(text, key);
		same += strlen(text) == FARSWAP_NOISE_TEXT_CHARS &&
			!farswap_noise_parse(again, text, FARSWAP_NOISE_TEXT_CHARS) &&
			!memcmp(key, again, KEY);
	}
	KUNIT_EXPECT_EQ(test, same, 256);

	/* At each place, every character is refused or makes another key. */
	for (i = 0; i < FARSWAP_NOISE_TEXT_CHARS; i++) {
		for (c = 0; c < 256; c++) {
			char other[FARSWAP_NOISE_TEXT_CHARS + 1];

			memcpy(text, right, sizeof(right));
			text[i] = c;
			if (farswap_noise_parse(again, text, FARSWAP_NOISE_TEXT_CHARS))
				continue;
			farswap_noise_text(other, again);
			accepted += memcmp(other, text, FARSWAP_NOISE_TEXT_CHARS) != 0;
		}
	}
	KUNIT_EXPECT_TRUE_MSG(test, !accepted, "a character that is not base64, or left-over bits");
	KUNIT_EXPECT_EQ(test, farswap_noise_parse(key, right, 43), -EINVAL);
	memcpy(text, right, sizeof(right));
	text[FARSWAP_NOISE_TEXT_CHARS] = 'A';
	KUNIT_EXPECT_EQ(test, farswap_noise_parse(key, text, 45), -EINVAL);
	KUNIT_EXPECT_EQ(test, farswap_noise_parse(key, text, 0), -EINVAL);

	snprintf(text, sizeof(text), FARSWAP_NOISE_SECRET_PREFIX "%s", right);
	KUNIT_EXPECT_EQ(test, noise_parse_secret(key, text), 0);
	KUNIT_EXPECT_TRUE_MSG(test, noise_is(key, KEY, alice), "a secret key read");
	KUNIT_EXPECT_EQ(test, farswap_noise_parse(key, text, strlen(text)), -EINVAL);
	snprintf(text, sizeof(text), FARSWAP_NOISE_SECRET_PREFIX "%s\n", right);
	KUNIT_EXPECT_EQ(test, noise_parse_secret(key, text), 0);
	snprintf(text, sizeof(text), FARSWAP_NOISE_SECRET_PREFIX "%s\n\n", right);
	KUNIT_EXPECT_EQ(test, noise_parse_secret(key, text), -EINVAL);
	text[0] = 'F';
	text[FARSWAP_NOISE_SECRET_CHARS] = '\0';
	KUNIT_EXPECT_EQ(test, noise_parse_secret(key, text), -EINVAL);
	KUNIT_EXPECT_EQ(test, noise_parse_secret(key, right), -EINVAL);
	KUNIT_EXPECT_EQ(test, noise_parse_secret(key, ""), -EINVAL);
}

static struct kunit_case noise_cases[] = {
	KUNIT_CASE(noise_test_vector),
	KUNIT_CASE(noise_test_transcripts),
	KUNIT_CASE(noise_test_altered),
	KUNIT_CASE(noise_test_wrong),
	KUNIT_CASE(noise_test_replay),
	KUNIT_CASE(noise_test_low_order),
	KUNIT_CASE(noise_test_steps),
	KUNIT_CASE(noise_test_sealed),
	KUNIT_CASE(noise_test_mac),
	KUNIT_CASE(noise_test_text),
	{}
};

static struct kunit_suite noise_suite = {
	.name = "farswap_noise",
	.test_cases = noise_cases,
};

kunit_test_suite(noise_suite);
