// SPDX-License-Identifier: GPL-2.0
/*
 * Direct: in a kernel whose swap code calls frontswap, farswap is its backend. Knows
 * nothing of slabs and donors; calls the core through <linux/farswap.h> only.
 *
 * Teardown: frontswap waits for who is inside.
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
 * farswap_hook_count() - account for a folio that farswap takes
 * @folio:	locked, before its writeback begins
 *
 * Context: any.
 */
void farswap_hook_count(struct folio *folio)
{
	frontswap_count(folio);
}

/**
 * farswap_hook_read() - read a folio as if farswap were not there
 * @folio:	locked, in the swap cache, not up to date
 *
 * Context: may sleep. Whoever calls it is waited for before the hook goes.
 */
void farswap_hook_read(struct folio *folio)
{
	frontswap_read_device(folio);
}

/**
 * farswap_hook_read_async() - begin to read a page into the swap cache
 * @entry:	a swap entry
 * @gfp:	how to allocate memory
 * @vma:	the area it belongs to
 * @address:	its place there
 * @urgent:	a task is about to wait for it
 *
 * Context: may sleep, for memory.
 * Return: its folio, with a reference, read or to be read by somebody; NULL without memory,
 * or if the entry is not in use any more.
 */
struct folio *farswap_hook_read_async(swp_entry_t entry, gfp_t gfp, struct vm_area_struct *vma,
				      unsigned long address, bool urgent)
{
	return frontswap_read_async(entry, gfp, vma, address, urgent);
}

/**
 * farswap_hook_entry() - the swap entry of a page table's
 * @pte:	the page table's
 * @entry:	gets the swap entry
 *
 * Context: any.
 * Return: whether it is one, of a swap device.
 */
bool farswap_hook_entry(pte_t pte, swp_entry_t *entry)
{
	return frontswap_entry(pte, entry);
}

/**
 * farswap_hook_swapin() - tell zswap that a page came from below it
 * @folio:	locked
 *
 * Context: may sleep.
 */
void farswap_hook_swapin(struct folio *folio)
{
	frontswap_swapin(folio);
}

/**
 * farswap_hook_loaded() - account for a folio that farswap has read
 * @folio:	locked
 *
 * Context: any.
 */
void farswap_hook_loaded(struct folio *folio)
{
	frontswap_loaded(folio);
}

/**
 * farswap_hook_give_up() - have a large folio read page by page
 * @folio:	locked, not up to date
 *
 * Context: process context, if it is in the swap cache.
 */
void farswap_hook_give_up(struct folio *folio)
{
	frontswap_give_up(folio);
}

static_assert((unsigned int)FARSWAP_SLOT_USED == FRONTSWAP_SLOT_USED);
static_assert((unsigned int)FARSWAP_SLOT_CACHED == FRONTSWAP_SLOT_CACHED);
static_assert((unsigned int)FARSWAP_SLOT_ZERO == FRONTSWAP_SLOT_ZERO);

/**
 * farswap_hook_slot() - what the kernel knows of a slot
 * @si:		the device
 * @offset:	the slot, less than the device's size
 *
 * Context: any, until farswap_swapoff() has returned.
 * Return: flags of enum farswap_slot_flags; 0 while the device is neither on nor being
 * emptied.
 */
unsigned int farswap_hook_slot(struct swap_info_struct *si, pgoff_t offset)
{
	return frontswap_slot(si, offset);
}

/**
 * farswap_hook_keep() - have a page stored again that is still in memory
 * @si:		the device
 * @offset:	the slot, less than the device's size
 *
 * Context: any but interrupts, until farswap_swapoff() has returned.
 * Return: false if the slot is used and its page is not in memory.
 */
bool farswap_hook_keep(struct swap_info_struct *si, pgoff_t offset)
{
	return frontswap_keep(si, offset);
}

/**
 * farswap_hook_zero() - does a slot hold zeroes, of which the kernel keeps a mark only
 * @si:		the device
 * @offset:	the slot, in use
 *
 * Context: any.
 * Return: whether it does.
 */
bool farswap_hook_zero(struct swap_info_struct *si, pgoff_t offset)
{
	return frontswap_slot(si, offset) & FRONTSWAP_SLOT_ZERO;
}

/**
 * farswap_hook_stride() - in which order the kernel hands out a new device's clusters
 * @si:		the device
 *
 * Context: any.
 * Return: log2 of the slots between two of them; 0: as they are.
 */
unsigned int farswap_hook_stride(const struct swap_info_struct *si)
{
	/* What else is in the flags changes. */
	return data_race(si->flags) & SWP_SOLIDSTATE ? FRONTSWAP_STRIDE_SHIFT : 0;
}

/**
 * farswap_hook_zswap_holds() - has zswap pages just now, perhaps since before the hook was
 * there
 *
 * Context: any.
 * Return: whether it has.
 */
bool farswap_hook_zswap_holds(void)
{
	return frontswap_zswap_pages();
}

/**
 * farswap_hook_free_slots() - free the slots that the kernel keeps back to free many at once
 *
 * The core hears of them only then.
 *
 * Context: may sleep.
 */
void farswap_hook_free_slots(void)
{
	frontswap_free_slots();
}

/**
 * farswap_hook_attach() - put the hook in place
 * @force:	of no use: a kernel that calls farswap fits
 *
 * Context: may sleep.
 * Return: 0, or -errno with nothing changed; the log says why.
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
 * farswap_hook_detach_begin() - see whether the hook could be taken away now: always
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
 * farswap_hook_detach() - take the hook away
 *
 * The core is drained and stores nothing any more.
 *
 * Context: may sleep.
 * Return: 0: no task is inside our functions.
 */
int farswap_hook_detach(void)
{
	frontswap_unregister();
	return 0;
}

/**
 * farswap_hook_exit() - free what stays between detaching and attaching again: nothing
 */
void farswap_hook_exit(void)
{
}
