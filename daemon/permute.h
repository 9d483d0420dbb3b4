/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A keyed permutation: numbers that look random, none of them twice. Regions get their
 * addresses and ids from it, so that a client cannot guess those of others.
 */
#ifndef PERMUTE_H
#define PERMUTE_H

#include <stdint.h>

struct permute {
	uint64_t key[2];
	unsigned int bits;	/* numbers below 2^bits are permuted */
};

/* Choose a random key. @bits: 2 to 64. Return 0 or -errno. */
int permute_init(struct permute *permute, unsigned int bits);
uint64_t permute_number(const struct permute *permute, uint64_t number);
/* Return the number that permute_number() has turned into @permuted. */
uint64_t permute_inverse(const struct permute *permute, uint64_t permuted);

#endif
