// SPDX-License-Identifier: GPL-2.0
/*
 * Hook mode in-tree: in a kernel whose swap code calls frontswap, farswap is the backend of
 * frontswap. The hook has no notion of slabs and donors; it calls the core only through
 * <linux/farswap.h>.
 *
 * Teardown: frontswap waits for the tasks inside our functions.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/farswap.h>
#include <linux/frontswap.h>
#include <linux/swap.h>

#include "hook/hook.h"

static struct folio *hook_readahead(swp_entry_t entry, gfp_t gfp, struct vm_fault *vmf,
				    bool ahead)
{
	struct folio *folio;

	farswap_swapin_begin();
	folio = farswap_swapin_readahead(entry, gfp, vmf, ahead);
	farswap_swapin_end();
	return folio;
}

static const struct frontswap_ops hook_ops = {
	.store		= farswap_store,
	.load		= farswap_load,
	.load_large	= farswap_load_large,
	.has		= farswap_is_remote,
	.poll_lock	= farswap_poll_lock,
	.swapin_readahead = hook_readahead,
	.zswapped	= farswap_forget,
	.invalidate	= farswap_invalidate,
	.swapon		= farswap_swapon,
	.swapoff_drain	= farswap_swapoff_drain,
	.swapoff	= farswap_swapoff,
};

/**
 * farswap_hook_count() - account for a page-out by farswap
 * @folio:	the folio, locked, before its writeback begins
 *
 * Context: any.
 */
void farswap_hook_count(struct folio *folio)
{
	frontswap_count(folio);
}

/**
 * farswap_hook_read() - read a folio as the kernel does without farswap
 * @folio:	locked, in the swap cache, not up to date
 *
 * Context: may sleep. The hook is detached only after all callers have left.
 */
void farswap_hook_read(struct folio *folio)
{
	frontswap_read_device(folio);
}

/**
 * farswap_hook_read_async() - begin to read a page into the swap cache
 * @entry:	swap entry of the page
 * @gfp:	how to allocate memory
 * @vma:	area that the page belongs to
 * @address:	address of the page in @vma
 * @urgent:	a task is about to wait for the page
 *
 * Context: may sleep for memory.
 * Return: the folio, with a reference; it has been read, or its read is in flight. NULL without
 * memory, or if the entry is not in use any more.
 */
struct folio *farswap_hook_read_async(swp_entry_t entry, gfp_t gfp, struct vm_area_struct *vma,
				      unsigned long address, bool urgent)
{
	return frontswap_read_async(entry, gfp, vma, address, urgent);
}

/**
 * farswap_hook_entry() - get the swap entry of a page table entry
 * @pte:	the page table entry
 * @entry:	set to the swap entry
 *
 * Context: any.
 * Return: true if @pte is the swap entry of a swap device.
 */
bool farswap_hook_entry(pte_t pte, swp_entry_t *entry)
{
	return frontswap_entry(pte, entry);
}

/**
 * farswap_hook_swapin() - notify zswap of a page-in from below it
 * @folio:	the folio, locked
 *
 * Context: may sleep.
 */
void farswap_hook_swapin(struct folio *folio)
{
	frontswap_swapin(folio);
}

/**
 * farswap_hook_loaded() - account for a page-in by farswap
 * @folio:	the folio, locked
 *
 * Context: any.
 */
void farswap_hook_loaded(struct folio *folio)
{
	frontswap_loaded(folio);
}

/**
 * farswap_hook_give_up() - end the read of a large folio, to read its pages one by one
 * @folio:	locked, not up to date
 *
 * Context: process context, if it is in the swap cache.
 */
void farswap_hook_give_up(struct folio *folio)
{
	frontswap_give_up(folio);
}

/**
 * farswap_hook_abandon() - remove a folio from the swap cache before it has been read
 * @folio:	of one page, locked, in the swap cache, not up to date; the caller holds a reference
 *
 * Context: process context; does not sleep.
 * Return: true if the folio was unlocked. False, in 6.12 only, if a swapoff may wait for it: the
 * caller must unlock it when it has its contents.
 */
bool farswap_hook_abandon(struct folio *folio)
{
	return frontswap_abandon(folio);
}

