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
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "donor/placement.h"

#define DONOR_LOOK_MS	20
/* Times a minute that a donor's suspicion is worth a line; the donors file counts. */
#define DONOR_SAYS_BURST	5

static unsigned int donors_nr_live;	/* written under farswap_state_lock */
static DECLARE_WAIT_QUEUE_HEAD(donor_unused);

static uuid_t donor_client_node;	/* this machine */
static u64 donor_client_instance;	/* this load of the module */

static const char *const donor_state_names[] = {
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
		WRITE_ONCE(donors_nr_live, donors_nr_live - 1);
	if (state == FARSWAP_DONOR_LIVE)
		WRITE_ONCE(donors_nr_live, donors_nr_live + 1);
	trace_farswap_donor_state(donor->address, donor_state_names[donor->state],
				  donor_state_names[state]);
	donor->state = state;
	return true;
}

/* The only writer of donor->state. */
static void donor_set_state(struct farswap_donor *donor,
			    enum farswap_donor_state state)
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
 * farswap_donors_live() - is there a donor to map slabs at
 *
 * Context: any.
 * Return: whether there is.
 */
bool farswap_donors_live(void)
{
	return READ_ONCE(donors_nr_live);
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

/* One line for each two donors that report the same machine. */
static void donor_note_neighbour(struct farswap_donor *donor)
{
	struct farswap_donor *other = farswap_donors_find_neighbour(donor);
	const u8 *node = donor->peer.node;

	lockdep_assert_held(&farswap_state_lock);
	if (!other || !memcmp(donor->shared_node, node, sizeof(donor->shared_node)))
		return;
	memcpy(donor->shared_node, node, sizeof(donor->shared_node));
	memcpy(other->shared_node, node, sizeof(other->shared_node));
	pr_warn("donors %s and %s report the same machine: no page has replicas on both; if they are two machines, see \"Virtual machines\" in the farswap guide\n",
		donor->address, other->address);
}

static void donor_up(void *ctx, const struct farswap_peer *peer)
{
	struct farswap_donor *donor = ctx;
	const struct farswap_donor *twin;
	bool is_up;

	spin_lock(&farswap_state_lock);
	donor->peer = *peer;
	WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_WORKS);
	donor->epoch++;
	donor->nr_early = 0;
	donor->last_error = 0;
	donor->is_full = false;
	twin = farswap_donors_find_live(peer);
	/* It may have been asked to leave by now. */
	is_up = donor->state == FARSWAP_DONOR_CONNECTING && !twin;
	if (is_up) {
		donor_set_state(donor, FARSWAP_DONOR_LIVE);
		donor_note_neighbour(donor);
	}
	if (twin)
		pr_err("donor %s: is the same farswapd as %s, and is used only when that fails; name each donor once\n",
		       donor->address, twin->address);
	spin_unlock(&farswap_state_lock);
	if (!is_up)
		return;
	farswap_stat_add(FARSWAP_STAT_DONOR_UP, 1);
	pr_info("donor %s: up\n", donor->address);
}

/* Is it the session that is used with its daemon? */
static bool donor_has_peer(const struct farswap_donor *donor)
{
	return donor->state == FARSWAP_DONOR_LIVE ||
	       donor->state == FARSWAP_DONOR_SUSPECT;
}

/* The session is not usable any more, but the same daemon's other one may be. */
static void donor_retire(struct farswap_donor *donor, enum farswap_donor_state state)
{
	struct farswap_donor *spare;

	lockdep_assert_held(&farswap_state_lock);
	if (!donor_has_peer(donor)) {
		donor_set_state(donor, state);
		return;
	}
	donor_set_state(donor, state);
	spare = farswap_donors_find_spare(&donor->peer);
	if (!spare)
		return;
	donor_set_state(spare, FARSWAP_DONOR_LIVE);
	farswap_stat_add(FARSWAP_STAT_DONOR_UP, 1);
	pr_info("donor %s: up, instead of %s\n", spare->address, donor->address);
}

