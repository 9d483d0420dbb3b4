/* SPDX-License-Identifier: GPL-2.0 */
/*
 * farswapd's half of authentication, in types that both programs have. The functions that return
 * a string return NULL, or what is wrong.
 */
#ifndef UNIT_DONOR_H
#define UNIT_DONOR_H

#include <stddef.h>

int donor_init(const unsigned char *secret, const char *allow);
const char *donor_control(const void *connect, unsigned int client_qpn, unsigned int donor_qpn,
			  const unsigned char *client, const unsigned char *address, void *accept);
const char *donor_auth(const void *msg, size_t len, void *answer);
const char *donor_data(const void *connect, unsigned int client_qpn, unsigned int donor_qpn,
		       void *accept);
size_t donor_open(void *msg, size_t len);
size_t donor_seal(void *msg);

#endif
