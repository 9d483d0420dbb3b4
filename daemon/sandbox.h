/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resource limits, and dropped privileges.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdint.h>

/* Check that @bytes, at most @most, can be locked; logs why not. */
int sandbox_check_memory(uint64_t bytes, uint64_t most);
/* Warn if any user of this machine may use its RDMA devices. */
void sandbox_check_nodes(void);
/* Raise the limit of open files; logs if it is too low for @clients. */
void sandbox_raise_files(unsigned int clients);
/* Warn if the kernel allows too few mappings; @regions: those that need one each. */
void sandbox_check_maps(unsigned int clients, unsigned int regions);
/* Best effort: protect the daemon from being swapped out or killed when memory is short. */
void sandbox_lock_memory(void);
/*
 * Drop all privileges except pinning memory. Root becomes @user; if that is empty, the user
 * farswapd if there is one. Return 0, or -errno if any is left; logs why.
 */
int sandbox_drop(const char *user);
/* seal.c: refuse system calls that farswapd does not need once it runs. Best effort. */
void sandbox_seal(void);

#endif
