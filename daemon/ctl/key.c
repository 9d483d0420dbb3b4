// SPDX-License-Identifier: GPL-2.0
/*
 * The key of this machine: made if there is none, given to the kernel module, and its public
 * half printed. It is changed in two steps, so that the other machines can learn the next one.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "ctl.h"
#include "keyring.h"
#include "own-key.h"

/* Give the key to those who use it. */
static int key_use(const char *path, const uint8_t secret[FARSWAP_NOISE_KEY_BYTES],
		   char error[KEY_ERROR_MAX])
{
	int err = key_share(path, error);

	return err ? err : keyring_load(secret, error);
}

/* The next key becomes the key. */
static int key_commit(const char *path, const char *next, uint8_t secret[FARSWAP_NOISE_KEY_BYTES],
		      char error[KEY_ERROR_MAX])
{
	int err = key_read(next, secret, error);

	if (err == -ENOENT)
		snprintf(error, KEY_ERROR_MAX, "there is no next key: make it with farswapctl key next");
	if (!err && rename(next, path)) {
		err = -errno;
		snprintf(error, KEY_ERROR_MAX, "the key cannot be replaced: %s", strerror(errno));
	}
	return err;
}

void own_key(uint8_t secret[FARSWAP_NOISE_KEY_BYTES], bool load)
{
	char path[KEY_PATH_MAX], error[KEY_ERROR_MAX];
	int err;

	file_path(path, sizeof(path), KEY_FILE);
	err = key_make(path, secret, error);
	if (!err && !ctl.root)
		err = load ? key_use(path, secret, error) : key_share(path, error);
	if (err)
		ctl_fail(CTL_PROBLEM, "%s", error);
}

/* Write the public key of @secret, which KEY_FILE with @suffix contains, as text; wipe @secret. */
static void key_text(uint8_t secret[FARSWAP_NOISE_KEY_BYTES], const char *suffix,
		     char text[FARSWAP_NOISE_TEXT_CHARS + 1])
{
	uint8_t public[FARSWAP_NOISE_KEY_BYTES];
	int err = farswap_noise_public(public, secret);

	sodium_memzero(secret, FARSWAP_NOISE_KEY_BYTES);
	if (err)
		ctl_fail(CTL_PROBLEM, "the key in " KEY_FILE "%s is unusable", suffix);
	farswap_noise_text(text, public);
}

void own_key_public(char text[FARSWAP_NOISE_TEXT_CHARS + 1])
{
	uint8_t secret[FARSWAP_NOISE_KEY_BYTES];

	own_key(secret, false);
	key_text(secret, "", text);
}

/* Create the next key, or make the next key the key of this machine. */
static void key_change(bool is_next, uint8_t secret[FARSWAP_NOISE_KEY_BYTES])
{
	char path[KEY_PATH_MAX], next[KEY_PATH_MAX], error[KEY_ERROR_MAX];
	int err;

	file_path(path, sizeof(path), KEY_FILE);
	file_path(next, sizeof(next), KEY_FILE KEY_NEXT);
	err = is_next ? key_make(next, secret, error) : key_commit(path, next, secret, error);
	if (!err && !ctl.root)
		err = is_next ? key_share(next, error) : key_use(path, secret, error);
	if (err)
		ctl_fail(CTL_PROBLEM, "%s", error);
}

int cmd_key(char **args, unsigned int nr)
{
	uint8_t secret[FARSWAP_NOISE_KEY_BYTES];
	char text[FARSWAP_NOISE_TEXT_CHARS + 1];
	bool is_next = nr && !strcmp(args[0], "next");
	struct json json;

	if (nr && !is_next && strcmp(args[0], "commit") != 0)
		ctl_fail(CTL_UNKNOWN, "key: invalid word '%s' (next or commit)", args[0]);
	if (sodium_init() < 0)
		ctl_fail(CTL_UNKNOWN, "libsodium does not work here");
	if (nr)
		key_change(is_next, secret);
	else
		own_key(secret, true);
	key_text(secret, is_next ? KEY_NEXT : "", text);
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_string(&json, "public_key", text);
		json_end(&json);
	} else {
		puts(text);
	}
	return CTL_OK;
}
