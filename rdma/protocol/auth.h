/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's side of authentication and sealed messages: from keys and bytes to bytes, without
 * verbs, locks or allocation, so that it runs in user space too.
 */
#ifndef FARSWAP_RDMA_AUTH_H
#define FARSWAP_RDMA_AUTH_H

#include <linux/types.h>
#include <uapi/linux/farswap.h>

#include "noise.h"

/**
 * struct farswap_auth_path - what both ends of a connected queue see of it
 * @client_address: address of this machine; an IPv4 address in the form ::ffff:10.0.0.1
 * @donor_address: address of the donor
 * @client_qpn:	number of the queue pair of this machine
 * @donor_qpn:	number of the donor's
 */
struct farswap_auth_path {
	u8 client_address[16];
	u8 donor_address[16];
	u32 client_qpn;
	u32 donor_qpn;
};

/**
 * struct farswap_auth_state - authentication of a connection
 * @on:		both sides authenticate each other; otherwise nothing else is used
 * @sealed:	the handshake is over, and messages are sealed
 * @secret:	secret key of this machine, until the handshake
 * @donor:	public key of the donor
 * @prologue:	what the handshake is bound to
 * @noise:	the handshake
 * @keys:	its result
 * @name:	names the session to data connections, and to the next connection
 */
struct farswap_auth_state {
	bool on;
	bool sealed;
	u8 secret[FARSWAP_NOISE_KEY_BYTES];
	u8 donor[FARSWAP_NOISE_KEY_BYTES];
	u8 prologue[128];
	struct farswap_noise noise;
	struct farswap_noise_keys keys;
	u64 name;
};

int farswap_auth_connect(struct farswap_auth_state *auth, struct farswap_connect *connect,
			 u32 qpn);
const char *farswap_auth_accepted(struct farswap_auth_state *auth,
				  const struct farswap_connect *connect,
				  const struct farswap_accept *accept,
				  const struct farswap_auth_path *path);
int farswap_auth_first(struct farswap_auth_state *auth, const u8 *ephemeral,
		       struct farswap_auth *msg);
int farswap_auth_second(struct farswap_auth_state *auth, const struct farswap_authed *msg);
u64 farswap_auth_instance(const struct farswap_auth_state *auth, u64 instance);
int farswap_auth_seal(struct farswap_auth_state *auth, void *msg, size_t *len);
int farswap_auth_open(struct farswap_auth_state *auth, void *msg, size_t *len);
void farswap_auth_end(struct farswap_auth_state *auth);

#endif /* FARSWAP_RDMA_AUTH_H */
