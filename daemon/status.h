/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The daemon's state as text.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdio.h>

/* For people. */
void status_show(FILE *out);
/* For Prometheus. */
void status_metrics(FILE *out);

#endif
