/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accepts connections of clients.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <sys/socket.h>

/* Logs the error. */
int listener_init(const struct sockaddr *address);
void listener_exit(void);

#endif
