/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of slots whose pages are being written to a region in the background, and the checks by
 * which stores keep out of them.
 */
#ifndef _FARSWAP_GUARD_H
#define _FARSWAP_GUARD_H

#include <linux/types.h>

#include "slab/cipher.h"

struct farswap_mapping;
struct farswap_slab;

/* Slots of a run; a bit mask of them is one word, of 32 bits at least. */
#define FARSWAP_GUARD_SLOTS	32U
/* Copies at a time: at most two are repairs, the others evacuate regions. */
#define FARSWAP_GUARD_COPIES	8
/* Runs at a time: one for each copy, and one for the rebuild. */
#define FARSWAP_GUARD_RUNS	(FARSWAP_GUARD_COPIES + 1)

/**
 * struct farswap_guard_seals - the seals of the slots that a run brings to a region
 * @generation:	the generation that each slot's page is sealed with; 0: it can't be sealed
 * @tag:	the tag of each slot's page
 */
struct farswap_guard_seals {
	u32 generation[FARSWAP_GUARD_SLOTS];
	u8 tag[FARSWAP_GUARD_SLOTS][FARSWAP_CIPHER_TAG];
};

/**
 * struct farswap_guard_run - a run of slots
 * @slab:	its slab, or NULL if the run is free
 * @to:		mapping of the region that is written, or NULL while none is
 * @first:	its first slot
 * @wanted:	bit mask of its slots that are written to @to
 * @stale:	bit mask of its slots that were stored to, promoted or freed since it began
 * @arrived:	bit mask of its slots that were written; changed atomically
 * @seals:	the seals of its slots, if their pages are to be sealed; or NULL
 */
struct farswap_guard_run {
	const struct farswap_slab *slab;
	const struct farswap_mapping *to;
	unsigned int first;
	unsigned long wanted;
	unsigned long stale;
	unsigned long arrived;
	struct farswap_guard_seals *seals;
};

unsigned int farswap_guard_look(const struct farswap_slab *slab, unsigned int slot,
				unsigned int nr);
unsigned int farswap_guard_invalidate(struct farswap_slab *slab, unsigned int slot,
				      unsigned int nr, unsigned int *avoid);

bool farswap_guard_rebuild_is_wanted(struct farswap_slab *slab, unsigned int slot);
bool farswap_guard_rebuild_is_cached(const struct farswap_slab *slab, unsigned int slot);

struct farswap_guard_run *farswap_guard_begin(const struct farswap_slab *slab,
					      unsigned int first);
unsigned long farswap_guard_write(struct farswap_guard_run *run,
				  const struct farswap_mapping *to, unsigned long slots,
				  struct farswap_guard_seals *seals, long timeout);
unsigned int farswap_guard_end(struct farswap_guard_run *run, struct farswap_mapping *to,
			       bool publish);

#endif /* _FARSWAP_GUARD_H */
