/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The invitation of a client that has no client line yet. There is one at a time.
 */
#ifndef INVITE_H
#define INVITE_H

#include <stdbool.h>
#include <stdint.h>

#include "noise.h"

/* Receives the public key of the client that has joined, or NULL if none has in time. */
typedef void (*invite_fn)(void *arg, const char *key);

void invite_init(void);
/*
 * Make an invitation that is valid for @seconds, and write its secret as text. Return -EBUSY if
 * somebody waits for another, -ENOKEY if clients are not authenticated, or another -errno.
 */
int invite_open(uint64_t seconds, char secret[FARSWAP_NOISE_TEXT_CHARS + 1]);
/* Call @fn once, unless invite_cancel() is called before. Return -ENOENT if there is no invitation. */
int invite_wait(invite_fn fn, void *arg);
/* End the invitation. */
void invite_cancel(void);
/*
 * The client @who, with this public key, has proved that it has the secret. Return false if the
 * invitation is used, or if nobody waits for it.
 */
bool invite_joins(void *who, const uint8_t *public);
/* @who ends. */
void invite_leaves(const void *who);
/* Return the client that has joined if its key is in the configuration now, once; or NULL. */
void *invite_settled(void);

#endif
