/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A load, for the files that continue it.
 */
#ifndef _FARSWAP_LOAD_H
#define _FARSWAP_LOAD_H

#include <linux/atomic.h>
#include <linux/farswap-transport.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "io/hedge.h"

struct farswap_donor;
struct farswap_mapping;
struct farswap_slab;

/**
 * struct farswap_load_request - one load
 * @io:		the remote read
 * @work:	continues the load after @io has failed, or where the page can't be opened
 * @folio:	the folio; locked
 * @slab:	slab of @folio
 * @mapping:	source of the read; a reference is held until @io has ended
 * @entry:	in the list of waiting loads of a donor
 * @waits_for:	mapping of the donor that the load waits for, or has waited for; a reference is
 *		held
 * @donor:	the donor that @suspects and @worked describe; compared only
 * @suspects:	how often that donor had been suspect before the last read
 * @worked:	whether that donor worked before the last read
 * @waited:	the load has waited since the last read
 * @sealed:	the last read has succeeded, and the page is still to be opened by @work
 * @until:	end of the wait for a donor that works as far as is known, jiffies
 * @start:	when the last read was submitted, ns
 * @began:	when the load began, jiffies
 * @slot:	slot of the first page
 * @nr:		number of slots: pages, or units of a packed slab
 * @bytes:	size of the compressed page's units; 0: it is not compressed
 * @tries:	number of remote reads so far
 * @failed:	number of them that failed although the session of the donor did not
 * @error:	result of the last read, 0 or -errno
 * @cpu:	CPU that submitted the last read
 * @race:	the remote read, and the hedge if there is one
 */
struct farswap_load_request {
	struct farswap_io io;
	struct work_struct work;
	struct folio *folio;
	struct farswap_slab *slab;
	struct farswap_mapping *mapping;
	struct list_head entry;
	struct farswap_mapping *waits_for;
	const struct farswap_donor *donor;
	unsigned int suspects;
	bool worked;
	bool waited;
	bool sealed;
	unsigned long until;
	u64 start;
	unsigned long began;
	unsigned int slot;
	unsigned int nr;
	unsigned int bytes;
	unsigned int tries;
	unsigned int failed;
	int error;
	int cpu;
	struct farswap_race race;
};

/* io/open.c */
bool farswap_open_sealed(const struct farswap_load_request *request);
bool farswap_open_packed(const struct farswap_load_request *request);
int farswap_open_page(struct farswap_slab *slab, pgoff_t offset, unsigned int nr,
		      unsigned int bytes, struct page *page);

/* io/load.c */
void farswap_load_free(struct farswap_load_request *request);
void farswap_load_resume(struct farswap_load_request *request, int error);

#endif /* _FARSWAP_LOAD_H */
