/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The configuration: farswapd.conf and -o.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "admin.h"
#include "auth.h"
#include "client.h"
#include "config-file.h"

#define CONFIG_FILE		"/etc/farswapd.conf"

#define CONFIG_USER_MAX		33
enum config_auth {
	CONFIG_AUTH_DEFAULT,		/* required, and refused by a machine without a key */
	CONFIG_AUTH_NONE,
	CONFIG_AUTH_REQUIRED,
};

struct config {
	struct sockaddr_storage listen;
	bool listen_is_set;
	uint64_t memory;		/* bytes to lend, a multiple of slab */
	uint64_t slab;
	char control[ADMIN_PATH_MAX];
	char user[CONFIG_USER_MAX];	/* empty: farswapd, if there is one */
	uint64_t headroom;		/* bytes to leave available; 0: unlimited use */
	unsigned int evict_ms;
	unsigned int grace_ms;
	unsigned int ahead;
	bool hugepages;
	struct client_config client;
	unsigned int queues;
	enum config_auth auth;
	struct auth_client *allow;	/* the keys of client lines */
	char key_file[ADMIN_PATH_MAX];
	bool resume_anywhere;		/* resume from another address than before */
};

void config_init(struct config *config);
/* Return 0, or -errno and one line in @error that says what would be right. */
int config_read(struct config *config, const char *path, char error[CONFIG_ERROR_MAX]);
/* The files in the directory @path.d, after @path itself. */
int config_read_drop_ins(struct config *config, const char *path, char error[CONFIG_ERROR_MAX]);
int config_option(struct config *config, const char *option, char error[CONFIG_ERROR_MAX]);
/* Check values against each other, and round memory down to whole slabs. */
int config_check(struct config *config, char error[CONFIG_ERROR_MAX]);

#endif
