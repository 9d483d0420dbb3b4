// SPDX-License-Identifier: GPL-2.0
/*
 * The donors line, and the list of donors made from it.
 *
 * Locking: farswap_main_lock and farswap_state_lock cover the list's membership;
 * either is enough to read it.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"

/* So long after a failure other donors are preferred. */
#define DONORS_SHAKY	(60 * HZ)

static LIST_HEAD(donors);
static struct work_struct donors_open_work;

/**
 * farswap_donors_find_live() - the same daemon, perhaps by another address
 * @peer:	who answered
 *
 * Context: under farswap_state_lock.
 * Return: a live donor with that peer, or one that may soon be again, or NULL.
 */
struct farswap_donor *farswap_donors_find_live(const struct farswap_peer *peer)
{
	struct farswap_donor *donor;

	lockdep_assert_held(&farswap_state_lock);
	list_for_each_entry(donor, &donors, entry)
		if ((donor->state == FARSWAP_DONOR_LIVE ||
		     donor->state == FARSWAP_DONOR_SUSPECT) &&
		    !memcmp(&donor->peer, peer, sizeof(*peer)))
			return donor;
	return NULL;
}

/**
 * farswap_donors_find_spare() - a session with the same daemon that isn't used
 * @peer:	who answers there
 *
 * Context: under farswap_state_lock.
 * Return: a donor that could be live, or NULL.
 */
struct farswap_donor *farswap_donors_find_spare(const struct farswap_peer *peer)
{
	struct farswap_donor *donor;

	lockdep_assert_held(&farswap_state_lock);
	list_for_each_entry(donor, &donors, entry)
		if (donor->state == FARSWAP_DONOR_CONNECTING &&
		    donor->io == FARSWAP_DONOR_IO_WORKS &&
		    !memcmp(&donor->peer, peer, sizeof(*peer)))
			return donor;
	return NULL;
}

/**
 * farswap_donors_find_neighbour() - another daemon that reports the same machine
 * @donor:	live or suspect
 *
 * Context: under farswap_state_lock.
 * Return: a donor that is live or suspect, or NULL.
 */
struct farswap_donor *farswap_donors_find_neighbour(const struct farswap_donor *donor)
{
	struct farswap_donor *other;

	lockdep_assert_held(&farswap_state_lock);
	list_for_each_entry(other, &donors, entry)
		if ((other->state == FARSWAP_DONOR_LIVE ||
		     other->state == FARSWAP_DONOR_SUSPECT) && other != donor &&
		    other->peer.instance != donor->peer.instance &&
		    !memcmp(other->peer.node, donor->peer.node, sizeof(donor->peer.node)))
			return other;
	return NULL;
}

/**
 * farswap_donors_append() - the last of the list from now on
 * @donor:	in this list or another, or in none
 *
 * Context: under farswap_main_lock.
 */
