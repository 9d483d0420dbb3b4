// SPDX-License-Identifier: GPL-2.0
/*
 * When no donor has room, the coldest slab gives way to the hottest that waits, if giveway.c
 * says so: its region goes over to that one. The donor does not hear of it. If the region
 * went back to the donor first, another client could get it.
 *
 * Only a slab whose pages are all on the swap device gives way, so nothing is copied. The
 * other slab begins with an empty region, as after a MAP.
 *
 * Locking: farswap_state_lock. From the choice of the two until the region goes over, the
 * slab that gets it is FARSWAP_SLAB_MAPPING, so its device stays.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include <trace/events/farswap.h>

#include "migrate/giveway.h"
#include "internal.h"

/* A slab that was mapped more recently does not give way: its pages may be about to come. */
#define HANDOVER_STAY	(10 * HZ)

static struct farswap_giveway handover_giveway;

static bool handover_is_usable(const struct farswap_mapping *mapping)
{
	return !READ_ONCE(mapping->leaving) && !READ_ONCE(mapping->wanted) &&
	       !READ_ONCE(mapping->due) && farswap_donor_works(mapping->donor);
}

/* Has it one region, which the donor leaves us, and no page that is nowhere else? */
static bool handover_may_give(const struct farswap_slab *slab)
{
	const struct farswap_mapping *mapping;
	unsigned int nth, usable = 0, nr = 0;

	if (!farswap_slab_has_bits(slab) || READ_ONCE(slab->sole) ||
	    time_before(jiffies, READ_ONCE(slab->mapped_at) + HANDOVER_STAY))
		return false;
	rcu_read_lock();
	for (nth = 0; nth < FARSWAP_REPLICAS_MAX; nth++) {
		mapping = rcu_dereference(slab->mapping[nth]);
		nr += !!mapping;
		usable += mapping && handover_is_usable(mapping);
	}
	rcu_read_unlock();
	return nr == 1 && usable == 1;
}

static bool handover_may_get(const struct farswap_slab *slab)
{
	return READ_ONCE(slab->state) == FARSWAP_SLAB_UNMAPPED && READ_ONCE(slab->no_room) &&
	       !READ_ONCE(slab->device->closing) && farswap_device_writable(slab->device);
}

/**
 * farswap_handover_look() - note a slab that could give way, or that waits for room
 * @pair:	what was noted; zeroed before the first slab
 * @slab:	the slab
 *
 * Context: process context; does not sleep.
 */
void farswap_handover_look(struct farswap_giveway_pair *pair, struct farswap_slab *slab)
{
	u32 second = farswap_slab_second();
	s32 idle = second - READ_ONCE(slab->activity.second);

	if (handover_may_get(slab))
		farswap_giveway_waiting(pair, slab,
					farswap_activity_read(&slab->activity, second));
	else if (READ_ONCE(slab->state) == FARSWAP_SLAB_MAPPED && handover_may_give(slab))
		farswap_giveway_mapped(pair, slab,
				       farswap_activity_longer(&slab->activity, second),
				       max(idle, 0));
}

/**
 * farswap_handover_begin() - have the coldest slab give way to the hottest, if it should
 * @pair:	what was noted of all slabs, which still exist
 *
 * Context: process context; does not sleep.
 */
void farswap_handover_begin(const struct farswap_giveway_pair *pair)
{
	u32 hotslab = READ_ONCE(farswap_settings.hotslab), second = farswap_slab_second();
	struct farswap_slab *from = pair->coldest, *to = pair->hottest;

	if (!farswap_giveway_is_worth(pair, hotslab))
		return;
	spin_lock(&farswap_state_lock);
	if (farswap_giveway_is_due(&handover_giveway, second) && farswap_may_store() &&
	    from->state == FARSWAP_SLAB_MAPPED && handover_may_give(from) &&
	    handover_may_get(to) && farswap_slab_set_state(to, FARSWAP_SLAB_MAPPING)) {
		trace_farswap_slab_gives_way(from->device->type, from->index, pair->cold,
					     to->device->type, to->index, pair->hot);
		farswap_giveway_done(&handover_giveway, second);
		from->gave.second = second;
		from->gave.hot = pair->hot;
		from->heir = to;
		to->wanted_ns = ktime_get_ns();
		farswap_drain_start(from, FARSWAP_SLAB_DRAINING, FARSWAP_STAT_SLAB_GAVE_WAY);
	}
	spin_unlock(&farswap_state_lock);
}

/**
 * farswap_handover_end() - a slab's last mapping has ended: hand its region over
 * @mapping:	the mapping, which is not the slab's any more
 *
 * A slab that was to get the region, and can't, asks the donors once more.
 *
 * Context: process context; does not sleep.
 * Return: false if the region is to be released.
 */
bool farswap_handover_end(struct farswap_mapping *mapping)
{
	struct farswap_donor *donor = mapping->donor;
	struct farswap_slab *heir;
	bool handed;

	spin_lock(&farswap_state_lock);
	heir = mapping->slab->heir;
	mapping->slab->heir = NULL;
	handed = heir && hash_hashed(&mapping->id_entry) && !mapping->gone &&
		 handover_is_usable(mapping) && farswap_donor_use(donor);
	if (handed) {
		/* From here on farswap_mapping_link() hears of an EVICT, as after a MAP. */
		hash_del(&mapping->id_entry);
		heir->handed_donor = donor;
		heir->handed_region = mapping->region;
		heir->handed_epoch = donor->epoch;
	}
	if (heir)
		farswap_slab_map_start(heir);
	spin_unlock(&farswap_state_lock);
	return handed;
}

/**
 * farswap_handover_take() - take the region that was handed over to a slab
 * @slab:	a slab that is being mapped
 * @region:	where the region goes
 * @epoch:	where the number of the donor's session goes
 *
 * Context: process context; does not sleep.
 * Return: the donor, in use until farswap_donor_unuse(); NULL if there is no such region.
 */
struct farswap_donor *farswap_handover_take(struct farswap_slab *slab,
					    struct farswap_region **region,
					    unsigned int *epoch)
{
	struct farswap_donor *donor = slab->handed_donor;

	if (!donor)
		return NULL;
	*region = slab->handed_region;
	*epoch = slab->handed_epoch;
	slab->handed_donor = NULL;
	return donor;
}

/**
 * farswap_handover_drop() - release the region that was handed over to a slab, if any
 * @slab:	a slab that will not be mapped
 *
 * Context: process context; does not sleep.
 */
void farswap_handover_drop(struct farswap_slab *slab)
{
	struct farswap_region *region;
	struct farswap_donor *donor;
	unsigned int epoch;

	donor = farswap_handover_take(slab, &region, &epoch);
	if (!donor)
		return;
	donor->transport->release(region);
	farswap_donor_unuse(donor);
}

/**
 * farswap_handover_wait() - no donor has room for a slab
 * @slab:	a slab that is being mapped
 *
 * Context: process context; does not sleep.
 */
void farswap_handover_wait(struct farswap_slab *slab)
{
	u32 second = farswap_slab_second();
	bool wanted;

	spin_lock(&farswap_state_lock);
	slab->no_room = true;
	wanted = farswap_giveway_wanted(&handover_giveway, &slab->gave,
					farswap_activity_read(&slab->activity, second), second);
	spin_unlock(&farswap_state_lock);
	if (wanted)
		farswap_stat_add(FARSWAP_STAT_SLAB_WANTED_BACK, 1);
}
