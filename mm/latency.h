/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long things take.
 */
#ifndef _FARSWAP_LATENCY_H
#define _FARSWAP_LATENCY_H

#include <linux/types.h>

struct seq_file;

/**
 * enum farswap_latency - what is timed, from submission to completion unless said
 * otherwise
 * @FARSWAP_LATENCY_LOAD_URGENT: remote reads of the fault's own page
 * @FARSWAP_LATENCY_LOAD:	all remote reads
 * @FARSWAP_LATENCY_STORE:	remote writes
 * @FARSWAP_LATENCY_DEVICE:	the device writes that belong to them
 * @FARSWAP_LATENCY_QUERY:	a donor's answer to how much it could lend
 * @FARSWAP_LATENCY_MAP:	a slab that is wanted, until it is mapped
 * @FARSWAP_LATENCIES:		how many there are
 */
enum farswap_latency {
	FARSWAP_LATENCY_LOAD_URGENT,
	FARSWAP_LATENCY_LOAD,
	FARSWAP_LATENCY_STORE,
	FARSWAP_LATENCY_DEVICE,
	FARSWAP_LATENCY_QUERY,
	FARSWAP_LATENCY_MAP,
	FARSWAP_LATENCIES,
};

int farswap_latency_init(void);
void farswap_latency_exit(void);
void farswap_latency_add(enum farswap_latency what, u64 ns);
int farswap_latency_show(struct seq_file *m, void *v);

#endif /* _FARSWAP_LATENCY_H */
