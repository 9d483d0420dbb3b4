/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Backups: a slot that is stored, freed, written well and written badly, fetched when
 * only its region has it, and written by the kernel itself, goes through every order of these,
 * up to some length. After each the device must have what the slot holds, or a copy that
 * vouches for it, or the region. A store whose remote write has failed is told once of its
 * copy's end, and well only if the device has it then.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>

#include <linux/hash.h>

#define SLOTS	512
#define SLOT	7
/* Events in a row, from a free slot and one that only the region has; fewer where all is slow. */
#define LENGTH		(IS_ENABLED(CONFIG_KASAN) ? 6 : 7)
#define LENGTH_ALONE	(LENGTH - 1)

enum event {
	EVENT_STORE,
	EVENT_FREE,
	EVENT_SUBMIT,
	EVENT_WRITTEN,
	EVENT_FAILED,
	EVENT_RETRY,
	EVENT_REMOTE,
	EVENT_NOT_REMOTE,
	EVENT_DEVICE,
	EVENT_FETCH,
	EVENT_FETCHED,
	EVENT_UNREAD,
	EVENTS,
};

static const char *const event_names[] = {
	[EVENT_STORE]	= "store",
	[EVENT_FREE]	= "free",
	[EVENT_SUBMIT]	= "submit",
	[EVENT_WRITTEN]	= "written",
	[EVENT_FAILED]	= "failed",
	[EVENT_RETRY]	= "retry",
	[EVENT_REMOTE]	= "in the region",
	[EVENT_NOT_REMOTE] = "not in the region",
	[EVENT_DEVICE]	= "by the kernel",
	[EVENT_FETCH]	= "fetch",
	[EVENT_FETCHED]	= "fetched",
	[EVENT_UNREAD]	= "not fetched",
};

/**
 * struct world - one slot of one slab of one device
 * @device:	owed what is stored, but nobody sends it
 * @slab:	its only slab
 * @mapping:	its only region, at nobody's
 * @folio:	what is stored
 * @write:	the one that is in flight, or NULL
 * @fetch:	what is being read from the region, or NULL
 * @read:	what it will have, if all goes well
 * @stored:	whether the store's remote write is under way
 * @waiting:	whether the store waits for its copy, since that write has failed
 * @told_wrongly: whether a store was told twice, or though it did not wait
 * @now:	what the slot holds, a number; 0: it is free, or its page has stayed in memory
 * @last:	the last number stored
 * @on_device:	what the device has of it
 * @in_region:	what the region has
 * @orders:	of events that were tried
 */
struct world {
	struct farswap_device *device;
	struct farswap_slab *slab;
	struct farswap_mapping *mapping;
	struct folio *folio;
	struct backup_bio *write;
	struct farswap_backup *fetch;
	unsigned int read;
	bool stored;
	bool waiting;
	bool told_wrongly;
	unsigned int now;
	unsigned int last;
	unsigned int on_device;
	unsigned int in_region;
	unsigned int orders;
};

static unsigned int *number_in(struct page *page)
{
	return page_address(page);
}

static struct farswap_backup *take(struct world *world)
{
	struct farswap_backups *backups = &world->device->backups;
	struct farswap_backup *backup;

	/* So it takes memory at once if the pool is empty. */
	backups->nr_kept++;
	backup = farswap_staging_wait(world->device, false);
	backups->nr_kept--;
	return backup;
}

static void store(struct world *world)
{
	LIST_HEAD(staged);

	list_add(&take(world)->entry, &staged);
	clear_bit(SLOT, world->slab->bits.remote);
	world->stored = true;
	world->now = ++world->last;
	*number_in(folio_page(world->folio, 0)) = world->now;
	farswap_backup_add(world->slab, SLOT, world->folio, &staged, 8 * SLOT);
}

static void free_slot(struct world *world)
{
	clear_bit(SLOT, world->slab->bits.remote);
	farswap_backup_forget(world->slab, SLOT, 1);
	world->stored = false;
	world->waiting = false;
	world->now = 0;
}