static_assert((unsigned int)FARSWAP_SLOT_USED == FRONTSWAP_SLOT_USED);
static_assert((unsigned int)FARSWAP_SLOT_CACHED == FRONTSWAP_SLOT_CACHED);
static_assert((unsigned int)FARSWAP_SLOT_ZERO == FRONTSWAP_SLOT_ZERO);

/**
 * farswap_hook_slot() - get the kernel's state of a slot
 * @si:		the swap device
 * @offset:	offset of the slot, less than the size of the device
 *
 * Context: any, until farswap_swapoff() has returned.
 * Return: flags of enum farswap_slot_flags; 0 unless the device is active or being swapped off.
 */
unsigned int farswap_hook_slot(struct swap_info_struct *si, pgoff_t offset)
{
	return frontswap_slot(si, offset);
}

/**
 * farswap_hook_keep() - mark a page that is still in memory, so that it is stored again
 * @si:		the swap device
 * @offset:	offset of the slot, less than the size of the device
 *
 * Context: any but interrupts, until farswap_swapoff() has returned.
 * Return: false if the slot is used and its page is not in memory.
 */
bool farswap_hook_keep(struct swap_info_struct *si, pgoff_t offset)
{
	return frontswap_keep(si, offset);
}

/**
 * farswap_hook_zero() - check whether a slot is a zero page, which the kernel keeps only as a flag
 * @si:		the swap device
 * @offset:	offset of the slot, in use
 *
 * Context: any.
 * Return: true if it is.
 */
bool farswap_hook_zero(struct swap_info_struct *si, pgoff_t offset)
{
	return frontswap_slot(si, offset) & FRONTSWAP_SLOT_ZERO;
}

/**
 * farswap_hook_stride() - tell in which order the kernel uses the clusters of a new device
 * @si:		the swap device
 *
 * Context: any.
 * Return: log2 of the slots between consecutive clusters; 0 if they are used in order.
 */
unsigned int farswap_hook_stride(const struct swap_info_struct *si)
{
	/* Only the other flags change concurrently. */
	return data_race(si->flags) & SWP_SOLIDSTATE ? FRONTSWAP_STRIDE_SHIFT : 0;
}

/**
 * farswap_hook_zswap_holds() - check whether zswap holds pages
 *
 * Such pages may be older than the hook.
 *
 * Context: any.
 * Return: true if zswap holds pages now.
 */
bool farswap_hook_zswap_holds(void)
{
	return frontswap_zswap_pages();
}

/**
 * farswap_hook_free_slots() - free the slots that the kernel caches to free many at once
 *
 * The core is notified of a freed slot only when it leaves this cache.
 *
 * Context: may sleep.
 */
void farswap_hook_free_slots(void)
{
	frontswap_free_slots();
}

/**
 * farswap_hook_attach() - attach the hook
 * @force:	unused: a kernel that calls farswap fits
 *
 * Context: may sleep.
 * Return: 0, or -errno with nothing changed; the log has the reason.
 */
int farswap_hook_attach(bool force)
{
	int err = frontswap_register(&hook_ops);

	if (err == -EBUSY)
		pr_err("frontswap has another backend: not attached\n");
	else if (err)
		pr_err("frontswap takes no backend (%d): not attached\n", err);
	return err;
}

/**
 * farswap_hook_detach_begin() - check that the hook can be detached now, which is always true
 *
 * Context: any.
 * Return: 0.
 */
int farswap_hook_detach_begin(void)
{
	return 0;
}

/**
 * farswap_hook_detach_cancel() - undo farswap_hook_detach_begin()
 *
 * Context: any.
 */
void farswap_hook_detach_cancel(void)
{
}

/**
 * farswap_hook_detach() - detach the hook
 *
 * The core is drained and stores nothing any more.
 *
 * Context: may sleep.
 * Return: 0; no task is inside our functions.
 */
int farswap_hook_detach(void)
{
	frontswap_unregister();
	return 0;
}

/**
 * farswap_hook_exit() - free the filters of the other hook mode; this mode has none
 */
void farswap_hook_exit(void)
{
}
