// SPDX-License-Identifier: GPL-2.0
/*
 * Hedged reads: a remote read that takes far longer than its donor's reads usually do is repeated
 * from another region or from the swap device, and the first good copy wins.
 *
 * A remote read goes straight into the load's folio, and can't be recalled: until it has ended the
 * donor may write to the folio at any time. So the hedge reads into a page of its own. If the
 * remote read is first, the folio is its, and the hedge's page is freed when the hedge ends. If the
 * hedge is first, its page can't be copied to the folio. Instead the folio is given up:
 *
 * 1. The hedge's page is put into a list, by swap entry: it is *kept*.
 * 2. The folio is removed from the swap cache and unlocked. It was never up to date and is in no
 *    page table. The tasks that wait for its lock see that it is not in the swap cache any more,
 *    and look again.
 * 3. They get a new folio, whose load copies the kept page.
 * 4. The request holds a reference on the old folio until the remote read has ended, so that
 *    nobody else gets its memory.
 *
 * The kept page is freed if its slot is freed or stored to first, because then it is stale.
 * Dropping it does no harm at any time: the slot is loaded from a region or the device then.
 *
 * In 6.12 a swapoff does not look again, but takes a folio without contents for a read error. It
 * clears SWP_WRITEOK first. If that is cleared after step 2's removal, the folio stays locked until
 * the remote read has ended, and then gets a copy of the hedge's page.
 *
 * Large folios are not hedged: a page that is late can be read without them. Nor are pages that
 * only one donor has. While a page is kept, no large folio with its slot is read.
 *
 * Finding late reads costs a read two stores and an exchange. All requests are in lists; a scan
 * looks through them every few milliseconds while pages are read. Requests are rarely freed, as
 * each CPU keeps some, so the locks of the lists are rarely taken.
 *
 * Lock order: hedge_lists[].lock, hedge_lock.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/farswap.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/wait.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "io/load.h"

/* Most hedges whose page is in use. */
#define HEDGE_MAX	64
/* Most hedges that one scan begins. */
#define HEDGE_SCAN_MAX	8
/* A kept page whose task was killed is freed after this time, jiffies. */
#define HEDGE_KEEP	(10 * HZ)
/* Interval of the comparison of donors, and of scans while nothing is read. */
#define HEDGE_STEP	(HZ / 4)
/* Scans stop after this time without a read, jiffies. */
#define HEDGE_IDLE	(2 * HZ)
/* A late read is found after a quarter of the time after which it is late at the latest. */
#define HEDGE_SCAN_PART	4
/* log2 of the lists of requests. */
#define HEDGE_LISTS_BITS 4

/**
 * struct farswap_hedge - a second read of a page
 * @io:		the read from a region
 * @bio:	the read from the device
 * @bvec:	the segment of @bio
 * @work:	continues after the read
 * @entry:	in the list of kept pages
 * @request:	the load; NULL if it has ended without the hedge
 * @mapping:	source of the read, with a reference; NULL for the device
 * @first:	mapping of the load's own read; compared only
 * @slab:	slab of the page
 * @slot:	its first slot
 * @nr:		number of its slots
 * @bytes:	size of the compressed page's units; 0: it is not compressed
 * @swap:	its swap entry
 * @page:	receives the page
 * @error:	result of the read
 * @ended:	the read has succeeded, and the load checks what its own has read; hedge_lock
 * @kept_at:	when the page was kept, jiffies
 */
struct farswap_hedge {
	struct farswap_io io;
	struct bio bio;
	struct bio_vec bvec;
	struct work_struct work;
	struct list_head entry;
	struct farswap_load_request *request;
	struct farswap_mapping *mapping;
	const struct farswap_mapping *first;
	struct farswap_slab *slab;
	unsigned int slot;
	unsigned int nr;
	unsigned int bytes;
	swp_entry_t swap;
	struct page *page;
	int error;
	bool ended;
	unsigned long kept_at;
};

/**
 * struct hedge_list - a part of all requests
 * @lock:	covers @requests; a request in the list stays allocated
 * @requests:	the requests
 */
struct hedge_list {
	spinlock_t lock;	/* covers @requests */
	struct list_head requests;
};

static struct hedge_list hedge_lists[1 << HEDGE_LISTS_BITS];

