/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bounce pages: the sealed copies of pages on their way to donors.
 */
#ifndef _FARSWAP_BOUNCE_H
#define _FARSWAP_BOUNCE_H

#include <linux/farswap-transport.h>
#include <linux/mm_types.h>

#include "settings.h"

struct farswap_write;

/**
 * struct farswap_bounce_write - a write of one bounce page to a region
 * @io:		the remote I/O
 * @write:	the write of the whole folio
 */
struct farswap_bounce_write {
	struct farswap_io io;
	struct farswap_write *write;
};

/**
 * struct farswap_bounce - a bounce page
 * @next:	the bounce page of the folio's next page, or NULL
 * @page:	the page
 * @write:	its writes, one for each region
 */
struct farswap_bounce {
	struct farswap_bounce *next;
	struct page *page;
	struct farswap_bounce_write write[FARSWAP_REPLICAS_MAX];
};

bool farswap_bounce_fill(void);
void farswap_bounce_drain(void);
struct farswap_bounce *farswap_bounce_get(unsigned int nr);
void farswap_bounce_put(struct farswap_bounce *bounce);

#endif /* _FARSWAP_BOUNCE_H */
