/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policies of cgroups: which may use remote memory, and how much of it.
 */
#ifndef _FARSWAP_CGROUP_H
#define _FARSWAP_CGROUP_H

#include <linux/jump_label.h>
#include <linux/types.h>

#include "settings.h"

struct farswap_device;
struct folio;
struct seq_file;

/* On while there is a policy. */
DECLARE_STATIC_KEY_FALSE(farswap_cgroup_key);

bool farswap_cgroup_charge_slots(struct farswap_device *device, struct folio *folio);
bool farswap_cgroup_charge_slot(struct farswap_device *device, pgoff_t offset);
bool farswap_cgroup_may_charge(struct farswap_device *device, pgoff_t offset);
void farswap_cgroup_uncharge_slots(struct farswap_device *device, pgoff_t offset,
				   unsigned int nr);
void farswap_cgroup_account_load(struct farswap_device *device, pgoff_t offset,
				 unsigned int nr, u64 ns);
void farswap_cgroup_note_lack(struct folio *folio);
void farswap_cgroup_note_full(void);
unsigned int farswap_cgroup_slot_backup(struct farswap_device *device, pgoff_t offset);
void farswap_cgroup_swapon(struct farswap_device *device);
void farswap_cgroup_swapoff(struct farswap_device *device);
u64 farswap_cgroup_id(struct folio *folio);
int farswap_cgroup_set(const char *line);
ssize_t farswap_cgroup_show(char *buf);
int farswap_cgroup_seq_show(struct seq_file *m, void *v);
void farswap_cgroup_exit(void);

static inline bool farswap_cgroup_used(void)
{
	return static_branch_unlikely(&farswap_cgroup_key);
}

/**
 * farswap_cgroup_charge() - charge the pages of a folio that is stored to its cgroup
 * @device:	the folio's swap device
 * @folio:	the folio; locked
 *
 * Ends the charge for older copies of the slots too.
 *
 * Context: process context; does not sleep.
 * Return: false if the folio must go to the swap device.
 */
static inline bool farswap_cgroup_charge(struct farswap_device *device, struct folio *folio)
{
	return !farswap_cgroup_used() || farswap_cgroup_charge_slots(device, folio);
}

/**
 * farswap_cgroup_recharge() - charge a page that farswap itself copies to a donor
 * @device:	the page's swap device
 * @offset:	its swap offset
 *
 * Does nothing if the page is charged already.
 *
 * Context: any.
 * Return: false if its cgroup may not have it at a donor.
 */
static inline bool farswap_cgroup_recharge(struct farswap_device *device, pgoff_t offset)
{
	return !farswap_cgroup_used() || farswap_cgroup_charge_slot(device, offset);
}

/**
 * farswap_cgroup_may() - check whether farswap_cgroup_recharge() would succeed now
 * @device:	the page's swap device
 * @offset:	its swap offset
 *
 * Context: any.
 * Return: true if it would.
 */
static inline bool farswap_cgroup_may(struct farswap_device *device, pgoff_t offset)
{
	return !farswap_cgroup_used() || farswap_cgroup_may_charge(device, offset);
}

/**
 * farswap_cgroup_uncharge() - end the charge for slots without a remote copy
 * @device:	the slots' swap device
 * @offset:	swap offset of the first slot
 * @nr:		number of slots
 *
 * Context: any.
 */
static inline void farswap_cgroup_uncharge(struct farswap_device *device, pgoff_t offset,
					   unsigned int nr)
{
	if (farswap_cgroup_used())
		farswap_cgroup_uncharge_slots(device, offset, nr);
}

/**
 * farswap_cgroup_loaded() - account for remote reads
 * @device:	the slots' swap device
 * @offset:	swap offset of the first slot
 * @nr:		number of slots
 * @ns:		how long the read took
 *
 * Context: any.
 */
static inline void farswap_cgroup_loaded(struct farswap_device *device, pgoff_t offset,
					 unsigned int nr, u64 ns)
{
	if (farswap_cgroup_used())
		farswap_cgroup_account_load(device, offset, nr, ns);
}

/**
 * farswap_cgroup_lacked() - note that a folio goes to the device because no region has room for it
 * @folio:	the folio; locked
 *
 * Context: process context; does not sleep.
 */
static inline void farswap_cgroup_lacked(struct folio *folio)
{
	if (farswap_cgroup_used())
		farswap_cgroup_note_lack(folio);
}

/**
 * farswap_cgroup_full() - note that no donor has room for a slab
 *
 * Context: any.
 */
static inline void farswap_cgroup_full(void)
{
	if (farswap_cgroup_used())
		farswap_cgroup_note_full();
}

/**
 * farswap_cgroup_backup() - get the backup policy for a page that is being stored
 * @device:	the page's swap device
 * @offset:	its swap offset; charged
 *
 * Context: any.
 * Return: enum farswap_backup_policy.
 */
static inline unsigned int farswap_cgroup_backup(struct farswap_device *device, pgoff_t offset)
{
	return farswap_cgroup_used() ? farswap_cgroup_slot_backup(device, offset) :
				       READ_ONCE(farswap_settings.backup);
}

#endif /* _FARSWAP_CGROUP_H */
