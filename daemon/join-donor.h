/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Uses an invitation over the network, for farswapctl.
 */
#ifndef JOIN_DONOR_H
#define JOIN_DONOR_H

#include <stdint.h>
#include <sys/socket.h>

/*
 * Introduce the public key of @secret to the donor at this address that has the public key @donor.
 * Return NULL, or what is wrong with the donor.
 */
const char *join_donor(const struct sockaddr *address, const uint8_t *secret,
		       const uint8_t *donor, const uint8_t *invitation);

#endif
