/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where clients connect, and the events of RDMA devices.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <infiniband/verbs.h>
#include <sys/socket.h>

/* Logs what is wrong. */
int listener_init(const struct sockaddr *address);
void listener_exit(void);
/* Events of a device are heard as long as someone has it. */
void listener_get_device(struct ibv_context *verbs);
void listener_put_device(struct ibv_context *verbs);

#endif
