// SPDX-License-Identifier: GPL-2.0
/*
 * Sets the pool's limit by the memory that is available. It is sampled once a second, up to ten
 * times a second while little is available and it shrinks, and when the kernel reports that a
 * task waited for memory. The headroom is that of farswapd.conf, or the module's headroom_mb if
 * the module is loaded and it is not 0. Memory that is not lent is returned first, then lent
 * regions are evicted in a batch (Infiniswap, sections 5.1 and 5.2).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cgroup.h"
#include "evict.h"
#include "headroom.h"
#include "log.h"
#include "loop.h"
#include "meminfo.h"
#include "reclaim.h"
#include "region.h"
#include "session.h"
#include "stats.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define RECLAIM_PERIOD_MS	1000
/* Pause after the kernel has refused memory. */
#define RECLAIM_REFUSED_MS	30000
/* Part of a cgroup's limit reserved for the daemon itself and the kernel's data for its regions. */
#define RECLAIM_CGROUP_SLACK	(32ULL << 20)
#define RECLAIM_KNOB		"/sys/kernel/farswap/headroom_mb"

/* A PSI trigger: stall time within a window, in microseconds. */
struct reclaim_watch {
	struct loop_fd fd;
	const char *trigger;
	bool grows;	/* also grow the headroom, not only sample */
};

static struct reclaim_watch reclaim_watches[] = {
	{ { .fd = -1 }, "some 100000 2000000", true },
	/* The kernel has started to reclaim. */
	{ { .fd = -1 }, "some 10000 500000", false },
};

static struct {
	struct headroom headroom;
	struct loop_timer timer;
	uint64_t job;		/* number of the last batch */
	uint64_t grow_ms;	/* don't grow before this time: the kernel has refused memory */
	uint64_t second_ms;	/* last update of the average */
	uint64_t configured;	/* headroom of the configuration, bytes */
	uint64_t knob_mb;	/* last value read from the module */
	bool drained;
	bool at_once;		/* the limit may grow at the first sample */
	bool hugepages;
} reclaim = { .at_once = true };

static void reclaim_evicted(void *arg, const struct evict_result *result)
{
	(void)arg;
	log_info("memory is short: %u regions evicted, %u of them revoked",
		 result->returned + result->revoked, result->revoked);
}

/*
 * Only one batch is queried at a time. Regions being evicted count as returned, so that a
 * slow client does not delay the next batch.
 */
static void reclaim_evict(void)
{
	unsigned int ordinary = region_excess_ordinary();
	unsigned int excess = ordinary ? ordinary : region_excess();
	unsigned int leaving = region_leaving(ordinary) + session_dying();
	struct evict_job *job;

	if (evict_is_querying(reclaim.job) || reclaim.drained || session_leaving() ||
	    excess <= leaving || region_count(REGION_MAPPED) <= session_dying())
		return;
	/* Without memory for the job the next sample retries. */
	job = evict_start(excess - leaving, ordinary, reclaim_evicted, NULL);
	if (!job)
		return;
	reclaim.job = evict_number(job);
	stats_inc(STAT_RECLAIMS);
}

static void reclaim_read_knob(void)
{
	uint64_t mb = meminfo_number(RECLAIM_KNOB, 10), keep = reclaim.configured;

	if (mb == reclaim.knob_mb)
		return;
	reclaim.knob_mb = mb;
	if (mb)
		keep = mb < UINT32_MAX ? mb << 20 : UINT64_MAX;
	if (keep >= reclaim.headroom.total) {
		log_err("%s: invalid value %" PRIu64 " (this machine has %" PRIu64 "M of memory); headroom stays %" PRIu64 "M",
			RECLAIM_KNOB, mb, reclaim.headroom.total >> 20,
			reclaim.headroom.keep >> 20);
		return;
	}
	headroom_set_keep(&reclaim.headroom, keep);
	log_info("headroom is now %" PRIu64 "M", keep >> 20);
}

/* Don't raise the limit for a while after the kernel has refused memory. */
static void reclaim_set_limit(uint64_t limit, uint64_t now)
{
	unsigned int filled = region_total() - region_count(REGION_EMPTY);

	if (region_refused())
		reclaim.grow_ms = now + RECLAIM_REFUSED_MS;
	region_set_limit(limit > filled && now < reclaim.grow_ms ? filled : limit);
}

/* Return how much ordinary memory may be held. */
static uint64_t reclaim_ordinary(uint64_t available, bool second)
{
	uint64_t held = region_present_bytes() - region_huge_bytes(), most = UINT64_MAX;
	uint64_t room = cgroup_room();

	if (headroom_keep(&reclaim.headroom))
		most = headroom_sample(&reclaim.headroom, available, held, second);
	if (room > UINT64_MAX - held)
		return most;
	room += held;
	room = room > RECLAIM_CGROUP_SLACK ? room - RECLAIM_CGROUP_SLACK : 0;
	return room < most ? room : most;
}

