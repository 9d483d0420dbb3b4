// SPDX-License-Identifier: GPL-2.0
/*
 * The slab map, with several threads on one word of bits, and without memory. The rest is
 * in mm/tests/slabmap-kunit.h.
 */
#include <pthread.h>

#include "shim/kernel.h"
#include "tap.h"

#include "../../../mm/slab/slabmap.c"

#define ROUNDS 200000

static struct farswap_slotbits shared;
static bool lost[8];

/* Each thread owns every eighth slot, so all share all words. */
static void *own_slots(void *arg)
{
	int me = *(int *)arg, i;

	for (i = 0; i < ROUNDS; i++) {
		int slot = (i % 64) * 8 + me;

		farswap_slotbits_set(shared.remote, slot, 1);
		if (!farswap_slotbits_full(shared.remote, slot, 1) ||
		    farswap_slotbits_clear(shared.remote, slot, 1) != 1)
			lost[me] = true;
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t thread[8];
	int number[8], i, wrong = 0;

	farswap_slotbits_alloc(&shared, 512);
	for (i = 0; i < 8; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, own_slots, &number[i]);
	}
	for (i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < 8; i++)
		wrong += lost[i];
	ok(!wrong, "neighbouring slots in one word don't disturb each other");
	ok(farswap_slotbits_clear(shared.remote, 0, 512) == 0, "nothing is left behind");
	farswap_slotbits_free(&shared);
}

static void test_no_memory(void)
{
	struct farswap_slotbits bits;

	shim_no_memory = true;
	ok(farswap_slotbits_alloc(&bits, 512) == -ENOMEM &&
	   !farswap_slabmap_alloc(8, 9, 9, 0, 0), "no memory is an error, not a crash");
	shim_no_memory = false;
}

int main(void)
{
	test_threads();
	test_no_memory();
	return tap_done();
}
