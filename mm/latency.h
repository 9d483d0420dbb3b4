/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Latency histograms of I/O and of mapping.
 */
#ifndef _FARSWAP_LATENCY_H
#define _FARSWAP_LATENCY_H

#include <linux/types.h>

struct seq_file;

/**
 * enum farswap_latency - the histograms; latencies are from submission to completion unless said
 * otherwise
 * @FARSWAP_LATENCY_LOAD_URGENT: remote reads of a fault's own page
 * @FARSWAP_LATENCY_LOAD:	all remote reads
 * @FARSWAP_LATENCY_STORE:	remote writes
 * @FARSWAP_LATENCY_DEVICE:	backup writes to the swap device
 * @FARSWAP_LATENCY_QUERY:	queries of a donor's free memory, until its answer
 * @FARSWAP_LATENCY_MAP:	mapping of a slab, from the decision to map it until it is mapped
 * @FARSWAP_LATENCIES:		number of histograms
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
