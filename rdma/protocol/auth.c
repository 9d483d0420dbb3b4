// SPDX-License-Identifier: GPL-2.0
/*
 * Authentication of both sides, and sealed messages. It begins with the connect request, which
 * has a MAC that only the two machines can compute. The handshake on the control queue follows; it
 * is bound to what both sides see of the connection, and a relay sees something else. Data
 * connections are bound to the handshake by MACs. No secret is ever sent.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include <asm/byteorder.h>

#include "auth.h"

#define HDR	sizeof(struct farswap_hdr)

static_assert(FARSWAP_NOISE_FIRST_BYTES + 8 == FARSWAP_AUTH_FIRST_BYTES);
static_assert(FARSWAP_NOISE_SECOND_BYTES + 8 == FARSWAP_AUTH_SECOND_BYTES);
static_assert(FARSWAP_KEY_ID_BYTES == FARSWAP_NOISE_ID_BYTES);
static_assert(FARSWAP_MAC_BYTES == FARSWAP_NOISE_MAC_BYTES);
static_assert(FARSWAP_TAG_BYTES == FARSWAP_NOISE_TAG_BYTES);

/* The MAC of a connect request covers these. */
struct auth_request {
	struct farswap_connect connect;
	__le32 qpn;
	u8 none[4];
};

#define REQUEST_BYTES	offsetof(struct auth_request, none)

/* The MAC of an accept covers these. */
struct auth_accept {
	u8 request_mac[FARSWAP_MAC_BYTES];
	struct farswap_accept accept;
	__le32 qpn;
};

/* The handshake is bound to these. */
struct auth_prologue {
	struct farswap_connect connect;
	struct farswap_accept accept;
	u8 client_address[16];
	u8 donor_address[16];
	__le32 client_qpn;
	__le32 donor_qpn;
};

static_assert(REQUEST_BYTES == 60);
static_assert(sizeof(struct auth_accept) == 52);
static_assert(sizeof(struct auth_prologue) == sizeof_field(struct farswap_auth_state, prologue));

static bool is_data(const struct farswap_connect *connect)
{
	return le16_to_cpu(connect->kind) == FARSWAP_CONNECT_DATA;
}

/**
 * farswap_auth_connect() - authenticate a connect request
 * @auth:	state; @auth->secret and @auth->donor are set, or @auth->on is not
 * @connect:	the private data, otherwise complete; for data after the handshake
 * @qpn:	number of the queue pair
 *
 * Return: 0, or -errno if a key is unusable.
 */
int farswap_auth_connect(struct farswap_auth_state *auth, struct farswap_connect *connect,
			 u32 qpn)
{
	u8 key[FARSWAP_NOISE_KEY_BYTES], public[FARSWAP_NOISE_KEY_BYTES];
	struct auth_request request = {};
	int err = 0;

	if (!auth->on)
		return 0;
	connect->features = cpu_to_le32(FARSWAP_FEATURE_SEALED);
	if (is_data(connect)) {
		memcpy(key, auth->keys.bind, sizeof(key));
	} else {
		err = farswap_noise_public(public, auth->secret);
		if (!err)
			err = farswap_noise_pair_key(key, auth->secret, auth->donor);
		if (!err)
			farswap_noise_key_id(connect->key_id, public);
	}
	request.connect = *connect;
	request.qpn = cpu_to_le32(qpn);
	if (!err)
		err = farswap_noise_mac(connect->mac, key, &request, REQUEST_BYTES);
	farswap_noise_crypto_wipe(key, sizeof(key));
	return err;
}

/**
 * farswap_auth_accepted() - check the accept of a connect request
 * @auth:	state
 * @connect:	private data of the request
 * @accept:	private data of the accept
 * @path:	addresses and queue pair numbers
 *
 * Return: NULL, or what is wrong.
 */
const char *farswap_auth_accepted(struct farswap_auth_state *auth,
				  const struct farswap_connect *connect,
				  const struct farswap_accept *accept,
				  const struct farswap_auth_path *path)
{
	bool sealed = le32_to_cpu(accept->features) & FARSWAP_FEATURE_SEALED;
	struct auth_prologue prologue = {
		.connect	= *connect,
		.accept		= *accept,
		.client_qpn	= cpu_to_le32(path->client_qpn),
		.donor_qpn	= cpu_to_le32(path->donor_qpn),
	};
	struct auth_accept proof = {
		.accept		= *accept,
		.qpn		= cpu_to_le32(path->donor_qpn),
	};

	if (sealed != auth->on)
		return sealed ? "accept with authentication that was not requested" :
				"accept without authentication";
	if (!sealed)
		return NULL;
	if (is_data(connect)) {
		memcpy(proof.request_mac, connect->mac, sizeof(proof.request_mac));
		memset(proof.accept.mac, 0, sizeof(proof.accept.mac));
		return farswap_noise_mac_check(accept->mac, auth->keys.bind, &proof,
					       sizeof(proof)) ? "accept with a wrong MAC" : NULL;
	}
	memcpy(prologue.client_address, path->client_address, 16);
	memcpy(prologue.donor_address, path->donor_address, 16);
	memcpy(auth->prologue, &prologue, sizeof(prologue));
	return NULL;
}

