// SPDX-License-Identifier: GPL-2.0
/*
 * The list of donors, and the donors line that it is made from.
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

LIST_HEAD(farswap_donors);

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
	list_for_each_entry(donor, &farswap_donors, entry)
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
	list_for_each_entry(donor, &farswap_donors, entry)
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
	list_for_each_entry(other, &farswap_donors, entry)
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
	list_move_tail(&donor->entry, &farswap_donors);
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

/**
 * farswap_donors_find() - look for an address in a list
 * @list:	of donors
 * @address:	as written
 *
 * Context: the list does not change.
 * Return: the donor, or NULL.
 */
struct farswap_donor *farswap_donors_find(const struct list_head *list, const char *address)
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

/**
 * farswap_donors_free() - drop the references of a list
 * @list:	of donors without sessions
 *
 * Context: process context.
 */
void farswap_donors_free(struct list_head *list)
{
	struct farswap_donor *donor, *next;

	list_for_each_entry_safe(donor, next, list, entry) {
		list_del(&donor->entry);
		farswap_donor_put(donor);
	}
}

/**
 * farswap_donors_parse() - make new donors of a donors line
 * @line:	addresses with commas between, or nothing
 * @list:	an empty list, where they go
 *
 * Context: may sleep.
 * Return: 0; -EINVAL, and the log says why; -ENOMEM. @list is empty after an error.
 */
int farswap_donors_parse(const char *line, struct list_head *list)
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
	farswap_donors_free(list);
	kfree(copy);
	return err;
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
	list_for_each_entry(donor, &farswap_donors, entry)
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
	list_for_each_entry(donor, &farswap_donors, entry) {
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
	list_for_each_entry(donor, &farswap_donors, entry) {
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

