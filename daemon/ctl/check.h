/* SPDX-License-Identifier: GPL-2.0 */
/*
 * farswapctl check: what is wrong on this machine, and what to type.
 */
#ifndef CHECK_H
#define CHECK_H

#include "ctl.h"

enum check_result {
	CHECK_OK,
	CHECK_WARN,
	CHECK_FAIL,
	CHECK_RESULTS,
};

/* check-report.c */
void check_begin(void);
/* Return the exit status. */
int check_end(void);
/* Report a result. @cure: what to type, or NULL if nothing is wrong. */
__attribute__((format(printf, 4, 5)))
void check_say(enum check_result result, const char *name, const char *cure, const char *fmt, ...);

/*
 * Start a program without a shell and read its output, standard error included. Return its exit
 * status, or -1 if it can't be run.
 */
int check_run(const char *const *argv, char *output, size_t size);

/* check-kernel.c: the kernel and its hooks, the module, swap devices */
void check_kernel(void);
void check_module(void);
void check_swap(void);

/* check-network.c: RDMA devices, and the donors by what the kernel's log says */
void check_rdma(void);
void check_donors(void);

/* check-donor.c: farswapd */
bool check_has_farswapd(void);
void check_farswapd(void);

#endif
