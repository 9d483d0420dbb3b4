/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Staged copies of pages, and their writes to the swap device after writeback has ended.
 */
#ifndef _FARSWAP_BACKUP_H
#define _FARSWAP_BACKUP_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/pgtable.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct cgroup_subsys_state;
struct farswap_device;
struct farswap_mapping;
struct farswap_object;
struct farswap_slab;
struct farswap_store;
struct folio;
struct page;

/**
 * enum farswap_backup_state - states of a staged page
 * @FARSWAP_BACKUP_FETCHING: it is being read from the region; it is complete in all other states
 * @FARSWAP_BACKUP_HELD:	an older write of the same slot is in flight
 * @FARSWAP_BACKUP_QUEUED:	the worker will submit it
 * @FARSWAP_BACKUP_INFLIGHT:	its device write is in flight
 * @FARSWAP_BACKUP_KEPT:	its device write failed, and there is no other copy
 */
enum farswap_backup_state {
	FARSWAP_BACKUP_FETCHING,
	FARSWAP_BACKUP_HELD,
	FARSWAP_BACKUP_QUEUED,
	FARSWAP_BACKUP_INFLIGHT,
	FARSWAP_BACKUP_KEPT,
};

/**
 * struct farswap_backup_owner - part of a store that waits for backup writes
 * @backed:	called when one of them ends, with 0 or -errno; any context up to interrupts
 */
struct farswap_backup_owner {
	void (*backed)(struct farswap_backup_owner *owner, int error);
};

/**
 * struct farswap_backup - the staged copy of one slot
 * @entry:	entry in the pool, in the shard's queue, or in the list of its bio
 * @node:	entry in the shard's table
 * @page:	the staging page
 * @slab:	the slab of the slot
 * @owner:	part of a store whose remote write failed and that waits for this write; or NULL
 * @css:	the cgroup to which the write is charged, referenced; or NULL
 * @sector:	sector on the block device, in units of 512 bytes
 * @offset:	the slot's swap offset
 * @slot:	the slot's place in @slab
 * @cpu:	the CPU that took the staging page last; staging_lock
 * @share:	share of the pool that the staging page counts against; staging_lock
 * @state:	enum farswap_backup_state
 * @stale:	the slot's contents have changed since, so this copy must not be read
 *
 * The lock of its shard covers it while it is in the table.
 */
struct farswap_backup {
	struct list_head entry;
	struct hlist_node node;
	struct page *page;
	struct farswap_slab *slab;
	struct farswap_backup_owner *owner;
	struct cgroup_subsys_state *css;
	sector_t sector;
	pgoff_t offset;
	unsigned int slot;
	int cpu;
	u16 share;
	u8 state;
	bool stale;
};

/* log2 of the slots that are in one shard together. A large folio has no more, and is aligned. */
#define FARSWAP_BACKUP_CLUSTER_SHIFT	PMD_ORDER
/* log2 of the shards of a device, of the buckets in each of them, and of those in a cache line. */
#define FARSWAP_BACKUP_SHARDS_SHIFT	6
#define FARSWAP_BACKUP_BUCKETS_SHIFT	6
#define FARSWAP_BACKUP_GROUP_SHIFT	3

/**
 * struct farswap_backup_shard - the pending backup writes of some clusters of a swap device
 * @lock:	covers all fields; taken with interrupts off
 * @nr:		number of copies in @table; loads and stores read it without the lock
 * @nr_kept:	number of those in state FARSWAP_BACKUP_KEPT
 * @nth:	index of the shard
 * @flushing:	failed writes are not retried until the flush has ended
 * @queue:	copies to be submitted, oldest first
 * @work:	submits @queue
 * @table:	all copies, hashed by swap offset
 *
 * The kernel gives each CPU a cluster of slots of its own, so the lines of a shard mostly stay
 * with the CPU that stores to the cluster.
 */
struct farswap_backup_shard {
	spinlock_t lock;	/* covers all fields */
	unsigned int nr;
	unsigned int nr_kept;
	u16 nth;
	bool flushing;
	struct list_head queue;
	struct work_struct work;
	struct hlist_head table[1 << FARSWAP_BACKUP_BUCKETS_SHIFT] ____cacheline_aligned_in_smp;
} ____cacheline_aligned_in_smp;

/**
 * struct farswap_backups - the pending backup writes of a swap device
 * @bios:	the bios of the writes
 * @nr_failed:	number of writes that have failed so far and that no store waited for
 * @retry:	retries failed writes
 * @settled:	tasks that wait for writes to end
 * @shards:	the copies, by the cluster of their slot
 */
struct farswap_backups {
	struct bio_set bios;
	atomic_t nr_failed;
	struct delayed_work retry;
	wait_queue_head_t settled;
	struct farswap_backup_shard shards[1 << FARSWAP_BACKUP_SHARDS_SHIFT];
};

/**
 * farswap_backup_shard() - find the shard of a slot
 * @backups:	the backup state of the slot's device
 * @offset:	the slot's swap offset
 *
 * All slots of a folio are in one shard.
 *
 * Context: any.
 * Return: the shard.
 */
