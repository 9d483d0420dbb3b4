// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetching: replaces the kernel's readahead on a fault for a page that a donor has. It also
 * reads the pages that the fault's stream will need next according to its trend. A stream consists
 * of the faults of one task in one range of addresses, so that threads, and arrays that are
 * traversed at the same time, don't hide each other's trends.
 *
 * Locking: stream->busy is a lock that no task waits for. A fault whose stream is locked by another
 * task has no stream.
 */
#include <linux/bitops.h>
#include <linux/farswap.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"
#include "io/trend.h"

#define PREFETCH_RANGE_SHIFT	(ilog2(SZ_16M) - PAGE_SHIFT)
#define PREFETCH_BITS		8
#define PREFETCH_WAYS		2
/* A stream without faults for this time may be replaced by another one, jiffies. */
#define PREFETCH_REST		HZ

/**
 * struct prefetch_stream - the faults of a task in a range of addresses
 * @busy:	bit 0 is the lock of all other members
 * @key:	identifies the task and the range
 * @seen:	time of the last fault, jiffies
 * @trend:	the trend of the faults
 */
struct prefetch_stream {
	unsigned long busy;
	unsigned long key;
	unsigned long seen;
	struct farswap_trend trend;
} ____cacheline_aligned_in_smp;

static struct prefetch_stream *prefetch_streams;

static unsigned long prefetch_key(unsigned long range)
{
	return (unsigned long)current + range * GOLDEN_RATIO_64;
}

static struct prefetch_stream *prefetch_bucket(unsigned long key)
{
	return &prefetch_streams[hash_long(key, PREFETCH_BITS) * PREFETCH_WAYS];
}

static bool prefetch_lock(struct prefetch_stream *stream)
{
	return !test_and_set_bit_lock(0, &stream->busy);
}

static void prefetch_unlock(struct prefetch_stream *stream)
{
	clear_bit_unlock(0, &stream->busy);
}

/* Return the stream with that key, locked, or NULL. */
static struct prefetch_stream *prefetch_find(unsigned long key)
{
	struct prefetch_stream *stream = prefetch_bucket(key), *end = stream + PREFETCH_WAYS;

	for (; stream < end; stream++) {
		if (READ_ONCE(stream->key) != key || !prefetch_lock(stream))
			continue;
		if (stream->key == key)
			return stream;
		prefetch_unlock(stream);
	}
	return NULL;
}

static bool prefetch_rests(const struct prefetch_stream *stream)
{
	/* The unlocked reads are a hint: prefetch_take() checks again under the lock. */
	return !data_race(stream->trend.window) ||
	       time_after(jiffies, READ_ONCE(stream->seen) + PREFETCH_REST);
}

/* Return a free entry for a stream, locked, or NULL. */
static struct prefetch_stream *prefetch_take(unsigned long key)
{
	struct prefetch_stream *stream = prefetch_bucket(key), *end = stream + PREFETCH_WAYS;

	for (; stream < end; stream++) {
		if (!prefetch_rests(stream) || !prefetch_lock(stream))
			continue;
		if (prefetch_rests(stream))
			return stream;
		prefetch_unlock(stream);
	}
	return NULL;
}

/* Take over the trend of a stream that may have come from this adjacent range. */
static bool prefetch_adopt(struct farswap_trend *trend, unsigned long range)
{
	struct prefetch_stream *stream = prefetch_find(prefetch_key(range));
	bool adopted;

	if (!stream)
		return false;
	adopted = stream->trend.window;
	if (adopted) {
		*trend = stream->trend;
		stream->trend.window = 0;
		stream->trend.asked = 0;
	}
	prefetch_unlock(stream);
	return adopted;
}

/* Return the stream that a fault belongs to, locked, or NULL. */
static struct prefetch_stream *prefetch_stream(unsigned long page)
{
	unsigned long range = page >> PREFETCH_RANGE_SHIFT, key = prefetch_key(range);
	struct prefetch_stream *stream = prefetch_find(key);

