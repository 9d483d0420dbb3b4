/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where clients connect.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <sys/socket.h>

/* Logs what is wrong. */
int listener_init(const struct sockaddr *address);
void listener_exit(void);

#endif
