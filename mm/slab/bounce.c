// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of bounce pages. A page is copied before it is sealed: a task may write to it, and
 * what is sealed in its place could not be kept. The pool exists while a device is protected. It
 * is a reserve: further pages are allocated if there is memory at once.
 *
 * Locking: bounce_lock; nothing is taken inside it.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "slab/bounce.h"

/* The pool has this part of memory, and so many pages at least and at most. */
#define BOUNCE_PART	1024
#define BOUNCE_MIN	64UL
#define BOUNCE_MAX	(SZ_64M >> PAGE_SHIFT)

static DEFINE_SPINLOCK(bounce_lock);	/* covers all below */
static struct farswap_bounce *bounce_pool;
static unsigned int bounce_nr;
/* Number of pages that the pool keeps. */
static unsigned int bounce_wanted;

static void bounce_free(struct farswap_bounce *bounce)
{
	__free_page(bounce->page);
	kfree(bounce);
}

static struct farswap_bounce *bounce_alloc(gfp_t gfp)
{
	struct farswap_bounce *bounce = kmalloc(sizeof(*bounce), gfp | __GFP_NOWARN);

	if (!bounce)
		return NULL;
	bounce->page = alloc_page(gfp | __GFP_NOWARN);
	if (bounce->page)
		return bounce;
	kfree(bounce);
	return NULL;
}

static struct farswap_bounce *bounce_take(void)
{
	struct farswap_bounce *bounce;
	unsigned long flags;

	spin_lock_irqsave(&bounce_lock, flags);
	bounce = bounce_pool;
	if (bounce) {
		bounce_pool = bounce->next;
		bounce_nr--;
	}
	spin_unlock_irqrestore(&bounce_lock, flags);
	return bounce ?: bounce_alloc(GFP_NOWAIT | __GFP_NOMEMALLOC);
}

/**
 * farswap_bounce_get() - get bounce pages
 * @nr:		number of pages
 *
 * Context: any up to softirq; does not wait for memory.
 * Return: a list of so many; NULL if there is no memory now.
 */
struct farswap_bounce *farswap_bounce_get(unsigned int nr)
{
	struct farswap_bounce *list = NULL, *bounce;

	while (nr--) {
		bounce = bounce_take();
		if (!bounce) {
			farswap_bounce_put(list);
			return NULL;
		}
		bounce->next = list;
		list = bounce;
	}
	return list;
}

/**
 * farswap_bounce_put() - return bounce pages
 * @bounce:	the first of a list, or NULL
 *
 * Context: any up to interrupts.
 */
void farswap_bounce_put(struct farswap_bounce *bounce)
{
	struct farswap_bounce *next, *rest = NULL;
	unsigned long flags;

	if (!bounce)
		return;
	spin_lock_irqsave(&bounce_lock, flags);
	for (; bounce; bounce = next) {
		next = bounce->next;
		if (bounce_nr < bounce_wanted) {
			bounce->next = bounce_pool;
			bounce_pool = bounce;
			bounce_nr++;
		} else {
			bounce->next = rest;
			rest = bounce;
		}
	}
	spin_unlock_irqrestore(&bounce_lock, flags);
	for (; rest; rest = next) {
		next = rest->next;
		bounce_free(rest);
	}
}

/**
 * farswap_bounce_fill() - fill the pool, unless it was filled before
 *
 * Context: may sleep; one caller at a time.
 * Return: false if there is no memory.
 */
bool farswap_bounce_fill(void)
{
	unsigned int wanted = clamp(totalram_pages() / BOUNCE_PART, BOUNCE_MIN,
				    (unsigned long)BOUNCE_MAX);
	struct farswap_bounce *list = NULL, *bounce;
	unsigned int nr;

	if (READ_ONCE(bounce_wanted))
		return true;
	for (nr = 0; nr < wanted; nr++) {
		bounce = bounce_alloc(GFP_KERNEL | __GFP_NORETRY);
		if (!bounce)
			break;
		bounce->next = list;
		list = bounce;
	}
	if (nr == wanted) {
		spin_lock_irq(&bounce_lock);
		bounce_wanted = wanted;
		spin_unlock_irq(&bounce_lock);
	}
	farswap_bounce_put(list);
	return nr == wanted;
}

/**
 * farswap_bounce_drain() - empty the pool
 *
 * Context: may sleep; no bounce page is in use.
 */
void farswap_bounce_drain(void)
{
	struct farswap_bounce *list;

	spin_lock_irq(&bounce_lock);
	list = bounce_pool;
	bounce_pool = NULL;
	bounce_nr = 0;
	bounce_wanted = 0;
	spin_unlock_irq(&bounce_lock);
	farswap_bounce_put(list);
}
