/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TAP output for the unit tests: a line a check, the plan at the end.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_tests, tap_failures;

__attribute__((format(printf, 4, 5)))
static inline bool tap_ok(bool good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tap_tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!good) {
		tap_failures++;
		printf("# failed at %s:%d\n", file, line);
	}
	return good;
}

#define ok(good, ...)	tap_ok(good, __FILE__, __LINE__, __VA_ARGS__)

static inline int tap_done(void)
{
	printf("1..%d\n", tap_tests);
	return tap_failures ? 1 : 0;
}

#endif
