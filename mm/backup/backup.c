// SPDX-License-Identifier: GPL-2.0
/*
 * Backup: what a store has written to a region goes to the swap device too, from
 * a staging copy, after its writeback has ended (Infiniswap, section 4.3). Until
 * the device has it, reads are served from the copy.
 *
 * The block layer does not order two writes of a sector, and once its writeback
 * has ended nothing keeps a slot from being freed and stored anew. Hence the
 * table: one write of a slot is in flight at most, the next is held until it ends,
 * and of those that aren't only the newest is kept. A copy in the table that isn't
 * stale is what its slot holds, and then the slot's unbacked bit is set; both end
 * together.
 *
 * The writing itself is in backup/write.c, the reading of what only regions have in
 * backup/fetch.c.
 *
 * Locking: see struct farswap_backups. Nests inside the kernel's si->lock, with
 * interrupts off; staging_lock nests inside nothing.
 */
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/error-injection.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include <kunit/static_stub.h>

#include "internal.h"

static struct hlist_head *backup_bucket(struct farswap_backups *backups,
					pgoff_t offset)
{
	return &backups->table[hash_long(offset, FARSWAP_BACKUP_BUCKETS_SHIFT)];
}

/**
 * farswap_backup_find() - look for a slot's copy
 * @backups:	its device's
 * @offset:	its swap offset
 *
 * Context: under @backups->lock.
 * Return: the copy of what the slot holds, or NULL.
 */
struct farswap_backup *farswap_backup_find(struct farswap_backups *backups,
					   pgoff_t offset)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&backups->lock);
	hlist_for_each_entry(backup, backup_bucket(backups, offset), node)
		if (backup->offset == offset && !backup->stale)
			return backup;
	return NULL;
}

/* Is a write of the slot in flight, of whatever contents? */
static bool backup_inflight(struct farswap_backups *backups, pgoff_t offset)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&backups->lock);
	hlist_for_each_entry(backup, backup_bucket(backups, offset), node)
		if (backup->offset == offset &&
		    backup->state == FARSWAP_BACKUP_INFLIGHT)
			return true;
	return false;
}

/**
 * farswap_backup_insert() - put a copy into the table
 * @backups:	the device's
 * @backup:	the copy
 *
 * Context: under @backups->lock.
 */
void farswap_backup_insert(struct farswap_backups *backups,
			   struct farswap_backup *backup)
{
	lockdep_assert_held(&backups->lock);
	hlist_add_head(&backup->node, backup_bucket(backups, backup->offset));
	WRITE_ONCE(backups->nr, backups->nr + 1);
}

/**
 * farswap_backup_remove() - take a copy out of the table
 * @backups:	the device's
 * @backup:	the copy
 * @drop:	a list that it goes to, for farswap_backup_put_all()
 *
 * Context: under @backups->lock.
 */
void farswap_backup_remove(struct farswap_backups *backups,
			   struct farswap_backup *backup, struct list_head *drop)
{
	lockdep_assert_held(&backups->lock);
	hlist_del(&backup->node);
	list_move(&backup->entry, drop);
	WRITE_ONCE(backups->nr, backups->nr - 1);
	if (backup->state == FARSWAP_BACKUP_KEPT)
		backups->nr_kept--;
}

/**
 * farswap_backup_put_all() - give the pages back of copies that were removed
 * @drop:	the copies
 *
 * Nothing may be touched any more of a device whose last copy was removed.
 *
 * Context: any; not under a device's lock.
 */
void farswap_backup_put_all(struct list_head *drop)
{
	struct farswap_backup *backup, *next;

	list_for_each_entry_safe(backup, next, drop, entry) {
		if (backup->css)
			css_put(backup->css);
		backup->css = NULL;
		farswap_staging_put(backup);
	}
}

/**
 * farswap_backup_queue() - have a copy written, behind a write of the same slot that
 * is in flight
 * @backups:	the device's
 * @backup:	the copy
 *
 * Context: under @backups->lock.
 */
void farswap_backup_queue(struct farswap_backups *backups,
			  struct farswap_backup *backup)
{
	lockdep_assert_held(&backups->lock);
	if (backup_inflight(backups, backup->offset)) {
		backup->state = FARSWAP_BACKUP_HELD;
		list_del_init(&backup->entry);
		return;
	}
	backup->state = FARSWAP_BACKUP_QUEUED;
	list_move_tail(&backup->entry, &backups->queue);
}

/**
 * farswap_backup_retire() - a slot's contents change: its copy is of no use any more
 * @backups:	the device's
 * @backup:	the copy
 * @drop:	a list that it goes to, unless somebody still reads or writes it
 *
 * Context: under @backups->lock.
 */
void farswap_backup_retire(struct farswap_backups *backups,
			   struct farswap_backup *backup, struct list_head *drop)
{
	lockdep_assert_held(&backups->lock);
	switch (backup->state) {
	case FARSWAP_BACKUP_FETCHING:
	case FARSWAP_BACKUP_INFLIGHT:
		backup->stale = true;
		break;
	default:
		farswap_backup_remove(backups, backup, drop);
		farswap_stat_add(FARSWAP_STAT_BACKUP_SPARED, 1);
		/* Who waits looks under the lock, when it is on the queue already. */
		if (waitqueue_active(&backups->settled))
			wake_up_all(&backups->settled);
	}
}

