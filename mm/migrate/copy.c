// SPDX-License-Identifier: GPL-2.0
/*
 * Copying: gives a mapping the pages that are stale or absent there and that another mapping of
 * the slab has, while the slab is stored to and read. It copies one run of slots at a time, and
 * slab/guard.c keeps stores out of that run.
 *
 * The sections below are the tags that count requests in flight, the mover that transfers pages
 * between two regions, and the copying itself.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "internal.h"
#include "slab/guard.h"

/*
 * Tags are a fixed set of requests. A new I/O takes a request that is not in flight, and waits
 * if there is none. The owner waits for all requests before it frees them.
 *
 * Locking: tags->lock; only the wait queue's lock nests inside it.
 */

/**
 * farswap_tags_init() - set up tags with no request in flight
 * @tags:	the tags
 * @nr:		the number of requests, less than BITS_PER_LONG
 */
void farswap_tags_init(struct farswap_tags *tags, unsigned int nr)
{
	spin_lock_init(&tags->lock);
	init_waitqueue_head(&tags->ended);
	tags->all = BIT(nr) - 1;
	tags->free = tags->all;
}

/**
 * farswap_tags_get() - take a request that is not in flight
 * @tags:	the tags; they have at least one request
 *
 * Context: may sleep, until a request completes.
 * Return: the number of the request.
 */
unsigned int farswap_tags_get(struct farswap_tags *tags)
{
	unsigned int tag;

	spin_lock_irq(&tags->lock);
	wait_event_lock_irq(tags->ended, tags->free, tags->lock);
	tag = __ffs(tags->free);
	tags->free &= ~BIT(tag);
	spin_unlock_irq(&tags->lock);
	return tag;
}

/**
 * farswap_tags_put() - mark a request as completed
 * @tags:	the tags; they may be freed when this returns
 * @tag:	the number of the request
 *
 * Context: any.
 */
void farswap_tags_put(struct farswap_tags *tags, unsigned int tag)
{
	unsigned long flags;

	spin_lock_irqsave(&tags->lock, flags);
	tags->free |= BIT(tag);
	/* The lock is still held here, because the waiter for the last request frees @tags. */
	wake_up(&tags->ended);
	spin_unlock_irqrestore(&tags->lock, flags);
}

/**
 * farswap_tags_wait() - wait until no request is in flight
 * @tags:	the tags
 *
 * Writes before farswap_tags_put() are visible afterwards. A signal does not interrupt the wait,
 * because the caller may free @tags next.
 *
 * Context: may sleep, until all requests complete.
 */
void farswap_tags_wait(struct farswap_tags *tags)
{
	spin_lock_irq(&tags->lock);
	wait_event_lock_irq(tags->ended, tags->free == tags->all, tags->lock);
	spin_unlock_irq(&tags->lock);
}

/*
 * The mover transfers pages from one region to another, through pages of this machine. Its user
 * ensures that the slots are not stored to during the transfer, or detects such a store.
 */

/* Runs of pages in flight at the same time. */
#define MOVER_RUNS	8
/* Order of the memory of a run; if none is free, a run has one page (order 0). */
#define MOVER_ORDER	3

/**
 * struct mover_run - pages of consecutive slots in flight
 * @read:	the read from the old region
 * @write:	the write to the new region
 * @mover:	the mover that the run belongs to
 * @pages:	the memory that the pages pass through
 * @order:	the order of @pages
 */
struct mover_run {
	struct farswap_io read;
	struct farswap_write write;
	struct farswap_mover *mover;
	struct page *pages;
	unsigned int order;
};

/**
 * struct farswap_mover - a transfer of pages of a slab
 * @moved:	a bit for each slot that has arrived
 * @tags:	the tags of those @runs that have memory
 * @failed:	an I/O has failed
 * @runs:	the runs
 */
struct farswap_mover {
	unsigned long *moved;
	struct farswap_tags tags;
	bool failed;
	struct mover_run runs[MOVER_RUNS];
};

static void mover_run_end(struct mover_run *run, int error)
{
	struct farswap_mover *mover = run->mover;

	if (error)
		WRITE_ONCE(mover->failed, true);
	else
		farswap_slotbits_set(mover->moved, run->write.slot, run->write.nr);
	/* This comes last, because the waiter frees @mover. */
	farswap_tags_put(&mover->tags, run - mover->runs);
}

static void mover_write_done(struct farswap_write *write, int error)
{
	mover_run_end(container_of(write, struct mover_run, write), error);
}

static void mover_read_done(struct farswap_io *io, int error)
{
	struct mover_run *run = container_of(io, struct mover_run, read);

	if (error)
		mover_run_end(run, error);
	else
		farswap_write_submit(&run->write, run->pages);
}

