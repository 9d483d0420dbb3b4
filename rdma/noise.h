/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The handshake Noise_IKpsk2_25519_ChaChaPoly_SHA256 (noiseprotocol.org, revision 34) and the
 * sealed messages that follow it. Each side knows the other's public key beforehand; after
 * two messages both are authenticated and share keys that no one else has.
 *
 * The module and farswapd build the same files, noise.c and noise-text.c, without verbs,
 * allocation or randomness. Each program has a back end for the primitives: noise-kernel.c, and
 * noise-sodium.c in the daemon.
 */
#ifndef FARSWAP_RDMA_NOISE_H
#define FARSWAP_RDMA_NOISE_H

#include <linux/types.h>

#define FARSWAP_NOISE_KEY_BYTES		32
#define FARSWAP_NOISE_HASH_BYTES	32
#define FARSWAP_NOISE_TAG_BYTES		16
#define FARSWAP_NOISE_MAC_BYTES		16
#define FARSWAP_NOISE_ID_BYTES		8
/* Bytes that the two messages add to their payloads. */
#define FARSWAP_NOISE_FIRST_BYTES	(2 * FARSWAP_NOISE_KEY_BYTES + 2 * FARSWAP_NOISE_TAG_BYTES)
#define FARSWAP_NOISE_SECOND_BYTES	(FARSWAP_NOISE_KEY_BYTES + FARSWAP_NOISE_TAG_BYTES)
#define FARSWAP_NOISE_PAYLOAD_MAX	64
/* The longest input of a hash or a MAC, the prologue included. */
#define FARSWAP_NOISE_INPUT_MAX		256

/* Characters of a key as text, and of a secret key's line, without the newline. */
#define FARSWAP_NOISE_TEXT_CHARS	44
#define FARSWAP_NOISE_SECRET_PREFIX	"farswap-secret:"
#define FARSWAP_NOISE_SECRET_CHARS	\
	(sizeof(FARSWAP_NOISE_SECRET_PREFIX) - 1 + FARSWAP_NOISE_TEXT_CHARS)

/**
 * enum farswap_noise_step - what a handshake expects next
 * @FARSWAP_NOISE_DEAD:		nothing; it failed or is over, and is wiped
 * @FARSWAP_NOISE_WRITE_FIRST:	the client writes the first message
 * @FARSWAP_NOISE_READ_FIRST:	the donor reads it
 * @FARSWAP_NOISE_WRITE_SECOND:	the donor writes the second message
 * @FARSWAP_NOISE_READ_SECOND:	the client reads it
 * @FARSWAP_NOISE_SPLIT:	both derive the keys of the connection
 */
enum farswap_noise_step {
	FARSWAP_NOISE_DEAD,
	FARSWAP_NOISE_WRITE_FIRST,
	FARSWAP_NOISE_READ_FIRST,
	FARSWAP_NOISE_WRITE_SECOND,
	FARSWAP_NOISE_READ_SECOND,
	FARSWAP_NOISE_SPLIT,
};

/**
 * struct farswap_noise - a handshake in progress
 * @step:	what comes next
 * @client:	this side is the client
 * @nonce:	nonce of @key
 * @hash:	hash of the transcript
 * @chain:	chaining key
 * @key:	key of what is encrypted next
 * @own:	secret key of this side
 * @own_public:	its public key
 * @ephemeral:	secret ephemeral key of this side
 * @peer:	public key of the other side; the donor learns it from the first message
 * @peer_ephemeral: the other side's ephemeral public key
 */
struct farswap_noise {
	enum farswap_noise_step step;
	int client;
	__u64 nonce;
	__u8 hash[FARSWAP_NOISE_HASH_BYTES];
	__u8 chain[FARSWAP_NOISE_HASH_BYTES];
	__u8 key[FARSWAP_NOISE_KEY_BYTES];
	__u8 own[FARSWAP_NOISE_KEY_BYTES];
	__u8 own_public[FARSWAP_NOISE_KEY_BYTES];
	__u8 ephemeral[FARSWAP_NOISE_KEY_BYTES];
	__u8 peer[FARSWAP_NOISE_KEY_BYTES];
	__u8 peer_ephemeral[FARSWAP_NOISE_KEY_BYTES];
};

