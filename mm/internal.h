/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers of the core, and the functions of the files in this folder.
 *
 * Lock order, outermost first:
 *
 * farswap_main_lock		attach, detach, the donors line
 *   settings_lock		numeric settings, and passing them to the transport
 *   farswap_devices_lock	swapon and swapoff
 *     farswap_devices_walk_lock	the table of devices, for tasks that only walk it
 *       farswap_state_lock	the state of every donor and every slab
 *
 * farswap_devices_lock is taken under the kernel's swapon_mutex and inode locks, so nothing may
 * wait for a swapon or swapoff under it. farswap_state_lock is a spinlock for process context;
 * nothing sleeps under it. Stores and loads take it only to start a mapping; invalidation takes
 * no lock.
 */
#ifndef _FARSWAP_INTERNAL_H
#define _FARSWAP_INTERNAL_H

#include "backup/backup.h"
#include "donor/donor.h"
#include "io/hedge.h"
#include "io/io.h"
#include "latency.h"
#include "migrate/migrate.h"
#include "settings.h"
#include "slab/activity.h"
#include "slab/bounce.h"
#include "slab/cgroup.h"
#include "slab/compress.h"
#include "slab/guard.h"
#include "slab/mapping.h"
#include "slab/pack.h"
#include "slab/protect.h"
#include "slab/slab.h"
#include "slab/slabmap.h"
#include "slab/write.h"
#include "state.h"
#include "stats.h"

/* debugfs.c */
void farswap_debugfs_init(void);
void farswap_debugfs_exit(void);

/* main.c */
int farswap_attach(void);
int farswap_detach(void);

/* swapon.c */
int farswap_devices_flush(void);
unsigned long farswap_devices_stranded(void);
void farswap_devices_remove(void);

/* sessions.c */
void farswap_donors_init(void);
void farswap_donors_exit(void);
int farswap_donors_set(const char *line);
void farswap_donors_open(void);
void farswap_donors_close(void);

#endif /* _FARSWAP_INTERNAL_H */
