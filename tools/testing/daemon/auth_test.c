// SPDX-License-Identifier: GPL-2.0
/*
 * Who may connect: a client that does all as the module does, and everything it can do wrong.
 */
#include "address.c"
#include "auth.c"
#include "join.c"
#include "wire.c"

#include "tap.h"

#define CLIENT_QPN	0x123456
#define DONOR_QPN	0x654321

static uint8_t donor_secret[32], donor_public[32], client_secret[32], client_public[32];
static const uint8_t client_address[16] = { 10, 0, 0, 1 }, donor_address[16] = { 10, 0, 0, 2 };
static struct farswap_connect request;
static struct farswap_accept answer;
static struct auth auth;
static struct address_range nearby;
static const struct sockaddr *const from = (const struct sockaddr *)&nearby.address;

static struct auth_client *client_of(const char *name, const uint8_t *public)
{
	char error[128], text[FARSWAP_NOISE_TEXT_CHARS + 1];

	farswap_noise_text(text, public);
	return auth_parse(name, text, error, sizeof(error));
}

static void setup(void)
{
	memset(donor_secret, 1, sizeof(donor_secret));
	memset(client_secret, 2, sizeof(client_secret));
	farswap_noise_public(donor_public, donor_secret);
	farswap_noise_public(client_public, client_secret);
	auth_init((const uint8_t (*)[32])donor_secret, 1);
	auth_set_clients(client_of("web1", client_public));
}

/* A connect request as the client with this secret makes it. */
static void connect_as(const uint8_t *secret, const uint8_t *donor, uint32_t qpn)
{
	uint8_t data[sizeof(request) + 4], key[32], public[32];

	wire_init_connect(&request, FARSWAP_CONNECT_CONTROL, 0, 0);
	request.attempt = htole32(9);
	request.features = htole32(FARSWAP_FEATURE_SEALED);
	farswap_noise_public(public, secret);
	farswap_noise_key_id(request.key_id, public);
	farswap_noise_pair_key(key, secret, donor);
	auth_request(data, &request, qpn);
	farswap_noise_mac(request.mac, key, data, sizeof(data));
}

static bool refused(const char *why)
{
	const char *wrong = auth_check_control(&auth, &request, from, CLIENT_QPN);

	return wrong && strstr(wrong, why) && !auth.on;
}

static void test_control(void)
{
	uint8_t other[32];
	size_t i, accepted = 0;

	connect_as(client_secret, donor_public, CLIENT_QPN);
	ok(!auth_check_control(&auth, &request, from, CLIENT_QPN) && auth.on &&
	   !strcmp(auth.name, "web1") && !auth.sealed, "a client with its key");
	for (i = 0; i < sizeof(request); i++) {
		((uint8_t *)&request)[i] ^= 1;
		accepted += !auth_check_control(&auth, &request, from, CLIENT_QPN);
		((uint8_t *)&request)[i] ^= 1;
	}
	ok(!accepted, "a request with a wrong byte");
	connect_as(client_secret, donor_public, CLIENT_QPN + 1);
	ok(refused("is wrong"), "a request that was made for another queue pair");
	memset(other, 3, sizeof(other));
	connect_as(other, donor_public, CLIENT_QPN);
	ok(refused("not in the configuration"), "an unknown key");
	connect_as(other, donor_public, CLIENT_QPN);
	farswap_noise_key_id(request.key_id, client_public);
	ok(refused("is wrong"), "an unknown key by the name of a known one");
	farswap_noise_public(other, other);
	connect_as(client_secret, other, CLIENT_QPN);
	ok(refused("is wrong"), "a client that means another donor");
	wire_init_connect(&request, FARSWAP_CONNECT_CONTROL, 0, 0);
	ok(refused("does not authenticate"), "a client without a key");
	connect_as(client_secret, donor_public, CLIENT_QPN);
	auths.clients->has_from = true;
	address_parse_range("10.0.0.0/24", &auths.clients->from);
	address_parse_range("10.0.1.5", &nearby);
	ok(refused("other addresses"), "a client at an address that is not its own");
	address_parse_range("10.0.0.5", &nearby);
	ok(!auth_check_control(&auth, &request, from, CLIENT_QPN), "a client at one that is");
	auths.clients->has_from = false;
}

