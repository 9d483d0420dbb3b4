/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mappings: every move from one state to another.
 */
#include <kunit/test.h>

static const bool mapping_legal_moves[FARSWAP_MAPPING_STATES][FARSWAP_MAPPING_STATES] = {
	[FARSWAP_MAPPING_NEW][FARSWAP_MAPPING_LIVE] = true,
	[FARSWAP_MAPPING_NEW][FARSWAP_MAPPING_DEAD] = true,
	[FARSWAP_MAPPING_LIVE][FARSWAP_MAPPING_EVACUATING] = true,
	[FARSWAP_MAPPING_LIVE][FARSWAP_MAPPING_DEAD] = true,
	[FARSWAP_MAPPING_EVACUATING][FARSWAP_MAPPING_DEAD] = true,
};

/* A move that is not legal changes nothing. */
static void mapping_test_moves(struct kunit *test)
{
	struct farswap_mapping *mapping = kunit_kzalloc(test, sizeof(*mapping), GFP_KERNEL);
	unsigned int from, to;
	bool moved;

	KUNIT_ASSERT_NOT_NULL(test, mapping);
	for (from = 0; from < FARSWAP_MAPPING_STATES; from++)
		for (to = 0; to < FARSWAP_MAPPING_STATES; to++) {
			mapping->state = from;
			spin_lock(&farswap_state_lock);
			moved = mapping_become(mapping, to);
			spin_unlock(&farswap_state_lock);
			KUNIT_EXPECT_EQ_MSG(test, moved, mapping_legal_moves[from][to],
					    "from %u to %u", from, to);
			KUNIT_EXPECT_EQ(test, mapping->state, moved ? to : from);
		}
}

/* Test which I/O may begin in each state, before and after the deadline has passed. */
static void mapping_test_good_for(struct kunit *test)
{
	struct farswap_mapping *mapping = kunit_kzalloc(test, sizeof(*mapping), GFP_KERNEL);
	unsigned int state;

	KUNIT_ASSERT_NOT_NULL(test, mapping);
	for (state = 0; state < FARSWAP_MAPPING_STATES; state++) {
		mapping->state = state;
		clear_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
		KUNIT_EXPECT_EQ(test, farswap_mapping_goes(mapping),
				state == FARSWAP_MAPPING_EVACUATING ||
				state == FARSWAP_MAPPING_DEAD);
		KUNIT_EXPECT_EQ(test, farswap_mapping_ends(mapping),
				state == FARSWAP_MAPPING_DEAD);
		set_bit(FARSWAP_MAPPING_DEADLINE_PASSED, &mapping->flags);
		KUNIT_EXPECT_TRUE(test, farswap_mapping_ends(mapping));
	}
}

static struct kunit_case mapping_cases[] = {
	KUNIT_CASE(mapping_test_moves),
	KUNIT_CASE(mapping_test_good_for),
	{}
};

static struct kunit_suite mapping_suite = {
	.name		= "farswap_mapping",
	.test_cases	= mapping_cases,
};

kunit_test_suite(mapping_suite);
