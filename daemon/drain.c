// SPDX-License-Identifier: GPL-2.0
/*
 * Draining. The pool's limit is held at 0, so that nothing is lent and returned memory
 * goes to the machine, and all lent regions are evicted. The drain is complete when no
 * region has memory. That is checked whenever the pool has run out of work, because each
 * returned region makes work for the pool. Does not depend on messages.
 */
#include <errno.h>

#include "drain.h"
#include "evict.h"
#include "log.h"
#include "reclaim.h"
#include "session.h"
#include "stats.h"

/* Time after the clients' deadline for returning the memory to the kernel. */
#define DRAIN_EXTRA_MS	5000

static struct {
	enum drain_state state;
	struct list waits;
	unsigned int lent;
	uint64_t revoked_before;
	uint64_t gone_before;
	uint64_t begun_ms;
} drain = { .waits = { &drain.waits, &drain.waits } };

static unsigned int drain_lent(void)
{
	return region_count(REGION_MAPPED) + region_count(REGION_EVICT_WAIT) +
	       region_count(REGION_EVICTING);
}

static struct drain_result drain_result(enum drain_end end)
{
	return (struct drain_result){
		.end = end,
		.lent = drain.lent,
		.left = drain_lent(),
		.revoked = stats[STAT_RETURN_REVOKED] - drain.revoked_before,
		.gone = stats[STAT_RETURN_SESSION] - drain.gone_before,
		.broken = region_count(REGION_BROKEN),
		.ms = loop_now_ms() - drain.begun_ms,
	};
}

static void drain_notify(struct drain_wait *wait, enum drain_end end)
{
	struct drain_result result = drain_result(end);

	drain_forget(wait);
	wait->done(wait->arg, &result);
}

static void drain_notify_all(enum drain_end end)
{
	struct drain_wait *wait;

	while ((wait = list_first(&drain.waits, struct drain_wait, link)))
		drain_notify(wait, end);
}

static void drain_timeout(void *arg)
{
	drain_notify(arg, DRAIN_END_TIMEOUT);
}

int drain_begin(void)
{
	if (drain.state != DRAIN_NOT)
		return 0;
	drain.lent = drain_lent();
	drain.revoked_before = stats[STAT_RETURN_REVOKED];
	drain.gone_before = stats[STAT_RETURN_SESSION];
	drain.begun_ms = loop_now_ms();
	reclaim_drain(true);
	if (!evict_start(EVICT_ALL, false, NULL, NULL)) {
		reclaim_drain(false);
		return -ENOMEM;
	}
	drain.state = DRAIN_RUNS;
	stats_inc(STAT_DRAINS);
	log_info("draining: %u regions are lent", drain.lent);
	return 0;
}

void drain_stop(enum drain_end end)
{
	drain_notify_all(end);
	if (drain.state == DRAIN_NOT || end != DRAIN_END_UNDRAINED)
		return;
	drain.state = DRAIN_NOT;
	reclaim_drain(false);
	log_info("undrained: memory is lent again");
}

void drain_wait(struct drain_wait *wait, uint64_t ms,
		void (*done)(void *arg, const struct drain_result *result), void *arg)
{
	wait->done = done;
	wait->arg = arg;
	loop_timer_init(&wait->timer, drain_timeout, wait);
	loop_timer_set(&wait->timer, ms ? ms : evict_deadline_ms() + DRAIN_EXTRA_MS);
	list_add_tail(&wait->link, &drain.waits);
	/* Lets the drain complete at once if nothing is lent. */
	message_kick_pool();
}

void drain_forget(struct drain_wait *wait)
{
	loop_timer_stop(&wait->timer);
	list_del(&wait->link);
}

void drain_check(void)
{
	if (drain.state == DRAIN_NOT ||
	    region_count(REGION_EMPTY) + region_count(REGION_BROKEN) < region_total())
		return;
	if (drain.state == DRAIN_RUNS)
		log_info("drained: nothing is lent, %llu regions were revoked",
			 (unsigned long long)(stats[STAT_RETURN_REVOKED] - drain.revoked_before));
	drain.state = DRAIN_DONE;
	drain_notify_all(DRAIN_END_DONE);
}

enum drain_state drain_state(void)
{
	return drain.state;
}
