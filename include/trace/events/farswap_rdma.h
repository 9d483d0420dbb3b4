/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of farswap's RDMA transport: states and errors of sessions.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM farswap_rdma

#if !defined(_TRACE_FARSWAP_RDMA_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_FARSWAP_RDMA_H

#include <linux/tracepoint.h>

/* Values of enum farswap_rdma_state; a module can't export the names of enumerators. */
#define farswap_rdma_show_state(state)		\
	__print_symbolic(state,			\
			 { 0, "idle" },		\
			 { 1, "connecting" },	\
			 { 2, "live" },		\
			 { 3, "failing" },	\
			 { 4, "closed" })

TRACE_EVENT(farswap_rdma_session_state,

	TP_PROTO(const char *donor, int from, int to),

	TP_ARGS(donor, from, to),

	TP_STRUCT__entry(
		__string(donor, donor)
		__field(int, from)
		__field(int, to)
	),

	TP_fast_assign(
		__assign_str(donor);
		__entry->from = from;
		__entry->to = to;
	),

	TP_printk("donor=%s %s -> %s", __get_str(donor),
		  farswap_rdma_show_state(__entry->from),
		  farswap_rdma_show_state(__entry->to))
);

TRACE_EVENT(farswap_rdma_session_error,

	TP_PROTO(const char *donor, int error, const char *why),

	TP_ARGS(donor, error, why),

	TP_STRUCT__entry(
		__string(donor, donor)
		__string(why, why)
		__field(int, error)
	),

	TP_fast_assign(
		__assign_str(donor);
		__assign_str(why);
		__entry->error = error;
	),

	TP_printk("donor=%s error=%d why=\"%s\"", __get_str(donor),
		  __entry->error, __get_str(why))
);

#endif /* _TRACE_FARSWAP_RDMA_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