/* Sample, and return the time until the next sample, ms. */
static uint64_t reclaim_sample(void)
{
	uint64_t held = (uint64_t)(region_total() - region_count(REGION_EMPTY)) * region_bytes();
	uint64_t slab = region_bytes(), now = loop_now_ms(), ordinary, allowed, beyond = 0;
	bool second = now - reclaim.second_ms >= RECLAIM_PERIOD_MS;
	bool at_once = reclaim.at_once || !headroom_keep(&reclaim.headroom);
	struct meminfo mem = meminfo_now();

	if (second) {
		reclaim.second_ms = now;
		reclaim_read_knob();
	}
	ordinary = reclaim_ordinary(mem.available, second) / slab;
	if (ordinary > region_total()) {
		ordinary = region_total();
		beyond = slab;
	}
	allowed = ordinary * slab;
	/* Only programs that use reserved huge pages could use these. */
	if (reclaim.hugepages)
		allowed += (region_huge() + mem.huge_free / slab) * slab;
	if (reclaim.drained)
		allowed = 0;
	if (allowed < held || at_once)
		reclaim_set_limit(allowed / slab, now);
	else if (second && allowed + beyond - held >= 2 * slab)	/* hysteresis */
		reclaim_set_limit((held + allowed + slab) / 2 / slab, now);
	region_set_ordinary_limit(ordinary);
	region_set_keep(headroom_keep(&reclaim.headroom));
	reclaim.at_once = false;
	message_kick_pool();
	reclaim_evict();
	return headroom_interval_ms(&reclaim.headroom, mem.available);
}

static void reclaim_tick(void *arg)
{
	(void)arg;
	loop_timer_set(&reclaim.timer, reclaim_sample());
}

static void reclaim_unwatch(struct reclaim_watch *watch)
{
	int fd = watch->fd.fd;

	if (fd < 0)
		return;
	loop_fd_del(&watch->fd);
	close(fd);
}

static void reclaim_pressure(void *arg, uint32_t events)
{
	struct reclaim_watch *watch = arg;

	if (events & EPOLLERR) {
		log_warn("lost PSI events; polling");
		reclaim_unwatch(watch);
		return;
	}
	if (watch->grows) {
		stats_inc(STAT_PRESSURE);
		/* Otherwise a cgroup hit its own limit, and more headroom would not help. */
		if (meminfo_now().available < 2 * headroom_keep(&reclaim.headroom))
			headroom_pressure(&reclaim.headroom);
	}
	reclaim_tick(NULL);
}

/* On a kernel without PSI only the periodic sample remains. */
static int reclaim_watch(struct reclaim_watch *watch)
{
	int fd = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (write(fd, watch->trigger, strlen(watch->trigger) + 1) < 0)
		err = -errno;
	else
		err = loop_fd_add(&watch->fd, fd, EPOLLPRI, reclaim_pressure, watch);
	if (err)
		close(fd);
	return err;
}

static void reclaim_watch_pressure(void)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(reclaim_watches); i++) {
		err = reclaim_watch(&reclaim_watches[i]);
		if (!err)
			continue;
		log_info("no PSI events (%s); polling",
			 strerror(-err));
		return;
	}
}

int reclaim_init(uint64_t headroom, bool hugepages)
{
	uint64_t total = meminfo_now().total;

	loop_timer_init(&reclaim.timer, reclaim_tick, NULL);
	if (headroom && (!total || headroom >= total)) {
		log_err("headroom: invalid value %" PRIu64 "M (this machine has %" PRIu64 "M of memory)",
			headroom >> 20, total >> 20);
		return -EINVAL;
	}
	reclaim.configured = headroom;
	reclaim.hugepages = hugepages;
	headroom_init(&reclaim.headroom, total, headroom);
	reclaim_watch_pressure();
	cgroup_init();
	if (cgroup_room() != UINT64_MAX)
		log_info("the cgroup's limit leaves %" PRIu64 "M: at most that less %lluM is lent",
			 cgroup_room() >> 20, RECLAIM_CGROUP_SLACK >> 20);
	region_set_limit(0);
	reclaim_tick(NULL);
	if (headroom && !region_free_bytes())
		log_warn("nothing can be lent now: %" PRIu64 "M are available, headroom is %" PRIu64 "M; lending starts when more is available",
			 meminfo_now().available >> 20, headroom >> 20);
	return 0;
}

void reclaim_drain(bool drained)
{
	reclaim.drained = drained;
	reclaim.at_once = true;
	reclaim_tick(NULL);
}

uint64_t reclaim_headroom(void)
{
	return headroom_keep(&reclaim.headroom);
}

void reclaim_exit(void)
{
	size_t i;

	loop_timer_stop(&reclaim.timer);
	for (i = 0; i < ARRAY_SIZE(reclaim_watches); i++)
		reclaim_unwatch(&reclaim_watches[i]);
}