/* As store_end() does when no region has it: the page stays in memory if the device fails, too. */
static void end_store(struct world *world, int error)
{
	world->waiting = false;
	if (error)
		free_slot(world);
}

static void store_backed(struct farswap_store *store, int error)
{
	struct world *world = (void *)store;

	if (world->waiting)
		end_store(world, error);
	else
		world->told_wrongly = true;
}

static void fail_remote(struct world *world)
{
	int error = 0;

	world->stored = false;
	world->waiting = true;
	if (!farswap_backup_adopt(world->slab, SLOT, 1, (void *)world, &error))
		end_store(world, error);
}

/* Nothing of ours is in flight: or this would wait. */
static void store_to_device(struct world *world)
{
	clear_bit(SLOT, world->slab->bits.remote);
	farswap_backup_settle(world->slab, SLOT, 1);
	world->stored = false;
	world->now = ++world->last;
	world->on_device = world->now;
}

static bool fetch(struct world *world)
{
	struct farswap_backup *backup = take(world);

	if (!farswap_backup_fetch_begin(world->mapping, SLOT, backup)) {
		farswap_staging_put(backup);
		return false;
	}
	world->fetch = backup;
	/* As early as can be: the slot may be stored anew while the answer is on its way. */
	world->read = world->in_region;
	return true;
}

static void end_fetch(struct world *world, int error)
{
	struct farswap_backup *backup = world->fetch;

	world->fetch = NULL;
	if (!error)
		*number_in(backup->page) = world->read;
	farswap_backup_fetch_end(backup, error);
}

static void submit(struct world *world)
{
	struct farswap_backups *backups = &world->device->backups;
	struct bio *bio = bio_alloc_bioset(NULL, BACKUP_BIO_PAGES, REQ_OP_WRITE, GFP_KERNEL,
					   &backups->bios);
	struct backup_bio *write = container_of(bio, struct backup_bio, bio);

	INIT_LIST_HEAD(&write->backups);
	write->device = world->device;
	write->start = ktime_get_ns();
	if (backup_fill(write))
		world->write = write;
	else
		bio_put(bio);
}

static void end(struct world *world, blk_status_t status)
{
	struct backup_bio *write = world->write;
	struct farswap_backup *backup =
		list_first_entry(&write->backups, struct farswap_backup, entry);

	world->write = NULL;
	if (!status)
		world->on_device = *number_in(backup->page);
	write->bio.bi_status = status;
	backup_bio_done(&write->bio);
}

/* False if it can't happen now. */
static bool happen(struct world *world, enum event event)
{
	struct farswap_backups *backups = &world->device->backups;

	/* Its folio is under writeback. */
	if (world->waiting && (event == EVENT_STORE || event == EVENT_FREE ||
			       event == EVENT_REMOTE || event == EVENT_DEVICE))
		return false;
	switch (event) {
	case EVENT_STORE:
		store(world);
		return true;
	case EVENT_FREE:
		free_slot(world);
		return true;
	case EVENT_NOT_REMOTE:
		if (!world->stored)
			return false;
		fail_remote(world);
		return true;
	case EVENT_DEVICE:
		if (world->write)
			return false;
		store_to_device(world);
		return true;
	case EVENT_SUBMIT:
		if (world->write || list_empty(&backups->queue))
			return false;
		submit(world);
		return true;
	case EVENT_WRITTEN:
	case EVENT_FAILED:
		if (!world->write)
			return false;
		end(world, event == EVENT_FAILED ? BLK_STS_IOERR : BLK_STS_OK);
		return true;
	case EVENT_REMOTE:
		if (!world->now || test_bit(SLOT, world->slab->bits.remote))
			return false;
		world->stored = false;
		world->in_region = world->now;
		set_bit(SLOT, world->slab->bits.remote);
		return true;
	case EVENT_FETCH:
		return !world->fetch && fetch(world);
	case EVENT_FETCHED:
	case EVENT_UNREAD:
		if (!world->fetch)
			return false;
		end_fetch(world, event == EVENT_UNREAD ? -EIO : 0);
		return true;
	default:
		if (!backups->nr_kept)
			return false;
		backup_retry(backups);
		return true;
	}
}

