#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A slab whose pages are all gone is given back; one that went cold is, if coldslab
# says so, and its pages are then read from the swap device.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# lent_is TEST NUMBER: how many regions both donors have lent
lent_is() {
	for lent_donor in $DONORS; do
		on "$lent_donor" 'farswapctl metrics'
	done | awk '$1 ~ /^farswapd_regions.state="mapped"/ { sum += $2; seen++ }
		END { if (seen == 2) print sum }' >"$TMP/lent"
	echo "$(cat "$TMP/lent") regions lent"
	test "$(cat "$TMP/lent")" "$1" "$2"
}

# A load that has swapped out and waits, its memory unused.
hold_load() {
	start_load "$1" cold -m 40 -i 10 -H "$TMP/$1.hold"
	wait_for 60 load_ready "$1" 1 && wait_for 10 grew slab_mapped store_remote
}

# All slabs given back, and for no other reason.
all_given_back() {
	wait_for 60 stat_is mapped_slabs 0 && grew slab_cold &&
		same slab_evicted slab_lost slab_unmapped
}

# For longer than it takes to give one back. Slabs mapped ahead may go, they are empty.
pages_stay() {
	stay_pages=$(stat_of remote_pages)
	sleep 20
	echo "$stay_pages remote pages, then $(stat_of remote_pages)"
	[ "$stay_pages" -gt 1000 ] && [ "$(stat_of remote_pages)" -ge "$stay_pages" ]
}

test_begin 10
farswap_up 2
swap_on
make_cgroup cold 16M
check "memory goes to donors" hold_load first
check "the donors have lent" lent_is -gt 0
kill_load first
# A slab is empty once its slots have been freed, and not kept if it is not hot.
no_remote_bits
set_value "$FARSWAP/hotslab" 1000000
check "slabs without a page are given back" all_given_back
check "the donors know" wait_for 10 lent_is -eq 0
echo 0 >"$FARSWAP/hotslab"
stats_save
check "memory goes to donors again" hold_load second
check "without coldslab what is cold stays" pages_stay
echo 1000000 >"$FARSWAP/hotslab"
set_value "$FARSWAP/coldslab" 1000000
check "with coldslab it is given back" all_given_back
check "the donors know of that too" wait_for 10 lent_is -eq 0
stats_save
go_on second
check "its memory is right" wait_load second
check "it came from the device" eval 'grew load_device && same load_lost load_remote'
test_end
