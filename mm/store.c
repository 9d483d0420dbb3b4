// SPDX-License-Identifier: GPL-2.0
/*
 * Page-out: a folio of a mapped slab is written to its region and to its place
 * on the swap device at once, from the same pages, and its writeback ends when
 * both are done. Anything else is left to the kernel's own device write.
 *
 * Two stores of one slot never meet: the second needs the folio without
 * writeback, which ends only after both writes of the first.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/farswap.h>
#include <linux/memcontrol.h>
#include <linux/mempool.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/vmstat.h>
#include <linux/writeback.h>

#include <trace/events/farswap.h>

#include "internal.h"

/* Stores that never lack a request, however little memory there is. */
#define STORE_POOL	512

/**
 * struct store_request - one store
 * @io:		the remote write
 * @bio:	the device write
 * @bvec:	its only segment
 * @folio:	what is stored; locked until submission, then under writeback
 * @slab:	where; a reference is held
 * @start:	when it was submitted, ns
 * @slot:	the first slot in @slab
 * @pending:	of the two writes, those that have not ended
 * @remote_error: of the remote write
 * @refused:	the remote write was not even begun
 */
struct store_request {
	struct farswap_io io;
	struct bio bio;
	struct bio_vec bvec;
	struct folio *folio;
	struct farswap_slab *slab;
	u64 start;
	unsigned int slot;
	atomic_t pending;
	int remote_error;
	bool refused;
};

static struct kmem_cache *store_cache;
static mempool_t *store_pool;

/* As the kernel does for a failed device write: the page stays, dirty. */
static void store_keep_dirty(struct store_request *request)
{
	struct folio *folio = request->folio;

	farswap_stat_add(FARSWAP_STAT_STORE_DEVICE_FAILED, folio_nr_pages(folio));
	folio_mark_dirty(folio);
	pr_alert_ratelimited("write error on swap device %pg at sector %llu\n",
			     request->bio.bi_bdev,
			     (unsigned long long)request->bio.bi_iter.bi_sector);
	folio_clear_reclaim(folio);
}

/* One of the two writes has ended. Any context up to interrupts. */
static void store_end(struct store_request *request)
{
	struct farswap_slab *slab = request->slab;
	struct folio *folio = request->folio;
	unsigned int nr = folio_nr_pages(folio);

	/* Orders what either side wrote to the request before its last use. */
	if (!atomic_dec_and_test(&request->pending))
		return;

	if (request->bio.bi_status) {
		store_keep_dirty(request);
	} else if (request->remote_error) {
		farswap_stat_add(request->refused ? FARSWAP_STAT_STORE_REFUSED :
				 FARSWAP_STAT_STORE_WRITE_FAILED, nr);
	} else {
		farswap_slotbits_set(&slab->bits, request->slot, nr);
		farswap_stat_add(FARSWAP_STAT_STORE_REMOTE, nr);
	}
	bio_uninit(&request->bio);
	mempool_free(request, store_pool);
	/* After this the folio may be gone; swapoff still waits for the slab. */
	folio_end_writeback(folio);
	farswap_slab_put(slab);
}

static void store_remote_done(struct farswap_io *io, int error)
{
	struct store_request *request = container_of(io, struct store_request, io);
	u64 ns = ktime_get_ns() - request->start;

	farswap_window_leave(&request->slab->donor->window,
			     folio_nr_pages(request->folio));
	if (!error)
		farswap_latency_add(FARSWAP_LATENCY_STORE, ns);
	trace_farswap_store_end(request->folio->swap.val,
				folio_nr_pages(request->folio), error, ns);
	request->remote_error = error;
	store_end(request);
}

static void store_device_done(struct bio *bio)
{
	struct store_request *request = container_of(bio, struct store_request,
						     bio);

	farswap_latency_add(FARSWAP_LATENCY_DEVICE,
			    ktime_get_ns() - request->start);
	store_end(request);
}

/* The device write is charged to the folio's cgroup, not to the reclaimer's. */
static void store_associate_blkg(struct bio *bio, struct folio *folio)
{
#if defined(CONFIG_MEMCG) && defined(CONFIG_BLK_CGROUP)
	struct mem_cgroup *memcg = folio_memcg(folio);
	struct cgroup_subsys_state *css;

	if (!memcg)
		return;
	css = cgroup_get_e_css(memcg->css.cgroup, &io_cgrp_subsys);
	bio_associate_blkg_from_css(bio, css);
	css_put(css);
#endif
}

static void store_account(struct folio *folio)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	if (folio_test_pmd_mappable(folio))
		count_vm_event(THP_SWPOUT);
#endif
	count_vm_events(PSWPOUT, folio_nr_pages(folio));
}

