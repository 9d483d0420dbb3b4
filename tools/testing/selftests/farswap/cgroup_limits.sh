#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Pages that a cgroup's limit, a shrinking limit or memory.reclaim pages out keep their contents;
# memory.swap.max is obeyed.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

MAX_BYTES=$((8 << 20))

reclaim_in_rounds() {
	for reclaim_round in 1 2 3 4 5 6; do
		# The kernel returns EAGAIN if it reclaims less than it was asked for.
		echo 16M >"$CGROUP/limits/memory.reclaim"
		reclaim_now=$(cat "$CGROUP/limits/memory.swap.current")
		echo "round $reclaim_round: swap $reclaim_now"
		# More than the check before this allowed.
		[ "$reclaim_now" -gt "$((2 * MAX_BYTES))" ] && return
		sleep 0.3
	done 2>/dev/null
	[ "$reclaim_now" -gt "$MAX_BYTES" ]
}

shrink() {
	for shrink_to in 40M 28M 20M; do
		echo "$shrink_to" >"$CGROUP/limits/memory.max" || return 1
		sleep 0.5
	done
	shrink_now=$(cat "$CGROUP/limits/memory.current")
	echo "memory.current $shrink_now"
	[ "$shrink_now" -le $((20 << 20)) ]
}

# Little is swapped yet, so that reclaim reaches the limit.
obeys_swap_max() {
	echo "$MAX_BYTES" >"$CGROUP/limits/memory.swap.max" || return 1
	for max_round in 1 2 3; do
		echo 16M >"$CGROUP/limits/memory.reclaim"
		max_now=$(cat "$CGROUP/limits/memory.swap.current")
		echo "round $max_round: swap $max_now of $MAX_BYTES"
		[ "$max_now" -le "$MAX_BYTES" ] || return 1
	done 2>/dev/null
	echo max >"$CGROUP/limits/memory.swap.max"
	[ "$max_now" -gt $((MAX_BYTES / 2)) ]
}

test_begin 8
farswap_up 2
# Readahead by slot, not by address.
ROTATIONAL=1
swap_on
make_cgroup limits max
start_load limits limits -m 48 -p 2 -d 120 -w 30 -i 1
check "the load makes progress" wait_for 20 grep -q progress "$TMP/limits.log"
check "no more than memory.swap.max is swapped" obeys_swap_max
check "memory.reclaim pages out" reclaim_in_rounds
check "memory.max can shrink below what is used" shrink
check --data "memory contents are right" stop_load limits
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