void farswap_donors_append(struct farswap_donor *donor)
{
	lockdep_assert_held(&farswap_main_lock);
	spin_lock(&farswap_state_lock);
	list_move_tail(&donor->entry, &donors);
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_donors_remove() - off the list
 * @donor:	in the list, without a session
 *
 * Drops the list's reference.
 *
 * Context: under farswap_main_lock.
 */
void farswap_donors_remove(struct farswap_donor *donor)
{
	lockdep_assert_held(&farswap_main_lock);
	spin_lock(&farswap_state_lock);
	list_del(&donor->entry);
	spin_unlock(&farswap_state_lock);
	farswap_donor_put(donor);
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
		if (donor->session || farswap_donor_open(donor) != -ENODEV)
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
	/* Nothing is mapped there any more that could need memory. */
	list_for_each_entry(donor, &donors, entry)
		while (farswap_donor_close(donor))
			;
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

/**
 * farswap_donors_set_grace() - how long a donor is suspect before it is lost
 * @ms:	milliseconds
 *
 * Context: may sleep.
 */
void farswap_donors_set_grace(unsigned int ms)
{
	const struct farswap_transport *transport = farswap_transport_get();

	if (!transport)
		return;
	transport->set_grace(ms);
	farswap_transport_put(transport);
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
		if (!farswap_address_parse(donor->address, &other) &&
		    !memcmp(&other, address, sizeof(other)))
			return true;
	return false;
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
		if (farswap_address_parse(token, &address)) {
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
		donor = farswap_donor_alloc(token);
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
 * farswap_donors_set() - put another donors line in force
 * @line:	addresses with commas between, or nothing
 *
 * Donors on both lines go on undisturbed; those no longer named get their
 * regions back.
 *
 * Context: under farswap_main_lock; may sleep, until what is in flight at the
 * donors no longer named has ended.
 * Return: 0; -ENOMEM if one of these has pages that could not be read for want of memory: it is
 * still in the line, others may have gone; another -errno with nothing changed.
 */
int farswap_donors_set(const char *line)
{
	struct farswap_donor *donor, *next;
	LIST_HEAD(list);
	int err;

	lockdep_assert_held(&farswap_main_lock);
	err = donors_parse(line, &list);
	if (err)
		return err;

	list_for_each_entry_safe(donor, next, &donors, entry) {
		if (donor_find(&list, donor->address))
			continue;
		err = farswap_donor_close(donor);
		if (err) {
			pr_err("donor %s: no memory for the adapter to read its pages: still named; write donors again when there is\n",
			       donor->address);
			donors_free(&list);
			return err;
		}
		farswap_donors_remove(donor);
	}
	/* In the new line's order; what was there before is kept. */
	list_for_each_entry_safe(donor, next, &list, entry)
		farswap_donors_append(donor_find(&donors, donor->address) ?: donor);
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

/**
 * farswap_donors_use() - use the session of every live donor
 * @use:	where they go; room for FARSWAP_DONORS_MAX
 *
 * Context: any but interrupts.
 * Return: how many; each is in use until farswap_donor_unuse().
 */
int farswap_donors_use(struct farswap_donor_use *use)
{
	struct farswap_donor *donor;
	int nr = 0;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(donor, &donors, entry) {
		if (!farswap_donor_use(donor))
			continue;
		use[nr].donor = donor;
		use[nr].epoch = donor->epoch;
		use[nr].shaky = donor->downs + donor->suspects &&
				time_before(jiffies, donor->down_at + DONORS_SHAKY);
		use[nr].full_ms = farswap_donor_full_ms(donor);
		use[nr++].slabs = donor->nr_slabs;
	}
	spin_unlock(&farswap_state_lock);
	return nr;
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
	struct farswap_donor *donor, *neighbour;

	seq_puts(m, "address state slabs free_mb node instance downs last_error suspects resumes same_machine\n");
	spin_lock(&farswap_state_lock);
	list_for_each_entry(donor, &donors, entry) {
		neighbour = donor->state == FARSWAP_DONOR_LIVE ||
			    donor->state == FARSWAP_DONOR_SUSPECT ?
			    farswap_donors_find_neighbour(donor) : NULL;
		seq_printf(m, "%s %s %u %llu %pU %016llx %u %d %u %u %s\n", donor->address,
			   farswap_donor_state_name(donor), donor->nr_slabs,
			   donor->free_bytes >> 20, donor->peer.node,
			   donor->peer.instance, donor->downs, donor->last_error,
			   donor->suspects, donor->resumes, neighbour ? neighbour->address : "-");
	}
	spin_unlock(&farswap_state_lock);
	return 0;
}

/**
 * farswap_donors_init() - an empty list
 */
void __init farswap_donors_init(void)
{
	INIT_WORK(&donors_open_work, donors_open_fn);
}

/**
 * farswap_donors_exit() - forget the donors, whose sessions have ended
 */
void farswap_donors_exit(void)
{
	cancel_work_sync(&donors_open_work);
	donors_free(&donors);
}
