// SPDX-License-Identifier: GPL-2.0
/*
 * Tags: a fixed set of requests, of which a new I/O takes one that is not in flight, and
 * waits if there is none. Whoever began them waits for all before it frees them.
 *
 * Locking: tags->lock; nothing but the wait queue's is taken inside it.
 */
#include <linux/bits.h>

#include "internal.h"

/**
 * farswap_tags_init() - no request is in flight
 * @tags:	the tags
 * @nr:		how many, less than BITS_PER_LONG
 */
void farswap_tags_init(struct farswap_tags *tags, unsigned int nr)
{
	spin_lock_init(&tags->lock);
	init_waitqueue_head(&tags->ended);
	tags->all = BIT(nr) - 1;
	tags->free = tags->all;
}

/**
 * farswap_tags_get() - take a request that is not in flight
 * @tags:	the tags, at least one
 *
 * Context: may sleep, as long as one takes to end.
 * Return: its number.
 */
unsigned int farswap_tags_get(struct farswap_tags *tags)
{
	unsigned int tag;

	spin_lock_irq(&tags->lock);
	wait_event_lock_irq(tags->ended, tags->free, tags->lock);
	tag = __ffs(tags->free);
	tags->free &= ~BIT(tag);
	spin_unlock_irq(&tags->lock);
	return tag;
}

/**
 * farswap_tags_put() - a request has ended
 * @tags:	the tags, which may be gone when this returns
 * @tag:	its number
 *
 * Context: any.
 */
void farswap_tags_put(struct farswap_tags *tags, unsigned int tag)
{
	unsigned long flags;

	spin_lock_irqsave(&tags->lock, flags);
	tags->free |= BIT(tag);
	/* Still locked: who waits for the last one frees @tags. */
	wake_up(&tags->ended);
	spin_unlock_irqrestore(&tags->lock, flags);
}

/**
 * farswap_tags_wait() - wait until no request is in flight
 * @tags:	the tags
 *
 * What was written before farswap_tags_put() is seen afterwards. No signal ends it, for
 * @tags may be freed next.
 *
 * Context: may sleep, as long as the requests take to end.
 */
void farswap_tags_wait(struct farswap_tags *tags)
{
	spin_lock_irq(&tags->lock);
	wait_event_lock_irq(tags->ended, tags->free == tags->all, tags->lock);
	spin_unlock_irq(&tags->lock);
}