/* Bring both sides to where the client has sent AUTH. */
static void begin(struct farswap_noise *noise, struct farswap_auth *first, const uint8_t *secret)
{
	static const uint8_t none[8], ephemeral[32] = { 5 };
	uint8_t prologue[sizeof(request) + sizeof(answer) + 40];
	uint32_t numbers[] = { htole32(CLIENT_QPN), htole32(DONOR_QPN) };

	connect_as(client_secret, donor_public, CLIENT_QPN);
	auth_check_control(&auth, &request, from, CLIENT_QPN);
	wire_init_accept(&answer, FARSWAP_STATUS_OK);
	answer.features = htole32(FARSWAP_FEATURE_SEALED);
	auth_bind(&auth, &request, &answer, client_address, donor_address, CLIENT_QPN, DONOR_QPN);

	memcpy(prologue, &request, sizeof(request));
	memcpy(prologue + sizeof(request), &answer, sizeof(answer));
	memcpy(prologue + sizeof(request) + sizeof(answer), client_address, 16);
	memcpy(prologue + sizeof(request) + sizeof(answer) + 16, donor_address, 16);
	memcpy(prologue + sizeof(request) + sizeof(answer) + 32, numbers, 8);
	farswap_noise_begin_client(noise, prologue, sizeof(prologue), secret, donor_public);
	wire_init(&first->hdr, FARSWAP_MSG_AUTH, 1);
	farswap_noise_write_first(noise, ephemeral, none, sizeof(none), first->noise);
}

static void test_handshake(void)
{
	static const uint8_t no_psk[32];
	struct farswap_noise_keys keys;
	struct farswap_authed second;
	struct farswap_noise noise;
	struct farswap_auth first;
	uint8_t payload[8], other[32], buffer[512];
	struct farswap_map *map = (struct farswap_map *)buffer;

	begin(&noise, &first, client_secret);
	ok(!auth_answer(&auth, &first, &second) && auth.sealed && auth.bind_id &&
	   le16toh(second.hdr.type) == FARSWAP_MSG_AUTHED && le32toh(second.hdr.seq) == 1,
	   "AUTH is answered");
	ok(!farswap_noise_read_second(&noise, no_psk, second.noise, sizeof(second.noise), payload) &&
	   !farswap_noise_split(&noise, &keys), "and the client accepts the answer");
	wire_init(&map->hdr, FARSWAP_MSG_MAP, 7);
	map->slab = htole64(0x1122334455667788ULL);
	farswap_noise_seal(&keys.send, map, 16, buffer + 16, 8);
	ok(le64toh(map->slab) != 0x1122334455667788ULL && auth_open(&auth, map, 40) == 24 &&
	   le64toh(map->slab) == 0x1122334455667788ULL, "a sealed message is opened");
	ok(auth_seal(&auth, &map->hdr) == 40 &&
	   !farswap_noise_open(&keys.receive, map, 16, buffer + 16, 24), "and one is sealed");
	wire_init(&map->hdr, FARSWAP_MSG_PING, 8);
	ok(!auth_open(&auth, map, 16), "a message in clear is not opened");
	ok(!auth_open(&auth, map, 31), "nor one shorter than a tag");

	begin(&noise, &first, client_secret);
	auth.prologue[100] ^= 1;
	ok(auth_answer(&auth, &first, &second) && !auth.sealed, "a relay, between other queue pairs");
	memset(other, 3, sizeof(other));
	begin(&noise, &first, other);
	ok(auth_answer(&auth, &first, &second) && !auth.sealed,
	   "another key than that of the connect request");
	begin(&noise, &first, client_secret);
	first.noise[50] ^= 1;
	ok(auth_answer(&auth, &first, &second) && !auth.sealed, "an altered AUTH");
}

/* A data queue pair, as the client that has these keys requests it. */
static void connect_data(const struct farswap_noise_keys *keys, uint64_t session, uint32_t qpn)
{
	uint8_t data[sizeof(request) + 4];

	wire_init_connect(&request, FARSWAP_CONNECT_DATA, session, 1);
	request.attempt = htole32(9);
	request.features = htole32(FARSWAP_FEATURE_SEALED);
	auth_request(data, &request, qpn);
	farswap_noise_mac(request.mac, keys->bind, data, sizeof(data));
}

