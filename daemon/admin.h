/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol between farswapd and farswapctl over a Unix socket: one request, then one
 * reply followed by text. Both are of one version and run on one machine, so fields are in
 * host byte order. Numbers are never reused.
 */
#ifndef ADMIN_H
#define ADMIN_H

#include <stdint.h>

#define ADMIN_PATH		"/run/farswapd/control"
#define ADMIN_PATH_MAX	108	/* size of sun_path */
#define ADMIN_MAGIC		0x6c746366U
#define ADMIN_VERSION		2
#define ADMIN_TEXT_MAX	(64U << 20)

enum admin_command {
	ADMIN_STATUS = 1,
	ADMIN_METRICS = 2,
	ADMIN_EVICT = 3,		/* @arg: number of regions, or ADMIN_EVICT_ALL */
	ADMIN_DRAIN = 4,		/* @arg: seconds to wait; 0: the expected time */
	ADMIN_UNDRAIN = 5,
	ADMIN_RELOAD = 6,		/* read the clients of the configuration again */
	ADMIN_INVITE = 7,		/* @arg: seconds; the text: public key, space, secret */
	ADMIN_INVITED = 8,		/* wait until it is used; the text: the client's key */
};

enum admin_format {
	ADMIN_TEXT = 0,			/* for metrics: OpenMetrics */
	ADMIN_JSON = 1,			/* for all but metrics */
	ADMIN_PLAIN = 2,		/* for metrics: Prometheus's text format */
};

#define ADMIN_LINE_MAX	640
#define ADMIN_EVICT_ALL	UINT64_MAX
#define ADMIN_DRAIN_S_MAX	86400
#define ADMIN_INVITE_S_MAX	86400

struct admin_request {
	uint32_t magic;
	uint16_t version;
	uint8_t command;
	uint8_t format;
	uint64_t arg;
};

struct admin_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t error;			/* 0, or an errno that the text explains */
	uint32_t bytes;			/* length of the text */
	uint32_t reserved;
};

/* admin.c: farswapd's side */
/* @reload: return 0, or -errno and one line of at most ADMIN_LINE_MAX characters. */
int admin_init(const char *path, int (*reload)(char *error));
void admin_exit(void);

#endif