/**
 * farswap_auth_first() - write the handshake's first message
 * @auth:	state after the accept; the secret key is wiped
 * @ephemeral:	32 random bytes
 * @msg:	AUTH; its handshake message is filled in
 *
 * Return: 0 or -errno.
 */
int farswap_auth_first(struct farswap_auth_state *auth, const u8 *ephemeral,
		       struct farswap_auth *msg)
{
	static const u8 none[8];
	int err;

	err = farswap_noise_begin_client(&auth->noise, auth->prologue, sizeof(auth->prologue),
					 auth->secret, auth->donor);
	farswap_noise_crypto_wipe(auth->secret, sizeof(auth->secret));
	return err ?: farswap_noise_write_first(&auth->noise, ephemeral, none, sizeof(none),
						msg->noise);
}

/**
 * farswap_auth_second() - read the handshake's second message
 * @auth:	state after farswap_auth_first()
 * @msg:	AUTHED
 *
 * On success the donor is the one with that key. The caller then sets @auth->sealed.
 *
 * Return: 0 or -errno.
 */
int farswap_auth_second(struct farswap_auth_state *auth, const struct farswap_authed *msg)
{
	static const u8 no_psk[FARSWAP_NOISE_KEY_BYTES];
	u8 payload[8], mac[FARSWAP_NOISE_MAC_BYTES];
	__le64 name;
	int err;

	err = farswap_noise_read_second(&auth->noise, no_psk, msg->noise, sizeof(msg->noise),
					payload);
	if (!err)
		err = farswap_noise_split(&auth->noise, &auth->keys);
	if (!err)
		err = farswap_noise_mac(mac, auth->keys.bind, "session", 7);
	if (err)
		return err;
	memcpy(&name, mac, sizeof(name));
	auth->name = le64_to_cpu(name);
	return 0;
}

/**
 * farswap_auth_instance() - return the identity of a donor's run
 * @auth:	state
 * @instance:	the identity in the donor's WELCOME
 *
 * Donors with the same identity are taken for one. With keys it depends on the donor's key, so that
 * none can pass for another.
 *
 * Return: the identity.
 */
u64 farswap_auth_instance(const struct farswap_auth_state *auth, u64 instance)
{
	u8 mac[FARSWAP_NOISE_MAC_BYTES];
	__le64 le = cpu_to_le64(instance);

	if (!auth->on || farswap_noise_mac(mac, auth->donor, &le, sizeof(le)))
		return instance;
	memcpy(&le, mac, sizeof(le));
	return le64_to_cpu(le);
}

/**
 * farswap_auth_seal() - seal a message in place
 * @auth:	state
 * @msg:	the message, with space for a tag of FARSWAP_TAG_BYTES
 * @len:	its length; then that with the tag
 *
 * Return: 0 or -errno.
 */
int farswap_auth_seal(struct farswap_auth_state *auth, void *msg, size_t *len)
{
	int err;

	err = farswap_noise_seal(&auth->keys.send, msg, HDR, (u8 *)msg + HDR, *len - HDR);
	if (!err)
		*len += FARSWAP_TAG_BYTES;
	return err;
}

/**
 * farswap_auth_open() - open a message in place
 * @auth:	state
 * @msg:	the message
 * @len:	its length; then that without the tag
 *
 * Return: 0, or -errno if it is not authentic.
 */
int farswap_auth_open(struct farswap_auth_state *auth, void *msg, size_t *len)
{
	int err;

	if (*len < HDR + FARSWAP_TAG_BYTES)
		return -EMSGSIZE;
	err = farswap_noise_open(&auth->keys.receive, msg, HDR, (u8 *)msg + HDR, *len - HDR);
	if (!err)
		*len -= FARSWAP_TAG_BYTES;
	return err;
}

/**
 * farswap_auth_end() - wipe the keys
 * @auth:	state
 */
void farswap_auth_end(struct farswap_auth_state *auth)
{
	farswap_noise_crypto_wipe(auth, sizeof(*auth));
}
