// SPDX-License-Identifier: GPL-2.0
/*
 * The module's half of authentication against farswapd's: the same bytes on the network, and what
 * the client refuses.
 */
#include "protocol/auth.c"
#include "protocol/wire.h"

#include <stdio.h>

#include "donor/donor.h"
#include "tap.h"

#define CLIENT_QPN	0x111111
#define DONOR_QPN	0x222222
#define DATA_QPN	0x333333
#define DONOR_DATA_QPN	0x444444

static u8 secret[32], donor_secret[32], donor_public[32];
static struct farswap_auth_state client;
static struct farswap_connect request;
static struct farswap_accept answer;
static struct farswap_auth_path path;

static void setup(void)
{
	char line[64] = "";
	u8 public[32];

	memset(secret, 7, sizeof(secret));
	memset(donor_secret, 9, sizeof(donor_secret));
	farswap_noise_public(donor_public, donor_secret);
	farswap_noise_public(public, secret);
	farswap_noise_text(line + strlen(line), public);
	ok(!donor_init(donor_secret, line), "the donor knows the client");
}

static void begin(const u8 *donor)
{
	farswap_auth_end(&client);
	client.on = true;
	memcpy(client.secret, secret, sizeof(secret));
	memcpy(client.donor, donor, sizeof(client.donor));
	memset(&path, 0, sizeof(path));
	path.client_address[15] = 1;
	path.donor_address[15] = 2;
	path.client_qpn = CLIENT_QPN;
	path.donor_qpn = DONOR_QPN;
	farswap_wire_connect(&request, FARSWAP_CONNECT_CONTROL, 0, 0, 5);
	farswap_auth_connect(&client, &request, CLIENT_QPN);
}

/* The connect request and its accept. Return what is wrong. */
static const char *connect_control(void)
{
	const char *wrong = donor_control(&request, path.client_qpn, path.donor_qpn,
					  path.client_address, path.donor_address, &answer);

	return wrong ?: farswap_auth_accepted(&client, &request, &answer, &path);
}

static const char *shake(struct farswap_authed *authed)
{
	static const u8 ephemeral[32] = { 3 };
	struct farswap_auth msg;
	size_t len = farswap_wire_auth(&msg);

	if (farswap_auth_first(&client, ephemeral, &msg))
		return "no first message";
	return donor_auth(&msg, len, authed);
}

static bool connected(void)
{
	struct farswap_authed authed;

	begin(donor_public);
	return !connect_control() && !shake(&authed) && !farswap_auth_second(&client, &authed);
}

static void test_handshake(void)
{
	struct farswap_authed authed;
	u8 other[32] = { 1 };

	begin(donor_public);
	ok(!connect_control(), "the connect request is accepted");
	ok(!shake(&authed) && le16_to_cpu(authed.hdr.type) == FARSWAP_MSG_AUTHED,
	   "AUTH is answered");
	ok(!memchr_inv(client.secret, 0, 32), "the secret key is wiped");
	ok(!farswap_auth_second(&client, &authed) && client.name, "AUTHED is accepted");

	farswap_noise_public(other, other);
	begin(other);
	ok(connect_control(), "a client that means another donor");
	begin(donor_public);
	path.donor_address[15] = 3;
	connect_control();
	path.donor_address[15] = 2;
	farswap_auth_accepted(&client, &request, &answer, &path);
	ok(shake(&authed), "an address that the sides see differently");
	begin(donor_public);
	connect_control();
	path.donor_qpn++;
	farswap_auth_accepted(&client, &request, &answer, &path);
	ok(shake(&authed), "a relay between two queue pairs");
	begin(donor_public);
	connect_control();
	shake(&authed);
	authed.noise[40] ^= 1;
	ok(farswap_auth_second(&client, &authed), "an altered AUTHED");
	begin(donor_public);
	connect_control();
	answer.features = 0;
	ok(farswap_auth_accepted(&client, &request, &answer, &path),
	   "an accept without authentication");
	begin(donor_public);
	connect_control();
	client.on = false;
	ok(farswap_auth_accepted(&client, &request, &answer, &path),
	   "authentication that was not requested");
	answer.features = 0;
	ok(!farswap_auth_accepted(&client, &request, &answer, &path), "none on either side");
}

