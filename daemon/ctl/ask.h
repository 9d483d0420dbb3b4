/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands to farswapd over its control socket.
 */
#ifndef ASK_H
#define ASK_H

#include <stdbool.h>
#include <stdint.h>

/* Return false if no farswapd can be reached; ask_error() is the reason. */
bool ask_is_there(void);
const char *ask_error(void);

/* Send a command; return the connection. Exits if that fails. */
int ask_send(unsigned int command, unsigned int format, uint64_t arg);
/* Wait for the reply, for @ms at most. Return true if there is one. */
bool ask_wait(int fd, int ms);
/* Return the text of the reply. Exits if farswapd refuses. */
char *ask_receive(int fd);
/* Do all of that. */
char *ask(unsigned int command, unsigned int format, uint64_t arg);

#endif
