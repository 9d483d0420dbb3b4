/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the process may have, and what it gives up.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdint.h>

/* Whether @bytes, at most @most, can be locked; says in the log why not. */
int sandbox_check_memory(uint64_t bytes, uint64_t most);
/* As many open files as it may have, two for each client; says in the log if too few. */
void sandbox_raise_files(unsigned int clients);
/* Warns where the kernel allows too few mappings; @regions: those that need their own. */
void sandbox_check_maps(unsigned int clients, unsigned int regions);
/* Best effort: the daemon is neither swapped out nor killed for others' memory. */
void sandbox_lock_memory(void);
/* Gives up all privileges but the one to pin memory. */
void sandbox_drop(void);

#endif
