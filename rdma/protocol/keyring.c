// SPDX-License-Identifier: GPL-2.0
/*
 * The secret key of this machine is in the keyring .farswap, a key of type logon: user space can
 * set and replace it, but not read it. It is read for each connection, and no program is asked for
 * it, because that program might wait for swap.
 */
#include <keys/user-type.h>
#include <linux/cred.h>
#include <linux/key.h>
#include <linux/uidgid.h>

#include "protocol.h"

#define KEYRING_NAME	".farswap"
#define KEYRING_KEY	"farswap:self"

static struct key *keyring;

/**
 * farswap_rdma_keyring_read() - read the secret key of this machine
 * @secret:	destination, FARSWAP_NOISE_KEY_BYTES
 *
 * Context: may sleep; does not allocate.
 * Return: 0, or -ENOKEY if there is none that is valid.
 */
int farswap_rdma_keyring_read(u8 *secret)
{
	const struct user_key_payload *payload;
	struct key *key;
	key_ref_t ref;
	int err = -ENOKEY;

	ref = keyring_search(make_key_ref(keyring, true), &key_type_logon, KEYRING_KEY, false);
	if (IS_ERR(ref))
		return -ENOKEY;
	key = key_ref_to_ptr(ref);
	down_read(&key->sem);
	payload = user_key_payload_locked(key);
	if (payload && !key_validate(key) &&
	    !farswap_noise_parse_secret(secret, payload->data, payload->datalen))
		err = 0;
	up_read(&key->sem);
	key_ref_put(ref);
	return err;
}

/**
 * farswap_rdma_keyring_init() - make the keyring
 *
 * Return: 0 or -errno.
 */
int __init farswap_rdma_keyring_init(void)
{
	struct key *ring;

	ring = keyring_alloc(KEYRING_NAME, GLOBAL_ROOT_UID, GLOBAL_ROOT_GID, current_cred(),
			     KEY_POS_SEARCH | KEY_USR_VIEW | KEY_USR_READ | KEY_USR_WRITE |
			     KEY_USR_SEARCH, KEY_ALLOC_NOT_IN_QUOTA, NULL, NULL);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	keyring = ring;
	return 0;
}

/**
 * farswap_rdma_keyring_exit() - drop the keyring and the key in it
 */
void farswap_rdma_keyring_exit(void)
{
	key_revoke(keyring);
	key_put(keyring);
}
