/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that map and unmap regions, and that move pages between regions, by the file that
 * defines them.
 */
#ifndef _FARSWAP_MIGRATE_H
#define _FARSWAP_MIGRATE_H

#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "slab/slab.h"
#include "stats.h"

struct farswap_region;

/* migrate/copy.c */
bool farswap_copy_is_wanted(const struct farswap_mapping *to, bool sole);
void farswap_copy(struct farswap_mapping *to, struct farswap_mapping *from,
		  unsigned int mb, bool sole);
void farswap_copy_rest(unsigned int nr, unsigned int mb, ktime_t begun);

/* migrate/rebuild.c */
int farswap_rebuild_init(void);
void farswap_rebuild_exit(void);
void farswap_rebuild_want(struct farswap_slab *slab);
void farswap_rebuild_map(struct farswap_slab *slab);
void farswap_rebuild_look(struct farswap_slab *slab);
void farswap_rebuild_work(struct work_struct *work);
void farswap_rebuild_cancel(struct farswap_device *device);

/* migrate/repack.c */
void farswap_repack_init(struct farswap_device *device);
void farswap_repack_look(struct farswap_device *device);
void farswap_repack_cancel(struct farswap_device *device);

/* migrate/replica.c */
int farswap_replica_init(void);
void farswap_replica_exit(void);
unsigned int farswap_replicas_wanted(void);
void farswap_replica_add(struct farswap_slab *slab, unsigned int wanted,
			 unsigned long until);
void farswap_replica_look(struct farswap_slab *slab);
void farswap_replica_work(struct work_struct *work);
void farswap_replica_refill_work(struct work_struct *work);

/* migrate/map.c */
struct farswap_mapping *farswap_mapping_make(struct farswap_slab *slab, unsigned long until,
					     unsigned int *epoch);
bool farswap_mapping_link(struct farswap_mapping *mapping, unsigned int epoch);
void farswap_slab_map_work(struct work_struct *work);
void farswap_slab_map_cancel(struct farswap_slab *slab);

/* migrate/unmap.c */
void farswap_unmap_start(struct farswap_slab *slab,
			 enum farswap_slab_state state, enum farswap_stat why);
void farswap_unmap_kill(struct farswap_slab *slab);
bool farswap_unmap_end(struct farswap_mapping *mapping);
bool farswap_unmap_would_lose(const struct farswap_mapping *mapping);
void farswap_unmap_remove(struct farswap_mapping *mapping);
void farswap_unmap_count_removed(struct farswap_mapping *mapping);
bool farswap_unmap_is_one_of_several(const struct farswap_mapping *mapping);
bool farswap_unmap_is_only(const struct farswap_mapping *mapping, unsigned int slot);
void farswap_unmap_wake(void);
int farswap_slabs_unmap(struct farswap_device *device,
			struct farswap_donor *donor);
void farswap_slabs_lose(struct farswap_donor *donor);
void farswap_slabs_count_lost(struct farswap_donor *donor);
void farswap_slabs_lose_one(struct farswap_donor *donor, u64 id);
u32 farswap_slab_activity(struct farswap_donor *donor, u64 id);

/* migrate/evacuate.c */
void farswap_evict_init(struct farswap_mapping *mapping);
void farswap_evict_exit(struct farswap_mapping *mapping);
void farswap_evict_early(struct farswap_donor *donor, u64 id);
void farswap_evict_begin(struct farswap_donor *donor, u64 id, u32 deadline_ms);
void farswap_evict_suspend(struct farswap_mapping *mapping);
bool farswap_evict_was_early(const struct farswap_mapping *mapping);
bool farswap_evict_is_near(const struct farswap_mapping *mapping);

int farswap_evacuate_init(void);
void farswap_evacuate_exit(void);
void farswap_evacuate_start(struct farswap_slab *slab, bool evicted);
void farswap_evacuate_work(struct work_struct *work);
void farswap_evacuate_mapping_start(struct farswap_mapping *mapping, unsigned long until);
void farswap_evacuate_mapping_work(struct work_struct *work);
void farswap_evacuate_fetch_work(struct work_struct *work);

/* migrate/evacuate-fetch.c */
int farswap_fetch_init(void);
void farswap_fetch_exit(void);
int farswap_fetch_probe(struct farswap_device *device);
bool farswap_fetch_is_starved(const struct farswap_donor *donor);
void farswap_fetch_mapping(struct farswap_mapping *mapping);
int farswap_fetch_back_up(struct farswap_mapping *mapping, unsigned int *first);

/* migrate/sweep.c */
bool farswap_handover_end(struct farswap_mapping *mapping);
struct farswap_donor *farswap_handover_take(struct farswap_slab *slab,
					    struct farswap_region **region,
					    unsigned int *epoch);
void farswap_handover_drop(struct farswap_slab *slab);
void farswap_handover_wait(struct farswap_slab *slab);

void farswap_sweep_start(void);
void farswap_sweep_soon(void);
void farswap_sweep_stop(void);

#endif /* _FARSWAP_MIGRATE_H */