/**
 * mover_wait() - wait until all pages that were started have arrived or failed
 * @mover:	a mover
 *
 * Context: a worker; may sleep, as long as I/O with two donors takes.
 */
static void mover_wait(struct farswap_mover *mover)
{
	farswap_tags_wait(&mover->tags);
}

/*
 * Return how many slots from @slot on a run takes. The units of a packed page arrive all or none,
 * so a run does not end within a page.
 */
static unsigned int mover_room(const struct mover_run *run, const struct farswap_slab *slab,
			       unsigned int slot)
{
	unsigned int page = 1U << (PAGE_SHIFT - slab->slot_shift);

	return round_down(slot + (page << run->order), page) - slot;
}

/**
 * mover_start() - start to transfer pages
 * @mover:	a mover
 * @from:	the source; the caller holds a reference until mover_wait() has returned
 * @to:		the destination; the caller holds a reference as for @from
 * @slot:	the first slot
 * @nr:		the number of slots, at least one
 *
 * The bits of the slots in mover_moved() are set when their pages have arrived.
 *
 * Context: a worker; may sleep until another run completes.
 * Return: how many pages were started, at least one; the caller starts the rest.
 */
static unsigned int mover_start(struct farswap_mover *mover,
				struct farswap_mapping *from,
				 struct farswap_mapping *to, unsigned int slot,
				 unsigned int nr)
{
	struct mover_run *run = &mover->runs[farswap_tags_get(&mover->tags)];

	nr = min(nr, mover_room(run, to->slab, slot));
	run->write = (struct farswap_write) {
		.mapping = to, .slot = slot, .nr = nr, .guarded = true, .done = mover_write_done,
	};
	farswap_slab_io(to->slab, &run->read, FARSWAP_IO_READ, run->pages, slot, nr);
	run->read.done = mover_read_done;
	if (farswap_mapping_submit(from, &run->read))
		mover_run_end(run, -EHOSTDOWN);
	return nr;
}

/**
 * mover_failed() - check whether an I/O has failed
 * @mover:	a mover
 *
 * Context: any.
 * Return: true if one has.
 */
static bool mover_failed(const struct farswap_mover *mover)
{
	return READ_ONCE(mover->failed);
}

/**
 * mover_moved() - get the bitmap of the slots that have arrived
 * @mover:	a mover
 *
 * Context: any.
 * Return: the bitmap, which starts clear; the caller may clear bits in it.
 */
static unsigned long *mover_moved(struct farswap_mover *mover)
{
	return mover->moved;
}

/**
 * mover_free() - free a mover
 * @mover:	a mover with nothing in flight
 *
 * Context: any but interrupts.
 */
static void mover_free(struct farswap_mover *mover)
{
	int i;

	for (i = 0; i < MOVER_RUNS; i++)
		if (mover->runs[i].pages)
			__free_pages(mover->runs[i].pages, mover->runs[i].order);
	bitmap_free(mover->moved);
	kfree(mover);
}

static bool mover_run_init(struct mover_run *run, struct farswap_mover *mover, gfp_t gfp)
{
	run->mover = mover;
	run->order = MOVER_ORDER;
	run->pages = alloc_pages(gfp | __GFP_COMP, run->order);
	if (run->pages)
		return true;
	run->order = 0;
	run->pages = alloc_page(gfp);
	return run->pages;
}

/**
 * mover_alloc() - allocate a mover
 * @nr_slots:	the number of slots of the slab
 *
 * The mover gets as many runs as there is memory for.
 *
 * Context: may sleep.
 * Return: the mover, or NULL if there is not enough memory for one run.
 */
static struct farswap_mover *mover_alloc(unsigned int nr_slots)
{
	gfp_t gfp = GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY;
	struct farswap_mover *mover = kzalloc(sizeof(*mover), gfp);
	int i;

	if (!mover)
		return NULL;
	mover->moved = bitmap_zalloc(nr_slots, gfp);
	for (i = 0; mover->moved && i < MOVER_RUNS; i++)
		if (!mover_run_init(&mover->runs[i], mover, gfp))
			break;
	farswap_tags_init(&mover->tags, i);
	if (i)
		return mover;
	mover_free(mover);
	return NULL;
}

/*
 * The rest of the file copies the pages that a mapping lacks: for an evacuation, with a deadline,
 * or for a repair, in the background.
 */

/* A repair that has to wait longer than this is postponed. */
#define COPY_PATIENCE	(HZ / 4)
/* A repair works for 1/COPY_SHARE of the time, because loads and stores take precedence. */
#define COPY_SHARE	2
#define COPY_SHARE_MAX_US	(100 * USEC_PER_MSEC)

