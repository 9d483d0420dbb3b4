// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel module's keyring. A key of type logon can be set there, and replaced, but not read.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keyring.h"

#define KEYRING_NAME	".farswap"
#define KEYRING_KEY	"farswap:self"

/* Return the number of the keyring, or 0 if there is none. */
static long keyring_find(void)
{
	FILE *file = fopen("/proc/keys", "re");
	char *line = NULL, type[16], name[64];
	unsigned long found = 0;
	size_t size = 0;

	while (file && !found && getline(&line, &size, file) >= 0)
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %15s %63[^:]", type, name) == 2 &&
		    !strcmp(type, "keyring") && !strcmp(name, KEYRING_NAME))
			found = strtoul(line, NULL, 16);
	free(line);
	if (file)
		(void)fclose(file);
	return (long)found;
}

/* A link replaces the key of the same name at once; only a key's owner could change it in place. */
static bool keyring_set(long keyring, const char *text)
{
	long key = syscall(SYS_add_key, "logon", KEYRING_KEY, text, FARSWAP_NOISE_SECRET_CHARS,
			   KEY_SPEC_PROCESS_KEYRING);

	return key >= 0 && !syscall(SYS_keyctl, KEYCTL_LINK, key, keyring);
}

int keyring_load(const uint8_t secret[FARSWAP_NOISE_KEY_BYTES], char error[KEY_ERROR_MAX])
{
	char text[FARSWAP_NOISE_SECRET_CHARS + 1] = FARSWAP_NOISE_SECRET_PREFIX;
	long keyring = keyring_find();
	int err = 0;

	if (!keyring)
		return 0;
	farswap_noise_text(text + sizeof(FARSWAP_NOISE_SECRET_PREFIX) - 1, secret);
	if (!keyring_set(keyring, text)) {
		err = -errno;
		snprintf(error, KEY_ERROR_MAX, "the kernel refuses the key: %s; are you root?",
			 strerror(-err));
	}
	farswap_noise_crypto_wipe(text, sizeof(text));
	return err;
}