static void donor_down(void *ctx, int error)
{
	struct farswap_donor *donor = ctx;
	bool was_up;

	spin_lock(&farswap_state_lock);
	was_up = donor_has_peer(donor);
	/* A region that is being mapped now is of this session: see slab_mapped(). */
	donor->epoch++;
	donor->last_error = error;
	WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_NONE);
	if (was_up) {
		donor->downs++;
		donor->down_at = jiffies;
		donor_retire(donor, FARSWAP_DONOR_CONNECTING);
	}
	spin_unlock(&farswap_state_lock);
	farswap_slabs_lose(donor);
	farswap_load_kick(donor);
	farswap_slabs_count_lost(donor);
	if (!was_up)
		return;
	farswap_stat_add(FARSWAP_STAT_DONOR_DOWN, 1);
	pr_warn("donor %s: down (%d): its pages are read from the swap device\n",
		donor->address, error);
}

/* No slab is lost yet, and none is mapped there. Its daemon's spare has to wait. */
static void donor_suspended(void *ctx, int error)
{
	struct farswap_donor *donor = ctx;
	struct farswap_mapping *mapping;
	bool was_live;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(mapping, &donor->mappings, donor_entry)
		farswap_eviction_suspend(mapping);
	was_live = donor->state == FARSWAP_DONOR_LIVE;
	WRITE_ONCE(donor->suspect_at, jiffies);
	WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_SUSPENDED);
	donor->last_error = error;
	donor->taken = 0;
	/* Pairs with load_note(), which reads @suspects before @io, without the lock. */
	smp_wmb();
	WRITE_ONCE(donor->suspects, donor->suspects + 1);
	if (was_live) {
		donor->down_at = jiffies;
		donor_set_state(donor, FARSWAP_DONOR_SUSPECT);
	}
	spin_unlock(&farswap_state_lock);
	farswap_sweep_soon();
	donor->said = was_live && __ratelimit(&donor->says);
	if (donor->said)
		pr_warn("donor %s: suspect (%d): its pages are read from the swap device, for grace_ms at most\n",
			donor->address, error);
}

/* It was short of memory, or waited in vain, before it was heard again. */
static void donor_lost(void *ctx, u64 id)
{
	struct farswap_donor *donor = ctx;

	spin_lock(&farswap_state_lock);
	donor->taken++;
	farswap_slabs_lose_one(donor, id);
	spin_unlock(&farswap_state_lock);
	farswap_slabs_count_lost(donor);
}

/* One that was not used may be all that is left of its daemon's. */
static void donor_resumed(void *ctx)
{
	struct farswap_donor *donor = ctx;
	bool was_suspect, is_left;
	unsigned int taken;

	spin_lock(&farswap_state_lock);
	was_suspect = donor->state == FARSWAP_DONOR_SUSPECT;
	is_left = donor->state == FARSWAP_DONOR_CONNECTING &&
		  !farswap_donors_find_live(&donor->peer);
	WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_WORKS);
	donor->last_error = 0;
	taken = donor->taken;
	if (was_suspect)
		donor->resumes++;
	if (was_suspect || is_left)
		donor_set_state(donor, FARSWAP_DONOR_LIVE);
	spin_unlock(&farswap_state_lock);
	farswap_load_kick(donor);
	if (is_left) {
		farswap_stat_add(FARSWAP_STAT_DONOR_UP, 1);
		pr_info("donor %s: up\n", donor->address);
	} else if (was_suspect && donor->said) {
		pr_info("donor %s: goes on\n", donor->address);
	}
	if (taken && __ratelimit(&donor->says))
		pr_warn("donor %s: has taken %u of its regions back meanwhile: their pages are read from the swap device\n",
			donor->address, taken);
}

static void donor_evict(void *ctx, u64 id, u32 deadline_ms)
{
	farswap_eviction_begin(ctx, id, deadline_ms);
}

static u32 donor_activity(void *ctx, u64 id)
{
	return farswap_slab_activity(ctx, id);
}

static const struct farswap_session_ops donor_session_ops = {
	.up		= donor_up,
	.down		= donor_down,
	.suspended	= donor_suspended,
	.lost		= donor_lost,
	.resumed	= donor_resumed,
	.evict		= donor_evict,
	.activity	= donor_activity,
};

