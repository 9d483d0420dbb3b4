// SPDX-License-Identifier: GPL-2.0
/*
 * Page-in: a folio that is staged for the device is copied from there; one whose
 * slots all have the remote bit is read straight from the region. If that fails the
 * kernel reads the swap device instead, within the same load, unless the device
 * does not have it: then the reader gets an error. Anything else is the kernel's
 * from the beginning.
 *
 * Under a load a slot's bits change in three ways only: its slab is drained, the device
 * has got it, or a rebuild gives it the remote bit.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/farswap.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/psi.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "io/reqpool.h"

/* Loads that never lack a request, however little memory there is. */
#define LOAD_POOL	256
/* Reads of a page that only a region has that may fail though its donor's session did not. */
#define LOAD_TRIES	4
/* Between looks at a donor that loads wait for, and before another try without memory. */
#define LOAD_PAUSE_MS	10
/* The part of io_timeout_ms after which another region could take longer than that in all. */
#define LOAD_LATE_PART	10
/* After a large folio that could not be read, for so long a slab's are read page by page. */
#define LOAD_LARGE_PAUSE	HZ

/**
 * struct load_request - one load
 * @io:		the remote read
 * @work:	the device read, should that fail
 * @folio:	what is loaded, locked
 * @slab:	whose page it is
 * @mapping:	from where; a reference is held until the remote read has ended
 * @entry:	in its donor's list of loads that wait
 * @waits_for:	the mapping whose donor it waits for, or has waited for; a reference is held
 * @donor:	whose session @suspects and @worked are about; compared only
 * @suspects:	that donor's, before the last read
 * @worked:	that donor worked then
 * @waited:	the wait since the last read has ended
 * @until:	jiffies until which it waits for a donor that works, as far as is known
 * @start:	when it was submitted, ns
 * @began:	when the first read was, jiffies
 * @slot:	of its first page
 * @tries:	remote reads begun
 * @failed:	those that failed though the donor's session did not
 * @error:	of the last read
 * @cpu:	who asked
 */
struct load_request {
	struct farswap_io io;
	struct work_struct work;
	struct folio *folio;
	struct farswap_slab *slab;
	struct farswap_mapping *mapping;
	struct list_head entry;
	struct farswap_mapping *waits_for;
	const struct farswap_donor *donor;
	unsigned int suspects;
	bool worked;
	bool waited;
	unsigned long until;
	u64 start;
	unsigned long began;
	unsigned int slot;
	unsigned int tries;
	unsigned int failed;
	int error;
	int cpu;
};

static struct farswap_requests load_requests;

/* Runs loads of what only regions have: no other work waits for it. */
static struct workqueue_struct *load_wait_wq;

static void load_fail(struct folio *folio)
{
	farswap_stat_add(FARSWAP_STAT_LOAD_LOST, folio_nr_pages(folio));
	pr_alert_ratelimited("no copy of swap entry %#lx can be read\n",
			     folio->swap.val);
	folio_end_read(folio, false);
}

static bool load_staged(struct folio *folio, struct farswap_slab *slab,
			unsigned int slot)
{
	unsigned int nr = folio_nr_pages(folio);

	if (!farswap_slotbits_any(slab->bits.unbacked, slot, nr) ||
	    !farswap_backup_read(slab, slot, folio))
		return false;
	farswap_hook_swapin(folio);
	farswap_stat_add(FARSWAP_STAT_LOAD_STAGED, nr);
	farswap_hook_loaded(folio);
	folio_end_read(folio, true);
	return true;
}

/*
 * Spinning: a fault that finds its page on the way from a donor waits for it without
 * sleeping, where reads take less than that would cost.
 */

/* The moving average of what a read takes: 1/8 new. */
#define POLL_AVERAGE_SHIFT	3

/* What the fault's own reads took lately, ns. */
static DEFINE_PER_CPU(u32, poll_average_ns);

static u32 poll_average(u32 old, u32 ns)
{
	return old + (ns >> POLL_AVERAGE_SHIFT) - (old >> POLL_AVERAGE_SHIFT);
}

/**
 * poll_learn() - the fault's own page has come
 * @cpu:	who asked for it, which is where the next fault will look
 * @ns:		how long it took
 *
 * Context: any.
 */