static void test_data(void)
{
	struct farswap_noise_keys keys, old;
	struct farswap_authed second;
	struct farswap_noise noise;
	struct farswap_auth first;
	uint8_t data[16 + sizeof(answer) + 4], zero[16] = { 0 };
	size_t i, accepted = 0;
	uint32_t qpn = htole32(DONOR_QPN + 1);

	begin(&noise, &first, client_secret);
	auth_answer(&auth, &first, &second);
	old = auth.keys;
	begin(&noise, &first, client_secret);
	auth_answer(&auth, &first, &second);
	keys = auth.keys;
	connect_data(&keys, auth.bind_id, 77);
	ok(auth_is_named(&auth, &request) && !auth_check_data(&auth, &request, 77),
	   "a data queue pair of the session");
	ok(auth_check_data(&auth, &request, 78), "the same request from another queue pair");
	for (i = 0; i < sizeof(request); i++) {
		((uint8_t *)&request)[i] ^= 1;
		accepted += !auth_check_data(&auth, &request, 77);
		((uint8_t *)&request)[i] ^= 1;
	}
	ok(!accepted, "a request with a wrong byte");
	wire_init_accept(&answer, FARSWAP_STATUS_OK);
	auth_accept_data(&auth, &request, &answer, DONOR_QPN + 1);
	memcpy(data, request.mac, 16);
	memcpy(data + 16, &answer, sizeof(answer));
	memcpy(data + 16 + sizeof(answer) - 16, zero, 16);
	memcpy(data + 16 + sizeof(answer), &qpn, 4);
	ok(!farswap_noise_mac_check(answer.mac, keys.bind, data, sizeof(data)),
	   "the accept has a MAC too");
	connect_data(&old, auth.bind_id, 77);
	ok(auth_check_data(&auth, &request, 77), "a request with the keys of an earlier connection");
	connect_data(&keys, auth.bind_id ^ 1, 77);
	ok(!auth_is_named(&auth, &request), "a request for another session");
	auth.sealed = false;
	connect_data(&keys, auth.bind_id, 77);
	ok(!auth_is_named(&auth, &request), "a session whose handshake is not over has no name");
}

#define KEY	"hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo"

static void wrong_key(const char *key, const char *says)
{
	char error[256] = "";
	struct auth_client *client = auth_parse("web1", key, error, sizeof(error));

	if (!ok(!client && strstr(error, says), "key \"%s\"", key))
		printf("# it said: %s\n", error);
	free(client);
}

static void test_keys(void)
{
	struct auth_client *client;
	char error[256], none[64];

	client = auth_parse("web1", KEY "=", error, sizeof(error));
	ok(client && !strcmp(client->name, "web1") && client->public[0] == 0x85, "a key");
	free(client);
	ok(auth_name_is_valid("web1.example-2_x") && !auth_name_is_valid("") &&
	   !auth_name_is_valid(".x") && !auth_name_is_valid("a/b") && !auth_name_is_valid("-x") &&
	   auth_name_is_valid("a-name-of-thirty-one-characters") &&
	   !auth_name_is_valid("a-name-of-thirty-two-characters-"), "names");
	wrong_key(KEY, "invalid key");
	wrong_key("", "invalid key");
	wrong_key(KEY "= x", "invalid key");
	wrong_key("hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmp=", "invalid key");
	wrong_key("farswap-secret:" KEY "=", "has a secret key");
	auth_exit();
	memset(none, 0, sizeof(none));
	ok(!auth_is_on() && !memcmp(auths.secrets, none, 32), "the secret key is wiped");
	client = client_of("zero", (const uint8_t *)none);
	auth_init((const uint8_t (*)[32])donor_secret, 1);
	ok(auth_set_clients(client) == -EINVAL && !auth_is_on(), "a key that is a point of low order");
	auth_free_clients(client);
	auth_exit();
	wire_init_connect(&request, FARSWAP_CONNECT_CONTROL, 0, 0);
	ok(!auth_check_control(&auth, &request, from, CLIENT_QPN) && !auth.on,
	   "without keys everyone may connect");
	connect_as(client_secret, donor_public, CLIENT_QPN);
	ok(refused("auth is none here"), "but not with a key, which would not be checked");
}

/* Both sides change their keys while the other one still uses the old. */
static void test_rotation(void)
{
	uint8_t secrets[2][32], next[32], client_next[32], public[32];
	struct auth_client *clients;
	struct auth old;

	memcpy(secrets[0], donor_secret, 32);
	memset(secrets[1], 7, 32);
	memset(client_next, 8, 32);
	farswap_noise_public(next, secrets[1]);
	farswap_noise_public(public, client_next);
	auth_init((const uint8_t (*)[32])secrets, 2);
	clients = client_of("web1", client_public);
	clients->next = client_of("web1", public);
	ok(!auth_set_clients(clients) && auth_has_secret(), "two keys on each side");
	connect_as(client_secret, donor_public, CLIENT_QPN);
	ok(!auth_check_control(&auth, &request, from, CLIENT_QPN) && !auth.secret, "both old");
	connect_as(client_secret, next, CLIENT_QPN);
	ok(!auth_check_control(&auth, &request, from, CLIENT_QPN) && auth.secret == 1,
	   "the donor's new one");
	old = auth;
	connect_as(client_next, next, CLIENT_QPN);
	ok(!auth_check_control(&auth, &request, from, CLIENT_QPN) && auth.secret == 1 &&
	   !strcmp(auth.name, old.name), "both new: the same client");
	ok(auth_is_allowed(&old) && auth_is_allowed(&auth), "both may go on");
	auth_set_clients(client_of("web1", public));
	ok(!auth_is_allowed(&old) && auth_is_allowed(&auth), "the old one is denied");
	connect_as(client_secret, next, CLIENT_QPN);
	ok(refused("not in the configuration"), "and does not come back");
	auth_set_clients(NULL);
	ok(auth_is_on() && !auth_is_allowed(&auth), "with nobody allowed nobody is");
	auth_exit();
}

