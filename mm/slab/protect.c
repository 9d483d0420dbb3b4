// SPDX-License-Identifier: GPL-2.0
/*
 * Protection of the pages that donors hold. Before a page is written to a region it is sealed:
 * encrypted, with a tag that stays on this machine together with the page's generation. A page
 * that is read from a region is opened with them. So a donor, or the network, can neither read
 * the page, nor change it, nor return an older one, another slot's, or zeroes.
 *
 * A nonce is the number of the page and a generation. farswap_protect_take() never gives a
 * generation of a page twice, also if two tasks take one at a time, a write fails, or the memory
 * of the seals is freed in between. The key is the device's own and is made at swapon. So no
 * nonce is used twice with a key.
 *
 * All regions that have a page hold the same bytes. Copies between regions move them as they are.
 *
 * Locking: a generation is taken atomically. The tag is written by the owner of the page: a
 * store, a promotion, or a run of guard.c that is not stale. It is read with the page's folio
 * locked, or by a fetch, which ignores a failure if the page was stored meanwhile. The seals of
 * a slab that is not packed are allocated before the slab is mapped and freed after it is
 * unmapped, under RCU, since a late I/O of a region that was lost may still use them; those of
 * packed slabs are allocated once and stay.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "slab/protect.h"

static unsigned int protect_cluster_bytes(const struct farswap_protect *protect)
{
	return protect->seal_bytes << FARSWAP_PROTECT_SHIFT;
}

static struct farswap_seal *protect_seal(u8 *seals, const struct farswap_protect *protect,
					 unsigned long page)
{
	return (void *)(seals + (page & (FARSWAP_PROTECT_PAGES - 1)) * protect->seal_bytes);
}

/* Return the seal of a page, or NULL if its cluster has none. Context: under RCU. */
static struct farswap_seal *protect_find(struct farswap_protect *protect, unsigned long page)
{
	unsigned long nth = page >> FARSWAP_PROTECT_SHIFT;
	u8 *seals;

	if (nth >= protect->nr_clusters)
		return NULL;
	seals = READ_ONCE(protect->cluster[nth].seals);
	return seals ? protect_seal(seals, protect, page) : NULL;
}

/* The limit of nr_pages leaves 32 bits for the generation. */
static u64 protect_nonce(unsigned long page, u32 generation)
{
	return (u64)page << 32 | generation;
}

/**
 * farswap_protect_alloc() - allocate the protection of a swap device
 * @cipher:	a cipher whose key nobody else uses; farswap_protect_free() frees it
 * @nr_slots:	number of slots of the device
 * @encrypt:	encrypt pages, and not only authenticate them
 *
 * Context: may sleep.
 * Return: the protection; NULL, without having freed @cipher, if there is no memory or the device
 * is too large.
 */
struct farswap_protect *farswap_protect_alloc(struct farswap_cipher *cipher,
					      unsigned long nr_slots, bool encrypt)
{
	unsigned long nr = DIV_ROUND_UP(nr_slots, FARSWAP_PROTECT_PAGES);
	struct farswap_protect *protect;

	if (2 * nr > U32_MAX >> FARSWAP_PROTECT_SHIFT)
		return NULL;
	protect = kvzalloc(struct_size(protect, cluster, 2 * nr), GFP_KERNEL | __GFP_NOWARN);
	if (!protect)
		return NULL;
	protect->cipher = cipher;
	protect->encrypt = encrypt;
	protect->seal_bytes = sizeof(struct farswap_seal) + farswap_cipher_tag_bytes(cipher);
	protect->nr_pages = nr << FARSWAP_PROTECT_SHIFT;
	protect->nr_clusters = 2 * nr;
	return protect;
}

/**
 * farswap_protect_free() - free the protection of a swap device
 * @protect:	the protection, or NULL; no page of the device is sealed or opened any more
 *
 * Context: may sleep.
 */
void farswap_protect_free(struct farswap_protect *protect)
{
	unsigned long nth;

	if (!protect)
		return;
	for (nth = 0; nth < protect->nr_clusters; nth++)
		kfree(protect->cluster[nth].seals);
	farswap_cipher_free(protect->cipher);
	kvfree(protect);
}

/**
 * farswap_protect_reserve() - allocate the seals of a page, and of the other pages of its cluster
 * @protect:	the protection of its device
 * @page:	its number
 * @wait:	wait for memory
 *
 * Context: may sleep with @wait; otherwise any up to softirq.
 * Return: false if there is no memory now.
 */
bool farswap_protect_reserve(struct farswap_protect *protect, unsigned long page, bool wait)
{
	gfp_t gfp = wait ? GFP_KERNEL | __GFP_NORETRY : GFP_NOWAIT | __GFP_NOMEMALLOC;
	unsigned long nth = page >> FARSWAP_PROTECT_SHIFT;
	struct farswap_protect_cluster *cluster;
	unsigned int i;
	u8 *seals;

	if (nth >= protect->nr_clusters)
		return false;
	cluster = &protect->cluster[nth];
	/* Pairs with farswap_protect_release(), which writes the generation before the pointer. */
	if (smp_load_acquire(&cluster->seals))
		return true;
	seals = kzalloc(protect_cluster_bytes(protect), gfp | __GFP_NOWARN);
	if (!seals)
		return false;
	for (i = 0; i < FARSWAP_PROTECT_PAGES; i++)
		protect_seal(seals, protect, i)->generation = cluster->generation;
	/* Full barrier: the seals are set up before others see them. */
	if (cmpxchg(&cluster->seals, NULL, seals))
		kfree(seals);
	else
		atomic_add(1, &protect->nr_used);
	return true;
}

