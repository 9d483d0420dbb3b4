// SPDX-License-Identifier: GPL-2.0
/*
 * Promotion: a page that had to be read from the swap device although its slab
 * is mapped is written to the region as well, so that the next time it comes
 * from there. Pages get into that state when they were stored before their slab
 * became hot, or when a donor was lost; if they are only read they would stay
 * on the device for ever.
 *
 * A folio in the swap cache that is up to date, clean and not under writeback
 * holds what the device holds, unless it is a zero page, or zswap took it, or the
 * device is still owed its write. So one remote write makes the remote bit true. It
 * runs as a writeback: the folio may be written to by its owners meanwhile, or just
 * before, with only their page tables knowing, but then it is stored anew before the
 * slot is ever read.
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

/* Jiffies between two looks at what the device has not given yet. */
#define PROMOTE_LOOK	1

/* Jiffies after which a page that it has not given is promoted another time, if ever. */
#define PROMOTE_WAIT	HZ

/**
 * struct promotion - one page on its way
 * @io:		the remote write
 * @node:	in promote_list until the worker looks at it, in promote_waiting until it is read
 * @folio:	the page; a reference is held
 * @mapping:	where to; a reference is held during the write
 * @entry:	what the page was loaded from
 * @until:	jiffies until which it may wait for the device
 * @slot:	its slot in the slab
 * @room:	what it has of the window of its donor
 * @readahead:	the page carried that mark
 */
struct promotion {
	struct farswap_io io;
	struct llist_node node;
	struct folio *folio;
	struct farswap_mapping *mapping;
	swp_entry_t entry;
	unsigned long until;
	unsigned int slot;
	enum farswap_room room;
	bool readahead;
};

static struct kmem_cache *promote_cache;
static atomic_t promote_pending = ATOMIC_INIT(0);
static struct workqueue_struct *promote_wq;
static LLIST_HEAD(promote_list);

/* What the device had not given at the last look: the worker's own. */
static LLIST_HEAD(promote_waiting);

/* Nothing is to wait for the device. */
static bool promote_flushing;

static void promote_free(struct promotion *promotion)
{
	folio_put(promotion->folio);
	kmem_cache_free(promote_cache, promotion);
	atomic_dec(&promote_pending);
}

static void promote_done(struct farswap_io *io, int error)
{
	struct promotion *promotion = container_of(io, struct promotion, io);
	struct farswap_mapping *mapping = promotion->mapping;

	farswap_window_leave(&mapping->donor->window, 1, promotion->room);
	if (!error) {
		farswap_slotbits_clear(mapping->missing, promotion->slot, 1);
		/* A look without the folio's lock is not to find both bits set. */
		smp_mb__after_atomic();
		farswap_slotbits_set(mapping->slab->bits.remote, promotion->slot, 1);
		farswap_stat_add(FARSWAP_STAT_PROMOTED, 1);
	}
	folio_end_writeback(promotion->folio);
	if (promotion->readahead)
		folio_set_readahead(promotion->folio);
	promote_free(promotion);
	farswap_mapping_store_end(mapping);
}

/* Does the device hold just what this locked folio holds? */
static bool promote_is_clean(const struct promotion *promotion,
			     const struct farswap_device *device)
{
	struct folio *folio = promotion->folio;

	return folio_test_uptodate(folio) && !folio_test_dirty(folio) &&
	       !folio_test_writeback(folio) &&
	       !farswap_hook_zero(device->si, swp_offset(folio->swap)) &&
	       !farswap_zswap_seen();
}

/* Without the remote bit afterwards, if not. */
static bool promote_is_there(struct farswap_slab *slab, unsigned int slot)
{
	struct farswap_mapping *mapping;
	bool suspect;

	if (test_bit(slot, slab->bits.unbacked))
		return true;
	if (!test_bit(slot, slab->bits.remote))
		return false;
	mapping = farswap_mapping_find(slab, slot, 1, NULL);
	if (!mapping) {
		/* All the regions that had it have gone, others have not. */
		farswap_slotbits_clear(slab->bits.remote, slot, 1);
		return false;
	}
	suspect = farswap_donor_is_suspect(mapping->donor);
	farswap_mapping_put(mapping);
	/* Then another one may get it. */
	return !suspect;
}