/* Covers the races that are hedged, hedge->request, and the kept pages. */
static DEFINE_SPINLOCK(hedge_lock);
static LIST_HEAD(hedge_kept);
unsigned int farswap_hedge_nr_kept;	/* written under hedge_lock */

/* Hedges whose read or work has not ended; no hedge begins while there is a flush. */
static unsigned int hedge_nr_active;	/* hedge_lock */
static unsigned int hedge_flushes;	/* hedge_lock */
static DECLARE_WAIT_QUEUE_HEAD(hedge_inactive);

bool farswap_hedge_scanning;
static void hedge_scan_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(hedge_scan_work, hedge_scan_fn);

/* For hedge_scan_work only. */
static struct farswap_tail_budget hedge_budget;
static unsigned long hedge_step_at;
static unsigned long hedge_read_at;
static u32 hedge_min_ns;

static struct hedge_list *hedge_list_of(const struct farswap_load_request *request)
{
	return &hedge_lists[hash_ptr(request, HEDGE_LISTS_BITS)];
}

/**
 * farswap_hedge_watch() - let scans find a request
 * @request:	a new request, not in use
 *
 * Context: any up to softirq.
 */
void farswap_hedge_watch(struct farswap_load_request *request)
{
	struct hedge_list *list = hedge_list_of(request);
	unsigned long flags;

	request->race.state = FARSWAP_RACE_NONE;
	request->race.hedge = NULL;
	spin_lock_irqsave(&list->lock, flags);
	list_add(&request->race.entry, &list->requests);
	spin_unlock_irqrestore(&list->lock, flags);
}

/**
 * farswap_hedge_unwatch() - undo farswap_hedge_watch() before a request is freed
 * @request:	the request, not in use
 *
 * Context: any up to softirq.
 */
void farswap_hedge_unwatch(struct farswap_load_request *request)
{
	struct hedge_list *list = hedge_list_of(request);
	unsigned long flags;

	spin_lock_irqsave(&list->lock, flags);
	list_del(&request->race.entry);
	spin_unlock_irqrestore(&list->lock, flags);
}

static void hedge_free(struct farswap_hedge *hedge)
{
	if (hedge->page)
		put_page(hedge->page);
	kfree(hedge);
}

/* A hedge that read from @mapping, or from the device, has ended. */
static void hedge_retire(struct farswap_mapping *mapping)
{
	unsigned long flags;

	if (mapping)
		farswap_mapping_put(mapping);
	spin_lock_irqsave(&hedge_lock, flags);
	hedge_nr_active--;
	wake_up_all(&hedge_inactive);
	spin_unlock_irqrestore(&hedge_lock, flags);
}

static void hedge_end(struct farswap_hedge *hedge)
{
	struct farswap_mapping *mapping = hedge->mapping;

	hedge_free(hedge);
	hedge_retire(mapping);
}

/*
 * Kept pages: what hedges have read for the next load of a slot.
 */

static void hedge_keep(struct farswap_hedge *hedge)
{
	lockdep_assert_held(&hedge_lock);
	hedge->kept_at = jiffies;
	list_add_tail(&hedge->entry, &hedge_kept);
	WRITE_ONCE(farswap_hedge_nr_kept, farswap_hedge_nr_kept + 1);
}

static void hedge_unkeep(struct farswap_hedge *hedge)
{
	lockdep_assert_held(&hedge_lock);
	list_del(&hedge->entry);
	WRITE_ONCE(farswap_hedge_nr_kept, farswap_hedge_nr_kept - 1);
}

/**
 * farswap_hedge_load_kept() - as farswap_hedge_load(), if any page is kept
 * @folio:	locked, in the swap cache, not up to date
 *
 * Context: any.
 * Return: true if there was one; the folio is up to date and unlocked then.
 */
bool farswap_hedge_load_kept(struct folio *folio)
{
	struct farswap_hedge *hedge, *found = NULL;
	unsigned long flags;

	if (folio_test_large(folio)) {
		farswap_hedge_drop_kept(swp_type(folio->swap), swp_offset(folio->swap),
					swp_offset(folio->swap) + folio_nr_pages(folio) - 1);
		return false;
	}
	spin_lock_irqsave(&hedge_lock, flags);
	list_for_each_entry(hedge, &hedge_kept, entry) {
		if (hedge->swap.val != folio->swap.val)
			continue;
		found = hedge;
		hedge_unkeep(found);
		break;
	}
	spin_unlock_irqrestore(&hedge_lock, flags);
	if (!found)
		return false;
	copy_highpage(folio_page(folio, 0), found->page);
	hedge_free(found);
	farswap_hook_swapin(folio);
	farswap_stat_add(FARSWAP_STAT_LOAD_HEDGE_WON, 1);
	farswap_hook_loaded(folio);
	folio_end_read(folio, true);
	return true;
}

