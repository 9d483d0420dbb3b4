// SPDX-License-Identifier: GPL-2.0
/*
 * Page-in: a folio whose slots all have the remote bit is read straight from
 * the region. If that fails the kernel reads the swap device instead, within
 * the same load. Anything else is the kernel's from the beginning.
 *
 * A slot's bits can't change under a load but in one way: its slab is drained.
 * So what the load needs of them it takes along in the request.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/farswap.h>
#include <linux/mempool.h>
#include <linux/pagemap.h>
#include <linux/psi.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/vmstat.h>

#include <trace/events/farswap.h>

#include "internal.h"

/* Loads that never lack a request, however little memory there is. */
#define LOAD_POOL	256
/* The moving average of what a read takes: 1/8 new. */
#define LOAD_AVERAGE_SHIFT	3

/**
 * struct load_request - one load
 * @io:		the remote read
 * @work:	the device read, should that fail
 * @folio:	what is loaded, locked
 * @slab:	from where; a reference is held until the remote read has ended
 * @start:	when it was submitted, ns
 * @cpu:	who asked
 * @backed:	the swap device has the contents as well
 */
struct load_request {
	struct farswap_io io;
	struct work_struct work;
	struct folio *folio;
	struct farswap_slab *slab;
	u64 start;
	int cpu;
	bool backed;
};

static struct kmem_cache *load_cache;
static mempool_t *load_pool;

/* What the fault's own reads took lately, ns; decides whether to spin. */
static DEFINE_PER_CPU(u32, load_average_ns);

static void load_fail(struct folio *folio)
{
	farswap_stat_add(FARSWAP_STAT_LOAD_LOST, folio_nr_pages(folio));
	pr_alert_ratelimited("no copy of swap entry %#lx can be read\n",
			     folio->swap.val);
	folio_end_read(folio, false);
}

/* The remote read failed: the swap device, in process context. */
static void load_fallback(struct work_struct *work)
{
	struct load_request *request = container_of(work, struct load_request,
						    work);
	struct folio *folio = request->folio;
	bool backed = request->backed;
	unsigned int noio;

	mempool_free(request, load_pool);
	if (!backed) {
		load_fail(folio);
		return;
	}
	farswap_stat_add(FARSWAP_STAT_LOAD_FALLBACK, folio_nr_pages(folio));
	noio = memalloc_noio_save();
	farswap_hook_read(folio);
	memalloc_noio_restore(noio);
}

/* Kept for the CPU that asked, which is where the next fault will look. */
static void load_average(int cpu, u32 ns)
{
	u32 *average = per_cpu_ptr(&load_average_ns, cpu);
	u32 old = READ_ONCE(*average);

	WRITE_ONCE(*average, old + (ns >> LOAD_AVERAGE_SHIFT) -
		   (old >> LOAD_AVERAGE_SHIFT));
}

static void load_done(struct farswap_io *io, int error)
{
	struct load_request *request = container_of(io, struct load_request, io);
	struct farswap_slab *slab = request->slab;
	struct folio *folio = request->folio;
	unsigned int nr = folio_nr_pages(folio);
	u64 ns = ktime_get_ns() - request->start;

	trace_farswap_load_end(folio->swap.val, nr, error, ns);
	if (error) {
		INIT_WORK(&request->work, load_fallback);
		queue_work(farswap_wq, &request->work);
		goto out_put;
	}
	farswap_latency_add(FARSWAP_LATENCY_LOAD, ns);
	if (io->urgent) {
		farswap_latency_add(FARSWAP_LATENCY_LOAD_URGENT, ns);
		load_average(request->cpu, min_t(u64, ns, U32_MAX));
	}
	farswap_stat_add(FARSWAP_STAT_LOAD_REMOTE, nr);
	count_vm_events(PSWPIN, nr);
	mempool_free(request, load_pool);
	folio_end_read(folio, true);
out_put:
	/* Last: who unmaps the slab waits for us, and then for farswap_wq. */
	farswap_slab_put(slab);
}

