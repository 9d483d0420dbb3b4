// SPDX-License-Identifier: GPL-2.0
/*
 * Authentication of sessions. A connect request carries the name of the client's key and a MAC that
 * only this client and this donor can compute, so strangers cost a hash and no memory. The
 * handshake follows on the control queue pair, bound to its numbers and addresses: a relay has
 * others. Data queue pairs are bound to it by a MAC, so no secret is ever sent.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "auth.h"

#define HDR	sizeof(struct farswap_hdr)
#define TAG	FARSWAP_TAG_BYTES

_Static_assert(FARSWAP_AUTH_FIRST_BYTES == FARSWAP_NOISE_FIRST_BYTES + 8, "AUTH");
_Static_assert(FARSWAP_AUTH_SECOND_BYTES == FARSWAP_NOISE_SECOND_BYTES + 8, "AUTHED");
_Static_assert(FARSWAP_MAC_BYTES == FARSWAP_NOISE_MAC_BYTES, "MAC");
_Static_assert(FARSWAP_KEY_ID_BYTES == FARSWAP_NOISE_ID_BYTES, "ID");
_Static_assert(FARSWAP_TAG_BYTES == FARSWAP_NOISE_TAG_BYTES, "tag");

static struct {
	bool on;
	uint8_t secrets[AUTH_SECRETS][FARSWAP_NOISE_KEY_BYTES];
	unsigned int nr_secrets;
	struct auth_client *clients;
	struct {
		bool open;
		unsigned int left;	/* connections that may still use it */
		uint8_t secret[FARSWAP_NOISE_KEY_BYTES];
		uint8_t id[FARSWAP_KEY_ID_BYTES];
		uint8_t key[FARSWAP_NOISE_KEY_BYTES];	/* for the MAC of connect requests */
	} invite;
} auths;

bool auth_name_is_valid(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strspn(name, allowed);

	return len && len < AUTH_NAME_MAX && !name[len] && *name != '.' && *name != '-';
}

struct auth_client *auth_parse(const char *name, const char *key, char *error, size_t size)
{
	struct auth_client *client;

	if (!strncmp(key, FARSWAP_NOISE_SECRET_PREFIX, sizeof(FARSWAP_NOISE_SECRET_PREFIX) - 1)) {
		snprintf(error, size, "'%s' has a secret key: give the public one, which farswapctl key prints on the client, and make a new key there",
			 name);
		return NULL;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		snprintf(error, size, "out of memory");
		return NULL;
	}
	if (farswap_noise_parse(client->public, key, strlen(key))) {
		snprintf(error, size, "invalid key '%s' of '%s' (%d characters, which farswapctl key prints on the client)",
			 key, name, FARSWAP_NOISE_TEXT_CHARS);
		free(client);
		return NULL;
	}
	snprintf(client->name, sizeof(client->name), "%s", name);
	return client;
}

void auth_init(const uint8_t (*secrets)[FARSWAP_NOISE_KEY_BYTES], unsigned int nr)
{
	memcpy(auths.secrets, secrets, nr * sizeof(*secrets));
	auths.nr_secrets = nr;
}

bool auth_has_secret(void)
{
	return auths.nr_secrets;
}

int auth_set_clients(struct auth_client *clients)
{
	struct auth_client *client;
	unsigned int i;

	for (client = clients; client; client = client->next) {
		farswap_noise_key_id(client->id, client->public);
		for (i = 0; i < auths.nr_secrets; i++)
			if (farswap_noise_pair_key(client->pair_key[i], auths.secrets[i],
						   client->public))
				return -EINVAL;
	}
	auth_free_clients(auths.clients);
	auths.clients = clients;
	auths.on = true;
	return 0;
}

void auth_free_clients(struct auth_client *clients)
{
	struct auth_client *client;

	while (clients) {
		client = clients;
		clients = client->next;
		farswap_noise_crypto_wipe(client, sizeof(*client));
		free(client);
	}
}

void auth_exit(void)
{
	auth_free_clients(auths.clients);
	farswap_noise_crypto_wipe(&auths, sizeof(auths));
}

bool auth_public(char text[FARSWAP_NOISE_TEXT_CHARS + 1])
{
	uint8_t public[FARSWAP_NOISE_KEY_BYTES];

	if (!auths.nr_secrets || farswap_noise_public(public, auths.secrets[0]))
		return false;
	farswap_noise_text(text, public);
	return true;
}

