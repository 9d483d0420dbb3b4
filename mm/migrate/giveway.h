/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The decision which cold slab gives way to which hot one. The functions take numbers and return
 * a decision; they use no kernel types.
 */
#ifndef _FARSWAP_GIVEWAY_H
#define _FARSWAP_GIVEWAY_H

#include <linux/types.h>

/**
 * struct farswap_giveway - the pause between slabs that give way
 * @pause:	seconds between two of them; 0 before the first
 * @next:	the second from which on the next slab may give way; valid if @pause is not 0
 * @eased:	the second when @pause last changed
 */
struct farswap_giveway {
	u32 pause;
	u32 next;
	u32 eased;
};

/**
 * struct farswap_giveway_past - when a slab gave way
 * @second:	the second when it did
 * @hot:	the activity of the slab that it gave way to, page I/Os per second; 0: it did not
 */
struct farswap_giveway_past {
	u32 second;
	u32 hot;
};

/**
 * struct farswap_giveway_pair - the coldest slab and the hottest slab that waits
 * @coldest:	the caller's handle of the coldest slab, or NULL
 * @hottest:	the caller's handle of the hottest slab that waits, or NULL
 * @cold:	the activity of @coldest over about a minute, page I/Os per second
 * @idle:	seconds since the last page I/O of @coldest
 * @hot:	the activity of @hottest, page I/Os per second
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