static void load_submit(struct load_request *request, struct farswap_slab *slab,
			struct folio *folio, unsigned int slot, bool urgent)
{
	struct farswap_io *io = &request->io;
	bool workingset = folio_test_workingset(folio);
	unsigned long pflags;

	io->region = slab->region;
	io->page = folio_page(folio, 0);
	io->offset = slot << PAGE_SHIFT;
	io->length = folio_size(folio);
	io->op = FARSWAP_IO_READ;
	io->urgent = urgent;
	io->done = load_done;
	request->folio = folio;
	request->slab = slab;
	request->start = ktime_get_ns();
	request->cpu = raw_smp_processor_id();
	request->backed = farswap_slotbits_full(slab->bits.backed, slot,
						folio_nr_pages(folio));

	/* As swap_read_folio() does, before the folio may be gone. */
	if (workingset)
		psi_memstall_enter(&pflags);
	farswap_hook_swapin(folio);
	if (slab->donor->transport->submit(io))
		load_done(io, -EHOSTDOWN);
	if (workingset)
		psi_memstall_leave(&pflags);
}

/* The slab of a swap entry, if it may have remote contents. */
static struct farswap_slab *load_slab(struct farswap_device *device,
				      swp_entry_t entry)
{
	struct farswap_slab *slab;

	slab = farswap_slabmap_find(device->map, swp_offset(entry));
	return slab && farswap_slab_has_bits(slab) ? slab : NULL;
}

/* Is any of the slots a zero page, which the kernel keeps as a bit only? */
static bool load_zero(const struct farswap_device *device, pgoff_t offset,
		      unsigned int nr)
{
	return find_next_bit(device->si->zeromap, offset + nr, offset) <
	       offset + nr;
}

/**
 * farswap_load() - a folio comes from swap
 * @folio:	locked, not up to date
 * @urgent:	a task is about to wait for it
 *
 * Context: process context; does not wait, but for memory pressure to be
 * accounted.
 * Return: true when the folio was taken: it will be unlocked, with its contents
 * or without. False when the caller must read it.
 */
bool farswap_load(struct folio *folio, bool urgent)
{
	struct farswap_device *device = farswap_device_find(swp_type(folio->swap));
	pgoff_t offset = swp_offset(folio->swap);
	unsigned int nr = folio_nr_pages(folio), slot;
	struct load_request *request;
	struct farswap_slab *slab;

	/* Out of the swap cache nothing keeps the folio while we read into it. */
	if (!device || !folio_test_swapcache(folio))
		return false;
	slab = farswap_slab_lookup(device, offset);
	if (slab)
		farswap_slab_account(slab, nr);
	slot = farswap_slabmap_slot(device->map, offset);
	if (!slab || !farswap_slab_has_bits(slab) || !farswap_slab_get(slab))
		goto out_device;
	/*
	 * Only now: without the reference the bits might be those of the slab's
	 * last region. A stale remote bit may also stand below a zero page, so
	 * the zero map is asked too.
	 */
	if (!farswap_slotbits_full(slab->bits.remote, slot, nr) ||
	    load_zero(device, offset, nr))
		goto out_promote;
	request = mempool_alloc(load_pool, GFP_NOWAIT | __GFP_NOWARN);
	if (!request)
		goto out_put;
	load_submit(request, slab, folio, slot, urgent);
	return true;

out_promote:
	if (!load_zero(device, offset, nr) && farswap_device_writable(device))
		farswap_promote(folio);
out_put:
	farswap_slab_put(slab);
out_device:
	farswap_stat_add(FARSWAP_STAT_LOAD_DEVICE, nr);
	return false;
}

/**
 * farswap_is_remote() - would a load of this entry be remote
 * @entry:	a swap entry in use
 *
 * Context: any.
 * Return: whether it would, just now.
 */