/**
 * farswap_donor_open() - take a transport and begin to connect
 * @donor:	without a session
 *
 * Context: under farswap_main_lock; may sleep.
 * Return: 0, -ENODEV if there is no transport, or the transport's error.
 */
int farswap_donor_open(struct farswap_donor *donor)
{
	const struct farswap_session_params params = {
		.slab_bytes	= (u64)farswap_settings.slab_mb << 20,
		.node		= donor_client_node.b,
		.instance	= donor_client_instance,
	};
	const struct farswap_transport *transport;
	struct farswap_session *session;

	lockdep_assert_held(&farswap_main_lock);
	transport = farswap_transport_get();
	if (!transport)
		return -ENODEV;

	spin_lock(&farswap_state_lock);
	donor_set_state(donor, FARSWAP_DONOR_CONNECTING);
	spin_unlock(&farswap_state_lock);
	donor->transport = transport;
	farswap_settings_tell(transport);
	session = transport->open(donor->address, &params, &donor_session_ops,
				  donor);
	if (IS_ERR(session)) {
		pr_warn("donor %s: no session: %ld\n", donor->address,
			PTR_ERR(session));
		farswap_transport_put(transport);
		return PTR_ERR(session);
	}
	spin_lock(&farswap_state_lock);
	donor->session = session;
	spin_unlock(&farswap_state_lock);
	return 0;
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

/* It can't leave yet: it is what it would be if nobody had asked it to. */
static void donor_stay(struct farswap_donor *donor)
{
	enum farswap_donor_state state = FARSWAP_DONOR_CONNECTING;

	lockdep_assert_held(&farswap_state_lock);
	if (!farswap_donors_find_live(&donor->peer)) {
		if (donor->io == FARSWAP_DONOR_IO_WORKS)
			state = FARSWAP_DONOR_LIVE;
		else if (donor->io == FARSWAP_DONOR_IO_SUSPENDED)
			state = FARSWAP_DONOR_SUSPECT;
	}
	donor_set_state(donor, state);
}

/**
 * farswap_donor_close() - give everything back and end the session
 * @donor:	with a session or without
 *
 * Context: under farswap_main_lock; may sleep, until what is in flight ends.
 * Return: 0, or -ENOMEM if pages that only the donor has could not be read for want of memory for
 * the adapter: then the donor is used as before.
 */
int farswap_donor_close(struct farswap_donor *donor)
{
	int err;

	lockdep_assert_held(&farswap_main_lock);
	if (!donor->session)
		return 0;

	spin_lock(&farswap_state_lock);
	donor_retire(donor, FARSWAP_DONOR_LEAVING);
	spin_unlock(&farswap_state_lock);
	wait_event(donor_unused, !READ_ONCE(donor->users));
	err = farswap_slabs_unmap(NULL, donor);
	if (err) {
		spin_lock(&farswap_state_lock);
		donor_stay(donor);
		spin_unlock(&farswap_state_lock);
		return err;
	}
	farswap_load_cancel(donor);

	donor->transport->close(donor->session);
	spin_lock(&farswap_state_lock);
	donor->session = NULL;
	WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_NONE);
	spin_unlock(&farswap_state_lock);
	farswap_transport_put(donor->transport);
	return 0;
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
	INIT_DELAYED_WORK(&donor->load_work, farswap_load_work);
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
 * farswap_donor_state_name() - its state
 * @donor:	the donor
 *
 * Return: the name, for people.
 */
const char *farswap_donor_state_name(const struct farswap_donor *donor)
{
	static_assert(ARRAY_SIZE(donor_state_names) == FARSWAP_DONOR_STATES);

	return donor_state_names[donor->state];
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
 */
void __init farswap_donor_init(void)
{
	const char *uuid = dmi_get_system_info(DMI_PRODUCT_UUID);

	if (!uuid || uuid_parse(uuid, &donor_client_node) ||
	    uuid_is_null(&donor_client_node))
		uuid_gen(&donor_client_node);
	donor_client_instance = get_random_u64() ?: 1;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/donor-kunit.h"
#endif
