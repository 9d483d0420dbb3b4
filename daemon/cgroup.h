/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory limits of the daemon's cgroup and its ancestors (version 2).
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdint.h>

/* Find the daemon's cgroup. It is assumed not to change. */
void cgroup_init(void);

/* Bytes that the limits leave; UINT64_MAX without a limit. */
uint64_t cgroup_room(void);

#endif
