/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One folio's writes to all the regions that its slab has.
 */
#ifndef _FARSWAP_FANOUT_H
#define _FARSWAP_FANOUT_H

#include <linux/atomic.h>
#include <linux/farswap-transport.h>
#include <linux/types.h>

#include "internal.h"

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

/**
 * farswap_fanout_is_there() - does one of the regions have the folio, and can it still be read
 * @fanout:	one whose writes have ended, of which one has succeeded
 * @slot:	the folio's first slot
 * @nr:		how many
 *
 * Of a region that is about to go, what comes late might not be fetched any more.
 *
 * Context: any.
 * Return: whether it has.
 */
static inline bool farswap_fanout_is_there(const struct farswap_fanout *fanout,
					   unsigned int slot, unsigned int nr)
{
	const struct farswap_mapping *mapping;
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++) {
		mapping = fanout->writes[i].mapping;
		if (farswap_mapping_is_slabs(mapping) && !farswap_mapping_ends(mapping) &&
		    !farswap_eviction_is_near(mapping) && farswap_mapping_has(mapping, slot, nr))
			return true;
	}
	return false;
}

/**
 * farswap_fanout_written() - who wants one of its regions back need not wait for it
 * @fanout:	one whose writes have ended
 *
 * Context: any; see farswap_mapping_store_written().
 */
static inline void farswap_fanout_written(struct farswap_fanout *fanout)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++)
		farswap_mapping_store_written(fanout->writes[i].mapping);
}

/**
 * farswap_fanout_end() - its regions are used no more, but for one
 * @fanout:	one of which farswap_fanout_written() has been told
 *
 * Nothing keeps what @fanout is a part of when farswap_mapping_put() has been called for the
 * last of them.
 *
 * Context: any.
 * Return: the last, for which it is to be called.
 */
static inline struct farswap_mapping *farswap_fanout_end(struct farswap_fanout *fanout)
{
	unsigned int i;

	for (i = 1; i < fanout->nr_writes; i++)
		farswap_mapping_put(fanout->writes[i].mapping);
	return fanout->writes[0].mapping;
}

#endif /* _FARSWAP_FANOUT_H */
