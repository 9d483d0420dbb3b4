// SPDX-License-Identifier: GPL-2.0
/*
 * The choice of a donor for a slab: placement.c decides, this asks the donors.
 */
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

static struct choice *choice_alloc(void)
{
	struct choice *choice = kzalloc(sizeof(*choice), GFP_KERNEL | __GFP_NOWARN);
	int i;

	if (!choice)
		return NULL;
	choice->nr = farswap_donors_use(choice->use);
	for (i = 0; i < choice->nr; i++) {
		choice->candidate[i].slabs = choice->use[i].slabs;
		choice->candidate[i].tried = choice->use[i].shaky;
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
static void choice_query(struct choice *choice, const int pick[2], int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		struct farswap_candidate *c = &choice->candidate[pick[i]];
		struct farswap_donor *donor = choice->use[pick[i]].donor;

		if (donor->transport->query(donor->session, &c->free_bytes)) {
			c->tried = true;
			continue;
		}
		spin_lock(&farswap_state_lock);
		donor->free_bytes = c->free_bytes;
		spin_unlock(&farswap_state_lock);
	}
}

/**
 * farswap_donor_map() - find a donor for a slab and get a region there
 * @slab:	the slab's name
 * @slab_bytes:	its size
 * @region:	where the region goes
 * @epoch:	where the session's number goes
 *
 * Power of two choices, Infiniswap section 4.2: new donors first, then old;
 * when both refuse, others are asked, in the end those that failed lately.
 *
 * Context: may sleep: a few round trips, or ten seconds at the very worst, when
 * donors are connected but don't answer.
 * Return: the donor, in use until farswap_donor_unuse(); ERR_PTR(-ENOSPC) when
 * nobody lends, or -ENOMEM.
 */
struct farswap_donor *farswap_donor_map(u64 slab, u64 slab_bytes,
					struct farswap_region **region,
					unsigned int *epoch)
{
	struct farswap_donor *donor;
	struct choice *choice = choice_alloc();
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
		choice_query(choice, pick, nr);
		best = farswap_placement_choose(choice->candidate, pick, nr,
						slab_bytes);
		if (best < 0) {
			for (i = 0; i < nr; i++)
				choice->candidate[pick[i]].tried = true;
			continue;
		}
		donor = choice->use[best].donor;
		*region = donor->transport->map(donor->session, slab);
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
