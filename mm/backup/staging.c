// SPDX-License-Identifier: GPL-2.0
/*
 * The staging pool: preallocated pages into which a store copies its pages, so that its
 * writeback need not wait for the swap device. Pages that only regions have are fetched
 * into staging pages too; the second half of the file does that.
 *
 * A CPU takes the free pages that it used last: their lines are in its cache, if they are in any.
 *
 * A CPU also takes several pages for stores of one cgroup at once, and keeps some of those whose
 * device writes end on it, while half of the pool is free at least, so that most stores need no
 * lock that other CPUs take.
 *
 * Locking: staging_lock covers the free lists and the counts; a stock's lock is taken around it.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/hash.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "internal.h"

/* Pages that stores may not take, so that evacuation always makes progress. */
#define STAGING_RESERVE	16
#define STAGING_PATIENCE	(HZ / 50 ?: 1)
/*
 * The shares of memory cgroups are found by a hash of the cgroup's address, so that no memory
 * is allocated for a cgroup. Cgroups with the same hash have one share together.
 */
#define STAGING_SHARES_SHIFT	8
#define STAGING_SHARES		((unsigned int)BIT(STAGING_SHARES_SHIFT))
/* The value of a page that counts against no share. */
#define STAGING_NOBODY		STAGING_SHARES
/*
 * The stores of a cgroup may use this many times as many pages as are left free: 4/5 of the
 * pool if one cgroup uses it, 4/9 each if two do. A further cgroup always finds free pages.
 */
#define STAGING_SHARE		4
/* Pages that are returned under the lock at once. */
#define STAGING_BATCH		32
/* The CPU of a page that none has used. */
#define STAGING_NO_CPU		-1

static DEFINE_MUTEX(staging_mutex);	/* serialises resizing */
static DEFINE_SPINLOCK(staging_lock);
static LIST_HEAD(staging_free);			/* pages that no CPU has used */
static DEFINE_PER_CPU(struct list_head, staging_free_of);
static unsigned int staging_total;
static unsigned int staging_nr_free;
static unsigned int staging_wanted;
static unsigned int staging_shares[STAGING_SHARES];	/* pages in use, by cgroup hash */
static DECLARE_WAIT_QUEUE_HEAD(staging_room);

/* Pages that a CPU takes at once, and that it may keep. */
#define STAGING_STOCK		8
#define STAGING_STOCK_MAX	(2 * STAGING_STOCK)

/**
 * struct staging_stock - pages that a CPU has taken for the next stores of a cgroup
 * @lock:	covers the other fields
 * @pages:	the pages, which count against @share
 * @nr:		number of pages
 * @share:	the cgroup's share; of any cgroup if there are no pages
 */
struct staging_stock {
	spinlock_t lock;	/* all fields below */
	struct list_head pages;
	unsigned int nr;
	unsigned int share;
};

static DEFINE_PER_CPU(struct staging_stock, staging_stocks);

static void staging_destroy(struct farswap_backup *backup)
{
	__free_page(backup->page);
	kfree(backup);
}

static struct farswap_backup *staging_make(gfp_t gfp)
{
	struct farswap_backup *backup;

	gfp |= __GFP_NOWARN | __GFP_NORETRY;
	backup = kzalloc(sizeof(*backup), gfp);

	if (!backup)
		return NULL;
	backup->share = STAGING_NOBODY;
	backup->cpu = STAGING_NO_CPU;
	backup->page = alloc_page(gfp);
	if (backup->page)
		return backup;
	kfree(backup);
	return NULL;
}

static void staging_add(struct farswap_backup *backup)
{
	lockdep_assert_held(&staging_lock);
	list_add(&backup->entry, backup->cpu == STAGING_NO_CPU ? &staging_free :
				 per_cpu_ptr(&staging_free_of, backup->cpu));
	staging_nr_free++;
	/*
	 * wq_has_sleeper() has a full barrier: the page above is added before the wait queue is
	 * read. Pairs with wait_event_timeout() in farswap_staging_wait(), which joins the queue
	 * before it looks for a page.
	 */
	if (wq_has_sleeper(&staging_room))
		wake_up(&staging_room);
}

/* Removes and returns a free page, the one that this CPU used last if there is one; or NULL. */
static struct farswap_backup *staging_remove(void)
{
	struct list_head *list = this_cpu_ptr(&staging_free_of);
	struct farswap_backup *backup;
	int cpu;

