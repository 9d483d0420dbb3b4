// SPDX-License-Identifier: GPL-2.0
/*
 * The primitives of rdma/noise.c, by libsodium. main() calls sodium_init() first.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "noise.h"

static void noise_nonce(uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], uint64_t number)
{
	uint64_t le = htole64(number);

	memset(nonce, 0, 4);
	memcpy(nonce + 4, &le, sizeof(le));
}

int farswap_noise_crypto_dh(__u8 *out, const __u8 *secret, const __u8 *public)
{
	return crypto_scalarmult_curve25519(out, secret, public) ? -EKEYREJECTED : 0;
}

void farswap_noise_crypto_hash(__u8 *out, const void *data, size_t len)
{
	crypto_hash_sha256(out, data, len);
}

void farswap_noise_crypto_seal(__u8 *out, const __u8 *in, size_t len, const void *header,
			       size_t header_len, __u64 nonce, const __u8 *key)
{
	uint8_t bytes[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

	noise_nonce(bytes, nonce);
	crypto_aead_chacha20poly1305_ietf_encrypt(out, NULL, in, len, header, header_len, NULL,
						  bytes, key);
}

int farswap_noise_crypto_open(__u8 *out, const __u8 *in, size_t len, const void *header,
			      size_t header_len, __u64 nonce, const __u8 *key)
{
	uint8_t bytes[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

	noise_nonce(bytes, nonce);
	return crypto_aead_chacha20poly1305_ietf_decrypt(out, NULL, NULL, in, len, header,
							 header_len, bytes, key) ? -EBADMSG : 0;
}

int farswap_noise_crypto_differs(const void *a, const void *b, size_t len)
{
	return sodium_memcmp(a, b, len) != 0;
}

void farswap_noise_crypto_wipe(void *data, size_t len)
{
	sodium_memzero(data, len);
}
