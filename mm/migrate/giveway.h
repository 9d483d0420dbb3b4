/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which cold slab gives way to which hot one: numbers in, a decision out, no kernel types.
 */
#ifndef _FARSWAP_GIVEWAY_H
#define _FARSWAP_GIVEWAY_H

#include <linux/types.h>

/**
 * struct farswap_giveway - how often slabs give way
 * @pause:	seconds from one to the next; 0 before the first
 * @next:	the second from which on the next may; if @pause
 * @eased:	when @pause last changed
 */
struct farswap_giveway {
	u32 pause;
	u32 next;
	u32 eased;
};

/**
 * struct farswap_giveway_past - when a slab gave way
 * @second:	in which second
 * @hot:	activity of the slab that it gave way to; 0: it did not
 */
struct farswap_giveway_past {
	u32 second;
	u32 hot;
};

/**
 * struct farswap_giveway_pair - the coldest slab and the hottest that waits
 * @coldest:	the caller's name for the one, or NULL
 * @hottest:	that for the other, or NULL
 * @cold:	activity of @coldest over about a minute, page I/Os a second
 * @idle:	seconds since its last page I/O
 * @hot:	activity of @hottest, page I/Os a second
 */
struct farswap_giveway_pair {
	void *coldest;
	void *hottest;
	u32 cold;
	u32 idle;
	u32 hot;
};

bool farswap_giveway_is_due(struct farswap_giveway *giveway, u32 second);
void farswap_giveway_done(struct farswap_giveway *giveway, u32 second);
bool farswap_giveway_wanted(struct farswap_giveway *giveway, struct farswap_giveway_past *past,
			    u32 activity, u32 second);
void farswap_giveway_mapped(struct farswap_giveway_pair *pair, void *slab, u32 activity, u32 idle);
void farswap_giveway_waiting(struct farswap_giveway_pair *pair, void *slab, u32 activity);
bool farswap_giveway_is_worth(const struct farswap_giveway_pair *pair, u32 hotslab);

#endif /* _FARSWAP_GIVEWAY_H */