static void poll_learn(int cpu, u32 ns)
{
	u32 *average = per_cpu_ptr(&poll_average_ns, cpu);

	WRITE_ONCE(*average, poll_average(READ_ONCE(*average), ns));
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
 * Without the region: true if that's the end of it, well or not; false if the
 * device has the folio.
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
	/* A copy that is gone by now has reached the device. */
	if (!farswap_slotbits_any(slab->bits.unbacked, slot, nr))
		return false;
	load_fail(folio);
	return true;
}

static void load_submit(struct load_request *request, struct farswap_mapping *mapping,
			bool urgent);

/* Nobody waits for a suspect donor, unless nobody else has the page. */
static bool load_may_wait(const struct farswap_slab *slab, unsigned int slot,
			  unsigned int nr)
{
	return farswap_slotbits_any(slab->bits.unbacked, slot, nr);
}

/* What else has the page would have been faster, and may be again. */
static bool load_is_late(const struct load_request *request)
{
	unsigned int ms = READ_ONCE(farswap_settings.io_timeout_ms) / LOAD_LATE_PART;

	return time_after(jiffies, request->began + msecs_to_jiffies(ms));
}

/* Look at a donor's waiting loads. A pending work holds a reference on the donor. */
static void load_look_in(struct farswap_donor *donor, unsigned long delay)
{
	kref_get(&donor->ref);
	if (mod_delayed_work(load_wait_wq, &donor->load_work, delay))
		farswap_donor_put(donor);
}

/* Note the state of a donor's session that a later failure is compared with. */
static void load_note(struct load_request *request, const struct farswap_donor *donor)
{
	request->donor = donor;
	request->suspects = READ_ONCE(donor->suspects);
	/* Pairs with donor_suspended(), which writes @io before @suspects. */
	smp_rmb();
	request->worked = farswap_donor_works(donor);
}

/* Has the donor's session failed, or come back, since the last read began? */
static bool load_has_news(const struct load_request *request, const struct farswap_donor *donor)
{
	return !request->worked || READ_ONCE(donor->suspects) != request->suspects;
}

/*
 * Put a load on the list of its donor, with the reference on @mapping. A donor may be told to be
 * suspect only after the failure of an I/O, by io_timeout_ms at most.
 */
static void load_park(struct load_request *request, struct farswap_mapping *mapping)
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

/* Is there no use in waiting any longer? The grace of a suspect donor is the transport's. */
static bool load_is_ready(const struct load_request *request, const struct farswap_donor *donor)
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
 * farswap_load_work() - let those of a donor's waiting loads go on that need not wait any longer
 * @work:	the donor's
 *
 * Context: process context; does not sleep.
 */
void farswap_load_work(struct work_struct *work)
{
	struct farswap_donor *donor = container_of(to_delayed_work(work), struct farswap_donor,
						   load_work);
	struct load_request *request, *next;

	spin_lock(&donor->load_lock);
	list_for_each_entry_safe(request, next, &donor->loads, entry) {
		if (!load_is_ready(request, donor))
			continue;
		list_del(&request->entry);
		request->waited = true;
		if (request->error != -ENOMEM && farswap_donor_works(donor))
			request->failed += !load_has_news(request, donor);
		queue_work(load_wait_wq, &request->work);
	}
	if (!list_empty(&donor->loads))
		load_look_in(donor, msecs_to_jiffies(LOAD_PAUSE_MS));
	spin_unlock(&donor->load_lock);
	farswap_donor_put(donor);
}

/**
 * farswap_load_kick() - what has become of a donor is known
 * @donor:	the donor, referenced
 *
 * Otherwise its waiting loads see it at their next look.
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
 * farswap_load_cancel() - end the looks at a donor that nobody waits for any more
 * @donor:	without mappings
 *
 * Context: may sleep.
 */
void farswap_load_cancel(struct farswap_donor *donor)
{
	if (cancel_delayed_work_sync(&donor->load_work))
		farswap_donor_put(donor);
}

/*
 * Read a region once more. Another one at once, unless time is up and the device has
 * the page. The same, or another once each was tried, only if the device does not have
 * it, and after a wait: the donor may be suspect and come back, or there was no memory to map the
 * page for the adapter. Only the donor's end, that of its region, or reads that fail again and
 * again in a session that works make us give up a page that nobody else has. The mapping of the
 * last try may be freed: it is compared only.
 */
