// SPDX-License-Identifier: GPL-2.0
/*
 * Donors: the machines on the donors line, their sessions and states. What they
 * hold for us is slab.c's affair; how they are reached is the transport's.
 *
 * Locking: farswap_main_lock covers the list's membership and the sessions'
 * opening and closing, farswap_state_lock all that changes with a session.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/dmi.h>
#include <linux/inet.h>
#include <linux/kmod.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/uuid.h>
#include <net/net_namespace.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "placement.h"

/* Donors tried for one slab before the attempt has failed. */
#define DONOR_MAP_ATTEMPTS	3

static LIST_HEAD(donors);
static unsigned int donors_nr_live;	/* written under farswap_state_lock */
static DECLARE_WAIT_QUEUE_HEAD(donor_unused);
static struct work_struct donors_open_work;

static uuid_t donor_client_node;	/* this machine */
static u64 donor_client_instance;	/* this load of the module */

static const char *const donor_state_names[] = {
	[FARSWAP_DONOR_CONNECTING]	= "connecting",
	[FARSWAP_DONOR_LIVE]		= "live",
	[FARSWAP_DONOR_LEAVING]		= "leaving",
};

/* The only writer of donor->state. */
static void donor_set_state(struct farswap_donor *donor,
			    enum farswap_donor_state state)
{
	lockdep_assert_held(&farswap_state_lock);

	if (donor->state == state)
		return;
	if (donor->state == FARSWAP_DONOR_LIVE)
		WRITE_ONCE(donors_nr_live, donors_nr_live - 1);
	if (state == FARSWAP_DONOR_LIVE)
		WRITE_ONCE(donors_nr_live, donors_nr_live + 1);
	trace_farswap_donor_state(donor->address, donor_state_names[donor->state],
				  donor_state_names[state]);
	donor->state = state;
}

