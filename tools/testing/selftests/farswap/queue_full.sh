#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# More reads than a queue pair holds: the others wait and are posted as these complete. None is
# lost and none remains pending, also when the connection fails meanwhile. The network to the donor
# is slow, and readahead requests 128 pages for each of many tasks.
# cluster: donors=1 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

TRACE=/sys/kernel/tracing/instances/farswap-test
# Capacity of a queue pair; with one processor there is one for loads.
DEPTH=128

# in_flight: the highest number of concurrent loads, of those that have completed
in_flight() {
	sed -n 's/.* \([0-9]*\)\.\([0-9]\{6\}\): farswap_load_end: .* ns=\([0-9]*\) .*/\1 \2 \3/p' \
		"$TRACE/trace" |
		awk '{ end = $1 * 1000000 + $2
			printf "%.0f -1\n%.0f 1\n", end, end - $3 / 1000 }' |
		sort -n | awk '{ now += $2 } now > most { most = now } END { print most + 0 }'
}

more_than_a_queue_takes() {
	: >"$TRACE/trace"
	echo 1 >"$TRACE/events/farswap/farswap_load_end/enable"
	sleep 1
	echo 0 >"$TRACE/events/farswap/farswap_load_end/enable"
	full_most=$(in_flight)
	echo "$full_most reads at a time"
	[ "$full_most" -gt $((DEPTH + 32)) ]
}

donor_dies_then() {
	stats_save
	donor_kill "$DONORS" && wait_for 20 grew slab_lost && load_runs full
}

test_begin 7
mkdir -p "$TRACE" || skip_rest "no trace instances in this kernel"
farswap_up 1
set_value /proc/sys/vm/page-cluster 7
set_value "$FARSWAP/io_timeout_ms" $((5000 * ${SLOW:-1}))
set_value "$FARSWAP/grace_ms" 0
# Readahead by place on the device, not by address.
ROTATIONAL=1 swap_on
make_cgroup full 12M
start_load full full -m 24 -p 8 -w 0 -q -d 250 -i 0
check "every page is remote" wait_for 90 reads_are_remote 2000 6600
check "the network to the donor is slow" host delay "$(donor_name "$DONORS")" 30
check "more reads than a queue pair holds" wait_for 60 more_than_a_queue_takes
check "the donor fails meanwhile" donor_dies_then
host delay "$(donor_name "$DONORS")" 0
rmdir "$TRACE"
check --data "memory contents are right" stop_load full
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
