// SPDX-License-Identifier: GPL-2.0
/*
 * Promotion: a page that had to be read from the swap device, although its slab is mapped, is
 * also written to a region, so that the next page-in reads it from there. Such pages were stored
 * before their slab became hot, or a donor was lost. Pages that are only read would otherwise stay
 * on the device for ever.
 *
 * A folio in the swap cache that is up to date, clean and not under writeback has the same contents
 * as the device, unless it is a zero page, or zswap took it, or its backup write is still pending.
 * So one remote write makes the remote bit true. The write runs as a writeback. A task may write to
 * the folio during the write, or just before it, so that only its page table knows; the folio is
 * then stored again before the slot is ever read.
 */
#include <linux/farswap.h>
#include <linux/llist.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/* Limit of pending promotions; each of them holds a page. */
#define PROMOTE_MAX	256

/* Interval of scans for pages that the device has read, jiffies. */
#define PROMOTE_LOOK	1

/* A page that the device has not read after this time is not promoted, jiffies. */
#define PROMOTE_WAIT	HZ

/**
 * struct promotion - the promotion of one page
 * @write:	the remote write
 * @node:	in promote_list until the worker scans it, then in promote_waiting until the page
 *		is read
 * @folio:	the page; a reference is held
 * @packed:	the compressed page, or NULL; valid during the write
 * @bounce:	the sealed page, or NULL; valid during the write
 * @entry:	swap entry that the page was loaded from
 * @until:	end of the wait for the device, jiffies
 * @readahead:	the folio had the readahead flag
 */
struct promotion {
	struct farswap_write write;
	struct llist_node node;
	struct folio *folio;
	struct page *packed;
	struct farswap_bounce *bounce;
	swp_entry_t entry;
	unsigned long until;
	bool readahead;
};

static struct kmem_cache *promote_cache;
static atomic_t promote_pending = ATOMIC_INIT(0);
static LLIST_HEAD(promote_list);

/* Pages that the device had not read at the last scan. Only the worker uses the list. */
static LLIST_HEAD(promote_waiting);

/* A flush is in progress: no promotion waits for the device. */
static bool promote_flushing;

static void promote_free(struct promotion *promotion)
{
	folio_put(promotion->folio);
	kmem_cache_free(promote_cache, promotion);
	atomic_dec(&promote_pending);
}

static void promote_done(struct farswap_write *write, int error)
{
	struct promotion *promotion = container_of(write, struct promotion, write);
	struct farswap_mapping *mapping = write->mapping;

	if (!error) {
		farswap_write_publish(mapping->slab, write->slot, write->nr);
		farswap_stat_add(FARSWAP_STAT_PROMOTED, 1);
	} else if (!test_bit(write->slot, mapping->slab->bits.remote)) {
		farswap_cgroup_uncharge(mapping->slab->device,
					swp_offset(promotion->entry), 1);
	}
	folio_end_writeback(promotion->folio);
	if (promotion->readahead)
		folio_set_readahead(promotion->folio);
	farswap_write_written(write);
	farswap_compress_free(promotion->packed);
	farswap_bounce_put(promotion->bounce);
	if (mapping->slab->pack)
		farswap_pack_put(mapping->slab->pack);
	promote_free(promotion);
	farswap_mapping_put(mapping);
}

/* Return true if the device holds the contents of this locked folio. */
static bool promote_is_clean(const struct promotion *promotion,
			     const struct farswap_device *device)
{
	struct folio *folio = promotion->folio;

	return folio_test_uptodate(folio) && !folio_test_dirty(folio) &&
	       !folio_test_writeback(folio) &&
	       !farswap_hook_zero(device->si, swp_offset(folio->swap)) &&
	       !farswap_zswap_seen();
}

/*
 * Return true if the page needs no promotion: a region has it, or its backup write is pending.
 * Otherwise clear the remote bit if no region is left that has the page, and set @avoid as
 * farswap_guard_look() does.
 */
