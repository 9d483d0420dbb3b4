/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slabs: every move between two states, legal and illegal.
 */
#include <kunit/test.h>

static const bool legal_moves[FARSWAP_SLAB_STATES][FARSWAP_SLAB_STATES] = {
	[FARSWAP_SLAB_UNMAPPED][FARSWAP_SLAB_MAPPING] = true,
	[FARSWAP_SLAB_MAPPING][FARSWAP_SLAB_MAPPED] = true,
	[FARSWAP_SLAB_MAPPING][FARSWAP_SLAB_UNMAPPED] = true,
	[FARSWAP_SLAB_MAPPED][FARSWAP_SLAB_DRAINING] = true,
	[FARSWAP_SLAB_MAPPED][FARSWAP_SLAB_LOST] = true,
	[FARSWAP_SLAB_DRAINING][FARSWAP_SLAB_UNMAPPED] = true,
	[FARSWAP_SLAB_LOST][FARSWAP_SLAB_UNMAPPED] = true,
};

static void slab_test_moves(struct kunit *test)
{
	unsigned int from, to;

	for (from = 0; from < FARSWAP_SLAB_STATES; from++)
		for (to = 0; to < FARSWAP_SLAB_STATES; to++)
			KUNIT_EXPECT_EQ_MSG(test, slab_may_become(from, to),
					    legal_moves[from][to], "from %s to %s",
					    slab_state_names[from], slab_state_names[to]);
}

/* An illegal move changes nothing; a legal one changes the state only. */
static void slab_test_refused(struct kunit *test)
{
	struct farswap_device *device = kunit_kzalloc(test, sizeof(*device), GFP_KERNEL);
	struct farswap_slab *slab = kunit_kzalloc(test, sizeof(*slab), GFP_KERNEL);
	unsigned int from, to, busy;
	bool moved;

	KUNIT_ASSERT_NOT_NULL(test, device);
	KUNIT_ASSERT_NOT_NULL(test, slab);
	slab->device = device;
	for (from = 0; from < FARSWAP_SLAB_STATES; from++)
		for (to = 0; to < FARSWAP_SLAB_STATES; to++) {
			slab->state = from;
			device->busy = from != FARSWAP_SLAB_UNMAPPED;
			spin_lock(&farswap_state_lock);
			moved = slab_become(slab, to);
			spin_unlock(&farswap_state_lock);
			busy = slab->state != FARSWAP_SLAB_UNMAPPED;
			KUNIT_EXPECT_EQ(test, moved, legal_moves[from][to]);
			KUNIT_EXPECT_EQ(test, slab->state, moved ? to : from);
			KUNIT_EXPECT_EQ(test, device->busy, busy);
		}
}

/* A device is busy with the slabs that are not unmapped. */
static void slab_test_busy(struct kunit *test)
{
	struct farswap_device *device = kunit_kzalloc(test, sizeof(*device), GFP_KERNEL);
	struct farswap_slab *slab = kunit_kzalloc(test, sizeof(*slab), GFP_KERNEL);
	static const enum farswap_slab_state lives[][4] = {
		{ FARSWAP_SLAB_MAPPING, FARSWAP_SLAB_UNMAPPED },
		{ FARSWAP_SLAB_MAPPING, FARSWAP_SLAB_MAPPED, FARSWAP_SLAB_DRAINING,
		  FARSWAP_SLAB_UNMAPPED },
		{ FARSWAP_SLAB_MAPPING, FARSWAP_SLAB_MAPPED, FARSWAP_SLAB_LOST,
		  FARSWAP_SLAB_UNMAPPED },
	};
	unsigned int life, step;
	bool moved, busy, good = true;

	KUNIT_ASSERT_NOT_NULL(test, device);
	KUNIT_ASSERT_NOT_NULL(test, slab);
	slab->device = device;
	for (life = 0; life < ARRAY_SIZE(lives); life++)
		for (step = 0; !step || slab->state != FARSWAP_SLAB_UNMAPPED; step++) {
			spin_lock(&farswap_state_lock);
			moved = farswap_slab_set_state(slab, lives[life][step]);
			spin_unlock(&farswap_state_lock);
			busy = slab->state != FARSWAP_SLAB_UNMAPPED;
			if (!moved || slab->state != lives[life][step] || device->busy != busy) {
				good = false;
				break;
			}
		}
	KUNIT_EXPECT_TRUE(test, good);
}

static struct kunit_case slab_cases[] = {
	KUNIT_CASE(slab_test_moves),
	KUNIT_CASE(slab_test_refused),
	KUNIT_CASE(slab_test_busy),
	{}
};

static struct kunit_suite slab_suite = {
	.name		= "farswap_slab",
	.test_cases	= slab_cases,
};

kunit_test_suite(slab_suite);
