// SPDX-License-Identifier: GPL-2.0
/*
 * Headroom: memory that others use, and that is left for them, is never held; a moving
 * average smooths; a shortage does not wait for it; pressure increases the headroom.
 */
#include "headroom.c"

#include "tap.h"

#define MB	(1ULL << 20)
#define TOTAL	(1000 * MB)
#define KEEP	(100 * MB)

static struct headroom h;

/* Sample while others use @used and the pool holds what was allowed last. */
static uint64_t second(uint64_t used, uint64_t held)
{
	uint64_t available = TOTAL > used + held ? TOTAL - used - held : 0;

	return headroom_sample(&h, available, held, true);
}

static void test_steady(void)
{
	uint64_t held = 0;
	int i;

	headroom_init(&h, TOTAL, KEEP);
	held = second(300 * MB, 0);
	ok(held == 600 * MB, "what others don't use, less the headroom");
	for (i = 0; i < 20; i++)
		held = second(300 * MB, held);
	ok(held == 600 * MB, "and what we hold ourselves changes nothing");
}

static void test_average(void)
{
	headroom_init(&h, TOTAL, KEEP);
	second(300 * MB, 0);
	ok(second(310 * MB, 500 * MB) == 598 * MB, "a fifth of a rise counts at once");
	ok(second(310 * MB, 500 * MB) / MB == 596, "and of the rest in the next second");
	ok(second(200 * MB, 500 * MB) > 596 * MB, "a fall likewise");
}

static void test_short(void)
{
	uint64_t held;
	int i;

	headroom_init(&h, TOTAL, KEEP);
	second(300 * MB, 0);
	ok(second(360 * MB, 594 * MB) == 505 * MB,
	   "what has grown, and would in another second, but for a quarter of the headroom");
	ok(headroom_sample(&h, 80 * MB, 540 * MB, false) == 485 * MB,
	   "between the seconds too, with no less growth than in the last");
	ok(headroom_sample(&h, 80 * MB, 540 * MB, false) == 485 * MB, "which moves nothing");
	ok(second(500 * MB, 400 * MB) == 325 * MB, "growth counts up to the headroom");
	for (held = 594 * MB, i = 0; i < 20 && held; i++)
		held = second(TOTAL, held);
	ok(!held, "nothing in the end, when others want it all");
}

static void test_pressure(void)
{
	uint64_t calm, held;
	int i;

	headroom_init(&h, TOTAL, KEEP);
	calm = second(300 * MB, 0);
	headroom_pressure(&h);
	ok(second(300 * MB, 0) == calm - 25 * MB, "pressure asks for a quarter more");
	for (i = 0; i < 100; i++)
		headroom_pressure(&h);
	held = second(300 * MB, 0);
	ok(held == calm - 100 * MB, "for twice as much at most");
	for (i = 0; i < 10; i++)
		held = second(300 * MB, 0);
	ok(held > calm - 80 * MB && held < calm - 60 * MB, "a third less ten seconds later");
	for (i = 0; i < 1000; i++)
		held = second(300 * MB, 0);
	ok(held == calm, "and forgotten in the end");
}

static void test_looks(void)
{
	int i;

	headroom_init(&h, TOTAL, KEEP);
	second(300 * MB, 500 * MB);
	ok(headroom_interval_ms(&h, 200 * MB) == 1000, "a look a second where there is plenty");
	ok(headroom_interval_ms(&h, 199 * MB) == 200, "twice as long as before where there isn't");
	second(301 * MB, 500 * MB);
	ok(headroom_interval_ms(&h, 199 * MB) == 400, "and again, as nobody grows much");
	for (i = 0; i < 3; i++)
		second(300 * MB, 500 * MB);
	ok(headroom_interval_ms(&h, 199 * MB) == 1000, "to a second");
	headroom_sample(&h, 198 * MB, 500 * MB, false);
	ok(headroom_interval_ms(&h, 198 * MB) == 100, "a tenth of one when somebody does");
	headroom_sample(&h, 199 * MB, 500 * MB, false);
	ok(headroom_interval_ms(&h, 199 * MB) == 200, "not when it gets less");
}

/* Never more than the machine has, whatever the kernel reports. */
static void test_random(void)
{
	uint64_t seed = 1, available, held;
	bool good = true;
	int i;

	headroom_init(&h, TOTAL, KEEP);
	for (i = 0; i < 100000; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		available = (seed >> 33) % (2 * TOTAL);
		held = (seed >> 13) % (2 * TOTAL);
		if (!(seed >> 60))
			headroom_pressure(&h);
		good &= headroom_sample(&h, available, held, seed >> 62) <= TOTAL - KEEP &&
			h.extra <= KEEP && h.used <= TOTAL;
	}
	ok(good, "random samples stay in bounds");
}

int main(void)
{
	test_steady();
	test_average();
	test_short();
	test_pressure();
	test_looks();
	test_random();
	return tap_done();
}
