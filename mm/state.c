// SPDX-License-Identifier: GPL-2.0
/*
 * The state that all files share: the locks, the settings, the workqueue for I/O, and whether
 * farswap is attached or paused and whether zswap may hold pages.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>

#define CREATE_TRACE_POINTS
#include <trace/events/farswap.h>

#include "internal.h"

/* Covers attaching, detaching and the donors line. */
DEFINE_MUTEX(farswap_main_lock);
/* Covers the states of donors, slabs and mappings, and the links between them. */
DEFINE_SPINLOCK(farswap_state_lock);

struct farswap_settings farswap_settings = {
	.protect	= FARSWAP_PROTECT_UNSET,
	.enabled	= 1,
	.hedge		= 2,
	.slab_mb	= 64,
	.staging_mb	= FARSWAP_STAGING_UNSET,
	.hotslab	= 2,
	.poll_us	= 20,
	.prefetch_pages	= 32,
	.io_timeout_ms	= 1000,
	.grace_ms	= 10000,
	.replicas	= 2,
	.repair_mb	= 64,
};

struct workqueue_struct *farswap_wq;
struct workqueue_struct *farswap_load_wq;

/* Number of reasons not to store remotely: one while detached, one while suspended. */
atomic_t farswap_pauses = ATOMIC_INIT(1);
static bool state_attached;	/* written under farswap_main_lock */
static bool state_zswap_seen;

/**
 * farswap_attached() - check whether farswap is attached
 *
 * Context: any.
 * Return: true if the hook is in place.
 */
bool farswap_attached(void)
{
	return READ_ONCE(state_attached);
}

/**
 * farswap_attached_set() - record that the hook was put in place or removed
 * @attached:	true if it is in place now
 *
 * Context: under farswap_main_lock.
 */
void farswap_attached_set(bool attached)
{
	lockdep_assert_held(&farswap_main_lock);
	WRITE_ONCE(state_attached, attached);
}

/**
 * farswap_zswap_note() - record that zswap took a page
 *
 * From now on a clean page in memory may be newer than the device's copy. The hook calls this with
 * the page's folio locked, before the page can be promoted.
 *
 * Context: any.
 */
void farswap_zswap_note(void)
{
	if (!READ_ONCE(state_zswap_seen))
		WRITE_ONCE(state_zswap_seen, true);
}

/**
 * farswap_zswap_seen() - check whether zswap has taken pages
 *
 * Context: any.
 * Return: true if it has since the module was loaded.
 */
bool farswap_zswap_seen(void)
{
	return READ_ONCE(state_zswap_seen);
}
