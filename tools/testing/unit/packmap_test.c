// SPDX-License-Identifier: GPL-2.0
/*
 * The units of a packed slab: a million random steps against a model, and several threads. The
 * rest is in mm/tests/packmap-kunit.h.
 */
#include <pthread.h>

#include "shim/kernel.h"
#include "tap.h"

#include "../../../mm/slab/packmap.c"

#define UNITS	4096
#define STEPS	1000000
#define THREADS	4

struct object {
	int unit;
	unsigned int class;
};

static unsigned int next_random(unsigned long *seed)
{
	*seed = *seed * 6364136223846793005UL + 1442695040888963407UL;
	return *seed >> 33;
}

static void test_random(void)
{
	struct farswap_packmap *map = farswap_packmap_alloc(UNITS);
	static struct object objects[UNITS];
	unsigned int nr = 0, used = 0, step, class, i, which;
	bool overlaps = false, unaligned = false, wrong = false;
	static u8 model[UNITS];
	unsigned long seed = 1;
	int unit;

	for (step = 0; step < STEPS; step++) {
		/* The map fills and empties in turns. */
		if (next_random(&seed) % 100 < (step / 20000 % 2 ? 40U : 60U)) {
			class = next_random(&seed) % FARSWAP_CLASSES;
			unit = farswap_packmap_take(map, class);
			if (unit < 0)
				continue;
			unaligned |= unit % (1 << class) || unit + (1 << class) > UNITS;
			for (i = 0; i < 1U << class; i++) {
				overlaps |= model[unit + i]++;
				wrong |= (int)farswap_packmap_start(map, unit + i) != unit;
			}
			wrong |= !farswap_packmap_starts(map, unit);
			objects[nr].unit = unit;
			objects[nr++].class = class;
			used += 1 << class;
		} else if (nr) {
			which = next_random(&seed) % nr;
			unit = objects[which].unit;
			class = objects[which].class;
			for (i = 0; i < 1U << class; i++)
				model[unit + i]--;
			farswap_packmap_put(map, unit, class);
			wrong |= farswap_packmap_starts(map, unit);
			objects[which] = objects[--nr];
			used -= 1 << class;
		}
		wrong |= atomic_read(&map->nr_used) != (int)used;
	}
	ok(!overlaps, "no unit is in two objects");
	ok(!unaligned, "each object is an aligned run inside the map");
	ok(!wrong, "the counts and the first units are right");
	farswap_packmap_free(map);
}

/* Each unit has a place of its own, and no object begins at a place after those of its class. */
static void test_order(void)
{
	struct farswap_packmap *map = farswap_packmap_alloc(UNITS);
	unsigned int unit, class, place;
	bool twice = false, late = false;
	static u8 taken[UNITS];

	for (unit = 0; unit < UNITS; unit++) {
		place = farswap_packmap_order(map, unit);
		twice |= place >= UNITS || taken[place]++;
		for (class = 0; class < FARSWAP_CLASSES; class++)
			late |= unit % (1U << class) == 0 && place >= (unsigned int)UNITS >> class;
	}
	ok(!twice, "each unit has a place of its own");
	ok(!late, "the places of large objects come first");
	farswap_packmap_free(map);
}

static struct farswap_packmap *shared;
static u8 owners[UNITS];
static bool doubly[THREADS];

static void give_back(const struct object *object)
{
	unsigned int n;

	for (n = 0; n < 1U << object->class; n++)
		__atomic_fetch_sub(&owners[object->unit + n], 1, __ATOMIC_RELAXED);
	farswap_packmap_put(shared, object->unit, object->class);
}

/* Each thread marks the units that it holds. */
static void *own_objects(void *arg)
{
	unsigned int me = *(unsigned int *)arg, i, n, class, held = 0;
	struct object mine[64];
	unsigned long seed = me + 1;

	for (i = 0; i < 200000; i++) {
		class = next_random(&seed) % FARSWAP_CLASSES;
		if (held < ARRAY_SIZE(mine) && next_random(&seed) % 2) {
			mine[held].unit = farswap_packmap_take(shared, class);
			mine[held].class = class;
			for (n = 0; mine[held].unit >= 0 && n < 1U << class; n++)
				doubly[me] |= __atomic_fetch_add(&owners[mine[held].unit + n], 1,
								 __ATOMIC_RELAXED);
			held += mine[held].unit >= 0;
		} else if (held) {
			give_back(&mine[--held]);
		}
	}
	while (held)
		give_back(&mine[--held]);
	return NULL;
}

static void test_threads(void)
{
	unsigned int number[THREADS], i, left = 0;
	bool any = false;
	pthread_t thread[THREADS];

	shared = farswap_packmap_alloc(UNITS);
	for (i = 0; i < THREADS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, own_objects, &number[i]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		any |= doubly[i];
	}
	ok(!any, "no two threads get the same unit");
	for (i = 0; i < shared->nr_words; i++)
		left += !!shared->used[i];
	ok(!left && !atomic_read(&shared->nr_used), "nothing is left in use");
	farswap_packmap_free(shared);
}

static void test_no_memory(void)
{
	shim_no_memory = true;
	ok(!farswap_packmap_alloc(UNITS), "no map without memory");
	shim_no_memory = false;
}

int main(void)
{
	test_random();
	test_order();
	test_threads();
	test_no_memory();
	return tap_done();
}