/* One region is enough: the others get the page from there. */
static struct farswap_mapping *promote_begin(struct farswap_slab *slab,
					     unsigned int slot)
{
	struct farswap_mapping *mapping = NULL;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX && !mapping; nth++)
		mapping = farswap_mapping_store_begin(slab, nth, slot, 1, false);
	return mapping;
}

/* Where the page is to be written, if now; a store has begun there then. */
static struct farswap_mapping *promote_mapping(struct promotion *promotion)
{
	struct folio *folio = promotion->folio;
	struct farswap_mapping *mapping;
	struct farswap_device *device;
	struct farswap_slab *slab;

	/* In the swap cache, the locked folio keeps its slot, and so the device. */
	if (!folio_test_swapcache(folio) ||
	    folio->swap.val != promotion->entry.val || !farswap_may_store())
		return NULL;
	device = farswap_device_find(swp_type(folio->swap));
	if (!device || !promote_is_clean(promotion, device))
		return NULL;
	slab = farswap_slabmap_find(device->map, swp_offset(folio->swap), &promotion->slot);
	if (!slab || !farswap_slab_has_bits(slab))
		return NULL;
	if (promote_is_there(slab, promotion->slot))
		return NULL;
	/* This is a newer page, perhaps, than that which may be on its way there. */
	if (farswap_guard_rebuild_excludes(slab, promotion->slot, 1))
		return NULL;
	mapping = promote_begin(slab, promotion->slot);
	if (!mapping)
		return NULL;
	/* Page-outs go first. */
	promotion->room = farswap_window_try(&mapping->donor->window, 1);
	if (!promotion->room) {
		farswap_mapping_store_end(mapping);
		return NULL;
	}
	/* With the bit it is there too, at a suspect donor. */
	if (!test_bit(promotion->slot, slab->bits.remote))
		farswap_mapping_store_mark(slab, promotion->slot, 1);
	return mapping;
}

/* The folio is locked: the read from the device has ended. */
static void promote_one(struct promotion *promotion)
{
	struct folio *folio = promotion->folio;
	struct farswap_io *io = &promotion->io;
	struct farswap_mapping *mapping;

	mapping = promote_mapping(promotion);
	if (!mapping) {
		folio_unlock(folio);
		promote_free(promotion);
		return;
	}
	promotion->mapping = mapping;
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
	if (farswap_mapping_submit(mapping, io))
		promote_done(io, -EHOSTDOWN);
}

static void promote_look(struct llist_node *list)
{
	struct promotion *promotion, *next;

	llist_for_each_entry_safe(promotion, next, list, node) {
		if (folio_trylock(promotion->folio))
			promote_one(promotion);
		else if (READ_ONCE(promote_flushing) ||
			 time_after(jiffies, promotion->until))
			promote_free(promotion);
		else
			__llist_add(&promotion->node, &promote_waiting);
	}
}

/* Sleeping on each folio in turn would have all wait for one that the device keeps. */
static void promote_fn(struct work_struct *work)
{
	struct llist_node *waiting = __llist_del_all(&promote_waiting);

	promote_look(llist_reverse_order(waiting));
	promote_look(llist_reverse_order(llist_del_all(&promote_list)));
	if (!llist_empty(&promote_waiting))
		queue_delayed_work(promote_wq, to_delayed_work(work), PROMOTE_LOOK);
}

static DECLARE_DELAYED_WORK(promote_work, promote_fn);

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
	    farswap_zswap_seen())
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
	promotion->until = jiffies + PROMOTE_WAIT;
	if (llist_add(&promotion->node, &promote_list))
		queue_delayed_work(promote_wq, &promote_work, PROMOTE_LOOK);
}

/**
 * farswap_promote_flush() - let go of every page
 *
 * Those that the device has not given yet are not promoted.
 *
 * Context: may sleep; one caller at a time.
 */
void farswap_promote_flush(void)
{
	WRITE_ONCE(promote_flushing, true);
	mod_delayed_work(promote_wq, &promote_work, 0);
	flush_workqueue(promote_wq);
	WRITE_ONCE(promote_flushing, false);
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

