/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prints the state of the daemon.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdio.h>

/* Human-readable text. */
void status_show(FILE *out);
/* One JSON object. */
void status_json(FILE *out);
/* Metrics, without the mark of the end of OpenMetrics. */
void status_metrics(FILE *out);
/* Metrics in Prometheus's text format. */
void status_metrics_plain(FILE *out);

#endif
