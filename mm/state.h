/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The locks, the workqueue and the flags that all files share.
 */
#ifndef _FARSWAP_STATE_H
#define _FARSWAP_STATE_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "settings.h"

/*
 * Checks an invariant that no single function shows; slabs.rst lists them. Debug kernels and
 * those that run the KUnit tests check it, and modules that are built with -DFARSWAP_DEBUG.
 */
#if defined(CONFIG_DEBUG_VM) || defined(CONFIG_FARSWAP_KUNIT_TEST) || defined(FARSWAP_DEBUG)
#define farswap_assert(condition)	WARN_ON_ONCE(!(condition))
#else
#define farswap_assert(condition)	BUILD_BUG_ON_INVALID(condition)
#endif

extern struct mutex farswap_main_lock;
extern spinlock_t farswap_state_lock;

/* Runs the works that an I/O needs to complete. */
extern struct workqueue_struct *farswap_wq;
/* Continues loads of sole copies after a failed read, and promotes. No other work waits for it. */
extern struct workqueue_struct *farswap_load_wq;

extern atomic_t farswap_pauses;
bool farswap_attached(void);
void farswap_attached_set(bool attached);
void farswap_zswap_note(void);
bool farswap_zswap_seen(void);

/**
 * farswap_may_store() - check whether pages may be stored remotely and slabs mapped
 *
 * Context: any.
 * Return: true if they may.
 */
static inline bool farswap_may_store(void)
{
	return READ_ONCE(farswap_settings.enabled) && !atomic_read(&farswap_pauses);
}

#endif /* _FARSWAP_STATE_H */