/* True while a repair copies pages that are not on the device; only that repair writes it. */
static bool copy_is_urgent;
/* Copies are served in order of arrival; each that runs has all it needs to complete. */
static DEFINE_SEMAPHORE(copy_copies, FARSWAP_GUARD_COPIES);

static long copy_time_left(const struct farswap_mapping *from)
{
	if (!from)
		return COPY_PATIENCE;
	return max(0L, (long)(READ_ONCE(from->evacuate_until) - jiffies));
}

/*
 * Return the number of slots of the page that begins at @slot if it is to be copied, otherwise 0.
 * The units of a packed page are copied all or none: while a store sets their bits, some may still
 * be seen clear, and the page is left to a later call. With @sole, a page that the device has too
 * is not wanted.
 */
static unsigned int copy_wanted(const struct farswap_mapping *to, unsigned int slot, bool sole)
{
	struct farswap_slab *slab = to->slab;
	struct farswap_object object = { .nr = 1 };

	if (!test_bit(slot, slab->bits.remote) || !test_bit(slot, to->missing) ||
	    (sole && !test_bit(slot, slab->bits.unbacked)) || farswap_slab_zero(slab, slot))
		return 0;
	if (slab->pack && (!farswap_object_at(slab, slot, &object) ||
			   !farswap_slotbits_full(slab->bits.remote, slot, object.nr)))
		return 0;
	return object.nr;
}

static bool copy_run_is_wanted(const struct farswap_mapping *to, unsigned int first, bool sole)
{
	unsigned int slot;

	for (slot = first; slot < first + FARSWAP_GUARD_SLOTS; slot++)
		if (copy_wanted(to, slot, sole))
			return true;
	return false;
}

/**
 * farswap_copy_is_wanted() - check whether a mapping lacks pages that another one has
 * @to:		a mapping
 * @sole:	ignore pages that the device has too
 *
 * Context: any; a hint.
 * Return: true if it does.
 */
bool farswap_copy_is_wanted(const struct farswap_mapping *to, bool sole)
{
	const struct farswap_slab *slab = to->slab;
	const struct farswap_mapping *other;
	unsigned long word, there;
	unsigned int i, nth, slot;
	bool wanted = false;

	rcu_read_lock();
	for (i = 0; i < BITS_TO_LONGS(slab->nr_slots) && !wanted; i++) {
		there = 0;
		for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
			other = rcu_dereference(slab->mapping[nth]);
			if (other && other != to && !farswap_donor_is_suspect(other->donor))
				there |= ~READ_ONCE(other->missing[i]);
		}
		word = READ_ONCE(slab->bits.remote[i]) & READ_ONCE(to->missing[i]) & there;
		if (sole)
			word &= READ_ONCE(slab->bits.unbacked[i]);
		/* The remote bit of a slot that became a zero page may remain set. */
		for_each_set_bit(slot, &word, BITS_PER_LONG)
			wanted |= !farswap_slab_zero(slab, i * BITS_PER_LONG + slot);
	}
	rcu_read_unlock();
	return wanted;
}

/* Find a mapping to read a page from; return it with a reference, or NULL. */
static struct farswap_mapping *copy_source(struct farswap_mapping *to,
					   struct farswap_mapping *from,
					   unsigned int slot, unsigned int nr)
{
	struct farswap_mapping *source = from;

	if (!from)
		source = farswap_mapping_find(to->slab, slot, nr, NULL);
	else if (!farswap_mapping_get_this(from))
		source = NULL;
	if (source && (!farswap_mapping_has(source, slot, nr) ||
		       farswap_donor_is_suspect(source->donor))) {
		farswap_mapping_put(source);
		source = NULL;
	}
	return source;
}

/* Return how many slots from @slot on, where a page of @nr slots begins, are read together. */
static unsigned int copy_together(const struct farswap_mapping *to,
				  const struct farswap_mapping *source, unsigned int slot,
				  unsigned int nr, unsigned int end, bool sole)
{
	unsigned int next;

	while (slot + nr < end) {
		next = copy_wanted(to, slot + nr, sole);
		/*
		 * The reads of the remote bits are ordered before the read of the stale bits. Pairs
		 * with farswap_guard_rebuild_end(), which changes the stale bits before it sets the
		 * remote bits; farswap_mapping_find() has the same barrier.
		 */
		smp_rmb();
		if (!next || !farswap_mapping_has(source, slot + nr, next))
			break;
		nr += next;
	}
	return nr;
}

