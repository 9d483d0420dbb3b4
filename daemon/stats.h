/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters, which only increase, and times. Values that go up and down are read from
 * their owners.
 */
#ifndef STATS_H
#define STATS_H

#include <stdint.h>
#include <stdio.h>

#include "json.h"
#include "metrics.h"

/*
 * X(enumerator, metric, label, help); entries of a metric with labels are adjacent. END_
 * entries are reasons for the end of a session; END_BAD_x are in the order of wire_error.
 */
#define STATS(X)									\
	X(SESSIONS, "sessions_total", "", "Sessions begun")				\
	X(REJECT_MALFORMED, "rejects_total", "reason=\"malformed\"", "Connections rejected") \
	X(REJECT_VERSION, "rejects_total", "reason=\"version\"", "")			\
	X(REJECT_BUSY, "rejects_total", "reason=\"busy\"", "")				\
	X(REJECT_UNKNOWN, "rejects_total", "reason=\"unknown\"", "")			\
	X(REJECT_SESSION, "rejects_total", "reason=\"session\"", "")			\
	X(REJECT_LEAVING, "rejects_total", "reason=\"leaving\"", "")			\
	X(REJECT_INTERNAL, "rejects_total", "reason=\"internal\"", "")			\
	X(END_CLIENT, "sessions_ended_total", "reason=\"client\"", "Sessions ended")	\
	X(END_LINK, "sessions_ended_total", "reason=\"link\"", "")			\
	X(END_CONNECT, "sessions_ended_total", "reason=\"connect_timeout\"", "")	\
	X(END_HELLO, "sessions_ended_total", "reason=\"hello_timeout\"", "")		\
	X(END_HALF_OPEN, "sessions_ended_total", "reason=\"half_open\"", "")		\
	X(END_GRACE, "sessions_ended_total", "reason=\"grace\"", "")			\
	X(END_RESUMED, "sessions_ended_total", "reason=\"resumed\"", "")		\
	X(END_DATA, "sessions_ended_total", "reason=\"data_timeout\"", "")		\
	X(END_PING, "sessions_ended_total", "reason=\"ping_timeout\"", "")		\
	X(END_REFUSED, "sessions_ended_total", "reason=\"refused\"", "")		\
	X(END_LEAVING, "sessions_ended_total", "reason=\"leaving\"", "")		\
	X(END_INTERNAL, "sessions_ended_total", "reason=\"internal\"", "")		\
	X(END_AUTH, "sessions_ended_total", "reason=\"auth\"", "")			\
	X(END_BAD_SEAL, "sessions_ended_total", "reason=\"bad_seal\"", "")		\
	X(END_BAD_ORDER, "sessions_ended_total", "reason=\"bad_order\"", "")		\
	X(END_BAD_FLOOD, "sessions_ended_total", "reason=\"bad_flood\"", "")		\
	X(END_BAD_SHORT, "sessions_ended_total", "reason=\"bad_short\"", "")		\
	X(END_BAD_LONG, "sessions_ended_total", "reason=\"bad_long\"", "")		\
	X(END_BAD_MAGIC, "sessions_ended_total", "reason=\"bad_magic\"", "")		\
	X(END_BAD_VERSION, "sessions_ended_total", "reason=\"bad_version\"", "")	\
	X(END_BAD_TYPE, "sessions_ended_total", "reason=\"bad_type\"", "")		\
	X(END_BAD_DIRECTION, "sessions_ended_total", "reason=\"bad_direction\"", "")	\
	X(END_BAD_LENGTH, "sessions_ended_total", "reason=\"bad_length\"", "")		\
	X(END_BAD_RESERVED, "sessions_ended_total", "reason=\"bad_reserved\"", "")	\
	X(END_BAD_RANGE, "sessions_ended_total", "reason=\"bad_range\"", "")		\
	X(GRACE, "grace_total", "", "Lost sessions whose regions were kept for grace_ms") \
	X(MAPS, "maps_total", "", "Regions lent")					\
	X(MAPS_REFUSED, "maps_refused_total", "", "MAPs refused")	\
	X(MAPS_UNSTAGED, "maps_unstaged_total", "", "Regions registered on demand") \
	X(TAKEN_BACK, "staged_taken_back_total", "", "Staged regions moved to another client") \
	X(RETURN_UNMAP, "returns_total", "how=\"unmap\"", "Regions returned")	\
	X(RETURN_DONE, "returns_total", "how=\"done\"", "")				\
	X(RETURN_REVOKED, "returns_total", "how=\"revoked\"", "")			\
	X(RETURN_SESSION, "returns_total", "how=\"session_end\"", "")			\
	X(EVICTS, "evicts_total", "", "EVICTs sent")					\
	X(ACTIVITY, "activity_checks_total", "", "CHECK_ACTIVITYs sent")			\
	X(ZEROED, "regions_zeroed_total", "", "Regions zeroed")			\
	X(DRAINS, "drains_total", "", "Drains begun")		\
	X(RECLAIMS, "reclaims_total", "", "Evictions because of memory shortage") \
	X(PRESSURE, "pressure_events_total", "", "Memory pressure events of the kernel") \
	X(REGISTER_FAILED, "register_failed_total", "", "Memory registrations that failed") \
	X(BROKEN, "regions_broken_total", "", "Regions lost because their rkey could not be revoked")

enum stats_counter {
#define X(name, metric, label, help) STAT_##name,
	STATS(X)
#undef X
	STAT_NR
};

extern uint64_t stats[STAT_NR];

static inline void stats_inc(enum stats_counter stat)
{
	stats[stat]++;
}

/* X(enumerator, metric, help) */
#define STATS_TIMES(X)									\
	X(PING, "ping_seconds", "Time from PING to PONG")						\
	X(ACTIVITY, "activity_seconds", "Time from CHECK_ACTIVITY to ACTIVITY")			\
	X(EVICT, "evict_seconds", "Time from EVICT to DONE before the deadline")

enum stats_timed {
#define X(name, metric, help) STAT_TIME_##name,
	STATS_TIMES(X)
#undef X
	STAT_TIMES
};

void stats_time(enum stats_timed what, uint64_t ns);

/* Print the counters that are not zero, one per line. */
void stats_show(FILE *out);
/* Write all counters as one object. */
void stats_json(struct json *json);
/* Write all counters and times. */
void stats_metrics(const struct metrics *metrics);

#endif
