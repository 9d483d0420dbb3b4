// SPDX-License-Identifier: GPL-2.0
/*
 * The mover brings pages to a region in the background, through pages of this machine, while
 * their slots are stored to and read. The source is another region of the slab, for a copy, or
 * the swap device, for a rebuild. One run of slots moves at a time:
 *
 * 1. farswap_mover_begin(); slab/guard.c makes stores known to the run from here on
 * 2. the user looks which slots it wants, and reads their pages: farswap_mover_read() from
 *    regions, or a read of its own into farswap_mover_page()
 * 3. farswap_mover_write(), which ends the run; or farswap_mover_cancel()
 *
 * Two users stay outside. A promotion writes a folio of the swap cache, whose lock protects the
 * slot. A fetch for an evacuation reads into staging pages, which the table of backups protects.
 *
 * The file also has the tags that count requests in flight.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "internal.h"
#include "migrate/mover.h"

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

/* Order of the memory that pages pass through; a lower order serves if there is none. */
#define MOVER_ORDER	ilog2(FARSWAP_GUARD_SLOTS)

/**
 * farswap_mover_page() - get the page that slots pass through
 * @mover:	a mover
 * @i:		place of the first slot in its run
 * @nr:		number of slots; lowered to those that are contiguous in memory
 *
 * Context: any.
 * Return: the first page.
 */
struct page *farswap_mover_page(const struct farswap_mover *mover, unsigned int i,
				unsigned int *nr)
{
	unsigned int place = i & ((1U << mover->order) - 1);
	unsigned int most = ((1U << mover->order) - place) <<
			    (PAGE_SHIFT - mover->slab->slot_shift);

	/* A packed page moves as a whole. */
	if (mover->slab->pack)
		most = round_down(i + most, FARSWAP_UNITS) - i;
	*nr = min(*nr, most);
	return mover->chunks[i >> mover->order] + place;
}

/**
 * farswap_mover_begin() - begin a run
 * @mover:	a mover
 * @first:	the first slot
 *
 * The caller looks which slots it wants after this.
 *
 * Context: process context; does not sleep.
 * Return: false if too many runs are in use.
 */
bool farswap_mover_begin(struct farswap_mover *mover, unsigned int first)
{
	mover->run = farswap_guard_begin(mover->slab, first);
	mover->read = 0;
	mover->starts = 0;
	return mover->run;
}

static void mover_request_end(struct farswap_mover_request *request, int error)
{
	struct farswap_mover *mover = request->mover;

	if (error)
		WRITE_ONCE(mover->failed, true);
	/* This comes last, because the waiter frees @mover. */
	farswap_tags_put(&mover->tags, request - mover->requests);
}

static struct farswap_mover_request *mover_request(struct farswap_mover *mover,
						   unsigned int slot, unsigned int nr)
{
	struct farswap_mover_request *request = &mover->requests[farswap_tags_get(&mover->tags)];

	request->mover = mover;
	request->write = (struct farswap_write) {
		.slot = slot,
		.nr = nr,
		.run = mover->run,
	};
	return request;
}

static void mover_read_done(struct farswap_io *io, int error)
{
	struct farswap_mover_request *request =
		container_of(io, struct farswap_mover_request, write.io);
	struct farswap_write *write = &request->write;

	if (!error)
		farswap_slotbits_set(&request->mover->read, write->slot - write->run->first,
				     write->nr);
	mover_request_end(request, error);
}

/**
 * farswap_mover_read() - start to read slots from a region
 * @mover:	a mover whose run has begun
 * @from:	the region; the caller holds a reference until the run has ended
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: a worker; may sleep until another request completes.
 */
void farswap_mover_read(struct farswap_mover *mover, struct farswap_mapping *from,
			unsigned int slot, unsigned int nr)
{
	unsigned int end = slot + nr, part;
	struct farswap_mover_request *request;
	struct farswap_io *io;
	struct page *page;

	for (; slot < end; slot += part) {
		part = end - slot;
		page = farswap_mover_page(mover, slot - mover->run->first, &part);
		mover->starts |= BIT(slot - mover->run->first);
		request = mover_request(mover, slot, part);
		io = &request->write.io;
		farswap_slab_io(mover->slab, io, FARSWAP_IO_READ, page, slot, part);
		io->done = mover_read_done;
		if (farswap_mapping_submit(from, io))
			mover_request_end(request, -EHOSTDOWN);
	}
}

static void mover_write_done(struct farswap_write *write, int error)
{
	mover_request_end(container_of(write, struct farswap_mover_request, write), error);
}