	lockdep_assert_held(&staging_lock);
	if (!staging_nr_free)
		return NULL;
	if (list_empty(list))
		list = &staging_free;
	if (list_empty(list))
		for_each_possible_cpu(cpu) {
			list = per_cpu_ptr(&staging_free_of, cpu);
			if (!list_empty(list))
				break;
		}
	backup = list_first_entry(list, struct farswap_backup, entry);
	list_del_init(&backup->entry);
	staging_nr_free--;
	backup->cpu = smp_processor_id();
	return backup;
}

/* Removes and returns a free page that exceeds the wanted size, or returns NULL. */
static struct farswap_backup *staging_surplus(void)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&staging_lock);
	if (staging_total <= staging_wanted)
		return NULL;
	backup = staging_remove();
	if (backup)
		staging_total--;
	return backup;
}

static void staging_clean(struct farswap_backup *backup)
{
	backup->owner = NULL;
	backup->stale = false;
}

/* Returns some pages, and moves those that the pool need not have to @surplus, if not NULL. */
static void staging_put_some(struct list_head *staged, struct list_head *surplus)
{
	struct farswap_backup *backup, *next;
	unsigned int nr = 0;

	lockdep_assert_held(&staging_lock);
	list_for_each_entry_safe(backup, next, staged, entry) {
		if (nr++ == STAGING_BATCH)
			break;
		list_del(&backup->entry);
		staging_clean(backup);
		if (backup->share != STAGING_NOBODY)
			staging_shares[backup->share]--;
		backup->share = STAGING_NOBODY;
		staging_add(backup);
		backup = surplus ? staging_surplus() : NULL;
		if (backup)
			list_add(&backup->entry, surplus);
	}
}

static void staging_stocks_return(void)
{
	struct staging_stock *stock;
	int cpu;

	for_each_possible_cpu(cpu) {
		stock = per_cpu_ptr(&staging_stocks, cpu);
		spin_lock_irq(&stock->lock);
		spin_lock(&staging_lock);
		staging_put_some(&stock->pages, NULL);
		spin_unlock(&staging_lock);
		WRITE_ONCE(stock->nr, 0);
		spin_unlock_irq(&stock->lock);
	}
}

static void staging_shrink(void)
{
	struct farswap_backup *backup;

	staging_stocks_return();
	do {
		spin_lock_irq(&staging_lock);
		backup = staging_surplus();
		spin_unlock_irq(&staging_lock);
		if (backup)
			staging_destroy(backup);
		cond_resched();
	} while (backup);
}

static unsigned int staging_target(void)
{
	if (!farswap_attached())
		return 0;
	return (READ_ONCE(farswap_settings.staging_mb) << (20 - PAGE_SHIFT)) +
	       STAGING_RESERVE;
}

/**
 * farswap_staging_resize() - resize the pool to the current setting
 *
 * The pool has staging_mb and a small reserve while farswap is attached, and is empty
 * otherwise. Surplus pages in use are freed when they are returned.
 *
 * Context: may sleep.
 */
void farswap_staging_resize(void)
{
	struct farswap_backup *backup;
	unsigned int wanted;

	mutex_lock(&staging_mutex);
	wanted = staging_target();
	spin_lock_irq(&staging_lock);
	staging_wanted = wanted;
	spin_unlock_irq(&staging_lock);
	staging_shrink();
	/* Only this function adds to the total. */
	while (READ_ONCE(staging_total) < wanted) {
		backup = staging_make(GFP_KERNEL);
		if (!backup) {
			pr_warn("memory for %u of %u staging pages only\n",
				READ_ONCE(staging_total), wanted);
			break;
		}
		spin_lock_irq(&staging_lock);
		staging_total++;
		staging_add(backup);
		spin_unlock_irq(&staging_lock);
		cond_resched();
	}
	mutex_unlock(&staging_mutex);
}

static unsigned int staging_share_of(struct folio *folio)
{
	unsigned int share;

	/* RCU keeps the memcg: later kernels do not pin it by the folio. */
	rcu_read_lock();
	share = hash_ptr(folio_memcg(folio), STAGING_SHARES_SHIFT);
	rcu_read_unlock();
	return share;
}

/* Returns whether a cgroup's stores may take @nr more pages. */
static bool staging_is_enough(unsigned int share, unsigned int nr)
{
	unsigned int taken = nr + STAGING_RESERVE;

	lockdep_assert_held(&staging_lock);
	return staging_nr_free >= taken &&
	       staging_shares[share] + nr <= STAGING_SHARE * (staging_nr_free - taken);
}

static void staging_take_some(struct list_head *staged, unsigned int share, unsigned int nr)
{
	struct farswap_backup *backup;

	lockdep_assert_held(&staging_lock);
	staging_shares[share] += nr;
	while (nr--) {
		backup = staging_remove();
		backup->share = share;
		list_add(&backup->entry, staged);
	}
}