/* What is wrong, or NULL. */
static const char *complaint(struct world *world)
{
	struct farswap_backups *backups = &world->device->backups;
	/* All there is: there is no other slot. */
	struct hlist_head *bucket =
		&backups->table[hash_long(SLOT, FARSWAP_BACKUP_BUCKETS_SHIFT)];
	unsigned int nr = 0, kept = 0, inflight = 0;
	struct farswap_backup *backup;
	const char *wrong = NULL;
	bool unbacked, remote;

	spin_lock_irq(&backups->lock);
	hlist_for_each_entry(backup, bucket, node) {
		nr++;
		kept += backup->state == FARSWAP_BACKUP_KEPT;
		inflight += backup->state == FARSWAP_BACKUP_INFLIGHT;
	}
	backup = farswap_backup_find(backups, SLOT);
	unbacked = test_bit(SLOT, world->slab->bits.unbacked);
	remote = test_bit(SLOT, world->slab->bits.remote) && world->in_region == world->now;
	if (world->told_wrongly)
		wrong = "a store that is told of what it doesn't wait for";
	else if (nr != backups->nr || kept != backups->nr_kept)
		wrong = "the counts";
	else if (inflight != !!world->write)
		wrong = "a write in flight that nobody sent";
	else if (inflight && !list_empty(&backups->queue))
		wrong = "a second write of the slot could be sent";
	else if (backup && !unbacked)
		wrong = "the unbacked bit is clear";
	else if (backup && backup->state != FARSWAP_BACKUP_FETCHING &&
		 *number_in(backup->page) != world->now)
		wrong = "a copy of something older vouches for the slot";
	else if ((!backup || backup->state == FARSWAP_BACKUP_FETCHING) && unbacked && !remote)
		wrong = "nothing has it";
	else if (!unbacked && world->now && world->on_device != world->now)
		wrong = "the device has something older";
	spin_unlock_irq(&backups->lock);
	return wrong;
}

/* A device that works gets it in the end. */
static const char *settle(struct world *world)
{
	struct farswap_backups *backups = &world->device->backups;
	const char *wrong = NULL;
	int left = 4 * LENGTH;

	while (backups->nr && !wrong && left--) {
		if (!happen(world, EVENT_FETCHED) && !happen(world, EVENT_WRITTEN) &&
		    !happen(world, EVENT_SUBMIT))
			happen(world, EVENT_RETRY);
		wrong = complaint(world);
	}
	if (!wrong && backups->nr)
		wrong = "a copy that is never written";
	else if (!wrong && world->waiting)
		wrong = "a store that is never told of its copy";
	return wrong;
}

/* Only the region has it when it was stored and could not be written. */
static const enum event alone[] = {
	EVENT_STORE, EVENT_REMOTE, EVENT_SUBMIT, EVENT_FAILED,
};

/* From nothing on; false if one of them can't happen there. */
static bool replay(struct world *world, const enum event *order, unsigned int length,
		   const char **wrong)
{
	unsigned int i;

	free_slot(world);
	world->last = 0;
	world->on_device = 0;
	world->in_region = 0;
	world->told_wrongly = false;
	*wrong = NULL;
	for (i = 0; i < length && !*wrong; i++) {
		if (!happen(world, order[i]))
			return false;
		*wrong = complaint(world);
	}
	return true;
}

/* Every order that begins with these. */
static bool explore(struct kunit *test, struct world *world, enum event *order,
		    unsigned int length, unsigned int limit)
{
	const char *wrong;
	unsigned int i;
	bool possible;

	for (i = 0; i < EVENTS; i++) {
		order[length] = i;
		possible = replay(world, order, length + 1, &wrong);
		wrong = wrong ?: settle(world);
		if (wrong) {
			for (i = 0; i <= length; i++)
				kunit_info(test, "%s", event_names[order[i]]);
			KUNIT_FAIL(test, "after these: %s", wrong);
			return false;
		}
		world->orders += possible;
		if (possible && length + 1 < limit &&
		    !explore(test, world, order, length + 1, limit))
			return false;
		cond_resched();
	}
	return true;
}

