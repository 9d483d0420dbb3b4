/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slots of which the device's pages are on their way to a region.
 */
#ifndef _FARSWAP_REBUILD_H
#define _FARSWAP_REBUILD_H

#include <linux/types.h>

struct farswap_mapping;
struct farswap_slab;

/* Slots of a run: 128 KiB that are read at once. They have a word for each mask. */
#define FARSWAP_REBUILD_PAGES	32U

bool farswap_rebuild_is_wanted(const struct farswap_slab *slab, unsigned int slot);
bool farswap_rebuild_is_cached(const struct farswap_slab *slab, unsigned int slot);
void farswap_rebuild_run_begin(const struct farswap_slab *slab, unsigned int first,
			       unsigned int nr);
unsigned long farswap_rebuild_run_write(void);
void farswap_rebuild_run_end(struct farswap_mapping *mapping, unsigned long arrived);
void farswap_rebuild_run_cancel(void);

#endif /* _FARSWAP_REBUILD_H */
