// SPDX-License-Identifier: GPL-2.0
/*
 * Ciphers, by the kernel's functions. No call allocates, sleeps, or completes later, so that
 * page-ins in softirqs can use them.
 *
 * The kernel's fast "gcm(aes)" on x86 hands a request over to a worker where vector registers are
 * in use. So the algorithm inside it is taken, which always completes at once, and
 * farswap_cipher_usable() tells whether it may be called.
 */
#include <crypto/aead.h>
#include <crypto/chacha20poly1305.h>
#include <crypto/internal/simd.h>
#include <linux/err.h>
#include <linux/kmod.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#include <asm/simd.h>
#endif

#include "slab/cipher.h"

/* The longest tag of AES-GCM that lets an entry of protect.c have 16 bytes. */
#define CIPHER_AES_TAG		12
#define CIPHER_AES_IV		12
/* Algorithms with instructions of their own need no more than this for a request, bytes. */
#define CIPHER_REQUEST		64

/**
 * struct farswap_cipher - a cipher with its key
 * @aead:	the kernel's AES-GCM, or NULL
 * @simd:	@aead may be called only where vector registers may be used
 * @key:	the key of ChaCha20-Poly1305
 */
struct farswap_cipher {
	struct crypto_aead *aead;
	bool simd;
	u8 key[FARSWAP_CIPHER_KEY];
};

/**
 * struct cipher_request - a request to the kernel's AES-GCM
 * @request:	the request
 * @more:	what the algorithm needs in addition
 */
struct cipher_request {
	struct aead_request request;
	u8 more[CIPHER_REQUEST] CRYPTO_MINALIGN_ATTR;
};

static bool cipher_is_fast(struct crypto_aead *aead)
{
	/* The generic template has a name of this form, and would take ten times as long. */
	return strncmp(crypto_tfm_alg_driver_name(crypto_aead_tfm(aead)), "gcm_base(", 9) &&
	       crypto_aead_reqsize(aead) <= CIPHER_REQUEST;
}

/**
 * farswap_cipher_processor_has_aes() - check whether the processor has instructions for AES-GCM
 *
 * The kernel's driver for x86 relies on the second instruction without a check.
 *
 * Context: any.
 * Return: whether it has; false on other architectures, where this is not known.
 */
bool farswap_cipher_processor_has_aes(void)
{
#ifdef CONFIG_X86
	return boot_cpu_has(X86_FEATURE_AES) && boot_cpu_has(X86_FEATURE_PCLMULQDQ);
#else
	return false;
#endif
}

static struct crypto_aead *cipher_find_aes(bool *simd)
{
	struct crypto_aead *aead;

	if (IS_ENABLED(CONFIG_X86)) {
		if (!farswap_cipher_processor_has_aes())
			return ERR_PTR(-ENOENT);
		request_module("aesni_intel");
	}
	*simd = true;
	aead = crypto_alloc_aead("__gcm(aes)", CRYPTO_ALG_INTERNAL, CRYPTO_ALG_INTERNAL);
	if (IS_ERR(aead)) {
		*simd = false;
		aead = crypto_alloc_aead("gcm(aes)", 0, CRYPTO_ALG_ASYNC);
	}
	if (IS_ERR(aead) || cipher_is_fast(aead))
		return aead;
	crypto_free_aead(aead);
	return ERR_PTR(-ENOENT);
}

static int cipher_init_aes(struct farswap_cipher *cipher, const u8 *key)
{
	struct crypto_aead *aead = cipher_find_aes(&cipher->simd);
	int err;

	if (IS_ERR(aead))
		return PTR_ERR(aead);
	err = crypto_aead_setkey(aead, key, FARSWAP_CIPHER_KEY) ?:
	      crypto_aead_setauthsize(aead, CIPHER_AES_TAG);
	if (err) {
		crypto_free_aead(aead);
		return err;
	}
	cipher->aead = aead;
	return 0;
}

/**
 * farswap_cipher_alloc() - allocate a cipher
 * @kind:	which
 * @key:	its key, FARSWAP_CIPHER_KEY bytes
 *
 * Context: may sleep; may load modules.
 * Return: the cipher; ERR_PTR(-ENOENT) if this machine has none of the kind that is fast, or
 * another error.
 */
struct farswap_cipher *farswap_cipher_alloc(enum farswap_cipher_kind kind, const u8 *key)
{
	struct farswap_cipher *cipher = kzalloc(sizeof(*cipher), GFP_KERNEL);
	int err = 0;

	if (!cipher)
		return ERR_PTR(-ENOMEM);
	if (kind == FARSWAP_CIPHER_AES)
		err = cipher_init_aes(cipher, key);
	else
		memcpy(cipher->key, key, FARSWAP_CIPHER_KEY);
	if (!err)
		return cipher;
	kfree(cipher);
	return ERR_PTR(err);
}

/**
 * farswap_cipher_free() - free a cipher, and wipe its key
 * @cipher:	the cipher, or NULL
 *
 * Context: may sleep.
 */
