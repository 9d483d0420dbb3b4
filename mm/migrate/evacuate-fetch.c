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

/* Reads of one slab in flight at the same time. */
#define HOME_READS	8
/* Pages of one batch where there is no deadline. */
#define HOME_RUN	32
/* Rounds that may fail although the donor's session did not fail. */
#define HOME_ROUNDS	3
#define HOME_PAUSE_MS	10
/* Time without memory for any read after which waiters for a fetch give up. */
#define HOME_PATIENCE	(5 * HZ)
/* With a longer gap between two attempts, nothing is known about the time between them. */
#define HOME_GAP	(2 * HZ)
/* While it waits for a suspect donor, a fetch checks once per so many polls if it is needed. */
#define HOME_LOOKS	10
/* Slabs that can be fetched at the same time however little memory there is. */
#define HOME_POOL	2

/**
 * struct home_read - one page being fetched
 * @io:		the remote read
 * @home:	the fetch that the read belongs to
 * @backup:	the staging page that it fills
 */
struct home_read {
	struct farswap_io io;
	struct home *home;
	struct farswap_backup *backup;
};

/**
 * struct home - a fetch of a mapping's pages
 * @mapping:	the mapping
 * @tags:	the tags of @reads
 * @failed:	a read has failed, so the donor is dead or suspect
 * @reads:	the reads
 */
struct home {
	struct farswap_mapping *mapping;
	struct farswap_tags tags;
	bool failed;
	struct home_read reads[HOME_READS];
};

static mempool_t *home_pool;

/* End a read; @failed says that the donor caused the error. */
static void home_read_end(struct home_read *read, int error, bool failed)
{
	struct home *home = read->home;

	farswap_backup_fetch_end(read->backup, error);
	if (failed)
		WRITE_ONCE(home->failed, true);
	/* This comes last, because the waiter frees @home. */
	farswap_tags_put(&home->tags, read - home->reads);
}

static void home_read_done(struct farswap_io *io, int error)
{
	home_read_end(container_of(io, struct home_read, io), error, error);
}

/* Record since when the donor's adapter has had no memory to map a page. */
static void home_note(struct farswap_donor *donor, bool starved)
{
	unsigned long now = jiffies;

	if (!starved || time_after(now, READ_ONCE(donor->starved_at) + HOME_GAP))
		WRITE_ONCE(donor->starved_since, now);
	if (starved)
		WRITE_ONCE(donor->starved_at, now);
}

/**
 * farswap_home_is_starved() - check whether there is no memory for reads from a donor
 * @donor:	the donor
 *
 * Context: any.
 * Return: true if reads are attempted, and the adapter has had no memory for any of them for
 * seconds.
 */
bool farswap_home_is_starved(const struct farswap_donor *donor)
{
	unsigned long since = READ_ONCE(donor->starved_since);

	return time_after_eq(jiffies, since + HOME_PATIENCE) &&
	       time_before(jiffies, READ_ONCE(donor->starved_at) + HOME_GAP);
}

static int home_submit(struct home *home, struct farswap_io *io)
{
	int err = farswap_mapping_ends(home->mapping) ? -ECANCELED :
		  farswap_mapping_submit(home->mapping, io);

	if (err != -ECANCELED)
		home_note(home->mapping->donor, err == -ENOMEM);
	return err;
}

/*
 * Start to fetch a slot into a staging page. Return 0 if the read was started; -EAGAIN if the slot
 * changed or is being fetched from another mapping, which may fail; -ENOMEM or -ECANCELED if the
 * donor is not the cause of the failure; or another error if it is.
 */
static int home_fetch_to(struct home *home, unsigned int slot, struct farswap_backup *backup)
{
	struct home_read *read;
	struct farswap_io *io;
	int err;

	if (!farswap_backup_fetch_begin(home->mapping, slot, backup)) {
		farswap_staging_put(backup);
		return -EAGAIN;
	}
	read = &home->reads[farswap_tags_get(&home->tags)];
	read->backup = backup;
	io = &read->io;
	io->page = backup->page;
	io->offset = slot << PAGE_SHIFT;
	io->length = PAGE_SIZE;
	io->op = FARSWAP_IO_READ;
	io->urgent = false;
	io->done = home_read_done;
	err = home_submit(home, io);
	if (err)
		home_read_end(read, err, err != -ENOMEM && err != -ECANCELED);
	return err;
}

