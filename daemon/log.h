/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Log messages for the administrator: one line each, to stderr.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERR = 3,	/* syslog's numbers */
	LOG_LEVEL_WARN = 4,
	LOG_LEVEL_INFO = 6,
};

/* With @levels each line begins with <N>, the priority in the journal's format. */
void log_init(bool levels);
void log_print(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Print a message about @peer ("address:port"), which begins with its name. Peers can cause these
 * at will, so they are limited: for each address, so that none uses up those of the others, and in
 * all. Suppressed messages are counted, and the count is logged later.
 */
void log_peer(const char *peer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_err(...)	log_print(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...)	log_print(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)	log_print(LOG_LEVEL_INFO, __VA_ARGS__)

#endif