static void mover_write(struct farswap_mover *mover, struct farswap_mapping *to,
			unsigned int i, unsigned int end)
{
	struct farswap_mover_request *request;
	struct page *page;
	unsigned int nr;

	for (; i < end; i += nr) {
		/* A packed page behind a stale one is not at the start of a page: skip it. */
		nr = 1;
		if (mover->slab->pack && !(mover->starts & BIT(i)))
			continue;
		nr = end - i;
		if (mover->slab->pack)
			nr = find_next_bit(&mover->starts, end, i + 1) - i;
		page = farswap_mover_page(mover, i, &nr);
		request = mover_request(mover, mover->run->first + i, nr);
		request->write.mapping = to;
		request->write.done = mover_write_done;
		farswap_write_submit(&request->write, page);
	}
}

/*
 * Seal the pages of slots in their place, and return which could be sealed. Each slot is a page:
 * none is in a packed slab.
 */
static unsigned long mover_seal(struct farswap_mover *mover, unsigned long slots)
{
	struct farswap_protect *protect = mover->slab->device->protect;
	struct farswap_guard_seals *seals = &mover->seals;
	unsigned long sealed = 0;
	unsigned int i, nr;
	void *data;

	for_each_set_bit(i, &slots, FARSWAP_GUARD_SLOTS) {
		nr = 1;
		data = page_address(farswap_mover_page(mover, i, &nr));
		if (seals->generation[i] &&
		    !farswap_protect_seal(protect,
					  farswap_slab_seal(mover->slab, mover->run->first + i),
					  seals->generation[i], data, PAGE_SIZE, seals->tag[i]))
			sealed |= BIT(i);
	}
	return sealed;
}

/**
 * farswap_mover_write() - write the pages of a run, and end the run
 * @mover:	a mover
 * @to:		a write of the run's slots to the region, begun; the caller ends it
 * @read:	bit mask of the run's slots that the caller has read from the device
 * @timeout:	how long to wait until another run that writes these slots there ends, jiffies
 *
 * Slots that were read from the device get the remote bit. Slots that were read from a region
 * have it.
 *
 * Context: a worker; may sleep, as long as I/O with the donors takes.
 * Return: number of slots that the region has now and that were not stored to since the run
 * began.
 */
unsigned int farswap_mover_write(struct farswap_mover *mover, struct farswap_write *to,
				 unsigned long read, long timeout)
{
	bool seal = read && mover->slab->device->protect;
	unsigned int start, end;
	unsigned long slots;

	farswap_tags_wait(&mover->tags);
	slots = farswap_guard_write(mover->run, to->mapping, mover->read | read,
				    seal ? &mover->seals : NULL, timeout);
	if (seal)
		slots = mover_seal(mover, slots);
	for_each_set_bitrange(start, end, &slots, FARSWAP_GUARD_SLOTS)
		mover_write(mover, to->mapping, start, end);
	farswap_tags_wait(&mover->tags);
	return farswap_guard_end(mover->run, to->mapping, read);
}

/**
 * farswap_mover_cancel() - end a run without having written any page
 * @mover:	a mover whose run has begun
 *
 * Context: a worker; may sleep, as long as I/O with the donors takes.
 */
void farswap_mover_cancel(struct farswap_mover *mover)
{
	farswap_tags_wait(&mover->tags);
	farswap_guard_end(mover->run, NULL, false);
}

/**
 * farswap_mover_free() - free a mover
 * @mover:	a mover without a run
 *
 * Context: any but interrupts.
 */
void farswap_mover_free(struct farswap_mover *mover)
{
	unsigned int i;

	for (i = 0; i < FARSWAP_GUARD_SLOTS && mover->chunks[i]; i++)
		__free_pages(mover->chunks[i], mover->order);
	kfree(mover);
}

/**
 * farswap_mover_alloc() - allocate a mover
 * @slab:	the slab whose pages it will move
 *
 * Context: may sleep.
 * Return: the mover, or NULL if there is not enough memory for one page.
 */
struct farswap_mover *farswap_mover_alloc(struct farswap_slab *slab)
{
	gfp_t gfp = GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY | __GFP_COMP;
	struct farswap_mover *mover = kzalloc(sizeof(*mover), gfp & ~__GFP_COMP);
	struct page *page = NULL;
	unsigned int i = 0;

	if (!mover)
		return NULL;
	mover->slab = slab;
	farswap_tags_init(&mover->tags, FARSWAP_MOVER_REQUESTS);
	for (mover->order = MOVER_ORDER; ; mover->order--) {
		page = alloc_pages(gfp, mover->order);
		if (page || !mover->order)
			break;
	}
	for (; page; page = alloc_pages(gfp, mover->order)) {
		mover->chunks[i++] = page;
		mover->nr = i << mover->order;
		if (mover->nr == FARSWAP_GUARD_SLOTS)
			break;
	}
	/* A packed page has no slots in two runs. */
	if (slab->pack)
		mover->nr = round_down(mover->nr, FARSWAP_UNITS);
	if (mover->nr)
		return mover;
	farswap_mover_free(mover);
	return NULL;
}
