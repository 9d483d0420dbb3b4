// SPDX-License-Identifier: GPL-2.0
/*
 * The donor's half of authentication, with farswapd's code and libsodium, for auth_test.c.
 */
#include "address.c"
#include "auth.c"
#include "wire.c"

#include "donor.h"

static struct auth donor;

int donor_init(const unsigned char *secret, const char *allow)
{
	char error[256];
	struct auth_client *client = auth_parse("client", allow, error, sizeof(error));

	auth_init((const uint8_t (*)[FARSWAP_NOISE_KEY_BYTES])secret, 1);
	return client ? auth_set_clients(client) : -1;
}

const char *donor_control(const void *connect, unsigned int client_qpn, unsigned int donor_qpn,
			  const unsigned char *client, const unsigned char *address, void *accept)
{
	const char *wrong;

	if (wire_check_connect(connect, sizeof(struct farswap_connect)) != WIRE_OK)
		return "malformed";
	wrong = auth_check_control(&donor, connect, NULL, client_qpn);
	if (wrong)
		return wrong;
	wire_init_accept(accept, FARSWAP_STATUS_OK);
	((struct farswap_accept *)accept)->features = htole32(FARSWAP_FEATURE_SEALED);
	auth_bind(&donor, connect, accept, client, address, client_qpn, donor_qpn);
	return NULL;
}

const char *donor_auth(const void *msg, size_t len, void *answer)
{
	if (wire_check(msg, len, WIRE_TO_DONOR) != WIRE_OK)
		return "malformed";
	return auth_answer(&donor, msg, answer);
}

const char *donor_data(const void *connect, unsigned int client_qpn, unsigned int donor_qpn,
		       void *accept)
{
	if (wire_check_connect(connect, sizeof(struct farswap_connect)) != WIRE_OK)
		return "malformed";
	if (!auth_is_named(&donor, connect))
		return "another session";
	if (auth_check_data(&donor, connect, client_qpn))
		return "wrong MAC";
	wire_init_accept(accept, FARSWAP_STATUS_OK);
	auth_accept_data(&donor, connect, accept, donor_qpn);
	return NULL;
}

size_t donor_open(void *msg, size_t len)
{
	return auth_open(&donor, msg, len);
}

size_t donor_seal(void *msg)
{
	return auth_seal(&donor, msg);
}