static inline struct farswap_backup_shard *
farswap_backup_shard(struct farswap_backups *backups, pgoff_t offset)
{
	return &backups->shards[hash_long(offset >> FARSWAP_BACKUP_CLUSTER_SHIFT,
					  FARSWAP_BACKUP_SHARDS_SHIFT)];
}

/**
 * farswap_backups_of() - find the backup state that a shard is part of
 * @shard:	the shard
 *
 * Context: any.
 * Return: the backup state of its device.
 */
static inline struct farswap_backups *farswap_backups_of(struct farswap_backup_shard *shard)
{
	return container_of(shard - shard->nth, struct farswap_backups, shards[0]);
}

/**
 * farswap_backup_bucket() - find the bucket of a slot
 * @shard:	the slot's shard
 * @offset:	the slot's swap offset
 *
 * Eight neighbouring slots have neighbouring buckets: one CPU stores most of them.
 *
 * Context: any.
 * Return: the bucket.
 */
static inline struct hlist_head *farswap_backup_bucket(struct farswap_backup_shard *shard,
						       pgoff_t offset)
{
	unsigned int group = hash_long(offset >> FARSWAP_BACKUP_GROUP_SHIFT,
				       FARSWAP_BACKUP_BUCKETS_SHIFT - FARSWAP_BACKUP_GROUP_SHIFT);

	return &shard->table[group << FARSWAP_BACKUP_GROUP_SHIFT |
			     (offset & (BIT(FARSWAP_BACKUP_GROUP_SHIFT) - 1))];
}

/* backup/staging.c: the staging pool */
void farswap_staging_resize(void);
bool farswap_staging_take(struct list_head *staged, struct folio *folio);
struct farswap_backup *farswap_staging_wait(const struct farswap_device *device, bool hurry);
struct farswap_backup *farswap_staging_try(void);
void farswap_staging_put(struct farswap_backup *backup);
void farswap_staging_put_all(struct list_head *staged);
void farswap_staging_init(void);
unsigned int farswap_staging_used(void);

/* backup/table.c */
struct farswap_backup *farswap_backup_find(struct farswap_backup_shard *shard,
					   pgoff_t offset);
bool farswap_backup_inflight(struct farswap_backup_shard *shard, pgoff_t offset);
void farswap_backup_insert(struct farswap_backup_shard *shard,
			   struct farswap_backup *backup);
void farswap_backup_remove(struct farswap_backup_shard *shard,
			   struct farswap_backup *backup, struct list_head *drop);
void farswap_backup_withdraw(struct farswap_backup_shard *shard,
			     struct farswap_backup *backup);
void farswap_backup_queue(struct farswap_backup_shard *shard,
			  struct farswap_backup *backup);
void farswap_backup_wake(struct farswap_backup_shard *shard);
void farswap_backup_retire(struct farswap_backup_shard *shard,
			   struct farswap_backup *backup, struct list_head *drop);

/* backup/backup.c: copies */
void farswap_backup_put_all(struct list_head *drop);
struct cgroup_subsys_state *farswap_backup_css(struct folio *folio);
bool farswap_backup_copy(struct folio *folio, struct list_head *staged);
void farswap_backup_add(struct farswap_slab *slab, unsigned int slot,
			struct folio *folio, struct list_head *staged,
			sector_t sector);
void farswap_backup_forget(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr);
bool farswap_backup_is_settled(struct farswap_slab *slab, unsigned int slot,
			       unsigned int nr);
void farswap_backup_settle(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr);
bool farswap_backup_read(struct farswap_device *device, struct folio *folio);
int farswap_backup_state_of(struct farswap_slab *slab, unsigned int slot);
unsigned int farswap_backup_adopt(struct farswap_slab *slab, unsigned int slot,
				  unsigned int nr, struct farswap_backup_owner *owner,
				  int *error);

/* backup/staging.c: fetching */
void farswap_backup_await(struct farswap_slab *slab, unsigned int slot,
			  unsigned int nr);
bool farswap_backup_fetch_begin(struct farswap_mapping *mapping, unsigned int slot,
				struct farswap_backup *backup, struct farswap_object *object);
void farswap_backup_fetch_end(struct farswap_backup *backup, int error);

/* backup/backup.c: device writes */
int farswap_backup_init(void);
void farswap_backup_exit(void);
int farswap_backups_init(struct farswap_backups *backups);
void farswap_backups_exit(struct farswap_backups *backups);
void farswap_backup_kick(struct farswap_backup_shard *shard);
bool farswap_backups_kept(const struct farswap_backups *backups);
unsigned int farswap_backup_failures(struct farswap_device *device);
int farswap_backup_flush(struct farswap_device *device, unsigned int failed);
void farswap_backup_drain(struct farswap_device *device);
void farswap_backup_cancel(struct farswap_device *device);

/**
 * farswap_backup_holds() - check for a complete copy of a slot
 * @slab:	the slot's slab, which has bits
 * @slot:	the slot
 *
 * Context: process context; does not sleep.
 * Return: true if there is one.
 */
static inline bool farswap_backup_holds(struct farswap_slab *slab, unsigned int slot)
{
	return farswap_backup_state_of(slab, slot) > FARSWAP_BACKUP_FETCHING;
}

#endif /* _FARSWAP_BACKUP_H */