bool farswap_is_remote(swp_entry_t entry)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	bool remote = false;

	rcu_read_lock();
	device = farswap_device_find(swp_type(entry));
	slab = device ? load_slab(device, entry) : NULL;
	if (slab)
		remote = test_bit(farswap_slabmap_slot(device->map,
						       swp_offset(entry)),
				  slab->bits.remote);
	rcu_read_unlock();
	return remote;
}

/**
 * farswap_poll_lock() - spin for a page that is about to come
 * @folio:	a folio of the swap cache that a fault found locked; a reference is
 *		held
 *
 * Twice the average of what a read takes, at most poll_us; not at all if the
 * average itself is longer than that, since then sleeping is cheaper.
 *
 * Context: process context; does not sleep.
 * Return: true when the folio has been locked.
 */
bool farswap_poll_lock(struct folio *folio)
{
	u64 limit = (u64)READ_ONCE(farswap_settings.poll_us) * NSEC_PER_USEC;
	u32 average = raw_cpu_read(load_average_ns);
	u64 end;

	if (!folio_test_swapcache(folio) || folio_test_uptodate(folio) ||
	    !farswap_is_remote(folio->swap))
		return false;
	if (average < limit) {
		end = ktime_get_ns() + min(limit, 2ULL * average);
		do {
			if (folio_trylock(folio)) {
				farswap_stat_add(FARSWAP_STAT_WAIT_POLLED, 1);
				return true;
			}
			cpu_relax();
		} while (!need_resched() && ktime_get_ns() < end);
	}
	farswap_stat_add(FARSWAP_STAT_WAIT_SLEPT, 1);
	return false;
}

/* Forget the copies of slots, if there are any. */
static unsigned int load_forget(unsigned int type, pgoff_t offset,
				unsigned long nr)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int cleared = 0;

	rcu_read_lock();
	device = farswap_device_find(type);
	while (device && nr) {
		unsigned int slot = farswap_slabmap_slot(device->map, offset);
		unsigned int part = min_t(unsigned long, nr,
					  (1UL << device->map->shift) - slot);

		slab = load_slab(device, swp_entry(type, offset));
		if (slab)
			cleared += farswap_slotbits_clear(&slab->bits, slot, part);
		offset += part;
		nr -= part;
	}
	rcu_read_unlock();
	return cleared;
}

/**
 * farswap_forget() - a newer copy of a folio went to zswap
 * @folio:	locked, in the swap cache
 *
 * Context: any.
 */
void farswap_forget(struct folio *folio)
{
	farswap_promote_zswap();
	farswap_stat_add(FARSWAP_STAT_ZSWAP_ACCEPTED,
			 load_forget(swp_type(folio->swap),
				     swp_offset(folio->swap),
				     folio_nr_pages(folio)));
}

/**
 * farswap_invalidate() - slots were freed
 * @type:	their swap type
 * @first:	the first
 * @last:	the last
 *
 * Context: any, also with interrupts off; si->lock is held, so the slots can't
 * be used again before this returns.
 */
void farswap_invalidate(unsigned int type, pgoff_t first, pgoff_t last)
{
	farswap_stat_add(FARSWAP_STAT_FREED,
			 load_forget(type, first, last - first + 1));
}

/**
 * farswap_load_init() - make the pool of requests
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_load_init(void)
{
	load_cache = KMEM_CACHE(load_request, 0);
	if (!load_cache)
		return -ENOMEM;
	load_pool = mempool_create_slab_pool(LOAD_POOL, load_cache);
	if (!load_pool)
		goto out_destroy_cache;
	return 0;

out_destroy_cache:
	kmem_cache_destroy(load_cache);
	return -ENOMEM;
}

/**
 * farswap_load_exit() - free it; no load is in flight
 */
void farswap_load_exit(void)
{
	mempool_destroy(load_pool);
	kmem_cache_destroy(load_cache);
}
