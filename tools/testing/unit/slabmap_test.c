// SPDX-License-Identifier: GPL-2.0
/*
 * The slab map: geometry, publication of slabs, and the bits of slots, also
 * with several threads on one word.
 */
#include <pthread.h>

#include "shim/kernel.h"
#include "tap.h"

#include "../../../mm/slabmap.c"

bool shim_no_memory;

struct farswap_slab {
	int number;
};

static void test_geometry(void)
{
	struct farswap_slabmap *map = farswap_slabmap_alloc(1000, 9);
	struct farswap_slab a, b;

	ok(map && map->nr_slabs == 2, "1000 slots are two slabs of 512");
	ok(!farswap_slabmap_find(map, 0), "no slab at first");
	ok(farswap_slabmap_insert(map, 511, &a) == &a, "a slab is put in its place");
	ok(farswap_slabmap_insert(map, 3, &b) == &a, "who comes second gets the first's");
	ok(farswap_slabmap_find(map, 0) == &a && farswap_slabmap_find(map, 511) == &a,
	   "it covers its first and its last slot");
	ok(!farswap_slabmap_find(map, 512), "and not the next");
	farswap_slabmap_insert(map, 999, &b);
	ok(farswap_slabmap_find(map, 999) == &b, "the last slot of a short slab");
	ok(!farswap_slabmap_find(map, 1000) && !farswap_slabmap_find(map, 1UL << 40),
	   "past the end there is none");
	ok(farswap_slabmap_slot(map, 513) == 1 && farswap_slabmap_slot(map, 511) == 511,
	   "a slot's place in its slab");
	farswap_slabmap_free(map);
}

static void test_bits(void)
{
	struct farswap_slotbits bits;

	ok(!farswap_slotbits_alloc(&bits, 512), "bits are made");
	ok(!farswap_slotbits_full(bits.remote, 0, 1), "clear at first");
	farswap_slotbits_set(&bits, 60, 10);
	ok(farswap_slotbits_full(bits.remote, 60, 10) &&
	   farswap_slotbits_full(bits.backed, 60, 10), "a range over two words is set");
	ok(!test_bit(59, bits.remote) && !test_bit(70, bits.remote) &&
	   !test_bit(59, bits.backed) && !test_bit(70, bits.backed),
	   "its neighbours are not");
	ok(!farswap_slotbits_full(bits.remote, 59, 3), "a range with a hole is not full");
	ok(farswap_slotbits_clear(&bits, 0, 64) == 4, "clearing tells how many were remote");
	ok(!test_bit(63, bits.remote) && !test_bit(63, bits.backed) &&
	   test_bit(64, bits.remote), "it clears both bits and no other slot's");
	ok(farswap_slotbits_clear(&bits, 0, 64) == 0, "clearing twice clears nothing");
	farswap_slotbits_set(&bits, 511, 1);
	farswap_slotbits_reset(&bits, 512);
	ok(farswap_slotbits_clear(&bits, 0, 512) == 0, "a reset slab has none");
	farswap_slotbits_free(&bits);
	shim_no_memory = true;
	ok(farswap_slotbits_alloc(&bits, 512) == -ENOMEM &&
	   !farswap_slabmap_alloc(8, 9), "no memory is an error, not a crash");
	shim_no_memory = false;
}

#define ROUNDS 200000

static struct farswap_slotbits shared;
static bool lost[8];

/* Each thread owns every eighth slot, so all share all words. */
static void *own_slots(void *arg)
{
	int me = *(int *)arg, i;

	for (i = 0; i < ROUNDS; i++) {
		int slot = (i % 64) * 8 + me;

		farswap_slotbits_set(&shared, slot, 1);
		if (!farswap_slotbits_full(shared.remote, slot, 1) ||
		    farswap_slotbits_clear(&shared, slot, 1) != 1)
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
	ok(farswap_slotbits_clear(&shared, 0, 512) == 0, "nothing is left behind");
	farswap_slotbits_free(&shared);
}

/* Two bits a slot, and little else. */
static void test_size(void)
{
	struct farswap_slabmap *map = farswap_slabmap_alloc(1 << 20, 14);

	ok(map->nr_slabs == 64 &&
	   struct_size(map, slab, map->nr_slabs) <= 64 * 8 + 64,
	   "the map takes a pointer a slab");
	farswap_slabmap_free(map);
}

int main(void)
{
	test_geometry();
	test_bits();
	test_threads();
	test_size();
	return tap_done();
}