static bool hedge_is_among(const struct farswap_hedge *hedge, unsigned int type, pgoff_t first,
			   pgoff_t last)
{
	return swp_type(hedge->swap) == type && swp_offset(hedge->swap) >= first &&
	       swp_offset(hedge->swap) <= last;
}

/**
 * farswap_hedge_keeps_any() - as farswap_hedge_keeps(), if any page is kept
 * @entry:	the first swap entry
 * @nr:		number of entries
 *
 * Context: any.
 * Return: true if one of these pages is kept.
 */
bool farswap_hedge_keeps_any(swp_entry_t entry, unsigned int nr)
{
	struct farswap_hedge *hedge;
	unsigned long flags;
	bool keeps = false;

	spin_lock_irqsave(&hedge_lock, flags);
	list_for_each_entry(hedge, &hedge_kept, entry)
		keeps |= hedge_is_among(hedge, swp_type(entry), swp_offset(entry),
					swp_offset(entry) + nr - 1);
	spin_unlock_irqrestore(&hedge_lock, flags);
	return keeps;
}

static void hedge_free_all(struct list_head *list)
{
	struct farswap_hedge *hedge, *next;

	list_for_each_entry_safe(hedge, next, list, entry)
		hedge_free(hedge);
}

/**
 * farswap_hedge_drop_kept() - as farswap_hedge_drop(), if any page is kept
 * @type:	swap type
 * @first:	the first offset
 * @last:	the last offset
 *
 * Context: any, also with interrupts off.
 */
void farswap_hedge_drop_kept(unsigned int type, pgoff_t first, pgoff_t last)
{
	struct farswap_hedge *hedge, *next;
	unsigned long flags;
	LIST_HEAD(drop);

	spin_lock_irqsave(&hedge_lock, flags);
	list_for_each_entry_safe(hedge, next, &hedge_kept, entry) {
		if (!hedge_is_among(hedge, type, first, last))
			continue;
		hedge_unkeep(hedge);
		list_add(&hedge->entry, &drop);
	}
	spin_unlock_irqrestore(&hedge_lock, flags);
	hedge_free_all(&drop);
}

/* Drop the pages that were kept before a time, jiffies. */
static void hedge_drop_before(unsigned long time)
{
	struct farswap_hedge *hedge, *next;
	LIST_HEAD(drop);

	spin_lock_irq(&hedge_lock);
	list_for_each_entry_safe(hedge, next, &hedge_kept, entry) {
		if (!time_before(hedge->kept_at, time))
			break;
		hedge_unkeep(hedge);
		list_add(&hedge->entry, &drop);
	}
	spin_unlock_irq(&hedge_lock);
	hedge_free_all(&drop);
}

/*
 * The race between the load's own read and the hedge.
 */

/* End a load whose folio was given up, once its read has ended. */
static void hedge_finish(struct farswap_load_request *request)
{
	struct farswap_mapping *mapping = request->mapping;
	struct folio *folio = request->folio;

	if (request->race.given == FARSWAP_RACE_HELD) {
		copy_highpage(folio_page(folio, 0), request->race.page);
		put_page(request->race.page);
		folio_end_read(folio, true);
	}
	farswap_donor_learn(mapping->donor, ktime_get_ns() - request->start);
	/* From here on the memory may be anybody's. */
	folio_put(folio);
	farswap_load_free(request);
	farswap_mapping_put(mapping);
}

/**
 * farswap_hedge_read_ended() - tell the race that the load's own read has ended
 * @request:	the load, which was hedged
 *
 * Context: any up to softirq.
 * Return: true if the load's folio was given up: the load needs no more. False if the folio is the
 * load's, and stays so.
 */
