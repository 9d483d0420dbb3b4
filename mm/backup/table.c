// SPDX-License-Identifier: GPL-2.0
/*
 * The table of copies of a swap device. The block layer does not order two writes of a sector, and
 * a slot may be freed and stored to again as soon as its writeback has ended. The table therefore
 * keeps at most one write of a slot in flight. A newer copy is held until that write ends, and
 * replaces an older one that is not in flight. A copy in the table that is not stale is what its
 * slot holds, and the slot's unbacked bit is then set; both end together.
 *
 * The table has shards, each with the slots of some clusters and with its own queue and worker,
 * so that CPUs that store to different clusters share no lock. Nothing orders writes of different
 * slots.
 *
 * Locking: struct farswap_backup_shard names what its lock covers. That lock nests inside the
 * kernel's si->lock, with interrupts off, and in no lock of another shard; no other lock is held
 * around staging_lock.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/wait.h>

#include "internal.h"

/**
 * farswap_backup_find() - find the current copy of a slot
 * @shard:	the slot's shard
 * @offset:	the slot's swap offset
 *
 * Context: under @shard->lock.
 * Return: the copy that is not stale, or NULL.
 */
struct farswap_backup *farswap_backup_find(struct farswap_backup_shard *shard,
					   pgoff_t offset)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&shard->lock);
	hlist_for_each_entry(backup, farswap_backup_bucket(shard, offset), node)
		if (backup->offset == offset && !backup->stale)
			return backup;
	return NULL;
}

/**
 * farswap_backup_inflight() - check for a device write of a slot in flight
 * @shard:	the slot's shard
 * @offset:	the slot's swap offset
 *
 * Context: under @shard->lock.
 * Return: true if there is one, of a stale copy or not.
 */
bool farswap_backup_inflight(struct farswap_backup_shard *shard, pgoff_t offset)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&shard->lock);
	hlist_for_each_entry(backup, farswap_backup_bucket(shard, offset), node)
		if (backup->offset == offset &&
		    backup->state == FARSWAP_BACKUP_INFLIGHT)
			return true;
	return false;
}

/**
 * farswap_backup_insert() - add a copy to the table
 * @shard:	the copy's shard
 * @backup:	the copy
 *
 * Context: under @shard->lock.
 */
void farswap_backup_insert(struct farswap_backup_shard *shard,
			   struct farswap_backup *backup)
{
	lockdep_assert_held(&shard->lock);
	farswap_assert(!farswap_backup_find(shard, backup->offset));
	hlist_add_head(&backup->node, farswap_backup_bucket(shard, backup->offset));
	WRITE_ONCE(shard->nr, shard->nr + 1);
}

/**
 * farswap_backup_withdraw() - undo farswap_backup_insert()
 * @shard:	the copy's shard
 * @backup:	the copy
 *
 * Context: under @shard->lock, which has not been dropped since.
 */
void farswap_backup_withdraw(struct farswap_backup_shard *shard,
			     struct farswap_backup *backup)
{
	lockdep_assert_held(&shard->lock);
	hlist_del(&backup->node);
	WRITE_ONCE(shard->nr, shard->nr - 1);
}

/**
 * farswap_backup_remove() - remove a copy from the table
 * @shard:	the copy's shard
 * @backup:	the copy
 * @drop:	list to which it is moved, for farswap_backup_put_all()
 *
 * Context: under @shard->lock.
 */
void farswap_backup_remove(struct farswap_backup_shard *shard,
			   struct farswap_backup *backup, struct list_head *drop)
{
	farswap_backup_withdraw(shard, backup);
	list_move(&backup->entry, drop);
	if (backup->state == FARSWAP_BACKUP_KEPT)
		shard->nr_kept--;
}

/**
 * farswap_backup_queue() - queue a copy for writing, or hold it while an older write of its
 * slot is in flight
 * @shard:	the copy's shard
 * @backup:	the copy
 *
 * Context: under @shard->lock.
 */
void farswap_backup_queue(struct farswap_backup_shard *shard,
			  struct farswap_backup *backup)
{
	lockdep_assert_held(&shard->lock);
	if (farswap_backup_inflight(shard, backup->offset)) {
		backup->state = FARSWAP_BACKUP_HELD;
		list_del_init(&backup->entry);
		return;
	}
	backup->state = FARSWAP_BACKUP_QUEUED;
	list_move_tail(&backup->entry, &shard->queue);
}

/**
 * farswap_backup_wake() - wake the tasks that wait for writes of a device
 * @shard:	a shard of the device
 *
 * Context: under @shard->lock, since what the tasks wait for in it has changed.
 */
void farswap_backup_wake(struct farswap_backup_shard *shard)
{
	struct farswap_backups *backups = farswap_backups_of(shard);

	lockdep_assert_held(&shard->lock);
	/* A task joins the wait queue before it tests its condition under the lock. */
	if (waitqueue_active(&backups->settled))
		wake_up_all(&backups->settled);
}

/**
 * farswap_backup_retire() - discard the copy of a slot whose contents change
 * @shard:	the copy's shard
 * @backup:	the copy
 * @drop:	list to which it is moved, unless it is being fetched or written: then it becomes
 *		stale
 *
 * Context: under @shard->lock.
 */
void farswap_backup_retire(struct farswap_backup_shard *shard,
			   struct farswap_backup *backup, struct list_head *drop)
{
	lockdep_assert_held(&shard->lock);
	switch (backup->state) {
	case FARSWAP_BACKUP_FETCHING:
	case FARSWAP_BACKUP_INFLIGHT:
		backup->stale = true;
		break;
	default:
		farswap_backup_remove(shard, backup, drop);
		farswap_stat_add(FARSWAP_STAT_BACKUP_SPARED, 1);
		farswap_backup_wake(shard);
	}
}
