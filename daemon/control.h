/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol between farswapd and farswapctl over a Unix socket: one request, then one
 * reply followed by text. Both are of one version and run on one machine, so fields are in
 * host byte order. Numbers are never reused.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdint.h>

#define CONTROL_PATH		"/run/farswapd/control"
#define CONTROL_PATH_MAX	108	/* size of sun_path */
#define CONTROL_MAGIC		0x6c746366U
#define CONTROL_VERSION		1
#define CONTROL_TEXT_MAX	(64U << 20)

enum control_command {
	CONTROL_STATUS = 1,
	CONTROL_METRICS = 2,
	CONTROL_EVICT = 3,		/* @arg: number of regions, or CONTROL_EVICT_ALL */
	CONTROL_DRAIN = 4,		/* @arg: seconds to wait; 0: the expected time */
	CONTROL_UNDRAIN = 5,
};

#define CONTROL_EVICT_ALL	UINT64_MAX
#define CONTROL_DRAIN_S_MAX	86400

struct control_request {
	uint32_t magic;
	uint16_t version;
	uint16_t command;
	uint64_t arg;
};

struct control_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t error;			/* 0, or an errno that the text explains */
	uint32_t bytes;			/* length of the text */
	uint32_t reserved;
};

/* control.c: farswapd's side */
int control_init(const char *path);
void control_exit(void);

#endif
