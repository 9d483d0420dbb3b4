// SPDX-License-Identifier: GPL-2.0
/*
 * Fetches what only a slab's region has, before the region goes: each such page
 * is read into a staging page, from where the swap device gets it in its turn. So
 * an eviction loses nothing whatever the backup policy, and waits for the device
 * only when the staging pool is empty.
 *
 * Not through the swap cache: a slot that is freed or stored anew meanwhile makes
 * the staging page stale, as it does with any other (see backup.c).
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/mempool.h>

#include "internal.h"

/* Pages being read at once, of one slab. */
#define HOME_READS	8
/* Pages that are read in one go where it does not hurry. */
#define HOME_RUN	32
/* Rounds that may fail though the donor's session did not. */
#define HOME_ROUNDS	3
#define HOME_PAUSE_MS	10
/* Whoever waits for the fetching gives up when no read could begin for so long. */
#define HOME_PATIENCE	(5 * HZ)
/* Attempts further apart say nothing of the time between them. */
#define HOME_GAP	(2 * HZ)
/* Of looks at a suspect donor, at every so many whether it is needed still. */
#define HOME_LOOKS	10
/* Slabs that can be fetched however little memory there is. */
#define HOME_POOL	2

/**
 * struct home_read - one page being fetched
 * @io:		the remote read
 * @home:	of which slab
 * @backup:	where it goes
 */
struct home_read {
	struct farswap_io io;
	struct home *home;
	struct farswap_backup *backup;
};

/**
 * struct home - a slab being fetched
 * @mapping:	where from
 * @tags:	of @reads
 * @failed:	a read has failed: the donor is dead
 * @reads:	the reads
 */
struct home {
	struct farswap_mapping *mapping;
	struct farswap_tags tags;
	bool failed;
	struct home_read reads[HOME_READS];
};

static mempool_t *home_pool;

/* @failed: for the donor. */
static void home_read_end(struct home_read *read, int error, bool failed)
{
	struct home *home = read->home;

	farswap_backup_fetch_end(read->backup, error);
	if (failed)
		WRITE_ONCE(home->failed, true);
	/* Last: who waits frees @home. */
	farswap_tags_put(&home->tags, read - home->reads);
}

static void home_read_done(struct farswap_io *io, int error)
{
	home_read_end(container_of(io, struct home_read, io), error, error);
}

/* Notes since when the donor's adapter has had no memory to map a page. */
static void home_note(struct farswap_donor *donor, bool starved)
{
	unsigned long now = jiffies;

	if (!starved || time_after(now, READ_ONCE(donor->starved_at) + HOME_GAP))
		WRITE_ONCE(donor->starved_since, now);
	if (starved)
		WRITE_ONCE(donor->starved_at, now);
}

/**
 * farswap_home_is_starved() - is there no memory to read from a donor
 * @donor:	the donor
 *
 * Context: any.
 * Return: true if reads are wanted, and the adapter has had no memory for any, for seconds.
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
 * 0: it has begun. -EAGAIN: it is left to who reads it from another mapping, which may come to
 * nothing; -ENOMEM or -ECANCELED: it could not begin, but not for the donor.
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

/* Likewise, to the next staging page that is free. */
static int home_fetch(struct home *home, unsigned int slot)
{
	bool hurry = farswap_eviction_is_near(home->mapping);

	return home_fetch_to(home, slot, farswap_staging_wait(home->mapping->slab->device, hurry));
}

/* Of one mapping of several that leaves alone, only what none has that stays. */
static bool home_is_here(const struct farswap_mapping *mapping, unsigned int slot)
{
	if (farswap_mapping_goes(mapping) &&
	    READ_ONCE(mapping->slab->state) == FARSWAP_SLAB_MAPPED)
		return farswap_drain_is_only(mapping, slot);
	return farswap_mapping_has(mapping, slot, 1);
}

/* Does it have a page that is not complete at home? Zeroes need no copy there. */
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

/* False: a read has failed. */
static bool home_end(struct home *home)
{
	bool failed;

	farswap_tags_wait(&home->tags);
	failed = home->failed;
	mempool_free(home, home_pool);
	return !failed;
}

/*
 * Likewise. @again: there is more to do, though none has. @first: where to begin; where it ended if
 * the adapter had no memory, and otherwise 0.
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
		/* A staging page is waited for, and may be long in coming: not in vain. */
		state = farswap_backup_state_of(slab, slot);
		err = state == -ENOENT ? home_fetch(home, slot) : 0;
		if (err || state == FARSWAP_BACKUP_FETCHING)
			*again = true;
		/* What is under way has memory, and gives it back. */
		if (err == -ENOMEM) {
			*first = slot;
			break;
		}
		cond_resched();
	}
	return home_end(home);
}

/* False: the donor won't work again, or need not for this. */
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

/* 0 if one was read; or -ENOENT: there is none; -ENOMEM; another error: it could not be read. */
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
		/* It may have been freed meanwhile. */
		if (err != -EAGAIN)
			return err ?: good ? 0 : -EIO;
	}
	return -ENOENT;
}

/* Likewise, but with patience: in a while there may be memory. */
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
 * farswap_home_probe() - have one page staged that only a region has, if there is any
 * @device:	whose page; no store of it begins any more
 *
 * It stays where it is, too. So a device that can't be written, or an adapter without memory, is
 * found out before all such pages are taken from where they are safe.
 *
 * Context: under farswap_devices_lock; may sleep, until a staging page is free, and for seconds
 * until there is memory for the adapter.
 * Return: 0, or -ENOMEM if there was none.
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
 * farswap_home_fetch() - have every page staged that only the region has
 * @mapping:	one of the slab's; no store to it begins, and of those in flight what they write
 *		is left out
 *
 * When a read fails the donor is dead, or suspect: then again, as often as it comes
 * back, which ends with its grace if no page gets through, or when others had all of them.
 * Pages that are being read from another of the slab's mappings are waited for, and so is memory to
 * map a page for the adapter: the donor has it still. Whoever waits for this need not wait as long,
 * see farswap_home_is_starved(). Nothing is read
 * of a region that its donor is about to take: see farswap_eviction_begin().
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
 * farswap_home_back_up() - have the device get pages that only regions have
 * @mapping:	one that stays, referenced
 * @first:	the slot to begin with; where to go on next time
 *
 * A few pages, which the region keeps. Stores go on.
 *
 * Context: may sleep, as long as remote reads take; does not wait for the device.
 * Return: how many pages were read; or -EBUSY if the staging pool has to be left to stores, or
 * another error: not now.
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
 * farswap_home_init() - make what fetching needs
 *
 * Return: 0 or -ENOMEM.
 */
int farswap_home_init(void)
{
	home_pool = mempool_create_kmalloc_pool(HOME_POOL, sizeof(struct home));
	return home_pool ? 0 : -ENOMEM;
}

/**
 * farswap_home_exit() - undo farswap_home_init()
 */
void farswap_home_exit(void)
{
	mempool_destroy(home_pool);
}
