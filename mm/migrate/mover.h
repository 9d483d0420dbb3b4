/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moves pages to a region in the background.
 */
#ifndef _FARSWAP_MOVER_H
#define _FARSWAP_MOVER_H

#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "slab/guard.h"
#include "slab/write.h"

/**
 * struct farswap_tags - a fixed set of numbered requests
 * @lock:	protects @free
 * @free:	bit mask of the requests that are not in flight
 * @all:	bit mask of all requests
 * @ended:	waiters for a request to complete
 */
struct farswap_tags {
	spinlock_t lock;	/* protects @free */
	unsigned long free;
	unsigned long all;
	wait_queue_head_t ended;
};

void farswap_tags_init(struct farswap_tags *tags, unsigned int nr);
unsigned int farswap_tags_get(struct farswap_tags *tags);
void farswap_tags_put(struct farswap_tags *tags, unsigned int tag);
void farswap_tags_wait(struct farswap_tags *tags);

/* Reads or writes of a run in flight at the same time. */
#define FARSWAP_MOVER_REQUESTS	16

/**
 * struct farswap_mover_request - a read or a write of consecutive slots in flight
 * @write:	the write; a read uses its @io
 * @mover:	the mover
 */
struct farswap_mover_request {
	struct farswap_write write;
	struct farswap_mover *mover;
};

/**
 * struct farswap_mover - moves runs of slots of a slab
 * @slab:	the slab
 * @run:	the run that is being moved
 * @read:	bit mask of the run's slots that were read
 * @starts:	bit mask of those of them that are at the start of a page of @chunks
 * @nr:		number of slots that a run can have
 * @failed:	an I/O has failed
 * @tags:	the tags of @requests
 * @order:	the order of each of @chunks
 * @chunks:	the memory that the pages pass through
 * @seals:	the seals of pages that were read from the device
 * @requests:	the requests
 */
struct farswap_mover {
	struct farswap_slab *slab;
	struct farswap_guard_run *run;
	unsigned long read;
	unsigned long starts;
	unsigned int nr;
	bool failed;
	struct farswap_tags tags;
	unsigned int order;
	struct page *chunks[FARSWAP_GUARD_SLOTS];
	struct farswap_guard_seals seals;
	struct farswap_mover_request requests[FARSWAP_MOVER_REQUESTS];
};

struct farswap_mover *farswap_mover_alloc(struct farswap_slab *slab);
void farswap_mover_free(struct farswap_mover *mover);
struct page *farswap_mover_page(const struct farswap_mover *mover, unsigned int i,
				unsigned int *nr);
bool farswap_mover_begin(struct farswap_mover *mover, unsigned int first);
void farswap_mover_read(struct farswap_mover *mover, struct farswap_mapping *from,
			unsigned int slot, unsigned int nr);
unsigned int farswap_mover_write(struct farswap_mover *mover, struct farswap_write *to,
				 unsigned long read, long timeout);
void farswap_mover_cancel(struct farswap_mover *mover);

#endif /* _FARSWAP_MOVER_H */
