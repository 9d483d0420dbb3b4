// SPDX-License-Identifier: GPL-2.0
/*
 * Compression of pages by LZ4. Each CPU has memory for the compression of one page, and for the
 * decompression of another, which may interrupt it.
 *
 * Locking: a CPU's memory for compression is used with preemption off, in process context only;
 * that for decompression with softirqs off. Its stash is used with interrupts off.
 */
#include <linux/bottom_half.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/irqflags.h>
#include <linux/lz4.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/unaligned.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "slab/attempts.h"
#include "slab/compress.h"

/* A page that does not compress to half of its size is sent as it is. */
#define COMPRESS_MAX	(PAGE_SIZE >> 1)
/* An object begins with the compressed size, so that this machine need not keep it. */
#define COMPRESS_HEADER	2
#define COMPRESS_UNIT	(PAGE_SIZE >> FARSWAP_UNITS_SHIFT)
/* Compressed pages in reserve; without one a page is sent as it is. */
#define COMPRESS_POOL	128
/* Pages that each CPU keeps, so that the page allocator is not called for each page-out. */
#define COMPRESS_STASH	32

/**
 * struct compress_memory - memory of a CPU
 * @from:	the page that is compressed: a copy, since a task may write to the page itself
 * @packed:	a compressed page that is decompressed
 * @lz4:	memory of the compressor
 */
struct compress_memory {
	u8 from[PAGE_SIZE];
	u8 packed[COMPRESS_MAX];
	u8 lz4[LZ4_MEM_COMPRESS];
};

static DEFINE_PER_CPU(struct compress_memory *, compress_memory);

/* Compressed pages on their way to donors. */
static mempool_t *compress_pool;

/**
 * struct compress_stash - pages that a CPU has freed and takes again, a reclaim batch at most
 * @nr:		number of pages
 * @page:	the pages
 */
struct compress_stash {
	unsigned int nr;
	struct page *page[COMPRESS_STASH];
};

static DEFINE_PER_CPU(struct compress_stash, compress_stash);

/* log2 of the pages of an area, 2 MiB on x86. */
#define COMPRESS_AREA_SHIFT	9
/* log2 of the records of attempts; areas whose hashes are equal share one. */
#define COMPRESS_AREAS_SHIFT	11

static struct farswap_attempts compress_areas[1 << COMPRESS_AREAS_SHIFT];

/* Serialises farswap_compress_init(). */
static DEFINE_MUTEX(compress_mutex);

/**
 * farswap_page_read() - read a page that may not have been accessed for long
 * @to:		gets its contents
 * @page:	the page
 *
 * Where the architecture supports it, an uncorrectable memory error is returned and does not panic
 * the machine. copy_mc_highpage() does not fit: on arm64 it also copies tags, which would remain
 * on the page of @to.
 *
 * Context: any.
 * Return: 0 or -EIO.
 */
int farswap_page_read(void *to, struct page *page)
{
#ifdef copy_mc_to_kernel
	void *from = kmap_local_page(page);
	unsigned long left = copy_mc_to_kernel(to, from, PAGE_SIZE);

	kunmap_local(from);
	if (!left)
		return 0;
	memory_failure_queue(page_to_pfn(page), 0);
	return -EIO;
#else
	memcpy_from_page(to, page, 0, PAGE_SIZE);
	return 0;
#endif
}

/* Return the number of bytes of the units that a compressed page gets. */
static unsigned int compress_room(unsigned int bytes)
{
	return bytes ? COMPRESS_UNIT << farswap_packmap_class(bytes, PAGE_SIZE) : 0;
}

static unsigned int compress_to(struct page *page, struct page *packed)
{
	struct compress_memory *memory = *get_cpu_ptr(&compress_memory);
	int bytes = 0;
	void *to;

	if (!farswap_page_read(memory->from, page)) {
		to = kmap_local_page(packed);
		bytes = LZ4_compress_default(memory->from, to + COMPRESS_HEADER, PAGE_SIZE,
					     COMPRESS_MAX - COMPRESS_HEADER, memory->lz4);
		bytes += bytes ? COMPRESS_HEADER : 0;
		put_unaligned_le16(bytes, to);
		memset(to + bytes, 0, compress_room(bytes) - bytes);
		kunmap_local(to);
	}
	put_cpu_ptr(&compress_memory);
	return bytes;
}

static struct page *compress_alloc(void)
{
	struct compress_stash *stash;
	struct page *page = NULL;
	unsigned long flags;

	local_irq_save(flags);
	stash = this_cpu_ptr(&compress_stash);
	if (stash->nr)
		page = stash->page[--stash->nr];
	local_irq_restore(flags);
	return page ?: mempool_alloc(compress_pool, GFP_NOWAIT | __GFP_NOWARN);
}

/* Free the output page if nothing was compressed into it; return @bytes. */
static unsigned int compress_keep(struct page **packed, unsigned int bytes)
{
	if (!bytes) {
		farswap_compress_free(*packed);
		*packed = NULL;
	}
	return bytes;
}