static void test_messages(void)
{
	u8 buffer[FARSWAP_MSG_BYTES] __attribute__((aligned(8))), copy[FARSWAP_MSG_BYTES];
	u64 region[FARSWAP_RESUME_REGIONS];
	unsigned int round, wrong = 0;
	size_t len, plain;

	ok(connected(), "connected");
	memset(region, 0x5a, sizeof(region));
	for (round = 0; round < 100; round++) {
		plain = round % 2 ? farswap_wire_bare(buffer, FARSWAP_MSG_PING) :
			farswap_wire_resume(buffer, region, FARSWAP_RESUME_REGIONS, true);
		memcpy(copy, buffer, plain);
		len = plain;
		wrong += farswap_auth_seal(&client, buffer, &len) || len != plain + 16 ||
			 len > FARSWAP_MSG_BYTES;
		wrong += round % 2 == 0 && !memcmp(buffer + 16, copy + 16, plain - 16);
		wrong += donor_open(buffer, len) != plain || memcmp(buffer, copy, plain);
		len = donor_seal(buffer);
		wrong += len != plain + 16 || farswap_auth_open(&client, buffer, &len) ||
			 len != plain || memcmp(buffer, copy, plain);
	}
	ok(!wrong, "messages in both directions, the longest too");
	len = farswap_wire_bare(buffer, FARSWAP_MSG_PING);
	ok(!donor_open(buffer, len), "the donor opens no message in clear");
	ok(farswap_auth_open(&client, buffer, &len) == -EMSGSIZE, "nor does the client");
	len = donor_seal(buffer);
	buffer[12] ^= 1;
	ok(farswap_auth_open(&client, buffer, &len) == -EBADMSG, "a header with another number");
}

static void test_data(void)
{
	struct farswap_auth_path data = { .client_qpn = DATA_QPN, .donor_qpn = DONOR_DATA_QPN };
	struct farswap_auth_state other;
	unsigned int i, accepted = 0;

	connected();
	other = client;
	ok(connected(), "connected");
	farswap_wire_connect(&request, FARSWAP_CONNECT_DATA, client.name, 1, 5);
	farswap_auth_connect(&client, &request, DATA_QPN);
	ok(!donor_data(&request, DATA_QPN, DONOR_DATA_QPN, &answer), "a data queue pair");
	ok(!farswap_auth_accepted(&client, &request, &answer, &data), "its accept");
	data.donor_qpn++;
	ok(farswap_auth_accepted(&client, &request, &answer, &data),
	   "an accept from another queue pair");
	data.donor_qpn--;
	for (i = 0; i < sizeof(answer); i++) {
		((u8 *)&answer)[i] ^= 1;
		accepted += !farswap_auth_accepted(&client, &request, &answer, &data);
		((u8 *)&answer)[i] ^= 1;
	}
	ok(!accepted, "an altered accept");
	request.attempt++;
	ok(donor_data(&request, DATA_QPN, DONOR_DATA_QPN, &answer), "an altered request");
	farswap_wire_connect(&request, FARSWAP_CONNECT_DATA, client.name, 1, 5);
	farswap_auth_connect(&other, &request, DATA_QPN);
	ok(donor_data(&request, DATA_QPN, DONOR_DATA_QPN, &answer),
	   "a request with the keys of an earlier connection");
}

/* A donor reports the identity of another one's run. */
static void test_instance(void)
{
	struct farswap_auth_state without = {}, other = {};
	u64 instance;

	ok(connected(), "connected");
	instance = farswap_auth_instance(&client, 77);
	ok(instance == farswap_auth_instance(&client, 77) &&
	   instance != farswap_auth_instance(&client, 78), "runs differ");
	other = client;
	other.donor[0] ^= 1;
	ok(instance != farswap_auth_instance(&other, 77),
	   "a donor with another key does not pass for the one whose identity it reports");
	ok(farswap_auth_instance(&without, 77) == 77, "without keys its word is taken");
}

int main(void)
{
	setup();
	test_handshake();
	test_messages();
	test_data();
	test_instance();
	return tap_done();
}
