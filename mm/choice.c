// SPDX-License-Identifier: GPL-2.0
/*
 * The choice of a donor for a slab: placement.c decides, this asks the donors.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "internal.h"
#include "placement.h"

/* Rounds, of two donors each, before the attempt to map a slab has failed. */
#define CHOICE_ATTEMPTS	3

struct choice {
	int nr;
	struct farswap_candidate candidate[FARSWAP_DONORS_MAX];
	struct farswap_donor_use use[FARSWAP_DONORS_MAX];
};

/* Never two regions of a slab on one machine. */
static bool choice_has_slab(const struct farswap_donor *donor,
			    const struct farswap_slab *slab)
{
	bool has;

	spin_lock(&farswap_state_lock);
	has = farswap_mapping_is_at(slab, &donor->peer);
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
		if (choice_has_slab(choice->use[i].donor, slab)) {
			farswap_donor_unuse(choice->use[i].donor);
			continue;
		}
		choice->use[choice->nr] = choice->use[i];
		choice->candidate[choice->nr].slabs = choice->use[i].slabs;
		choice->candidate[choice->nr++].tried = choice->use[i].shaky;
	}
	return choice;
}

/*
 * Better than none: the donors that failed lately. Until now they were left out,
 * or one that fails whenever it is used would, with all its memory free, be chosen
 * again and again.
 */
static bool choice_add_shaky(struct choice *choice)
{
	bool added = false;
	int i;

	for (i = 0; i < choice->nr; i++) {
		if (!choice->use[i].shaky)
			continue;
		choice->use[i].shaky = false;
		choice->candidate[i].tried = false;
		added = true;
	}
	return added;
}

static void choice_free(struct choice *choice, int except)
{
	int i;

	for (i = 0; i < choice->nr; i++)
		if (i != except)
			farswap_donor_unuse(choice->use[i].donor);
	kfree(choice);
}

/* Ask the picked donors how much they could lend. */
static void choice_query(struct choice *choice, const int pick[2], int nr,
			 unsigned long until)
{
	int i;

	for (i = 0; i < nr; i++) {
		struct farswap_candidate *c = &choice->candidate[pick[i]];
		struct farswap_donor *donor = choice->use[pick[i]].donor;
		u64 start = ktime_get_ns();

		if (time_after(jiffies, until) ||
		    donor->transport->query(donor->session, &c->free_bytes)) {
			c->tried = true;
			continue;
		}
		farswap_latency_add(FARSWAP_LATENCY_QUERY, ktime_get_ns() - start);
		spin_lock(&farswap_state_lock);
		donor->free_bytes = c->free_bytes;
		spin_unlock(&farswap_state_lock);
	}
}

/**
 * farswap_donor_map() - find a donor for a slab and get a region there
 * @slab:	the slab
 * @until:	jiffies after which nobody is asked any more
 * @region:	where the region goes
 * @epoch:	where the session's number goes
 *
 * Power of two choices, Infiniswap section 4.2: new donors first, then old;
 * when both refuse, others are asked, in the end those that failed lately. A machine
 * that has a region of the slab is not asked for another.
 *
 * Context: may sleep: a few round trips, or ten seconds at the very worst, when
 * donors are connected but don't answer.
 * Return: the donor, in use until farswap_donor_unuse(); ERR_PTR(-ENOSPC) when
 * nobody lends, or -ENOMEM.
 */
struct farswap_donor *farswap_donor_map(const struct farswap_slab *slab,
					unsigned long until,
					struct farswap_region **region,
					unsigned int *epoch)
{
	u64 name = (u64)slab->device->type << 32 | slab->index;
	u64 bytes = (u64)slab->nr_slots << PAGE_SHIFT;
	struct choice *choice = choice_alloc(slab);
	struct farswap_donor *donor;
	int pick[2], nr, best = -1, i, attempt;

	if (!choice)
		return ERR_PTR(-ENOMEM);
	for (attempt = 0; attempt < CHOICE_ATTEMPTS; attempt++) {
		nr = farswap_placement_pick(choice->candidate, choice->nr,
					    get_random_u32_below, pick);
		if (!nr && choice_add_shaky(choice))
			nr = farswap_placement_pick(choice->candidate, choice->nr,
						    get_random_u32_below, pick);
		if (!nr)
			break;
		choice_query(choice, pick, nr, until);
		if (time_after(jiffies, until))
			break;
		best = farswap_placement_choose(choice->candidate, pick, nr,
						bytes);
		if (best < 0) {
			for (i = 0; i < nr; i++)
				choice->candidate[pick[i]].tried = true;
			continue;
		}
		donor = choice->use[best].donor;
		*region = donor->transport->map(donor->session, name);
		if (!IS_ERR(*region)) {
			*epoch = choice->use[best].epoch;
			choice_free(choice, best);
			return donor;
		}
		choice->candidate[best].tried = true;
	}
	choice_free(choice, -1);
	return ERR_PTR(-ENOSPC);
}
