/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by all parts of farswapctl: the options, the exit status, files, the commands.
 */
#ifndef CTL_H
#define CTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

enum ctl_status {
	CTL_OK = 0,
	CTL_PROBLEM = 1,		/* the command failed, or check found a problem */
	CTL_UNKNOWN = 2,		/* invalid usage, or the answer can't be known */
};

/* Options that only some commands accept. */
enum ctl_option {
	CTL_TIMEOUT = 1,
	CTL_WATCH = 2,
	CTL_PLAIN = 4,
	CTL_HTTP = 8,
	CTL_OUTPUT = 16,
	CTL_LEAVE = 32,
	CTL_LIMIT = 64,
	CTL_PSI = 128,
	CTL_PULL = 256,
	CTL_RATE = 512,
	CTL_STEP = 1024,
	CTL_QMP = 2048,
	CTL_FOR = 4096,
	CTL_AT = 8192,
};

struct ctl_options {
	bool json;
	bool plain;
	bool http;
	const char *output;		/* NULL: standard output */
	const char *socket;		/* NULL: the default */
	const char *root;		/* the directory in place of / */
	unsigned int timeout_s;		/* 0: not given */
	unsigned int watch_s;
	unsigned int given;		/* of enum ctl_option */
	uint64_t leave;			/* bytes; 0: not given, as the next three */
	uint64_t step;
	unsigned int rate;		/* MiB a second */
	unsigned int limit;		/* pages a second */
	double psi;			/* percent; negative: not given */
	bool pull;
	const char *qmp;		/* NULL: as the machine was started */
	unsigned int for_s;		/* 0: not given */
	const char *at;			/* NULL: an address of this machine */
};

extern struct ctl_options ctl;

/* An entry of the table from which the usage, the completion and the dispatch come. */
struct ctl_command {
	const char *name;
	const char *args;		/* as in the usage */
	const char *help;
	unsigned int options;		/* of enum ctl_option */
	unsigned int args_min;
	unsigned int args_max;
	int (*run)(char **args, unsigned int nr);
};

extern const struct ctl_command ctl_commands[];
extern const unsigned int ctl_commands_nr;

/* Exits if there is no such command. */
const struct ctl_command *ctl_find_command(const char *name);
/* Exit if an option was given that the command does not have. */
void ctl_check_options(const struct ctl_command *command);
/* Parse a size such as 512M. Return false if it is none. */
bool ctl_size(const char *text, uint64_t *bytes);
void ctl_usage(FILE *out);
/* Print the completion script for bash. */
void ctl_completion(FILE *out);

/* Print the message, as JSON too if that is wanted, and exit. */
__attribute__((format(printf, 2, 3), noreturn))
void ctl_fail(enum ctl_status status, const char *fmt, ...);
/* Flush the output. */
int ctl_done(enum ctl_status status);

/* file.c: files below the root directory */

/* Read a file as a string. Return NULL with errno if that fails. */
char *file_read(const char *path);
/* Read the first line. Return false with errno if that fails. */
bool file_line(const char *path, char *line, size_t size);
bool file_exists(const char *path);
/* Join the root directory and @path. */
void file_path(char *buf, size_t size, const char *path);
/* Return the number after @word in a text, or 0. */
uint64_t file_number(const char *text, const char *word);
/* Return the next line of a text, and end it with a NUL, or NULL at the end. */
char *file_next(char **cursor);

/* The commands. */
int cmd_status(char **args, unsigned int nr);
int cmd_donors(char **args, unsigned int nr);
int cmd_slabs(char **args, unsigned int nr);
int cmd_stats(char **args, unsigned int nr);
int cmd_explain(char **args, unsigned int nr);
int cmd_check(char **args, unsigned int nr);
int cmd_metrics(char **args, unsigned int nr);
int cmd_top(char **args, unsigned int nr);
int cmd_bench(char **args, unsigned int nr);
int cmd_evict(char **args, unsigned int nr);
int cmd_drain(char **args, unsigned int nr);
int cmd_undrain(char **args, unsigned int nr);
int cmd_vm(char **args, unsigned int nr);
int cmd_shrink(char **args, unsigned int nr);
int cmd_grow(char **args, unsigned int nr);
int cmd_pull(char **args, unsigned int nr);
int cmd_wss(char **args, unsigned int nr);
int cmd_keep(char **args, unsigned int nr);
int cmd_advise(char **args, unsigned int nr);
int cmd_hotplug(char **args, unsigned int nr);
int cmd_cgroup(char **args, unsigned int nr);
int cmd_key(char **args, unsigned int nr);
int cmd_allow(char **args, unsigned int nr);
int cmd_deny(char **args, unsigned int nr);
int cmd_invite(char **args, unsigned int nr);
int cmd_join(char **args, unsigned int nr);

#endif
