/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prints the state of the daemon.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdio.h>

/* Human-readable text. */
void status_show(FILE *out);
/* Prometheus's text format. */
void status_metrics(FILE *out);

#endif
