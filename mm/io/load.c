// SPDX-License-Identifier: GPL-2.0
/*
 * Page-in: copies a folio that is staged for the swap device from its staging pages, and reads a
 * folio whose slots all have the remote bit from a region. The kernel handles every other folio
 * itself from the start. If a remote read fails, the kernel reads the swap device within the same
 * load; if the device does not have the folio, the reader gets an error.
 *
 * This file also has the spinning of faults for a page in flight.
 *
 * The bits of a slot change during a load of it in three ways only: its slab is drained, the device
 * completes the slot's backup write, or a rebuild sets the remote bit.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/farswap.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "io/load.h"
#include "io/reqpool.h"

/* Requests in reserve: this many loads can be in flight even without free memory. */
#define LOAD_POOL	256
/* Failed reads after which a sole copy is given up. A failure of the session does not count. */
#define LOAD_TRIES	4
/* Interval of scans for loads that need not wait any longer, and delay of a retry after -ENOMEM. */
#define LOAD_PAUSE_MS	10
/*
 * After this fraction of io_timeout_ms a load does not try another region if the device has the
 * page: the whole load could exceed io_timeout_ms.
 */
#define LOAD_LATE_PART	10
/* For this long after a failed large folio the pages of its slab are read one by one, jiffies. */
#define LOAD_LARGE_PAUSE	HZ

static struct farswap_requests load_requests;

static void load_fail(struct folio *folio)
{
	farswap_stat_add(FARSWAP_STAT_LOAD_LOST, folio_nr_pages(folio));
	pr_alert_ratelimited("no copy of swap entry %#lx can be read\n",
			     folio->swap.val);
	folio_end_read(folio, false);
}

/* Return false if no copy is in a staging page. A hint: load_locally() finds what it misses. */
static bool load_may_be_staged(struct farswap_device *device, pgoff_t offset)
{
	return READ_ONCE(farswap_backup_shard(&device->backups, offset)->nr);
}

static bool load_staged(struct folio *folio, struct farswap_slab *slab,
			unsigned int slot)
{
	unsigned int nr = folio_nr_pages(folio);

	if (!farswap_slotbits_any(slab->bits.unbacked, slot, nr) ||
	    !farswap_backup_read(slab->device, folio))
		return false;
	farswap_hook_swapin(folio);
	farswap_stat_add(FARSWAP_STAT_LOAD_STAGED, nr);
	farswap_hook_loaded(folio);
	folio_end_read(folio, true);
	return true;
}

/*
 * Spinning: a fault that finds its page in flight from a donor spins for it, if reads take less
 * time than sleeping would.
 */

/* The weight of a new sample in the moving average of the read latency is 1/8. */
#define POLL_AVERAGE_SHIFT	3

/* Moving average of the latency of the reads that faults wait for, ns. */
static DEFINE_PER_CPU(u32, poll_average_ns);

static u32 poll_average(u32 old, u32 ns)
{
	return old + (ns >> POLL_AVERAGE_SHIFT) - (old >> POLL_AVERAGE_SHIFT);
}

/**
 * poll_learn() - add the latency of a read that a fault waited for
 * @cpu:	CPU that submitted the read, where the next fault uses the average
 * @ns:		latency of the read
 *
 * Context: any.
 */
static void poll_learn(int cpu, u32 ns)
{
	u32 *average = per_cpu_ptr(&poll_average_ns, cpu);

	WRITE_ONCE(*average, poll_average(READ_ONCE(*average), ns));
}

/**
 * farswap_poll_lock() - spin for a page that is in flight
 * @folio:	a folio of the swap cache that a fault found locked; a reference is
 *		held
 *
 * The function spins for twice the average read latency, and for poll_us at most. It does not spin
 * if the average is not below poll_us, because sleeping is cheaper then.
 *
 * Context: process context; does not sleep.
 * Return: true if the function has locked the folio.
 */
