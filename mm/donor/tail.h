/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tail of a donor's reads: how long the slowest of them take, and whether the donor is slow.
 */
#ifndef _FARSWAP_TAIL_H
#define _FARSWAP_TAIL_H

#include <linux/types.h>

/* No read takes that long: it is the latency of an I/O that times out. */
#define FARSWAP_TAIL_NEVER	U32_MAX

/**
 * enum farswap_tail_news - what a step has found
 * @FARSWAP_TAIL_SAME:		nothing
 * @FARSWAP_TAIL_BECAME_SLOW:	the donor is slow, and was not
 * @FARSWAP_TAIL_RECOVERED:	the donor counts as slow no longer
 */
enum farswap_tail_news {
	FARSWAP_TAIL_SAME,
	FARSWAP_TAIL_BECAME_SLOW,
	FARSWAP_TAIL_RECOVERED,
};

/**
 * struct farswap_tail_counts - the reads of a donor in a step
 * @reads:	reads that have ended
 * @late:	reads among them that took longer than late_ns
 * @slow:	reads among them that took longer than slow_ns
 * @waiting:	reads that are in flight for longer than slow_ns
 */
struct farswap_tail_counts {
	unsigned int reads;
	unsigned int late;
	unsigned int slow;
	unsigned int waiting;
};

/**
 * struct farswap_tail - the tail of a donor
 * @late_ns:	estimate of the latency that one read of a hundred exceeds, ns
 * @hedge_ns:	age at which a read may be hedged, ns
 * @slow_ns:	latency of a slow read, ns: a multiple of another donor's @late_ns;
 *		FARSWAP_TAIL_NEVER if no other donor is known
 * @slow:	the donor is slow
 * @now:	reads of the last step
 * @known:	@late_ns was exceeded at least once, so it is not far too high
 * @reads:	reads of the last steps; each step halves the older ones
 * @slows:	slow reads among them
 * @bad:	steps in a row, without those that had no read, in which the donor seemed to be slow
 * @bad_reads:	slow reads that ended in these steps
 * @good:	reads in a row that were not slow
 * @quiet:	steps in a row without a read
 * @rising:	steps with reads in a row in which most reads were late, at most TAIL_RISING
 * @hold:	steps for which a slow donor stays so, unless @good of its reads show otherwise
 * @relapses:	log2 of the multiple of the shortest @hold
 *
 * Completions read the first fields without a lock. The other functions write all of them.
 */
struct farswap_tail {
	u32 late_ns;
	u32 hedge_ns;
	u32 slow_ns;
	bool slow;
	struct farswap_tail_counts now;
	bool known;
	unsigned int reads;
	unsigned int slows;
	unsigned int bad;
	unsigned int bad_reads;
	unsigned int good;
	unsigned int quiet;
	unsigned int rising;
	unsigned int hold;
	unsigned int relapses;
};

/**
 * struct farswap_tail_budget - how many reads may be hedged
 * @tokens:	reads that may be hedged now, in hundredths
 * @reads:	count of all reads at the last refill
 */
struct farswap_tail_budget {
	unsigned int tokens;
	unsigned long reads;
};

void farswap_tail_init(struct farswap_tail *tail);
void farswap_tail_note(struct farswap_tail *tail, const struct farswap_tail_counts *counts);
bool farswap_tail_is_well(const struct farswap_tail *tail);
enum farswap_tail_news farswap_tail_step(struct farswap_tail *tail, u32 usual_ns,
					 bool others_well);
u32 farswap_tail_usual(const struct farswap_tail *tail);
void farswap_tail_budget_refill(struct farswap_tail_budget *budget, unsigned long reads,
				unsigned int percent);
bool farswap_tail_budget_has(const struct farswap_tail_budget *budget);
bool farswap_tail_budget_take(struct farswap_tail_budget *budget);

#endif /* _FARSWAP_TAIL_H */
