/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file that holds this machine's secret key.
 */
#ifndef KEY_H
#define KEY_H

#include <stdint.h>

#include "noise.h"

/* The group of farswapd. Only root and this group may read the file. */
#define KEY_GROUP	"farswapd"
/* Appended to the name of the file: the key that will replace it. */
#define KEY_NEXT	".next"
#define KEY_FILE	"/etc/farswap/key"
#define KEY_ERROR_MAX	256
#define KEY_PATH_MAX	256

/* Return 0, or -errno and one line in @error that says what would be right. */
int key_read(const char *path, uint8_t secret[FARSWAP_NOISE_KEY_BYTES],
	     char error[KEY_ERROR_MAX]);
/* Like key_read(), but make the file, and its directory, if there is none. */
int key_make(const char *path, uint8_t secret[FARSWAP_NOISE_KEY_BYTES],
	     char error[KEY_ERROR_MAX]);
/* Let farswapd, which is not root, read the file, if this machine has its group. */
int key_share(const char *path, char error[KEY_ERROR_MAX]);

#endif