static const struct join_path path = {
	.client_address = { 10, 0, 0, 1 },
	.donor_address = { 10, 0, 0, 2 },
	.client_qpn = CLIENT_QPN,
	.donor_qpn = DONOR_QPN,
};

/* A client with this secret of an invitation, up to its AUTH. Return what the donor says. */
static const char *introduce(struct join *join, uint8_t invitation, struct farswap_auth *first)
{
	const char *wrong;

	memset(join, 0, sizeof(*join));
	memset(join->secret, 0x42, sizeof(join->secret));
	memcpy(join->donor, donor_public, sizeof(join->donor));
	memset(join->invitation, invitation, sizeof(join->invitation));
	join_connect(join, &request, CLIENT_QPN);
	wrong = auth_check_control(&auth, &request, from, CLIENT_QPN);
	wire_init_accept(&answer, FARSWAP_STATUS_OK);
	answer.features = htole32(FARSWAP_FEATURE_SEALED);
	auth_bind(&auth, &request, &answer, client_address, donor_address, CLIENT_QPN, DONOR_QPN);
	join_first(join, &request, &answer, &path, first);
	return wrong;
}

/* A client whose key nobody knows introduces it, if it has the secret of an invitation. */
static void test_invitation(void)
{
	uint8_t secret[32], public[32], buffer[64];
	struct farswap_hdr *hdr = (struct farswap_hdr *)buffer;
	struct farswap_authed second;
	size_t i, accepted = 0, len;
	struct farswap_auth first;
	struct join join;

	memset(secret, 0x11, sizeof(secret));
	auth_init((const uint8_t (*)[32])donor_secret, 1);
	auth_set_clients(client_of("web1", client_public));
	ok(introduce(&join, 0x11, &first), "without an invitation nobody joins");
	auth_invite(secret);
	ok(introduce(&join, 0x12, &first) && !auth.on, "another secret is refused");
	ok(!introduce(&join, 0x11, &first) && auth.on && auth.invited &&
	   !auth_name_is_valid(auth.name), "the invitation's is admitted, with a name that no client has");
	ok(!auth_answer(&auth, &first, &second) && !join_second(&join, &second) && auth.sealed,
	   "the handshake succeeds");
	farswap_noise_public(public, join.secret);
	ok(!memcmp(auth.public, public, sizeof(public)) && !auth_is_known(public) &&
	   auth_is_known(client_public), "the donor learns the client's key");
	wire_init(hdr, FARSWAP_MSG_PING, 2);
	len = auth_seal(&join.auth, hdr);
	ok(len == 32 && auth_open(&auth, buffer, len) == 16, "and both have the same keys");

	auth_invite(secret);
	for (i = 0; i < sizeof(request); i++) {
		join_connect(&join, &request, CLIENT_QPN);
		((uint8_t *)&request)[i] ^= 1;
		accepted += !auth_check_control(&auth, &request, from, CLIENT_QPN);
	}
	join_connect(&join, &request, CLIENT_QPN);
	ok(!accepted && auth_check_control(&auth, &request, from, CLIENT_QPN + 1),
	   "a request with a wrong byte, or of another queue pair, is refused");
	introduce(&join, 0x11, &first);
	auth.prologue[100] ^= 1;
	ok(auth_answer(&auth, &first, &second) && !auth.sealed, "so is a relay");
	/* A donor without the secret, which has the right key. */
	introduce(&join, 0x11, &first);
	auths.invite.secret[0] ^= 1;
	ok(!auth_answer(&auth, &first, &second) && join_second(&join, &second),
	   "the client refuses a donor that does not have the secret");
	auth_invite(secret);
	introduce(&join, 0x11, &first);
	auth_invite(NULL);
	memset(public, 0, sizeof(public));
	ok(auth_answer(&auth, &first, &second) && !auth.sealed &&
	   !memcmp(auths.invite.secret, public, sizeof(public)),
	   "an invitation that has ended is of no use, and its secret is wiped");
	auth_invite(secret);
	for (i = 0; !introduce(&join, 0x11, &first) && i < 100; i++)
		;
	ok(i == AUTH_INVITE_TRIES, "it is not tried without end");
	auth_exit();
}

int main(void)
{
	setup();
	test_control();
	test_handshake();
	test_data();
	test_keys();
	test_rotation();
	test_invitation();
	return tap_done();
}
