/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The decision whether to attempt to compress a page.
 */
#ifndef _FARSWAP_ATTEMPTS_H
#define _FARSWAP_ATTEMPTS_H

#include <linux/types.h>

/**
 * struct farswap_attempts - attempts to compress the pages of an area
 * @failed:	attempts that failed, in a row; it does not count beyond the longest pause
 * @pause:	pages that are not attempted before the next attempt
 *
 * Written without a lock: a lost update makes a pause longer or shorter.
 */
struct farswap_attempts {
	u8 failed;
	u8 pause;
};

bool farswap_attempts_are_due(struct farswap_attempts *attempts);
void farswap_attempts_note(struct farswap_attempts *attempts, bool success);

#endif /* _FARSWAP_ATTEMPTS_H */