static bool promote_is_there(struct farswap_slab *slab, unsigned int slot, unsigned int nr,
			     unsigned int *avoid)
{
	struct farswap_mapping *mapping = NULL;
	bool suspect;

	if (test_bit(slot, slab->bits.unbacked))
		return true;
	if (test_bit(slot, slab->bits.remote))
		mapping = farswap_mapping_find(slab, slot, nr, NULL);
	if (!mapping) {
		/* All regions that had the page are gone; the others never had it. */
		farswap_guard_invalidate(slab, slot, nr, avoid);
		return false;
	}
	suspect = farswap_donor_is_suspect(mapping->donor);
	farswap_mapping_put(mapping);
	/*
	 * A suspect donor's page stays valid, but another region may get the page, too. Not if it
	 * is sealed: all regions must have the same bytes, and no two pages are sealed alike.
	 */
	if (slab->device->protect)
		return true;
	*avoid = suspect ? farswap_guard_look(slab, slot, nr) : 0;
	return !suspect;
}

/*
 * Forget the page's object in a packed slab if no region has the page any more. Return false if one
 * has it, or may have it again.
 */
static bool promote_forget_object(struct farswap_device *device, pgoff_t offset)
{
	struct farswap_object object;
	bool there;

	if (!farswap_packs_used() || !farswap_object_get(device, offset, &object))
		return true;
	there = promote_is_there(object.slab, object.slot, object.nr, &object.avoid) ||
		test_bit(object.slot, object.slab->bits.remote);
	farswap_pack_put(object.slab->pack);
	if (!there)
		farswap_forget_object(device, offset);
	return !there;
}

/* Seal a copy of the page, or the compressed page, if the device is protected. */
static bool promote_seal(struct promotion *promotion, struct farswap_slab *slab, unsigned int nr)
{
	struct farswap_protect *protect = slab->device->protect;
	void *data;

	promotion->bounce = NULL;
	if (!protect)
		return true;
	if (promotion->packed) {
		data = page_address(promotion->packed);
	} else {
		promotion->bounce = farswap_bounce_get(1);
		if (!promotion->bounce)
			return false;
		data = page_address(promotion->bounce->page);
		if (farswap_page_read(data, folio_page(promotion->folio, 0)))
			goto out_put;
	}
	if (!farswap_protect_store(protect,
				   farswap_protect_page(protect,
							swp_offset(promotion->folio->swap),
							slab->pack),
				   data, farswap_slab_bytes(slab, nr)))
		return true;
out_put:
	farswap_bounce_put(promotion->bounce);
	return false;
}

/* Begin a write to any region of a slab. Page-outs have priority, so do not wait for room. */
static bool promote_begin_at(struct promotion *promotion, struct farswap_slab *slab,
			     unsigned int avoid, unsigned int slot, unsigned int nr)
{
	struct farswap_write *write = &promotion->write;

	if (!farswap_write_begin_any(write, slab, ~avoid, slot, nr))
		return false;
	if (!farswap_write_try(write) || !promote_seal(promotion, slab, nr)) {
		farswap_write_end(write);
		return false;
	}
	farswap_write_mark(slab, slot, nr);
	return true;
}

/* Begin to write the page to a packed slab. */
static bool promote_begin_packed(struct promotion *promotion, struct farswap_device *device)
{
	pgoff_t offset = swp_offset(promotion->folio->swap);
	struct farswap_object object;
	unsigned int bytes;

	if (!farswap_pack_is_ready(device))
		return false;
	bytes = farswap_compress_folio(promotion->folio, &promotion->packed);
	if (farswap_object_take(device, offset, bytes, &object)) {
		if (promote_begin_at(promotion, object.slab, object.avoid, object.slot,
				     object.nr))
			return true;
		farswap_forget_object(device, offset);
		farswap_pack_put(object.slab->pack);
	}
	farswap_compress_free(promotion->packed);
	return false;
}