bool farswap_hedge_read_ended(struct farswap_load_request *request)
{
	struct farswap_race *race = &request->race;
	unsigned long flags;
	bool finish;
	u8 given;

	spin_lock_irqsave(&hedge_lock, flags);
	given = race->given;
	finish = given == FARSWAP_RACE_GIVEN || given == FARSWAP_RACE_HELD;
	/* From here on no worker gives the folio up, or else the worker finishes the load. */
	race->arrived = true;
	spin_unlock_irqrestore(&hedge_lock, flags);
	if (finish)
		hedge_finish(request);
	return given != FARSWAP_RACE_KEPT;
}

/**
 * farswap_hedge_settle() - end the race once the load's own read has ended and was checked
 * @request:	the load, whose folio was not given up
 * @error:	result of the read, 0 or -errno
 *
 * Context: any up to softirq.
 * Return: @error; 0 if the folio has got the hedge's copy; FARSWAP_HEDGE_WAITS if the read has
 * failed and the load waits for the hedge, which calls farswap_load_resume().
 */
int farswap_hedge_settle(struct farswap_load_request *request, int error)
{
	struct farswap_hedge *hedge, *over = NULL;
	unsigned long flags;
	bool waits = false;

	spin_lock_irqsave(&hedge_lock, flags);
	hedge = request->race.hedge;
	if (hedge && error && !hedge->ended) {
		request->race.waiting = true;
		waits = true;
	} else if (hedge) {
		WRITE_ONCE(request->race.hedge, NULL);
		hedge->request = NULL;
		if (hedge->ended)
			over = hedge;
	}
	spin_unlock_irqrestore(&hedge_lock, flags);
	if (over && error) {
		copy_highpage(folio_page(request->folio, 0), over->page);
		farswap_stat_add(FARSWAP_STAT_LOAD_HEDGE_WON, 1);
		error = 0;
	}
	if (over)
		hedge_end(over);
	return waits ? FARSWAP_HEDGE_WAITS : error;
}

/*
 * Give up the folio of a load whose own read is in flight. The page is kept first, so that the next
 * load finds it. That load frees the hedge.
 */
static void hedge_give(struct farswap_hedge *hedge, struct farswap_load_request *request)
{
	struct farswap_mapping *mapping = hedge->mapping;
	struct folio *folio = request->folio;
	struct page *page = hedge->page;
	bool arrived, unlocked;

	/* The read may write to the folio until it has ended. */
	folio_get(folio);
	get_page(page);
	spin_lock_irq(&hedge_lock);
	hedge_keep(hedge);
	spin_unlock_irq(&hedge_lock);
	unlocked = farswap_hook_abandon(folio);
	if (unlocked)
		put_page(page);
	spin_lock_irq(&hedge_lock);
	request->race.page = page;
	request->race.given = unlocked ? FARSWAP_RACE_GIVEN : FARSWAP_RACE_HELD;
	arrived = request->race.arrived;
	spin_unlock_irq(&hedge_lock);
	/* Otherwise the completion of the read finishes the load. */
	if (arrived)
		hedge_finish(request);
	hedge_retire(mapping);
}

/* The page is good: end the race, or leave that to the load if it checks its own page just now. */
static void hedge_good(struct farswap_hedge *hedge)
{
	struct farswap_load_request *request;
	bool give = false, resume = false;

	spin_lock_irq(&hedge_lock);
	request = hedge->request;
	if (request && request->race.waiting) {
		WRITE_ONCE(request->race.hedge, NULL);
		resume = true;
	} else if (request && !request->race.arrived &&
		   farswap_device_writable(hedge->slab->device)) {
		WRITE_ONCE(request->race.hedge, NULL);
		request->race.given = FARSWAP_RACE_GIVING;
		give = true;
	} else if (request) {
		hedge->ended = true;
	}
	spin_unlock_irq(&hedge_lock);
	if (give) {
		hedge_give(hedge, request);
	} else if (resume) {
		copy_highpage(folio_page(request->folio, 0), hedge->page);
		farswap_stat_add(FARSWAP_STAT_LOAD_HEDGE_WON, 1);
		farswap_load_resume(request, 0);
		hedge_end(hedge);
	} else if (!request) {
		hedge_end(hedge);
	}
}