/**
 * farswap_backup_css() - whose device write is a folio's: its cgroup's, not the reclaimer's
 * @folio:	locked or under writeback
 *
 * Context: any.
 * Return: a reference for css_put(); or NULL for nobody's.
 */
struct cgroup_subsys_state *farswap_backup_css(struct folio *folio)
{
	struct cgroup_subsys_state *css = NULL;
#if defined(CONFIG_MEMCG) && defined(CONFIG_BLK_CGROUP)
	struct mem_cgroup *memcg;

	/* In later kernels the folio does not keep it. */
	rcu_read_lock();
	memcg = folio_memcg(folio);
	if (memcg)
		css = cgroup_get_e_css(memcg->css.cgroup, &io_cgrp_subsys);
	rcu_read_unlock();
#endif
	return css;
}

/*
 * Copies a page that nobody may have touched for long: a memory error that was not found until
 * now is an error here, where the architecture can do that, and not the machine's end. Not
 * copy_mc_highpage(), which copies tags too (arm64): they would stay with the staging page.
 */
static int backup_copy_page(struct page *to, struct page *from)
{
#ifdef copy_mc_to_kernel
	void *vfrom = kmap_local_page(from), *vto = kmap_local_page(to);
	unsigned long left = copy_mc_to_kernel(vto, vfrom, PAGE_SIZE);

	kunmap_local(vto);
	kunmap_local(vfrom);
	if (!left)
		return 0;
	memory_failure_queue(page_to_pfn(from), 0);
	return -EIO;
#else
	memcpy_page(to, 0, from, 0, PAGE_SIZE);
	return 0;
#endif
}

/* A function of its own, so that memory can be said to fail. */
static noinline int backup_stage_page(struct farswap_backup *backup, struct page *page)
{
	return backup_copy_page(backup->page, page);
}
ALLOW_ERROR_INJECTION(backup_stage_page, ERRNO);

/**
 * farswap_backup_copy() - copy a folio that is being stored
 * @folio:	locked, not under writeback
 * @staged:	as many staging pages as it has
 *
 * Context: process context; does not sleep.
 * Return: false if the memory of one of its pages can't be read.
 */
bool farswap_backup_copy(struct folio *folio, struct list_head *staged)
{
	struct farswap_backup *backup;
	unsigned int i = 0;

	list_for_each_entry(backup, staged, entry)
		if (backup_stage_page(backup, folio_page(folio, i++)))
			return false;
	return true;
}

/**
 * farswap_backup_add() - the device is to have a folio that is being stored
 * @slab:	its slab
 * @slot:	its first slot there
 * @folio:	locked, not under writeback
 * @staged:	its copies, from farswap_backup_copy(); empty afterwards
 * @sector:	of its first page
 *
 * Sets the unbacked bits. farswap_backup_kick() must follow.
 *
 * Context: process context; does not sleep.
 */
void farswap_backup_add(struct farswap_slab *slab, unsigned int slot,
			struct folio *folio, struct list_head *staged,
			sector_t sector)
{
	struct farswap_backups *backups = &slab->device->backups;
	struct cgroup_subsys_state *css = farswap_backup_css(folio);
	pgoff_t offset = farswap_slab_offset(slab, slot);
	unsigned int nr = folio_nr_pages(folio), i = 0;
	struct farswap_backup *backup, *next, *old;
	LIST_HEAD(drop);

	list_for_each_entry(backup, staged, entry) {
		if (css)
			css_get(css);
		backup->css = css;
		backup->slab = slab;
		backup->slot = slot + i;
		backup->offset = offset + i;
		backup->sector = sector + ((sector_t)i << PAGE_SECTORS_SHIFT);
		i++;
	}
	spin_lock_irq(&backups->lock);
	list_for_each_entry_safe(backup, next, staged, entry) {
		old = farswap_backup_find(backups, backup->offset);
		if (old)
			farswap_backup_retire(backups, old, &drop);
		farswap_backup_queue(backups, backup);
		farswap_backup_insert(backups, backup);
	}
	farswap_slotbits_set(slab->bits.unbacked, slot, nr);
	spin_unlock_irq(&backups->lock);
	farswap_backup_put_all(&drop);
	if (css)
		css_put(css);
}

static noinline void backup_forget(struct farswap_slab *slab, unsigned int slot,
				   unsigned int nr)
{
	struct farswap_backups *backups = &slab->device->backups;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;
	unsigned long flags;
	LIST_HEAD(drop);

	spin_lock_irqsave(&backups->lock, flags);
	for (; nr--; slot++, offset++) {
		if (!test_bit(slot, slab->bits.unbacked))
			continue;
		backup = farswap_backup_find(backups, offset);
		if (backup)
			farswap_backup_retire(backups, backup, &drop);
		clear_bit(slot, slab->bits.unbacked);
	}
	spin_unlock_irqrestore(&backups->lock, flags);
	farswap_backup_put_all(&drop);
}

