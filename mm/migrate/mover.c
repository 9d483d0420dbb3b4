// SPDX-License-Identifier: GPL-2.0
/*
 * Pages on their way from one region to another, through pages of this machine. Who
 * moves them sees to it that nobody stores to their slots meanwhile, or notices.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/slab.h>

#include "internal.h"

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
 * farswap_mover_wait() - until all pages that were started are there or have failed
 * @mover:	a mover
 *
 * Context: a worker; may sleep, as long as I/O with two donors takes.
 */
void farswap_mover_wait(struct farswap_mover *mover)
{
	farswap_tags_wait(&mover->tags);
}

/**
 * farswap_mover_start() - move pages
 * @mover:	a mover
 * @from:	from where; referenced until farswap_mover_wait() has returned
 * @to:		to where; so is this
 * @slot:	the first of them
 * @nr:		how many, at least one
 *
 * Their bits in farswap_mover_moved() are set when they are there.
 *
 * Context: a worker; may sleep until others are there.
 * Return: how many were begun, at least one; the caller sees to the rest.
 */
unsigned int farswap_mover_start(struct farswap_mover *mover,
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
 * farswap_mover_failed() - has an I/O failed
 * @mover:	a mover
 *
 * Context: any.
 * Return: whether one has.
 */
bool farswap_mover_failed(const struct farswap_mover *mover)
{
	return READ_ONCE(mover->failed);
}

/**
 * farswap_mover_moved() - which slots have arrived
 * @mover:	a mover
 *
 * Context: any.
 * Return: a bitmap, clear at first, which its user may clear.
 */
unsigned long *farswap_mover_moved(struct farswap_mover *mover)
{
	return mover->moved;
}

/**
 * farswap_mover_free() - free a mover
 * @mover:	one with nothing on its way
 *
 * Context: any but interrupts.
 */
void farswap_mover_free(struct farswap_mover *mover)
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
 * farswap_mover_alloc() - make a mover
 * @nr_slots:	of the slab
 *
 * With as many pages as there is memory for.
 *
 * Context: may sleep.
 * Return: the mover, or NULL if there is no memory for any.
 */
struct farswap_mover *farswap_mover_alloc(unsigned int nr_slots)
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
	farswap_mover_free(mover);
	return NULL;
}
