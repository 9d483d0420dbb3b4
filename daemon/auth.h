/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Authentication of sessions: the clients' public keys, and the handshake of each session.
 */
#ifndef AUTH_H
#define AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "noise.h"
#include "wire.h"

#define AUTH_NAME_MAX	32
/* Secret keys of this machine that are valid at the same time, so that it can change its key. */
#define AUTH_SECRETS	2
/* The name of a client that introduces its key. It is not valid for others. */
#define AUTH_INVITED	"(invited)"
/* Connections that may use an invitation. */
#define AUTH_INVITE_TRIES	8

/* A key of a client that may connect. */
struct auth_client {
	struct auth_client *next;
	char name[AUTH_NAME_MAX];
	bool has_from;
	struct address_range from;	/* with @has_from: it must connect from here */
	uint8_t public[FARSWAP_NOISE_KEY_BYTES];
	uint8_t id[FARSWAP_KEY_ID_BYTES];
	/* Keys for the MAC of connect requests, one for each secret. */
	uint8_t pair_key[AUTH_SECRETS][FARSWAP_NOISE_KEY_BYTES];
};

/* The part of a session. Zero: not authenticated. */
struct auth {
	bool on;
	bool invited;		/* the client may only introduce its key */
	char name[AUTH_NAME_MAX];
	uint8_t public[FARSWAP_NOISE_KEY_BYTES];
	unsigned int secret;	/* the one that the client means */
	bool sealed;
	uint8_t prologue[FARSWAP_NOISE_INPUT_MAX];
	size_t prologue_len;
	struct farswap_noise_keys keys;
	uint64_t bind_id;	/* names the session in connect requests */
};

/* Can this be the name of a client? */
bool auth_name_is_valid(const char *name);
/* Return a client with this valid name and this key, or NULL and one line in @error. */
struct auth_client *auth_parse(const char *name, const char *key, char *error, size_t size);

/* These are this machine's secret keys, @nr of them, at most AUTH_SECRETS. */
void auth_init(const uint8_t (*secrets)[FARSWAP_NOISE_KEY_BYTES], unsigned int nr);
/* Is there a secret key? */
bool auth_has_secret(void);
/*
 * Authenticate these clients from now on, and no others. Takes the list over. Return -EINVAL if a key
 * is unusable; then nothing has changed, and the list is the caller's.
 */
int auth_set_clients(struct auth_client *clients);
void auth_free_clients(struct auth_client *clients);
/* Write the public key of this machine as text. Return false if there is none. */
bool auth_public(char text[FARSWAP_NOISE_TEXT_CHARS + 1]);
/* Admit a client that has this secret, so that it introduces its key; NULL: no longer. */
void auth_invite(const uint8_t *secret);
/* Derive from an invitation's secret its id and the key for the MAC of connect requests. */
void auth_invite_keys(const uint8_t *secret, uint8_t id[FARSWAP_KEY_ID_BYTES],
		      uint8_t key[FARSWAP_NOISE_KEY_BYTES]);
/* Compute the MAC of a connect request, which is otherwise complete. */
void auth_sign(struct farswap_connect *connect, const uint8_t *key, uint32_t qpn);
/* May a client connect with this public key? */
bool auth_is_known(const uint8_t *public);
void auth_exit(void);
/* May the client of this session connect with the key that it has shown? */
bool auth_is_allowed(const struct auth *auth);
/* Is authentication required? */
bool auth_is_on(void);

/*
 * Check a connect request for a control queue pair. Return NULL, or what is wrong. @qpn is the
 * number of the client's queue pair.
 */
const char *auth_check_control(struct auth *auth, const struct farswap_connect *connect,
			       const struct sockaddr *from, uint32_t qpn);
const char *auth_check_data(const struct auth *auth, const struct farswap_connect *connect,
			    uint32_t qpn);
/* Does the request name the session? */
bool auth_is_named(const struct auth *auth, const struct farswap_connect *connect);
/* Complete the accept of a data queue pair whose number is @qpn. */
void auth_accept_data(const struct auth *auth, const struct farswap_connect *connect,
		      struct farswap_accept *accept, uint32_t qpn);
/* Bind the handshake of this control connection to these. Addresses have 16 bytes. */
void auth_bind(struct auth *auth, const struct farswap_connect *connect,
	       const struct farswap_accept *accept, const uint8_t *client_address,
	       const uint8_t *donor_address, uint32_t client_qpn, uint32_t donor_qpn);
/* Answer AUTH. Return NULL, or what is wrong. The next message of the session is sealed. */
const char *auth_answer(struct auth *auth, const struct farswap_auth *request,
			struct farswap_authed *answer);
/* Seal a message in place, and return its length with the tag, or 0 after too many. */
size_t auth_seal(struct auth *auth, struct farswap_hdr *hdr);
/* Open a message in place, and return its length without the tag, or 0 if it is not authentic. */
size_t auth_open(struct auth *auth, void *msg, size_t len);
void auth_end(struct auth *auth);

#endif