/**
 * farswap_backup_forget() - slots have been freed, or will hold something else
 * @slab:	their slab, which has bits
 * @slot:	the first
 * @nr:		how many, of one cluster
 *
 * Clears the unbacked bits. A write in flight goes on: see farswap_backup_settle().
 *
 * Context: any, also with interrupts off.
 */
void farswap_backup_forget(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr)
{
	if (farswap_slotbits_any(slab->bits.unbacked, slot, nr))
		backup_forget(slab, slot, nr);
}

/**
 * farswap_backup_is_settled() - is no write of slots to the device in flight
 * @slab:	their slab, which has bits
 * @slot:	the first slot
 * @nr:		how many
 *
 * Context: process context; does not sleep.
 * Return: whether none is. After farswap_backup_forget() none begins either, unless they are
 * stored anew.
 */
bool farswap_backup_is_settled(struct farswap_slab *slab, unsigned int slot,
			       unsigned int nr)
{
	struct farswap_backups *backups = &slab->device->backups;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	bool settled = true;

	spin_lock_irq(&backups->lock);
	for (; nr-- && settled; offset++)
		settled = !backup_inflight(backups, offset);
	spin_unlock_irq(&backups->lock);
	return settled;
}

/**
 * farswap_backup_settle() - somebody else is about to write slots to the device
 * @slab:	their slab, which has bits
 * @slot:	the first
 * @nr:		how many, of one cluster
 *
 * Forgets what is staged, and waits until no write of ours is in flight, which
 * might otherwise come last.
 *
 * Context: process context; may sleep, as long as the device takes.
 */
void farswap_backup_settle(struct farswap_slab *slab, unsigned int slot,
			   unsigned int nr)
{
	struct farswap_backups *backups = &slab->device->backups;

	farswap_backup_forget(slab, slot, nr);
	if (READ_ONCE(backups->nr))
		wait_event(backups->settled, farswap_backup_is_settled(slab, slot, nr));
}

/**
 * farswap_backup_read() - read a folio from its staging copies
 * @slab:	its slab, which has bits
 * @slot:	its first slot there
 * @folio:	locked, not up to date
 *
 * When a page's copy is gone, the device has it, and its unbacked bit is seen
 * clear after this; or it is remote only.
 *
 * Context: process context; does not sleep.
 * Return: false if not all of its pages have one that can be read.
 */
bool farswap_backup_read(struct farswap_slab *slab, unsigned int slot,
			 struct folio *folio)
{
	struct farswap_backups *backups = &slab->device->backups;
	unsigned int nr = folio_nr_pages(folio), i;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;

	spin_lock_irq(&backups->lock);
	for (i = 0; i < nr; i++) {
		backup = farswap_backup_find(backups, offset + i);
		if (!backup || backup->state == FARSWAP_BACKUP_FETCHING ||
		    backup_copy_page(folio_page(folio, i), backup->page))
			break;
	}
	spin_unlock_irq(&backups->lock);
	return i == nr;
}

/**
 * farswap_backup_state_of() - is there a copy of a slot
 * @slab:	its slab, which has bits
 * @slot:	the slot
 *
 * Context: process context; does not sleep.
 * Return: enum farswap_backup_state, or -ENOENT when there is none.
 */
int farswap_backup_state_of(struct farswap_slab *slab, unsigned int slot)
{
	struct farswap_backups *backups = &slab->device->backups;
	struct farswap_backup *backup;
	int state;

	KUNIT_STATIC_STUB_REDIRECT(farswap_backup_state_of, slab, slot);
	spin_lock_irq(&backups->lock);
	backup = farswap_backup_find(backups, farswap_slab_offset(slab, slot));
	state = backup ? backup->state : -ENOENT;
	spin_unlock_irq(&backups->lock);
	return state;
}

/**
 * farswap_backup_adopt() - a store's remote write has failed: only these are left
 * @slab:	its slab
 * @slot:	its first slot
 * @nr:		how many
 * @owner:	of the store, under writeback; its @backed will be called for
 *		each write that is still to end
 * @error:	set to -EIO if one has failed already
 *
 * Context: any up to interrupts.
 * Return: how many are still to end.
 */
unsigned int farswap_backup_adopt(struct farswap_slab *slab, unsigned int slot,
				  unsigned int nr, struct farswap_backup_owner *owner,
				  int *error)
{
	struct farswap_backups *backups = &slab->device->backups;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup *backup;
	unsigned int adopted = 0;
	unsigned long flags;

	spin_lock_irqsave(&backups->lock, flags);
	for (; nr--; offset++) {
		backup = farswap_backup_find(backups, offset);
		if (!backup)
			continue;
		if (backup->state == FARSWAP_BACKUP_KEPT) {
			*error = -EIO;
			continue;
		}
		backup->owner = owner;
		adopted++;
	}
	spin_unlock_irqrestore(&backups->lock, flags);
	return adopted;
}
