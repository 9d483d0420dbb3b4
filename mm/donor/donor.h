/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A donor (a machine that lends memory to this one), the list of donors, and the transport.
 */
#ifndef _FARSWAP_DONOR_H
#define _FARSWAP_DONOR_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/farswap-transport.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "donor/tail.h"
#include "donor/window.h"

struct farswap_slab;
struct seq_file;

/* donor/donor.c */

/* Most donors in the donors line. */
#define FARSWAP_DONORS_MAX	64
/* EVICTs that may arrive before the answer to MAP; a donor has no more in flight. */
#define FARSWAP_EARLY_EVICTS	16U

/**
 * enum farswap_donor_state - states of a donor
 * @FARSWAP_DONOR_CONNECTING:	it has no session that is used; the transport retries
 * @FARSWAP_DONOR_LIVE:		its session is usable
 * @FARSWAP_DONOR_SUSPECT:	its session failed but may be resumed with its regions;
 *				I/O with them is refused until then
 * @FARSWAP_DONOR_LEAVING:	it was removed from the donors line, or farswap detaches
 * @FARSWAP_DONOR_STATES:	number of states
 */
enum farswap_donor_state {
	FARSWAP_DONOR_CONNECTING,
	FARSWAP_DONOR_LIVE,
	FARSWAP_DONOR_SUSPECT,
	FARSWAP_DONOR_LEAVING,
	FARSWAP_DONOR_STATES,
};

/* Characters of a public key: 32 bytes in base64. */
#define FARSWAP_DONOR_KEY_CHARS	44

/**
 * enum farswap_donor_io - I/O that a donor's session supports, independent of the donor's state
 * @FARSWAP_DONOR_IO_NONE:	none: there is no session, or it has failed
 * @FARSWAP_DONOR_IO_WORKS:	all
 * @FARSWAP_DONOR_IO_SUSPENDED:	none now, but the session may be resumed with its regions
 */
enum farswap_donor_io {
	FARSWAP_DONOR_IO_NONE,
	FARSWAP_DONOR_IO_WORKS,
	FARSWAP_DONOR_IO_SUSPENDED,
};

/**
 * struct farswap_donor - a machine that lends memory to this one
 * @ref:	references of the list, of each mapped slab and of each user
 * @entry:	entry in the list of donors
 * @transport:	the transport of @session
 * @session:	session of the transport; NULL until opened
 * @state:	written by farswap_donor_set_state()
 * @epoch:	changes with each session that begins, ends or can't be made; a region
 *		of an earlier epoch is lost
 * @users:	number of workers that use @session now
 * @peer:	the peer that answered last
 * @shared_node: machine for which the log already reports that another donor is on it too
 * @mappings:	mappings of its regions
 * @losing:	mappings that farswap_slabs_lose() has still to remove from their slabs
 * @uncounted:	mappings that it removed from slabs with other mappings, and whose lost pages have
 *		not been counted
 * @mappings_by_id: all its mappings, by the donor's identifier of the region
 * @nr_slabs:	number of slabs that it holds
 * @starved_since: start of the period in which no page could be fetched, jiffies; valid if
 *		@starved_at is recent
 * @starved_at:	when the adapter last had no memory for a fetch, jiffies; this and @starved_since
 *		are hints, written without a lock
 * @free_bytes:	its last answer to QUERY_MEM, bytes
 * @is_full:	it reported that it has no room for a slab, and has not reported room since
 * @is_full_logged: the log says so, since its session began
 * @full_at:	time of its last report about room, jiffies; valid if @is_full
 * @io:		I/O that its session supports, even if farswap uses another address of the
 *		same daemon
 * @suspects:	number of times that its session was suspended
 * @resumes:	number of times that its session was resumed
 * @downs:	number of its sessions that failed
 * @down_at:	when its session last failed or was suspended, jiffies
 * @suspect_at:	when its session was last suspended, jiffies
 * @altered:	it returned a page that is not the one stored; this and @altered_at are
 *		written without a lock
 * @altered_at:	when it last did, jiffies; valid if @altered
 * @last_error:	error of the last attempt to connect or of the last session, -errno; 0 since the
 *		donor answered
 * @tail:	how long its reads take
 * @reads_late:	reads that took longer than the tail's late_ns, since the last comparison
 * @reads_slow:	reads that took longer than its slow_ns
 * @reads_seen:	reads until the last comparison; this and @reads_waiting are for that only
 * @reads_waiting: reads that are in flight for longer than its slow_ns
 * @window:	bound on the pages that are being written to it
 * @says:	rate limit of the log lines about its suspicion
 * @said:	the last suspicion was logged; @says and @said are used by callbacks of the
 *		transport only
 * @taken:	regions that it revoked while its session was last suspended
 * @load_lock:	covers @loads
 * @loads:	loads that wait for it because it has the only copy
 * @load_work:	retries @loads; pending or running while there are any
 * @early:	ring of the last regions that it evicted or revoked while no slab had them
 * @nr_early:	number of these regions in this session
 * @rcu:	frees it after a grace period, because RCU readers of a mapping may read its donor
 * @key:	its public key, as text; empty: it is not authenticated
 * @address:	its address, as written in the donors line
 *
 * farswap_state_lock covers all but @ref, @transport, @altered, @altered_at, @starved_since,
 * @starved_at, @window, @says, @said, @load_lock, @loads, @load_work, @key and
 * @address.
 */