/* Returns whether there are so many pages that CPUs may keep some. */
static bool staging_may_stock(void)
{
	unsigned int total = READ_ONCE(staging_total);

	return total <= READ_ONCE(staging_wanted) && READ_ONCE(staging_nr_free) > total / 2;
}

/* Takes a page for a store, and more for the next ones if there are plenty. */
static bool staging_stock_fill(struct staging_stock *stock, struct list_head *staged,
			       unsigned int share)
{
	unsigned int more = 0;
	bool enough;

	lockdep_assert_held(&stock->lock);
	spin_lock(&staging_lock);
	staging_put_some(&stock->pages, NULL);
	enough = staging_is_enough(share, 1);
	if (enough) {
		staging_take_some(staged, share, 1);
		if (staging_may_stock() && staging_is_enough(share, STAGING_STOCK - 1))
			more = STAGING_STOCK - 1;
		staging_take_some(&stock->pages, share, more);
	}
	spin_unlock(&staging_lock);
	WRITE_ONCE(stock->nr, more);
	stock->share = share;
	return enough;
}

/*
 * Keeps returned pages for the next stores of their cgroup on this CPU, if this CPU has used them
 * last. Leaves the others in the list.
 */
static void staging_stock_keep(struct list_head *staged)
{
	struct staging_stock *stock = raw_cpu_ptr(&staging_stocks);
	struct farswap_backup *backup, *next;
	unsigned int nr;
	unsigned long flags;

	if (!staging_may_stock())
		return;
	spin_lock_irqsave(&stock->lock, flags);
	nr = stock->nr;
	list_for_each_entry_safe(backup, next, staged, entry) {
		if (nr == STAGING_STOCK_MAX)
			break;
		if (!nr)
			stock->share = backup->share;
		if (backup->share != stock->share || backup->share == STAGING_NOBODY ||
		    backup->cpu != raw_smp_processor_id())
			continue;
		staging_clean(backup);
		list_move(&backup->entry, &stock->pages);
		nr++;
	}
	WRITE_ONCE(stock->nr, nr);
	spin_unlock_irqrestore(&stock->lock, flags);
}

static bool staging_take_one(struct list_head *staged, unsigned int share)
{
	struct staging_stock *stock = raw_cpu_ptr(&staging_stocks);
	unsigned long flags;
	bool enough = true;

	spin_lock_irqsave(&stock->lock, flags);
	if (stock->nr && stock->share == share) {
		list_move(stock->pages.next, staged);
		WRITE_ONCE(stock->nr, stock->nr - 1);
	} else {
		enough = staging_stock_fill(stock, staged, share);
	}
	spin_unlock_irqrestore(&stock->lock, flags);
	return enough;
}

/**
 * farswap_staging_take() - take pages for a store
 * @staged:	empty list to which they are added
 * @folio:	the folio that is stored; locked
 *
 * The pages count against the folio's memory cgroup, so that a cgroup that pages out faster
 * than a slow device writes leaves staging pages to other cgroups.
 *
 * Context: process context; does not sleep.
 * Return: false, with no page taken, if the cgroup may not have enough of them.
 */
bool farswap_staging_take(struct list_head *staged, struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio), share = staging_share_of(folio);
	unsigned long flags;
	bool enough;

	if (nr == 1)
		return staging_take_one(staged, share);
	spin_lock_irqsave(&staging_lock, flags);
	enough = staging_is_enough(share, nr);
	if (enough)
		staging_take_some(staged, share, nr);
	spin_unlock_irqrestore(&staging_lock, flags);
	return enough;
}

static struct farswap_backup *staging_take_any(void)
{
	struct farswap_backup *backup;

	spin_lock_irq(&staging_lock);
	backup = staging_remove();
	spin_unlock_irq(&staging_lock);
	return backup;
}

/* Allocates a page beyond the pool's size, for when the pool is full of failed writes. */
static struct farswap_backup *staging_take_extra(gfp_t gfp)
{
	struct farswap_backup *backup = staging_make(gfp);

	if (!backup)
		return NULL;
	spin_lock_irq(&staging_lock);
	staging_total++;
	spin_unlock_irq(&staging_lock);
	INIT_LIST_HEAD(&backup->entry);
	return backup;
}

/**
 * farswap_staging_wait() - take a page; wait until there is one
 * @device:	the device to which it will be written
 * @hurry:	if memory is free, allocate a page rather than wait for the device to return one
 *
 * If no page is returned, one is allocated beyond the pool: a device that fails every write
 * must not block an evacuation.
 *
 * Context: process context; may sleep, until a device write ends or memory is free.
 * Return: the page.
 */