/**
 * struct farswap_noise_cipher - one direction of a connection
 * @key:	its key
 * @nonce:	number of its next message
 * @dead:	a message was not authentic, or the numbers are used up
 */
struct farswap_noise_cipher {
	__u8 key[FARSWAP_NOISE_KEY_BYTES];
	__u64 nonce;
	int dead;
};

/**
 * struct farswap_noise_keys - result of a handshake
 * @send:	seals what this side sends
 * @receive:	opens what it receives
 * @bind:	key of the MACs that bind further connections to this one
 * @hash:	hash of the transcript, the same on both sides and unique
 */
struct farswap_noise_keys {
	struct farswap_noise_cipher send;
	struct farswap_noise_cipher receive;
	__u8 bind[FARSWAP_NOISE_KEY_BYTES];
	__u8 hash[FARSWAP_NOISE_HASH_BYTES];
};

/* noise.c. Functions of type int return 0 or -errno; an error ends the handshake. */
int farswap_noise_public(__u8 *public, const __u8 *secret);
int farswap_noise_begin_client(struct farswap_noise *noise, const void *prologue, size_t len,
			       const __u8 *secret, const __u8 *donor);
int farswap_noise_begin_donor(struct farswap_noise *noise, const void *prologue, size_t len,
			      const __u8 *secret);
int farswap_noise_write_first(struct farswap_noise *noise, const __u8 *ephemeral,
			      const void *payload, size_t len, __u8 *message);
int farswap_noise_read_first(struct farswap_noise *noise, const __u8 *message, size_t len,
			     void *payload);
int farswap_noise_write_second(struct farswap_noise *noise, const __u8 *ephemeral,
			       const __u8 *psk, const void *payload, size_t len, __u8 *message);
int farswap_noise_read_second(struct farswap_noise *noise, const __u8 *psk, const __u8 *message,
			      size_t len, void *payload);
int farswap_noise_split(struct farswap_noise *noise, struct farswap_noise_keys *keys);
void farswap_noise_end(struct farswap_noise *noise);
int farswap_noise_seal(struct farswap_noise_cipher *cipher, const void *header, size_t header_len,
		       __u8 *body, size_t len);
int farswap_noise_open(struct farswap_noise_cipher *cipher, const void *header, size_t header_len,
		       __u8 *body, size_t len);
void farswap_noise_keys_end(struct farswap_noise_keys *keys);
int farswap_noise_pair_key(__u8 *key, const __u8 *secret, const __u8 *peer);
void farswap_noise_key_id(__u8 *id, const __u8 *public);
int farswap_noise_mac(__u8 *mac, const __u8 *key, const void *data, size_t len);
int farswap_noise_mac_check(const __u8 *mac, const __u8 *key, const void *data, size_t len);

/* noise-text.c */
void farswap_noise_text(char *text, const __u8 *key);
int farswap_noise_parse(__u8 *key, const char *text, size_t len);
int farswap_noise_parse_secret(__u8 *key, const char *text, size_t len);

/*
 * The back end. @out may be @in. farswap_noise_crypto_dh() returns an error if the result is
 * zero, which it is for points of low order. farswap_noise_crypto_differs() takes the same time
 * for all contents.
 */
int farswap_noise_crypto_dh(__u8 *out, const __u8 *secret, const __u8 *public);
void farswap_noise_crypto_hash(__u8 *out, const void *data, size_t len);
void farswap_noise_crypto_seal(__u8 *out, const __u8 *in, size_t len, const void *header,
			       size_t header_len, __u64 nonce, const __u8 *key);
int farswap_noise_crypto_open(__u8 *out, const __u8 *in, size_t len, const void *header,
			      size_t header_len, __u64 nonce, const __u8 *key);
int farswap_noise_crypto_differs(const void *a, const void *b, size_t len);
void farswap_noise_crypto_wipe(void *data, size_t len);

#endif /* FARSWAP_RDMA_NOISE_H */
