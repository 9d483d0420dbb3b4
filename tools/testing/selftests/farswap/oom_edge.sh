#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Memory and swap are nearly full, under global pressure, and every donor is slow. Reclaim then
# waits for farswap, which must not wait for memory: nothing hangs, nothing is killed, and every
# byte is right.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

SWAP_KB=98304
# Keep this much free: freed slots may wait for the device's write, page tables grow, and so does a
# slow kernel's own bookkeeping.
SPARE_MB=$((20 * ${SLOW:-1}))

meminfo() {
	awk -v n="$1:" '$1 == n { print int($2 / 1024) }' /proc/meminfo
}

# Memory that a process may still get.
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
# Against fragmentation the kernel may keep another min_free_kbytes free, and kill tasks for it.
set_value /proc/sys/vm/watermark_boost_factor 0
# Allocation profiling warns when it has no memory for its own tags.
[ ! -e /proc/sys/vm/mem_profiling ] || set_value /proc/sys/vm/mem_profiling 0
swap_on
size=$(($(edge_mb) - SPARE_MB))
say "$size MB of data, of $(edge_mb) MB that fit"
start_load edge - -m "$size" -p 3 -w 50 -d 250 -i 0
check "memory and swap are nearly full" wait_for 90 at_the_edge
check "every donor is slow" slow 50
stats_save
sleep 8
check "pages still go out and come in" wait_for 60 grew store_remote load_remote
check "the load still runs" load_runs edge
check "the donors are still in use" same donor_down slab_lost
slow 0
check --data "memory contents are right" stop_load edge
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