struct farswap_donor {
	struct kref ref;
	struct list_head entry;
	const struct farswap_transport *transport;
	struct farswap_session *session;
	enum farswap_donor_state state;
	unsigned int epoch;
	unsigned int users;
	struct farswap_peer peer;
	u8 shared_node[16];
	struct list_head mappings;
	struct list_head losing;
	struct list_head uncounted;
	DECLARE_HASHTABLE(mappings_by_id, 8);
	unsigned int nr_slabs;
	unsigned long starved_since;
	unsigned long starved_at;
	u64 free_bytes;
	bool is_full;
	bool is_full_logged;
	unsigned long full_at;
	enum farswap_donor_io io;
	unsigned int suspects;
	unsigned int resumes;
	unsigned int downs;
	unsigned long down_at;
	unsigned long suspect_at;
	bool altered;
	unsigned long altered_at;
	int last_error;
	struct farswap_tail tail;
	atomic_t reads_late;
	atomic_t reads_slow;
	unsigned int reads_seen;
	unsigned int reads_waiting;
	struct farswap_window window;
	struct ratelimit_state says;
	bool said;
	unsigned int taken;
	spinlock_t load_lock;	/* covers @loads */
	struct list_head loads;
	struct delayed_work load_work;
	u64 early[FARSWAP_EARLY_EVICTS];
	unsigned int nr_early;
	struct rcu_head rcu;
	char key[FARSWAP_DONOR_KEY_CHARS + 1];
	char address[];
};

void farswap_donor_init(work_func_t load);
const uuid_t *farswap_donor_client_node(void);
u64 farswap_donor_client_instance(void);
struct farswap_donor *farswap_donor_alloc(const char *address);
void farswap_donor_put(struct farswap_donor *donor);
void farswap_donor_set_state(struct farswap_donor *donor, enum farswap_donor_state state);
void farswap_donor_wait_unused(struct farswap_donor *donor);
bool farswap_donor_use(struct farswap_donor *donor);
void farswap_donor_unuse(struct farswap_donor *donor);
void farswap_donor_settle(const struct farswap_donor *donor);
const char *farswap_donor_state_name(const struct farswap_donor *donor);
void farswap_donor_note_room(struct farswap_donor *donor, u64 free_bytes, bool has_room);
u32 farswap_donor_full_ms(const struct farswap_donor *donor);
void farswap_donor_note_altered(struct farswap_donor *donor);
bool farswap_donor_is_distrusted(const struct farswap_donor *donor);

extern const char *const farswap_donor_state_names[FARSWAP_DONOR_STATES];
extern unsigned int farswap_donors_nr_live;	/* written under farswap_state_lock */

