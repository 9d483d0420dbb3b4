// SPDX-License-Identifier: GPL-2.0
/*
 * Draining: complete exactly when no region has memory, and each waiter is notified
 * once, whatever the end. The pool is replaced by a count per state.
 */
#include "drain.c"
#include "loop.c"

#include "quiet.h"
#include "tap.h"
#include "turn.h"

#define TOTAL	8

uint64_t stats[STAT_NR];
static unsigned int regions[REGION_STATES];
static bool limited, no_memory;
static unsigned int evictions, kicks;

unsigned int region_count(enum region_state state)
{
	return regions[state];
}

unsigned int region_total(void)
{
	return TOTAL;
}

void reclaim_drain(bool drained)
{
	limited = drained;
}

struct evict_job *evict_start(uint64_t count, bool ordinary,
			      void (*done)(void *arg, const struct evict_result *result),
			      void *arg)
{
	(void)ordinary;
	(void)done;
	(void)arg;
	evictions += count == EVICT_ALL;
	return no_memory ? NULL : (struct evict_job *)&evictions;
}

unsigned int evict_deadline_ms(void)
{
	return 0;
}

void message_kick_pool(void)
{
	kicks++;
}

struct heard {
	struct drain_wait wait;
	unsigned int times;
	struct drain_result result;
};

static void hear(void *arg, const struct drain_result *result)
{
	struct heard *heard = arg;

	heard->times++;
	heard->result = *result;
}

static void lend(unsigned int mapped, unsigned int free)
{
	memset(regions, 0, sizeof(regions));
	memset(stats, 0, sizeof(stats));
	regions[REGION_MAPPED] = mapped;
	regions[REGION_FREE] = free;
	regions[REGION_EMPTY] = TOTAL - mapped - free;
	evictions = 0;
}

static void move(enum region_state from, enum region_state to)
{
	regions[from]--;
	regions[to]++;
}

static void test_end(void)
{
	struct heard a = { 0 }, b = { 0 }, forgotten = { 0 };

	lend(2, 1);
	ok(!drain_begin() && limited && evictions == 1 && drain_state() == DRAIN_RUNS,
	   "nothing may be lent, everything is evicted");
	drain_wait(&a.wait, 10000, hear, &a);
	drain_wait(&b.wait, 10000, hear, &b);
	drain_wait(&forgotten.wait, 10000, hear, &forgotten);
	drain_forget(&forgotten.wait);
	drain_check();
	move(REGION_MAPPED, REGION_EVICTING);
	move(REGION_MAPPED, REGION_DIRTY);
	drain_check();
	ok(!a.times, "not over while something is lent");
	move(REGION_EVICTING, REGION_DIRTY);
	stats_inc(STAT_RETURN_REVOKED);
	drain_check();
	ok(!a.times && drain_state() == DRAIN_RUNS, "nor while the pool has memory");
	regions[REGION_EMPTY] = TOTAL;
	regions[REGION_DIRTY] = regions[REGION_FREE] = 0;
	drain_check();
	drain_check();
	ok(a.times == 1 && b.times == 1 && !forgotten.times && drain_state() == DRAIN_DONE,
	   "over: who waits hears it once, who went not at all");
	ok(a.result.end == DRAIN_END_DONE && a.result.lent == 2 && !a.result.left &&
	   a.result.revoked == 1, "how many there were, and keys killed");
	kicks = 0;
	ok(!drain_begin() && evictions == 1, "drained again: nothing is done");
	drain_wait(&a.wait, 10000, hear, &a);
	ok(a.times == 1 && kicks == 1, "who waits for what is over");
	drain_check();
	ok(a.times == 2 && a.result.end == DRAIN_END_DONE, "hears it at the pool's next turn");
	drain_stop(DRAIN_END_UNDRAINED);
	ok(!limited && drain_state() == DRAIN_NOT && a.times == 2, "undrained");
	drain_check();
	ok(drain_state() == DRAIN_NOT, "an idle pool drains nothing by itself");
}

static void test_broken(void)
{
	struct heard a = { 0 };

	lend(1, 0);
	drain_begin();
	drain_wait(&a.wait, 10000, hear, &a);
	move(REGION_MAPPED, REGION_BROKEN);
	drain_check();
	ok(a.times == 1 && a.result.broken == 1, "a broken region is not waited for");
	drain_stop(DRAIN_END_UNDRAINED);
}

static void test_stopped(void)
{
	struct heard a = { 0 };

	lend(3, 0);
	drain_begin();
	drain_wait(&a.wait, 10000, hear, &a);
	drain_stop(DRAIN_END_UNDRAINED);
	ok(a.times == 1 && a.result.end == DRAIN_END_UNDRAINED && a.result.left == 3 && !limited,
	   "undrained before the end: who waits hears it");
	drain_begin();
	drain_wait(&a.wait, 10000, hear, &a);
	drain_stop(DRAIN_END_LEAVING);
	ok(a.times == 2 && a.result.end == DRAIN_END_LEAVING && limited,
	   "the daemon stops: who waits hears it, nothing is lent");
	drain_stop(DRAIN_END_UNDRAINED);
}

static void test_timeout(void)
{
	struct heard soon = { 0 }, late = { 0 };

	lend(3, 0);
	drain_begin();
	drain_wait(&soon.wait, 10, hear, &soon);
	drain_wait(&late.wait, 10000, hear, &late);
	move(REGION_MAPPED, REGION_EVICTING);
	turn_ms(50);
	ok(soon.times == 1 && soon.result.end == DRAIN_END_TIMEOUT && soon.result.left == 3 &&
	   soon.result.ms >= 10, "who does not want to wait longer is told how many are left");
	ok(!late.times && drain_state() == DRAIN_RUNS && limited, "it goes on");
	regions[REGION_MAPPED] = regions[REGION_EVICTING] = 0;
	regions[REGION_EMPTY] = TOTAL;
	drain_check();
	ok(soon.times == 1 && late.times == 1 && late.result.end == DRAIN_END_DONE,
	   "and the other hears its end");
	drain_stop(DRAIN_END_UNDRAINED);
}

static void test_no_memory(void)
{
	lend(1, 0);
	no_memory = true;
	ok(drain_begin() && !limited && drain_state() == DRAIN_NOT,
	   "without memory for it nothing has changed");
	no_memory = false;
}

int main(void)
{
	if (loop_init())
		return 1;
	test_end();
	test_broken();
	test_stopped();
	test_timeout();
	test_no_memory();
	loop_exit();
	return tap_done();
}
