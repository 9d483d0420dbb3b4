// SPDX-License-Identifier: GPL-2.0
/*
 * A Feistel network of four rounds over SipHash-2-4. It has an even number of bits; a result that
 * is too large for an odd number is permuted again.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/random.h>

#include "permute.h"

#define PERMUTE_ROUNDS	4

static uint64_t permute_rotate(uint64_t word, unsigned int by)
{
	return word << by | word >> (64 - by);
}

static void permute_sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = permute_rotate(v[1], 13) ^ v[0];
	v[0] = permute_rotate(v[0], 32);
	v[2] += v[3];
	v[3] = permute_rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = permute_rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = permute_rotate(v[1], 17) ^ v[2];
	v[2] = permute_rotate(v[2], 32);
}

/* SipHash-2-4 of two words. */
static uint64_t permute_hash(const uint64_t key[2], uint64_t first, uint64_t second)
{
	/* The last word of a message is its length in bytes, in the upper eight bits. */
	const uint64_t message[] = { first, second, 16ULL << 56 };
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ULL,
		key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL,
		key[1] ^ 0x7465646279746573ULL,
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		v[3] ^= message[i];
		permute_sip_round(v);
		permute_sip_round(v);
		v[0] ^= message[i];
	}
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		permute_sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t permute_once(const struct permute *permute, uint64_t number, bool inverse)
{
	unsigned int half = (permute->bits + 1) / 2, i;
	uint64_t mask = (1ULL << half) - 1, left = number >> half, right = number & mask, old;

	for (i = 0; i < PERMUTE_ROUNDS; i++) {
		if (inverse) {
			old = left;
			left = right ^ (permute_hash(permute->key, PERMUTE_ROUNDS - 1 - i, left) &
					mask);
			right = old;
		} else {
			old = right;
			right = left ^ (permute_hash(permute->key, i, right) & mask);
			left = old;
		}
	}
	return left << half | right;
}

static bool permute_is_too_large(const struct permute *permute, uint64_t number)
{
	return permute->bits < 64 && number >> permute->bits;
}

uint64_t permute_number(const struct permute *permute, uint64_t number)
{
	do {
		number = permute_once(permute, number, false);
	} while (permute_is_too_large(permute, number));
	return number;
}

uint64_t permute_inverse(const struct permute *permute, uint64_t permuted)
{
	do {
		permuted = permute_once(permute, permuted, true);
	} while (permute_is_too_large(permute, permuted));
	return permuted;
}

int permute_init(struct permute *permute, unsigned int bits)
{
	permute->bits = bits;
	if (getrandom(permute->key, sizeof(permute->key), 0) != sizeof(permute->key))
		return -EIO;
	return 0;
}