/* Start to fetch a slot as home_fetch_to() does, into the next free staging page. */
static int home_fetch(struct home *home, unsigned int slot)
{
	bool hurry = farswap_eviction_is_near(home->mapping);

	return home_fetch_to(home, slot, farswap_staging_wait(home->mapping->slab->device, hurry));
}

/*
 * Check whether to fetch a slot from @mapping. If the slab stays mapped while @mapping is
 * evacuating, a slot that a staying mapping has is not fetched.
 */
static bool home_is_here(const struct farswap_mapping *mapping, unsigned int slot)
{
	if (farswap_mapping_goes(mapping) &&
	    READ_ONCE(mapping->slab->state) == FARSWAP_SLAB_MAPPED)
		return farswap_drain_is_only(mapping, slot);
	return farswap_mapping_has(mapping, slot, 1);
}

/* Check whether a page remains that is not completely staged; a zero page needs no copy. */
static bool home_is_left(const struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots) {
		if (test_bit(slot, slab->bits.unbacked) && home_is_here(mapping, slot) &&
		    !farswap_slab_zero(slab, slot) && !farswap_backup_holds(slab, slot))
			return true;
		cond_resched();
	}
	return false;
}

static struct home *home_begin(struct farswap_mapping *mapping)
{
	struct home *home = mempool_alloc(home_pool, GFP_NOIO);
	int i;

	home->mapping = mapping;
	home->failed = false;
	farswap_tags_init(&home->tags, HOME_READS);
	for (i = 0; i < HOME_READS; i++)
		home->reads[i].home = home;
	return home;
}

/* Wait for the reads, and free @home; return false if a read has failed. */
static bool home_end(struct home *home)
{
	bool failed;

	farswap_tags_wait(&home->tags);
	failed = home->failed;
	mempool_free(home, home_pool);
	return !failed;
}

/*
 * Fetch all pages from @first on. Return false if a read has failed; otherwise @again says if there
 * is more to do. @first is set to the slot at which the adapter had no memory, and otherwise to 0.
 */
static bool home_fetch_all(struct farswap_mapping *mapping, unsigned int *first, bool *again)
{
	struct home *home = home_begin(mapping);
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot = *first;
	int state, err;

	*again = slot;
	*first = 0;
	for_each_set_bit_from(slot, slab->bits.remote, slab->nr_slots) {
		if (READ_ONCE(home->failed) || farswap_mapping_ends(mapping))
			break;
		if (!test_bit(slot, slab->bits.unbacked) || !home_is_here(mapping, slot) ||
		    farswap_slab_zero(slab, slot))
			continue;
		/* A staging page may be long in coming, so check first if the slot needs one. */
		state = farswap_backup_state_of(slab, slot);
		err = state == -ENOENT ? home_fetch(home, slot) : 0;
		if (err || state == FARSWAP_BACKUP_FETCHING)
			*again = true;
		/* The reads in flight have memory, and release it when they complete. */
		if (err == -ENOMEM) {
			*first = slot;
			break;
		}
		cond_resched();
	}
	return home_end(home);
}

/* Wait for a suspect donor; return false if it won't resume, or if nothing is left to fetch. */
static bool home_await(const struct farswap_mapping *mapping)
{
	const struct farswap_donor *donor = mapping->donor;
	unsigned int look;

	farswap_donor_settle(donor);
	for (look = 0; farswap_donor_is_suspect(donor); look++) {
		if (look % HOME_LOOKS == 0 && !home_is_left(mapping))
			return false;
		msleep(HOME_PAUSE_MS);
	}
	return farswap_donor_works(donor);
}

/* Fetch one page. Return 0, -ENOENT if there is none, -ENOMEM, or another error of the read. */
static int home_fetch_one(struct farswap_mapping *mapping)
{
	struct farswap_slab *slab = mapping->slab;
	struct home *home;
	unsigned int slot;
	bool good;
	int err;

	for_each_set_bit(slot, slab->bits.remote, slab->nr_slots) {
		if (!test_bit(slot, slab->bits.unbacked) || !home_is_here(mapping, slot) ||
		    farswap_slab_zero(slab, slot))
			continue;
		home = home_begin(mapping);
		err = home_fetch(home, slot);
		good = home_end(home);
		/* With -EAGAIN the slot may have been freed, so the next one is tried. */
		if (err != -EAGAIN)
			return err ?: good ? 0 : -EIO;
	}
	return -ENOENT;
}

