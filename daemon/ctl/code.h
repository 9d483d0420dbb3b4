/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code of an invitation, farswap:ADDRESS#KEY#SECRET.
 */
#ifndef CODE_H
#define CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "key.h"

#define CODE_PREFIX	"farswap:"
#define CODE_ADDRESS	72
#define CODE_MAX	(CODE_ADDRESS + 2 * FARSWAP_NOISE_TEXT_CHARS + 16)

struct code {
	char address[CODE_ADDRESS];			/* as in the donors line */
	struct sockaddr_storage socket;			/* that address */
	char key[FARSWAP_NOISE_TEXT_CHARS + 1];		/* public key of the donor */
	uint8_t donor[FARSWAP_NOISE_KEY_BYTES];		/* the same */
	uint8_t secret[FARSWAP_NOISE_KEY_BYTES];
};

/* Parse a code, without a newline. Return false if it is invalid. */
bool code_parse(struct code *code, const char *text);
/* Write the address of this machine as a donor: at which its RDMA device is reached, or @listen. */
bool code_own_address(char address[CODE_ADDRESS], const struct sockaddr *listen);

#endif
