/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What limits on memory the daemon's own cgroup and those above it have (version 2).
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdint.h>

/* Find out which it is in; it is taken to stay there. */
void cgroup_init(void);

/* How much more memory they let it have, in bytes; UINT64_MAX without a limit. */
uint64_t cgroup_room(void);

#endif