/* Begin to write the page to a region; return false if it is not to be promoted. */
static bool promote_begin(struct promotion *promotion)
{
	struct folio *folio = promotion->folio;
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int slot, avoid = 0;
	bool packs, begun;

	/* A locked folio of the swap cache keeps its slot, and so the device. */
	if (!folio_test_swapcache(folio) ||
	    folio->swap.val != promotion->entry.val || !farswap_may_store())
		return false;
	device = farswap_device_find(swp_type(folio->swap));
	if (!device || !promote_is_clean(promotion, device))
		return false;
	slab = farswap_slabmap_find(device->map, swp_offset(folio->swap), &slot);
	packs = farswap_packs_on() && device->places;
	if (!slab || (!packs && !farswap_slab_has_bits(slab)) ||
	    !farswap_cgroup_may(device, swp_offset(folio->swap)) ||
	    !promote_forget_object(device, swp_offset(folio->swap)))
		return false;
	if (farswap_slab_has_bits(slab)) {
		if (promote_is_there(slab, slot, 1, &avoid))
			return false;
		/* A suspect donor has the page, so it is not packed. */
		packs &= !test_bit(slot, slab->bits.remote);
	}
	if (!farswap_cgroup_recharge(device, swp_offset(folio->swap)))
		return false;
	promotion->packed = NULL;
	begun = packs ? promote_begin_packed(promotion, device) :
			promote_begin_at(promotion, slab, avoid, slot, 1);
	/* A page that a suspect donor has stays charged. */
	if (!begun && !(farswap_slab_has_bits(slab) && test_bit(slot, slab->bits.remote)))
		farswap_cgroup_uncharge(device, swp_offset(folio->swap), 1);
	return begun;
}

/* Promote a folio that is locked now, so that its read from the device has ended. */
static void promote_one(struct promotion *promotion)
{
	struct folio *folio = promotion->folio;
	struct page *page;

	if (!promote_begin(promotion)) {
		folio_unlock(folio);
		promote_free(promotion);
		return;
	}
	/*
	 * The readahead flag is also the reclaim flag. The end of the writeback would take it for
	 * the latter, and move the page to the tail of the inactive list.
	 */
	promotion->readahead = folio_test_clear_readahead(folio);
	folio_start_writeback(folio);
	folio_unlock(folio);
	promotion->write.done = promote_done;
	page = promotion->packed ?: folio_page(folio, 0);
	if (promotion->bounce)
		page = promotion->bounce->page;
	farswap_write_submit(&promotion->write, page);
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

/*
 * Scan all pending promotions. Waiting for one folio after the other would delay all of them while
 * the device reads one.
 */
static void promote_fn(struct work_struct *work)
{
	struct llist_node *waiting = __llist_del_all(&promote_waiting);

	promote_look(llist_reverse_order(waiting));
	promote_look(llist_reverse_order(llist_del_all(&promote_list)));
	if (!llist_empty(&promote_waiting))
		queue_delayed_work(farswap_load_wq, to_delayed_work(work), PROMOTE_LOOK);
}

static DECLARE_DELAYED_WORK(promote_work, promote_fn);

/**
 * farswap_promote() - promote a page of a mapped slab after its read from the device
 * @folio:	locked, in the swap cache, not yet read
 *
 * The function never waits. It does nothing if there is no memory or if PROMOTE_MAX promotions are
 * pending.
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
		queue_delayed_work(farswap_load_wq, &promote_work, PROMOTE_LOOK);
}

/**
 * farswap_promote_flush() - end all pending promotions
 *
 * Pages that the device has not read yet are not promoted.
 *
 * Context: may sleep; one caller at a time.
 */
void farswap_promote_flush(void)
{
	WRITE_ONCE(promote_flushing, true);
	mod_delayed_work(farswap_load_wq, &promote_work, 0);
	flush_delayed_work(&promote_work);
	WRITE_ONCE(promote_flushing, false);
}

/**
 * farswap_promote_init() - create the cache of promotions
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_promote_init(void)
{
	promote_cache = KMEM_CACHE(promotion, 0);
	return promote_cache ? 0 : -ENOMEM;
}

/**
 * farswap_promote_exit() - destroy the cache of promotions
 *
 * Context: may sleep; no promotion is pending.
 */
void farswap_promote_exit(void)
{
	kmem_cache_destroy(promote_cache);
}

