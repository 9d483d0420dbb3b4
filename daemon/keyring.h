/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel module's keyring.
 */
#ifndef KEYRING_H
#define KEYRING_H

#include "key.h"

/*
 * Give the secret key to the module, if it is loaded. Return 0, also if it is not; or -errno and one
 * line in @error.
 */
int keyring_load(const uint8_t secret[FARSWAP_NOISE_KEY_BYTES], char error[KEY_ERROR_MAX]);

#endif
