/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM farswap

#if !defined(_TRACE_FARSWAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_FARSWAP_H

#include <linux/tracepoint.h>

TRACE_EVENT(farswap_slab_state,
	TP_PROTO(unsigned int type, unsigned int index, const char *old,
		 const char *new),
	TP_ARGS(type, index, old, new),
	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, index)
		__string(old, old)
		__string(new, new)
	),
	TP_fast_assign(
		__entry->type = type;
		__entry->index = index;
		__assign_str(old);
		__assign_str(new);
	),
	TP_printk("type=%u slab=%u %s -> %s", __entry->type, __entry->index,
		  __get_str(old), __get_str(new))
);

/* No donor has room, so a hot slab takes over the region of a cold one. */
TRACE_EVENT(farswap_slab_gives_way,
	TP_PROTO(unsigned int type, unsigned int index, u32 cold, unsigned int to_type,
		 unsigned int to_index, u32 hot),
	TP_ARGS(type, index, cold, to_type, to_index, hot),
	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, index)
		__field(u32, cold)
		__field(unsigned int, to_type)
		__field(unsigned int, to_index)
		__field(u32, hot)
	),
	TP_fast_assign(
		__entry->type = type;
		__entry->index = index;
		__entry->cold = cold;
		__entry->to_type = to_type;
		__entry->to_index = to_index;
		__entry->hot = hot;
	),
	TP_printk("type=%u slab=%u activity=%u to type=%u slab=%u activity=%u",
		  __entry->type, __entry->index, __entry->cold, __entry->to_type,
		  __entry->to_index, __entry->hot)
);

TRACE_EVENT(farswap_donor_state,
	TP_PROTO(const char *address, const char *old, const char *new),
	TP_ARGS(address, old, new),
	TP_STRUCT__entry(
		__string(address, address)
		__string(old, old)
		__string(new, new)
	),
	TP_fast_assign(
		__assign_str(address);
		__assign_str(old);
		__assign_str(new);
	),
	TP_printk("donor=%s %s -> %s", __get_str(address), __get_str(old),
		  __get_str(new))
);

DECLARE_EVENT_CLASS(farswap_io_end,
	TP_PROTO(unsigned long swap_entry, unsigned int nr, int error, u64 ns, u64 cgroup),
	TP_ARGS(swap_entry, nr, error, ns, cgroup),
	TP_STRUCT__entry(
		__field(unsigned long, swap_entry)
		__field(unsigned int, nr)
		__field(int, error)
		__field(u64, ns)
		__field(u64, cgroup)
	),
	TP_fast_assign(
		__entry->swap_entry = swap_entry;
		__entry->nr = nr;
		__entry->error = error;
		__entry->ns = ns;
		__entry->cgroup = cgroup;
	),
	TP_printk("entry=%#lx pages=%u error=%d ns=%llu cgroup=%llu", __entry->swap_entry,
		  __entry->nr, __entry->error, __entry->ns, __entry->cgroup)
);

/*
 * From the submission of a remote write to its completion. cgroup is the ID of the cgroup that the
 * pages belong to: in reclaim, the current task is somebody else.
 */
DEFINE_EVENT(farswap_io_end, farswap_store_end,
	TP_PROTO(unsigned long swap_entry, unsigned int nr, int error, u64 ns, u64 cgroup),
	TP_ARGS(swap_entry, nr, error, ns, cgroup)
);

/* From the submission of a remote read to its completion. */
DEFINE_EVENT(farswap_io_end, farswap_load_end,
	TP_PROTO(unsigned long swap_entry, unsigned int nr, int error, u64 ns, u64 cgroup),
	TP_ARGS(swap_entry, nr, error, ns, cgroup)
);

DECLARE_EVENT_CLASS(farswap_packed,
	TP_PROTO(unsigned long swap_entry, unsigned int bytes, bool good),
	TP_ARGS(swap_entry, bytes, good),
	TP_STRUCT__entry(
		__field(unsigned long, swap_entry)
		__field(unsigned int, bytes)
		__field(bool, good)
	),
	TP_fast_assign(
		__entry->swap_entry = swap_entry;
		__entry->bytes = bytes;
		__entry->good = good;
	),
	TP_printk("entry=%#lx bytes=%u good=%d", __entry->swap_entry, __entry->bytes,
		  __entry->good)
);

/*
 * A page is about to be stored to a packed slab; bytes is its compressed size, or 0 if it goes as
 * it is. good is false if no region takes it: then it goes elsewhere.
 */
DEFINE_EVENT(farswap_packed, farswap_pack,
	TP_PROTO(unsigned long swap_entry, unsigned int bytes, bool good),
	TP_ARGS(swap_entry, bytes, good)
);

/* A compressed page was read. good is false if what the donor returned does not decompress. */
DEFINE_EVENT(farswap_packed, farswap_unpack,
	TP_PROTO(unsigned long swap_entry, unsigned int bytes, bool good),
	TP_ARGS(swap_entry, bytes, good)
);

#endif /* _TRACE_FARSWAP_H */

/* This part must be outside protection. */
#include <trace/define_trace.h>