static bool load_again(struct load_request *request)
{
	struct farswap_slab *slab = request->slab;
	unsigned int nr = folio_nr_pages(request->folio);
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
 * Whoever waits for it has it read page by page. The locked folio keeps the slab. Process
 * context, if it is in the swap cache.
 */
static void load_large_fail(struct folio *folio, struct farswap_slab *slab)
{
	WRITE_ONCE(slab->large_at, jiffies + LOAD_LARGE_PAUSE);
	farswap_stat_add(FARSWAP_STAT_LOAD_SPLIT, 1);
	farswap_hook_give_up(folio);
}

/* The remote read failed: the swap device, in process context. */
static void load_fallback(struct work_struct *work)
{
	struct load_request *request = container_of(work, struct load_request,
						    work);
	struct farswap_slab *slab = request->slab;
	struct folio *folio = request->folio;
	unsigned int noio, slot = request->slot;

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
	/* Last: the next load's work would wait for ours to end. */
	farswap_request_free(&load_requests, request);
}

static bool load_is_sole(const struct load_request *request)
{
	return farswap_slotbits_any(request->slab->bits.unbacked, request->slot,
				    folio_nr_pages(request->folio));
}

static void load_done(struct farswap_io *io, int error)
{
	struct load_request *request = container_of(io, struct load_request, io);
	struct farswap_mapping *mapping = request->mapping;
	struct folio *folio = request->folio;
	unsigned int nr = folio_nr_pages(folio);
	u64 ns = ktime_get_ns() - request->start;

	trace_farswap_load_end(folio->swap.val, nr, error, ns);
	if (error && !folio_test_swapcache(folio)) {
		load_large_fail(folio, request->slab);
		farswap_request_free(&load_requests, request);
		goto out_put;
	}
	if (error) {
		request->error = error;
		request->waited = false;
		queue_work(load_is_sole(request) ? load_wait_wq : farswap_wq,
			   &request->work);
		goto out_put;
	}
	farswap_latency_add(FARSWAP_LATENCY_LOAD, ns);
	if (io->urgent && nr == 1) {
		farswap_latency_add(FARSWAP_LATENCY_LOAD_URGENT, ns);
		poll_learn(request->cpu, min_t(u64, ns, U32_MAX));
		farswap_window_learn(&mapping->donor->window, min_t(u64, ns, U32_MAX));
	}
	farswap_stat_add(FARSWAP_STAT_LOAD_REMOTE, nr);
	farswap_hook_loaded(folio);
	farswap_request_free(&load_requests, request);
	folio_end_read(folio, true);
out_put:
	/* Last: who unmaps the slab waits for us, and then for farswap_wq. */
	farswap_mapping_put(mapping);
}

static void load_submit(struct load_request *request, struct farswap_mapping *mapping,
			bool urgent)
{
	struct farswap_io *io = &request->io;
	struct folio *folio = request->folio;
	bool workingset = folio_test_workingset(folio);
	unsigned long pflags;
	int err;

	io->page = folio_page(folio, 0);
	io->offset = request->slot << PAGE_SHIFT;
	io->length = folio_size(folio);
	io->op = FARSWAP_IO_READ;
	io->urgent = urgent;
	io->done = load_done;
	request->mapping = mapping;
	request->start = ktime_get_ns();
	request->cpu = raw_smp_processor_id();
	request->tries++;
	load_note(request, mapping->donor);

	/* As swap_read_folio() does, before the folio may be gone. */
	if (workingset)
		psi_memstall_enter(&pflags);
	farswap_hook_swapin(folio);
	err = farswap_mapping_submit(mapping, io);
	if (err)
		load_done(io, err);
	if (workingset)
		psi_memstall_leave(&pflags);
}

/* Is any of the slots a zero page, which the kernel keeps as a mark only? */
static bool load_zero(const struct farswap_device *device, pgoff_t offset,
		      unsigned int nr)
{
	bool zero = false;

	while (nr-- && !zero)
		zero = farswap_hook_zero(device->si, offset + nr);
	return zero;
}

/* Begin a remote read, if the slab is mapped and has the folio. */
static bool load_remotely(struct folio *folio, struct farswap_slab *slab,
			  unsigned int slot, bool urgent)
{
	unsigned int nr = folio_nr_pages(folio);
	struct farswap_mapping *mapping;
	/* The only copy is worth waiting for; what can be read page by page isn't. */
	bool may_wait = nr == 1 && load_may_wait(slab, slot, nr);
	struct load_request *request;

	/*
	 * Before it is asked who has the slots: what a region has of them without the bits
	 * may be older.
	 */
	if (!farswap_slotbits_full(slab->bits.remote, slot, nr))
		return false;
	mapping = farswap_mapping_find(slab, slot, nr, NULL);
	if (!mapping)
		return false;
	if (farswap_donor_is_suspect(mapping->donor) && !may_wait)
		goto out_put;
	request = farswap_request_alloc(&load_requests, GFP_NOWAIT | __GFP_NOWARN);
	if (!request && may_wait)
		request = farswap_request_alloc(&load_requests, GFP_NOIO);
	if (!request)
		goto out_put;
	INIT_WORK(&request->work, load_fallback);
	request->folio = folio;
	request->slab = slab;
	request->slot = slot;
	request->mapping = NULL;
	request->waits_for = NULL;
	request->donor = NULL;
	request->waited = false;
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

/**
 * farswap_load() - a folio comes from swap
 * @folio:	locked, not up to date
 * @urgent:	a task is about to wait for it
 *
 * Context: process context; does not wait, but for memory pressure to be
 * accounted, and, if so many are under way that there is no request, for one of
 * those to end.
 * Return: true when the folio was taken: it will be unlocked, with its contents
 * or without. False when the caller must read it.
 */
bool farswap_load(struct folio *folio, bool urgent)
{
	struct farswap_device *device = farswap_device_find(swp_type(folio->swap));
	pgoff_t offset = swp_offset(folio->swap);
	unsigned int nr = folio_nr_pages(folio), slot;
	struct farswap_slab *slab;

	if (!device)
		return false;
	slab = farswap_slab_lookup(device, offset, &slot);
	if (slab)
		farswap_slab_account(slab, nr);
	/* Stale bits may stand below a zero page, of which the kernel tells nobody. */
	if (!slab || !farswap_slab_has_bits(slab) || load_zero(device, offset, nr))
		goto out_device;
	/* Without the lock it is a hint: what it misses load_locally() finds. */
	if (READ_ONCE(device->backups.nr) && load_staged(folio, slab, slot))
		return true;
	/* Out of the swap cache nothing keeps the folio while we read into it. */
	if (folio_test_swapcache(folio) && load_remotely(folio, slab, slot, urgent))
		return true;
	if (load_locally(folio, slab, slot))
		return true;
	if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
	    farswap_device_writable(device))
		farswap_promote(folio);
out_device:
	farswap_stat_add(FARSWAP_STAT_LOAD_DEVICE, nr);
	return false;
}

/**
 * farswap_load_large() - a large folio comes from swap, all at once or not at all
 * @folio:	locked, not up to date. In the swap cache; or not, if its owner holds its slots
 *		as if it were until this returns
 *
 * What can't be read is to be read page by page: farswap_is_remote() denies that it can, for a
 * second at least.
 *
 * Context: may sleep, for io_timeout_ms at most.
 * Return: true when the folio was taken: it will be unlocked, with its contents or given up;
 * it is already, unless it is in the swap cache. False if nothing of it was ever stored.
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
	    !load_remotely(folio, slab, slot, true))
		load_large_fail(folio, slab);
	/* Whoever needs it has a reference. */
	if (!cached)
		folio_wait_locked(folio);
	return true;
}

