// SPDX-License-Identifier: GPL-2.0
/*
 * An invitation lets one client introduce its public key. Its secret is the pre-shared key of the
 * handshake: it is never sent, and without it a connect request is refused after one hash. The
 * invitation lasts as long as farswapctl waits for it, and ends when a client has used it.
 *
 * farswapd may not write its configuration: farswapctl adds the client's line. Only then is the
 * client told that it has joined.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "auth.h"
#include "invite.h"
#include "log.h"
#include "loop.h"

static struct {
	bool open;
	invite_fn fn;			/* NULL: nobody waits */
	void *arg;
	void *joined;			/* its key is not in the configuration yet */
	uint8_t public[FARSWAP_NOISE_KEY_BYTES];	/* its key */
	struct loop_timer expire;
} invite;

/* Tell who waits. */
static void invite_end(const char *key)
{
	invite_fn fn = invite.fn;

	auth_invite(NULL);
	loop_timer_stop(&invite.expire);
	invite.open = false;
	invite.fn = NULL;
	if (fn)
		fn(invite.arg, key);
}

static void invite_expire(void *arg)
{
	(void)arg;
	invite_end(NULL);
}

void invite_init(void)
{
	loop_timer_init(&invite.expire, invite_expire, NULL);
}

int invite_open(uint64_t seconds, char secret[FARSWAP_NOISE_TEXT_CHARS + 1])
{
	uint8_t bytes[FARSWAP_NOISE_KEY_BYTES];

	if (!auth_is_on())
		return -ENOKEY;
	if (invite.fn)
		return -EBUSY;
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != sizeof(bytes))
		return -EIO;
	auth_invite(bytes);
	farswap_noise_text(secret, bytes);
	explicit_bzero(bytes, sizeof(bytes));
	invite.open = true;
	loop_timer_set(&invite.expire, seconds * 1000);
	return 0;
}

int invite_wait(invite_fn fn, void *arg)
{
	if (!invite.open || invite.fn)
		return -ENOENT;
	invite.fn = fn;
	invite.arg = arg;
	return 0;
}

void invite_cancel(void)
{
	invite.fn = NULL;
	invite_end(NULL);
}

bool invite_joins(void *who, const uint8_t *public)
{
	char key[FARSWAP_NOISE_TEXT_CHARS + 1];

	/* Without farswapctl nobody can write the client's line. */
	if (!invite.fn || invite.joined)
		return false;
	invite.joined = who;
	memcpy(invite.public, public, sizeof(invite.public));
	farswap_noise_text(key, public);
	log_info("a client has joined by invitation; its key is %s", key);
	invite_end(key);
	return true;
}

void invite_leaves(const void *who)
{
	if (invite.joined == who)
		invite.joined = NULL;
}

void *invite_settled(void)
{
	void *joined = invite.joined;

	if (!joined || !auth_is_known(invite.public))
		return NULL;
	invite.joined = NULL;
	return joined;
}
