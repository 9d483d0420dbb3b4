// SPDX-License-Identifier: GPL-2.0
/*
 * Activity: the moving average, its decay, and the crossing of a threshold.
 */
#include "shim/kernel.h"
#include "tap.h"

#include "../../../mm/activity.c"

bool shim_no_memory;

/* A steady rate ends up as that rate. */
static void test_steady(void)
{
	struct farswap_activity a = { .second = 100 };
	u32 second, value;

	for (second = 100; second < 160; second++)
		farswap_activity_account(&a, second, 1000);
	value = farswap_activity_read(&a, 159);
	ok(value >= 990 && value <= 1000, "a steady 1000 a second reads as 1000");
}

/* One second of n gives alpha * n, and then (1 - alpha) of it each second. */
static void test_decay(void)
{
	struct farswap_activity a = { .second = 7 };
	u32 before, after;

	farswap_activity_account(&a, 7, 1000);
	before = farswap_activity_read(&a, 7);
	ok(before >= 198 && before <= 201, "alpha is 0.2");
	after = farswap_activity_read(&a, 8);
	ok(after >= before - 2 && after <= before + 1,
	   "a second that has just ended counts in full");
	after = farswap_activity_read(&a, 9);
	ok(after >= before * 78 / 100 && after <= before * 82 / 100,
	   "an idle second leaves 0.8");
	ok(farswap_activity_read(&a, 7 + 1000) == 0, "long idle is 0");
	ok(farswap_activity_read(&a, 7 + 40) <= 1, "40 idle seconds leave nothing");
}

/* Looking at it does not change it; lazy and eager updates agree. */
static void test_lazy(void)
{
	struct farswap_activity lazy = { .second = 0 }, eager = { .second = 0 };
	u32 second;

	farswap_activity_account(&lazy, 0, 5000);
	farswap_activity_account(&eager, 0, 5000);
	for (second = 1; second < 12; second++) {
		farswap_activity_account(&eager, second, 0);
		farswap_activity_read(&lazy, second);
	}
	ok(farswap_activity_read(&lazy, 12) == farswap_activity_read(&eager, 12),
	   "idle seconds need not be visited");
}

/* The crossing is noticed within the second that brings it. */
static void test_hot(void)
{
	struct farswap_activity a = { .second = 1 };
	int pages = 0;

	ok(farswap_activity_is_hot(&a, 1, 0), "threshold 0: hot from the beginning");
	while (!farswap_activity_is_hot(&a, 1, 20) && pages < 1000) {
		farswap_activity_account(&a, 1, 1);
		pages++;
	}
	ok(pages > 99 && pages < 105, "20 a second is crossed by the 100th page at once");
	ok(farswap_activity_is_hot(&a, 2, 20), "still hot just after the second");
	ok(!farswap_activity_is_hot(&a, 9, 20), "no longer hot when idle");
}

/* The clock wraps; absurd counts don't overflow. */
static void test_limits(void)
{
	struct farswap_activity a = { .second = UINT32_MAX };
	u32 value;

	farswap_activity_account(&a, UINT32_MAX, 1000);
	value = farswap_activity_read(&a, 0);
	ok(value >= 198 && value <= 201, "the second's counter may wrap");
	farswap_activity_account(&a, 1, UINT32_MAX);
	ok(farswap_activity_read(&a, 1) <= 1 << 22, "a huge count is capped");
}

int main(void)
{
	test_steady();
	test_decay();
	test_lazy();
	test_hot();
	test_limits();
	return tap_done();
}
