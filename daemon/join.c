// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake is that of the kernel module, with the invitation's secret as its pre-shared key:
 * it shows the donor that this client may introduce its key, and the client that this donor has made
 * the invitation. The secret is not sent.
 */
#include <string.h>
#include <sys/random.h>

#include "join.h"

void join_connect(const struct join *join, struct farswap_connect *connect, uint32_t qpn)
{
	uint8_t key[FARSWAP_NOISE_KEY_BYTES];

	wire_init_connect(connect, FARSWAP_CONNECT_CONTROL, 0, 0);
	connect->features = htole32(FARSWAP_FEATURE_SEALED | FARSWAP_FEATURE_INVITED);
	auth_invite_keys(join->invitation, connect->key_id, key);
	auth_sign(connect, key, qpn);
	farswap_noise_crypto_wipe(key, sizeof(key));
}

const char *join_first(struct join *join, const struct farswap_connect *connect,
		       const struct farswap_accept *accept, const struct join_path *path,
		       struct farswap_auth *msg)
{
	static const uint8_t none[8];
	uint8_t ephemeral[FARSWAP_NOISE_KEY_BYTES];
	const char *wrong = NULL;

	if (wire_check_accept(accept, sizeof(*accept)) != WIRE_OK ||
	    !(le32toh(accept->features) & FARSWAP_FEATURE_SEALED))
		return "its answer has no authentication";
	if (getrandom(ephemeral, sizeof(ephemeral), 0) != sizeof(ephemeral))
		return "this machine has no random numbers";
	auth_bind(&join->auth, connect, accept, path->client_address, path->donor_address,
		  path->client_qpn, path->donor_qpn);
	wire_init(&msg->hdr, FARSWAP_MSG_AUTH, 1);
	if (farswap_noise_begin_client(&join->noise, join->auth.prologue, join->auth.prologue_len,
				       join->secret, join->donor) ||
	    farswap_noise_write_first(&join->noise, ephemeral, none, sizeof(none), msg->noise))
		wrong = "its key, or that of this machine, is unusable";
	farswap_noise_crypto_wipe(ephemeral, sizeof(ephemeral));
	return wrong;
}

const char *join_second(struct join *join, const struct farswap_authed *msg)
{
	uint8_t payload[8];

	if (farswap_noise_read_second(&join->noise, join->invitation, msg->noise,
				      sizeof(msg->noise), payload) ||
	    farswap_noise_split(&join->noise, &join->auth.keys))
		return "it does not prove that it has the key, or the secret, of the code";
	join->auth.sealed = true;
	return NULL;
}

void join_end(struct join *join)
{
	farswap_noise_end(&join->noise);
	farswap_noise_crypto_wipe(join, sizeof(*join));
}
