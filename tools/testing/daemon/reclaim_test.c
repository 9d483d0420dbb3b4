// SPDX-License-Identifier: GPL-2.0
/*
 * Reclaim: the limit follows available memory, the headroom, the cgroup's limit and free huge
 * pages. It grows by halves and shrinks at once, and lent regions above it are evicted in batches,
 * one query at a time. The pool, the sessions, the loop and the kernel's values are numbers
 * here.
 */
#include "reclaim.c"
#include "headroom.c"

#include "tap.h"

#define MB	(1ULL << 20)
#define SLAB	(64 * MB)
#define TOTAL	(8192 * MB)
#define KEEP	(1024 * MB)
#define REGIONS	regions

uint64_t stats[STAT_NR];

static struct meminfo memory;
static uint64_t room, knob, keep, now_ms, interval_ms;
static unsigned int held, mapped, huge, limit, ordinary_limit, excess, excess_ordinary;
static unsigned int leaving, dying, errors, batches, batch_of;
static unsigned int regions = 200;
static bool refused, asks, client_leaving, batch_ordinary;

void log_print(enum log_level level, const char *fmt, ...)
{
	(void)fmt;
	errors += level == LOG_LEVEL_ERR;
}

struct meminfo meminfo_now(void)
{
	return memory;
}

uint64_t meminfo_number(const char *path, int base)
{
	return strcmp(path, RECLAIM_KNOB) || base != 10 ? 0 : knob;
}

void cgroup_init(void)
{
}

uint64_t cgroup_room(void)
{
	return room;
}

void region_set_limit(unsigned int to)
{
	limit = to;
}

void region_set_ordinary_limit(unsigned int to)
{
	ordinary_limit = to;
}

void region_set_keep(uint64_t bytes)
{
	keep = bytes;
}

bool region_refused(void)
{
	bool was = refused;

	refused = false;
	return was;
}

unsigned int region_excess(void)
{
	return excess;
}

unsigned int region_excess_ordinary(void)
{
	return excess_ordinary;
}

unsigned int region_leaving(bool ordinary)
{
	(void)ordinary;
	return leaving;
}

uint64_t region_free_bytes(void)
{
	return SLAB;
}

uint64_t region_present_bytes(void)
{
	return held * SLAB;
}

uint64_t region_huge_bytes(void)
{
	return huge * SLAB;
}

unsigned int region_huge(void)
{
	return huge;
}

uint64_t region_bytes(void)
{
	return SLAB;
}

unsigned int region_count(enum region_state state)
{
	return state == REGION_EMPTY ? REGIONS - held : state == REGION_MAPPED ? mapped : 0;
}

unsigned int region_total(void)
{
	return REGIONS;
}

unsigned int session_dying(void)
{
	return dying;
}

bool session_leaving(void)
{
	return client_leaving;
}

void message_kick_pool(void)
{
}

bool evict_is_querying(uint64_t job)
{
	return job && asks;
}

struct evict_job *evict_start(uint64_t count, bool ordinary,
			      void (*done)(void *arg, const struct evict_result *result),
			      void *arg)
{
	(void)done;
	(void)arg;
	batches++;
	batch_of = count;
	batch_ordinary = ordinary;
	return (void *)&batches;
}

uint64_t evict_number(const struct evict_job *job)
{
	(void)job;
	return batches;
}

uint64_t loop_now_ms(void)
{
	return now_ms;
}

void loop_timer_init(struct loop_timer *timer, void (*fn)(void *arg), void *arg)
{
	(void)timer;
	(void)fn;
	(void)arg;
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	(void)timer;
	interval_ms = ms;
}

void loop_timer_stop(struct loop_timer *timer)
{
	(void)timer;
}

int loop_fd_add(struct loop_fd *lf, int fd, uint32_t events,
		void (*fn)(void *arg, uint32_t events), void *arg)
{
	(void)lf;
	(void)fd;
	(void)events;
	(void)fn;
	(void)arg;
	return -ENOSYS;
}

