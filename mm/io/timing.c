// SPDX-License-Identifier: GPL-2.0
/*
 * Times READs from each live donor, so that a person can see that pages come from there, and how
 * fast. The page is from a region that a slab has there, or from one that is mapped for the test.
 * Its contents do not matter, and nothing is written.
 */
#include <linux/completion.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "internal.h"

/* The first READs bring what they need into the caches of both sides. */
#define TIMING_READS	8
/* The name of the test's region at the donor, as seen in packet traces. */
#define TIMING_SLAB	(U64_MAX - 1)

/**
 * struct timing - the test of a donor
 * @use:	the live donors
 * @io:		one READ
 * @done:	completed when it has ended
 * @error:	its result, 0 or -errno
 * @page:	the page that it reads into
 * @fastest:	time of the fastest READ, ns
 * @slowest:	time of the slowest READ, ns
 */
struct timing {
	struct farswap_donor_use use[FARSWAP_DONORS_MAX];
	struct farswap_io io;
	struct completion done;
	int error;
	struct page *page;
	u64 fastest;
	u64 slowest;
};

static void timing_done(struct farswap_io *io, int error)
{
	struct timing *timing = container_of(io, struct timing, io);

	timing->error = error;
	complete(&timing->done);
}

/* Either @mapping is referenced, or @region is the test's own. */
static int timing_read(struct timing *timing, const struct farswap_donor *donor,
		       struct farswap_mapping *mapping, struct farswap_region *region)
{
	u64 ns = ktime_get_ns();
	int err;

	timing->io = (struct farswap_io){
		.region	= region,
		.page	= timing->page,
		.length	= PAGE_SIZE,
		.op	= FARSWAP_IO_READ,
		.urgent	= true,
		.done	= timing_done,
	};
	reinit_completion(&timing->done);
	err = mapping ? farswap_mapping_submit(mapping, &timing->io) :
			donor->transport->submit(&timing->io);
	if (err)
		return err;
	wait_for_completion(&timing->done);
	ns = ktime_get_ns() - ns;
	timing->fastest = min(timing->fastest, ns);
	timing->slowest = max(timing->slowest, ns);
	return timing->error;
}

/* Returns a region of the donor that a slab uses, with a reference, or NULL. */
static struct farswap_mapping *timing_mapping(struct farswap_donor *donor)
{
	struct farswap_mapping *mapping, *found = NULL;

	spin_lock(&farswap_state_lock);
	list_for_each_entry(mapping, &donor->mappings, donor_entry)
		if (farswap_mapping_get_this(mapping)) {
			found = mapping;
			break;
		}
	spin_unlock(&farswap_state_lock);
	return found;
}

static int timing_donor(struct timing *timing, struct farswap_donor *donor)
{
	struct farswap_mapping *mapping = timing_mapping(donor);
	struct farswap_region *region = NULL;
	unsigned int i;
	int err = 0;

	timing->fastest = U64_MAX;
	timing->slowest = 0;
	if (!mapping) {
		region = donor->transport->map(donor->session, TIMING_SLAB);
		if (IS_ERR(region))
			return PTR_ERR(region);
	}
	for (i = 0; i < TIMING_READS && !err; i++)
		err = timing_read(timing, donor, mapping, region);
	if (mapping)
		farswap_mapping_put(mapping);
	else
		donor->transport->release(region);
	return err;
}

static void timing_print(struct seq_file *m, struct timing *timing, struct farswap_donor *donor)
{
	int err = timing_donor(timing, donor);

	if (err)
		seq_printf(m, "%s 0 0 0 %d\n", donor->address, err);
	else
		seq_printf(m, "%s %u %llu %llu 0\n", donor->address, TIMING_READS,
			   timing->fastest, timing->slowest);
}

/**
 * farswap_timing_show() - READ a page from each live donor a few times, and print how long it took
 * @m:		file to print to
 * @v:		unused
 *
 * Context: may sleep, for each donor as long as an I/O may take.
 * Return: 0 or -ENOMEM.
 */
int farswap_timing_show(struct seq_file *m, void *v)
{
	struct timing *timing = kzalloc(sizeof(*timing), GFP_KERNEL);
	int nr, i, err = -ENOMEM;

	if (!timing)
		return -ENOMEM;
	init_completion(&timing->done);
	timing->page = alloc_page(GFP_KERNEL);
	if (!timing->page)
		goto out_free;
	err = 0;
	seq_puts(m, "address reads fastest_ns slowest_ns error\n");
	nr = farswap_donors_use(timing->use);
	for (i = 0; i < nr; i++) {
		timing_print(m, timing, timing->use[i].donor);
		farswap_donor_unuse(timing->use[i].donor);
	}
	__free_page(timing->page);
out_free:
	kfree(timing);
	return err;
}