struct farswap_backup *farswap_staging_wait(const struct farswap_device *device, bool hurry)
{
	struct farswap_backup *backup;

	for (;;) {
		backup = staging_take_any();
		/* GFP_NOWAIT takes free memory only and reclaims none. */
		if (!backup && hurry)
			backup = staging_take_extra(GFP_NOWAIT);
		if (!backup && !farswap_backups_kept(&device->backups))
			wait_event_timeout(staging_room, (backup = staging_take_any()),
					   STAGING_PATIENCE);
		if (!backup)
			backup = staging_take_extra(GFP_NOIO);
		if (backup)
			return backup;
		schedule_timeout_uninterruptible(STAGING_PATIENCE);
	}
}

/**
 * farswap_staging_try() - take a page for a low-priority device write
 *
 * Half of the pool is left to stores.
 *
 * Context: process context; does not sleep.
 * Return: the page, or NULL if there are too few.
 */
struct farswap_backup *farswap_staging_try(void)
{
	if (READ_ONCE(staging_nr_free) <= READ_ONCE(staging_total) / 2)
		return NULL;
	return staging_take_any();
}

/**
 * farswap_staging_put_all() - return pages to the pool
 * @staged:	the pages, in no table; empty afterwards
 *
 * Context: any.
 */
void farswap_staging_put_all(struct list_head *staged)
{
	struct farswap_backup *backup, *next;
	unsigned long flags;
	LIST_HEAD(surplus);

	staging_stock_keep(staged);
	while (!list_empty(staged)) {
		spin_lock_irqsave(&staging_lock, flags);
		staging_put_some(staged, &surplus);
		spin_unlock_irqrestore(&staging_lock, flags);
	}
	list_for_each_entry_safe(backup, next, &surplus, entry)
		staging_destroy(backup);
}

/**
 * farswap_staging_put() - return a page to the pool
 * @backup:	the page, in no table and in no list
 *
 * Context: any.
 */
void farswap_staging_put(struct farswap_backup *backup)
{
	LIST_HEAD(staged);

	list_add(&backup->entry, &staged);
	farswap_staging_put_all(&staged);
}

/**
 * farswap_staging_init() - initialise an empty pool
 */
void farswap_staging_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_LIST_HEAD(per_cpu_ptr(&staging_free_of, cpu));
	for_each_possible_cpu(cpu) {
		spin_lock_init(&per_cpu_ptr(&staging_stocks, cpu)->lock);
		INIT_LIST_HEAD(&per_cpu_ptr(&staging_stocks, cpu)->pages);
	}
}

/**
 * farswap_staging_used() - get the number of staging pages in use
 *
 * Context: any.
 * Return: the number; it may change at any time.
 */
unsigned int farswap_staging_used(void)
{
	unsigned int used, stocks = 0;
	unsigned long flags;
	int cpu;

	spin_lock_irqsave(&staging_lock, flags);
	used = staging_total - staging_nr_free;
	spin_unlock_irqrestore(&staging_lock, flags);
	for_each_possible_cpu(cpu)
		stocks += READ_ONCE(per_cpu_ptr(&staging_stocks, cpu)->nr);
	return used - min(used, stocks);
}

/*
 * Fetching: a page that only regions have is read into a staging page. That copy is in the
 * table of backup.c like any other, until the swap device has it. migrate/evacuate-fetch.c
 * fetches the sole copies of a region before the region is given up.
 *
 * Locking: see struct farswap_backup_shard.
 */

static bool backup_is_fetched(struct farswap_slab *slab, unsigned int slot,
			      unsigned int nr)
{
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup_shard *shard = farswap_backup_shard(&slab->device->backups, offset);
	struct farswap_backup *backup;
	bool fetched = true;

	spin_lock_irq(&shard->lock);
	for (; nr-- && fetched; offset++) {
		backup = farswap_backup_find(shard, offset);
		fetched = !backup || backup->state != FARSWAP_BACKUP_FETCHING;
	}
	spin_unlock_irq(&shard->lock);
	return fetched;
}

/**
 * farswap_backup_await() - wait until the fetches of slots have ended
 * @slab:	the slots' slab, which has bits
 * @slot:	the first slot
 * @nr:		number of slots
 *
 * Context: process context; may sleep, as long as a remote read takes.
 */
void farswap_backup_await(struct farswap_slab *slab, unsigned int slot,
			  unsigned int nr)
{
	wait_event(slab->device->backups.settled, backup_is_fetched(slab, slot, nr));
}