void loop_fd_del(struct loop_fd *lf)
{
	(void)lf;
}

/* Start a daemon on a machine where others use @used. */
static void setup(uint64_t used, bool hugepages)
{
	reclaim_exit();
	memset(&reclaim, 0, sizeof(reclaim));
	reclaim.at_once = true;
	memory = (struct meminfo){ .total = TOTAL, .available = TOTAL - used };
	room = UINT64_MAX;
	held = mapped = huge = excess = excess_ordinary = leaving = dying = batches = errors = 0;
	knob = 0;
	refused = asks = client_leaving = false;
	now_ms = 100000;
	ok(!reclaim_init(KEEP, hugepages), "a daemon begins");
}

/* Another second passes; the pool holds what was allowed, and others use @used. */
static void second(uint64_t used)
{
	held = limit < REGIONS ? limit : REGIONS;
	memory.available = TOTAL - used > held * SLAB ? TOTAL - used - held * SLAB : 0;
	now_ms += RECLAIM_PERIOD_MS;
	reclaim_tick(NULL);
}

static void test_limit(void)
{
	unsigned int before;

	setup(2048 * MB, false);
	ok(limit == 80, "all but what others use and the headroom may be lent at once");
	second(2048 * MB);
	ok(limit == 80 && ordinary_limit == 80 && keep == KEEP, "and what is held itself changes nothing");
	second(2816 * MB);
	before = limit;
	ok(before == 60, "less at once when others use more, and may go on growing");
	second(2048 * MB);
	ok(limit == 66, "half of the way back when they use less");
	before = limit;
	now_ms += RECLAIM_PERIOD_MS / 10;
	memory.available = TOTAL - held * SLAB;
	reclaim_tick(NULL);
	ok(limit == before, "and only by a second's look");
}

/* The limit grows with room for two regions, to avoid oscillation; the last one does as well. */
static void test_last(void)
{
	regions = 4;
	setup(0, false);
	room = 0;
	held = 3;
	now_ms += RECLAIM_PERIOD_MS;
	reclaim_tick(NULL);
	ok(limit == 2, "less where there is no room");
	held = 3;
	room = RECLAIM_CGROUP_SLACK + 2 * SLAB - 1;
	now_ms += RECLAIM_PERIOD_MS;
	reclaim_tick(NULL);
	ok(limit == 2, "no more while there is some for one");
	room++;
	now_ms += RECLAIM_PERIOD_MS;
	reclaim_tick(NULL);
	ok(limit == 4, "the last where there is some for two");

	regions = 1;
	setup(TOTAL, false);
	ok(!limit, "none of one where there is no memory");
	memory.available = TOTAL;
	now_ms += RECLAIM_PERIOD_MS;
	reclaim_tick(NULL);
	ok(limit == 1, "but when there is");
	regions = 200;
}

static void test_refused(void)
{
	setup(6144 * MB, false);
	held = limit;
	refused = true;
	second(2048 * MB);
	ok(limit == held, "no more where the kernel has just refused memory");
	now_ms += RECLAIM_REFUSED_MS - 2 * RECLAIM_PERIOD_MS;
	second(2048 * MB);
	ok(limit == held, "for half a minute");
	second(2048 * MB);
	second(2048 * MB);
	ok(limit > held, "but after that");
}

static void test_cgroup(void)
{
	setup(2048 * MB, false);
	held = 10;
	room = 96 * MB;
	memory.available = TOTAL - 2048 * MB - held * SLAB;
	now_ms += RECLAIM_PERIOD_MS;
	reclaim_tick(NULL);
	ok(ordinary_limit == 11, "no more than the cgroup lets it have, but for what it needs itself");
	room = 0;
	reclaim_tick(NULL);
	ok(limit == 9, "less at once when there is no room");
}

