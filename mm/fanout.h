/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One folio's writes to all the regions that its slab has.
 */
#ifndef _FARSWAP_FANOUT_H
#define _FARSWAP_FANOUT_H

#include <linux/atomic.h>
#include <linux/farswap-transport.h>
#include <linux/types.h>

#include "settings.h"
#include "window.h"

struct farswap_fanout;
struct farswap_mapping;
struct farswap_slab;
struct folio;

/**
 * struct farswap_fanout_write - the write to one region
 * @io:		the remote write
 * @fanout:	whose it is
 * @mapping:	where to; a reference is held
 * @room:	what it has of the window of its donor
 */
struct farswap_fanout_write {
	struct farswap_io io;
	struct farswap_fanout *fanout;
	struct farswap_mapping *mapping;
	enum farswap_room room;
};

/**
 * struct farswap_fanout - the remote writes of one store
 * @writes:	to every region that the slab has and that can be written to
 * @nr_writes:	how many
 * @pending:	how many of them have not ended
 * @good:	how many have succeeded
 * @refused:	none of them was even begun; known when all have ended
 */
struct farswap_fanout {
	struct farswap_fanout_write writes[FARSWAP_REPLICAS_MAX];
	unsigned int nr_writes;
	atomic_t pending;
	atomic_t good;
	bool refused;
};

bool farswap_fanout_begin(struct farswap_fanout *fanout, struct farswap_slab *slab,
			  unsigned int slot, unsigned int nr, bool sole);
bool farswap_fanout_enter(struct farswap_fanout *fanout, unsigned int nr);
void farswap_fanout_cancel(struct farswap_fanout *fanout, unsigned int nr);
void farswap_fanout_submit(struct farswap_fanout *fanout, struct folio *folio,
			   unsigned int slot);
bool farswap_fanout_is_there(const struct farswap_fanout *fanout, unsigned int slot,
			     unsigned int nr);
void farswap_fanout_written(struct farswap_fanout *fanout);
struct farswap_mapping *farswap_fanout_end(struct farswap_fanout *fanout);

#endif /* _FARSWAP_FANOUT_H */
