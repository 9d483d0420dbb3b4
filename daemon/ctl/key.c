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

int cmd_key(char **args, unsigned int nr)
{
	uint8_t secret[FARSWAP_NOISE_KEY_BYTES], public[FARSWAP_NOISE_KEY_BYTES];
	char path[KEY_PATH_MAX], next[KEY_PATH_MAX], error[KEY_ERROR_MAX];
	char text[FARSWAP_NOISE_TEXT_CHARS + 1];
	bool is_next = nr && !strcmp(args[0], "next");
	struct json json;
	int err;

	if (nr && !is_next && strcmp(args[0], "commit") != 0)
		ctl_fail(CTL_UNKNOWN, "key: invalid word '%s' (next or commit)", args[0]);
	if (sodium_init() < 0)
		ctl_fail(CTL_UNKNOWN, "libsodium does not work here");
	file_path(path, sizeof(path), KEY_FILE);
	file_path(next, sizeof(next), KEY_FILE KEY_NEXT);
	if (nr && !is_next)
		err = key_commit(path, next, secret, error);
	else
		err = key_make(is_next ? next : path, secret, error);
	if (!err && !ctl.root)
		err = is_next ? key_share(next, error) : key_use(path, secret, error);
	if (!err && farswap_noise_public(public, secret)) {
		snprintf(error, sizeof(error), "the key in " KEY_FILE "%s is unusable",
			 is_next ? KEY_NEXT : "");
		err = -EINVAL;
	}
	sodium_memzero(secret, sizeof(secret));
	if (err)
		ctl_fail(CTL_PROBLEM, "%s", error);
	farswap_noise_text(text, public);
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