static void hedge_bad(struct farswap_hedge *hedge)
{
	struct farswap_load_request *request;
	bool resume = false;

	spin_lock_irq(&hedge_lock);
	request = hedge->request;
	if (request) {
		WRITE_ONCE(request->race.hedge, NULL);
		resume = request->race.waiting;
	}
	spin_unlock_irq(&hedge_lock);
	/* If the load held the slot until here, the page really was not the stored one. */
	if (request && hedge->error == -EBADMSG)
		farswap_mapping_note_altered(hedge->mapping);
	if (resume)
		farswap_load_resume(request, -EIO);
	hedge_end(hedge);
}

static void hedge_work_fn(struct work_struct *work)
{
	struct farswap_hedge *hedge = container_of(work, struct farswap_hedge, work);

	if (!hedge->error && hedge->mapping)
		hedge->error = farswap_open_page(hedge->slab, swp_offset(hedge->swap), hedge->nr,
						 hedge->bytes, hedge->page);
	if (hedge->error)
		hedge_bad(hedge);
	else
		hedge_good(hedge);
}

static void hedge_io_done(struct farswap_io *io, int error)
{
	struct farswap_hedge *hedge = container_of(io, struct farswap_hedge, io);

	hedge->error = error;
	queue_work(farswap_load_wq, &hedge->work);
}

static void hedge_bio_done(struct bio *bio)
{
	struct farswap_hedge *hedge = container_of(bio, struct farswap_hedge, bio);

	hedge->error = blk_status_to_errno(bio->bi_status);
	bio_uninit(bio);
	queue_work(farswap_load_wq, &hedge->work);
}

/* Read the page from a region at another donor. Return false if there is none to be used. */
static bool hedge_read_region(struct farswap_hedge *hedge)
{
	struct farswap_slab *slab = hedge->slab;
	struct farswap_mapping *mapping;
	int err;

	if (!farswap_slotbits_full(slab->bits.remote, hedge->slot, hedge->nr))
		return false;
	mapping = farswap_mapping_find(slab, hedge->slot, hedge->nr, hedge->first);
	if (!mapping)
		return false;
	if (mapping == hedge->first || farswap_donor_is_suspect(mapping->donor)) {
		farswap_mapping_put(mapping);
		return false;
	}
	hedge->mapping = mapping;
	farswap_slab_io(slab, &hedge->io, FARSWAP_IO_READ, hedge->page, hedge->slot, hedge->nr);
	hedge->io.urgent = true;
	hedge->io.done = hedge_io_done;
	err = farswap_mapping_submit(mapping, &hedge->io);
	if (err)
		hedge_io_done(&hedge->io, err);
	return true;
}

/* Read the page from the swap device. Return false if that does not have it. */
static bool hedge_read_device(struct farswap_hedge *hedge)
{
	struct farswap_device *device = hedge->slab->device;
	sector_t sector;

	if (farswap_slotbits_any(hedge->slab->bits.unbacked, hedge->slot, hedge->nr))
		return false;
	sector = farswap_device_sector(device, swp_offset(hedge->swap));
	if (sector == (sector_t)-1)
		return false;
	bio_init(&hedge->bio, device->si->bdev, &hedge->bvec, 1, REQ_OP_READ | REQ_SYNC);
	hedge->bio.bi_iter.bi_sector = sector;
	hedge->bio.bi_end_io = hedge_bio_done;
	__bio_add_page(&hedge->bio, hedge->page, PAGE_SIZE, 0);
	submit_bio(&hedge->bio);
	return true;
}

/*
 * Scans: find reads that are late, and compare donors.
 */

static struct farswap_hedge *hedge_alloc(void)
{
	gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN;
	struct farswap_hedge *hedge = kzalloc(sizeof(*hedge), gfp);

	if (!hedge)
		return NULL;
	hedge->page = alloc_page(gfp);
	if (!hedge->page) {
		kfree(hedge);
		return NULL;
	}
	INIT_WORK(&hedge->work, hedge_work_fn);
	return hedge;
}

/*
 * Make a late read a hedged one. From here on its completion calls farswap_hedge_read_ended(),
 * which waits for hedge_lock; so the load does not end before this function returns. Return false
 * if the read is not late after all, or nobody waits for it.
 */