static void test_huge(void)
{
	setup(2048 * MB, true);
	huge = 4;
	held = 4;
	memory.huge_free = 6 * SLAB;
	reclaim.at_once = true;
	reclaim_tick(NULL);
	ok(ordinary_limit == 80 && limit == 90, "reserved huge pages are lent besides");
	setup(2048 * MB, false);
	memory.huge_free = 6 * SLAB;
	reclaim.at_once = true;
	reclaim_tick(NULL);
	ok(limit == 80, "if they are to be used at all");
}

static void test_evict(void)
{
	setup(2048 * MB, false);
	held = mapped = 60;
	reclaim_tick(NULL);
	ok(!batches, "nothing is taken back as long as there is room");
	excess = 12;
	leaving = 3;
	dying = 2;
	reclaim_tick(NULL);
	ok(batches == 1 && batch_of == 7 && !batch_ordinary,
	   "what is too much is, but for what is on its way");
	asks = true;
	reclaim_tick(NULL);
	ok(batches == 1, "one batch is asked about at a time");
	asks = false;
	leaving = 10;
	reclaim_tick(NULL);
	ok(batches == 1, "none where enough is on its way");
	leaving = 0;
	excess_ordinary = 5;
	reclaim_tick(NULL);
	ok(batches == 2 && batch_of == 3 && batch_ordinary,
	   "ordinary memory is got back of what is on ordinary memory");
	mapped = 2;
	reclaim_tick(NULL);
	ok(batches == 2, "nobody is asked where all that is lent is a dying session's");
	mapped = 60;
	client_leaving = true;
	reclaim_tick(NULL);
	ok(batches == 2, "nor while the daemon leaves");
	client_leaving = false;
	reclaim_drain(true);
	ok(batches == 2 && !limit, "nor while it drains, when nothing may be lent");
	reclaim_drain(false);
	ok(batches == 3 && limit, "and all of it may again afterwards");
}

static void test_knob(void)
{
	setup(2048 * MB, false);
	knob = 2048;
	second(2048 * MB);
	ok(reclaim_headroom() == 2048 * MB && limit == 64, "headroom_mb is kept where it is set");
	knob = TOTAL / MB;
	second(2048 * MB);
	second(2048 * MB);
	ok(errors == 1 && reclaim_headroom() == 2048 * MB,
	   "more than there is changes nothing, and is said once");
	knob = UINT64_MAX;
	second(2048 * MB);
	ok(errors == 2 && reclaim_headroom() == 2048 * MB, "nor does what has no bytes");
	knob = 0;
	second(2048 * MB);
	ok(errors == 2 && reclaim_headroom() == KEEP, "0 is what the file says");
}

static void test_pressure(void)
{
	setup(2048 * MB, false);
	memory.available = 4 * KEEP;
	reclaim_pressure(&reclaim_watches[0], EPOLLPRI);
	ok(stats[STAT_PRESSURE] == 1 && reclaim_headroom() == KEEP,
	   "who waits in a cgroup of its own doesn't need a larger headroom");
	memory.available = KEEP;
	reclaim_pressure(&reclaim_watches[1], EPOLLPRI);
	ok(reclaim_headroom() == KEEP && interval_ms < RECLAIM_PERIOD_MS, "the first sign is for a look");
	reclaim_pressure(&reclaim_watches[0], EPOLLPRI);
	ok(reclaim_headroom() > KEEP, "who waits on a machine that is full does");
}

static void test_bad(void)
{
	errors = 0;
	ok(reclaim_init(TOTAL, false) == -EINVAL && errors == 1,
	   "a headroom of all there is is refused, in a line");
	memory.total = 0;
	ok(reclaim_init(KEEP, false) == -EINVAL, "and any where it isn't known what there is");
}

int main(void)
{
	test_limit();
	test_last();
	test_refused();
	test_cgroup();
	test_huge();
	test_evict();
	test_knob();
	test_pressure();
	test_bad();
	return tap_done();
}
