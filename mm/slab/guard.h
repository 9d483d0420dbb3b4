/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of slots whose pages are being written to a region in the background, and the checks by
 * which stores keep out of them.
 */
#ifndef _FARSWAP_GUARD_H
#define _FARSWAP_GUARD_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/types.h>

struct farswap_guard_copy;
struct farswap_mapping;
struct farswap_slab;

/* Slots of a run; a bit mask of them is one word, of 32 bits at least. */
#define FARSWAP_GUARD_SLOTS	32U
/* Copy runs at a time: at most two are repairs, the others evacuate regions. */
#define FARSWAP_GUARD_COPIES	8

struct farswap_guard_copy *farswap_guard_copy_begin(const struct farswap_mapping *to,
						    unsigned int first, long timeout);
unsigned int farswap_guard_copy_end(struct farswap_guard_copy *run, struct farswap_mapping *to,
				    unsigned long *moved);

bool farswap_guard_rebuild_is_wanted(const struct farswap_slab *slab, unsigned int slot);
bool farswap_guard_rebuild_is_cached(const struct farswap_slab *slab, unsigned int slot);
void farswap_guard_rebuild_begin(const struct farswap_slab *slab, unsigned int first,
				 unsigned int nr);
unsigned long farswap_guard_rebuild_write(void);
void farswap_guard_rebuild_end(struct farswap_mapping *mapping, unsigned long arrived);
void farswap_guard_rebuild_cancel(void);

extern unsigned int farswap_guard_copying;
bool __farswap_guard_copy_excludes(const struct farswap_mapping *to, unsigned int slot,
				   unsigned int nr);

/**
 * farswap_guard_copy_excludes() - check whether a store must skip a mapping
 * @to:		the mapping
 * @slot:	the first slot, without the remote bit
 * @nr:		number of slots
 *
 * Context: process context; does not sleep.
 * Return: true if a run is copying one of the slots to it; the slots become stale in the run.
 */
static inline bool farswap_guard_copy_excludes(const struct farswap_mapping *to,
					       unsigned int slot, unsigned int nr)
{
	/*
	 * The read of farswap_guard_copying comes before the store marks its slots missing. Pairs
	 * with the release in farswap_guard_copy_end(), which clears the missing bits first.
	 */
	return unlikely(smp_load_acquire(&farswap_guard_copying)) &&
	       __farswap_guard_copy_excludes(to, slot, nr);
}

bool farswap_guard_rebuild_excludes(const struct farswap_slab *slab, unsigned int slot,
				    unsigned int nr);

#endif /* _FARSWAP_GUARD_H */