static bool hedge_claim(struct farswap_hedge *hedge, struct farswap_load_request *request, u64 now)
{
	struct farswap_race *race = &request->race;

	lockdep_assert_held(&hedge_lock);
	if (cmpxchg(&race->state, FARSWAP_RACE_ALONE, FARSWAP_RACE_HEDGED) != FARSWAP_RACE_ALONE)
		return false;
	race->given = FARSWAP_RACE_KEPT;
	race->arrived = false;
	race->waiting = false;
	WRITE_ONCE(race->hedge, NULL);
	if ((s64)(now - request->start) < READ_ONCE(request->mapping->donor->tail.hedge_ns) ||
	    !folio_test_waiters(request->folio)) {
		/* If this fails, the read has just ended and its completion waits for the lock. */
		cmpxchg(&race->state, FARSWAP_RACE_HEDGED, FARSWAP_RACE_ALONE);
		return false;
	}
	/* The pages of a large folio can be read one by one. Such a read is not looked at again. */
	if (folio_test_large(request->folio))
		return false;
	WRITE_ONCE(race->hedge, hedge);
	hedge->request = request;
	hedge->first = request->mapping;
	hedge->slab = request->slab;
	hedge->slot = request->slot;
	hedge->nr = request->nr;
	hedge->bytes = request->bytes;
	hedge->swap = request->folio->swap;
	hedge_nr_active++;
	return true;
}

/* Claim one late read. Also tell whether any read is in flight. */
static bool hedge_find(struct farswap_hedge *hedge, u64 now, bool *reading)
{
	struct farswap_load_request *request;
	struct hedge_list *list;
	bool claimed = false;

	for (list = hedge_lists; list < hedge_lists + ARRAY_SIZE(hedge_lists) && !claimed; list++) {
		spin_lock_irq(&list->lock);
		list_for_each_entry(request, &list->requests, race.entry) {
			/* Pairs with farswap_hedge_begin(): what it sees of the load is set up. */
			unsigned int state = smp_load_acquire(&request->race.state);

			*reading |= state != FARSWAP_RACE_NONE;
			/* The age is wrong if the request was just reused; the claim checks it. */
			if (state != FARSWAP_RACE_ALONE ||
			    (s64)(now - READ_ONCE(request->start)) < hedge_min_ns || !hedge)
				continue;
			spin_lock(&hedge_lock);
			claimed = !hedge_flushes && hedge_nr_active + farswap_hedge_nr_kept <
				  HEDGE_MAX && hedge_claim(hedge, request, now);
			spin_unlock(&hedge_lock);
			if (claimed)
				break;
		}
		spin_unlock_irq(&list->lock);
	}
	return claimed;
}

static void hedge_begin(struct farswap_hedge *hedge)
{
	bool region = hedge_read_region(hedge);

	if (!region && !hedge_read_device(hedge)) {
		hedge->error = -ENODATA;
		hedge_bad(hedge);
		return;
	}
	farswap_stat_add(FARSWAP_STAT_LOAD_HEDGED, 1);
}

/* Return true if any read is in flight. */
static bool hedge_look(unsigned int percent)
{
	unsigned int nr = percent ? HEDGE_SCAN_MAX : 0;
	struct farswap_hedge *hedge;
	u64 now = ktime_get_ns();
	bool reading = false;

	do {
		hedge = nr && farswap_tail_budget_has(&hedge_budget) ? hedge_alloc() : NULL;
		if (!hedge_find(hedge, now, &reading))
			break;
		farswap_tail_budget_take(&hedge_budget);
		hedge_begin(hedge);
		hedge = NULL;
	} while (--nr);
	if (hedge)
		hedge_free(hedge);
	return reading;
}

/* Count the urgent reads that are in flight for longer than slow ones take, for each donor. */
static void hedge_count_waiting(void)
{
	struct farswap_load_request *request;
	struct farswap_mapping *mapping;
	struct farswap_donor *donor;
	struct hedge_list *list;
	u64 now = ktime_get_ns();

	for (list = hedge_lists; list < hedge_lists + ARRAY_SIZE(hedge_lists); list++) {
		spin_lock_irq(&list->lock);
		list_for_each_entry(request, &list->requests, race.entry) {
			/* Pairs with farswap_hedge_begin(). */
			if (smp_load_acquire(&request->race.state) == FARSWAP_RACE_NONE)
				continue;
			/*
			 * The read may have ended since, and the mapping may be released. It was in
			 * use a moment ago, and is freed after a grace period, as its donor is. The
			 * lock's disabled interrupts hold that off.
			 */
			mapping = READ_ONCE(request->mapping);
			if (!mapping)
				continue;
			donor = mapping->donor;
			if (READ_ONCE(request->io.urgent) &&
			    (s64)(now - READ_ONCE(request->start)) >
			    READ_ONCE(donor->tail.slow_ns))
				donor->reads_waiting++;
		}
		spin_unlock_irq(&list->lock);
	}
}

