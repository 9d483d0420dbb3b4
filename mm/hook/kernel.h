/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of a stock kernel's swap code that the hook uses.
 */
#ifndef _FARSWAP_HELPER_H
#define _FARSWAP_HELPER_H

#include <linux/mm_types.h>
#include <linux/static_call_types.h>

struct folio;
struct mempolicy;
struct swap_info_struct;
struct swap_iocb;

/* swap_read_folio(), entered past its ftrace site; hook/ftrace.c sets the address. */
DECLARE_STATIC_CALL(farswap_kernel_read, void (struct folio *, struct swap_iocb **));

int farswap_helpers_find(void);
int farswap_helper_page_cluster(void);
struct swap_info_struct *farswap_helper_info(swp_entry_t entry);
struct swap_info_struct *farswap_helper_get_device(swp_entry_t entry);
void farswap_helper_lock_slots(void);
struct folio *farswap_helper_read_begin(swp_entry_t entry, gfp_t gfp, struct mempolicy *mpol,
					pgoff_t ilx);

#endif /* _FARSWAP_HELPER_H */
