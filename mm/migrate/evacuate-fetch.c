// SPDX-License-Identifier: GPL-2.0
/*
 * Fetches the pages that only a slab's region has, before the slab gives up the region. Each page
 * is read into a staging page, and written to the swap device from there. So an eviction loses no
 * page, whatever the backup policy, and waits for the device only if the staging pool is empty.
 *
 * The pages do not pass through the swap cache. A store to a slot or its freeing makes the staging
 * page stale, as for any other staging page (see backup.c).
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/mempool.h>

#include "internal.h"
#include "migrate/mover.h"

/* Reads of one slab in flight at the same time. */
#define FETCH_READS	8
/* Pages of one batch where there is no deadline. */
#define FETCH_RUN	32
/* Rounds that may fail although the donor's session did not fail. */
#define FETCH_ROUNDS	3
#define FETCH_PAUSE_MS	10
/* Time without memory for any read after which waiters for a fetch give up. */
#define FETCH_PATIENCE	(5 * HZ)
/* With a longer gap between two attempts, nothing is known about the time between them. */
#define FETCH_GAP	(2 * HZ)
/* While it waits for a suspect donor, a fetch checks once per so many polls if it is needed. */
#define FETCH_LOOKS	10
/* Slabs that can be fetched at the same time however little memory there is. */
#define FETCH_POOL	2

/**
 * struct fetch_read - one page being fetched
 * @io:		the remote read
 * @fetch:	the fetch that the read belongs to
 * @backup:	the staging page that it fills
 * @work:	opens the page if that can't be done where the read ends
 * @bytes:	size of the compressed page's units; 0: it is not compressed
 */
struct fetch_read {
	struct farswap_io io;
	struct work_struct work;
	struct fetch *fetch;
	struct farswap_backup *backup;
	unsigned int bytes;
};

/**
 * struct fetch - a fetch of a mapping's pages
 * @mapping:	the mapping
 * @tags:	the tags of @reads
 * @failed:	a read has failed, so the donor is dead or suspect
 * @reads:	the reads
 */
struct fetch {
	struct farswap_mapping *mapping;
	struct farswap_tags tags;
	bool failed;
	struct fetch_read reads[FETCH_READS];
};

static mempool_t *fetch_pool;

/* End a read; @failed says that the donor caused the error. */
static void fetch_read_end(struct fetch_read *read, int error, bool failed)
{
	struct fetch *fetch = read->fetch;

	farswap_backup_fetch_end(read->backup, error);
	if (failed)
		WRITE_ONCE(fetch->failed, true);
	/* This comes last, because the waiter frees @fetch. */
	farswap_tags_put(&fetch->tags, read - fetch->reads);
}

/*
 * Check a page, and decrypt it. A store to the slot may change the tag at any time; then the page
 * is stale, and its donor is not the cause.
 */
static bool fetch_open(struct fetch_read *read)
{
	const struct farswap_backup *backup = read->backup;
	struct farswap_slab *slab = backup->slab;
	struct farswap_protect *protect = slab->device->protect;
	unsigned long page = farswap_protect_page(protect, backup->offset, slab->pack);

	if (!farswap_protect_open(protect, page, page_address(backup->page), read->io.length))
		return true;
	if (test_bit(backup->slot, slab->bits.remote)) {
		/*
		 * The read of the remote bit comes before the read of @stale. A store clears the
		 * bit, changes the tag, sets @stale, and sets the bit when it ends.
		 */
		smp_rmb();
		if (!READ_ONCE(backup->stale))
			farswap_mapping_note_altered(read->fetch->mapping);
	}
	return false;
}

/* End a read that has succeeded, whose page is @good as far as its tag tells. */
static void fetch_unpack(struct fetch_read *read, bool good)
{
	/* Other pages of a donor that returns a bad one are still worth fetching. */
	if (good && read->bytes && !farswap_decompress(read->backup->page, read->bytes)) {
		farswap_stat_add(FARSWAP_STAT_LOAD_BAD, 1);
		good = false;
	}
	fetch_read_end(read, good ? 0 : -EIO, false);
}

static void fetch_open_work(struct work_struct *work)
{
	struct fetch_read *read = container_of(work, struct fetch_read, work);

	fetch_unpack(read, fetch_open(read));
}

