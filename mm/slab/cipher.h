/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ciphers: encrypt and authenticate the pages that donors hold.
 */
#ifndef _FARSWAP_CIPHER_H
#define _FARSWAP_CIPHER_H

#include <linux/types.h>

#define FARSWAP_CIPHER_KEY	32
/* The longest tag of any cipher, bytes. */
#define FARSWAP_CIPHER_TAG	16

/**
 * enum farswap_cipher_kind - the ciphers
 * @FARSWAP_CIPHER_AES:		AES-256-GCM, where the processor has instructions for it
 * @FARSWAP_CIPHER_CHACHA:	ChaCha20-Poly1305, on any processor
 * @FARSWAP_CIPHERS:		number of ciphers
 */
enum farswap_cipher_kind {
	FARSWAP_CIPHER_AES,
	FARSWAP_CIPHER_CHACHA,
	FARSWAP_CIPHERS,
};

struct farswap_cipher;

bool farswap_cipher_processor_has_aes(void);
struct farswap_cipher *farswap_cipher_alloc(enum farswap_cipher_kind kind, const u8 *key);
void farswap_cipher_free(struct farswap_cipher *cipher);
unsigned int farswap_cipher_tag_bytes(const struct farswap_cipher *cipher);
const char *farswap_cipher_name(const struct farswap_cipher *cipher);
bool farswap_cipher_usable(const struct farswap_cipher *cipher);
int farswap_cipher_seal(const struct farswap_cipher *cipher, u64 nonce, void *data,
			unsigned int bytes, u8 *tag, bool encrypt);
int farswap_cipher_open(const struct farswap_cipher *cipher, u64 nonce, void *data,
			unsigned int bytes, u8 *tag, bool encrypted);

#endif /* _FARSWAP_CIPHER_H */