/**
 * farswap_donors_live() - check whether any donor is live
 *
 * Context: any.
 * Return: true if one is.
 */
static inline bool farswap_donors_live(void)
{
	return READ_ONCE(farswap_donors_nr_live);
}

/**
 * farswap_donor_is_suspect() - check whether I/O with a donor's regions is refused for now
 * @donor:	the donor, in any state
 *
 * The result is only a hint: it may change at any time.
 *
 * Context: any, with a reference on @donor or on a slab mapped to it.
 * Return: true if it is.
 */
static inline bool farswap_donor_is_suspect(const struct farswap_donor *donor)
{
	return READ_ONCE(donor->io) == FARSWAP_DONOR_IO_SUSPENDED;
}

/**
 * farswap_donor_works() - check whether I/O with a donor's regions works, as far as is known
 * @donor:	the donor, in any state
 *
 * Its session is then neither suspended nor failed. Slabs may learn of a failure only later.
 *
 * Context: any, with a reference on @donor or on a slab mapped to it.
 * Return: true if it does.
 */
static inline bool farswap_donor_works(const struct farswap_donor *donor)
{
	return READ_ONCE(donor->io) == FARSWAP_DONOR_IO_WORKS;
}

/**
 * farswap_donor_is_slow() - check whether a donor's reads are to be avoided
 * @donor:	the donor, in any state
 *
 * The result is only a hint: it may change at any time.
 *
 * Context: any, with a reference on @donor or on a slab mapped to it.
 * Return: true if the tail of its reads is ten times another donor's.
 */
static inline bool farswap_donor_is_slow(const struct farswap_donor *donor)
{
	return READ_ONCE(donor->tail.slow);
}

void farswap_donor_late(struct farswap_donor *donor, u64 ns);

/**
 * farswap_donor_learn() - count a read if it was late
 * @donor:	the donor, with a reference on it or on a mapping of it
 * @ns:		the latency
 *
 * Context: any.
 */
static inline void farswap_donor_learn(struct farswap_donor *donor, u64 ns)
{
	if (unlikely(ns > READ_ONCE(donor->tail.late_ns)))
		farswap_donor_late(donor, ns);
}

extern struct work_struct farswap_transport_work;

const struct farswap_transport *farswap_transport_get(void);
void farswap_transport_put(const struct farswap_transport *transport);

/* donor/list.c */

/**
 * struct farswap_donor_use - a live donor that is in use
 * @donor:	the donor
 * @epoch:	its epoch at that time
 * @slabs:	number of slabs that it held then
 * @full_ms:	time since it reported that it has no room, ms; or FARSWAP_PLACEMENT_NEVER
 * @shaky:	its session failed or was suspended recently, or it returned an altered page
 */
struct farswap_donor_use {
	struct farswap_donor *donor;
	unsigned int epoch;
	unsigned int slabs;
	u32 full_ms;
	bool shaky;
};

extern struct list_head farswap_donors;

int farswap_donors_parse(const char *line, struct list_head *list);
struct farswap_donor *farswap_donors_find(const struct list_head *list,
					  const struct farswap_donor *like);
void farswap_donors_free(struct list_head *list);
int farswap_donors_show(char *buf);
void farswap_donors_append(struct farswap_donor *donor);
void farswap_donors_remove(struct farswap_donor *donor);
void farswap_donors_set_io_timeout(unsigned int ms);
void farswap_donors_set_grace(unsigned int ms);
struct farswap_donor *farswap_donors_find_live(const struct farswap_peer *peer);
struct farswap_donor *farswap_donors_find_spare(const struct farswap_peer *peer);
struct farswap_donor *farswap_donors_find_neighbour(const struct farswap_donor *donor);
bool farswap_donor_same_machine(const struct farswap_donor *a, const struct farswap_donor *b);
int farswap_donors_use(struct farswap_donor_use *use);
bool farswap_donors_compare(bool on, u32 *min_hedge_ns);
int farswap_donors_seq_show(struct seq_file *m, void *v);

#endif /* _FARSWAP_DONOR_H */
