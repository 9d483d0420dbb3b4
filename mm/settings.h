/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a user can set: module and boot parameters, and /sys/kernel/farswap/.
 */
#ifndef _FARSWAP_SETTINGS_H
#define _FARSWAP_SETTINGS_H

#include <linux/types.h>

#define FARSWAP_DONORS_BYTES	2048	/* the donors line, with its NUL */

/**
 * struct farswap_settings - the values in force
 * @enabled:	store new pages remotely (0 or 1)
 * @slab_mb:	size of a slab; fixed once the module is loaded
 * @hotslab:	page I/Os a second at which a slab is mapped
 * @coldslab:	page I/Os a second under which it is given back; 0: never
 * @headroom_mb: what farswapd on this machine leaves available, MiB; 0: as its
 *		configuration says. Nothing here uses it
 * @poll_us:	longest a fault spins for its own page
 * @io_timeout_ms: longest a remote I/O may take
 *
 * Read without a lock; each is one word.
 */
struct farswap_settings {
	unsigned int enabled;
	unsigned int slab_mb;
	unsigned int hotslab;
	unsigned int coldslab;
	unsigned int headroom_mb;
	unsigned int poll_us;
	unsigned int io_timeout_ms;
};

extern struct farswap_settings farswap_settings;

/* The donors line that was given as a parameter. */
extern char farswap_settings_donors[FARSWAP_DONORS_BYTES];

int farswap_settings_init(void);
void farswap_settings_exit(void);

#endif /* _FARSWAP_SETTINGS_H */
