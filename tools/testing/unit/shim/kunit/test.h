/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of KUnit as our suites use, in user space: a source file that has one is a
 * program of its own.
 */
#ifndef _FARSWAP_SHIM_KUNIT_TEST_H
#define _FARSWAP_SHIM_KUNIT_TEST_H

#include "../kernel.h"
#include "tap.h"

struct kunit {
	int unused;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
};

struct kunit_suite {
	const char *name;
	const struct kunit_case *test_cases;
};

#define KUNIT_CASE(_run)	{ .run_case = _run }

#define KUNIT_EXPECT_TRUE_MSG(_test, _condition, ...) \
	((void)(_test), ok(_condition, __VA_ARGS__))
#define KUNIT_EXPECT_EQ(_test, _left, _right) \
	KUNIT_EXPECT_TRUE_MSG(_test, (_left) == (_right), "%s is %s", #_right, #_left)
#define KUNIT_EXPECT_LE(_test, _left, _right) \
	KUNIT_EXPECT_TRUE_MSG(_test, (_left) <= (_right), "%s is at most %s", #_left, #_right)
#define KUNIT_EXPECT_GE(_test, _left, _right) \
	KUNIT_EXPECT_TRUE_MSG(_test, (_left) >= (_right), "%s is at least %s", #_left, #_right)
#define KUNIT_EXPECT_EQ_MSG(_test, _left, _right, ...) \
	KUNIT_EXPECT_TRUE_MSG(_test, (_left) == (_right), __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(_test, _left, _right, ...) \
	KUNIT_EXPECT_TRUE_MSG(_test, (_left) <= (_right), __VA_ARGS__)

#define kunit_test_suite(_suite) \
int main(void) \
{ \
	const struct kunit_case *one = (_suite).test_cases; \
	struct kunit test = {}; \
\
	for (; one->run_case; one++) \
		one->run_case(&test); \
	return tap_done(); \
}

#endif /* _FARSWAP_SHIM_KUNIT_TEST_H */
