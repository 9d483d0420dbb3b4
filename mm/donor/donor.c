// SPDX-License-Identifier: GPL-2.0
/*
 * A donor: a machine that lends us memory, its session and its state. What it
 * holds for us is slab.c's affair; how it is reached is the transport's.
 *
 * Locking: farswap_main_lock covers the session's opening and closing,
 * farswap_state_lock all that changes with it.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/delay.h>
#include <linux/dmi.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include <trace/events/farswap.h>

#include "donor/placement.h"
#include "internal.h"

#define DONOR_LOOK_MS	20
/* Times a minute that a donor's suspicion is worth a line; the donors file counts. */
#define DONOR_SAYS_BURST	5

unsigned int farswap_donors_nr_live;	/* written under farswap_state_lock */
static DECLARE_WAIT_QUEUE_HEAD(donor_unused);

static uuid_t donor_client_node;	/* this machine */
static work_func_t donor_load_fn;
static u64 donor_client_instance;	/* this load of the module */

const char *const farswap_donor_state_names[FARSWAP_DONOR_STATES] = {
	[FARSWAP_DONOR_CONNECTING]	= "connecting",
	[FARSWAP_DONOR_LIVE]		= "live",
	[FARSWAP_DONOR_SUSPECT]		= "suspect",
	[FARSWAP_DONOR_LEAVING]		= "leaving",
};

/* From the row's state to which others. */
static const u8 donor_moves[FARSWAP_DONOR_STATES] = {
	[FARSWAP_DONOR_CONNECTING]	= BIT(FARSWAP_DONOR_LIVE) |
					  BIT(FARSWAP_DONOR_LEAVING),
	[FARSWAP_DONOR_LIVE]		= BIT(FARSWAP_DONOR_CONNECTING) |
					  BIT(FARSWAP_DONOR_SUSPECT) |
					  BIT(FARSWAP_DONOR_LEAVING),
	[FARSWAP_DONOR_SUSPECT]		= BIT(FARSWAP_DONOR_CONNECTING) |
					  BIT(FARSWAP_DONOR_LIVE) |
					  BIT(FARSWAP_DONOR_LEAVING),
	[FARSWAP_DONOR_LEAVING]		= BIT(FARSWAP_DONOR_CONNECTING) |
					  BIT(FARSWAP_DONOR_LIVE) |
					  BIT(FARSWAP_DONOR_SUSPECT),
};

static bool donor_may_become(enum farswap_donor_state from, enum farswap_donor_state to)
{
	return donor_moves[from] & BIT(to);
}

/* False, with nothing changed, if @state may not follow. */
static bool donor_become(struct farswap_donor *donor, enum farswap_donor_state state)
{
	lockdep_assert_held(&farswap_state_lock);

	if (!donor_may_become(donor->state, state))
		return false;
	if (donor->state == FARSWAP_DONOR_LIVE)
		WRITE_ONCE(farswap_donors_nr_live, farswap_donors_nr_live - 1);
	if (state == FARSWAP_DONOR_LIVE)
		WRITE_ONCE(farswap_donors_nr_live, farswap_donors_nr_live + 1);
	trace_farswap_donor_state(donor->address, farswap_donor_state_names[donor->state],
				  farswap_donor_state_names[state]);
	donor->state = state;
	return true;
}

/**
 * farswap_donor_set_state() - the only writer of donor->state
 * @donor:	the donor
 * @state:	its present state, or one that may follow
 *
 * Context: process context, under farswap_state_lock.
 */
void farswap_donor_set_state(struct farswap_donor *donor, enum farswap_donor_state state)
{
	if (donor->state != state)
		WARN_ON_ONCE(!donor_become(donor, state));
}

static void donor_release(struct kref *ref)
{
	struct farswap_donor *donor = container_of(ref, struct farswap_donor, ref);

	/* Who looks at a mapping may look at its donor. */
	kfree_rcu(donor, rcu);
}

/**
 * farswap_donor_put() - let a donor go
 * @donor:	the donor
 *
 * Context: any.
 */
void farswap_donor_put(struct farswap_donor *donor)
{
	kref_put(&donor->ref, donor_release);
}

/**
 * farswap_donor_note_room() - a donor said whether it has room for a slab
 * @donor:	the donor, in use
 * @free_bytes:	how much memory it could lend
 * @has_room:	a slab fits
 *
 * Context: process context; does not sleep.
 */