/* Compare the donors, and return true if one of them is slow. */
static bool hedge_step(unsigned int percent)
{
	struct farswap_donor *donor;
	bool slow;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(donor, &farswap_donors, entry)
		donor->reads_waiting = 0;
	spin_unlock(&farswap_state_lock);
	hedge_count_waiting();
	slow = farswap_donors_compare(percent, &hedge_min_ns);
	hedge_drop_before(jiffies - HEDGE_KEEP);
	farswap_tail_budget_refill(&hedge_budget, farswap_stat_sum(FARSWAP_STAT_LOAD_REMOTE),
				   percent);
	return slow;
}

static void hedge_scan_fn(struct work_struct *work)
{
	unsigned int percent = READ_ONCE(farswap_settings.hedge);
	unsigned long delay = nsecs_to_jiffies(hedge_min_ns) / HEDGE_SCAN_PART;
	static bool slow;

	if (time_after_eq(jiffies, hedge_step_at + HEDGE_STEP)) {
		hedge_step_at = jiffies;
		slow = hedge_step(percent);
	}
	if (hedge_look(percent))
		hedge_read_at = jiffies;
	if (time_after(jiffies, hedge_read_at + HEDGE_STEP))
		delay = HEDGE_STEP;
	if (!slow && time_after(jiffies, hedge_read_at + HEDGE_IDLE) &&
	    !READ_ONCE(farswap_hedge_nr_kept)) {
		/* A read that begins just now may not see this. Then the next one begins a scan. */
		WRITE_ONCE(farswap_hedge_scanning, false);
		return;
	}
	queue_delayed_work(farswap_load_wq, &hedge_scan_work, clamp(delay, 1UL, HEDGE_STEP));
}

/**
 * farswap_hedge_scan() - begin to scan for late reads
 *
 * Context: any up to softirq.
 */
void farswap_hedge_scan(void)
{
	if (READ_ONCE(farswap_settings.hedge) && !xchg(&farswap_hedge_scanning, true))
		queue_delayed_work(farswap_load_wq, &hedge_scan_work, 1);
}

static bool hedge_is_idle(void)
{
	bool idle;

	spin_lock_irq(&hedge_lock);
	idle = !hedge_nr_active;
	spin_unlock_irq(&hedge_lock);
	return idle;
}

/**
 * farswap_hedge_flush() - wait until no hedge is in progress, and drop all kept pages
 *
 * Reads of devices that are to be closed have ended then. New hedges wait until this returns.
 *
 * Context: may sleep, for io_timeout_ms and as long as devices take for a read.
 */
void farswap_hedge_flush(void)
{
	spin_lock_irq(&hedge_lock);
	hedge_flushes++;
	spin_unlock_irq(&hedge_lock);
	wait_event(hedge_inactive, hedge_is_idle());
	hedge_drop_before(jiffies + 1);
	spin_lock_irq(&hedge_lock);
	hedge_flushes--;
	spin_unlock_irq(&hedge_lock);
}

/**
 * farswap_hedge_init() - initialise the lists of requests
 *
 * Context: any.
 */
void farswap_hedge_init(void)
{
	struct hedge_list *list;

	for (list = hedge_lists; list < hedge_lists + ARRAY_SIZE(hedge_lists); list++) {
		spin_lock_init(&list->lock);
		INIT_LIST_HEAD(&list->requests);
	}
	hedge_step_at = jiffies;
	hedge_read_at = jiffies;
	hedge_min_ns = FARSWAP_TAIL_NEVER;
}

/**
 * farswap_hedge_exit() - stop scanning
 *
 * Context: may sleep; no load is in flight, and none will be.
 */
void farswap_hedge_exit(void)
{
	cancel_delayed_work_sync(&hedge_scan_work);
	farswap_hedge_flush();
}
