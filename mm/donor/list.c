// SPDX-License-Identifier: GPL-2.0
/*
 * The list of donors, the donors line that defines it, and its file in debugfs.
 *
 * Locking: farswap_main_lock and farswap_state_lock both cover the list's membership; a reader
 * needs one of them.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/time64.h>

#include "internal.h"

/* For this time after a failure of a donor others are preferred. */
#define DONORS_SHAKY	(60 * HZ)

LIST_HEAD(farswap_donors);

/**
 * farswap_donors_find_live() - find the donor whose session with a daemon is used
 * @peer:	the daemon's identity
 *
 * Context: under farswap_state_lock.
 * Return: the live or suspect donor with that peer, perhaps by another address; or NULL.
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
 * farswap_donors_find_spare() - find an unused session with a daemon
 * @peer:	the daemon's identity
 *
 * Context: under farswap_state_lock.
 * Return: a donor that could become live, or NULL.
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
 * farswap_donor_same_machine() - test whether two donors fail together
 * @a:		a donor that has been live
 * @b:		another one
 *
 * A donor names its machine itself. One that has the same key is the same, whatever it names.
 *
 * Context: under farswap_state_lock.
 * Return: whether both are on one machine.
 */
bool farswap_donor_same_machine(const struct farswap_donor *a, const struct farswap_donor *b)
{
	lockdep_assert_held(&farswap_state_lock);
	return !memcmp(a->peer.node, b->peer.node, sizeof(a->peer.node)) ||
	       (a->key[0] && !strcmp(a->key, b->key));
}

/**
 * farswap_donors_find_neighbour() - find another daemon that reports the same machine
 * @donor:	a live or suspect donor
 *
 * Context: under farswap_state_lock.
 * Return: a live or suspect donor, or NULL.
 */
struct farswap_donor *farswap_donors_find_neighbour(const struct farswap_donor *donor)
{
	struct farswap_donor *other;

	lockdep_assert_held(&farswap_state_lock);
	list_for_each_entry(other, &farswap_donors, entry)
		if ((other->state == FARSWAP_DONOR_LIVE ||
		     other->state == FARSWAP_DONOR_SUSPECT) && other != donor &&
		    other->peer.instance != donor->peer.instance &&
		    farswap_donor_same_machine(other, donor))
			return other;
	return NULL;
}

/**
 * farswap_donors_append() - move a donor to the end of the list
 * @donor:	a donor in this list or another, or in none
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
 * farswap_donors_remove() - remove a donor from the list
 * @donor:	a donor in the list, without a session
 *
 * This drops the list's reference.
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
 * farswap_donors_set_io_timeout() - pass a new io_timeout_ms to the transport
 * @ms:	longest time of a remote I/O, milliseconds
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
 * farswap_donors_set_grace() - pass a new grace_ms to the transport
 * @ms:	how long a donor stays suspect before it is lost, milliseconds
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
 * farswap_donors_find() - find the donor that another one stands for
 * @list:	list of donors
 * @like:	a donor whose address is written in the same way, and that has the same key
 *
 * Context: the caller keeps the list from changing.
 * Return: the donor, or NULL.
 */
struct farswap_donor *farswap_donors_find(const struct list_head *list,
					  const struct farswap_donor *like)
{
	struct farswap_donor *donor;

	list_for_each_entry(donor, list, entry)
		if (!strcmp(donor->address, like->address) && !strcmp(donor->key, like->key))
			return donor;
	return NULL;
}

/* Returns whether the list has the address already, in whatever notation. */
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

/* The transport checks it exactly. */
static bool donor_key_is_valid(const char *key)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strspn(key, digits);

	return len == FARSWAP_DONOR_KEY_CHARS - 1 && !strcmp(key + len, "=");
}

/**
 * farswap_donors_free() - drop the references of a list
 * @list:	list of donors without sessions
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
 * farswap_donors_parse() - create the donors of a donors line
 * @line:	addresses separated by commas, each with or without #KEY, or an empty string
 * @list:	empty list to which they are added
 *
 * Context: may sleep.
 * Return: 0; -EINVAL, with the reason in the log; or -ENOMEM. @list is empty after an error.
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
		char *key;

		token = strim(token);
		if (!*token && !nr && !rest)
			break;
		key = strchr(token, '#');
		if (key)
			*key++ = '\0';
		if (key && !donor_key_is_valid(key)) {
			pr_err("donors: invalid key \"%s\" of %s (%d characters, which farswapctl key prints there)\n",
			       strstarts(key, "farswap-secret:") ? "(a secret key)" : key, token,
			       FARSWAP_DONOR_KEY_CHARS);
			goto out_free;
		}
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
		if (key)
			strscpy(donor->key, key);
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
 * farswap_donors_show() - print the current donors line
 * @buf:	buffer of one page
 *
 * Context: under farswap_main_lock.
 * Return: length of the line, with the newline.
 */