/**
 * farswap_compress() - compress a page
 * @page:	the page
 * @packed:	set to a page with the compressed page and zeroes up to the end of its last unit,
 *		so that no other memory of this machine is sent; or NULL
 *
 * A task may write to @page at the same time; then the result is of some mixture.
 *
 * Context: process context; does not sleep.
 * Return: the compressed size; 0 if it is over half a page, @page can't be read, or there is no
 * memory now.
 */
unsigned int farswap_compress(struct page *page, struct page **packed)
{
	*packed = compress_alloc();
	return *packed ? compress_keep(packed, compress_to(page, *packed)) : 0;
}

/*
 * Return the record of the folio's area. The area is a part of the folio's mapping, or of the swap
 * device if the folio has no mapping (shared memory in the swap cache).
 */
static struct farswap_attempts *compress_area(const struct folio *folio)
{
	unsigned long area = folio->mapping ? folio->index : swp_offset(folio->swap);

	area = hash_long(area >> COMPRESS_AREA_SHIFT, BITS_PER_LONG);
	return &compress_areas[hash_long(area ^ (unsigned long)folio->mapping,
					 COMPRESS_AREAS_SHIFT)];
}

/**
 * farswap_compress_folio() - compress a page, unless those around it did not compress
 * @folio:	the page; in the swap cache and locked
 * @packed:	as for farswap_compress()
 *
 * Context: process context; does not sleep.
 * Return: as farswap_compress(), or 0 if the page is not worth an attempt.
 */
unsigned int farswap_compress_folio(struct folio *folio, struct page **packed)
{
	struct farswap_attempts *area = compress_area(folio);
	unsigned int bytes;

	*packed = NULL;
	if (!farswap_attempts_are_due(area)) {
		farswap_stat_add(FARSWAP_STAT_COMPRESS_SKIPPED, 1);
		return 0;
	}
	*packed = compress_alloc();
	if (!*packed)
		return 0;
	bytes = compress_to(folio_page(folio, 0), *packed);
	farswap_attempts_note(area, bytes);
	return compress_keep(packed, bytes);
}

/**
 * farswap_compress_free() - free a compressed page
 * @packed:	what farswap_compress() has returned, or NULL
 *
 * Context: any up to interrupts.
 */
void farswap_compress_free(struct page *packed)
{
	struct compress_stash *stash;
	unsigned long flags;

	if (!packed)
		return;
	local_irq_save(flags);
	stash = this_cpu_ptr(&compress_stash);
	if (stash->nr < COMPRESS_STASH) {
		stash->page[stash->nr++] = packed;
		packed = NULL;
	}
	local_irq_restore(flags);
	if (packed)
		mempool_free(packed, compress_pool);
}

/**
 * farswap_decompress() - decompress a page in its place
 * @page:	begins with the compressed page; gets the page
 * @room:	size of the units of the compressed page
 *
 * Context: any up to softirq.
 * Return: the compressed size; 0 if that is not a compressed page, and the contents of @page are
 * undefined then.
 */
unsigned int farswap_decompress(struct page *page, unsigned int room)
{
	struct compress_memory *memory;
	unsigned int bytes;
	int size = -1;
	void *to;

	local_bh_disable();
	memory = *this_cpu_ptr(&compress_memory);
	to = kmap_local_page(page);
	bytes = get_unaligned_le16(to);
	if (bytes > COMPRESS_HEADER && bytes <= min_t(unsigned int, room, COMPRESS_MAX)) {
		memcpy(memory->packed, to, bytes);
		size = LZ4_decompress_safe(memory->packed + COMPRESS_HEADER, to,
					   bytes - COMPRESS_HEADER, PAGE_SIZE);
	}
	kunmap_local(to);
	local_bh_enable();
	return size == PAGE_SIZE ? bytes : 0;
}

/**
 * farswap_compress_init() - allocate the memory for compression, unless it was allocated before
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_compress_init(void)
{
	struct compress_memory *memory;
	int cpu, err = 0;

	mutex_lock(&compress_mutex);
	for_each_possible_cpu(cpu) {
		if (per_cpu(compress_memory, cpu))
			continue;
		memory = kvmalloc_node(sizeof(*memory), GFP_KERNEL | __GFP_NOWARN,
				       cpu_to_node(cpu));
		if (!memory) {
			err = -ENOMEM;
			break;
		}
		per_cpu(compress_memory, cpu) = memory;
	}
	if (!err && !compress_pool)
		compress_pool = mempool_create_page_pool(COMPRESS_POOL, 0);
	if (!err && !compress_pool)
		err = -ENOMEM;
	mutex_unlock(&compress_mutex);
	return err;
}

/**
 * farswap_compress_exit() - free the memory for compression
 *
 * Context: may sleep; nothing is compressed or decompressed any more.
 */
void farswap_compress_exit(void)
{
	struct compress_stash *stash;
	int cpu;

	for_each_possible_cpu(cpu) {
		stash = per_cpu_ptr(&compress_stash, cpu);
		while (stash->nr)
			mempool_free(stash->page[--stash->nr], compress_pool);
		kvfree(per_cpu(compress_memory, cpu));
	}
	mempool_destroy(compress_pool);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/compress-kunit.h"
#endif
