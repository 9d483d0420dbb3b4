/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The settings: module and boot parameters, and the files in /sys/kernel/farswap/.
 */
#ifndef _FARSWAP_SETTINGS_H
#define _FARSWAP_SETTINGS_H

#include <linux/types.h>

#define FARSWAP_DONORS_BYTES	2048	/* size of the donors line, with its NUL */
#define FARSWAP_STAGING_UNSET	UINT_MAX
#define FARSWAP_REPLICAS_MAX	3	/* most regions of a slab */

/**
 * enum farswap_backup_policy - where a page is stored besides its donor
 * @FARSWAP_BACKUP_DISK:	on the swap device
 * @FARSWAP_BACKUP_REPLICA:	at other donors, or on the swap device if there are too few
 * @FARSWAP_BACKUP_NONE:	nowhere: the page is lost with its donor
 * @FARSWAP_BACKUP_REPLICA_DISK: at other donors and on the swap device
 */
enum farswap_backup_policy {
	FARSWAP_BACKUP_DISK,
	FARSWAP_BACKUP_REPLICA,
	FARSWAP_BACKUP_NONE,
	FARSWAP_BACKUP_REPLICA_DISK,
};

/* Returns whether the policy keeps pages at several donors. */
static inline bool farswap_backup_replicates(unsigned int policy)
{
	return policy == FARSWAP_BACKUP_REPLICA || policy == FARSWAP_BACKUP_REPLICA_DISK;
}

/**
 * enum farswap_compress - how pages are compressed before they are sent to a donor
 * @FARSWAP_COMPRESS_NONE:	not at all
 * @FARSWAP_COMPRESS_LZ4:	by LZ4, into packed slabs
 */
enum farswap_compress {
	FARSWAP_COMPRESS_NONE,
	FARSWAP_COMPRESS_LZ4,
};

/**
 * enum farswap_protection - what a donor can't do with a page
 * @FARSWAP_PROTECT_NONE:	nothing
 * @FARSWAP_PROTECT_VERIFY:	return other contents; it can read the page
 * @FARSWAP_PROTECT_ENCRYPT:	return other contents, or read the page
 * @FARSWAP_PROTECT_UNSET:	the default, until farswap_settings_init() sets it
 */
enum farswap_protection {
	FARSWAP_PROTECT_NONE,
	FARSWAP_PROTECT_VERIFY,
	FARSWAP_PROTECT_ENCRYPT,
	FARSWAP_PROTECT_UNSET,
};

/**
 * struct farswap_settings - the current settings
 * @backup:	enum farswap_backup_policy of pages stored from now on
 * @compress:	enum farswap_compress of pages stored from now on
 * @protect:	enum farswap_protection of devices that farswap attaches to from now on
 * @replicas:	number of regions of a slab with farswap_backup_replicates()
 * @repair_mb:	rate at which lost replicas are restored, MiB a second
 * @enabled:	store new pages remotely (0 or 1)
 * @hedge:	most remote reads that may be hedged, percent; 0: none, and no donor is slow
 * @force:	attach to a kernel whose release is not a known one (0 or 1)
 * @slab_mb:	size of a slab, MiB; fixed once the module is loaded
 * @staging_mb:	size of the staging pool, MiB
 * @hotslab:	activity at which a slab is mapped, page I/Os a second
 * @coldslab:	activity below which a mapped slab is given back, page I/Os a second; 0: never
 * @headroom_mb: memory that farswapd on this machine leaves available, MiB; 0: as in its
 *		configuration. The kernel does not use it
 * @poll_us:	longest time that a fault spins for its own page, microseconds
 * @prefetch_pages: most pages read ahead of a fault; 0: the kernel's readahead is used
 * @io_timeout_ms: longest time of a remote I/O, milliseconds
 * @grace_ms:	how long a donor stays suspect before it is lost, ms; 0: it is lost at once
 *
 * They are read without a lock; each is one word.
 */
struct farswap_settings {
	unsigned int backup;
	unsigned int compress;
	unsigned int protect;
	unsigned int replicas;
	unsigned int repair_mb;
	unsigned int enabled;
	unsigned int hedge;
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

/* The donors line as the module parameter gives it. */
extern char farswap_settings_donors[FARSWAP_DONORS_BYTES];

struct farswap_transport;

int farswap_settings_init(void);
void farswap_settings_tell(const struct farswap_transport *transport);
void farswap_settings_exit(void);

#endif /* _FARSWAP_SETTINGS_H */
