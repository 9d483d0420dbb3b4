/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's log.
 */
#ifndef KMSG_H
#define KMSG_H

#include <stdbool.h>
#include <stdint.h>

#define KMSG_TEXT	512

struct kmsg_line {
	int level;			/* 3: error, 4: warning, 6: information */
	uint64_t us;			/* since the boot */
	char text[KMSG_TEXT];
};

/* Return false if the log can't be read. */
bool kmsg_can_read(void);
/* Return the last line of the log that contains both words, or NULL. */
const struct kmsg_line *kmsg_last(const char *word, const char *other);
/*
 * Copy what follows @start in the last line that has it. Return false if there is none since
 * farswap was last detached.
 */
bool kmsg_text(const char *start, char text[KMSG_TEXT]);
/* Seconds since a line was logged. */
uint64_t kmsg_age_s(const struct kmsg_line *line);

#endif
