/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Backups: the test explores every order of events of one slot, until no new state appears: the
 * slot is stored, freed, written with and without success, fetched while only its region has it,
 * and written by the kernel itself, while its slab is evacuated, its region is evicted or its donor
 * is suspect. After each event the page must be on the device, in a copy that will be written, or
 * in the region, and not in the region alone if that will be revoked. A store whose remote write
 * failed is notified once of the end of its copy, with success only if the device has the page.
 */
#include <kunit/test.h>

#include <linux/hash.h>

#define SLOTS	512
#define SLOT	7
/* Number of reachable states. A change of it needs a reason, and so do fewer events. */
#define MOMENTS_THERE_ARE	312
/* Upper bounds: of states, of copies of a slot, and of events on a path. */
#define MOMENTS		1024
#define COPIES		4
#define EVENTS_MAX	64
/* Enough writes for a working device to get every page. */
#define SETTLE		32

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
	EVENT_DRAIN,
	EVENT_LEAVE,
	EVENT_GO,
	EVENT_SUSPECT,
	EVENT_RESUME,
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
	[EVENT_DRAIN]	= "drained",
	[EVENT_LEAVE]	= "wanted back",
	[EVENT_GO]	= "another region",
	[EVENT_SUSPECT]	= "suspect",
	[EVENT_RESUME]	= "resumed",
};

/**
 * struct moment - a state of the slot
 * @seen:	everything that matters in it
 * @event:	the event that led to it
 * @before:	the state before that
 */
struct moment {
	u64 seen;
	enum event event;
	unsigned int before;
};

/**
 * struct world - one slot of one slab of one device
 * @device:	its backup writes are sent by the test only
 * @slab:	its only slab
 * @mapping:	its only region
 * @donor:	which has it
 * @owner:	of the store that waits for its copy
 * @folio:	what is stored
 * @write:	the one that is in flight, or NULL
 * @fetch:	the copy that is being read from the region, or NULL
 * @read:	its contents, if the read succeeds
 * @stored:	whether the store's remote write is in flight
 * @waiting:	whether the store waits for its copy, since that write has failed
 * @told_wrongly: whether a store was notified twice, or while it did not wait
 * @now:	contents of the slot, a number; 0: it is free, or its page stays in memory
 * @last:	the last number stored
 * @on_device:	contents on the device
 * @in_region:	contents in the region
 * @moments:	states seen so far; in the first the slot is free
 * @nr:		number of @moments
 */
struct world {
	struct farswap_device *device;
	struct farswap_slab *slab;
	struct farswap_mapping *mapping;
	struct farswap_donor *donor;
	struct farswap_backup_owner owner;
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
	struct moment *moments;
	unsigned int nr;
};

static unsigned int *number_in(struct page *page)
{
	return page_address(page);
}

static struct farswap_backup_shard *shard_of(const struct world *world)
{
	return farswap_backup_shard(&world->device->backups, SLOT);
}

static struct farswap_backup *take(struct world *world)
{
	struct farswap_backup_shard *shard = shard_of(world);
	struct farswap_backup *backup;

