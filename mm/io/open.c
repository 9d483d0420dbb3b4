// SPDX-License-Identifier: GPL-2.0
/*
 * Opening: makes a page of what a read from a region has brought. The page is checked and decrypted
 * if its device is protected, and decompressed if it was compressed. If it is not the page that was
 * stored, it is read from elsewhere; no task sees its contents until then.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <trace/events/farswap.h>

#include "internal.h"
#include "io/load.h"

/**
 * farswap_open_sealed() - check the pages of a folio, and decrypt them
 * @request:	load whose read has succeeded; its device is protected
 *
 * Context: any up to softirq, where farswap_cipher_usable() is true.
 * Return: false if a page is not the one that was stored. The contents of the folio are undefined
 * then.
 */
bool farswap_open_sealed(const struct farswap_load_request *request)
{
	struct farswap_protect *protect = request->slab->device->protect;
	const struct folio *folio = request->folio;
	unsigned int nr = folio_nr_pages(folio), i;
	unsigned int bytes = farswap_slab_bytes(request->slab, request->nr) / nr;
	unsigned long page = farswap_protect_page(protect, swp_offset(folio->swap),
						  request->slab->pack);

	for (i = 0; i < nr; i++)
		if (farswap_protect_open(protect, page + i,
					 page_address(folio_page((struct folio *)folio, i)),
					 bytes)) {
			farswap_mapping_note_altered(request->mapping);
			return false;
		}
	return true;
}

/**
 * farswap_open_packed() - decompress the page of a folio
 * @request:	load of a compressed page, whose read has succeeded
 *
 * Context: any up to softirq.
 * Return: false if the page is bad. The contents of the folio are undefined then.
 */
bool farswap_open_packed(const struct farswap_load_request *request)
{
	unsigned int bytes = farswap_decompress(folio_page(request->folio, 0), request->bytes);

	farswap_stat_add(bytes ? FARSWAP_STAT_LOAD_UNPACKED : FARSWAP_STAT_LOAD_BAD, 1);
	trace_farswap_unpack(request->folio->swap.val, bytes, bytes);
	return bytes;
}

/**
 * farswap_open_page() - make a page of what a hedge has read from a region
 * @slab:	slab of the page
 * @offset:	swap offset of the page
 * @nr:		number of its slots
 * @bytes:	size of the compressed page's units; 0: it is not compressed
 * @page:	what was read; gets the page
 *
 * Context: process context.
 * Return: 0; -EBADMSG or -EIO if it is not the page, and then the contents of @page are undefined.
 */
int farswap_open_page(struct farswap_slab *slab, pgoff_t offset, unsigned int nr,
		      unsigned int bytes, struct page *page)
{
	struct farswap_protect *protect = slab->device->protect;

	if (protect && farswap_protect_open(protect,
					    farswap_protect_page(protect, offset, slab->pack),
					    page_address(page), farswap_slab_bytes(slab, nr)))
		return -EBADMSG;
	return !bytes || farswap_decompress(page, bytes) ? 0 : -EIO;
}
