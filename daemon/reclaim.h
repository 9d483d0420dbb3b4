/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeps the pool within what the machine can spare.
 */
#ifndef RECLAIM_H
#define RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Begins to watch, and sets the pool's first limit. @headroom: bytes to be left
 * available; 0: the pool has all its memory, unless the module's headroom_mb says else.
 */
int reclaim_init(uint64_t headroom, bool hugepages);
/* Nothing may be lent, whatever is available; or as much as is, at once. */
void reclaim_drain(bool drained);
/* What is to be left available now, bytes. */
uint64_t reclaim_headroom(void);
void reclaim_exit(void);

#endif