static void fetch_read_done(struct farswap_io *io, int error)
{
	struct fetch_read *read = container_of(io, struct fetch_read, io);
	const struct farswap_protect *protect = read->backup->slab->device->protect;

	if (error)
		fetch_read_end(read, error, true);
	else if (!protect)
		fetch_unpack(read, true);
	else if (likely(farswap_cipher_usable(protect->cipher)))
		fetch_unpack(read, fetch_open(read));
	else
		queue_work(farswap_wq, &read->work);
}

/* Record since when the donor's adapter has had no memory to map a page. */
static void fetch_note(struct farswap_donor *donor, bool starved)
{
	unsigned long now = jiffies;

	if (!starved || time_after(now, READ_ONCE(donor->starved_at) + FETCH_GAP))
		WRITE_ONCE(donor->starved_since, now);
	if (starved)
		WRITE_ONCE(donor->starved_at, now);
}

/**
 * farswap_fetch_is_starved() - check whether there is no memory for reads from a donor
 * @donor:	the donor
 *
 * Context: any.
 * Return: true if reads are attempted, and the adapter has had no memory for any of them for
 * seconds.
 */
bool farswap_fetch_is_starved(const struct farswap_donor *donor)
{
	unsigned long since = READ_ONCE(donor->starved_since);

	return time_after_eq(jiffies, since + FETCH_PATIENCE) &&
	       time_before(jiffies, READ_ONCE(donor->starved_at) + FETCH_GAP);
}

static int fetch_submit(struct fetch *fetch, struct farswap_io *io)
{
	int err = farswap_mapping_ends(fetch->mapping) ? -ECANCELED :
		  farswap_mapping_submit(fetch->mapping, io);

	if (err != -ECANCELED)
		fetch_note(fetch->mapping->donor, err == -ENOMEM);
	return err;
}

/*
 * Start to fetch a slot into a staging page. Return 0 if the read was started; -EAGAIN if the slot
 * changed or is being fetched from another mapping, which may fail; -ENOMEM or -ECANCELED if the
 * donor is not the cause of the failure; or another error if it is.
 */
static int fetch_to(struct fetch *fetch, unsigned int slot, struct farswap_backup *backup)
{
	struct farswap_object object;
	struct fetch_read *read;
	struct farswap_io *io;
	int err;

	if (!farswap_backup_fetch_begin(fetch->mapping, slot, backup, &object)) {
		farswap_staging_put(backup);
		return -EAGAIN;
	}
	read = &fetch->reads[farswap_tags_get(&fetch->tags)];
	read->backup = backup;
	read->bytes = object.bytes;
	io = &read->io;
	farswap_slab_io(fetch->mapping->slab, io, FARSWAP_IO_READ, backup->page, slot,
			object.nr);
	io->done = fetch_read_done;
	err = fetch_submit(fetch, io);
	if (err)
		fetch_read_end(read, err, err != -ENOMEM && err != -ECANCELED);
	return err;
}

/* Start to fetch a slot as fetch_to() does, into the next free staging page. */
static int fetch_slot(struct fetch *fetch, unsigned int slot)
{
	bool hurry = farswap_evict_is_near(fetch->mapping);

	return fetch_to(fetch, slot, farswap_staging_wait(fetch->mapping->slab->device, hurry));
}

/*
 * Check whether to fetch a slot from @mapping. If the slab stays mapped while @mapping is
 * evacuating, a slot that a staying mapping has is not fetched.
 */
static bool fetch_is_here(const struct farswap_mapping *mapping, unsigned int slot)
{
	if (farswap_mapping_goes(mapping) &&
	    READ_ONCE(mapping->slab->state) == FARSWAP_SLAB_MAPPED)
		return farswap_unmap_is_only(mapping, slot);
	return farswap_mapping_has(mapping, slot, 1);
}

/* Check whether a page remains that is not completely staged; a zero page needs no copy. */
static bool fetch_is_left(const struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots) {
		if (test_bit(slot, slab->bits.unbacked) && fetch_is_here(mapping, slot) &&
		    !farswap_slab_zero(slab, slot) && !farswap_backup_holds(slab, slot))
			return true;
		cond_resched();
	}
	return false;
}

