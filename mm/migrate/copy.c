// SPDX-License-Identifier: GPL-2.0
/*
 * Copies to a mapping the pages that it lacks and that another mapping of the slab has,
 * while the slab is stored to and read. One run of slots at a time: slab/guard.c keeps
 * stores out of it.
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
 * Tags: a fixed set of requests, of which a new I/O takes one that is not in flight, and
 * waits if there is none. Whoever began them waits for all before it frees them.
 *
 * Locking: tags->lock; nothing but the wait queue's is taken inside it.
 */

/**
 * farswap_tags_init() - no request is in flight
 * @tags:	the tags
 * @nr:		how many, less than BITS_PER_LONG
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
 * @tags:	the tags, at least one
 *
 * Context: may sleep, as long as one takes to end.
 * Return: its number.
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
 * farswap_tags_put() - a request has ended
 * @tags:	the tags, which may be gone when this returns
 * @tag:	its number
 *
 * Context: any.
 */
void farswap_tags_put(struct farswap_tags *tags, unsigned int tag)
{
	unsigned long flags;

	spin_lock_irqsave(&tags->lock, flags);
	tags->free |= BIT(tag);
	/* Still locked: who waits for the last one frees @tags. */
	wake_up(&tags->ended);
	spin_unlock_irqrestore(&tags->lock, flags);
}

/**
 * farswap_tags_wait() - wait until no request is in flight
 * @tags:	the tags
 *
 * What was written before farswap_tags_put() is seen afterwards. No signal ends it, for
 * @tags may be freed next.
 *
 * Context: may sleep, as long as the requests take to end.
 */
void farswap_tags_wait(struct farswap_tags *tags)
{
	spin_lock_irq(&tags->lock);
	wait_event_lock_irq(tags->ended, tags->free == tags->all, tags->lock);
	spin_unlock_irq(&tags->lock);
}

/*
 * Pages on their way from one region to another, through pages of this machine. Who
 * moves them sees to it that nobody stores to their slots meanwhile, or notices.
 */

/* Runs of pages on their way at once. */
#define MOVER_RUNS	8
/* How long one may be, if there is such memory; 0, one page, if there is not. */
#define MOVER_ORDER	3

/**
 * struct mover_run - pages of neighbouring slots on their way
 * @read:	from the old region
 * @write:	to the new one
 * @mover:	of which
 * @to:		whose region that is
 * @pages:	through which memory
 * @order:	how much of it
 * @slot:	the first slot
 * @nr:		how many
 */
struct mover_run {
	struct farswap_io read;
	struct farswap_io write;
	struct farswap_mover *mover;
	struct farswap_mapping *to;
	struct page *pages;
	unsigned int order;
	unsigned int slot;
	unsigned int nr;
};

/**
 * struct farswap_mover - pages of a slab on their way
 * @moved:	a bit for each slot that has arrived
 * @tags:	of @runs, those that have pages
 * @failed:	an I/O has
 * @runs:	those on their way
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
		farswap_slotbits_set(mover->moved, run->slot, run->nr);
	/* Last: who waits frees @mover. */
	farswap_tags_put(&mover->tags, run - mover->runs);
}

static void mover_io_init(struct farswap_io *io, enum farswap_io_op op,
			  const struct mover_run *run)
{
	io->op = op;
	io->page = run->pages;
	io->offset = run->slot << PAGE_SHIFT;
	io->length = run->nr << PAGE_SHIFT;
	io->urgent = false;
}

static void mover_write_done(struct farswap_io *io, int error)
{
	mover_run_end(container_of(io, struct mover_run, write), error);
}

static void mover_read_done(struct farswap_io *io, int error)
{
	struct mover_run *run = container_of(io, struct mover_run, read);

	if (error) {
		mover_run_end(run, error);
		return;
	}
	mover_io_init(&run->write, FARSWAP_IO_WRITE, run);
	run->write.done = mover_write_done;
	if (farswap_mapping_submit(run->to, &run->write))
		mover_run_end(run, -EHOSTDOWN);
}

/**
 * mover_wait() - until all pages that were started are there or have failed
 * @mover:	a mover
 *
 * Context: a worker; may sleep, as long as I/O with two donors takes.
 */
static void mover_wait(struct farswap_mover *mover)
{
	farswap_tags_wait(&mover->tags);
}

/**
 * mover_start() - move pages
 * @mover:	a mover
 * @from:	from where; referenced until mover_wait() has returned
 * @to:		to where; so is this
 * @slot:	the first of them
 * @nr:		how many, at least one
 *
 * Their bits in mover_moved() are set when they are there.
 *
 * Context: a worker; may sleep until others are there.
 * Return: how many were begun, at least one; the caller sees to the rest.
 */
static unsigned int mover_start(struct farswap_mover *mover,
				struct farswap_mapping *from,
				 struct farswap_mapping *to, unsigned int slot,
				 unsigned int nr)
{
	struct mover_run *run = &mover->runs[farswap_tags_get(&mover->tags)];

	run->to = to;
	run->slot = slot;
	run->nr = min(nr, 1U << run->order);
	nr = run->nr;
	mover_io_init(&run->read, FARSWAP_IO_READ, run);
	run->read.done = mover_read_done;
	if (farswap_mapping_submit(from, &run->read))
		mover_run_end(run, -EHOSTDOWN);
	return nr;
}

/**
 * mover_failed() - has an I/O failed
 * @mover:	a mover
 *
 * Context: any.
 * Return: whether one has.
 */
static bool mover_failed(const struct farswap_mover *mover)
{
	return READ_ONCE(mover->failed);
}

/**
 * mover_moved() - which slots have arrived
 * @mover:	a mover
 *
 * Context: any.
 * Return: a bitmap, clear at first, which its user may clear.
 */
