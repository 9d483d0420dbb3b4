// SPDX-License-Identifier: GPL-2.0
/*
 * The primitives of noise.c, by the kernel's library functions: no allocation, and no sleep.
 */
#include <crypto/chacha20poly1305.h>
#include <crypto/curve25519.h>
#include <crypto/sha2.h>
#include <crypto/utils.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "noise.h"

int farswap_noise_crypto_dh(u8 *out, const u8 *secret, const u8 *public)
{
	return curve25519(out, secret, public) ? 0 : -EKEYREJECTED;
}

void farswap_noise_crypto_hash(u8 *out, const void *data, size_t len)
{
	sha256(data, len, out);
}

void farswap_noise_crypto_seal(u8 *out, const u8 *in, size_t len, const void *header,
			       size_t header_len, u64 nonce, const u8 *key)
{
	chacha20poly1305_encrypt(out, in, len, header, header_len, nonce, key);
}

int farswap_noise_crypto_open(u8 *out, const u8 *in, size_t len, const void *header,
			      size_t header_len, u64 nonce, const u8 *key)
{
	return chacha20poly1305_decrypt(out, in, len, header, header_len, nonce, key) ?
		0 : -EBADMSG;
}

int farswap_noise_crypto_differs(const void *a, const void *b, size_t len)
{
	return !!crypto_memneq(a, b, len);
}

void farswap_noise_crypto_wipe(void *data, size_t len)
{
	memzero_explicit(data, len);
}
