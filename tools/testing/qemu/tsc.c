// SPDX-License-Identifier: GPL-2.0
/*
 * Prints how fast this machine's time stamp counter runs, in kHz: without KVM a guest
 * sees that counter, and when the machine is busy while the guest boots, what it
 * measures itself may be wrong several times over.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define MEASURE_NS 100000000LL

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The counter and the clock as close together as can be had: others may run between. */
static void both(unsigned long long *ticks, long long *ns)
{
	unsigned long long before, after, best = ~0ULL;
	long long at;
	int i;

	for (i = 0; i < 100; i++) {
		before = __rdtsc();
		at = now_ns();
		after = __rdtsc();
		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = before + best / 2;
		*ns = at;
	}
}

int main(void)
{
	unsigned long long first_ticks, last_ticks;
	long long first_ns, last_ns;

	both(&first_ticks, &first_ns);
	do
		both(&last_ticks, &last_ns);
	while (last_ns - first_ns < MEASURE_NS);
	printf("%.0f\n", (last_ticks - first_ticks) * 1e6 / (last_ns - first_ns));
	return 0;
}
