/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units whose memory can be shrunk and grown: virtual machines, services, any cgroup.
 */
#ifndef UNIT_H
#define UNIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define UNIT_CGROUPS	"/sys/fs/cgroup"
#define UNIT_NAME	128
#define UNIT_PATH	512
#define UNIT_MIB(bytes)	((unsigned long long)((bytes) >> 20))

struct unit {
	char name[UNIT_NAME];
	char cgroup[UNIT_PATH];		/* below UNIT_CGROUPS; begins with a slash */
	unsigned int pid;		/* of a machine, or as given; 0: all of the cgroup */
};

/* Find a unit by its name, path or PID. Exits with a line that says why it can't be used. */
void unit_find(struct unit *unit, const char *name);
bool unit_exists(const struct unit *unit);
/* The cgroup of a process. Return false if there is none. */
bool unit_cgroup_of(unsigned int pid, char cgroup[UNIT_PATH]);
/* Read a number from a file of a cgroup; UINT64_MAX for "max", 0 without such a file. */
uint64_t unit_number(const char *cgroup, const char *file);
/* Return 0 or -errno. */
__attribute__((format(printf, 3, 4)))
int unit_write(const struct unit *unit, const char *file, const char *fmt, ...);
/* The memory that the unit has now. */
uint64_t unit_current(const struct unit *unit);
/* A line of memory.stat. */
uint64_t unit_stat(const struct unit *unit, const char *word);
/* Call @fn for each process of a cgroup and those below it, until it returns false. */
bool unit_each_pid(const char *cgroup, bool (*fn)(unsigned int pid, void *arg), void *arg);
/* Catch the signals that end a loop. */
void unit_catch_signals(void);
bool unit_stopped(void);
/* Print a warning on standard error. */
__attribute__((format(printf, 1, 2)))
void unit_warn(const char *fmt, ...);
/* Warn if there is no swap, or if it is not remote. */
void unit_check_swap(void);

/* How much of the time the unit's tasks have waited for memory. */
struct unit_pressure {
	const struct unit *unit;
	uint64_t at_us;
	uint64_t stall_us;
	double percent;
};

/* Return false if this kernel does not measure it. */
bool unit_pressure_begin(struct unit_pressure *pressure, const struct unit *unit);
/* Update and return the percentage, over @ms at least. */
double unit_pressure(struct unit_pressure *pressure, unsigned int ms);

/* machine.c */
struct machine {
	char name[UNIT_NAME];
	unsigned int pid;
	char cgroup[UNIT_PATH];		/* "" without one of its own */
	char sharer[UNIT_NAME];		/* another process in its cgroup, or "" */
	uint64_t memory;
	uint64_t resident;
	uint64_t swapped;
	uint64_t page;			/* size of the pages that back it */
	uint64_t locked;
	uint64_t pinned;
	bool shared;			/* as share=on */
	bool kvm;
};

/* Call @fn for each virtual machine. Return how many there are. */
unsigned int machine_each(void (*fn)(const struct machine *machine, void *arg), void *arg);
/* Find by name or PID. Return false if there is none. */
bool machine_find(struct machine *machine, const char *name);
/* Exit with the reason if no memory of it can be swapped. */
void machine_require(const struct machine *machine);
/* Read the options with which a process was started. Returns the number; free both. */
unsigned int machine_args(unsigned int pid, char **text, char ***args);
int machine_list(void);

/* pull.c */
struct pull_result {
	uint64_t bytes;
	const char *end;	/* why it ended early, or NULL */
};

struct pull_result unit_pull(const struct unit *unit);

/* action.c: what changes a machine, and the time */
int action_write(const char *path, const char *text);
int action_pidfd(unsigned int pid);
ssize_t action_willneed(int pidfd, const struct iovec *ranges, unsigned int nr);
uint64_t action_now_us(void);
/* Sleep, or less if a signal comes. */
void action_sleep_ms(unsigned int ms);
int action_connect(const char *path);

#endif
