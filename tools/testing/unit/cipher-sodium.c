// SPDX-License-Identifier: GPL-2.0
/*
 * The ciphers of mm/slab/cipher.h, by libsodium: ChaCha20-Poly1305 only, since AES-256-GCM of
 * libsodium has no tags of 12 bytes.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <sodium.h>

#include "slab/cipher.h"

struct farswap_cipher {
	u8 key[FARSWAP_CIPHER_KEY];
};

struct farswap_cipher *farswap_cipher_alloc(enum farswap_cipher_kind kind, const u8 *key)
{
	struct farswap_cipher *cipher;

	if (kind != FARSWAP_CIPHER_CHACHA || sodium_init() < 0)
		return ERR_PTR(-ENOENT);
	cipher = kmalloc(sizeof(*cipher), GFP_KERNEL);
	if (!cipher)
		return ERR_PTR(-ENOMEM);
	memcpy(cipher->key, key, sizeof(cipher->key));
	return cipher;
}

void farswap_cipher_free(struct farswap_cipher *cipher)
{
	kfree(cipher);
}

unsigned int farswap_cipher_tag_bytes(const struct farswap_cipher *cipher)
{
	return FARSWAP_CIPHER_TAG;
}

static void cipher_nonce(u8 bytes[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], u64 nonce)
{
	memset(bytes, 0, 4);
	memcpy(bytes + 4, &nonce, sizeof(nonce));
}

int farswap_cipher_seal(const struct farswap_cipher *cipher, u64 nonce, void *data,
			unsigned int bytes, u8 *tag, bool encrypt)
{
	u8 number[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
	unsigned int text = encrypt ? bytes : 0;

	cipher_nonce(number, nonce);
	return crypto_aead_chacha20poly1305_ietf_encrypt_detached(data, tag, NULL, data, text,
								  data, bytes - text, NULL,
								  number, cipher->key);
}

int farswap_cipher_open(const struct farswap_cipher *cipher, u64 nonce, void *data,
			unsigned int bytes, u8 *tag, bool encrypted)
{
	u8 number[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
	unsigned int text = encrypted ? bytes : 0;

	cipher_nonce(number, nonce);
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(data, NULL, data, text, tag,
								  data, bytes - text, number,
								  cipher->key) ? -EBADMSG : 0;
}
