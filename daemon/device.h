/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opened RDMA devices: asynchronous events and removal.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <infiniband/verbs.h>

struct session;

/* Callbacks, called from the event loop; the caller of device_init() keeps the structure. */
struct device_events {
	/* A connection of the session failed. */
	void (*lost)(struct session *session, const char *why);
	/* The device failed, or was removed. */
	void (*failed)(struct ibv_context *verbs);
	void (*gone)(struct ibv_context *verbs);
};

void device_init(const struct device_events *events);
void device_exit(void);
/* Start to watch a device that librdmacm has opened, with or without users. */
void device_add(struct ibv_context *verbs);
/* Count the users of a device: sessions that have objects on it. */
void device_get(struct ibv_context *verbs);
void device_put(struct ibv_context *verbs);
/* Handle the removal of a device, which the CM has reported. */
void device_gone(struct ibv_context *verbs);

#endif