/* Copy one run; return how many slots were read. */
static unsigned int copy_one_run(struct farswap_mover *mover,
				 struct farswap_mapping *to,
				 struct farswap_mapping *from, unsigned int first,
				 bool sole)
{
	unsigned int slot = first, end = first + FARSWAP_GUARD_SLOTS, nr_sources = 0, nr = 0, begun;
	struct farswap_mapping *sources[FARSWAP_GUARD_SLOTS], *source;
	struct farswap_guard_copy *run = farswap_guard_copy_begin(to, first, copy_time_left(from));

	if (!run)
		return 0;
	while (slot < end) {
		begun = copy_wanted(to, slot, sole);
		source = begun ? copy_source(to, from, slot, begun) : NULL;
		if (!source) {
			slot++;
			continue;
		}
		sources[nr_sources++] = source;
		begun = mover_start(mover, source, to, slot,
				    copy_together(to, source, slot, begun, end, sole));
		slot += begun;
		nr += begun;
	}
	mover_wait(mover);
	farswap_stat_add(from ? FARSWAP_STAT_MOVED : FARSWAP_STAT_REPAIRED,
			 farswap_guard_copy_end(run, to, mover_moved(mover)));
	while (nr_sources)
		farswap_mapping_put(sources[--nr_sources]);
	return nr;
}

static bool copy_may_go_on(const struct farswap_mover *mover,
			   const struct farswap_mapping *to,
			   const struct farswap_mapping *from, bool sole)
{
	const struct farswap_slab *slab = to->slab;

	/* A repair of pages that the device has too gives way to an urgent one. */
	if (!from && !sole && READ_ONCE(copy_is_urgent))
		return false;
	return !mover_failed(mover) && !farswap_mapping_goes(to) &&
	       !farswap_mapping_ends(to) && READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
	       !READ_ONCE(slab->device->closing) && farswap_may_store() &&
	       !farswap_donor_is_suspect(to->donor) &&
	       (!from || time_before(jiffies, READ_ONCE(from->evacuate_until)));
}

/**
 * farswap_copy_rest() - pause after a run of a repair, to leave the network to others
 * @nr:		the number of pages of the run
 * @mb:		the limit in MiB per second
 * @begun:	the time when the run started
 *
 * Context: sleeps for as long as the run took, at most a tenth of a second, or longer if the
 * limit requires it: 1/8 s after 32 slots at 1 MiB per second.
 */
void farswap_copy_rest(unsigned int nr, unsigned int mb, ktime_t begun)
{
	u64 bound = nr * (USEC_PER_SEC >> (20 - PAGE_SHIFT)) / mb;
	u64 share = ktime_us_delta(ktime_get(), begun) * (COPY_SHARE - 1);

	fsleep(max(bound, min_t(u64, share, COPY_SHARE_MAX_US)));
}

static void copy_all(struct farswap_mapping *to, struct farswap_mapping *from,
		     unsigned int mb, bool sole)
{
	struct farswap_mover *mover = mover_alloc(to->slab->nr_slots);
	unsigned int first, nr;
	ktime_t begun;

	if (!mover)
		return;
	for (first = 0; first < to->slab->nr_slots; first += FARSWAP_GUARD_SLOTS) {
		if (!copy_run_is_wanted(to, first, sole))
			continue;
		if (!copy_may_go_on(mover, to, from, sole))
			break;
		begun = ktime_get();
		nr = copy_one_run(mover, to, from, first, sole);
		if (mb)
			farswap_copy_rest(farswap_slab_pages(to->slab, nr), mb, begun);
		cond_resched();
	}
	mover_free(mover);
}

/* Wait for the right to copy; the wait ends early if the deadline of @from becomes shorter. */
static bool copy_take(const struct farswap_mapping *from)
{
	while (down_timeout(&copy_copies,
			    min_t(long, copy_time_left(from), COPY_PATIENCE)))
		if (!from || !copy_time_left(from))
			return false;
	return true;
}

/**
 * farswap_copy() - copy pages that a mapping lacks
 * @to:		the mapping, referenced
 * @from:	copy only from this mapping, until its evacuation's deadline for copying; NULL:
 *		copy from any
 * @mb:		the limit in MiB per second, with pauses that leave the network to others for
 *		half of the time; 0: no limit
 * @sole:	copy only pages that the device does not have; one caller at a time
 *
 * The copy is best effort. A repair of all pages ends early while one with @sole runs. Slots that
 * are stored to during the copy may be skipped, and are left to a later call.
 *
 * Context: may sleep, as long as the copying takes.
 */
void farswap_copy(struct farswap_mapping *to, struct farswap_mapping *from,
		  unsigned int mb, bool sole)
{
	if (!copy_take(from))
		return;
	if (sole)
		WRITE_ONCE(copy_is_urgent, true);
	copy_all(to, from, mb, sole);
	if (sole)
		WRITE_ONCE(copy_is_urgent, false);
	up(&copy_copies);
}