static struct fetch *fetch_begin(struct farswap_mapping *mapping)
{
	struct fetch *fetch = mempool_alloc(fetch_pool, GFP_NOIO);
	int i;

	fetch->mapping = mapping;
	fetch->failed = false;
	farswap_tags_init(&fetch->tags, FETCH_READS);
	for (i = 0; i < FETCH_READS; i++) {
		fetch->reads[i].fetch = fetch;
		INIT_WORK(&fetch->reads[i].work, fetch_open_work);
	}
	return fetch;
}

/* Wait for the reads, and free @fetch; return false if a read has failed. */
static bool fetch_end(struct fetch *fetch)
{
	bool failed;

	farswap_tags_wait(&fetch->tags);
	failed = fetch->failed;
	mempool_free(fetch, fetch_pool);
	return !failed;
}

/*
 * Fetch all pages from @first on. Return false if a read has failed; otherwise @again says if there
 * is more to do. @first is set to the slot at which the adapter had no memory, and otherwise to 0.
 */
static bool fetch_all(struct farswap_mapping *mapping, unsigned int *first, bool *again)
{
	struct fetch *fetch = fetch_begin(mapping);
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot = *first;
	int state, err;

	*again = slot;
	*first = 0;
	for_each_set_bit_from(slot, slab->bits.remote, slab->nr_slots) {
		if (READ_ONCE(fetch->failed) || farswap_mapping_ends(mapping))
			break;
		if (!test_bit(slot, slab->bits.unbacked) || !fetch_is_here(mapping, slot) ||
		    farswap_slab_zero(slab, slot))
			continue;
		/* A staging page may be long in coming, so check first if the slot needs one. */
		state = farswap_backup_state_of(slab, slot);
		err = state == -ENOENT ? fetch_slot(fetch, slot) : 0;
		if (err || state == FARSWAP_BACKUP_FETCHING)
			*again = true;
		/* The reads in flight have memory, and release it when they complete. */
		if (err == -ENOMEM) {
			*first = slot;
			break;
		}
		cond_resched();
	}
	return fetch_end(fetch);
}

/* Wait for a suspect donor; return false if it won't resume, or if nothing is left to fetch. */
static bool fetch_await(const struct farswap_mapping *mapping)
{
	const struct farswap_donor *donor = mapping->donor;
	unsigned int look;

	farswap_donor_settle(donor);
	for (look = 0; farswap_donor_is_suspect(donor); look++) {
		if (look % FETCH_LOOKS == 0 && !fetch_is_left(mapping))
			return false;
		msleep(FETCH_PAUSE_MS);
	}
	return farswap_donor_works(donor);
}

/* Fetch one page. Return 0, -ENOENT if there is none, -ENOMEM, or another error of the read. */
static int fetch_one(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	struct fetch *fetch;
	unsigned int slot;
	bool good;
	int err;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots) {
		if (!test_bit(slot, slab->bits.unbacked) || !fetch_is_here(mapping, slot) ||
		    farswap_slab_zero(slab, slot))
			continue;
		fetch = fetch_begin(mapping);
		err = fetch_slot(fetch, slot);
		good = fetch_end(fetch);
		/* With -EAGAIN the slot may have been freed, so the next one is tried. */
		if (err != -EAGAIN)
			return err ?: good ? 0 : -EIO;
	}
	return -ENOENT;
}

/* Fetch one page as fetch_one() does, and retry while there is no memory. */
static int fetch_probe(struct farswap_mapping *mapping)
{
	int err = fetch_one(mapping);

	while (err == -ENOMEM && !farswap_fetch_is_starved(mapping->donor)) {
		msleep(FETCH_PAUSE_MS);
		err = fetch_one(mapping);
	}
	return err;
}

/**
 * farswap_fetch_probe() - fetch one page that only a region has, if there is any
 * @device:	the device of the page; no new store to it starts
 *
 * The page also stays in its region. So a device that cannot be written, or an adapter without
 * memory, is detected before all such pages are taken from where they are safe.
 *
 * Context: under farswap_devices_lock; may sleep, until a staging page is free, and for seconds
 * until there is memory for the adapter.
 * Return: 0, or -ENOMEM if there was no memory for the adapter.
 */
