// SPDX-License-Identifier: GPL-2.0
/*
 * Promotion: a page that had to be read from the swap device although its slab
 * is mapped is written to the region as well, so that the next time it comes
 * from there. Pages get into that state when they were stored before their slab
 * became hot, or when a donor was lost; if they are only read they would stay
 * on the device for ever.
 *
 * A folio in the swap cache that is up to date, clean and not under writeback
 * holds what the device holds, unless it is a zero page, or zswap took it. So
 * one remote write makes both bits true. It runs as a writeback: the folio may
 * be written to by its owners meanwhile, or just before, with only their page
 * tables knowing, but then it is stored anew before the slot is ever read.
 */
#include <linux/farswap.h>
#include <linux/llist.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/* Promotions that may wait or be in flight: each keeps a page. */
#define PROMOTE_MAX	256

/**
 * struct promotion - one page on its way
 * @io:		the remote write
 * @node:	in promote_list until the worker looks at it
 * @folio:	the page; a reference is held
 * @slab:	where to; a reference is held during the write
 * @entry:	what the page was loaded from
 * @slot:	its slot in @slab
 * @readahead:	the page carried that mark
 */
struct promotion {
	struct farswap_io io;
	struct llist_node node;
	struct folio *folio;
	struct farswap_slab *slab;
	swp_entry_t entry;
	unsigned int slot;
	bool readahead;
};

static struct kmem_cache *promote_cache;
static atomic_t promote_pending = ATOMIC_INIT(0);
static struct workqueue_struct *promote_wq;
static LLIST_HEAD(promote_list);

/* zswap has taken pages: a clean page may be newer than the device's copy. */
static bool promote_zswap_seen;

static void promote_free(struct promotion *promotion)
{
	folio_put(promotion->folio);
	kmem_cache_free(promote_cache, promotion);
	atomic_dec(&promote_pending);
}

static void promote_done(struct farswap_io *io, int error)
{
	struct promotion *promotion = container_of(io, struct promotion, io);
	struct farswap_slab *slab = promotion->slab;

	farswap_window_leave(&slab->donor->window, 1);
	if (!error) {
		farswap_slotbits_set(&slab->bits, promotion->slot, 1);
		farswap_stat_add(FARSWAP_STAT_PROMOTED, 1);
	}
	folio_end_writeback(promotion->folio);
	if (promotion->readahead)
		folio_set_readahead(promotion->folio);
	promote_free(promotion);
	farswap_slab_put(slab);
}

/* Does the device hold just what this locked folio holds? */
static bool promote_is_clean(const struct promotion *promotion,
			     const struct farswap_device *device)
{
	struct folio *folio = promotion->folio;

	return folio_test_uptodate(folio) && !folio_test_dirty(folio) &&
	       !folio_test_writeback(folio) &&
	       !test_bit(swp_offset(folio->swap), device->si->zeromap) &&
	       !READ_ONCE(promote_zswap_seen);
}

/* Take a reference on the slab if the page is to be written now. */
static struct farswap_slab *promote_slab(struct promotion *promotion)
{
	struct folio *folio = promotion->folio;
	struct farswap_device *device;
	struct farswap_slab *slab;

	/* In the swap cache, the locked folio keeps its slot, and so the device. */
	if (!folio_test_swapcache(folio) ||
	    folio->swap.val != promotion->entry.val || !farswap_may_store())
		return NULL;
	device = farswap_device_find(swp_type(folio->swap));
	if (!device || !promote_is_clean(promotion, device))
		return NULL;
	slab = farswap_slabmap_find(device->map, swp_offset(folio->swap));
	if (!slab || !farswap_slab_has_bits(slab))
		return NULL;
	promotion->slot = farswap_slabmap_slot(device->map, swp_offset(folio->swap));
	if (test_bit(promotion->slot, slab->bits.remote) || !farswap_slab_get(slab))
		return NULL;
	/* Page-outs go first. */
	if (!farswap_window_try(&slab->donor->window, 1)) {
		farswap_slab_put(slab);
		return NULL;
	}
	return slab;
}

static void promote_one(struct promotion *promotion)
{
	struct folio *folio = promotion->folio;
	struct farswap_io *io = &promotion->io;
	struct farswap_slab *slab;

	/* Until the device read has ended. */
	folio_lock(folio);
	slab = promote_slab(promotion);
	if (!slab) {
		folio_unlock(folio);
		promote_free(promotion);
		return;
	}
	promotion->slab = slab;
	io->region = slab->region;
	io->page = folio_page(folio, 0);
	io->offset = promotion->slot << PAGE_SHIFT;
	io->length = PAGE_SIZE;
	io->op = FARSWAP_IO_WRITE;
	io->urgent = false;
	io->done = promote_done;
	/*
	 * The mark shares its bit with reclaim's: the end of the writeback would
	 * take it for that, and move the page to where the next victims are.
	 */
	promotion->readahead = folio_test_clear_readahead(folio);
	folio_start_writeback(folio);
	folio_unlock(folio);
	if (slab->donor->transport->submit(io))
		promote_done(io, -EHOSTDOWN);
}

static void promote_fn(struct work_struct *work)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&promote_list));
	struct promotion *promotion, *next;

	llist_for_each_entry_safe(promotion, next, list, node)
		promote_one(promotion);
}

static DECLARE_WORK(promote_work, promote_fn);

/**
 * farswap_promote() - a page of a mapped slab is about to be read from the device
 * @folio:	locked, in the swap cache, not yet read
 *
 * Does nothing that could wait; when many wait already, nothing at all.
 *
 * Context: process context.
 */
void farswap_promote(struct folio *folio)
{
	struct promotion *promotion;

	if (folio_test_large(folio) || !farswap_may_store() ||
	    READ_ONCE(promote_zswap_seen))
		return;
	if (!atomic_add_unless(&promote_pending, 1, PROMOTE_MAX))
		return;
	promotion = kmem_cache_alloc(promote_cache, GFP_NOWAIT | __GFP_NOWARN |
				     __GFP_NOMEMALLOC);
	if (!promotion) {
		atomic_dec(&promote_pending);
		return;
	}
	folio_get(folio);
	promotion->folio = folio;
	promotion->entry = folio->swap;
	if (llist_add(&promotion->node, &promote_list))
		queue_work(promote_wq, &promote_work);
}

/**
 * farswap_promote_zswap() - zswap took a page
 *
 * Called with the page's folio locked, before anyone can promote it.
 *
 * Context: any.
 */
void farswap_promote_zswap(void)
{
	if (!READ_ONCE(promote_zswap_seen))
		WRITE_ONCE(promote_zswap_seen, true);
}

/**
 * farswap_promote_flush() - let go of every page
 *
 * Context: may sleep, until the device reads under way have ended.
 */
void farswap_promote_flush(void)
{
	flush_workqueue(promote_wq);
}

/**
 * farswap_promote_init() - make what promotions come from, and the worker
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_promote_init(void)
{
	promote_cache = KMEM_CACHE(promotion, 0);
	if (!promote_cache)
		return -ENOMEM;
	promote_wq = alloc_ordered_workqueue("farswap_promote",
					     WQ_MEM_RECLAIM);
	if (!promote_wq)
		goto out_destroy_cache;
	return 0;

out_destroy_cache:
	kmem_cache_destroy(promote_cache);
	return -ENOMEM;
}

/**
 * farswap_promote_exit() - free them; nothing is promoted any more
 */
void farswap_promote_exit(void)
{
	destroy_workqueue(promote_wq);
	kmem_cache_destroy(promote_cache);
}
