/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compression of pages.
 */
#ifndef _FARSWAP_COMPRESS_H
#define _FARSWAP_COMPRESS_H

#include <linux/types.h>

struct folio;
struct page;

int farswap_compress_init(void);
void farswap_compress_exit(void);
int farswap_page_read(void *to, struct page *page);
unsigned int farswap_compress(struct page *page, struct page **packed);
unsigned int farswap_compress_folio(struct folio *folio, struct page **packed);
void farswap_compress_free(struct page *packed);
unsigned int farswap_decompress(struct page *page, unsigned int room);

#endif /* _FARSWAP_COMPRESS_H */