static void sent_by_nobody(struct work_struct *work) {}

static void explore_all(struct kunit *test, struct world *world)
{
	enum event order[ARRAY_SIZE(alone) + LENGTH];

	if (!explore(test, world, order, 0, LENGTH))
		return;
	kunit_info(test, "%u orders of events", world->orders);
	KUNIT_EXPECT_GT(test, world->orders, 4000);
	world->orders = 0;
	memcpy(order, alone, sizeof(alone));
	explore(test, world, order, ARRAY_SIZE(alone), ARRAY_SIZE(alone) + LENGTH_ALONE);
	kunit_info(test, "%u that begin with only the region having it", world->orders);
	KUNIT_EXPECT_GT(test, world->orders, 1000);
}

static void backup_test_orders(struct kunit *test)
{
	struct world world = {
		.device = kunit_kzalloc(test, sizeof(*world.device), GFP_KERNEL),
		.slab = kunit_kzalloc(test, sizeof(*world.slab), GFP_KERNEL),
		.mapping = kunit_kzalloc(test, struct_size(world.mapping, missing,
							   BITS_TO_LONGS(SLOTS)), GFP_KERNEL),
	};
	struct swap_info_struct *si = kunit_kzalloc(test, sizeof(*si), GFP_KERNEL);
	struct farswap_donor *donor = kunit_kzalloc(test, sizeof(*donor), GFP_KERNEL);
	unsigned int used = farswap_staging_used();
	struct farswap_backups *backups;

	KUNIT_ASSERT_NOT_NULL(test, world.device);
	KUNIT_ASSERT_NOT_NULL(test, world.slab);
	KUNIT_ASSERT_NOT_NULL(test, world.mapping);
	KUNIT_ASSERT_NOT_NULL(test, si);
	KUNIT_ASSERT_NOT_NULL(test, donor);
	backups = &world.device->backups;
	KUNIT_ASSERT_EQ(test, farswap_backups_init(backups), 0);
	/* What it would be sent by, at once or after a while. */
	INIT_WORK(&backups->work, sent_by_nobody);
	backups->flushing = true;
	world.device->si = si;
	world.device->map = farswap_slabmap_alloc(SLOTS, ilog2(SLOTS), ilog2(SLOTS), 0);
	world.slab->device = world.device;
	world.slab->nr_slots = SLOTS;
	world.slab->state = FARSWAP_SLAB_MAPPED;
	donor->io = FARSWAP_DONOR_IO_WORKS;
	world.mapping->slab = world.slab;
	world.mapping->donor = donor;
	RCU_INIT_POINTER(world.slab->mapping[0], world.mapping);
	kunit_activate_static_stub(test, farswap_store_backed, store_backed);
	world.folio = folio_alloc(GFP_KERNEL | __GFP_ZERO, 0);
	if (!world.folio || !world.device->map ||
	    farswap_slotbits_alloc(&world.slab->bits, SLOTS))
		KUNIT_FAIL(test, "no memory");
	else
		explore_all(test, &world);
	flush_work(&backups->work);
	KUNIT_EXPECT_EQ(test, farswap_staging_used(), used);
	farswap_slotbits_free(&world.slab->bits);
	if (world.folio)
		folio_put(world.folio);
	farswap_backups_exit(backups);
	farswap_slabmap_free(world.device->map);
}

static struct kunit_case backup_cases[] = {
	KUNIT_CASE_SLOW(backup_test_orders),
	{}
};

static struct kunit_suite backup_suite = {
	.name		= "farswap_backup",
	.test_cases	= backup_cases,
};

kunit_test_suite(backup_suite);
