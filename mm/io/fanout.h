/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The writes of one folio to all regions of its slab.
 */
#ifndef _FARSWAP_FANOUT_H
#define _FARSWAP_FANOUT_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "internal.h"

/**
 * struct farswap_fanout - the remote writes of one store
 * @writes:	one write for each region of the slab that can be written to
 * @nr_writes:	number of @writes
 * @pending:	number of @writes that have not ended, plus one until @refused is set
 * @good:	number of @writes that have succeeded
 * @refused:	no write could be submitted; valid when all have ended
 */
struct farswap_fanout {
	struct farswap_write writes[FARSWAP_REPLICAS_MAX];
	unsigned int nr_writes;
	atomic_t pending;
	atomic_t good;
	bool refused;
};

/**
 * farswap_fanout_is_there() - check that a region has the folio and can still be read
 * @fanout:	fan-out whose writes have ended, at least one of them with success
 * @slot:	first slot of the folio
 * @nr:		number of slots
 *
 * A region that is about to be evicted does not count: the evacuation might not fetch a page that
 * is written this late.
 *
 * Context: any.
 * Return: true if there is such a region.
 */
static inline bool farswap_fanout_is_there(const struct farswap_fanout *fanout,
					   unsigned int slot, unsigned int nr)
{
	const struct farswap_mapping *mapping;
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++) {
		mapping = fanout->writes[i].mapping;
		if (farswap_mapping_is_slabs(mapping) && !farswap_mapping_ends(mapping) &&
		    !farswap_evict_is_near(mapping) && farswap_mapping_has(mapping, slot, nr))
			return true;
	}
	return false;
}

/**
 * farswap_fanout_written() - drop the write counts, so that a pending eviction can proceed
 * @fanout:	fan-out whose writes have ended
 *
 * Context: any; see farswap_write_written().
 */
static inline void farswap_fanout_written(struct farswap_fanout *fanout)
{
	unsigned int i;

	for (i = 0; i < fanout->nr_writes; i++)
		farswap_write_written(&fanout->writes[i]);
}

/**
 * farswap_fanout_end() - put all mappings of a fan-out but one
 * @fanout:	fan-out after farswap_fanout_written()
 *
 * The last reference keeps the memory of the enclosing store. The caller frees the store first, and
 * calls farswap_mapping_put() for the returned mapping after that.
 *
 * Context: any.
 * Return: the mapping that is still to be put.
 */
static inline struct farswap_mapping *farswap_fanout_end(struct farswap_fanout *fanout)
{
	unsigned int i;

	for (i = 1; i < fanout->nr_writes; i++)
		farswap_mapping_put(fanout->writes[i].mapping);
	return fanout->writes[0].mapping;
}

#endif /* _FARSWAP_FANOUT_H */
