/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a user can set: module and boot parameters, and /sys/kernel/farswap/.
 */
#ifndef _FARSWAP_SETTINGS_H
#define _FARSWAP_SETTINGS_H

#include <linux/types.h>

#define FARSWAP_DONORS_BYTES	2048	/* the donors line, with its NUL */
#define FARSWAP_STAGING_UNSET	UINT_MAX
#define FARSWAP_REPLICAS_MAX	3	/* regions that a slab has at most */

/**
 * enum farswap_backup_policy - what keeps a page from being lost with its donor
 * @FARSWAP_BACKUP_DISK:	the swap device gets it too
 * @FARSWAP_BACKUP_REPLICA:	other donors get it too, or the device if there aren't
 *				enough
 * @FARSWAP_BACKUP_NONE:	nothing does
 */
enum farswap_backup_policy {
	FARSWAP_BACKUP_DISK,
	FARSWAP_BACKUP_REPLICA,
	FARSWAP_BACKUP_NONE,
};

/**
 * struct farswap_settings - the values in force
 * @backup:	of pages stored from now on; an enum farswap_backup_policy
 * @replicas:	regions of a slab with FARSWAP_BACKUP_REPLICA
 * @repair_mb:	MiB a second at which lost replicas are made again
 * @enabled:	store new pages remotely (0 or 1)
 * @force:	attach to a kernel whose release is not a known one (0 or 1)
 * @slab_mb:	size of a slab; fixed once the module is loaded
 * @staging_mb:	memory for copies that wait for the swap device
 * @hotslab:	page I/Os a second at which a slab is mapped
 * @coldslab:	page I/Os a second under which it is given back; 0: never
 * @headroom_mb: what farswapd on this machine leaves available, MiB; 0: as its
 *		configuration says. Nothing here uses it
 * @poll_us:	longest a fault spins for its own page
 * @prefetch_pages: pages read ahead of a fault at most; 0: readahead is the kernel's
 * @io_timeout_ms: longest a remote I/O may take
 * @grace_ms:	how long a donor is suspect before it is lost; 0: not at all
 *
 * Read without a lock; each is one word.
 */
struct farswap_settings {
	unsigned int backup;
	unsigned int replicas;
	unsigned int repair_mb;
	unsigned int enabled;
	unsigned int force;
	unsigned int slab_mb;
	unsigned int staging_mb;
	unsigned int hotslab;
	unsigned int coldslab;
	unsigned int headroom_mb;
	unsigned int poll_us;
	unsigned int prefetch_pages;
	unsigned int io_timeout_ms;
	unsigned int grace_ms;
};

extern struct farswap_settings farswap_settings;

/* The donors line that was given as a parameter. */
extern char farswap_settings_donors[FARSWAP_DONORS_BYTES];

struct farswap_transport;

int farswap_settings_init(void);
void farswap_settings_tell(const struct farswap_transport *transport);
void farswap_settings_exit(void);

#endif /* _FARSWAP_SETTINGS_H */
