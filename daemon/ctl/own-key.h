/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key of this machine, for the commands that need it.
 */
#ifndef OWN_KEY_H
#define OWN_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "key.h"

/*
 * Read the secret key, or make it if there is none, and let farswapd read it; with @load also give
 * it to the kernel module. Exits with a one-line message if that fails.
 */
void own_key(uint8_t secret[FARSWAP_NOISE_KEY_BYTES], bool load);
/* Write the public key as text; make the key as own_key() does. */
void own_key_public(char text[FARSWAP_NOISE_TEXT_CHARS + 1]);

#endif
