#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The machine at the edge: memory and swap all but full, under global pressure, and
# every donor slow. All of reclaim then waits for farswap, which must not wait for
# memory: nothing hangs, nothing is killed, and every byte is right.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

SWAP_KB=98304
# Kept free: a slot that is freed may wait for its device's write, page tables grow, and so
# does what a slow kernel notes for itself.
SPARE_MB=$((20 * ${SLOW:-1}))

meminfo() {
	awk -v n="$1:" '$1 == n { print int($2 / 1024) }' /proc/meminfo
}

# The memory that a process may still get.
edge_mb() {
	echo "$(($(meminfo MemAvailable) + $(meminfo SwapFree)))"
}

at_the_edge() {
	echo "$(edge_mb) MB left, $(meminfo SwapFree) of them swap"
	[ "$(edge_mb)" -lt $((SPARE_MB + 30)) ]
}

slow() {
	for slow_donor in $DONORS; do
		host delay "$(donor_name "$slow_donor")" "$1" || return 1
	done
}

test_begin 8
farswap_up 2
# Against fragmentation the kernel may keep as much again free as min_free_kbytes, and kill
# for it.
set_value /proc/sys/vm/watermark_boost_factor 0
swap_on
size=$(($(edge_mb) - SPARE_MB))
say "$size MB of data, where $(edge_mb) could be had"
start_load edge - -m "$size" -p 3 -w 50 -d 250 -i 0
check "memory and swap are all but full" wait_for 90 at_the_edge
check "every donor becomes slow" slow 50
stats_save
sleep 8
check "pages come and go all the same" wait_for 60 grew store_remote load_remote
check "so it goes on" load_runs edge
check "the donors are kept" same donor_down slab_lost
slow 0
check --data "memory is right" stop_load edge
stats_show
check --data "no page was lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
