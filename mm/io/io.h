/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page-out, page-in, readahead and promotion: the functions for other folders, by file.
 */
#ifndef _FARSWAP_IO_H
#define _FARSWAP_IO_H

#include <linux/mm_types.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct farswap_device;
struct farswap_donor;
struct farswap_fanout;
struct seq_file;

/* io/store.c */
int farswap_store_init(void);
void farswap_store_exit(void);

/* io/forget.c */
bool farswap_forget_object(struct farswap_device *device, pgoff_t offset);
unsigned int farswap_forget_objects(struct farswap_device *device, pgoff_t offset, unsigned int nr);

/* io/prefetch.c */
int farswap_prefetch_init(void);
void farswap_prefetch_exit(void);

/* io/remote.c */

/**
 * enum farswap_remote - how a page would be loaded
 * @FARSWAP_REMOTE_NOT:		from the swap device, or from a staging page
 * @FARSWAP_REMOTE_NOW:		from a donor that is not suspect
 * @FARSWAP_REMOTE_LATER:	from a suspect donor that has the only copy
 */
enum farswap_remote {
	FARSWAP_REMOTE_NOT,
	FARSWAP_REMOTE_NOW,
	FARSWAP_REMOTE_LATER,
};

enum farswap_remote farswap_remote_of(swp_entry_t entry);

/* io/load.c */
int farswap_load_init(void);
void farswap_load_flush(void);
void farswap_load_work(struct work_struct *work);
void farswap_load_kick(struct farswap_donor *donor);
void farswap_load_cancel(struct farswap_donor *donor);
void farswap_load_exit(void);

/* io/timing.c */
int farswap_timing_show(struct seq_file *m, void *v);

/* io/promote.c */
int farswap_promote_init(void);
void farswap_promote_exit(void);
void farswap_promote_flush(void);
void farswap_promote(struct folio *folio);

#endif /* _FARSWAP_IO_H */
