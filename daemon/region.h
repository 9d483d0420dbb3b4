/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool: all memory that the daemon may lend, in regions of one slab. Callers set a limit for
 * the number of regions that have memory.
 *
 * A region is registered in the protection domain of the client that has it. A few free regions are
 * registered in advance for each client ("staged"), so that MAP takes one round trip and no
 * registration. No client knows the rkeys of its staged regions.
 */
#ifndef REGION_H
#define REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "worker.h"

/*
 * The usual order is EMPTY -> DIRTY -> FREE -> STAGING -> STAGED -> MAPPED -> EVICT_WAIT ->
 * EVICTING -> RETURNED -> REVOKING -> DIRTY. Other moves: STAGED to EVICTING may go to REVOKING;
 * MAPPED may go to RETURNED; EVICTING goes to EVICT_WAIT when its session is resumed; DIRTY and
 * FREE go to EMPTY when the pool shrinks; STAGING goes to FREE, or to DIRTY, when the registration
 * fails. No rkey exists from DIRTY to STAGING. A region whose rkey can't be revoked is BROKEN.
 *
 * The worker owns regions that are STAGING or REVOKING, because registering and deregistering may
 * take long. Nothing else is done to them meanwhile.
 */
enum region_state {
	REGION_EMPTY,		/* has no memory */
	REGION_DIRTY,		/* may contain a client's data: must be zeroed */
	REGION_FREE,		/* zeroed */
	REGION_STAGING,		/* being registered for its owner */
	REGION_STAGED,		/* registered for its owner, which does not know the rkey yet */
	REGION_MAPPED,		/* lent */
	REGION_EVICT_WAIT,	/* EVICT must be sent */
	REGION_EVICTING,	/* EVICT was sent */
	REGION_RETURNED,	/* returned; its rkey is revoked a moment later */
	REGION_REVOKING,		/* its rkey is being revoked */
	REGION_BROKEN,		/* its rkey could not be revoked: never used again */
	REGION_STATES
};

struct region {
	struct list link;	/* in the list of its state, of the owner or of the pool */
	enum region_state state;
	struct region_owner *owner;
	uint8_t *addr;
	size_t zeroed;		/* bytes zeroed from the start, if dirty */
	size_t present;		/* bytes allocated by the kernel, from the start */
	bool huge;		/* on reserved huge pages */
	bool unchecked;		/* registering failed; zeroing checks the memory */
	void *mr;		/* NULL if not registered, or if its device was removed */
	uint32_t rkey;
	struct worker_job job;
	/* Input and result of the worker's job, while STAGING or REVOKING. */
	struct {
		void *pd;
		void *mr;
		uint32_t rkey;
		int err;
	} call;
	uint64_t iova;		/* remote address of the first byte */
	/* State of the current loan. */
	uint64_t id;
	uint64_t evict_at_ms;	/* when its rkey will be revoked, also if returned */
	uint64_t evict_by_ms;	/* limit for that, however often the client reconnects */
	uint32_t evict_seq;
	uint64_t evict_job;
	bool revoked;		/* revoked before the client returned it */
	bool claimed;		/* the client knows that it has the region */
};

/* The regions of a client, over all its sessions. */
struct region_account {
	unsigned int lent;
};

/* A client that borrows regions; embedded in its session. */
struct region_owner {
	struct list link;
	void *pd;
	struct list regions[REGION_STATES];
	unsigned int nr[REGION_STATES];
	struct region_account *account;	/* or NULL */
	bool stage_failed;	/* don't stage until region_retry() */
	bool leaving;		/* gets no more regions */
};

/* Callbacks, called from the event loop; the caller of region_listen() keeps the structure. */
struct region_events {
	/* Regions may be free, or region_step() may have work. */
	void (*changed)(void);
	/* The rkey of a lent region was revoked (@dead), or can't be revoked. */
	void (*back)(struct region *region, bool dead);
	/* The worker has finished with all regions of the owner. */
	void (*idle)(struct region_owner *owner);
};