/**
 * farswap_load_flush() - wait until loads whose remote read failed have gone on
 *
 * Not those on a donor's list, which hold a reference on its mapping.
 *
 * Context: may sleep.
 */
void farswap_load_flush(void)
{
	flush_workqueue(load_wait_wq);
}

/**
 * farswap_load_init() - make the requests
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_load_init(void)
{
	int err = farswap_requests_init(&load_requests, "farswap_load",
					sizeof(struct load_request), LOAD_POOL);

	if (err)
		return err;
	load_wait_wq = alloc_workqueue("farswap_load", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!load_wait_wq)
		goto out_exit_requests;
	return 0;

out_exit_requests:
	farswap_requests_exit(&load_requests);
	return -ENOMEM;
}

/**
 * farswap_load_exit() - free it; no load is in flight
 */
void farswap_load_exit(void)
{
	destroy_workqueue(load_wait_wq);
	farswap_requests_exit(&load_requests);
}

/*
 * What a load would do, asked before there is a folio to load: by who chooses what is read
 * ahead, and how large a folio a fault gets. The answer is of this moment, a hint.
 */

/* Pages of the largest that is read as a whole: a fault waits for all of it. */
#define REMOTE_LARGE_MAX	16

/* The slab of a swap entry, if it may have remote contents. */
static struct farswap_slab *remote_slab(struct farswap_device *device,
					swp_entry_t entry, unsigned int *slot)
{
	struct farswap_slab *slab;

	slab = farswap_slabmap_find(device->map, swp_offset(entry), slot);
	return slab && farswap_slab_has_bits(slab) ? slab : NULL;
}