int farswap_fetch_probe(struct farswap_device *device)
{
	struct farswap_mapping *mapping;
	struct farswap_slab *slab;
	unsigned int nth;
	unsigned long i;
	int err = -ENOENT;

	for (i = 0; i < device->map->nr_slabs && err && err != -ENOMEM; i++) {
		slab = READ_ONCE(device->map->slab[i]);
		if (!slab || !farswap_slab_has_bits(slab) || !READ_ONCE(slab->sole))
			continue;
		for (nth = 0; nth < FARSWAP_REPLICAS_MAX && err && err != -ENOMEM; nth++) {
			mapping = farswap_mapping_get(slab, nth);
			if (!mapping)
				continue;
			err = fetch_probe(mapping);
			farswap_mapping_put(mapping);
		}
	}
	return err == -ENOMEM ? err : 0;
}

/**
 * farswap_fetch_mapping() - fetch every page that only the region has
 * @mapping:	a mapping of the slab; no new store to it starts, and the pages of stores in flight
 *		are skipped
 *
 * If a read fails, the donor is dead or suspect. The fetch is retried each time the session
 * resumes. If no page gets through, the retries end with the donor's grace; they also end when
 * the other mappings had all of the pages.
 *
 * The fetch waits for pages that are being read from another mapping of the slab, and for memory
 * to map a page for the adapter, because the donor still has the page. A caller's waiter may give
 * up earlier, see farswap_fetch_is_starved(). Nothing is read from a region that its donor is about
 * to take, see farswap_evict_begin().
 *
 * Context: may sleep, until staging pages or other memory are free.
 */
void farswap_fetch_mapping(struct farswap_mapping *mapping)
{
	const struct farswap_donor *donor = mapping->donor;
	unsigned int suspects, failed = 0, first = 0;
	bool again;

	while (failed < FETCH_ROUNDS && !farswap_mapping_ends(mapping)) {
		suspects = READ_ONCE(donor->suspects);
		if (fetch_all(mapping, &first, &again)) {
			if (!again)
				break;
			msleep(FETCH_PAUSE_MS);
			continue;
		}
		if (!fetch_await(mapping))
			break;
		failed += READ_ONCE(donor->suspects) == suspects;
	}
}

/**
 * farswap_fetch_back_up() - back up some pages that only regions have to the device
 * @mapping:	a mapping that stays, referenced
 * @first:	the slot to start with; set to the slot to continue with
 *
 * The region keeps the pages, and stores continue.
 *
 * Context: may sleep, as long as remote reads take; does not wait for the device.
 * Return: the number of pages that were read; -EBUSY if the rest of the staging pool is reserved
 * for stores; or another error. After an error the caller retries later.
 */
int farswap_fetch_back_up(struct farswap_mapping *mapping, unsigned int *first)
{
	struct fetch *fetch = fetch_begin(mapping);
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot = *first, nr = 0;
	struct farswap_backup *backup;
	int err = 0;

	for_each_set_bit_from(slot, slab->bits.remote, slab->nr_slots) {
		if (nr == FETCH_RUN || err || READ_ONCE(fetch->failed))
			break;
		if (!test_bit(slot, slab->bits.unbacked) ||
		    !farswap_mapping_has(mapping, slot, 1) || farswap_slab_zero(slab, slot) ||
		    farswap_backup_state_of(slab, slot) != -ENOENT)
			continue;
		backup = farswap_staging_try();
		err = backup ? fetch_to(fetch, slot, backup) : -EBUSY;
		nr += !err;
		if (err == -EAGAIN)
			err = 0;
	}
	*first = slot;
	if (!fetch_end(fetch))
		err = -EIO;
	return err ?: (int)nr;
}

/**
 * farswap_fetch_init() - allocate the pool of fetches
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_fetch_init(void)
{
	fetch_pool = mempool_create_kmalloc_pool(FETCH_POOL, sizeof(struct fetch));
	return fetch_pool ? 0 : -ENOMEM;
}

/**
 * farswap_fetch_exit() - free the pool of fetches
 */
void farswap_fetch_exit(void)
{
	mempool_destroy(fetch_pool);
}