void region_listen(const struct region_events *events);
/* All regions are empty, and the limit is 0. */
int region_init(uint64_t memory, uint64_t slab, unsigned int ahead, bool hugepages);
/* Reserve addresses for all regions; call it after the daemon has locked its own memory. */
int region_reserve(void);
void region_exit(void);

void region_owner_add(struct region_owner *owner, void *pd);
/* Stop staging regions for this owner. */
void region_owner_leave(struct region_owner *owner);
/* Move all regions, and the domain if there is one, from @from to @to, which has none. */
void region_owner_move(struct region_owner *from, struct region_owner *to);
/* The owner must have no regions left. */
void region_owner_del(struct region_owner *owner);

/*
 * Lend a zeroed region registered in the owner's domain: return 0 and set *@out. Return -EAGAIN
 * while one is being zeroed or registered, -ENOSPC if there is none.
 */
int region_lend(struct region_owner *owner, struct region **out);
/*
 * Revoke the rkey of a staged or lent region, then put it back into the pool. region_find() does
 * not find it any more.
 */
void region_return(struct region *region);
/*
 * Return a region a moment later, after the client has returned it: its adapter may have
 * retransmitted a READ, and a READ without a valid rkey fails the connection. The region is revoked
 * sooner if its memory is needed.
 */
void region_return_later(struct region *region, uint64_t at_ms);
/* Has the worker any regions of this owner? */
bool region_owner_is_busy(const struct region_owner *owner);
/*
 * Revoke the rkey because the device is gone; the region stays lent. Return false if that fails,
 * and the region is broken.
 */
bool region_unregister(struct region *region);
/* Register the region again, in the owner's current domain. Return 0 or -errno. */
int region_register(struct region *region);
/* Return the owner's lent region with this id, or NULL. */
struct region *region_find(const struct region_owner *owner, uint64_t id);
/* Could a region have had this id? */
bool region_was_lent(uint64_t id);
void region_set_state(struct region *region, enum region_state state);

/* Do a bounded piece of work. Return false if there is none. */
bool region_step(void);
/* Stage again for owners for which it has failed. */
void region_retry(void);

/*
 * Set the number of regions that may have memory. region_step() then follows it as far as it can
 * without the lent regions.
 */
void region_set_limit(unsigned int limit);
/* Set how many of them may be on ordinary memory; unlimited by default. */
void region_set_ordinary_limit(unsigned int limit);
/*
 * Set how many bytes must stay available after a region gets ordinary memory. Checked each time,
 * because the limit is only as recent as the last sample of the machine's memory.
 */
void region_set_keep(uint64_t bytes);
/* Has the kernel refused memory since the last call? The limit was lowered then. */
bool region_refused(void);
/* Return it. */
unsigned int region_limit(void);
/* Is more memory held than the limits allow? Then nothing is lent. */
bool region_is_over(void);
/* Number of lent regions above the limit. */
unsigned int region_excess(void);
/* Number of those on ordinary memory above its limit. */
unsigned int region_excess_ordinary(void);
/* Number of regions being evicted; if @ordinary, only those on ordinary memory. */
unsigned int region_leaving(bool ordinary);

/* Bytes that can still be lent. */
uint64_t region_free_bytes(void);
/* Bytes allocated from the kernel. */
uint64_t region_present_bytes(void);
/* Bytes of that on reserved huge pages. */
uint64_t region_huge_bytes(void);
/* Number of regions on such pages, even if not allocated yet. */
unsigned int region_huge(void);
uint64_t region_bytes(void);
unsigned int region_count(enum region_state state);
unsigned int region_total(void);
/* Number of loans so far. */
uint64_t region_loans(void);
/* Region by index, 0 to region_total() - 1. */
struct region *region_at(unsigned int index);
const char *region_state_name(enum region_state state);

#endif
