// SPDX-License-Identifier: GPL-2.0
/*
 * Cycles that the ciphers of pages take on this machine, by OpenSSL:
 *
 *	cipher [SECONDS]
 *
 * Prints for each cipher, sealing and opening, in memory that is cached and that is not, the median
 * of the cycles and of the nanoseconds of a page of 4096 bytes. The kernel has its own code of
 * these algorithms.
 */
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "sort.h"

#define PAGE		4096
#define TAG		16
#define RUNS		200000

/* Pages that are used in turn: these fit into a cache, or do not. */
static const unsigned int sizes[] = { 8, 16384 };
static const char *const where[] = { "cached", "not cached" };

static uint8_t *pages, *sealed, *tags;
static uint8_t key[32];
static EVP_CIPHER_CTX *contexts[2];	/* to seal, and to open */
static uint32_t cycles[RUNS];

static bool use(const EVP_CIPHER *cipher)
{
	int i;

	for (i = 0; i < 2; i++) {
		EVP_CIPHER_CTX_free(contexts[i]);
		contexts[i] = EVP_CIPHER_CTX_new();
		if (!contexts[i] || !EVP_CipherInit_ex(contexts[i], cipher, NULL, key, NULL, !i))
			return false;
	}
	return true;
}

/* Seal from one page to another, as a store does, or open in place, as a load does. */
static bool run(bool seal, unsigned int page, uint64_t number)
{
	uint8_t *to = sealed + (size_t)page * PAGE, *from = seal ? pages + (size_t)page * PAGE : to;
	uint8_t *tag = tags + (size_t)page * TAG, nonce[12] = { 0 };
	EVP_CIPHER_CTX *context = contexts[!seal];
	int len;

	memcpy(nonce, &number, sizeof(number));
	if (!EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, -1))
		return false;
	if (!seal && !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG, tag))
		return false;
	if (!EVP_CipherUpdate(context, to, &len, from, PAGE) || len != PAGE ||
	    EVP_CipherFinal_ex(context, to + PAGE, &len) <= 0)
		return false;
	return !seal || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG, tag);
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec + at.tv_nsec * 1e-9;
}

/* Measure one of both; the other one is done in between. */
static bool measure(const char *name, bool seal, unsigned int nr, double seconds)
{
	double begun = now(), end = begun + seconds;
	uint64_t number = 0, tsc = __rdtsc();
	unsigned int n = 0, i;
	bool good = true;

	while (now() < end && n < RUNS) {
		for (i = 0; i < nr && !seal; i++)
			good &= run(true, i, number + i);
		for (i = 0; i < nr && n < RUNS; i++) {
			uint64_t start = __rdtsc();

			good &= run(seal, i, number + i);
			cycles[n++] = (uint32_t)(__rdtsc() - start);
		}
		number += nr;
	}
	sort(cycles, n);
	printf("%-18s %-5s %-11s %6u cycles  %5.0f ns\n", name, seal ? "seal" : "open",
	       where[nr != sizes[0]], cycles[n / 2],
	       cycles[n / 2] * (now() - begun) * 1e9 / (double)(__rdtsc() - tsc));
	return good;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "AES-256-GCM", "ChaCha20-Poly1305" };
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	size_t bytes = (size_t)sizes[1] * PAGE;
	bool good;
	int i;

	pages = aligned_alloc(PAGE, bytes);
	sealed = aligned_alloc(PAGE, bytes + PAGE);
	tags = malloc((size_t)sizes[1] * TAG);
	good = pages && sealed && tags && RAND_bytes(key, sizeof(key)) == 1;
	if (good)
		memset(pages, 0x5a, bytes);
	if (good)
		memset(sealed, 0, bytes + PAGE);
	for (i = 0; i < 8 && good; i++) {
		if (!(i & 3))
			good = use(i & 4 ? EVP_chacha20_poly1305() : EVP_aes_256_gcm());
		good = good && measure(names[i / 4], !(i & 1), sizes[(i & 2) / 2], seconds);
	}
	if (!good)
		fputs("cipher: a page was not sealed and opened\n", stderr);
	return !good;
}
