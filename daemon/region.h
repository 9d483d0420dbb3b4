/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool: all memory that the daemon may lend, in regions of one slab. How many
 * of them have memory follows a limit, which is set from outside.
 *
 * A region is registered in the protection domain of the client that has it.
 * So that MAP costs one round trip and no registration, a few free regions are
 * registered ahead for each client ("staged"); no client knows their keys yet.
 */
#ifndef REGION_H
#define REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "worker.h"

/*
 * EMPTY -> DIRTY -> FREE -> STAGING -> STAGED -> MAPPED -> EVICT_WAIT -> EVICTING -> RETURNED ->
 * KILLING -> DIRTY, with short cuts: any of STAGED to EVICTING to KILLING, MAPPED to RETURNED;
 * EVICTING to EVICT_WAIT when its session is resumed; from DIRTY and FREE to EMPTY when there is to
 * be less memory; STAGING back to FREE, or to DIRTY, when that fails. From DIRTY until STAGING no
 * key for a region exists; one whose key can't be killed is BROKEN.
 *
 * The worker has a region that is STAGING or KILLING: registering and the end of a registration
 * may take long. Nothing else is done to it meanwhile.
 */
enum region_state {
	REGION_EMPTY,		/* has no memory */
	REGION_DIRTY,		/* may have someone's bytes: to be zeroed */
	REGION_FREE,		/* zero */
	REGION_STAGING,		/* being registered for its owner */
	REGION_STAGED,		/* registered for its owner, who does not know */
	REGION_MAPPED,		/* lent */
	REGION_EVICT_WAIT,	/* EVICT to be sent */
	REGION_EVICTING,	/* EVICT sent */
	REGION_RETURNED,	/* given back; its key lives on for a moment */
	REGION_KILLING,		/* its key is being killed */
	REGION_BROKEN,		/* its key could not be killed: never used again */
	REGION_STATES
};

struct region {
	struct list link;	/* among those of its state, the owner's or the pool's */
	enum region_state state;
	struct region_owner *owner;
	uint8_t *addr;
	size_t zeroed;		/* bytes from the start, if dirty */
	size_t present;		/* bytes from the start that the kernel has given */
	bool huge;		/* of reserved huge pages */
	bool doubted;		/* it could not be registered, and not since; zeroing looks at it */
	void *mr;		/* NULL if its device is gone, or nobody has it */
	uint32_t rkey;
	struct worker_job job;
	/* The job's, of a region that is STAGING or KILLING. */
	struct {
		void *pd;
		void *mr;
		uint32_t rkey;
		int err;
	} call;
	uint64_t iova;		/* where its first byte is, for who has the key */
	/* Of this loan. */
	uint64_t id;
	uint64_t evict_at_ms;	/* when its key will be killed, also if returned */
	uint64_t evict_by_ms;	/* however often its client connects anew */
	uint32_t evict_seq;
	uint64_t evict_job;
	bool killed;		/* its client did not give it back */
	bool claimed;		/* the client knows that it has it */
};

/* Someone who borrows; inside a session. */
struct region_owner {
	struct list link;
	void *pd;
	struct list regions[REGION_STATES];
	unsigned int nr[REGION_STATES];
	bool stage_failed;	/* leave it until region_retry() */
	bool leaving;		/* gets nothing more */
};

/* What others are told, from the loop; region_listen()'s caller keeps it. */
struct region_events {
	/* There may be free regions, or work for region_step(). */
	void (*changed)(void);
	/* The key of one that was lent is dead. False: it can't be killed. */
	void (*back)(struct region *region, bool dead);
	/* The worker has no region of that owner any more. */
	void (*idle)(struct region_owner *owner);
};

void region_listen(const struct region_events *events);
/* Every region is empty, and the limit 0. */
int region_init(uint64_t memory, uint64_t slab, unsigned int ahead, bool hugepages);
/* Addresses for all of them, before any has memory; after the program's own has been locked. */
int region_reserve(void);
void region_exit(void);

void region_owner_add(struct region_owner *owner, void *pd);
/* Nothing more is staged for it. */
void region_owner_leave(struct region_owner *owner);
/* All that @from has becomes @to's, which has nothing; with its domain, if it has one. */
void region_owner_move(struct region_owner *from, struct region_owner *to);
/* It must have no region any more. */
void region_owner_del(struct region_owner *owner);

/*
 * A zeroed region, registered in the owner's domain, in *@out: 0. -EAGAIN: there
 * will be one when it has been zeroed, or registered. -ENOSPC: there is none.
 */
int region_lend(struct region_owner *owner, struct region **out);
/*
 * Kills the key, then takes the region, staged or lent, back into the pool; nobody finds it by its
 * name any more.
 */
void region_return(struct region *region);
/*
 * The same, a moment later, as the client has given it back: its adapter may have sent a READ
 * twice, and one that finds no key costs a connection. Less memory, or none for others, ends that.
 */
void region_return_later(struct region *region, uint64_t at_ms);
/* Has the worker any of its regions? */
bool region_owner_is_busy(const struct region_owner *owner);
/*
 * Kills the key, the region stays lent: its device is gone. False: it can't be, and the region
 * is broken.
 */
bool region_unregister(struct region *region);
/* Gives it another key, in the domain that the owner has now. 0, or why it can't be. */
int region_register(struct region *region);
/* What the owner has of that name, or NULL. */
struct region *region_find(const struct region_owner *owner, uint64_t id);
/* Could a region have had that name? */
bool region_was_lent(uint64_t id);
void region_set_state(struct region *region, enum region_state state);

/* One bounded piece of work, if there is any: true. */
bool region_step(void);
/* Tries again to stage for owners for which that failed. */
void region_retry(void);

/*
 * How many regions may have memory. region_step() then makes it so, as far as that
 * can be without those that are lent.
 */
void region_set_limit(unsigned int limit);
/* How many of these may be on ordinary memory, not on reserved huge pages; any, if not set. */
void region_set_ordinary_limit(unsigned int limit);
/*
 * How many bytes must still be available to others after a region gets ordinary memory. It is
 * checked each time, as a limit is only as good as the last look at the machine's memory.
 */
void region_set_keep(uint64_t bytes);
/* Has the kernel refused memory since this was last asked? The limit was lowered then. */
bool region_refused(void);
/* Regions that must come back from clients before the limit is kept. */
unsigned int region_excess(void);
/* The same of those on ordinary memory. */
unsigned int region_excess_ordinary(void);
/* Those that clients were told to give back; @ordinary: on ordinary memory. */
unsigned int region_leaving(bool ordinary);

/* What can still be lent. */
uint64_t region_free_bytes(void);
/* Memory taken from the kernel. */
uint64_t region_present_bytes(void);
/* Reserved huge pages among that. */
uint64_t region_huge_bytes(void);
/* Regions on such pages, also where the kernel has not given them yet. */
unsigned int region_huge(void);
uint64_t region_bytes(void);
unsigned int region_count(enum region_state state);
unsigned int region_total(void);
/* How often one has been lent. */
uint64_t region_loans(void);
/* Any region by its place, 0 to region_total() - 1. */
struct region *region_at(unsigned int index);
const char *region_state_name(enum region_state state);

#endif
