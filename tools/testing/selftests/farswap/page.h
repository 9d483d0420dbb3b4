/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contents that load.c writes into a page, and their verification. A page's
 * contents are a function of its owner, number and generation, differ
 * in every word and do not compress, except in sparse pages. The first
 * word has all three in the clear, so that a wrong page is identified as stale,
 * foreign, zero or torn.
 */
#ifndef FARSWAP_TEST_PAGE_H
#define FARSWAP_TEST_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES	4096UL
#define PAGE_WORDS	(PAGE_BYTES / sizeof(uint64_t))

/* A page's generation. Bit 15: all zero now. Low 3 bits: its last writer. */
#define GEN_ZERO	0x8000U
#define GEN_WRITER_BITS	3
#define GEN_WRITERS	(1U << GEN_WRITER_BITS)
#define GEN_COUNT_MAX	(0x7fffU >> GEN_WRITER_BITS)

enum page_verdict {
	PAGE_RIGHT,
	PAGE_STALE,	/* this page, another generation */
	PAGE_FOREIGN,	/* all of it is another page */
	PAGE_ZERO,	/* all zero, and should not be */
	PAGE_TORN,	/* anything else */
};

/* Percent of the generations of a page that compress well: for zswap. */
static unsigned long page_sparse_percent;
#define PAGE_SPARSE_WORDS	64

struct page_finding {
	enum page_verdict verdict;
	uint64_t tag;		/* the first word as found */
	unsigned int wrong_words;
	unsigned int first_wrong;
};

static inline uint64_t page_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x;
}

static inline uint64_t page_next(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Owner 16 bits, page number 32, generation 16; never zero: owners begin at 1. */
static inline uint64_t page_tag(unsigned int owner, size_t page, unsigned int gen)
{
	return (uint64_t)owner << 48 | (uint64_t)page << 16 | gen;
}

static inline unsigned int page_tag_owner(uint64_t tag)
{
	return tag >> 48;
}

static inline size_t page_tag_page(uint64_t tag)
{
	return (tag >> 16) & 0xffffffffU;
}

static inline unsigned int page_tag_gen(uint64_t tag)
{
	return tag & 0xffffU;
}

/* The next generation written by @writer, whether zero now or not. */
static inline unsigned int page_next_gen(unsigned int gen, unsigned int writer)
{
	unsigned int count = (gen & ~GEN_ZERO) >> GEN_WRITER_BITS;

	count = count == GEN_COUNT_MAX ? 1 : count + 1;
	return count << GEN_WRITER_BITS | writer;
}

/* Words from here on repeat the tag. */
static inline size_t page_dense_words(uint64_t tag)
{
	bool sparse = page_mix(tag ^ 0x73706172736521ULL) % 100 < page_sparse_percent;

	return sparse ? PAGE_SPARSE_WORDS : PAGE_WORDS;
}

static inline void page_fill(uint64_t *word, uint64_t tag)
{
	size_t i, dense = page_dense_words(tag);
	uint64_t x = page_mix(tag) | 1;

	word[0] = tag;
	for (i = 1; i < dense; i++) {
		x = page_next(x);
		word[i] = x;
	}
	for (; i < PAGE_WORDS; i++)
		word[i] = tag;
}

static inline void page_clear(uint64_t *word)
{
	size_t i;

	for (i = 0; i < PAGE_WORDS; i++)
		word[i] = 0;
}

/* Whether every word matches @tag. */
static inline bool page_is(const uint64_t *word, uint64_t tag)
{
	uint64_t x = page_mix(tag) | 1, difference = word[0] ^ tag;
	size_t i, dense = page_dense_words(tag);

	for (i = 1; i < dense; i++) {
		x = page_next(x);
		difference |= word[i] ^ x;
	}
	for (; i < PAGE_WORDS; i++)
		difference |= word[i] ^ tag;
	return !difference;
}

static inline bool page_is_zero(const uint64_t *word)
{
	uint64_t any = 0;
	size_t i;

	for (i = 0; i < PAGE_WORDS; i++)
		any |= word[i];
	return !any;
}

static inline bool page_is_right(const uint64_t *word, uint64_t tag)
{
	if (page_tag_gen(tag) & GEN_ZERO)
		return page_is_zero(word);
	return page_is(word, tag);
}

/* Classify a page that is wrong. */
static inline struct page_finding page_examine(const uint64_t *word, uint64_t tag)
{
	bool zero = page_tag_gen(tag) & GEN_ZERO;
	struct page_finding found = { .tag = word[0] };
	uint64_t x = page_mix(tag) | 1, want = zero ? 0 : tag;
	size_t i, dense = page_dense_words(tag);

	for (i = 0; i < PAGE_WORDS; i++) {
		if (i && !zero) {
			x = page_next(x);
			want = i < dense ? x : tag;
		}
		if (word[i] != want && !found.wrong_words++)
			found.first_wrong = i;
	}
	if (!found.wrong_words)
		found.verdict = PAGE_RIGHT;
	else if (page_is_zero(word))
		found.verdict = PAGE_ZERO;
	else if (!page_is(word, word[0]))
		found.verdict = PAGE_TORN;
	else if (page_tag_owner(word[0]) == page_tag_owner(tag) &&
		 page_tag_page(word[0]) == page_tag_page(tag))
		found.verdict = PAGE_STALE;
	else
		found.verdict = PAGE_FOREIGN;
	return found;
}

#endif /* FARSWAP_TEST_PAGE_H */