void farswap_donor_note_room(struct farswap_donor *donor, u64 free_bytes, bool has_room)
{
	spin_lock(&farswap_state_lock);
	donor->free_bytes = free_bytes;
	donor->is_full = !has_room;
	donor->full_at = jiffies;
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_donor_full_ms() - how long ago did a donor say that it has no room
 * @donor:	the donor
 *
 * Context: process context, under farswap_state_lock.
 * Return: milliseconds; FARSWAP_PLACEMENT_NEVER if it may have room.
 */
u32 farswap_donor_full_ms(const struct farswap_donor *donor)
{
	lockdep_assert_held(&farswap_state_lock);
	return donor->is_full ? jiffies_to_msecs(jiffies - donor->full_at) :
				FARSWAP_PLACEMENT_NEVER;
}

/**
 * farswap_donor_settle() - wait until the end of a session is known that has failed an I/O
 * @donor:	the donor, referenced
 *
 * It is told after that of the I/O; what takes longer than io_timeout_ms is none.
 *
 * Context: may sleep, as long as that.
 */
void farswap_donor_settle(const struct farswap_donor *donor)
{
	unsigned int waited;

	for (waited = 0; waited < READ_ONCE(farswap_settings.io_timeout_ms) &&
	     farswap_donor_works(donor); waited += DONOR_LOOK_MS)
		msleep(DONOR_LOOK_MS);
}

/**
 * farswap_donor_alloc() - a donor without a session
 * @address:	as people write it
 *
 * Context: may sleep.
 * Return: the donor, referenced, or NULL.
 */
struct farswap_donor *farswap_donor_alloc(const char *address)
{
	size_t bytes = strlen(address) + 1;
	struct farswap_donor *donor;

	donor = kzalloc(struct_size(donor, address, bytes), GFP_KERNEL);
	if (!donor)
		return NULL;
	kref_init(&donor->ref);
	INIT_LIST_HEAD(&donor->entry);
	INIT_LIST_HEAD(&donor->mappings);
	INIT_LIST_HEAD(&donor->losing);
	INIT_LIST_HEAD(&donor->uncounted);
	donor->starved_since = jiffies;
	donor->starved_at = jiffies;
	hash_init(donor->mappings_by_id);
	spin_lock_init(&donor->load_lock);
	INIT_LIST_HEAD(&donor->loads);
	INIT_DELAYED_WORK(&donor->load_work, donor_load_fn);
	farswap_window_init(&donor->window);
	ratelimit_state_init(&donor->says, 60 * HZ, DONOR_SAYS_BURST);
	memcpy(donor->address, address, bytes);
	return donor;
}

/**
 * farswap_donor_use() - keep the session from being closed
 * @donor:	live
 *
 * Context: under farswap_state_lock.
 * Return: false if there is no session to use.
 */
bool farswap_donor_use(struct farswap_donor *donor)
{
	lockdep_assert_held(&farswap_state_lock);
	/* It may be live before ->open() has returned. */
	if (donor->state != FARSWAP_DONOR_LIVE || !donor->session)
		return false;
	kref_get(&donor->ref);
	donor->users++;
	return true;
}

/**
 * farswap_donor_unuse() - undo farswap_donor_use()
 * @donor:	the donor
 *
 * Context: any but interrupts.
 */
void farswap_donor_unuse(struct farswap_donor *donor)
{
	spin_lock(&farswap_state_lock);
	if (!--donor->users)
		wake_up_all(&donor_unused);
	spin_unlock(&farswap_state_lock);
	farswap_donor_put(donor);
}

/**
 * farswap_donor_wait_unused() - wait for the last farswap_donor_unuse()
 * @donor:	one that farswap_donor_use() refuses from now on
 *
 * Context: may sleep.
 */
void farswap_donor_wait_unused(struct farswap_donor *donor)
{
	wait_event(donor_unused, !READ_ONCE(donor->users));
}

/**
 * farswap_donor_state_name() - its state
 * @donor:	the donor
 *
 * Return: the name, for people.
 */
const char *farswap_donor_state_name(const struct farswap_donor *donor)
{
	return farswap_donor_state_names[donor->state];
}

/**
 * farswap_donor_client_node() - the identity of this machine
 *
 * Context: any.
 * Return: what donors know it by.
 */
const uuid_t *farswap_donor_client_node(void)
{
	return &donor_client_node;
}

/**
 * farswap_donor_client_instance() - what donors know this load of the module by
 *
 * Context: any.
 * Return: a random number, never 0.
 */
u64 farswap_donor_client_instance(void)
{
	return donor_client_instance;
}

/**
 * farswap_donor_init() - give this machine its identity
 * @load:	the function of a donor's load_work
 */
void farswap_donor_init(work_func_t load)
{
	const char *uuid = dmi_get_system_info(DMI_PRODUCT_UUID);

	donor_load_fn = load;
	if (!uuid || uuid_parse(uuid, &donor_client_node) ||
	    uuid_is_null(&donor_client_node))
		uuid_gen(&donor_client_node);
	donor_client_instance = get_random_u64() ?: 1;
}

/*
 * The transport in use: a module of its own that registers here.
 *
 * Locking: transport_lock covers the pointer. A module that was got stays until
 * it is put.
 */

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

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/donor-kunit.h"
#endif
