// SPDX-License-Identifier: GPL-2.0
/*
 * The choice of a donor for a slab: placement.c decides, this asks the donors.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "internal.h"
#include "donor/placement.h"

struct choice {
	int nr;
	bool has_neighbour;	/* of a donor of the slab, and so is no candidate */
	struct farswap_candidate candidate[FARSWAP_DONORS_MAX];
	struct farswap_donor_use use[FARSWAP_DONORS_MAX];
};

static bool choice_is_slabs(const struct farswap_donor *donor,
			    const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth;

	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = farswap_mapping_nth(slab, nth);
		if (mapping && mapping->donor == donor)
			return true;
	}
	return false;
}

/* Never two regions of a slab on one machine. */
static bool choice_has_slab(struct choice *choice, const struct farswap_donor *donor,
			    const struct farswap_slab *slab)
{
	bool has;

	spin_lock(&farswap_state_lock);
	has = farswap_mapping_is_at(slab, &donor->peer);
	if (has && !choice_is_slabs(donor, slab))
		choice->has_neighbour = true;
	spin_unlock(&farswap_state_lock);
	return has;
}

static struct choice *choice_alloc(const struct farswap_slab *slab)
{
	struct choice *choice = kzalloc(sizeof(*choice), GFP_KERNEL | __GFP_NOWARN |
					__GFP_NORETRY);
	int i, nr;

	if (!choice)
		return NULL;
	nr = farswap_donors_use(choice->use);
	for (i = 0; i < nr; i++) {
		if (choice_has_slab(choice, choice->use[i].donor, slab)) {
			farswap_donor_unuse(choice->use[i].donor);
			continue;
		}
		choice->use[choice->nr] = choice->use[i];
		choice->candidate[choice->nr].slabs = choice->use[i].slabs;
		choice->candidate[choice->nr].full_ms = choice->use[i].full_ms;
		choice->candidate[choice->nr++].shaky = choice->use[i].shaky;
	}
	return choice;
}

static void choice_free(struct choice *choice, int except)
{
	int i;

	for (i = 0; i < choice->nr; i++)
		if (i != except)
			farswap_donor_unuse(choice->use[i].donor);
	kfree(choice);
}

/* Ask a donor how much it could lend. */
static void choice_query(struct choice *choice, struct farswap_placement *placement, int nth,
			 unsigned long until)
{
	struct farswap_donor *donor = choice->use[nth].donor;
	u64 start = ktime_get_ns(), free_bytes;

	if (time_after(jiffies, until) ||
	    donor->transport->query(donor->session, &free_bytes)) {
		farswap_placement_failed(placement, nth);
		return;
	}
	farswap_latency_add(FARSWAP_LATENCY_QUERY, ktime_get_ns() - start);
	farswap_donor_note_room(donor, free_bytes,
				farswap_placement_answered(placement, nth, free_bytes));
}

/* Get a region from a donor that said that it has room. */
static struct farswap_region *choice_map(struct choice *choice,
					 struct farswap_placement *placement, int nth, u64 name)
{
	struct farswap_donor *donor = choice->use[nth].donor;
	struct farswap_region *region = donor->transport->map(donor->session, name);

	if (!IS_ERR(region))
		return region;
	if (PTR_ERR(region) == -ENOSPC) {
		farswap_donor_note_room(donor, 0, false);
		farswap_placement_refused(placement, nth);
	} else {
		farswap_placement_failed(placement, nth);
	}
	return region;
}

/**
 * farswap_donor_map() - find a donor for a slab and get a region there
 * @slab:	the slab
 * @until:	jiffies after which nobody is asked any more
 * @region:	where the region goes
 * @epoch:	where the session's number goes
 *
 * placement.c decides which donors are asked, and which one gets the slab. A machine that
 * has a region of the slab is not asked for another.
 *
 * Context: may sleep: a few round trips, or until @until when donors are connected but don't
 * answer.
 * Return: the donor, in use until farswap_donor_unuse(); ERR_PTR(-ENOSPC) when the donors
 * have no room, -EHOSTUNREACH when none answered, or -ENOMEM.
 */
struct farswap_donor *farswap_donor_map(const struct farswap_slab *slab,
					unsigned long until,
					struct farswap_region **region,
					unsigned int *epoch)
{
	u64 name = (u64)slab->device->type << 32 | slab->index;
	u64 bytes = (u64)slab->nr_slots << PAGE_SHIFT;
	struct choice *choice = choice_alloc(slab);
	int pick[FARSWAP_PLACEMENT_ASK], nr, best, i;
	struct farswap_placement placement;
	struct farswap_donor *donor;
	bool full;

	if (!choice)
		return ERR_PTR(-ENOMEM);
	farswap_placement_begin(&placement, choice->candidate, choice->nr, bytes,
				get_random_u32_below);
	while (time_before_eq(jiffies, until) &&
	       (nr = farswap_placement_next(&placement, pick)) > 0) {
		for (i = 0; i < nr; i++)
			choice_query(choice, &placement, pick[i], until);
		while (time_before_eq(jiffies, until) &&
		       (best = farswap_placement_best(&placement)) >= 0) {
			*region = choice_map(choice, &placement, best, name);
			if (IS_ERR(*region))
				continue;
			donor = choice->use[best].donor;
			*epoch = choice->use[best].epoch;
			choice_free(choice, best);
			return donor;
		}
	}
	full = farswap_placement_is_full(&placement);
	if (choice->has_neighbour)
		farswap_stat_add(FARSWAP_STAT_MAP_SAME_MACHINE, 1);
	choice_free(choice, -1);
	return ERR_PTR(full ? -ENOSPC : -EHOSTUNREACH);
}