void auth_invite_keys(const uint8_t *secret, uint8_t id[FARSWAP_KEY_ID_BYTES],
		      uint8_t key[FARSWAP_NOISE_KEY_BYTES])
{
	static const char use[] = "farswap invitation ";
	char label[sizeof(use)];
	unsigned int i;

	_Static_assert(2 * FARSWAP_NOISE_MAC_BYTES == FARSWAP_NOISE_KEY_BYTES, "two halves");
	farswap_noise_key_id(id, secret);
	memcpy(label, use, sizeof(use));
	for (i = 0; i < 2; i++) {
		label[sizeof(label) - 1] = (char)('0' + i);
		farswap_noise_mac(key + (size_t)i * FARSWAP_NOISE_MAC_BYTES, secret, label,
				  sizeof(label));
	}
}

void auth_invite(const uint8_t *secret)
{
	farswap_noise_crypto_wipe(&auths.invite, sizeof(auths.invite));
	if (!secret)
		return;
	memcpy(auths.invite.secret, secret, sizeof(auths.invite.secret));
	auth_invite_keys(secret, auths.invite.id, auths.invite.key);
	auths.invite.left = AUTH_INVITE_TRIES;
	auths.invite.open = true;
}

bool auth_is_known(const uint8_t *public)
{
	const struct auth_client *client;

	for (client = auths.clients; client; client = client->next)
		if (!memcmp(client->public, public, sizeof(client->public)))
			return true;
	return false;
}

bool auth_is_allowed(const struct auth *auth)
{
	const struct auth_client *client;

	for (client = auths.clients; client; client = client->next)
		if (!strcmp(client->name, auth->name) &&
		    !memcmp(client->public, auth->public, sizeof(client->public)))
			return true;
	return false;
}

bool auth_is_on(void)
{
	return auths.on;
}

/* Copy the bytes that the MAC of a connect request covers. */
static void auth_request(uint8_t data[sizeof(struct farswap_connect) + 4],
			 const struct farswap_connect *connect, uint32_t qpn)
{
	uint32_t le = htole32(qpn);

	memcpy(data, connect, sizeof(*connect));
	memset(data + offsetof(struct farswap_connect, mac), 0, sizeof(connect->mac));
	memcpy(data + sizeof(*connect), &le, sizeof(le));
}

static bool auth_mac_is_right(const struct farswap_connect *connect, const uint8_t *key,
			      uint32_t qpn)
{
	uint8_t data[sizeof(*connect) + 4];

	auth_request(data, connect, qpn);
	return !farswap_noise_mac_check(connect->mac, key, data, sizeof(data));
}

void auth_sign(struct farswap_connect *connect, const uint8_t *key, uint32_t qpn)
{
	uint8_t data[sizeof(*connect) + 4];

	auth_request(data, connect, qpn);
	farswap_noise_mac(connect->mac, key, data, sizeof(data));
}

static const char *auth_check_invited(struct auth *auth, const struct farswap_connect *connect,
				      uint32_t qpn)
{
	if (!auths.invite.open || memcmp(auths.invite.id, connect->key_id, sizeof(auths.invite.id)))
		return "it has no valid invitation: make one with farswapctl invite";
	if (!auth_mac_is_right(connect, auths.invite.key, qpn))
		return "its invitation is wrong";
	if (!auths.invite.left)
		return "it has tried its invitation too often: make another with farswapctl invite";
	auths.invite.left--;
	auth->on = true;
	auth->invited = true;
	strcpy(auth->name, AUTH_INVITED);
	return NULL;
}

const char *auth_check_control(struct auth *auth, const struct farswap_connect *connect,
			       const struct sockaddr *from, uint32_t qpn)
{
	bool sealed = le32toh(connect->features) & FARSWAP_FEATURE_SEALED;
	const struct auth_client *client;
	unsigned int i;

	memset(auth, 0, sizeof(*auth));
	if (!auths.on)
		return sealed ? "it authenticates itself, but auth is none here" : NULL;
	if (!sealed)
		return "it does not authenticate itself: give it this donor's public key, as in donors=ADDRESS#KEY";
	if (le32toh(connect->features) & FARSWAP_FEATURE_INVITED)
		return auth_check_invited(auth, connect, qpn);
	for (client = auths.clients; client; client = client->next)
		if (!memcmp(client->id, connect->key_id, sizeof(client->id)))
			break;
	if (!client)
		return "its key is not in the configuration: add a line client = NAME key=KEY";
	for (i = 0; i < auths.nr_secrets; i++)
		if (auth_mac_is_right(connect, client->pair_key[i], qpn))
			break;
	if (i == auths.nr_secrets)
		return "its key, or what it takes for this donor's key, is wrong";
	if (client->has_from && !address_in_range(from, &client->from))
		return "its client line has from= with other addresses";
	auth->on = true;
	auth->secret = i;
	memcpy(auth->name, client->name, sizeof(auth->name));
	memcpy(auth->public, client->public, sizeof(auth->public));
	return NULL;
}

const char *auth_check_data(const struct auth *auth, const struct farswap_connect *connect,
			    uint32_t qpn)
{
	if (!auth->on)
		return NULL;
	return auth_mac_is_right(connect, auth->keys.bind, qpn) ? NULL : "wrong MAC";
}

