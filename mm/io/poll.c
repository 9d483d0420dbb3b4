// SPDX-License-Identifier: GPL-2.0
/*
 * Spinning: a fault that finds its page on the way from a donor waits for it without
 * sleeping, where reads take less than that would cost.
 */
#include <linux/farswap.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "internal.h"

/* The moving average of what a read takes: 1/8 new. */
#define POLL_AVERAGE_SHIFT	3

/* What the fault's own reads took lately, ns. */
static DEFINE_PER_CPU(u32, poll_average_ns);

static u32 poll_average(u32 old, u32 ns)
{
	return old + (ns >> POLL_AVERAGE_SHIFT) - (old >> POLL_AVERAGE_SHIFT);
}

/**
 * farswap_poll_learn() - the fault's own page has come
 * @cpu:	who asked for it, which is where the next fault will look
 * @ns:		how long it took
 *
 * Context: any.
 */
void farswap_poll_learn(int cpu, u32 ns)
{
	u32 *average = per_cpu_ptr(&poll_average_ns, cpu);

	WRITE_ONCE(*average, poll_average(READ_ONCE(*average), ns));
}

/**
 * farswap_poll_lock() - spin for a page that is about to come
 * @folio:	a folio of the swap cache that a fault found locked; a reference is
 *		held
 *
 * Twice the average of what a read takes, at most poll_us; not at all if the
 * average itself is longer than that, since then sleeping is cheaper.
 *
 * Context: process context; does not sleep.
 * Return: true when the folio has been locked.
 */
bool farswap_poll_lock(struct folio *folio)
{
	u64 limit = (u64)READ_ONCE(farswap_settings.poll_us) * NSEC_PER_USEC;
	u32 average = raw_cpu_read(poll_average_ns);
	u64 end;

	if (!folio_test_swapcache(folio) || folio_test_uptodate(folio) ||
	    !farswap_is_remote(folio->swap, 1))
		return false;
	if (average < limit) {
		end = ktime_get_ns() + min(limit, 2ULL * average);
		do {
			if (folio_trylock(folio)) {
				farswap_stat_add(FARSWAP_STAT_WAIT_POLLED, 1);
				return true;
			}
			cpu_relax();
		} while (!need_resched() && ktime_get_ns() < end);
	}
	farswap_stat_add(FARSWAP_STAT_WAIT_SLEPT, 1);
	return false;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/poll-kunit.h"
#endif
