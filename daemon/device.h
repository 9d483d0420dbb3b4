/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA devices that were opened, their asynchronous events, and their removal.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <infiniband/verbs.h>

void device_init(void);
void device_exit(void);
/* librdmacm has opened it. It is watched from now on, with or without users. */
void device_add(struct ibv_context *verbs);
/* Objects of a device that is used exist. */
void device_get(struct ibv_context *verbs);
void device_put(struct ibv_context *verbs);
/* The CM says that it is being removed. */
void device_gone(struct ibv_context *verbs);

#endif
