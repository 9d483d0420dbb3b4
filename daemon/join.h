/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's half of an invitation: a handshake that introduces its public key. It does no I/O.
 */
#ifndef JOIN_H
#define JOIN_H

#include "auth.h"

struct join {
	uint8_t secret[FARSWAP_NOISE_KEY_BYTES];	/* of this machine */
	uint8_t donor[FARSWAP_NOISE_KEY_BYTES];		/* the donor's public key */
	uint8_t invitation[FARSWAP_NOISE_KEY_BYTES];	/* secret of the invitation */
	struct farswap_noise noise;
	struct auth auth;				/* seals messages after join_second() */
};

/* The parts of the connection that both ends see. Addresses have 16 bytes. */
struct join_path {
	uint8_t client_address[16];
	uint8_t donor_address[16];
	uint32_t client_qpn;
	uint32_t donor_qpn;
};

/* Write the connect request of a queue pair. */
void join_connect(const struct join *join, struct farswap_connect *connect, uint32_t qpn);
/* Write AUTH. Return NULL, or what is wrong with the donor's accept. */
const char *join_first(struct join *join, const struct farswap_connect *connect,
		       const struct farswap_accept *accept, const struct join_path *path,
		       struct farswap_auth *msg);
/* Read AUTHED. Return NULL, or what is wrong. */
const char *join_second(struct join *join, const struct farswap_authed *msg);
void join_end(struct join *join);

#endif