/* Fetch one page as home_fetch_one() does, and retry while there is no memory. */
static int home_probe(struct farswap_mapping *mapping)
{
	int err = home_fetch_one(mapping);

	while (err == -ENOMEM && !farswap_home_is_starved(mapping->donor)) {
		msleep(HOME_PAUSE_MS);
		err = home_fetch_one(mapping);
	}
	return err;
}

/**
 * farswap_home_probe() - fetch one page that only a region has, if there is any
 * @device:	the device of the page; no new store to it starts
 *
 * The page also stays in its region. So a device that cannot be written, or an adapter without
 * memory, is detected before all such pages are taken from where they are safe.
 *
 * Context: under farswap_devices_lock; may sleep, until a staging page is free, and for seconds
 * until there is memory for the adapter.
 * Return: 0, or -ENOMEM if there was no memory for the adapter.
 */
int farswap_home_probe(struct farswap_device *device)
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
			err = home_probe(mapping);
			farswap_mapping_put(mapping);
		}
	}
	return err == -ENOMEM ? err : 0;
}

/**
 * farswap_home_fetch() - fetch every page that only the region has
 * @mapping:	a mapping of the slab; no new store to it starts, and the pages of stores in flight
 *		are skipped
 *
 * If a read fails, the donor is dead or suspect. The fetch is retried each time the session
 * resumes. If no page gets through, the retries end with the donor's grace; they also end when
 * the other mappings had all of the pages.
 *
 * The fetch waits for pages that are being read from another mapping of the slab, and for memory
 * to map a page for the adapter, because the donor still has the page. A caller's waiter may give
 * up earlier, see farswap_home_is_starved(). Nothing is read from a region that its donor is about
 * to take, see farswap_eviction_begin().
 *
 * Context: may sleep, until staging pages or other memory are free.
 */
void farswap_home_fetch(struct farswap_mapping *mapping)
{
	const struct farswap_donor *donor = mapping->donor;
	unsigned int suspects, failed = 0, first = 0;
	bool again;

	while (failed < HOME_ROUNDS && !farswap_mapping_ends(mapping)) {
		suspects = READ_ONCE(donor->suspects);
		if (home_fetch_all(mapping, &first, &again)) {
			if (!again)
				break;
			msleep(HOME_PAUSE_MS);
			continue;
		}
		if (!home_await(mapping))
			break;
		failed += READ_ONCE(donor->suspects) == suspects;
	}
}

/**
 * farswap_home_back_up() - back up some pages that only regions have to the device
 * @mapping:	a mapping that stays, referenced
 * @first:	the slot to start with; set to the slot to continue with
 *
 * The region keeps the pages, and stores continue.
 *
 * Context: may sleep, as long as remote reads take; does not wait for the device.
 * Return: the number of pages that were read; -EBUSY if the rest of the staging pool is reserved
 * for stores; or another error. After an error the caller retries later.
 */
int farswap_home_back_up(struct farswap_mapping *mapping, unsigned int *first)
{
	struct home *home = home_begin(mapping);
	struct farswap_slab *slab = mapping->slab;
	unsigned int slot = *first, nr = 0;
	struct farswap_backup *backup;
	int err = 0;

	for_each_set_bit_from(slot, slab->bits.remote, slab->nr_slots) {
		if (nr == HOME_RUN || err || READ_ONCE(home->failed))
			break;
		if (!test_bit(slot, slab->bits.unbacked) ||
		    !farswap_mapping_has(mapping, slot, 1) || farswap_slab_zero(slab, slot) ||
		    farswap_backup_state_of(slab, slot) != -ENOENT)
			continue;
		backup = farswap_staging_try();
		err = backup ? home_fetch_to(home, slot, backup) : -EBUSY;
		nr += !err;
		if (err == -EAGAIN)
			err = 0;
	}
	*first = slot;
	if (!home_end(home))
		err = -EIO;
	return err ?: (int)nr;
}

/**
 * farswap_home_init() - allocate the pool of fetches
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_home_init(void)
{
	home_pool = mempool_create_kmalloc_pool(HOME_POOL, sizeof(struct home));
	return home_pool ? 0 : -ENOMEM;
}

/**
 * farswap_home_exit() - free the pool of fetches
 */
void farswap_home_exit(void)
{
	mempool_destroy(home_pool);
}
