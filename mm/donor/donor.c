// SPDX-License-Identifier: GPL-2.0
/*
 * A donor, its session and its state; the identity of this machine; and the registration of the
 * transport. The regions that a donor holds are in slab/.
 *
 * Locking: farswap_main_lock covers opening and closing the session, farswap_state_lock all
 * fields that change with the session. transport_lock covers the registration.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/delay.h>
#include <linux/dmi.h>
#include <linux/module.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include <trace/events/farswap.h>

#include "donor/placement.h"
#include "internal.h"

/* Interval at which farswap_donor_settle() polls the session. */
#define DONOR_LOOK_MS	20
/* Most log lines a minute about one donor's suspicion; the donors file in debugfs counts all. */
#define DONOR_SAYS_BURST	5
/* For this long a donor that returned an altered page is not trusted, jiffies. */
#define DONOR_DISTRUST	(3600 * HZ)

unsigned int farswap_donors_nr_live;	/* written under farswap_state_lock */
static DECLARE_WAIT_QUEUE_HEAD(donor_unused);

static uuid_t donor_client_node;	/* identifies this machine */
static work_func_t donor_load_fn;
static u64 donor_client_instance;	/* identifies this load of the module */

const char *const farswap_donor_state_names[FARSWAP_DONOR_STATES] = {
	[FARSWAP_DONOR_CONNECTING]	= "connecting",
	[FARSWAP_DONOR_LIVE]		= "live",
	[FARSWAP_DONOR_SUSPECT]		= "suspect",
	[FARSWAP_DONOR_LEAVING]		= "leaving",
};

/* The states that may follow each state. */
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

/* Returns false, with nothing changed, if @state may not follow. */
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
 * farswap_donor_set_state() - change the state of a donor
 * @donor:	the donor
 * @state:	its present state, or one that may follow it
 *
 * This is the only function that writes donor->state.
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

	farswap_window_exit(&donor->window);
	/* RCU readers of a mapping may read its donor. */
	kfree_rcu(donor, rcu);
}

/**
 * farswap_donor_put() - drop a reference to a donor
 * @donor:	the donor
 *
 * Context: any.
 */
void farswap_donor_put(struct farswap_donor *donor)
{
	kref_put(&donor->ref, donor_release);
}

/**
 * farswap_donor_note_room() - record whether a donor has room for a slab
 * @donor:	the donor, in use
 * @free_bytes:	memory that it reports it can lend, bytes
 * @has_room:	true if a slab fits
 *
 * Context: process context; does not sleep.
 */
void farswap_donor_note_room(struct farswap_donor *donor, u64 free_bytes, bool has_room)
{
	bool is_new;

	spin_lock(&farswap_state_lock);
	donor->free_bytes = free_bytes;
	donor->is_full = !has_room;
	donor->full_at = jiffies;
	is_new = !has_room && !donor->is_full_logged;
	donor->is_full_logged |= is_new;
	spin_unlock(&farswap_state_lock);
	if (is_new)
		pr_info("donor %s: is full: it has no memory for another slab; a larger memory or a smaller headroom in its farswapd.conf lends more\n",
			donor->address);
}

/**
 * farswap_donor_is_distrusted() - check whether a donor returned an altered page of late
 * @donor:	the donor
 *
 * Context: any.
 * Return: true if it did within the last hour.
 */
bool farswap_donor_is_distrusted(const struct farswap_donor *donor)
{
	return READ_ONCE(donor->altered) &&
	       time_before(jiffies, READ_ONCE(donor->altered_at) + DONOR_DISTRUST);
}

/**
 * farswap_donor_note_altered() - note that a donor returned a page that is not the one stored
 * @donor:	the donor
 *
 * For an hour it gets a slab only if no other donor has room. The log has one line about it.
 *
 * Context: any up to softirq.
 */
void farswap_donor_note_altered(struct farswap_donor *donor)
{
	bool known = farswap_donor_is_distrusted(donor);

	farswap_stat_add(FARSWAP_STAT_LOAD_ALTERED, 1);
	WRITE_ONCE(donor->altered_at, jiffies);
	WRITE_ONCE(donor->altered, true);
	if (!known)
		pr_alert("donor %s: it returned a page that is not the one stored: its memory is bad, or it or the network is hostile; it gets slabs last for an hour\n",
			 donor->address);
}

/**
 * farswap_donor_full_ms() - get the time since a donor reported that it has no room
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
 * farswap_donor_settle() - wait until the failure of a session is known after an I/O error
 * @donor:	the donor, referenced
 *
 * The transport reports a failed session after the I/O that failed with it. If it reports
 * none within io_timeout_ms, the session has not failed.
 *
 * Context: may sleep, for io_timeout_ms.
 */