	/* This allocates memory at once if the pool is empty. */
	shard->nr_kept++;
	backup = farswap_staging_wait(world->device, false);
	shard->nr_kept--;
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
	farswap_backup_copy(world->folio, &staged);
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

/* Like store_end() without a region: the page stays in memory if the device fails, too. */
static void end_store(struct world *world, int error)
{
	world->waiting = false;
	if (error)
		free_slot(world);
}

static void store_backed(struct farswap_backup_owner *owner, int error)
{
	struct world *world = container_of(owner, struct world, owner);

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
	if (!farswap_backup_adopt(world->slab, SLOT, 1, &world->owner, &error))
		end_store(world, error);
}

/* Nothing is in flight, so this does not wait. */
static void store_to_device(struct world *world)
{
	clear_bit(SLOT, world->slab->bits.remote);
	farswap_backup_settle(world->slab, SLOT, 1);
	world->stored = false;
	world->now = ++world->last;
	world->on_device = world->now;
}

/* The region and its donor are in order. */
static void stay(struct world *world)
{
	world->in_region = 0;
	world->slab->state = FARSWAP_SLAB_MAPPED;
	world->mapping->state = FARSWAP_MAPPING_LIVE;
	world->donor->io = FARSWAP_DONOR_IO_WORKS;
}

static bool fetch(struct world *world)
{
	struct farswap_backup *backup = take(world);
	struct farswap_object object;

	if (!farswap_backup_fetch_begin(world->mapping, SLOT, backup, &object)) {
		farswap_staging_put(backup);
		return false;
	}
	world->fetch = backup;
	/* As early as possible: the slot may be stored again before the completion arrives. */
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
	write->shard = shard_of(world);
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

/* Whether only the region has the page. */
static bool is_sole(const struct world *world)
{
	return test_bit(SLOT, world->slab->bits.unbacked) &&
	       !farswap_backup_holds(world->slab, SLOT);
}

static bool stays(const struct world *world)
{
	return world->slab->state == FARSWAP_SLAB_MAPPED && !farswap_mapping_goes(world->mapping) &&
	       world->donor->io == FARSWAP_DONOR_IO_WORKS;
}

/* The slab gets another region, once no I/O uses this one and no page is only there. */
static bool go(struct world *world)
{
	if (stays(world) || world->stored || world->fetch || is_sole(world))
		return false;
	clear_bit(SLOT, world->slab->bits.remote);
	stay(world);
	return true;
}

/* Returns false if the event is impossible now. */
static bool happen(struct world *world, enum event event)
{
	struct farswap_backup_shard *shard = shard_of(world);

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
		if (world->write || list_empty(&shard->queue))
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
	case EVENT_DRAIN:
		if (world->slab->state != FARSWAP_SLAB_MAPPED)
			return false;
		world->slab->state = FARSWAP_SLAB_DRAINING;
		return true;
	case EVENT_LEAVE:
		if (farswap_mapping_goes(world->mapping))
			return false;
		world->mapping->state = FARSWAP_MAPPING_EVACUATING;
		return true;
	case EVENT_GO:
		return go(world);
	case EVENT_SUSPECT:
	case EVENT_RESUME:
		if (world->donor->io != (event == EVENT_SUSPECT ? FARSWAP_DONOR_IO_WORKS :
					 FARSWAP_DONOR_IO_SUSPENDED))
			return false;
		world->donor->io = event == EVENT_SUSPECT ? FARSWAP_DONOR_IO_SUSPENDED :
				   FARSWAP_DONOR_IO_WORKS;
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
		if (!shard->nr_kept)
			return false;
		backup_retry(&world->device->backups);
		return true;
	}
}

/* Returns the error, or NULL. */
static const char *complaint(struct world *world)
{
	struct farswap_backup_shard *shard = shard_of(world);
	/* The device has no other slot. */
	struct hlist_head *bucket = farswap_backup_bucket(shard, SLOT);
	unsigned int nr = 0, kept = 0, inflight = 0;
	struct farswap_backup *backup;
	const char *wrong = NULL;
	bool unbacked, remote;

	spin_lock_irq(&shard->lock);
	hlist_for_each_entry(backup, bucket, node) {
		nr++;
		kept += backup->state == FARSWAP_BACKUP_KEPT;
		inflight += backup->state == FARSWAP_BACKUP_INFLIGHT;
	}
	backup = farswap_backup_find(shard, SLOT);
	unbacked = test_bit(SLOT, world->slab->bits.unbacked);
	remote = test_bit(SLOT, world->slab->bits.remote) && world->in_region == world->now;
	if (world->told_wrongly)
		wrong = "a store that is told of what it doesn't wait for";
	else if (nr != shard->nr || kept != shard->nr_kept)
		wrong = "the counts";
	else if (inflight != !!world->write)
		wrong = "a write in flight that nobody sent";
	else if (inflight && !list_empty(&shard->queue))
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
	spin_unlock_irq(&shard->lock);
	return wrong;
}

/* A working device gets the page eventually. */
static const char *settle(struct world *world)
{
	struct farswap_backup_shard *shard = shard_of(world);
	const char *wrong = NULL;
	int left = SETTLE;

	while (shard->nr && !wrong && left--) {
		if (!happen(world, EVENT_FETCHED) && !happen(world, EVENT_WRITTEN) &&
		    !happen(world, EVENT_SUBMIT))
			happen(world, EVENT_RETRY);
		wrong = complaint(world);
	}
	if (!wrong && shard->nr)
		wrong = "a copy that is never written";
	else if (!wrong && world->waiting)
		wrong = "a store that is never told of its copy";
	return wrong;
}

/* A stale number never becomes current again, so all stale numbers are equal. */
static bool is_now(const struct world *world, unsigned int number)
{
	return number && number == world->now;
}

static u64 look(const struct world *world)
{
	struct hlist_head *bucket = farswap_backup_bucket(shard_of(world), SLOT);
	const bool flags[] = {
		world->stored, world->waiting, world->now, is_now(world, world->on_device),
		is_now(world, world->in_region), world->fetch && is_now(world, world->read),
		test_bit(SLOT, world->slab->bits.remote),
		test_bit(SLOT, world->slab->bits.unbacked),
		world->slab->state == FARSWAP_SLAB_MAPPED, farswap_mapping_goes(world->mapping),
		world->donor->io == FARSWAP_DONOR_IO_WORKS,
	};
	struct farswap_backup *backup;
	u64 seen = 0;
	int i;

	hlist_for_each_entry(backup, bucket, node)
		seen = seen << 6 | (backup->state + 1) << 3 | backup->stale << 2 |
		       !!backup->owner << 1 | (backup->state != FARSWAP_BACKUP_FETCHING &&
					       is_now(world, *number_in(backup->page)));
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		seen = seen << 1 | flags[i];
	static_assert(COPIES * 6 + ARRAY_SIZE(flags) < 64);
	return seen;
}

/* Replay from a free slot; first complete the previous attempt. */
static void replay(struct world *world, unsigned int moment)
{
	enum event events[EVENTS_MAX];
	unsigned int nr = 0;

	settle(world);
	free_slot(world);
	stay(world);
	world->on_device = 0;
	world->told_wrongly = false;
	for (; moment; moment = world->moments[moment].before)
		events[nr++] = world->moments[moment].event;
	while (nr--)
		happen(world, events[nr]);
}

/* Record a new state. Returns false if there are more than expected. */
static bool note(struct world *world, enum event event, unsigned int before)
{
	u64 seen = look(world);
	unsigned int i, length = 1;

	for (i = 0; i < world->nr; i++)
		if (world->moments[i].seen == seen)
			return true;
	for (i = before; i; i = world->moments[i].before)
		length++;
	if (world->nr == MOMENTS || length == EVENTS_MAX || shard_of(world)->nr > COPIES)
		return false;
	world->moments[world->nr++] = (struct moment){ seen, event, before };
	return true;
}

/* Returns the error after an event, or NULL. */
static const char *try(struct world *world, unsigned int moment, enum event event)
{
	const char *wrong;
	bool sole;

	replay(world, moment);
	sole = is_sole(world);
	if (!happen(world, event))
		return NULL;
	wrong = complaint(world);
	if (wrong)
		return wrong;
	if (!sole && is_sole(world) && !stays(world))
		return "it is left to a region that is about to go";
	return note(world, event, moment) ? settle(world) : "there is no end to it";
}

static void explore(struct kunit *test, struct world *world)
{
	const char *wrong = NULL;
	unsigned int moment;
	enum event event;

	world->moments[world->nr++].seen = look(world);
	for (moment = 0; moment < world->nr && !wrong; moment++)
		for (event = 0; event < EVENTS && !wrong; event++) {
			wrong = try(world, moment, event);
			cond_resched();
			if (!wrong)
				continue;
			KUNIT_FAIL(test, "%s; after, backwards: %s", wrong, event_names[event]);
			for (; moment; moment = world->moments[moment].before)
				kunit_info(test, "%s", event_names[world->moments[moment].event]);
		}
	settle(world);
	if (!wrong)
		KUNIT_EXPECT_EQ(test, world->nr, MOMENTS_THERE_ARE);
}

static void sent_by_nobody(struct work_struct *work) {}

static void backup_test_orders(struct kunit *test)
{
	struct world world = {
		.device = kunit_kzalloc(test, sizeof(*world.device), GFP_KERNEL),
		.slab = kunit_kzalloc(test, sizeof(*world.slab), GFP_KERNEL),
		.mapping = kunit_kzalloc(test, struct_size(world.mapping, missing,
							   BITS_TO_LONGS(SLOTS)), GFP_KERNEL),
		.donor = kunit_kzalloc(test, sizeof(*world.donor), GFP_KERNEL),
		.moments = kunit_kcalloc(test, MOMENTS, sizeof(*world.moments), GFP_KERNEL),
	};
	struct swap_info_struct *si = kunit_kzalloc(test, sizeof(*si), GFP_KERNEL);
	unsigned int used = farswap_staging_used();
	struct farswap_backup_shard *shard;
	struct farswap_backups *backups;

	KUNIT_ASSERT_NOT_NULL(test, world.device);
	KUNIT_ASSERT_NOT_NULL(test, world.slab);
	KUNIT_ASSERT_NOT_NULL(test, world.mapping);
	KUNIT_ASSERT_NOT_NULL(test, si);
	KUNIT_ASSERT_NOT_NULL(test, world.donor);
	KUNIT_ASSERT_NOT_NULL(test, world.moments);
	backups = &world.device->backups;
	shard = shard_of(&world);
	KUNIT_ASSERT_EQ(test, farswap_backups_init(backups), 0);
	/* These would send it, at once or later. */
	INIT_WORK(&shard->work, sent_by_nobody);
	shard->flushing = true;
	world.device->si = si;
	world.device->map = farswap_slabmap_alloc(SLOTS, ilog2(SLOTS), ilog2(SLOTS), 0, 0);
	world.slab->device = world.device;
	world.slab->nr_slots = SLOTS;
	world.mapping->slab = world.slab;
	world.mapping->donor = world.donor;
	stay(&world);
	RCU_INIT_POINTER(world.slab->mapping[0], world.mapping);
	world.owner.backed = store_backed;
	world.folio = folio_alloc(GFP_KERNEL | __GFP_ZERO, 0);
	if (!world.folio || !world.device->map ||
	    farswap_slotbits_alloc(&world.slab->bits, SLOTS))
		KUNIT_FAIL(test, "no memory");
	else
		explore(test, &world);
	flush_work(&shard->work);
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