int farswap_donors_show(char *buf)
{
	struct farswap_donor *donor;
	int len = 0;

	lockdep_assert_held(&farswap_main_lock);
	list_for_each_entry(donor, &farswap_donors, entry)
		len += sysfs_emit_at(buf, len, "%s%s%s%s", len ? "," : "", donor->address,
				     *donor->key ? "#" : "", donor->key);
	return len + sysfs_emit_at(buf, len, "\n");
}

/**
 * farswap_donors_use() - use the sessions of all live donors
 * @use:	array to which they are added, with room for FARSWAP_DONORS_MAX
 *
 * Context: any but interrupts.
 * Return: number of donors; each is in use until farswap_donor_unuse().
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
		use[nr].shaky = (donor->downs + donor->suspects &&
				 time_before(jiffies, donor->down_at + DONORS_SHAKY)) ||
				farswap_donor_is_distrusted(donor);
		use[nr].full_ms = farswap_donor_full_ms(donor);
		use[nr++].slabs = donor->nr_slabs;
	}
	spin_unlock(&farswap_state_lock);
	return nr;
}

static void donor_note_reads(struct farswap_donor *donor)
{
	unsigned int reads = farswap_window_reads(&donor->window);
	struct farswap_tail_counts counts = {
		.late = atomic_xchg(&donor->reads_late, 0),
		.slow = atomic_xchg(&donor->reads_slow, 0),
		.waiting = donor->reads_waiting,
	};

	/* Reads that ended after their folio was given up count as late only. */
	counts.reads = max(reads - donor->reads_seen, counts.late);
	donor->reads_seen = reads;
	farswap_tail_note(&donor->tail, &counts);
}

/* Compare a donor with the others. */
static void donor_compare(struct farswap_donor *donor)
{
	u32 ms, usual = FARSWAP_TAIL_NEVER, tail;
	const struct farswap_donor *other;
	enum farswap_tail_news news;
	bool well = false;

	list_for_each_entry(other, &farswap_donors, entry) {
		tail = farswap_tail_usual(&other->tail);
		if (other == donor || !tail)
			continue;
		usual = min(usual, tail);
		well |= farswap_tail_is_well(&other->tail);
	}
	news = farswap_tail_step(&donor->tail, usual == FARSWAP_TAIL_NEVER ? 0 : usual, well);
	ms = donor->tail.slow_ns / NSEC_PER_MSEC;
	if (news == FARSWAP_TAIL_BECAME_SLOW) {
		farswap_stat_add(FARSWAP_STAT_DONOR_SLOW, 1);
		pr_warn("donor %s: slow: reads take more than %u ms, ten times as long as another donor's; avoided until it recovers\n",
			donor->address, ms);
	} else if (news == FARSWAP_TAIL_RECOVERED) {
		pr_info("donor %s: not avoided any more: it has recovered, or is tried again\n",
			donor->address);
	}
}

/**
 * farswap_donors_compare() - find donors that have become slow, or have recovered
 * @on:		slow donors are to be avoided; false: forget what is known
 * @min_hedge_ns: set to the lowest age at which a read of any donor may be hedged, ns
 *
 * The caller calls it four times a second while pages are read, and has counted the reads that are
 * waiting.
 *
 * Context: process context; does not sleep.
 * Return: true if any donor is slow.
 */
bool farswap_donors_compare(bool on, u32 *min_hedge_ns)
{
	struct farswap_donor *donor;
	u32 lowest = FARSWAP_TAIL_NEVER;
	bool slow = false;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(donor, &farswap_donors, entry)
		donor_note_reads(donor);
	list_for_each_entry(donor, &farswap_donors, entry) {
		if (on)
			donor_compare(donor);
		else
			farswap_tail_init(&donor->tail);
		lowest = min(lowest, donor->tail.hedge_ns);
		slow |= donor->tail.slow;
	}
	spin_unlock(&farswap_state_lock);
	*min_hedge_ns = lowest;
	return slow;
}

/**
 * farswap_donors_seq_show() - print all donors, one on a line
 * @m:	file to print to
 * @v:	unused
 *
 * Context: may sleep.
 * Return: 0.
 */
int farswap_donors_seq_show(struct seq_file *m, void *v)
{
	struct farswap_donor *donor, *neighbour;

	seq_puts(m, "address state slabs free_mb node instance downs last_error suspects resumes same_machine slow tail_us\n");
	spin_lock(&farswap_state_lock);
	list_for_each_entry(donor, &farswap_donors, entry) {
		neighbour = donor->state == FARSWAP_DONOR_LIVE ||
			    donor->state == FARSWAP_DONOR_SUSPECT ?
			    farswap_donors_find_neighbour(donor) : NULL;
		seq_printf(m, "%s %s %u %llu %pU %016llx %u %d %u %u %s %d %lu\n", donor->address,
			   farswap_donor_state_name(donor), donor->nr_slabs,
			   donor->free_bytes >> 20, donor->peer.node,
			   donor->peer.instance, donor->downs, donor->last_error,
			   donor->suspects, donor->resumes, neighbour ? neighbour->address : "-",
			   farswap_donor_is_slow(donor),
			   farswap_tail_usual(&donor->tail) / NSEC_PER_USEC);
	}
	spin_unlock(&farswap_state_lock);
	return 0;
}