static unsigned long *mover_moved(struct farswap_mover *mover)
{
	return mover->moved;
}

/**
 * mover_free() - free a mover
 * @mover:	one with nothing on its way
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
 * mover_alloc() - make a mover
 * @nr_slots:	of the slab
 *
 * With as many pages as there is memory for.
 *
 * Context: may sleep.
 * Return: the mover, or NULL if there is no memory for any.
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

/* A repair that has to wait so long is left for another time. */
#define COPY_PATIENCE	(HZ / 4)
/* A repair is at work for one part in so many of the time: loads and stores come first. */
#define COPY_SHARE	2
#define COPY_SHARE_MAX_US	(100 * USEC_PER_MSEC)

/* A repair copies pages that are not on the device; written by one at a time. */
static bool copy_is_urgent;
/* First come, first served: one that is at work has all it needs to get to its end. */
static DEFINE_SEMAPHORE(copy_copies, FARSWAP_GUARD_COPIES);

static long copy_time_left(const struct farswap_mapping *from)
{
	if (!from)
		return COPY_PATIENCE;
	return max(0L, (long)(READ_ONCE(from->leave_until) - jiffies));
}

/* @sole: only if the device does not have it. */
static bool copy_slot_is_wanted(const struct farswap_mapping *to, unsigned int slot, bool sole)
{
	const struct farswap_slab *slab = to->slab;

	return test_bit(slot, slab->bits.remote) && test_bit(slot, to->missing) &&
	       (!sole || test_bit(slot, slab->bits.unbacked)) && !farswap_slab_zero(slab, slot);
}

static bool copy_run_is_wanted(const struct farswap_mapping *to, unsigned int first, bool sole)
{
	unsigned int slot;

	for (slot = first; slot < first + FARSWAP_GUARD_SLOTS; slot++)
		if (copy_slot_is_wanted(to, slot, sole))
			return true;
	return false;
}

/**
 * farswap_copy_is_wanted() - does a mapping miss pages that another one has
 * @to:		a mapping
 * @sole:	ignore pages that the device has too
 *
 * Context: any; a hint.
 * Return: whether it does.
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
		/* Stale bits may stand below a zero page, and stay. */
		for_each_set_bit(slot, &word, BITS_PER_LONG)
			wanted |= !farswap_slab_zero(slab, i * BITS_PER_LONG + slot);
	}
	rcu_read_unlock();
	return wanted;
}

/* Where to read a slot, with a reference, or NULL. */
static struct farswap_mapping *copy_source(struct farswap_mapping *to,
					   struct farswap_mapping *from,
					   unsigned int slot)
{
	struct farswap_mapping *source = from;

	if (!from)
		source = farswap_mapping_find(to->slab, slot, 1, NULL);
	else if (!farswap_mapping_get_this(from))
		source = NULL;
	if (source && (!farswap_mapping_has(source, slot, 1) ||
		       farswap_donor_is_suspect(source->donor))) {
		farswap_mapping_put(source);
		source = NULL;
	}
	return source;
}

/* The slots from here on that are read from one region together. */
static unsigned int copy_together(const struct farswap_mapping *to,
				  const struct farswap_mapping *source,
				  unsigned int slot, unsigned int end, bool sole)
{
	unsigned int nr = 1;

	while (slot + nr < end && copy_slot_is_wanted(to, slot + nr, sole)) {
		/* As in farswap_mapping_find(). */
		smp_rmb();
		if (!farswap_mapping_has(source, slot + nr, 1))
			break;
		nr++;
	}
	return nr;
}

/* How many slots were read. */
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
		source = copy_slot_is_wanted(to, slot, sole) ? copy_source(to, from, slot) : NULL;
		if (!source) {
			slot++;
			continue;
		}
		sources[nr_sources++] = source;
		begun = mover_start(mover, source, to, slot,
				    copy_together(to, source, slot, end, sole));
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

	/* A repair of pages that the device has too can wait. */
	if (!from && !sole && READ_ONCE(copy_is_urgent))
		return false;
	return !mover_failed(mover) && !farswap_mapping_goes(to) &&
	       !farswap_mapping_ends(to) && READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED &&
	       !READ_ONCE(slab->device->closing) && farswap_may_store() &&
	       !farswap_donor_is_suspect(to->donor) &&
	       (!from || time_before(jiffies, READ_ONCE(from->leave_until)));
}

/**
 * farswap_copy_rest() - leave the network to others, after a run of a repair
 * @nr:		slots of the run
 * @mb:		MiB a second at the most
 * @begun:	when it was
 *
 * Context: sleeps, as long as the run took, which is taken for a tenth of a second at most,
 * and longer if that was too fast: 1/8 s after 32 slots at 1 MiB a second.
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
			farswap_copy_rest(nr, mb, begun);
		cond_resched();
	}
	mover_free(mover);
}

/* The right to copy, by turns. A donor that is in a greater hurry than it was is heard. */
static bool copy_take(const struct farswap_mapping *from)
{
	while (down_timeout(&copy_copies,
			    min_t(long, copy_time_left(from), COPY_PATIENCE)))
		if (!from || !copy_time_left(from))
			return false;
	return true;
}

/**
 * farswap_copy() - give a mapping what it misses
 * @to:		the mapping, referenced
 * @from:	copy what is there, until its leave_until; NULL: what is anywhere
 * @mb:		MiB a second at the most, and with rests that leave the network to others
 *		for half of the time; 0: as fast as it goes
 * @sole:	only pages that the device does not have; one caller at a time
 *
 * As far as it goes. A repair of all pages ends early while one with @sole is at work. Slots that
 * are stored to meanwhile may be left for another time.
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