bool farswap_poll_lock(struct folio *folio)
{
	u64 limit = (u64)READ_ONCE(farswap_settings.poll_us) * NSEC_PER_USEC;
	u32 average = raw_cpu_read(poll_average_ns);
	u64 end;

	if (!folio_test_swapcache(folio) || folio_test_uptodate(folio) ||
	    !farswap_is_remote(folio->swap, 1))
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

/*
 * Load a folio without a region. Return true if the load has ended, with success or not; false if
 * the device has the folio.
 */
static bool load_locally(struct folio *folio, struct farswap_slab *slab,
			 unsigned int slot)
{
	unsigned int nr = folio_nr_pages(folio);

	if (!farswap_slotbits_any(slab->bits.unbacked, slot, nr))
		return false;
	farswap_backup_await(slab, slot, nr);
	if (load_staged(folio, slab, slot))
		return true;
	/* A copy and its unbacked bit go together, once the device has the page. */
	if (!farswap_slotbits_any(slab->bits.unbacked, slot, nr))
		return false;
	load_fail(folio);
	return true;
}

static void load_submit(struct farswap_load_request *request, struct farswap_mapping *mapping,
			bool urgent);

/* A load waits for a suspect donor only if the device does not have the page. */
static bool load_may_wait(const struct farswap_slab *slab, unsigned int slot,
			  unsigned int nr)
{
	return farswap_slotbits_any(slab->bits.unbacked, slot, nr);
}

/* The device, if it has the page, would be faster by now than another region. */
static bool load_is_late(const struct farswap_load_request *request)
{
	unsigned int ms = READ_ONCE(farswap_settings.io_timeout_ms) / LOAD_LATE_PART;

	return time_after(jiffies, request->began + msecs_to_jiffies(ms));
}

/* Schedule a scan of a donor's waiting loads. A pending work holds a reference on the donor. */
static void load_look_in(struct farswap_donor *donor, unsigned long delay)
{
	kref_get(&donor->ref);
	if (mod_delayed_work(farswap_load_wq, &donor->load_work, delay))
		farswap_donor_put(donor);
}

/* Record the state of a donor's session, for comparison after a failed read. */
static void load_note(struct farswap_load_request *request, const struct farswap_donor *donor)
{
	request->donor = donor;
	request->suspects = READ_ONCE(donor->suspects);
	/*
	 * Read @suspects before @io, which farswap_donor_works() reads. donor_suspended() writes
	 * them in the opposite order, with smp_wmb() between.
	 */
	smp_rmb();
	request->worked = farswap_donor_works(donor);
}

/* Return true if the donor's session has failed or come back since the last read began. */
static bool load_has_news(const struct farswap_load_request *request,
			  const struct farswap_donor *donor)
{
	return !request->worked || READ_ONCE(donor->suspects) != request->suspects;
}

/*
 * Put a load on the list of its donor, together with the reference on @mapping. The transport may
 * report a donor as suspect up to io_timeout_ms after an I/O has failed, so the load waits that
 * long.
 */
static void load_park(struct farswap_load_request *request, struct farswap_mapping *mapping)
{
	unsigned int ms = READ_ONCE(farswap_settings.io_timeout_ms);
	struct farswap_donor *donor = mapping->donor;
	bool first;

	if (request->error == -ENOMEM)
		ms = LOAD_PAUSE_MS;
	if (donor != request->donor)
		load_note(request, donor);
	request->until = jiffies + msecs_to_jiffies(ms);
	request->waits_for = mapping;
	if (farswap_donor_is_suspect(donor))
		farswap_stat_add(FARSWAP_STAT_LOAD_WAITED, 1);
	spin_lock(&donor->load_lock);
	first = list_empty(&donor->loads);
	list_add_tail(&request->entry, &donor->loads);
	if (first)
		load_look_in(donor, msecs_to_jiffies(LOAD_PAUSE_MS));
	spin_unlock(&donor->load_lock);
}

/*
 * Return true if a load need not wait any longer. A load waits for a suspect donor without a limit
 * of its own, because the transport limits the grace period.
 */
static bool load_is_ready(const struct farswap_load_request *request,
			  const struct farswap_donor *donor)
{
	if (farswap_mapping_ends(request->waits_for))
		return true;
	if (farswap_donor_is_suspect(donor))
		return false;
	return !farswap_donor_works(donor) ||
	       time_after_eq(jiffies, request->until) ||
	       (request->error != -ENOMEM && load_has_news(request, donor));
}

/**
 * farswap_load_work() - continue the loads of a donor that need not wait any longer
 * @work:	load_work of the donor
 *
 * Context: process context; does not sleep.
 */
void farswap_load_work(struct work_struct *work)
{
	struct farswap_donor *donor = container_of(to_delayed_work(work), struct farswap_donor,
						   load_work);
	struct farswap_load_request *request, *next;

	spin_lock(&donor->load_lock);
	list_for_each_entry_safe(request, next, &donor->loads, entry) {
		if (!load_is_ready(request, donor))
			continue;
		list_del(&request->entry);
		request->waited = true;
		if (request->error != -ENOMEM && farswap_donor_works(donor))
			request->failed += !load_has_news(request, donor);
		queue_work(farswap_load_wq, &request->work);
	}
	if (!list_empty(&donor->loads))
		load_look_in(donor, msecs_to_jiffies(LOAD_PAUSE_MS));
	spin_unlock(&donor->load_lock);
	farswap_donor_put(donor);
}

/**
 * farswap_load_kick() - scan the waiting loads of a donor whose state has changed
 * @donor:	the donor, referenced
 *
 * Without this call the loads notice the change at their next periodic scan.
 *
 * Context: process context; does not sleep.
 */
void farswap_load_kick(struct farswap_donor *donor)
{
	spin_lock(&donor->load_lock);
	if (!list_empty(&donor->loads))
		load_look_in(donor, 0);
	spin_unlock(&donor->load_lock);
}

/**
 * farswap_load_cancel() - stop the scans of a donor that no load waits for
 * @donor:	a donor without mappings
 *
 * Context: may sleep.
 */
void farswap_load_cancel(struct farswap_donor *donor)
{
	if (cancel_delayed_work_sync(&donor->load_work))
		farswap_donor_put(donor);
}

/*
 * Retry a failed read. Another region is tried at once, unless the load is late and the device has
 * the page. The same region, or any region once each was tried, is tried only if the device does
 * not have the page, and only after a wait: the donor may be suspect and come back, or there was no
 * memory to map the page for the adapter. A sole copy is given up only if its donor or its region
 * is gone, or if reads fail repeatedly in a session that works. The mapping of the last try may
 * have been freed, so its pointer is only compared.
 */
static bool load_again(struct farswap_load_request *request)
{
	struct farswap_slab *slab = request->slab;
	unsigned int nr = request->nr;
	struct farswap_mapping *mapping;
	bool wait;

	if (request->failed >= LOAD_TRIES ||
	    !farswap_slotbits_full(slab->bits.remote, request->slot, nr))
		return false;
	mapping = farswap_mapping_find(slab, request->slot, nr, request->mapping);
	if (!mapping)
		return false;
	wait = mapping == request->mapping || farswap_donor_is_suspect(mapping->donor) ||
	       request->tries >= farswap_mapping_count(slab);
	if ((wait || load_is_late(request)) && !load_may_wait(slab, request->slot, nr)) {
		farswap_mapping_put(mapping);
		return false;
	}
	if (farswap_donor_is_suspect(mapping->donor) || (wait && !request->waited))
		load_park(request, mapping);
	else
		load_submit(request, mapping, false);
	return true;
}

/*
 * Give up a large folio: the waiting task then reads its pages one by one. The folio lock pins the
 * slab. Context: process context, if the folio is in the swap cache.
 */
static void load_large_fail(struct folio *folio, struct farswap_slab *slab)
{
	WRITE_ONCE(slab->large_at, jiffies + LOAD_LARGE_PAUSE);
	farswap_stat_add(FARSWAP_STAT_LOAD_SPLIT, 1);
	farswap_hook_give_up(folio);
}

static void load_opened(struct farswap_load_request *request);

/**
 * farswap_load_free() - free the request of a load that has ended
 * @request:	the request
 *
 * Context: any up to softirq.
 */
void farswap_load_free(struct farswap_load_request *request)
{
	if (request->slab->pack)
		farswap_pack_put(request->slab->pack);
	farswap_request_free(&load_requests, request);
}

/*
 * Continue after a remote read: open its page, which could not be done where the read ended. Or,
 * if the read has failed, retry or read the swap device.
 */
static void load_fallback(struct work_struct *work)
{
	struct farswap_load_request *request = container_of(work, struct farswap_load_request,
						    work);
	struct farswap_slab *slab = request->slab;
	struct folio *folio = request->folio;
	unsigned int noio, slot = request->slot;

	if (request->sealed) {
		request->sealed = false;
		load_opened(request);
		return;
	}
	if (folio_test_large(folio)) {
		load_large_fail(folio, slab);
		goto out_free;
	}
	if (request->waits_for)
		farswap_mapping_put(request->waits_for);
	request->waits_for = NULL;
	if (load_again(request))
		return;
	/* The locked folio keeps the slot, and so the slab. */
	if (load_locally(folio, slab, slot))
		goto out_free;
	farswap_stat_add(FARSWAP_STAT_LOAD_FALLBACK, folio_nr_pages(folio));
	noio = memalloc_noio_save();
	farswap_hook_read(folio);
	memalloc_noio_restore(noio);
out_free:
	/* Free it last: the work of a new load in this request starts only after this work ends. */
	farswap_load_free(request);
}

static bool load_is_sole(const struct farswap_load_request *request)
{
	return farswap_slotbits_any(request->slab->bits.unbacked, request->slot,
				    folio_nr_pages(request->folio));
}

/* End a load whose page is in the folio, or have it read from elsewhere. */
static __always_inline void load_finish(struct farswap_load_request *request, int error)
{
	struct farswap_io *io = &request->io;
	struct farswap_mapping *mapping = request->mapping;
	struct folio *folio = request->folio;
	unsigned int nr = folio_nr_pages(folio);
	u64 ns = ktime_get_ns() - request->start;

	if (trace_farswap_load_end_enabled())
		trace_farswap_load_end(folio->swap.val, nr, error, ns, farswap_cgroup_id(folio));
	if (error && !folio_test_swapcache(folio)) {
		load_large_fail(folio, request->slab);
		farswap_load_free(request);
		goto out_put;
	}
	if (error) {
		request->error = error;
		request->waited = false;
		queue_work(load_is_sole(request) ? farswap_load_wq : farswap_wq,
			   &request->work);
		goto out_put;
	}
	farswap_latency_add(FARSWAP_LATENCY_LOAD, ns);
	farswap_cgroup_loaded(request->slab->device, swp_offset(folio->swap), nr, ns);
	if (io->urgent && nr == 1) {
		farswap_latency_add(FARSWAP_LATENCY_LOAD_URGENT, ns);
		poll_learn(request->cpu, min_t(u64, ns, U32_MAX));
		farswap_window_learn(&mapping->donor->window, min_t(u64, ns, U32_MAX));
		farswap_donor_learn(mapping->donor, ns);
	}
	farswap_stat_add(FARSWAP_STAT_LOAD_REMOTE, nr);
	farswap_hook_loaded(folio);
	farswap_load_free(request);
	folio_end_read(folio, true);
out_put:
	/*
	 * Put the mapping last: an unmap of the slab waits for this reference and then flushes
	 * farswap_wq, so the work must be queued by now.
	 */
	farswap_mapping_put(mapping);
}

/**
 * farswap_load_resume() - continue a load that has waited for its hedge
 * @request:	the load, whose read has ended
 * @error:	0 if the folio has got the page from the hedge; -errno to read it from elsewhere
 *
 * Context: any up to softirq.
 */
void farswap_load_resume(struct farswap_load_request *request, int error)
{
	load_finish(request, error);
}

/* End a load whose read has ended; its page is open if the read has succeeded. */
static __always_inline void load_end(struct farswap_load_request *request, int error)
{
	if (!error && request->bytes && !farswap_open_packed(request))
		error = -EIO;
	/* A hedge that goes on has its own page, and lets this load end. */
	if (unlikely(READ_ONCE(request->race.hedge))) {
		error = farswap_hedge_settle(request, error);
		if (error == FARSWAP_HEDGE_WAITS)
			return;
	}
	load_finish(request, error);
}

/* Open the page of a read that has ended where that could not be done. */
static void load_opened(struct farswap_load_request *request)
{
	load_end(request, farswap_open_sealed(request) ? 0 : -EBADMSG);
}

static void load_done(struct farswap_io *io, int error)
{
	struct farswap_load_request *request = container_of(io, struct farswap_load_request, io);
	const struct farswap_protect *protect = request->slab->device->protect;

	/* From here on no hedge begins. If the folio was given up, its load has ended already. */
	if (unlikely(xchg(&request->race.state, FARSWAP_RACE_NONE) == FARSWAP_RACE_HEDGED) &&
	    farswap_hedge_read_ended(request))
		return;
	if (!error && protect) {
		if (unlikely(!farswap_cipher_usable(protect->cipher))) {
			request->sealed = true;
			queue_work(load_is_sole(request) ? farswap_load_wq : farswap_wq,
				   &request->work);
			return;
		}
		if (!farswap_open_sealed(request))
			error = -EBADMSG;
	}
	load_end(request, error);
}

static void load_submit(struct farswap_load_request *request, struct farswap_mapping *mapping,
			bool urgent)
{
	struct farswap_io *io = &request->io;
	struct folio *folio = request->folio;
	bool workingset = folio_test_workingset(folio);
	unsigned long pflags;
	int err;

	farswap_slab_io(request->slab, io, FARSWAP_IO_READ, folio_page(folio, 0), request->slot,
			request->nr);
	io->urgent = urgent;
	io->done = load_done;
	/* A scan for late reads may look at a request that is just being reused. */
	WRITE_ONCE(request->mapping, mapping);
	WRITE_ONCE(request->start, ktime_get_ns());
	request->cpu = raw_smp_processor_id();
	request->tries++;
	load_note(request, mapping->donor);

	/* Account for the stall as swap_read_folio() does. The folio may be freed by the I/O. */
	if (workingset)
		psi_memstall_enter(&pflags);
	farswap_hook_swapin(folio);
	farswap_hedge_begin(&request->race);
	err = farswap_mapping_submit(mapping, io);
	if (err)
		load_done(io, err);
	if (workingset)
		psi_memstall_leave(&pflags);
}

/* Return true if any of the slots is a zero page, which the kernel keeps only as a flag. */
static bool load_zero(const struct farswap_device *device, pgoff_t offset,
		      unsigned int nr)
{
	bool zero = false;

	while (nr-- && !zero)
		zero = farswap_hook_zero(device->si, offset + nr);
	return zero;
}

/*
 * Begin a remote read of @nr slots, if the slab is mapped and has the folio. The request is a user
 * of a packed slab, as the caller is.
 */
static bool load_remotely(struct folio *folio, struct farswap_slab *slab,
			  unsigned int slot, unsigned int nr, unsigned int bytes, bool urgent)
{
	struct farswap_mapping *mapping;
	/* Only a sole copy is worth waiting for, and only if it can't be read page by page. */
	bool may_wait = !folio_test_large(folio) && load_may_wait(slab, slot, nr);
	struct farswap_load_request *request;

	/*
	 * Read the remote bits before farswap_mapping_find() reads the missing bits. Pairs with
	 * farswap_write_publish(), before which the missing bits change. Without the remote bits,
	 * a region may have an older page.
	 */
	if (!farswap_slotbits_full(slab->bits.remote, slot, nr))
		return false;
	mapping = farswap_mapping_find(slab, slot, nr, NULL);
	if (!mapping)
		return false;
	if (farswap_donor_is_suspect(mapping->donor) && !may_wait)
		goto out_put;
	/* No faster donor has the page, but the device has. */
	if (unlikely(farswap_donor_is_slow(mapping->donor)) && !load_may_wait(slab, slot, nr)) {
		farswap_stat_add(FARSWAP_STAT_LOAD_AVOIDED, nr);
		goto out_put;
	}
	request = farswap_request_alloc(&load_requests, GFP_NOWAIT | __GFP_NOWARN);
	if (!request && may_wait)
		request = farswap_request_alloc(&load_requests, GFP_NOIO);
	if (!request)
		goto out_put;
	request->folio = folio;
	request->slab = slab;
	request->slot = slot;
	request->nr = nr;
	request->bytes = bytes;
	WRITE_ONCE(request->mapping, NULL);
	request->waits_for = NULL;
	request->donor = NULL;
	request->waited = false;
	request->sealed = false;
	request->tries = 0;
	request->failed = 0;
	request->error = 0;
	request->began = jiffies;
	if (farswap_donor_is_suspect(mapping->donor))
		load_park(request, mapping);
	else
		load_submit(request, mapping, urgent);
	return true;

out_put:
	farswap_mapping_put(mapping);
	return false;
}

/* Return true if any of the pages of a folio is in a packed slab. */
static bool load_is_packed(struct farswap_device *device, const struct folio *folio)
{
	pgoff_t offset = swp_offset(folio->swap);
	struct farswap_object object;
	unsigned int nr;

	for (nr = folio_nr_pages(folio); nr--; offset++)
		if (farswap_object_find(device, offset, &object))
			return true;
	return false;
}

/*
 * Load a page from a packed slab. Return true if the load was begun or has ended; false if the
 * device has the page.
 */
static bool load_packed(struct folio *folio, struct farswap_device *device, bool urgent)
{
	struct farswap_object object;
	bool taken;

	if (!farswap_object_get(device, swp_offset(folio->swap), &object))
		return false;
	farswap_activity_account(&object.slab->activity, farswap_slab_second(), 1);
	taken = load_may_be_staged(device, swp_offset(folio->swap)) &&
		load_staged(folio, object.slab, object.slot);
	/* If the read begins, the request keeps the reference on the object. */
	if (!taken && folio_test_swapcache(folio) &&
	    load_remotely(folio, object.slab, object.slot, object.nr, object.bytes, urgent))
		return true;
	taken = taken || load_locally(folio, object.slab, object.slot);
	farswap_pack_put(object.slab->pack);
	return taken;
}

/* Count the access to a page's slab, and have the slab mapped if pages are not packed. */
static void load_account(struct farswap_slab *slab, unsigned int nr)
{
	if (farswap_packs_on() && slab->device->places && nr == 1)
		farswap_slab_may_pack(slab);
	else
		farswap_slab_account(slab, nr);
}

/* Return true if a page that was read from the device can be written to a region. */
static bool load_may_promote(const struct farswap_slab *slab)
{
	if (!farswap_device_writable(slab->device))
		return false;
	return READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED ||
	       (farswap_packs_on() && slab->device->places && READ_ONCE(slab->was_hot));
}

/**
 * farswap_load() - page in a folio
 * @folio:	locked, not up to date
 * @urgent:	a task is about to wait for the folio
 *
 * Context: process context. Waits for the accounting of memory pressure, for copies of a sole page
 * that are just being fetched, and for another load to end if there are so many that no request is
 * left.
 * Return: true if the folio was taken: it will be unlocked, with its contents or without. False if
 * the caller must read it.
 */
bool farswap_load(struct folio *folio, bool urgent)
{
	struct farswap_device *device = farswap_device_find(swp_type(folio->swap));
	pgoff_t offset = swp_offset(folio->swap);
	unsigned int nr = folio_nr_pages(folio), slot;
	struct farswap_slab *slab;

	if (!device)
		return false;
	if (farswap_hedge_load(folio))
		return true;
	slab = farswap_slab_lookup(device, offset, &slot);
	if (slab)
		load_account(slab, nr);
	/* Stale bits may remain below a zero page, because the kernel does not report those. */
	if (!slab || load_zero(device, offset, nr))
		goto out_device;
	if (farswap_packs_used() && load_is_packed(device, folio)) {
		/* The pages of a large folio are read one by one. */
		if (nr > 1)
			load_large_fail(folio, slab);
		if (nr > 1 || load_packed(folio, device, urgent))
			return true;
		goto out_promote;
	}
	if (!farswap_slab_has_bits(slab))
		goto out_promote;
	if (load_may_be_staged(device, offset) && load_staged(folio, slab, slot))
		return true;
	/* Outside the swap cache, nothing keeps the folio until the read ends. */
	if (folio_test_swapcache(folio) && load_remotely(folio, slab, slot, nr, 0, urgent))
		return true;
	if (load_locally(folio, slab, slot))
		return true;
out_promote:
	if (load_may_promote(slab))
		farswap_promote(folio);
out_device:
	farswap_stat_add(FARSWAP_STAT_LOAD_DEVICE, nr);
	return false;
}

/**
 * farswap_load_large() - page in a large folio as a whole, or not at all
 * @folio:	locked, not up to date; in the swap cache, or its owner holds its slots as if it
 *		were until this returns
 *
 * If the folio can't be read as a whole, its pages must be read one by one: for a second at least,
 * farswap_is_remote() returns false for large folios of the slab.
 *
 * Context: may sleep, for io_timeout_ms at most.
 * Return: true if the folio was taken: it will be unlocked, read or given up; a folio outside the
 * swap cache is unlocked already. False if nothing of it was ever stored.
 */
bool farswap_load_large(struct folio *folio)
{
	struct farswap_device *device = farswap_device_find(swp_type(folio->swap));
	pgoff_t offset = swp_offset(folio->swap);
	bool cached = folio_test_swapcache(folio);
	unsigned int nr = folio_nr_pages(folio), slot;
	struct farswap_slab *slab = NULL;

	if (device)
		slab = farswap_slab_lookup(device, offset, &slot);
	if (!slab)
		return false;
	farswap_slab_account(slab, nr);
	if (!farswap_slab_has_bits(slab) || load_zero(device, offset, nr) ||
	    (farswap_packs_used() && load_is_packed(device, folio)) ||
	    !load_remotely(folio, slab, slot, nr, 0, true))
		load_large_fail(folio, slab);
	/* The owner of a folio outside the swap cache holds a reference on it. */
	if (!cached)
		folio_wait_locked(folio);
	return true;
}

/**
 * farswap_load_flush() - wait until loads whose remote read failed have been continued
 *
 * Hedges have ended then, too, and none of their pages is kept.
 *
 * Loads in the list of a donor are not waited for; they hold a reference on a mapping of the donor.
 *
 * Context: may sleep.
 */
void farswap_load_flush(void)
{
	farswap_hedge_flush();
	flush_workqueue(farswap_load_wq);
}

/* Requests are in a list as long as they exist, in use or not. */
static void *load_request_alloc(gfp_t gfp, void *cache)
{
	struct farswap_load_request *request = kmem_cache_alloc(cache, gfp);

	if (!request)
		return NULL;
	INIT_WORK(&request->work, load_fallback);
	farswap_hedge_watch(request);
	return request;
}

static void load_request_free(void *request, void *cache)
{
	farswap_hedge_unwatch(request);
	kmem_cache_free(cache, request);
}

/**
 * farswap_load_init() - allocate the pool of load requests
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_load_init(void)
{
	farswap_hedge_init();
	return farswap_requests_init(&load_requests, "farswap_load",
				     sizeof(struct farswap_load_request), LOAD_POOL,
				     load_request_alloc, load_request_free);
}

/**
 * farswap_load_exit() - free the pool of load requests
 *
 * Context: may sleep; no load is in flight.
 */
void farswap_load_exit(void)
{
	farswap_hedge_exit();
	farswap_requests_exit(&load_requests);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/load-kunit.h"
#include "tests/poll-kunit.h"
#endif
