/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between mm and farswap: what the hook calls in the core, and what the core
 * asks of the hook. The hook is the only code that knows by which way the
 * kernel's swap code was reached.
 */
#ifndef _LINUX_FARSWAP_H
#define _LINUX_FARSWAP_H

#include <linux/types.h>
#include <linux/mm_types.h>

struct swap_info_struct;
struct writeback_control;

/* The core, called by the hook. */
bool farswap_store(struct folio *folio, struct writeback_control *wbc);
bool farswap_load(struct folio *folio, bool urgent);
bool farswap_is_remote(swp_entry_t entry);
bool farswap_poll_lock(struct folio *folio);
void farswap_forget(struct folio *folio);
void farswap_invalidate(unsigned int type, pgoff_t first, pgoff_t last);
void farswap_swapon(struct swap_info_struct *si, unsigned int type,
		    unsigned long nr_slots);
void farswap_swapoff(unsigned int type);

/* The hook, called by the core. */
void farswap_hook_read(struct folio *folio);
void farswap_hook_swapin(struct folio *folio);

#endif /* _LINUX_FARSWAP_H */