void farswap_donor_settle(const struct farswap_donor *donor)
{
	unsigned int waited;

	for (waited = 0; waited < READ_ONCE(farswap_settings.io_timeout_ms) &&
	     farswap_donor_works(donor); waited += DONOR_LOOK_MS)
		msleep(DONOR_LOOK_MS);
}

/**
 * farswap_donor_alloc() - allocate a donor without a session
 * @address:	its address, as written in the donors line
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
	farswap_tail_init(&donor->tail);
	if (!farswap_window_init(&donor->window)) {
		kfree(donor);
		return NULL;
	}
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
	ratelimit_state_init(&donor->says, 60 * HZ, DONOR_SAYS_BURST);
	memcpy(donor->address, address, bytes);
	return donor;
}

/**
 * farswap_donor_late() - count a read that was late
 * @donor:	the donor, with a reference on it or on a mapping of it
 * @ns:		the latency
 *
 * Context: any.
 */
void farswap_donor_late(struct farswap_donor *donor, u64 ns)
{
	atomic_inc(&donor->reads_late);
	if (ns > READ_ONCE(donor->tail.slow_ns))
		atomic_inc(&donor->reads_slow);
}

/**
 * farswap_donor_use() - prevent a donor's session from being closed
 * @donor:	the donor
 *
 * Context: under farswap_state_lock.
 * Return: false if the donor is not live or has no session.
 */
bool farswap_donor_use(struct farswap_donor *donor)
{
	lockdep_assert_held(&farswap_state_lock);
	/* A donor may become live before ->open() has returned the session. */
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
 * @donor:	a donor for which farswap_donor_use() fails from now on
 *
 * Context: may sleep.
 */
void farswap_donor_wait_unused(struct farswap_donor *donor)
{
	wait_event(donor_unused, !READ_ONCE(donor->users));
}

/**
 * farswap_donor_state_name() - get the name of a donor's state
 * @donor:	the donor
 *
 * Return: the name, as debugfs prints it.
 */
const char *farswap_donor_state_name(const struct farswap_donor *donor)
{
	return farswap_donor_state_names[donor->state];
}

/**
 * farswap_donor_client_node() - get the identity of this machine
 *
 * Context: any.
 * Return: the UUID by which donors identify it.
 */
const uuid_t *farswap_donor_client_node(void)
{
	return &donor_client_node;
}

/**
 * farswap_donor_client_instance() - get the identity of this load of the module
 *
 * Context: any.
 * Return: a random number, never 0, by which donors identify it.
 */
u64 farswap_donor_client_instance(void)
{
	return donor_client_instance;
}

/**
 * farswap_donor_init() - initialise the identity of this machine and of this load
 * @load:	function of a donor's load_work
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
 * The transport: a module that implements sessions with donors and registers here. At most one
 * is registered.
 *
 * Locking: transport_lock covers the pointer. farswap_transport_get() holds a reference on the
 * module until farswap_transport_put().
 */

/* Connects to the donors once a transport is registered. */
struct work_struct farswap_transport_work;

static DEFINE_MUTEX(transport_lock);
static const struct farswap_transport *transport_registered;

/**
 * farswap_region_hash() - hash a donor's name for a region
 * @id:		the name
 *
 * Donors choose the names. With a key that they don't know they can't make all share a bucket of a
 * table, which would make each search as long as the table.
 *
 * Context: any.
 * Return: the key for a table of names.
 */
u64 farswap_region_hash(u64 id)
{
	static siphash_key_t key;

	get_random_once(&key, sizeof(key));
	return siphash_1u64(id, &key);
}
EXPORT_SYMBOL_GPL(farswap_region_hash);

/**
 * farswap_transport_register() - register a transport
 * @transport:	the transport; it must stay valid until it is unregistered
 *
 * Sessions with the configured donors are opened asynchronously.
 *
 * Context: may sleep.
 * Return: 0, or -EBUSY, with a line in the log, if another one is registered.
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
 * farswap_transport_unregister() - unregister a transport
 * @transport:	the registered transport
 *
 * Its module calls this on exit, so no reference is held any more.
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
 * farswap_transport_get() - get a reference to the transport
 *
 * Context: may sleep.
 * Return: the transport, or NULL if none is registered.
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
 * farswap_transport_put() - drop a reference to the transport
 * @transport:	result of farswap_transport_get()
 */
void farswap_transport_put(const struct farswap_transport *transport)
{
	module_put(transport->owner);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/donor-kunit.h"
#endif