/**
 * farswap_protect_release() - free the seals of a page, and of the other pages of its cluster
 * @protect:	the protection of its device
 * @page:	its number; no region has any of the pages
 *
 * Seals that are allocated later count on from the largest of the generations.
 *
 * Context: may sleep; nobody reserves or releases the same seals meanwhile.
 */
void farswap_protect_release(struct farswap_protect *protect, unsigned long page)
{
	unsigned long nth = page >> FARSWAP_PROTECT_SHIFT;
	struct farswap_protect_cluster *cluster;
	u32 generation;
	unsigned int i;
	u8 *seals;

	if (nth >= protect->nr_clusters || !protect->cluster[nth].seals)
		return;
	cluster = &protect->cluster[nth];
	seals = cluster->seals;
	for (i = 0; i < FARSWAP_PROTECT_PAGES; i++) {
		/* A late store gets no further generation from the seals that are freed. */
		generation = xchg(&protect_seal(seals, protect, i)->generation, U32_MAX);
		cluster->generation = max(cluster->generation, generation);
	}
	/* Pairs with farswap_protect_reserve(). */
	smp_store_release(&cluster->seals, NULL);
	atomic_sub(1, &protect->nr_used);
	kfree_rcu_mightsleep(seals);
}

/* Take the next generation; return 0 if there is none. */
static u32 protect_take(struct farswap_seal *seal)
{
	u32 old, now = READ_ONCE(seal->generation);

	do {
		old = now;
		if (old == U32_MAX)
			return 0;
		now = cmpxchg(&seal->generation, old, old + 1);
	} while (now != old);
	return old + 1;
}

/**
 * farswap_protect_take() - take a generation of a page that no seal has had yet
 * @protect:	the protection of its device
 * @page:	its number
 *
 * Context: any up to softirq.
 * Return: the generation; 0 if there is no memory for the seal now, or all 2^32 generations were
 * used: then the page can't be sealed.
 */
u32 farswap_protect_take(struct farswap_protect *protect, unsigned long page)
{
	struct farswap_seal *seal;
	u32 generation = 0;

	if (!farswap_protect_reserve(protect, page, false))
		return 0;
	rcu_read_lock();
	seal = protect_find(protect, page);
	if (seal)
		generation = protect_take(seal);
	rcu_read_unlock();
	return generation;
}

/**
 * farswap_protect_seal() - seal a page in its place
 * @protect:	the protection of its device
 * @page:	its number
 * @generation:	what farswap_protect_take() returned; used once
 * @data:	the page, which nobody else writes
 * @bytes:	its size
 * @tag:	gets its tag, FARSWAP_CIPHER_TAG bytes; not on a stack
 *
 * Context: process context; does not sleep.
 * Return: 0 or -errno.
 */
int farswap_protect_seal(struct farswap_protect *protect, unsigned long page, u32 generation,
			 void *data, unsigned int bytes, u8 *tag)
{
	return farswap_cipher_seal(protect->cipher, protect_nonce(page, generation), data, bytes,
				   tag, protect->encrypt);
}

/**
 * farswap_protect_keep() - record the tag of a page that regions have from now on
 * @protect:	the protection of its device
 * @page:	its number; its last generation is the one that it was sealed with
 * @tag:	its tag
 *
 * Context: any up to softirq; before the remote bit is set.
 */
void farswap_protect_keep(struct farswap_protect *protect, unsigned long page, const u8 *tag)
{
	struct farswap_seal *seal;

	rcu_read_lock();
	seal = protect_find(protect, page);
	if (seal)
		memcpy(seal->tag, tag, farswap_cipher_tag_bytes(protect->cipher));
	rcu_read_unlock();
}

/**
 * farswap_protect_store() - seal a page in its place, and record its tag
 * @protect:	the protection of its device
 * @page:	its number; its remote bit is clear, and the caller keeps others from sealing it
 * @data:	the page, which nobody else writes
 * @bytes:	its size
 *
 * Context: process context; does not sleep.
 * Return: 0; -ENOMEM if farswap_protect_take() returns 0; or another error.
 */
int farswap_protect_store(struct farswap_protect *protect, unsigned long page, void *data,
			  unsigned int bytes)
{
	struct farswap_seal *seal;
	u32 generation = 0;
	int err = -ENOMEM;

	if (!farswap_protect_reserve(protect, page, false))
		return err;
	rcu_read_lock();
	seal = protect_find(protect, page);
	if (seal)
		generation = protect_take(seal);
	if (generation)
		err = farswap_protect_seal(protect, page, generation, data, bytes, seal->tag);
	rcu_read_unlock();
	return err;
}

/**
 * farswap_protect_open() - check a page that a region has returned, and decrypt it in its place
 * @protect:	the protection of its device
 * @page:	its number
 * @data:	the page
 * @bytes:	its size when it was sealed
 *
 * Context: any up to softirq where farswap_cipher_usable() is true.
 * Return: 0; -EBADMSG if it is not the page that was stored last, and then its contents are
 * undefined.
 */
int farswap_protect_open(struct farswap_protect *protect, unsigned long page, void *data,
			 unsigned int bytes)
{
	struct farswap_seal *seal;
	int err = -EBADMSG;

	rcu_read_lock();
	seal = protect_find(protect, page);
	if (seal)
		err = farswap_cipher_open(protect->cipher,
					  protect_nonce(page, READ_ONCE(seal->generation)), data,
					  bytes, seal->tag, protect->encrypt);
	rcu_read_unlock();
	return err;
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/protect-kunit.h"
#endif
