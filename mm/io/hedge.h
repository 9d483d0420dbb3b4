/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hedged reads: a read that takes long is repeated elsewhere, and the first good copy wins.
 */
#ifndef _FARSWAP_HEDGE_H
#define _FARSWAP_HEDGE_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct farswap_hedge;
struct farswap_load_request;

/**
 * enum farswap_race_state - the remote read of a load
 * @FARSWAP_RACE_NONE:		it is not in flight
 * @FARSWAP_RACE_ALONE:		it is in flight, and may be hedged
 * @FARSWAP_RACE_HEDGED:	it is in flight, and is or was hedged, or can't be
 */
enum farswap_race_state {
	FARSWAP_RACE_NONE,
	FARSWAP_RACE_ALONE,
	FARSWAP_RACE_HEDGED,
};

/**
 * enum farswap_race_given - whether the folio of a load was given up while its read is in flight
 * @FARSWAP_RACE_KEPT:	it was not
 * @FARSWAP_RACE_GIVING: a worker removes it from the swap cache just now
 * @FARSWAP_RACE_GIVEN:	it is unlocked and not in the swap cache any more
 * @FARSWAP_RACE_HELD:	it is not in the swap cache any more but still locked, because swapoff
 *			may wait for it
 */
enum farswap_race_given {
	FARSWAP_RACE_KEPT,
	FARSWAP_RACE_GIVING,
	FARSWAP_RACE_GIVEN,
	FARSWAP_RACE_HELD,
};

/**
 * struct farswap_race - a load's part in a hedged read
 * @state:	enum farswap_race_state. The completion of the read sets it to NONE, and only the
 *		lock of hedges lets a scan set it to HEDGED
 * @given:	enum farswap_race_given; the lock of hedges
 * @arrived:	the read has ended; the lock of hedges
 * @waiting:	the read has failed, and the load waits for the hedge; the lock of hedges
 * @hedge:	the hedge that has not ended; the lock of hedges. NULL if there is none
 * @page:	what the folio gets in the end, with FARSWAP_RACE_HELD
 * @entry:	in a list of all requests
 */
struct farswap_race {
	unsigned int state;
	u8 given;
	bool arrived;
	bool waiting;
	struct farswap_hedge *hedge;
	struct page *page;
	struct list_head entry;
};

/* Returned by farswap_hedge_settle() if the load waits; not an error. */
#define FARSWAP_HEDGE_WAITS	1

extern bool farswap_hedge_scanning;
extern unsigned int farswap_hedge_nr_kept;

void farswap_hedge_scan(void);
void farswap_hedge_watch(struct farswap_load_request *request);
void farswap_hedge_unwatch(struct farswap_load_request *request);
bool farswap_hedge_read_ended(struct farswap_load_request *request);
int farswap_hedge_settle(struct farswap_load_request *request, int error);
bool farswap_hedge_load_kept(struct folio *folio);
bool farswap_hedge_keeps_any(swp_entry_t entry, unsigned int nr);
void farswap_hedge_drop_kept(unsigned int type, pgoff_t first, pgoff_t last);
void farswap_hedge_flush(void);
void farswap_hedge_init(void);
void farswap_hedge_exit(void);

/**
 * farswap_hedge_begin() - let a read be hedged from now on
 * @race:	the race of its load; all else of the read is set up
 *
 * Context: any.
 */
static inline void farswap_hedge_begin(struct farswap_race *race)
{
	/* A scan that sees the state also sees the load. */
	smp_store_release(&race->state, FARSWAP_RACE_ALONE);
	if (unlikely(!READ_ONCE(farswap_hedge_scanning)))
		farswap_hedge_scan();
}

/**
 * farswap_hedge_load() - read a page from the copy that a hedge has kept for it
 * @folio:	locked, in the swap cache, not up to date
 *
 * Context: any.
 * Return: true if there was one; the folio is up to date and unlocked then.
 */
static inline bool farswap_hedge_load(struct folio *folio)
{
	return unlikely(READ_ONCE(farswap_hedge_nr_kept)) && farswap_hedge_load_kept(folio);
}

/**
 * farswap_hedge_keeps() - check whether a hedge has kept one of some pages
 * @entry:	the first swap entry
 * @nr:		number of entries
 *
 * Context: any.
 * Return: true if so; a hint.
 */
static inline bool farswap_hedge_keeps(swp_entry_t entry, unsigned int nr)
{
	return unlikely(READ_ONCE(farswap_hedge_nr_kept)) && farswap_hedge_keeps_any(entry, nr);
}

/**
 * farswap_hedge_drop() - free the copies that are kept of slots which are freed or stored to
 * @type:	swap type
 * @first:	the first offset
 * @last:	the last offset
 *
 * Context: any, also with interrupts off.
 */
static inline void farswap_hedge_drop(unsigned int type, pgoff_t first, pgoff_t last)
{
	if (unlikely(READ_ONCE(farswap_hedge_nr_kept)))
		farswap_hedge_drop_kept(type, first, last);
}

#endif /* _FARSWAP_HEDGE_H */
