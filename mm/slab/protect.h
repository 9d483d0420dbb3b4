/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protection of the pages that donors hold: the generation and the tag of each.
 */
#ifndef _FARSWAP_PROTECT_H
#define _FARSWAP_PROTECT_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/types.h>

#include "slab/cipher.h"

/* log2 of the pages in a cluster; a slab has whole clusters. */
#define FARSWAP_PROTECT_SHIFT	8
#define FARSWAP_PROTECT_PAGES	((unsigned int)BIT(FARSWAP_PROTECT_SHIFT))

/**
 * struct farswap_seal - what is recorded of a page that was sealed
 * @generation:	the last generation that a seal of the page was given; 0: none was
 * @tag:	the tag of the page that a region has; valid with the page's remote bit
 */
struct farswap_seal {
	u32 generation;
	u8 tag[];
};

/**
 * struct farswap_protect_cluster - the seals of consecutive pages
 * @seals:	the seals, or NULL
 * @generation:	generation from which new seals count on
 */
struct farswap_protect_cluster {
	u8 *seals;
	u32 generation;
};

/**
 * struct farswap_protect - the protection of a swap device's pages
 * @cipher:	the cipher, with a key of this device's own
 * @encrypt:	pages are encrypted, and not only authenticated
 * @seal_bytes:	size of a seal
 * @nr_pages:	number of pages in slabs that are not packed, a multiple of a cluster's
 * @nr_clusters: number of entries of @cluster
 * @nr_used:	number of them that have seals
 * @cluster:	those of pages in slabs that are not packed, by swap offset, and then those of
 *		pages in packed slabs, by swap offset as well
 */
struct farswap_protect {
	struct farswap_cipher *cipher;
	bool encrypt;
	unsigned int seal_bytes;
	unsigned long nr_pages;
	unsigned long nr_clusters;
	atomic_t nr_used;
	struct farswap_protect_cluster cluster[];
};

struct farswap_protect *farswap_protect_alloc(struct farswap_cipher *cipher,
					      unsigned long nr_slots, bool encrypt);
void farswap_protect_free(struct farswap_protect *protect);
bool farswap_protect_reserve(struct farswap_protect *protect, unsigned long page, bool wait);
void farswap_protect_release(struct farswap_protect *protect, unsigned long page);
u32 farswap_protect_take(struct farswap_protect *protect, unsigned long page);
int farswap_protect_seal(struct farswap_protect *protect, unsigned long page, u32 generation,
			 void *data, unsigned int bytes, u8 *tag);
void farswap_protect_keep(struct farswap_protect *protect, unsigned long page, const u8 *tag);
int farswap_protect_store(struct farswap_protect *protect, unsigned long page, void *data,
			  unsigned int bytes);
int farswap_protect_open(struct farswap_protect *protect, unsigned long page, void *data,
			 unsigned int bytes);

/**
 * farswap_protect_page() - get the number of a page, by which its seal is found
 * @protect:	the protection of its device
 * @offset:	its swap offset
 * @packed:	it is in a packed slab
 *
 * Context: any.
 * Return: the number.
 */
static inline unsigned long farswap_protect_page(const struct farswap_protect *protect,
						 unsigned long offset, bool packed)
{
	return packed ? protect->nr_pages + offset : offset;
}

/**
 * farswap_protect_bytes() - get the memory that seals take
 * @protect:	the protection of a device
 *
 * Context: any; a hint.
 * Return: bytes.
 */
static inline unsigned long farswap_protect_bytes(const struct farswap_protect *protect)
{
	return (unsigned long)atomic_read(&protect->nr_used) * FARSWAP_PROTECT_PAGES *
	       protect->seal_bytes;
}

#endif /* _FARSWAP_PROTECT_H */
