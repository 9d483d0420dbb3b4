/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the hook and the farswap core, in both directions. Only the hook
 * depends on how farswap is attached to the kernel's swap code.
 */
#ifndef _LINUX_FARSWAP_H
#define _LINUX_FARSWAP_H

#include <linux/types.h>
#include <linux/mm_types.h>

struct swap_info_struct;
struct vm_fault;

/**
 * enum farswap_slot_flags - state of a swap slot
 * @FARSWAP_SLOT_USED:		the slot is allocated
 * @FARSWAP_SLOT_CACHED:	a folio of it is in the swap cache
 * @FARSWAP_SLOT_ZERO:		it holds a zero page, stored as this flag only
 */
enum farswap_slot_flags {
	FARSWAP_SLOT_USED = 1 << 0,
	FARSWAP_SLOT_CACHED = 1 << 1,
	FARSWAP_SLOT_ZERO = 1 << 2,
};

/* Implemented by the core, called by the hook. */
bool farswap_store(struct folio *folio);
bool farswap_load(struct folio *folio, bool urgent);
bool farswap_load_large(struct folio *folio);
bool farswap_is_remote(swp_entry_t entry, unsigned int nr);
bool farswap_poll_lock(struct folio *folio);
void farswap_swapin_begin(void);
void farswap_swapin_end(void);
struct folio *farswap_swapin_readahead(swp_entry_t entry, gfp_t gfp, struct vm_fault *vmf,
				       bool ahead);
void farswap_forget(struct folio *folio);
void farswap_invalidate(unsigned int type, pgoff_t first, pgoff_t last);
void farswap_swapon(struct swap_info_struct *si, unsigned int type,
		    unsigned long nr_slots);
void farswap_swapoff_drain(unsigned int type);
void farswap_swapoff(unsigned int type);

/* Implemented by the hook, called by the core. */
void farswap_hook_count(struct folio *folio);
void farswap_hook_read(struct folio *folio);
struct folio *farswap_hook_read_async(swp_entry_t entry, gfp_t gfp, struct vm_area_struct *vma,
				      unsigned long address, bool urgent);
bool farswap_hook_entry(pte_t pte, swp_entry_t *entry);
void farswap_hook_swapin(struct folio *folio);
void farswap_hook_loaded(struct folio *folio);
void farswap_hook_give_up(struct folio *folio);
bool farswap_hook_abandon(struct folio *folio);
unsigned int farswap_hook_slot(struct swap_info_struct *si, pgoff_t offset);
bool farswap_hook_keep(struct swap_info_struct *si, pgoff_t offset);
bool farswap_hook_zero(struct swap_info_struct *si, pgoff_t offset);
unsigned int farswap_hook_stride(const struct swap_info_struct *si);
bool farswap_hook_zswap_holds(void);

#endif /* _LINUX_FARSWAP_H */