/* All of them, in one region of a donor that answers. */
static bool remote_is_whole(struct farswap_slab *slab, unsigned int slot, unsigned int nr)
{
	struct farswap_mapping *mapping;
	bool whole;

	if (nr > REMOTE_LARGE_MAX || slot + nr > slab->nr_slots ||
	    time_before(jiffies, READ_ONCE(slab->large_at)) ||
	    !farswap_slotbits_full(slab->bits.remote, slot, nr))
		return false;
	mapping = farswap_mapping_find(slab, slot, nr, NULL);
	if (!mapping)
		return false;
	whole = !farswap_donor_is_suspect(mapping->donor);
	farswap_mapping_put(mapping);
	return whole;
}

/* Would one page be read at once, by a donor that answers, or is one to be waited for? */
static enum farswap_remote remote_page(const struct farswap_slab *slab, unsigned int slot)
{
	const struct farswap_mapping *mapping;
	bool suspect = false;
	unsigned int nth;

	if (!test_bit(slot, slab->bits.remote))
		return FARSWAP_REMOTE_NOT;
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		if (!mapping || !farswap_mapping_has(mapping, slot, 1))
			continue;
		if (!farswap_donor_is_suspect(mapping->donor))
			return FARSWAP_REMOTE_NOW;
		suspect = true;
	}
	return suspect && test_bit(slot, slab->bits.unbacked) ? FARSWAP_REMOTE_LATER :
								FARSWAP_REMOTE_NOT;
}

/**
 * farswap_remote_of() - how would a page be loaded
 * @entry:	a swap entry in use
 *
 * Context: any.
 * Return: how, just now.
 */
enum farswap_remote farswap_remote_of(swp_entry_t entry)
{
	enum farswap_remote remote = FARSWAP_REMOTE_NOT;
	struct farswap_device *device;
	struct farswap_slab *slab;
	unsigned int slot;

	rcu_read_lock();
	device = farswap_device_find(swp_type(entry));
	slab = device ? remote_slab(device, entry, &slot) : NULL;
	if (slab)
		remote = remote_page(slab, slot);
	rcu_read_unlock();
	return remote;
}

/**
 * farswap_is_remote() - would a load be remote
 * @entry:	a swap entry in use
 * @nr:		so many entries, from this one on, as one folio
 *
 * A page that only suspect donors have is not: reading it ahead would only make it wait.
 *
 * Context: any.
 * Return: whether it would, just now.
 */
bool farswap_is_remote(swp_entry_t entry, unsigned int nr)
{
	struct farswap_device *device;
	struct farswap_slab *slab;
	bool remote = false;
	unsigned int slot;

	if (nr == 1)
		return farswap_remote_of(entry) == FARSWAP_REMOTE_NOW;
	rcu_read_lock();
	device = farswap_device_find(swp_type(entry));
	slab = device ? remote_slab(device, entry, &slot) : NULL;
	if (slab)
		remote = remote_is_whole(slab, slot, nr);
	rcu_read_unlock();
	return remote;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/poll-kunit.h"
#endif