void farswap_cipher_free(struct farswap_cipher *cipher)
{
	if (cipher && cipher->aead)
		crypto_free_aead(cipher->aead);
	kfree_sensitive(cipher);
}

/**
 * farswap_cipher_tag_bytes() - get the size of a tag
 * @cipher:	the cipher
 *
 * Return: it, in bytes.
 */
unsigned int farswap_cipher_tag_bytes(const struct farswap_cipher *cipher)
{
	return cipher->aead ? CIPHER_AES_TAG : CHACHA20POLY1305_AUTHTAG_SIZE;
}

/**
 * farswap_cipher_name() - get the name of a cipher, for the log
 * @cipher:	the cipher
 *
 * Return: it.
 */
const char *farswap_cipher_name(const struct farswap_cipher *cipher)
{
	return cipher->aead ? "AES-256-GCM" : "ChaCha20-Poly1305";
}

/**
 * farswap_cipher_usable() - check whether the cipher may be called here
 * @cipher:	the cipher
 *
 * Context: any.
 * Return: false in a softirq that has interrupted a task that uses vector registers; always true
 * in process context.
 */
bool farswap_cipher_usable(const struct farswap_cipher *cipher)
{
#ifdef CONFIG_X86
	return !cipher->simd || crypto_simd_usable();
#else
	return true;
#endif
}

static int cipher_aes(const struct farswap_cipher *cipher, u64 nonce, void *data,
		      unsigned int bytes, u8 *tag, bool encrypt, bool seal)
{
	u8 iv[CIPHER_AES_IV] = {};
	struct cipher_request memory;
	struct aead_request *request = &memory.request;
	unsigned int text = encrypt ? bytes : 0;
	struct scatterlist sg[2];

	memcpy(iv, &nonce, sizeof(nonce));
	sg_init_table(sg, ARRAY_SIZE(sg));
	sg_set_buf(&sg[0], data, bytes);
	sg_set_buf(&sg[1], tag, CIPHER_AES_TAG);
	aead_request_set_tfm(request, cipher->aead);
	aead_request_set_callback(request, 0, NULL, NULL);
	aead_request_set_ad(request, bytes - text);
	if (!seal)
		text += CIPHER_AES_TAG;
	aead_request_set_crypt(request, sg, sg, text, iv);
	return seal ? crypto_aead_encrypt(request) : crypto_aead_decrypt(request);
}

/* A page that is not encrypted is the associated data of an empty message. */
static int cipher_chacha(const struct farswap_cipher *cipher, u64 nonce, void *data,
			 unsigned int bytes, u8 *tag, bool encrypt, bool seal)
{
	unsigned int text = encrypt ? bytes : 0;
	struct scatterlist sg[2];
	bool good;

	sg_init_table(sg, ARRAY_SIZE(sg));
	sg_set_buf(&sg[0], data, bytes);
	sg_set_buf(&sg[1], tag, CHACHA20POLY1305_AUTHTAG_SIZE);
	if (seal)
		good = chacha20poly1305_encrypt_sg_inplace(encrypt ? sg : &sg[1], text, data,
							   bytes - text, nonce, cipher->key);
	else
		good = chacha20poly1305_decrypt_sg_inplace(encrypt ? sg : &sg[1],
							   text + CHACHA20POLY1305_AUTHTAG_SIZE,
							   data, bytes - text, nonce,
							   cipher->key);
	return good ? 0 : -EBADMSG;
}

/**
 * farswap_cipher_seal() - make the tag of a page, and encrypt the page in its place
 * @cipher:	the cipher
 * @nonce:	a number that was never used with the key
 * @data:	the page
 * @bytes:	size of the page, at most PAGE_SIZE
 * @tag:	gets the tag; not on a stack
 * @encrypt:	false: only make the tag
 *
 * Context: any up to softirq where farswap_cipher_usable() is true.
 * Return: 0 or -errno.
 */
int farswap_cipher_seal(const struct farswap_cipher *cipher, u64 nonce, void *data,
			unsigned int bytes, u8 *tag, bool encrypt)
{
	return cipher->aead ? cipher_aes(cipher, nonce, data, bytes, tag, encrypt, true) :
			      cipher_chacha(cipher, nonce, data, bytes, tag, encrypt, true);
}

/**
 * farswap_cipher_open() - check the tag of a page, and decrypt the page in its place
 * @cipher:	the cipher
 * @nonce:	the number with which the page was sealed
 * @data:	the page
 * @bytes:	size of the page
 * @tag:	the tag; not on a stack
 * @encrypted:	false: the page is not encrypted
 *
 * Context: as farswap_cipher_seal().
 * Return: 0; -EBADMSG if it is not the page that was sealed, and then its contents are undefined.
 */
int farswap_cipher_open(const struct farswap_cipher *cipher, u64 nonce, void *data,
			unsigned int bytes, u8 *tag, bool encrypted)
{
	return cipher->aead ? cipher_aes(cipher, nonce, data, bytes, tag, encrypted, false) :
			      cipher_chacha(cipher, nonce, data, bytes, tag, encrypted, false);
}
