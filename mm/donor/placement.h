/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which donor gets the next slab: numbers in, a decision out, no kernel types.
 */
#ifndef _FARSWAP_PLACEMENT_H
#define _FARSWAP_PLACEMENT_H

#include <linux/types.h>

/* Donors that are asked in one round. */
#define FARSWAP_PLACEMENT_ASK	3
/* The &farswap_candidate.full_ms of a donor that never said that it has no room. */
#define FARSWAP_PLACEMENT_NEVER	((u32)~0U)

/**
 * enum farswap_candidate_state - what is known of a donor in this attempt
 * @FARSWAP_CANDIDATE_UNKNOWN:	it was not asked
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
 * @slabs:	slabs of this client that it holds
 * @full_ms:	how long ago it said that it has no room, or FARSWAP_PLACEMENT_NEVER
 * @shaky:	a session with it failed recently
 * @state:	placement's own
 * @asked:	placement's own: its place in the order in which donors were chosen
 * @free_bytes:	placement's own: its answer
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
 * @nr:		how many there are
 * @need_bytes:	size of the slab
 * @random:	returns a number from 0 to @below - 1, each equally likely
 * @nr_asked:	donors that were chosen
 * @asked_full:	donors that said "no room" recently were asked once more
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