/* Returns whether @mapping has the slot and the device does not. */
static bool backup_is_unbacked(const struct farswap_mapping *mapping, unsigned int slot)
{
	struct farswap_slab *slab = mapping->slab;

	if (!test_bit(slot, slab->bits.unbacked))
		return false;
	/*
	 * The read of the unbacked bit above comes before that of the remote bit below. Pairs
	 * with a store, which clears the remote bit before it reads the unbacked bit, and looks for
	 * a copy if that is set.
	 */
	smp_rmb();
	if (!test_bit(slot, slab->bits.remote))
		return false;
	/*
	 * The read of the remote bit above comes before the reads of the slab's mappings and of
	 * @mapping's missing bit below. Pairs with the full barrier in
	 * farswap_write_begin(), after which a store sets the missing bit in each mapping
	 * that the slab still has.
	 */
	smp_rmb();
	return farswap_mapping_is_slabs(mapping) && farswap_mapping_has(mapping, slot, 1);
}

static bool backup_find_object(struct farswap_slab *slab, unsigned int slot, pgoff_t offset,
			       struct farswap_object *object)
{
	bool found;

	object->nr = 1;
	object->bytes = 0;
	if (!slab->pack)
		return true;
	/* By the offset of the copy: the unit may belong to another page since that was read. */
	found = farswap_object_find(slab->device, offset, object) && object->slab == slab &&
		object->slot == slot;
	/* The entry is read before the bits of the units, and after them in backup_has_object(). */
	smp_rmb();
	return found;
}

/*
 * Returns whether the bits that were read are those of @object. A store that takes the object
 * later finds the unbacked bit set, and looks for a copy.
 */
static bool backup_has_object(const struct farswap_slab *slab, const struct farswap_object *object)
{
	/* The bits are read before the entry is read again. Pairs with farswap_object_claim(). */
	smp_rmb();
	return !slab->pack || farswap_object_is_current(object);
}

/**
 * farswap_backup_fetch_begin() - prepare to read a page that only regions have
 * @mapping:	mapping of the region that is read
 * @slot:	the page's first slot
 * @backup:	a staging page for it
 * @object:	set to the page's object in a packed slab; otherwise its @nr is set to 1, and its
 *		@bytes to 0
 *
 * A store that starts afterwards makes the staging page stale.
 *
 * Context: process context; does not sleep.
 * Return: false, with nothing done, if the region does not have the page, or if the device or a
 * staging page has it too.
 */
bool farswap_backup_fetch_begin(struct farswap_mapping *mapping, unsigned int slot,
				struct farswap_backup *backup, struct farswap_object *object)
{
	struct farswap_slab *slab = mapping->slab;
	pgoff_t offset = farswap_slab_offset(slab, slot);
	struct farswap_backup_shard *shard = farswap_backup_shard(&slab->device->backups, offset);
	bool sole;

	spin_lock_irq(&shard->lock);
	sole = backup_find_object(slab, slot, offset, object) &&
	       backup_is_unbacked(mapping, slot) && backup_has_object(slab, object) &&
	       !farswap_backup_find(shard, offset);
	if (sole) {
		backup->slab = slab;
		backup->slot = slot;
		backup->offset = offset;
		backup->sector = farswap_device_sector(slab->device, backup->offset);
		backup->state = FARSWAP_BACKUP_FETCHING;
		farswap_backup_insert(shard, backup);
		/*
		 * The copy is counted before the bits are read again. Pairs with
		 * farswap_backup_forget(), which takes no lock if the count is 0 after it has
		 * cleared the unbacked bit.
		 */
		smp_mb();
		sole = backup_is_unbacked(mapping, slot) && backup_has_object(slab, object);
		if (!sole)
			farswap_backup_withdraw(shard, backup);
	}
	spin_unlock_irq(&shard->lock);
	return sole;
}

/**
 * farswap_backup_fetch_end() - complete the fetch of a page
 * @backup:	the copy
 * @error:	result of the remote read, 0 or -errno
 *
 * Context: any up to softirq.
 */
void farswap_backup_fetch_end(struct farswap_backup *backup, int error)
{
	struct farswap_backup_shard *shard =
		farswap_backup_shard(&backup->slab->device->backups, backup->offset);
	unsigned long flags;
	LIST_HEAD(drop);

	spin_lock_irqsave(&shard->lock, flags);
	if (error || backup->stale) {
		farswap_backup_remove(shard, backup, &drop);
	} else {
		farswap_stat_add(FARSWAP_STAT_FETCHED, 1);
		farswap_backup_queue(shard, backup);
		farswap_backup_kick(shard);
	}
	farswap_backup_wake(shard);
	spin_unlock_irqrestore(&shard->lock, flags);
	farswap_backup_put_all(&drop);
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/staging-kunit.h"
#endif