bool auth_is_named(const struct auth *auth, const struct farswap_connect *connect)
{
	return auth->sealed && auth->bind_id == le64toh(connect->session);
}

void auth_accept_data(const struct auth *auth, const struct farswap_connect *connect,
		      struct farswap_accept *accept, uint32_t qpn)
{
	uint8_t data[FARSWAP_MAC_BYTES + sizeof(*accept) + 4];
	uint32_t le = htole32(qpn);

	if (!auth->on)
		return;
	accept->features = htole32(FARSWAP_FEATURE_SEALED);
	memcpy(data, connect->mac, FARSWAP_MAC_BYTES);
	memcpy(data + FARSWAP_MAC_BYTES, accept, sizeof(*accept));
	memcpy(data + FARSWAP_MAC_BYTES + sizeof(*accept), &le, sizeof(le));
	farswap_noise_mac(accept->mac, auth->keys.bind, data, sizeof(data));
}

static void auth_add(struct auth *auth, const void *data, size_t len)
{
	memcpy(auth->prologue + auth->prologue_len, data, len);
	auth->prologue_len += len;
}

void auth_bind(struct auth *auth, const struct farswap_connect *connect,
	       const struct farswap_accept *accept, const uint8_t *client_address,
	       const uint8_t *donor_address, uint32_t client_qpn, uint32_t donor_qpn)
{
	uint32_t numbers[] = { htole32(client_qpn), htole32(donor_qpn) };

	auth->prologue_len = 0;
	auth_add(auth, connect, sizeof(*connect));
	auth_add(auth, accept, sizeof(*accept));
	auth_add(auth, client_address, 16);
	auth_add(auth, donor_address, 16);
	auth_add(auth, numbers, sizeof(numbers));
}

static void auth_sealed_from_now(struct auth *auth)
{
	uint8_t id[FARSWAP_NOISE_MAC_BYTES];
	uint64_t le;

	farswap_noise_mac(id, auth->keys.bind, "session", 7);
	memcpy(&le, id, sizeof(le));
	auth->bind_id = le64toh(le);
	auth->sealed = true;
}

/* Is this the key of the connect request? A client that is invited introduces its key here. */
static bool auth_is_peer(struct auth *auth, const uint8_t *public)
{
	if (auth->invited)
		memcpy(auth->public, public, sizeof(auth->public));
	return !farswap_noise_crypto_differs(public, auth->public, sizeof(auth->public));
}

const char *auth_answer(struct auth *auth, const struct farswap_auth *request,
			struct farswap_authed *answer)
{
	static const uint8_t no_psk[FARSWAP_NOISE_KEY_BYTES], none[8];
	const uint8_t *psk = auth->invited ? auths.invite.secret : no_psk;
	uint8_t payload[8], ephemeral[FARSWAP_NOISE_KEY_BYTES];
	const char *wrong = NULL;
	struct farswap_noise noise;

	wire_init(&answer->hdr, FARSWAP_MSG_AUTHED, le32toh(request->hdr.seq));
	if (auth->invited && !auths.invite.open)
		return "its invitation is used or has expired";
	if (getrandom(ephemeral, sizeof(ephemeral), GRND_NONBLOCK) != sizeof(ephemeral))
		return "no random numbers";
	if (farswap_noise_begin_donor(&noise, auth->prologue, auth->prologue_len,
				      auths.secrets[auth->secret]) ||
	    farswap_noise_read_first(&noise, request->noise, sizeof(request->noise), payload))
		wrong = "the handshake is not for this connection";
	else if (!auth_is_peer(auth, noise.peer))
		wrong = "the handshake has another key than the connect request";
	else if (farswap_noise_write_second(&noise, ephemeral, psk, none, sizeof(none),
					    answer->noise) ||
		 farswap_noise_split(&noise, &auth->keys))
		wrong = "the handshake failed";
	else
		auth_sealed_from_now(auth);
	farswap_noise_end(&noise);
	farswap_noise_crypto_wipe(ephemeral, sizeof(ephemeral));
	return wrong;
}

size_t auth_seal(struct auth *auth, struct farswap_hdr *hdr)
{
	size_t len = le32toh(hdr->length);

	return farswap_noise_seal(&auth->keys.send, hdr, HDR, (uint8_t *)hdr + HDR, len - HDR) ?
		0 : len + TAG;
}

size_t auth_open(struct auth *auth, void *msg, size_t len)
{
	if (len < HDR + TAG || farswap_noise_open(&auth->keys.receive, msg, HDR,
						  (uint8_t *)msg + HDR, len - HDR))
		return 0;
	return len - TAG;
}

void auth_end(struct auth *auth)
{
	farswap_noise_crypto_wipe(auth, sizeof(*auth));
}
