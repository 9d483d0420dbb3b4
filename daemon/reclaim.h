/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits the pool to what the machine can spare.
 */
#ifndef RECLAIM_H
#define RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Start to monitor memory, and set the pool's first limit. @headroom: bytes to leave available;
 * 0: the pool may use all its memory, unless the module's headroom_mb is set.
 */
int reclaim_init(uint64_t headroom, bool hugepages);
/* Lend nothing, whatever is available; or as much as is available, at once. */
void reclaim_drain(bool drained);
/* Bytes to leave available now. */
uint64_t reclaim_headroom(void);
void reclaim_exit(void);

#endif