	if (stream)
		return stream;
	stream = prefetch_take(key);
	if (!stream)
		return NULL;
	WRITE_ONCE(stream->key, key);
	if (!prefetch_adopt(&stream->trend, range - 1) &&
	    !prefetch_adopt(&stream->trend, range + 1))
		farswap_trend_init(&stream->trend, page);
	return stream;
}

/*
 * Return the page table entry of an address. The area of the fault keeps all levels of its page
 * table but the lowest from being freed; RCU keeps the lowest.
 */
static pte_t prefetch_pte(const struct vm_area_struct *vma, unsigned long address)
{
	pte_t pte = __pte(0);
	p4d_t *p4d;
	pgd_t *pgd;
	pud_t *pud;
	pmd_t pmd;

	pgd = pgd_offset(vma->vm_mm, address);
	if (!pgd_present(pgdp_get(pgd)))
		return pte;
	p4d = p4d_offset(pgd, address);
	if (!p4d_present(p4dp_get(p4d)))
		return pte;
	pud = pud_offset(p4d, address);
	if (!pud_present(pudp_get(pud)) || pud_leaf(pudp_get(pud)))
		return pte;
	rcu_read_lock();
	pmd = pmdp_get_lockless(pmd_offset(pud, address));
	if (pmd_present(pmd) && !pmd_leaf(pmd))
		pte = ptep_get_lockless(pte_offset_kernel(&pmd, address));
	rcu_read_unlock();
	return pte;
}

/* Return true if a fault in this area can read the page ahead. */
static bool prefetch_is_in(const struct vm_area_struct *vma, unsigned long page)
{
	return page >= PHYS_PFN(vma->vm_start) && page < PHYS_PFN(vma->vm_end);
}

/* Return a mask of the pages read ahead last that have been accessed since. */
static u64 prefetch_used(const struct farswap_trend *trend, const struct vm_area_struct *vma)
{
	u64 used = 0, left;
	unsigned long page;
	unsigned int nth;

	for (left = trend->asked; left; left &= left - 1) {
		nth = __ffs64(left);
		page = farswap_trend_ahead(trend, nth);
		if (prefetch_is_in(vma, page) &&
		    pte_present(prefetch_pte(vma, page << PAGE_SHIFT)))
			used |= BIT_ULL(nth);
	}
	return used;
}

/* Return how many pages to read ahead of the next fault of a stream. */
static unsigned int prefetch_window(struct farswap_trend *trend,
				    const struct vm_area_struct *vma, unsigned long page,
				    unsigned int max)
{
	u64 asked = trend->asked, used;
	unsigned int nr;

	/* The fault may be for the same page as the last one. */
	if (page == trend->last || farswap_trend_stray(trend, page))
		return 0;
	used = prefetch_used(trend, vma);
	nr = farswap_trend_fault(trend, page, used, max);
	if (!trend->asked) {
		farswap_stat_add(FARSWAP_STAT_PREFETCH_USED, hweight64(used));
		farswap_stat_add(FARSWAP_STAT_PREFETCH_UNUSED, hweight64(asked & ~used));
	}
	return nr;
}

/* Return true if a read of the entry would be remote, and nobody has begun one yet. */
static bool prefetch_is_remote(swp_entry_t entry)
{
	const struct farswap_device *device;
	bool cached = true;

	rcu_read_lock();
	device = farswap_device_find(swp_type(entry));
	if (device)
		cached = farswap_device_slot(device, swp_offset(entry)) & FARSWAP_SLOT_CACHED;
	rcu_read_unlock();
	return !cached && farswap_is_remote(entry, 1);
}

