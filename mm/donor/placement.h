/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placement: the choice of the donor that gets a slab. This code uses no kernel types other than
 * integers.
 */
#ifndef _FARSWAP_PLACEMENT_H
#define _FARSWAP_PLACEMENT_H

#include <linux/types.h>

/* Number of donors that are queried in one round. */
#define FARSWAP_PLACEMENT_ASK	3
/* Value of &farswap_candidate.full_ms if a donor may have room. */
#define FARSWAP_PLACEMENT_NEVER	((u32)~0U)

/**
 * enum farswap_candidate_state - answer of a donor in this attempt
 * @FARSWAP_CANDIDATE_UNKNOWN:	it was not queried
 * @FARSWAP_CANDIDATE_ROOM:	it has room for the slab
 * @FARSWAP_CANDIDATE_FULL:	it has no room
 * @FARSWAP_CANDIDATE_FAILED:	it did not answer
 */
enum farswap_candidate_state {
	FARSWAP_CANDIDATE_UNKNOWN,
	FARSWAP_CANDIDATE_ROOM,
	FARSWAP_CANDIDATE_FULL,
	FARSWAP_CANDIDATE_FAILED,
};

/**
 * struct farswap_candidate - a donor as placement sees it
 * @slabs:	number of slabs of this client that it holds
 * @full_ms:	time since it reported that it has no room, ms; or FARSWAP_PLACEMENT_NEVER
 * @shaky:	a session with it failed recently, or it returned an altered page
 * @state:	its answer in this attempt; written by placement
 * @asked:	its place in the order in which donors were chosen; written by placement
 * @free_bytes:	memory that it reported, bytes; written by placement
 */
struct farswap_candidate {
	u32 slabs;
	u32 full_ms;
	bool shaky;
	enum farswap_candidate_state state;
	u32 asked;
	u64 free_bytes;
};

/**
 * struct farswap_placement - an attempt to place a slab
 * @candidates:	the donors that may hold the slab
 * @nr:		number of candidates
 * @need_bytes:	size of the slab
 * @random:	returns a number from 0 to @below - 1, uniformly distributed
 * @nr_asked:	number of donors chosen so far
 * @asked_full:	donors that reported "no room" recently were queried once more
 */
struct farswap_placement {
	struct farswap_candidate *candidates;
	int nr;
	u64 need_bytes;
	u32 (*random)(u32 below);
	u32 nr_asked;
	bool asked_full;
};

void farswap_placement_begin(struct farswap_placement *placement,
			     struct farswap_candidate *candidates, int nr, u64 need_bytes,
			     u32 (*random)(u32 below));
int farswap_placement_next(struct farswap_placement *placement,
			   int pick[FARSWAP_PLACEMENT_ASK]);
bool farswap_placement_answered(struct farswap_placement *placement, int nth, u64 free_bytes);
void farswap_placement_failed(struct farswap_placement *placement, int nth);
void farswap_placement_refused(struct farswap_placement *placement, int nth);
int farswap_placement_best(const struct farswap_placement *placement);
bool farswap_placement_is_full(const struct farswap_placement *placement);

#endif /* _FARSWAP_PLACEMENT_H */
