// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake, sealed messages and MACs. The names of the inner functions are those of the
 * Noise specification. All sizes are fixed or checked here; the contents come from the network.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "noise.h"

#define KEY	FARSWAP_NOISE_KEY_BYTES
#define HASH	FARSWAP_NOISE_HASH_BYTES
#define TAG	FARSWAP_NOISE_TAG_BYTES
#define BLOCK	64	/* of SHA-256 */

static const char noise_name[] = "Noise_IKpsk2_25519_ChaChaPoly_SHA256";
static const __u8 noise_base[KEY] = { 9 };

/* SHA-256 of two parts; @one is at most a block long, and @len at most FARSWAP_NOISE_INPUT_MAX. */
static void hash_two(__u8 *out, const void *one, size_t one_len, const void *two, size_t len)
{
	__u8 input[BLOCK + FARSWAP_NOISE_INPUT_MAX];

	memcpy(input, one, one_len);
	if (len)
		memcpy(input + one_len, two, len);
	farswap_noise_crypto_hash(out, input, one_len + len);
	farswap_noise_crypto_wipe(input, sizeof(input));
}

static void hmac(__u8 *out, const __u8 *key, const void *data, size_t len)
{
	__u8 pad[BLOCK], inner[HASH];
	size_t i;

	for (i = 0; i < BLOCK; i++)
		pad[i] = (i < KEY ? key[i] : 0) ^ 0x36;
	hash_two(inner, pad, BLOCK, data, len);
	for (i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	hash_two(out, pad, BLOCK, inner, HASH);
	farswap_noise_crypto_wipe(pad, sizeof(pad));
	farswap_noise_crypto_wipe(inner, sizeof(inner));
}

/* The third output is left out if @three is NULL. @one may be @chain. */
static void hkdf(__u8 *one, __u8 *two, __u8 *three, const __u8 *chain, const void *input,
		 size_t len)
{
	__u8 temp[HASH], block[HASH + 1];

	hmac(temp, chain, input, len);
	block[0] = 1;
	hmac(one, temp, block, 1);
	memcpy(block, one, HASH);
	block[HASH] = 2;
	hmac(two, temp, block, sizeof(block));
	if (three) {
		memcpy(block, two, HASH);
		block[HASH] = 3;
		hmac(three, temp, block, sizeof(block));
	}
	farswap_noise_crypto_wipe(temp, sizeof(temp));
	farswap_noise_crypto_wipe(block, sizeof(block));
}

static void mix_hash(struct farswap_noise *noise, const void *data, size_t len)
{
	hash_two(noise->hash, noise->hash, HASH, data, len);
}

static void mix_key(struct farswap_noise *noise, const __u8 *input)
{
	hkdf(noise->chain, noise->key, NULL, noise->chain, input, KEY);
	noise->nonce = 0;
}

static void mix_key_and_hash(struct farswap_noise *noise, const __u8 *psk)
{
	__u8 hash[HASH];

	hkdf(noise->chain, hash, noise->key, noise->chain, psk, KEY);
	mix_hash(noise, hash, HASH);
	noise->nonce = 0;
	farswap_noise_crypto_wipe(hash, sizeof(hash));
}

static int mix_dh(struct farswap_noise *noise, const __u8 *secret, const __u8 *public)
{
	__u8 shared[KEY];
	int err;

	err = farswap_noise_crypto_dh(shared, secret, public);
	if (!err)
		mix_key(noise, shared);
	farswap_noise_crypto_wipe(shared, sizeof(shared));
	return err;
}

/* The token e of a handshake with a psk. */
static void mix_ephemeral(struct farswap_noise *noise, const __u8 *public)
{
	mix_hash(noise, public, KEY);
	mix_key(noise, public);
}

static void encrypt_and_hash(struct farswap_noise *noise, __u8 *out, const void *in, size_t len)
{
	farswap_noise_crypto_seal(out, in, len, noise->hash, HASH, noise->nonce++, noise->key);
	mix_hash(noise, out, len + TAG);
}

/* @len is that of the ciphertext, its tag included; @out and @in are different buffers. */
static int decrypt_and_hash(struct farswap_noise *noise, __u8 *out, const __u8 *in, size_t len)
{
	if (farswap_noise_crypto_open(out, in, len, noise->hash, HASH, noise->nonce++, noise->key))
		return -EBADMSG;
	mix_hash(noise, in, len);
	return 0;
}

/* End the handshake if @err is an error. */
static int noise_result(struct farswap_noise *noise, int err)
{
	if (err)
		farswap_noise_end(noise);
	return err;
}

/**
 * farswap_noise_public() - derive a public key
 * @public:	the result
 * @secret:	the secret key, any 32 bytes
 *
 * Return: 0 or -errno.
 */
int farswap_noise_public(__u8 *public, const __u8 *secret)
{
	return farswap_noise_crypto_dh(public, secret, noise_base);
}

static int noise_begin(struct farswap_noise *noise, const void *prologue, size_t len,
		       const __u8 *secret, const __u8 *donor)
{
	int err;

	memset(noise, 0, sizeof(*noise));
	if (len > FARSWAP_NOISE_INPUT_MAX)
		return -EINVAL;
	memcpy(noise->own, secret, KEY);
	err = farswap_noise_public(noise->own_public, secret);
	if (err)
		return err;
	farswap_noise_crypto_hash(noise->hash, noise_name, sizeof(noise_name) - 1);
	memcpy(noise->chain, noise->hash, HASH);
	mix_hash(noise, prologue, len);
	mix_hash(noise, donor ? donor : noise->own_public, KEY);
	return 0;
}

/**
 * farswap_noise_begin_client() - begin a handshake as the client
 * @noise:	the handshake; end it with farswap_noise_end() or farswap_noise_split()
 * @prologue:	what both sides must agree on
 * @len:	its length, at most FARSWAP_NOISE_INPUT_MAX
 * @secret:	secret key of the client
 * @donor:	public key of the donor
 *
 * Return: 0 or -errno.
 */
int farswap_noise_begin_client(struct farswap_noise *noise, const void *prologue, size_t len,
			       const __u8 *secret, const __u8 *donor)
{
	int err = noise_begin(noise, prologue, len, secret, donor);

	memcpy(noise->peer, donor, KEY);
	noise->client = 1;
	noise->step = FARSWAP_NOISE_WRITE_FIRST;
	return noise_result(noise, err);
}

/**
 * farswap_noise_begin_donor() - begin a handshake as the donor
 * @noise:	the handshake; end it with farswap_noise_end() or farswap_noise_split()
 * @prologue:	what both sides must agree on
 * @len:	its length, at most FARSWAP_NOISE_INPUT_MAX
 * @secret:	secret key of the donor
 *
 * Return: 0 or -errno.
 */
int farswap_noise_begin_donor(struct farswap_noise *noise, const void *prologue, size_t len,
			      const __u8 *secret)
{
	int err = noise_begin(noise, prologue, len, secret, NULL);

	noise->step = FARSWAP_NOISE_READ_FIRST;
	return noise_result(noise, err);
}

/* Is this step next, with a payload of @len? Otherwise the handshake ends. */
static int noise_expect(struct farswap_noise *noise, enum farswap_noise_step step, size_t len)
{
	return noise_result(noise, noise->step != step || len > FARSWAP_NOISE_PAYLOAD_MAX ?
			    -EINVAL : 0);
}

/* Like noise_expect(), of a received message of @len that adds @added to its payload. */
static int noise_expect_read(struct farswap_noise *noise, enum farswap_noise_step step, size_t len,
			     size_t added)
{
	if (len < added || len > added + FARSWAP_NOISE_PAYLOAD_MAX)
		return noise_result(noise, -EMSGSIZE);
	return noise_expect(noise, step, len - added);
}

static int noise_new_ephemeral(struct farswap_noise *noise, const __u8 *ephemeral, __u8 *message)
{
	int err;

	memcpy(noise->ephemeral, ephemeral, KEY);
	err = farswap_noise_public(message, ephemeral);
	if (!err)
		mix_ephemeral(noise, message);
	return err;
}

/**
 * farswap_noise_write_first() - write the client's message: e, es, s, ss
 * @noise:	the client's handshake
 * @ephemeral:	32 random bytes, never used before
 * @payload:	payload
 * @len:	its length, at most FARSWAP_NOISE_PAYLOAD_MAX
 * @message:	the result, of FARSWAP_NOISE_FIRST_BYTES + @len
 *
 * Return: 0 or -errno.
 */
int farswap_noise_write_first(struct farswap_noise *noise, const __u8 *ephemeral,
			      const void *payload, size_t len, __u8 *message)
{
	int err = noise_expect(noise, FARSWAP_NOISE_WRITE_FIRST, len);

	if (err)
		return err;
	err = noise_new_ephemeral(noise, ephemeral, message);
	if (!err)
		err = mix_dh(noise, noise->ephemeral, noise->peer);
	if (!err) {
		encrypt_and_hash(noise, message + KEY, noise->own_public, KEY);
		err = mix_dh(noise, noise->own, noise->peer);
	}
	if (!err)
		encrypt_and_hash(noise, message + 2 * KEY + TAG, payload, len);
	noise->step = FARSWAP_NOISE_READ_SECOND;
	return noise_result(noise, err);
}

/**
 * farswap_noise_read_first() - read the client's message
 * @noise:	the donor's handshake
 * @message:	the message
 * @len:	its length
 * @payload:	the payload, of @len - FARSWAP_NOISE_FIRST_BYTES
 *
 * On success @noise->peer is the client's public key. The client has it, unless the message
 * is a repeated one; the first message that farswap_noise_open() accepts proves that it is not.
 *
 * Return: 0 or -errno.
 */
int farswap_noise_read_first(struct farswap_noise *noise, const __u8 *message, size_t len,
			     void *payload)
{
	int err = noise_expect_read(noise, FARSWAP_NOISE_READ_FIRST, len,
				    FARSWAP_NOISE_FIRST_BYTES);

	if (err)
		return err;
	memcpy(noise->peer_ephemeral, message, KEY);
	mix_ephemeral(noise, message);
	err = mix_dh(noise, noise->own, noise->peer_ephemeral);
	if (!err)
		err = decrypt_and_hash(noise, noise->peer, message + KEY, KEY + TAG);
	if (!err)
		err = mix_dh(noise, noise->own, noise->peer);
	if (!err)
		err = decrypt_and_hash(noise, payload, message + 2 * KEY + TAG,
				       len - 2 * KEY - TAG);
	noise->step = FARSWAP_NOISE_WRITE_SECOND;
	return noise_result(noise, err);
}

/**
 * farswap_noise_write_second() - write the donor's message: e, ee, se, psk
 * @noise:	the donor's handshake
 * @ephemeral:	32 random bytes, never used before
 * @psk:	secret shared with this client, or zeros
 * @payload:	payload
 * @len:	its length, at most FARSWAP_NOISE_PAYLOAD_MAX
 * @message:	the result, of FARSWAP_NOISE_SECOND_BYTES + @len
 *
 * Return: 0 or -errno.
 */
int farswap_noise_write_second(struct farswap_noise *noise, const __u8 *ephemeral,
			       const __u8 *psk, const void *payload, size_t len, __u8 *message)
{
	int err = noise_expect(noise, FARSWAP_NOISE_WRITE_SECOND, len);

	if (err)
		return err;
	err = noise_new_ephemeral(noise, ephemeral, message);
	if (!err)
		err = mix_dh(noise, noise->ephemeral, noise->peer_ephemeral);
	if (!err)
		err = mix_dh(noise, noise->ephemeral, noise->peer);
	if (!err) {
		mix_key_and_hash(noise, psk);
		encrypt_and_hash(noise, message + KEY, payload, len);
	}
	noise->step = FARSWAP_NOISE_SPLIT;
	return noise_result(noise, err);
}

/**
 * farswap_noise_read_second() - read the donor's message
 * @noise:	the client's handshake
 * @psk:	secret shared with this donor, or zeros
 * @message:	the message
 * @len:	its length
 * @payload:	the payload, of @len - FARSWAP_NOISE_SECOND_BYTES
 *
 * On success the donor has the secret key of its public key, and @psk.
 *
 * Return: 0 or -errno.
 */
int farswap_noise_read_second(struct farswap_noise *noise, const __u8 *psk, const __u8 *message,
			      size_t len, void *payload)
{
	int err = noise_expect_read(noise, FARSWAP_NOISE_READ_SECOND, len,
				    FARSWAP_NOISE_SECOND_BYTES);

	if (err)
		return err;
	memcpy(noise->peer_ephemeral, message, KEY);
	mix_ephemeral(noise, message);
	err = mix_dh(noise, noise->ephemeral, noise->peer_ephemeral);
	if (!err)
		err = mix_dh(noise, noise->own, noise->peer_ephemeral);
	if (!err) {
		mix_key_and_hash(noise, psk);
		err = decrypt_and_hash(noise, payload, message + KEY, len - KEY);
	}
	noise->step = FARSWAP_NOISE_SPLIT;
	return noise_result(noise, err);
}

/**
 * farswap_noise_split() - derive the keys of the connection, and wipe the handshake
 * @noise:	a handshake whose two messages have been exchanged
 * @keys:	the result; wipe it with farswap_noise_keys_end()
 *
 * Return: 0 or -errno.
 */
int farswap_noise_split(struct farswap_noise *noise, struct farswap_noise_keys *keys)
{
	struct farswap_noise_cipher *to_donor, *to_client;
	int err = noise_expect(noise, FARSWAP_NOISE_SPLIT, 0);

	memset(keys, 0, sizeof(*keys));
	keys->send.dead = err;
	keys->receive.dead = err;
	if (err)
		return err;
	to_donor = noise->client ? &keys->send : &keys->receive;
	to_client = noise->client ? &keys->receive : &keys->send;
	/* Noise uses the first two outputs; the third is independent of them. */
	hkdf(to_donor->key, to_client->key, keys->bind, noise->chain, NULL, 0);
	memcpy(keys->hash, noise->hash, HASH);
	farswap_noise_end(noise);
	return 0;
}

/**
 * farswap_noise_end() - wipe a handshake
 * @noise:	the handshake, in any state
 */
void farswap_noise_end(struct farswap_noise *noise)
{
	farswap_noise_crypto_wipe(noise, sizeof(*noise));
}

/**
 * farswap_noise_keys_end() - wipe the keys of a connection
 * @keys:	the keys
 */
void farswap_noise_keys_end(struct farswap_noise_keys *keys)
{
	farswap_noise_crypto_wipe(keys, sizeof(*keys));
	keys->send.dead = 1;
	keys->receive.dead = 1;
}

/* The last number is left out, as Noise demands. */
static int cipher_is_dead(struct farswap_noise_cipher *cipher)
{
	if (cipher->nonce == ~0ULL)
		cipher->dead = 1;
	return cipher->dead;
}

/**
 * farswap_noise_seal() - encrypt a message in place
 * @cipher:	the direction
 * @header:	what is sent in clear, but may not be altered
 * @header_len:	its length
 * @body:	the rest, with space for a tag of FARSWAP_NOISE_TAG_BYTES
 * @len:	its length without the tag
 *
 * Return: 0 or -errno.
 */
int farswap_noise_seal(struct farswap_noise_cipher *cipher, const void *header, size_t header_len,
		       __u8 *body, size_t len)
{
	if (cipher_is_dead(cipher))
		return -EKEYREJECTED;
	farswap_noise_crypto_seal(body, body, len, header, header_len, cipher->nonce++,
				  cipher->key);
	return 0;
}

/**
 * farswap_noise_open() - check and decrypt a message in place
 * @cipher:	the direction; after a message that is not authentic it opens no more
 * @header:	the header, in clear
 * @header_len:	its length
 * @body:	the rest, its tag last
 * @len:	its length with the tag
 *
 * Messages must be opened in the order in which they were sealed, so a repeated, missing or
 * reordered one is not authentic.
 *
 * Return: 0 or -errno.
 */
int farswap_noise_open(struct farswap_noise_cipher *cipher, const void *header, size_t header_len,
		       __u8 *body, size_t len)
{
	if (cipher_is_dead(cipher))
		return -EKEYREJECTED;
	if (len < TAG || farswap_noise_crypto_open(body, body, len, header, header_len,
						   cipher->nonce++, cipher->key)) {
		cipher->dead = 1;
		return -EBADMSG;
	}
	return 0;
}

/**
 * farswap_noise_pair_key() - derive the key that two key pairs share without a handshake
 * @key:	the result, a key of MACs
 * @secret:	secret key of this side
 * @peer:	public key of the other side
 *
 * Return: 0 or -errno.
 */
int farswap_noise_pair_key(__u8 *key, const __u8 *secret, const __u8 *peer)
{
	static const char what[] = "farswap connect";
	__u8 shared[KEY];
	int err = farswap_noise_crypto_dh(shared, secret, peer);

	if (!err)
		hmac(key, shared, what, sizeof(what) - 1);
	farswap_noise_crypto_wipe(shared, sizeof(shared));
	return err;
}

/**
 * farswap_noise_key_id() - name a public key
 * @id:		the result, of FARSWAP_NOISE_ID_BYTES
 * @public:	the key
 */
void farswap_noise_key_id(__u8 *id, const __u8 *public)
{
	__u8 hash[HASH];

	farswap_noise_crypto_hash(hash, public, KEY);
	memcpy(id, hash, FARSWAP_NOISE_ID_BYTES);
}

/**
 * farswap_noise_mac() - compute a MAC: HMAC-SHA-256, cut to FARSWAP_NOISE_MAC_BYTES
 * @mac:	the result
 * @key:	the key
 * @data:	the data
 * @len:	its length, at most FARSWAP_NOISE_INPUT_MAX
 *
 * Return: 0 or -errno.
 */
int farswap_noise_mac(__u8 *mac, const __u8 *key, const void *data, size_t len)
{
	__u8 full[HASH];

	if (len > FARSWAP_NOISE_INPUT_MAX)
		return -EINVAL;
	hmac(full, key, data, len);
	memcpy(mac, full, FARSWAP_NOISE_MAC_BYTES);
	farswap_noise_crypto_wipe(full, sizeof(full));
	return 0;
}

/**
 * farswap_noise_mac_check() - check a MAC
 * @mac:	the MAC
 * @key:	the key
 * @data:	the data
 * @len:	its length, at most FARSWAP_NOISE_INPUT_MAX
 *
 * Return: 0 or -errno.
 */
int farswap_noise_mac_check(const __u8 *mac, const __u8 *key, const void *data, size_t len)
{
	__u8 right[FARSWAP_NOISE_MAC_BYTES];
	int err = farswap_noise_mac(right, key, data, len);

	if (!err && farswap_noise_crypto_differs(mac, right, sizeof(right)))
		err = -EBADMSG;
	farswap_noise_crypto_wipe(right, sizeof(right));
	return err;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/noise-kunit.h"
#endif
