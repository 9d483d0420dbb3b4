// SPDX-License-Identifier: GPL-2.0
/*
 * Sealing: protects what a store writes to the regions of a protected device. The folio's pages
 * must stay readable, so copies of them are sealed; a compressed page is sealed in place.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"
#include "io/seal.h"

/**
 * farswap_seal() - seal copies of a folio's pages, or its compressed page
 * @slab:	slab of the folio; its device is protected
 * @folio:	the folio; locked
 * @packed:	the compressed page, or NULL
 * @nr:		number of slots
 * @bounces:	gets the sealed copies, to be put even after a failure; not with @packed
 *
 * Context: process context; does not sleep.
 * Return: FARSWAP_STAT_STORE_REMOTE, or the reason for refusing the folio.
 */
enum farswap_stat farswap_seal(const struct farswap_slab *slab, struct folio *folio,
			       struct page *packed, unsigned int nr,
			       struct farswap_bounce **bounces)
{
	struct farswap_protect *protect = slab->device->protect;
	unsigned long page = farswap_protect_page(protect, swp_offset(folio->swap), slab->pack);
	struct farswap_bounce *bounce;
	unsigned int i = 0;
	void *data;

	if (packed)
		return farswap_protect_store(protect, page, page_address(packed),
					     farswap_slab_bytes(slab, nr)) ?
			FARSWAP_STAT_STORE_UNSEALED : FARSWAP_STAT_STORE_REMOTE;
	*bounces = farswap_bounce_get(folio_nr_pages(folio));
	if (!*bounces)
		return FARSWAP_STAT_STORE_UNSEALED;
	for (bounce = *bounces; bounce; bounce = bounce->next, i++) {
		data = page_address(bounce->page);
		if (farswap_page_read(data, folio_page(folio, i)))
			return FARSWAP_STAT_STORE_UNREADABLE;
		if (farswap_protect_store(protect, page + i, data, PAGE_SIZE))
			return FARSWAP_STAT_STORE_UNSEALED;
	}
	return FARSWAP_STAT_STORE_REMOTE;
}