/* Everything that could fail has been done: both writes begin. */
static void store_submit(struct store_request *request,
			 struct farswap_slab *slab, struct folio *folio,
			 sector_t sector, struct writeback_control *wbc)
{
	struct farswap_io *io = &request->io;

	io->region = slab->region;
	io->page = folio_page(folio, 0);
	io->offset = request->slot << PAGE_SHIFT;
	io->length = folio_size(folio);
	io->op = FARSWAP_IO_WRITE;
	io->urgent = false;
	io->done = store_remote_done;

	bio_init(&request->bio, slab->device->si->bdev, &request->bvec, 1,
		 REQ_OP_WRITE | REQ_SWAP | wbc_to_write_flags(wbc));
	request->bio.bi_iter.bi_sector = sector;
	request->bio.bi_end_io = store_device_done;
	bio_add_folio_nofail(&request->bio, folio, folio_size(folio), 0);
	store_associate_blkg(&request->bio, folio);

	request->folio = folio;
	request->slab = slab;
	request->remote_error = 0;
	request->refused = false;
	request->start = ktime_get_ns();
	atomic_set(&request->pending, 2);

	store_account(folio);
	folio_start_writeback(folio);
	folio_unlock(folio);

	if (slab->donor->transport->submit(io)) {
		request->refused = true;
		store_remote_done(io, -EHOSTDOWN);
	}
	submit_bio(&request->bio);
}

/* Try to store remotely; on failure tell why not. */
static enum farswap_stat store_try(struct folio *folio, struct farswap_slab *slab,
				   pgoff_t offset, struct writeback_control *wbc)
{
	unsigned int nr = folio_nr_pages(folio);
	enum farswap_stat outcome = FARSWAP_STAT_STORE_BUSY;
	struct store_request *request;
	sector_t sector;

	if (!farswap_may_store())
		return FARSWAP_STAT_STORE_DISABLED;
	if (!farswap_slab_has_bits(slab) || !farswap_slab_get(slab))
		return FARSWAP_STAT_STORE_NO_SLAB;

	if (!farswap_window_enter(&slab->donor->window, nr))
		goto out_put;
	outcome = FARSWAP_STAT_STORE_NO_REQUEST;
	request = mempool_alloc(store_pool, GFP_NOWAIT | __GFP_NOWARN);
	if (!request)
		goto out_leave;
	sector = farswap_device_sector(slab->device, offset);
	if (WARN_ON_ONCE(sector == (sector_t)-1))
		goto out_free;
	request->slot = farswap_slabmap_slot(slab->device->map, offset);
	farswap_slab_ahead(slab, request->slot);
	store_submit(request, slab, folio, sector, wbc);
	return FARSWAP_STAT_STORE_REMOTE;

out_free:
	mempool_free(request, store_pool);
out_leave:
	farswap_window_leave(&slab->donor->window, nr);
out_put:
	farswap_slab_put(slab);
	return outcome;
}

/**
 * farswap_store() - a folio goes to swap
 * @folio:	locked, in the swap cache, clean, not under writeback; what it
 *		holds is neither all zero nor in zswap
 * @wbc:	of the writeback
 *
 * Context: process context; may sleep as submit_bio() does, and a fifth of a
 * second for room. May be in reclaim, so nothing here waits for memory.
 * Return: true when the folio was taken: it is unlocked and its writeback has
 * begun, or even ended. False when the caller must write it to the device; what
 * was known of its slots has then been forgotten.
 */
bool farswap_store(struct folio *folio, struct writeback_control *wbc)
{
	struct farswap_device *device = farswap_device_find(swp_type(folio->swap));
	unsigned int nr = folio_nr_pages(folio);
	pgoff_t offset = swp_offset(folio->swap);
	enum farswap_stat outcome = FARSWAP_STAT_STORE_NO_MEMORY;
	struct farswap_slab *slab;

	if (!device)
		return false;
	slab = farswap_slab_lookup(device, offset);
	if (slab) {
		farswap_slab_account(slab, nr);
		/* The copies of before are stale whatever happens now. */
		if (farswap_slab_has_bits(slab))
			farswap_slotbits_clear(&slab->bits,
					       farswap_slabmap_slot(device->map, offset),
					       nr);
		outcome = store_try(folio, slab, offset, wbc);
	}
	if (outcome == FARSWAP_STAT_STORE_REMOTE)
		return true;
	farswap_stat_add(outcome, nr);
	farswap_stat_add(FARSWAP_STAT_STORE_DEVICE, nr);
	return false;
}

/**
 * farswap_store_init() - make the pool of requests
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_store_init(void)
{
	store_cache = KMEM_CACHE(store_request, 0);
	if (!store_cache)
		return -ENOMEM;
	store_pool = mempool_create_slab_pool(STORE_POOL, store_cache);
	if (!store_pool)
		goto out_destroy_cache;
	return 0;

out_destroy_cache:
	kmem_cache_destroy(store_cache);
	return -ENOMEM;
}

/**
 * farswap_store_exit() - free it; no store is in flight
 */
void farswap_store_exit(void)
{
	mempool_destroy(store_pool);
	kmem_cache_destroy(store_cache);
}
