// SPDX-License-Identifier: GPL-2.0
/*
 * The transport in use: a module of its own that registers here.
 *
 * Locking: transport_lock covers the pointer. A module that was got stays until
 * it is put.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/module.h>

#include "internal.h"

/* Connects to the donors, once there is a transport. */
struct work_struct farswap_transport_work;

static DEFINE_MUTEX(transport_lock);
static const struct farswap_transport *transport_registered;

/**
 * farswap_transport_register() - offer a way to reach donors
 * @transport:	the way; must stay until it is unregistered
 *
 * Sessions with the donors that are configured are opened soon after.
 *
 * Context: may sleep.
 * Return: 0, or -EBUSY if there is one already, and the log says so.
 */
int farswap_transport_register(const struct farswap_transport *transport)
{
	int err = 0;

	mutex_lock(&transport_lock);
	if (transport_registered) {
		pr_err("transport %s: not taken, for %s is in use: unload that first\n",
		       transport->name, transport_registered->name);
		err = -EBUSY;
	} else {
		transport_registered = transport;
	}
	mutex_unlock(&transport_lock);
	if (!err)
		schedule_work(&farswap_transport_work);
	return err;
}
EXPORT_SYMBOL_GPL(farswap_transport_register);

/**
 * farswap_transport_unregister() - withdraw it
 * @transport:	what was registered
 *
 * Called from its module's exit, so nobody has it any more.
 *
 * Context: may sleep.
 */
void farswap_transport_unregister(const struct farswap_transport *transport)
{
	mutex_lock(&transport_lock);
	if (!WARN_ON_ONCE(transport_registered != transport))
		transport_registered = NULL;
	mutex_unlock(&transport_lock);
}
EXPORT_SYMBOL_GPL(farswap_transport_unregister);

/**
 * farswap_transport_get() - pin the transport
 *
 * Context: may sleep.
 * Return: the transport, or NULL when there is none.
 */
const struct farswap_transport *farswap_transport_get(void)
{
	const struct farswap_transport *transport;

	mutex_lock(&transport_lock);
	transport = transport_registered;
	if (transport && !try_module_get(transport->owner))
		transport = NULL;
	mutex_unlock(&transport_lock);
	return transport;
}

/**
 * farswap_transport_put() - let it go
 * @transport:	what farswap_transport_get() returned
 */
void farswap_transport_put(const struct farswap_transport *transport)
{
	module_put(transport->owner);
}
