// SPDX-License-Identifier: GPL-2.0
/*
 * Pages next to each other often hold data of the same kind. After some attempts to compress pages
 * of an area have failed in a row, most of its pages are not attempted: each failure makes the
 * pause until the next attempt longer, and one success ends all pauses. This file is arithmetic
 * only.
 */
#include <linux/compiler.h>
#include <linux/minmax.h>

#include "slab/attempts.h"

/* Failures in a row that begin the first pause. */
#define ATTEMPTS_FAILURES	4
/* The first pause, pages. Each further failure doubles it, ATTEMPTS_DOUBLED times at most. */
#define ATTEMPTS_PAUSE		4
#define ATTEMPTS_DOUBLED	4

/**
 * farswap_attempts_are_due() - check whether an area's next page should be compressed
 * @attempts:	the area's attempts
 *
 * Context: any.
 * Return: false if the page should be sent as it is.
 */
bool farswap_attempts_are_due(struct farswap_attempts *attempts)
{
	u8 pause = READ_ONCE(attempts->pause);

	if (!pause)
		return true;
	WRITE_ONCE(attempts->pause, pause - 1);
	return false;
}

/**
 * farswap_attempts_note() - record an attempt to compress a page
 * @attempts:	the area's attempts
 * @success:	the page compresses
 *
 * Context: any.
 */
void farswap_attempts_note(struct farswap_attempts *attempts, bool success)
{
	unsigned int failed = READ_ONCE(attempts->failed);

	if (success) {
		/* Other CPUs read this, so it is not written for nothing. */
		if (failed) {
			WRITE_ONCE(attempts->failed, 0);
			WRITE_ONCE(attempts->pause, 0);
		}
		return;
	}
	failed = min(failed + 1, (unsigned int)(ATTEMPTS_FAILURES + ATTEMPTS_DOUBLED));
	WRITE_ONCE(attempts->failed, failed);
	if (failed >= ATTEMPTS_FAILURES)
		WRITE_ONCE(attempts->pause, ATTEMPTS_PAUSE << (failed - ATTEMPTS_FAILURES));
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/attempts-kunit.h"
#endif
