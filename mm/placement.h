/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which donor gets the next slab: numbers in, a decision out, no kernel types.
 */
#ifndef _FARSWAP_PLACEMENT_H
#define _FARSWAP_PLACEMENT_H

#include <linux/types.h>

/**
 * struct farswap_candidate - a donor as placement sees it
 * @slabs:	slabs of this client it holds
 * @free_bytes:	what it answered to QUERY_MEM; filled in by the caller for the
 *		ones that farswap_placement_pick() named
 * @tried:	already refused or did not answer in this attempt
 */
struct farswap_candidate {
	u32 slabs;
	u64 free_bytes;
	bool tried;
};

int farswap_placement_pick(const struct farswap_candidate *candidates, int nr,
			   u32 (*random)(u32 below), int pick[2]);
int farswap_placement_choose(const struct farswap_candidate *candidates,
			     const int pick[2], int nr, u64 need_bytes);

#endif /* _FARSWAP_PLACEMENT_H */
