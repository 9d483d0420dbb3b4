// SPDX-License-Identifier: GPL-2.0
/*
 * Copying: gives a mapping the pages that are stale or absent there and that another mapping of
 * the slab has: for an evacuation, with a deadline, or for a repair, in the background.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/semaphore.h>

#include "internal.h"
#include "migrate/mover.h"

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

static bool copy_run_is_wanted(const struct farswap_mapping *to, unsigned int slot,
			       unsigned int end, bool sole)
{
	for (; slot < end; slot++)
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
		 * with farswap_write_publish(), before which the stale bits change;
		 * farswap_mapping_find() has the same barrier.
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
				 unsigned int end, bool sole)
{
	unsigned int slot = first, nr_sources = 0, nr = 0, moved, part;
	struct farswap_mapping *sources[FARSWAP_GUARD_SLOTS], *source;
	struct farswap_write write;

	if (!farswap_mover_begin(mover, first))
		return 0;
	for (; slot < end; slot += part) {
		part = copy_wanted(to, slot, sole);
		source = part ? copy_source(to, from, slot, part) : NULL;
		if (!source) {
			part = 1;
			continue;
		}
		sources[nr_sources++] = source;
		part = copy_together(to, source, slot, part, end, sole);
		farswap_mover_read(mover, source, slot, part);
		nr += part;
	}
	if (nr && farswap_write_begin_any(&write, to->slab, farswap_mapping_place(to), first,
					  end - first)) {
		moved = farswap_mover_write(mover, &write, 0, copy_time_left(from));
		farswap_stat_add(from ? FARSWAP_STAT_MOVED : FARSWAP_STAT_REPAIRED, moved);
		farswap_write_end(&write);
	} else {
		farswap_mover_cancel(mover);
	}
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
	return !READ_ONCE(mover->failed) && !farswap_mapping_goes(to) &&
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
	struct farswap_mover *mover = farswap_mover_alloc(to->slab);
	unsigned int first, end, nr;
	ktime_t begun;

	if (!mover)
		return;
	for (first = 0; first < to->slab->nr_slots; first = end) {
		end = min(first + mover->nr, to->slab->nr_slots);
		if (!copy_run_is_wanted(to, first, end, sole))
			continue;
		if (!copy_may_go_on(mover, to, from, sole))
			break;
		begun = ktime_get();
		nr = copy_one_run(mover, to, from, first, end, sole);
		if (mb)
			farswap_copy_rest(farswap_slab_pages(to->slab, nr), mb, begun);
		cond_resched();
	}
	farswap_mover_free(mover);
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
