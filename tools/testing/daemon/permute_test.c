// SPDX-License-Identifier: GPL-2.0
/*
 * The permutation behind the addresses and ids of regions: it is one, its hash is SipHash-2-4, and
 * its numbers depend on the key.
 */
#include "permute.c"

#include <stdlib.h>

#include "tap.h"

/* Each number below 2^bits comes once, and leads back. */
static void test_small(unsigned int bits)
{
	unsigned int i, wrong = 0, twice = 0, size = 1U << bits;
	unsigned char *seen = calloc(1, size);
	struct permute permute;

	if (!seen || permute_init(&permute, bits))
		exit(1);
	for (i = 0; i < size; i++) {
		uint64_t n = permute_number(&permute, i);

		if (n >= size || permute_inverse(&permute, n) != i)
			wrong++;
		else
			twice += seen[n]++;
	}
	ok(!wrong && !twice, "%u bits: every number comes once, and leads back", bits);
	free(seen);
}

static void test_large(unsigned int bits)
{
	struct permute permute, other;
	unsigned int i, wrong = 0, same = 0, follow = 0;
	uint64_t last = 0;

	if (permute_init(&permute, bits) || permute_init(&other, bits))
		exit(1);
	for (i = 1; i < 10000; i++) {
		uint64_t number = (uint64_t)i << 24 | i, n;

		if (bits < 64)
			number = i;
		n = permute_number(&permute, number);
		wrong += permute_inverse(&permute, n) != number || (bits < 64 && n >> bits);
		same += n == permute_number(&other, number);
		follow += n == last + 1;
		last = n;
	}
	ok(!wrong, "%u bits: numbers lead back", bits);
	ok(same < 10 && follow < 10, "they depend on the key, and do not follow each other");
}

int main(void)
{
	/* The reference vector of 16 bytes, 0 to 15, with the key 0 to 15. */
	static const uint64_t key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };

	ok(permute_hash(key, 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL) ==
	   0x3f2acc7f57c29bdbULL, "the hash is SipHash-2-4");
	test_small(2);
	test_small(9);
	test_small(16);
	test_large(33);
	test_large(42);
	test_large(64);
	return tap_done();
}
