/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine that lends us memory, and the list of them.
 */
#ifndef _FARSWAP_DONOR_H
#define _FARSWAP_DONOR_H

#include <linux/compiler.h>
#include <linux/farswap-transport.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "donor/window.h"

struct farswap_slab;
struct seq_file;

/* donor.c */

/* Donors the donors line may name. */
#define FARSWAP_DONORS_MAX	64
/* EVICTs that may overtake the answer to MAP; a donor has no more under way. */
#define FARSWAP_EARLY_EVICTS	16U

/**
 * enum farswap_donor_state - the life of a donor
 * @FARSWAP_DONOR_CONNECTING:	no session at present; the transport tries
 * @FARSWAP_DONOR_LIVE:		usable
 * @FARSWAP_DONOR_SUSPECT:	its session failed, but may go on with its regions;
 *				until then I/O with them is refused
 * @FARSWAP_DONOR_LEAVING:	taken off the donors line, or farswap detaches
 * @FARSWAP_DONOR_STATES:	how many there are
 */
enum farswap_donor_state {
	FARSWAP_DONOR_CONNECTING,
	FARSWAP_DONOR_LIVE,
	FARSWAP_DONOR_SUSPECT,
	FARSWAP_DONOR_LEAVING,
	FARSWAP_DONOR_STATES,
};

/**
 * enum farswap_donor_io - what a donor's session is good for, whatever its state
 * @FARSWAP_DONOR_IO_NONE:	nothing: there is none, or it has failed for good
 * @FARSWAP_DONOR_IO_WORKS:	everything
 * @FARSWAP_DONOR_IO_SUSPENDED:	nothing now, but it may go on with its regions
 */
enum farswap_donor_io {
	FARSWAP_DONOR_IO_NONE,
	FARSWAP_DONOR_IO_WORKS,
	FARSWAP_DONOR_IO_SUSPENDED,
};

/**
 * struct farswap_donor - a machine that lends us memory
 * @ref:	the list, each mapped slab and each user hold one
 * @entry:	in the list of donors
 * @transport:	how it is reached
 * @session:	the transport's; NULL until opened
 * @state:	written by donor_set_state()
 * @epoch:	changes with each session that begins, ends or can't be made; a region
 *		of an earlier one is dead
 * @users:	workers that use @session now
 * @peer:	who answered last
 * @shared_node: the machine that the log says another donor is on too
 * @mappings:	what it holds for us
 * @losing:	mappings that farswap_slabs_lose() has still to take from their slabs
 * @uncounted:	mappings that it took from slabs with others, and whose lost pages have not
 *		been counted
 * @mappings_by_id: all of them, by the donor's name for the region
 * @nr_slabs:	how many these are
 * @starved_since: since when no page could be fetched, if @starved_at was just now, jiffies
 * @starved_at:	when the adapter had no memory for that last; both without a lock, hints
 * @free_bytes:	its last answer to QUERY_MEM
 * @is_full:	it said that it has no room for a slab, and gave none since
 * @full_at:	when it did last, jiffies; if @is_full
 * @io:	what the session is good for, though perhaps another address of the same
 *		daemon is used
 * @suspects:	times that its session was suspended
 * @resumes:	times that it went on afterwards
 * @downs:	sessions with it that failed
 * @down_at:	when the last one did, jiffies
 * @suspect_at:	when the last one was suspended, jiffies
 * @last_error:	how the last attempt or session failed, -errno; 0 since the donor
 *		answered
 * @window:	what is being written to it
 * @says:	how often the log hears that it is suspect
 * @said:	it has heard so last time; as @says the transport's callbacks' alone
 * @taken:	regions it took back while its session was suspended last
 * @load_lock:	of @loads
 * @loads:	loads of what only it has, which wait for it
 * @load_work:	looks at them; pending or running while there are any
 * @early:	regions it wanted, or took, back last that no slab held, a ring
 * @nr_early:	how many there were in this session
 * @rcu:	frees it: a mapping may be looked at, and its donor, until then
 * @address:	as in the donors line
 *
 * All but @ref, @transport, @window, @says, @said, @load_lock, @loads, @load_work and @address
 * under farswap_state_lock.
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
	unsigned long full_at;
	enum farswap_donor_io io;
	unsigned int suspects;
	unsigned int resumes;
	unsigned int downs;
	unsigned long down_at;
	unsigned long suspect_at;
	int last_error;
	struct farswap_window window;
	struct ratelimit_state says;
	bool said;
	unsigned int taken;
	spinlock_t load_lock;	/* of @loads */
	struct list_head loads;
	struct delayed_work load_work;
	u64 early[FARSWAP_EARLY_EVICTS];
	unsigned int nr_early;
	struct rcu_head rcu;
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

extern const char *const farswap_donor_state_names[FARSWAP_DONOR_STATES];
extern unsigned int farswap_donors_nr_live;	/* written under farswap_state_lock */

/**
 * farswap_donors_live() - is there a donor to map slabs at
 *
 * Context: any.
 * Return: whether there is.
 */
static inline bool farswap_donors_live(void)
{
	return READ_ONCE(farswap_donors_nr_live);
}

/**
 * farswap_donor_is_suspect() - is I/O with the donor's regions refused for now
 * @donor:	the donor
 *
 * Whatever its state: it may be leaving. Only a hint: it may change at any time.
 *
 * Context: any, with a reference on @donor or on a slab mapped to it.
 * Return: whether it is.
 */
static inline bool farswap_donor_is_suspect(const struct farswap_donor *donor)
{
	return READ_ONCE(donor->io) == FARSWAP_DONOR_IO_SUSPENDED;
}

/**
 * farswap_donor_works() - does I/O with the donor's regions work, as far as is known
 * @donor:	the donor
 *
 * Neither is it suspect, nor has its session failed, whether its slabs know that yet or not.
 *
 * Context: any, with a reference on @donor or on a slab mapped to it.
 * Return: whether it does.
 */
static inline bool farswap_donor_works(const struct farswap_donor *donor)
{
	return READ_ONCE(donor->io) == FARSWAP_DONOR_IO_WORKS;
}

extern struct work_struct farswap_transport_work;

const struct farswap_transport *farswap_transport_get(void);
void farswap_transport_put(const struct farswap_transport *transport);

/* donor/list.c */

/**
 * struct farswap_donor_use - a live donor that is in use
 * @donor:	the donor
 * @epoch:	its session
 * @slabs:	what it held for us
 * @full_ms:	how long ago it said that it has no room, or FARSWAP_PLACEMENT_NEVER
 * @shaky:	a session with it failed lately
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
struct farswap_donor *farswap_donors_find(const struct list_head *list, const char *address);
void farswap_donors_free(struct list_head *list);
int farswap_donors_show(char *buf);
void farswap_donors_append(struct farswap_donor *donor);
void farswap_donors_remove(struct farswap_donor *donor);
void farswap_donors_set_io_timeout(unsigned int ms);
void farswap_donors_set_grace(unsigned int ms);
struct farswap_donor *farswap_donors_find_live(const struct farswap_peer *peer);
struct farswap_donor *farswap_donors_find_spare(const struct farswap_peer *peer);
struct farswap_donor *farswap_donors_find_neighbour(const struct farswap_donor *donor);
int farswap_donors_use(struct farswap_donor_use *use);
int farswap_donors_seq_show(struct seq_file *m, void *v);

#endif /* _FARSWAP_DONOR_H */