/* Begin to read a page. Return 1 if it was begun, 0 if it need not or can't be, or -ENOMEM. */
static int prefetch_page(struct vm_fault *vmf, gfp_t gfp, unsigned long page)
{
	unsigned long address = page << PAGE_SHIFT;
	struct folio *folio;
	swp_entry_t entry;

	if (!prefetch_is_in(vmf->vma, page) ||
	    !farswap_hook_entry(prefetch_pte(vmf->vma, address), &entry) ||
	    !prefetch_is_remote(entry))
		return 0;
	folio = farswap_hook_read_async(entry, gfp, vmf->vma, address, false);
	if (!folio)
		return -ENOMEM;
	folio_put(folio);
	return 1;
}

static void prefetch_ahead(struct vm_fault *vmf, gfp_t gfp, unsigned int max)
{
	unsigned long page = PHYS_PFN(vmf->address);
	struct prefetch_stream *stream = prefetch_stream(page);
	struct farswap_trend trend;
	unsigned int nth, nr;
	int read;

	if (!stream)
		return;
	WRITE_ONCE(stream->seen, jiffies);
	nr = prefetch_window(&stream->trend, vmf->vma, page, max);
	trend = stream->trend;
	prefetch_unlock(stream);

	/* Readahead must not invoke the OOM killer. */
	gfp |= __GFP_NORETRY | __GFP_NOWARN;
	for (nth = 0; nth < nr; nth++) {
		read = prefetch_page(vmf, gfp, farswap_trend_ahead(&trend, nth));
		if (read < 0)
			break;
		if (read)
			trend.asked |= BIT_ULL(nth);
	}
	if (!nr || !trend.asked)
		return;
	farswap_stat_add(FARSWAP_STAT_PREFETCHED, hweight64(trend.asked));
	stream = prefetch_find(prefetch_key(page >> PREFETCH_RANGE_SHIFT));
	if (!stream)
		return;
	if (stream->trend.page == page)
		stream->trend.asked = trend.asked;
	prefetch_unlock(stream);
}

/**
 * farswap_swapin_readahead() - page in for a fault, with readahead
 * @entry:	swap entry of the page, which is not in the swap cache; the fault keeps its device
 * @gfp:	how to allocate memory for the page and for readahead
 * @vmf:	the fault
 * @ahead:	read ahead; if false, read only the page of the fault
 *
 * The page of the fault is read first, even if the kernel does the readahead, because the kernel
 * reads in ascending order. The trend and the window are those of Leap, section 3.2. There is no
 * readahead for a page whose fault must wait until a suspect donor comes back.
 *
 * Context: process context, under mmap_lock or the area's lock; may sleep for memory.
 * Return: the page's folio, in the swap cache, with a reference; its read may be in flight. NULL if
 * the kernel must read the page and do the readahead.
 */
struct folio *farswap_swapin_readahead(swp_entry_t entry, gfp_t gfp, struct vm_fault *vmf,
				       bool ahead)
{
	unsigned int max = READ_ONCE(farswap_settings.prefetch_pages);
	enum farswap_remote remote = farswap_remote_of(entry);
	struct folio *folio;

	if (remote == FARSWAP_REMOTE_NOT)
		return NULL;
	folio = farswap_hook_read_async(entry, gfp, vmf->vma, vmf->address, true);
	if (!folio || !ahead || remote == FARSWAP_REMOTE_LATER)
		return folio;
	if (!max) {
		folio_put(folio);
		return NULL;
	}
	if (!(vmf->vma->vm_flags & VM_RAND_READ))
		prefetch_ahead(vmf, gfp, max);
	return folio;
}

/**
 * farswap_prefetch_init() - allocate the table of streams
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_prefetch_init(void)
{
	prefetch_streams = kvcalloc(PREFETCH_WAYS << PREFETCH_BITS, sizeof(*prefetch_streams),
				    GFP_KERNEL);
	return prefetch_streams ? 0 : -ENOMEM;
}

/**
 * farswap_prefetch_exit() - free the table of streams
 *
 * Context: may sleep; no fault is in farswap_swapin_readahead().
 */
void farswap_prefetch_exit(void)
{
	kvfree(prefetch_streams);
}