static void donor_release(struct kref *ref)
{
	kfree(container_of(ref, struct farswap_donor, ref));
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

/* The same daemon, reached by another address. */
static struct farswap_donor *donor_find_live(const struct farswap_peer *peer)
{
	struct farswap_donor *donor;

	lockdep_assert_held(&farswap_state_lock);
	list_for_each_entry(donor, &donors, entry)
		if (donor->state == FARSWAP_DONOR_LIVE &&
		    !memcmp(&donor->peer, peer, sizeof(*peer)))
			return donor;
	return NULL;
}

static void donor_up(void *ctx, const struct farswap_peer *peer)
{
	struct farswap_donor *donor = ctx;

	const struct farswap_donor *twin;

	spin_lock(&farswap_state_lock);
	donor->peer = *peer;
	donor->epoch++;
	donor->nr_early = 0;
	twin = donor_find_live(peer);
	if (donor->state == FARSWAP_DONOR_CONNECTING && !twin)
		donor_set_state(donor, FARSWAP_DONOR_LIVE);
	if (twin)
		pr_err("donor %s: is the same farswapd as %s, so it stays unused; name each donor once\n",
		       donor->address, twin->address);
	spin_unlock(&farswap_state_lock);
	if (twin)
		return;
	farswap_stat_add(FARSWAP_STAT_DONOR_UP, 1);
	pr_info("donor %s: up\n", donor->address);
}

static void donor_down(void *ctx, int error)
{
	struct farswap_donor *donor = ctx;
	bool was_up;

	spin_lock(&farswap_state_lock);
	was_up = donor->state == FARSWAP_DONOR_LIVE;
	/* A region that is being mapped now is of this session: see slab_mapped(). */
	donor->epoch++;
	if (was_up)
		donor_set_state(donor, FARSWAP_DONOR_CONNECTING);
	farswap_slabs_lose(donor);
	spin_unlock(&farswap_state_lock);
	if (!was_up)
		return;
	farswap_stat_add(FARSWAP_STAT_DONOR_DOWN, 1);
	pr_warn("donor %s: down (%d): its pages are read from the swap device\n",
		donor->address, error);
}

static void donor_evict(void *ctx, u64 id, u32 deadline_ms)
{
	farswap_slab_evict(ctx, id);
}

static u32 donor_activity(void *ctx, u64 id)
{
	return farswap_slab_activity(ctx, id);
}

static const struct farswap_session_ops donor_session_ops = {
	.up		= donor_up,
	.down		= donor_down,
	.evict		= donor_evict,
	.activity	= donor_activity,
};

/* Take a transport and begin to connect. */
static int donor_open(struct farswap_donor *donor)
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
	transport->set_io_timeout(READ_ONCE(farswap_settings.io_timeout_ms));
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

static void donor_close(struct farswap_donor *donor)
{
	lockdep_assert_held(&farswap_main_lock);
	if (!donor->session)
		return;

	spin_lock(&farswap_state_lock);
	donor_set_state(donor, FARSWAP_DONOR_LEAVING);
	spin_unlock(&farswap_state_lock);
	wait_event(donor_unused, !READ_ONCE(donor->users));
	farswap_slabs_unmap(NULL, donor);

	donor->transport->close(donor->session);
	spin_lock(&farswap_state_lock);
	donor->session = NULL;
	spin_unlock(&farswap_state_lock);
	farswap_transport_put(donor->transport);
}

/**
 * farswap_donors_open() - connect to the donors that have no session
 *
 * Context: under farswap_main_lock; may sleep.
 */
void farswap_donors_open(void)
{
	struct farswap_donor *donor;

	lockdep_assert_held(&farswap_main_lock);
	list_for_each_entry(donor, &donors, entry) {
		if (donor->session || donor_open(donor) != -ENODEV)
			continue;
		pr_info("loading the transport farswap-rdma\n");
		/* It calls farswap_donors_retry() when it is there. */
		request_module_nowait("farswap-rdma");
		return;
	}
}

static void donors_open_fn(struct work_struct *work)
{
	mutex_lock(&farswap_main_lock);
	if (farswap_attached())
		farswap_donors_open();
	mutex_unlock(&farswap_main_lock);
}

/**
 * farswap_donors_retry() - a transport has come: connect
 *
 * Context: any.
 */
void farswap_donors_retry(void)
{
	schedule_work(&donors_open_work);
}

/**
 * farswap_donors_close() - end every session
 *
 * Context: under farswap_main_lock; may sleep, until what is in flight ends.
 */
void farswap_donors_close(void)
{
	struct farswap_donor *donor;

	lockdep_assert_held(&farswap_main_lock);
	list_for_each_entry(donor, &donors, entry)
		donor_close(donor);
}

/**
 * farswap_donors_set_io_timeout() - bound remote I/O from now on
 * @ms:	milliseconds
 *
 * Context: may sleep.
 */
void farswap_donors_set_io_timeout(unsigned int ms)
{
	const struct farswap_transport *transport = farswap_transport_get();

	if (!transport)
		return;
	transport->set_io_timeout(ms);
	farswap_transport_put(transport);
}

/* Parse "10.0.0.2", "10.0.0.2:9400", "fd00::2" or "[fd00::2]:9400". */
static bool donor_address_parse(const char *token,
				struct sockaddr_storage *address)
{
	char copy[INET6_ADDRSTRLEN + 10], *host = copy, *end;
	char *port = __stringify(FARSWAP_TRANSPORT_PORT);

	if (strscpy(copy, token) < 0)
		return false;
	if (*host == '[') {
		end = strchr(++host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		if (end[1])
			port = end + 2;
		*end = '\0';
		if (!strchr(host, ':'))
			return false;
	} else {
		end = strchr(host, ':');
		if (end && !strchr(end + 1, ':')) {
			port = end + 1;
			*end = '\0';
		}
	}
	if (!*port || !strcmp(port, "0"))
		return false;
	memset(address, 0, sizeof(*address));
	return !inet_pton_with_scope(&init_net, AF_UNSPEC, host, port, address);
}

static struct farswap_donor *donor_find(const struct list_head *list,
					const char *address)
{
	struct farswap_donor *donor;

	list_for_each_entry(donor, list, entry)
		if (!strcmp(donor->address, address))
			return donor;
	return NULL;
}

/* Is the same address there already, however it is written? */
static bool donor_named(const struct list_head *list,
			const struct sockaddr_storage *address)
{
	struct sockaddr_storage other;
	struct farswap_donor *donor;

	list_for_each_entry(donor, list, entry)
		if (donor_address_parse(donor->address, &other) &&
		    !memcmp(&other, address, sizeof(other)))
			return true;
	return false;
}

static struct farswap_donor *donor_alloc(const char *address)
{
	size_t bytes = strlen(address) + 1;
	struct farswap_donor *donor;

	donor = kzalloc(struct_size(donor, address, bytes), GFP_KERNEL);
	if (!donor)
		return NULL;
	kref_init(&donor->ref);
	INIT_LIST_HEAD(&donor->slabs);
	farswap_window_init(&donor->window);
	memcpy(donor->address, address, bytes);
	return donor;
}

static void donors_free(struct list_head *list)
{
	struct farswap_donor *donor, *next;

	list_for_each_entry_safe(donor, next, list, entry) {
		list_del(&donor->entry);
		farswap_donor_put(donor);
	}
}

/* The donors line as a list of new donors. */
static int donors_parse(const char *line, struct list_head *list)
{
	struct sockaddr_storage address;
	char *copy, *rest, *token;
	unsigned int nr = 0;
	int err = -EINVAL;

	copy = kstrdup(line, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	rest = copy;
	while ((token = strsep(&rest, ",")) != NULL) {
		struct farswap_donor *donor;

		token = strim(token);
		if (!*token && !nr && !rest)
			break;
		if (!donor_address_parse(token, &address)) {
			pr_err("donors: \"%s\" is not an address; give numeric ones, 10.0.0.2 or 10.0.0.2:9400 or [fd00::2]:9400, with commas between\n",
			       token);
			goto out_free;
		}
		if (donor_named(list, &address)) {
			pr_err("donors: %s is named twice; name each donor once\n",
			       token);
			goto out_free;
		}
		if (++nr > FARSWAP_DONORS_MAX) {
			pr_err("donors: more than %d; give fewer\n",
			       FARSWAP_DONORS_MAX);
			goto out_free;
		}
		donor = donor_alloc(token);
		if (!donor) {
			err = -ENOMEM;
			goto out_free;
		}
		list_add_tail(&donor->entry, list);
	}
	kfree(copy);
	return 0;

out_free:
	donors_free(list);
	kfree(copy);
	return err;
}

/**
 * farswap_donors_check() - could this be a donors line
 * @line:	addresses with commas between, or nothing
 *
 * Context: may sleep.
 * Return: 0, -EINVAL (the log says why) or -ENOMEM.
 */
int farswap_donors_check(const char *line)
{
	LIST_HEAD(list);
	int err = donors_parse(line, &list);

	if (!err)
		donors_free(&list);
	return err;
}

/**
 * farswap_donors_set() - put another donors line in force
 * @line:	addresses with commas between, or nothing
 *
 * Donors on both lines go on undisturbed; those no longer named get their
 * regions back.
 *
 * Context: under farswap_main_lock; may sleep, until what is in flight at the
 * donors no longer named has ended.
 * Return: 0, or -errno with nothing changed.
 */
int farswap_donors_set(const char *line)
{
	struct farswap_donor *donor, *next, *old;
	LIST_HEAD(list);
	int err;

	lockdep_assert_held(&farswap_main_lock);
	err = donors_parse(line, &list);
	if (err)
		return err;

	list_for_each_entry_safe(donor, next, &donors, entry) {
		if (donor_find(&list, donor->address))
			continue;
		donor_close(donor);
		spin_lock(&farswap_state_lock);
		list_del(&donor->entry);
		spin_unlock(&farswap_state_lock);
		farswap_donor_put(donor);
	}
	list_for_each_entry_safe(donor, next, &list, entry) {
		old = donor_find(&donors, donor->address);
		spin_lock(&farswap_state_lock);
		if (old)	/* keep it, in the new line's order */
			list_move_tail(&old->entry, &donors);
		else
			list_move_tail(&donor->entry, &donors);
		spin_unlock(&farswap_state_lock);
	}
	donors_free(&list);
	if (farswap_attached())
		farswap_donors_open();
	return 0;
}

/**
 * farswap_donors_show() - the donors line in force
 * @buf:	a page
 *
 * Context: under farswap_main_lock.
 * Return: its length with the newline.
 */
int farswap_donors_show(char *buf)
{
	struct farswap_donor *donor;
	int len = 0;

	lockdep_assert_held(&farswap_main_lock);
	list_for_each_entry(donor, &donors, entry)
		len += sysfs_emit_at(buf, len, "%s%s", len ? "," : "",
				     donor->address);
	return len + sysfs_emit_at(buf, len, "\n");
}

/* What farswap_donor_map() works on; a donor in it is in use. */
struct donor_choice {
	int nr;
	struct farswap_candidate candidate[FARSWAP_DONORS_MAX];
	struct farswap_donor *donor[FARSWAP_DONORS_MAX];
	unsigned int epoch[FARSWAP_DONORS_MAX];
};

static struct donor_choice *donor_choice_alloc(void)
{
	struct donor_choice *choice = kzalloc(sizeof(*choice),
					      GFP_KERNEL | __GFP_NOWARN);
	struct farswap_donor *donor;

	if (!choice)
		return NULL;
	spin_lock(&farswap_state_lock);
	list_for_each_entry(donor, &donors, entry) {
		/* It may be live before ->open() has returned. */
		if (donor->state != FARSWAP_DONOR_LIVE || !donor->session)
			continue;
		kref_get(&donor->ref);
		donor->users++;
		choice->candidate[choice->nr].slabs = donor->nr_slabs;
		choice->epoch[choice->nr] = donor->epoch;
		choice->donor[choice->nr++] = donor;
	}
	spin_unlock(&farswap_state_lock);
	return choice;
}

static void donor_choice_free(struct donor_choice *choice, int except)
{
	int i;

	for (i = 0; i < choice->nr; i++)
		if (i != except)
			farswap_donor_unuse(choice->donor[i]);
	kfree(choice);
}

/* Ask the picked donors how much they could lend. */
static void donor_choice_query(struct donor_choice *choice, const int pick[2],
			       int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		struct farswap_candidate *c = &choice->candidate[pick[i]];
		struct farswap_donor *donor = choice->donor[pick[i]];

		if (donor->transport->query(donor->session, &c->free_bytes)) {
			c->tried = true;
			continue;
		}
		spin_lock(&farswap_state_lock);
		donor->free_bytes = c->free_bytes;
		spin_unlock(&farswap_state_lock);
	}
}

/**
 * farswap_donor_map() - find a donor for a slab and get a region there
 * @slab:	the slab's name
 * @slab_bytes:	its size
 * @region:	where the region goes
 * @epoch:	where the session's number goes
 *
 * Power of two choices, Infiniswap section 4.2: new donors first, then old;
 * when both refuse, others are asked.
 *
 * Context: may sleep: a few round trips, or ten seconds at the very worst, when
 * donors are connected but don't answer.
 * Return: the donor, in use until farswap_donor_unuse(); ERR_PTR(-ENOSPC) when
 * nobody lends, or -ENOMEM.
 */
struct farswap_donor *farswap_donor_map(u64 slab, u64 slab_bytes,
					struct farswap_region **region,
					unsigned int *epoch)
{
	struct farswap_donor *donor = ERR_PTR(-ENOSPC);
	struct donor_choice *choice = donor_choice_alloc();
	int pick[2], nr, best = -1, i, attempt;

	if (!choice)
		return ERR_PTR(-ENOMEM);
	for (attempt = 0; attempt < DONOR_MAP_ATTEMPTS; attempt++) {
		nr = farswap_placement_pick(choice->candidate, choice->nr,
					    get_random_u32_below, pick);
		if (!nr)
			break;
		donor_choice_query(choice, pick, nr);
		best = farswap_placement_choose(choice->candidate, pick, nr,
						slab_bytes);
		if (best < 0) {
			for (i = 0; i < nr; i++)
				choice->candidate[pick[i]].tried = true;
			continue;
		}
		donor = choice->donor[best];
		*region = donor->transport->map(donor->session, slab);
		if (!IS_ERR(*region)) {
			*epoch = choice->epoch[best];
			donor_choice_free(choice, best);
			return donor;
		}
		choice->candidate[best].tried = true;
	}
	donor_choice_free(choice, -1);
	return ERR_PTR(-ENOSPC);
}

/**
 * farswap_donor_unuse() - done with what farswap_donor_map() returned
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
 * farswap_donors_seq_show() - print the donors, one a line
 * @m:	where
 * @v:	unused
 *
 * Context: may sleep.
 * Return: 0.
 */
int farswap_donors_seq_show(struct seq_file *m, void *v)
{
	struct farswap_donor *donor;

	static_assert(ARRAY_SIZE(donor_state_names) == FARSWAP_DONOR_STATES);

	seq_puts(m, "address state slabs free_mb node instance\n");
	spin_lock(&farswap_state_lock);
	list_for_each_entry(donor, &donors, entry)
		seq_printf(m, "%s %s %u %llu %pU %016llx\n", donor->address,
			   donor_state_names[donor->state], donor->nr_slabs,
			   donor->free_bytes >> 20, donor->peer.node,
			   donor->peer.instance);
	spin_unlock(&farswap_state_lock);
	return 0;
}

/**
 * farswap_donor_init() - give this machine its identity
 *
 * Return: 0.
 */
int farswap_donor_init(void)
{
	const char *uuid = dmi_get_system_info(DMI_PRODUCT_UUID);

	INIT_WORK(&donors_open_work, donors_open_fn);
	if (!uuid || uuid_parse(uuid, &donor_client_node) ||
	    uuid_is_null(&donor_client_node))
		uuid_gen(&donor_client_node);
	donor_client_instance = get_random_u64();
	return 0;
}

/**
 * farswap_donor_exit() - forget the donors, whose sessions have ended
 */
void farswap_donor_exit(void)
{
	cancel_work_sync(&donors_open_work);
	donors_free(&donors);
}
