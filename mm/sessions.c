// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions with donors: this file opens and closes them according to the donors line, and handles
 * the events that the transport reports.
 *
 * Locking: farswap_main_lock covers opening and closing, farswap_state_lock all fields that
 * change with the state of a donor.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/kmod.h>
#include <linux/list.h>
#include <linux/ratelimit.h>
#include <linux/string.h>

#include "internal.h"

/* Logs one line for each pair of donors that report the same machine. */
static void session_note_neighbour(struct farswap_donor *donor)
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

static void session_up(void *ctx, const struct farswap_peer *peer)
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
	donor->is_full_logged = false;
	twin = farswap_donors_find_live(peer);
	/* The donor may be leaving by now. */
	is_up = donor->state == FARSWAP_DONOR_CONNECTING && !twin;
	if (is_up) {
		farswap_donor_set_state(donor, FARSWAP_DONOR_LIVE);
		session_note_neighbour(donor);
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

/* Returns whether this session is the one that is used with its daemon. */
static bool session_has_peer(const struct farswap_donor *donor)
{
	return donor->state == FARSWAP_DONOR_LIVE ||
	       donor->state == FARSWAP_DONOR_SUSPECT;
}

/* Takes a session out of use; a spare session with the same daemon takes over (failover). */
static void session_retire(struct farswap_donor *donor, enum farswap_donor_state state)
{
	struct farswap_donor *spare;

	lockdep_assert_held(&farswap_state_lock);
	if (!session_has_peer(donor)) {
		farswap_donor_set_state(donor, state);
		return;
	}
	farswap_donor_set_state(donor, state);
	spare = farswap_donors_find_spare(&donor->peer);
	if (!spare)
		return;
	farswap_donor_set_state(spare, FARSWAP_DONOR_LIVE);
	farswap_stat_add(FARSWAP_STAT_DONOR_UP, 1);
	pr_info("donor %s: up, instead of %s\n", spare->address, donor->address);
}

static void session_down(void *ctx, int error)
{
	struct farswap_donor *donor = ctx;
	bool was_up;

	spin_lock(&farswap_state_lock);
	was_up = session_has_peer(donor);
	/* map_done() discards a region that was mapped in an earlier epoch. */
	donor->epoch++;
	donor->last_error = error;
	WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_NONE);
	if (was_up) {
		donor->downs++;
		donor->down_at = jiffies;
		session_retire(donor, FARSWAP_DONOR_CONNECTING);
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

/* A suspended donor keeps its slabs but gets no new ones. There is no failover to a spare yet. */
static void session_suspended(void *ctx, int error)
{
	struct farswap_donor *donor = ctx;
	struct farswap_mapping *mapping;
	bool was_live;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(mapping, &donor->mappings, donor_entry)
		farswap_evict_suspend(mapping);
	was_live = donor->state == FARSWAP_DONOR_LIVE;
	WRITE_ONCE(donor->suspect_at, jiffies);
	WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_SUSPENDED);
	donor->last_error = error;
	donor->taken = 0;
	/*
	 * The write of donor->io above comes before that of donor->suspects below. Pairs with
	 * load_note(), which reads suspects before io, without the lock.
	 */
	smp_wmb();
	WRITE_ONCE(donor->suspects, donor->suspects + 1);
	if (was_live) {
		donor->down_at = jiffies;
		farswap_donor_set_state(donor, FARSWAP_DONOR_SUSPECT);
	}
	spin_unlock(&farswap_state_lock);
	farswap_sweep_soon();
	donor->said = was_live && __ratelimit(&donor->says);
	if (donor->said)
		pr_warn("donor %s: suspect (%d): its pages are read from the swap device, for grace_ms at most\n",
			donor->address, error);
}

/* The donor revoked a region while its session was suspended. */
static void session_lost(void *ctx, u64 id)
{
	struct farswap_donor *donor = ctx;

	spin_lock(&farswap_state_lock);
	donor->taken++;
	farswap_slabs_lose_one(donor, id);
	spin_unlock(&farswap_state_lock);
	farswap_slabs_count_lost(donor);
}

/* An unused session that is resumed may be the only one left with its daemon. */
static void session_resumed(void *ctx)
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
		farswap_donor_set_state(donor, FARSWAP_DONOR_LIVE);
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

static void session_evict(void *ctx, u64 id, u32 deadline_ms)
{
	farswap_evict_begin(ctx, id, deadline_ms);
}

static u32 session_activity(void *ctx, u64 id)
{
	return farswap_slab_activity(ctx, id);
}

static const struct farswap_session_ops session_ops = {
	.up		= session_up,
	.down		= session_down,
	.suspended	= session_suspended,
	.lost		= session_lost,
	.resumed	= session_resumed,
	.evict		= session_evict,
	.activity	= session_activity,
};

/**
 * session_open() - get the transport and start to connect
 * @donor:	a donor without a session
 *
 * Context: under farswap_main_lock; may sleep.
 * Return: 0, -ENODEV if no transport is registered, or the error of the transport.
 */
static int session_open(struct farswap_donor *donor)
{
	const struct farswap_session_params params = {
		.slab_bytes	= (u64)farswap_settings.slab_mb << 20,
		.node		= farswap_donor_client_node()->b,
		.instance	= farswap_donor_client_instance(),
		.key		= *donor->key ? donor->key : NULL,
	};
	const struct farswap_transport *transport;
	struct farswap_session *session;

	lockdep_assert_held(&farswap_main_lock);
	transport = farswap_transport_get();
	if (!transport)
		return -ENODEV;

	spin_lock(&farswap_state_lock);
	farswap_donor_set_state(donor, FARSWAP_DONOR_CONNECTING);
	spin_unlock(&farswap_state_lock);
	donor->transport = transport;
	farswap_settings_tell(transport);
	session = transport->open(donor->address, &params, &session_ops,
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

/* Sets the state of a donor that can't leave yet to the one that its session implies. */
static void session_stay(struct farswap_donor *donor)
{
	enum farswap_donor_state state = FARSWAP_DONOR_CONNECTING;

	lockdep_assert_held(&farswap_state_lock);
	if (!farswap_donors_find_live(&donor->peer)) {
		if (donor->io == FARSWAP_DONOR_IO_WORKS)
			state = FARSWAP_DONOR_LIVE;
		else if (donor->io == FARSWAP_DONOR_IO_SUSPENDED)
			state = FARSWAP_DONOR_SUSPECT;
	}
	farswap_donor_set_state(donor, state);
}

/**
 * session_close() - give all regions of a donor back and end its session
 * @donor:	a donor, with or without a session
 *
 * Context: under farswap_main_lock; may sleep, until all I/O in flight has ended.
 * Return: 0, or -ENOMEM if pages that only the donor has could not be read because the adapter has
 * no memory: then the donor is used as before.
 */
static int session_close(struct farswap_donor *donor)
{
	int err;

	lockdep_assert_held(&farswap_main_lock);
	if (!donor->session)
		return 0;

	spin_lock(&farswap_state_lock);
	session_retire(donor, FARSWAP_DONOR_LEAVING);
	spin_unlock(&farswap_state_lock);
	farswap_donor_wait_unused(donor);
	err = farswap_slabs_unmap(NULL, donor);
	if (err) {
		spin_lock(&farswap_state_lock);
		session_stay(donor);
		spin_unlock(&farswap_state_lock);
		return err;
	}
	farswap_load_flush();
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
 * farswap_donors_open() - open sessions with the donors that have none
 *
 * Context: under farswap_main_lock; may sleep.
 */
void farswap_donors_open(void)
{
	struct farswap_donor *donor;

	lockdep_assert_held(&farswap_main_lock);
	list_for_each_entry(donor, &farswap_donors, entry) {
		if (donor->session || session_open(donor) != -ENODEV)
			continue;
		pr_info("loading the transport farswap-rdma\n");
		/* sessions_open_fn() opens the sessions once the transport is registered. */
		request_module_nowait("farswap-rdma");
		return;
	}
}

static void sessions_open_fn(struct work_struct *work)
{
	mutex_lock(&farswap_main_lock);
	if (farswap_attached())
		farswap_donors_open();
	mutex_unlock(&farswap_main_lock);
}

/**
 * farswap_donors_close() - close the sessions of all donors
 *
 * Context: under farswap_main_lock; may sleep, until all I/O in flight has ended.
 */
void farswap_donors_close(void)
{
	struct farswap_donor *donor;

	lockdep_assert_held(&farswap_main_lock);
	/* No region is mapped any more, so no page is read for which the adapter needs memory. */
	list_for_each_entry(donor, &farswap_donors, entry)
		while (session_close(donor))
			;
}

/**
 * farswap_donors_set() - replace the donors line
 * @line:	addresses separated by commas, or an empty string
 *
 * Donors in both lines are not affected; those that are no longer named get their regions back.
 *
 * Context: under farswap_main_lock; may sleep, until all I/O in flight at the donors that are no
 * longer named has ended.
 * Return: 0; -ENOMEM if pages of one of these donors could not be read because the adapter has no
 * memory: it stays in the line, while others may have been removed; another -errno with nothing
 * changed.
 */
int farswap_donors_set(const char *line)
{
	struct farswap_donor *donor, *next;
	LIST_HEAD(list);
	int err;

	lockdep_assert_held(&farswap_main_lock);
	err = farswap_donors_parse(line, &list);
	if (err)
		return err;

	list_for_each_entry_safe(donor, next, &farswap_donors, entry) {
		if (farswap_donors_find(&list, donor))
			continue;
		err = session_close(donor);
		if (err) {
			pr_err("donor %s: no memory for the adapter to read its pages: still named; write donors again when there is\n",
			       donor->address);
			farswap_donors_free(&list);
			return err;
		}
		farswap_donors_remove(donor);
	}
	/* Use the order of the new line, but keep the donors that are in both lines. */
	list_for_each_entry_safe(donor, next, &list, entry)
		farswap_donors_append(farswap_donors_find(&farswap_donors, donor) ?:
				      donor);
	farswap_donors_free(&list);
	if (farswap_attached())
		farswap_donors_open();
	return 0;
}

/**
 * farswap_donors_init() - initialise the work that opens sessions
 */
void farswap_donors_init(void)
{
	INIT_WORK(&farswap_transport_work, sessions_open_fn);
}

/**
 * farswap_donors_exit() - free the donors; their sessions have ended
 */
void farswap_donors_exit(void)
{
	cancel_work_sync(&farswap_transport_work);
	farswap_donors_free(&farswap_donors);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/sessions-kunit.h"
#endif

