#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A slab without pages is given back; so is an idle one, if coldslab says so, and its pages then
# come in from the swap device.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# Start a load that swaps out and then leaves its memory idle.
hold_load() {
	start_load "$1" cold -m "$2" -i 10 -H "$TMP/$1.hold"
	wait_for 60 load_ready "$1" 1 && wait_for 10 grew slab_mapped store_remote
}

# Each CPU caches up to 64 freed slots: make each one free others, which were never remote.
flush_slots() {
	flush_enabled=$(cat "$FARSWAP/enabled")
	echo 0 >"$FARSWAP/enabled"
	mkdir -p "$CGROUP/flush"
	echo 3M >"$CGROUP/flush/memory.high"
	flush_cpu=0
	while [ -e "/sys/devices/system/cpu/cpu$flush_cpu" ]; do
		in_cgroup flush taskset "$(printf %x $((1 << flush_cpu)))" "$LOAD" -m 6 -i 0
		flush_cpu=$((flush_cpu + 1))
	done
	remove_cgroup flush
	echo "$flush_enabled" >"$FARSWAP/enabled"
}

# slabs_with TEST: number of mapped slabs whose count of pages passes the test
slabs_with() {
	awk "NR > 1 && \$4 != \"-\" && \$5 $1 { n++ } END { print n + 0 }" "$FARSWAP_DEBUG/slabs"
}

# Slabs without a page are given back, for no other reason, and some with pages are kept.
empty_given_back() {
	wait_for 60 eval '[ "$(slabs_with "== 0")" -eq 0 ]' && grew slab_cold &&
		same slab_evicted slab_lost slab_unmapped && [ "$(slabs_with "> 0")" -gt 0 ]
}

# All slabs are given back, and for no other reason.
all_given_back() {
	wait_for 60 stat_is mapped_slabs 0 && grew slab_cold &&
		same slab_evicted slab_lost slab_unmapped
}

# This runs while other slabs are given back.
pages_stay() {
	sleep 2
	echo "$stay_pages remote pages, then $(stat_of remote_pages)"
	[ "$stay_pages" -gt 1000 ] && [ "$(stat_of remote_pages)" -ge "$stay_pages" ]
}

test_begin 10
farswap_up 2
swap_on
make_cgroup cold 16M
# One after the other, so that each has slabs of its own.
check "memory goes out to donors" hold_load first 40
check "memory of another program goes out to donors" hold_load second 32
check "the donors lend regions" lent_is -gt 4
kill_load first
# A slab is empty once its slots have been freed, and is given back unless it is hot.
flush_slots
stay_pages=$(stat_of remote_pages)
set_value "$FARSWAP/hotslab" 1000000
check "slabs without a page are given back" empty_given_back
check "the donors got the regions back" wait_for 10 lent_is -eq "$(slabs_with "> 0")"
check "slabs with pages stay mapped" pages_stay
set_value "$FARSWAP/coldslab" 1000000
check "with coldslab, idle slabs are given back" all_given_back
check "the donors got those regions back, too" wait_for 10 lent_is -eq 0
stats_save
go_on second
check --data "its memory contents are right" wait_load second
check "its pages came in from the device" eval \
	'data same load_lost && grew load_device && same load_remote'
test_end
