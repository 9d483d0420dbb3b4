/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TAP output for the unit tests: a plan at the end, one line a check.
 */
#ifndef _FARSWAP_TAP_H
#define _FARSWAP_TAP_H

#include <stdbool.h>
#include <stdio.h>

static int tap_tests, tap_failures;

static inline void tap_ok(bool good, const char *what, const char *file, int line)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tap_tests, what);
	if (good)
		return;
	tap_failures++;
	printf("# failed at %s:%d\n", file, line);
}

#define ok(_good, _what) tap_ok(_good, _what, __FILE__, __LINE__)

static inline int tap_done(void)
{
	printf("1..%d\n", tap_tests);
	return tap_failures ? 1 : 0;
}

#endif /* _FARSWAP_TAP_H */
