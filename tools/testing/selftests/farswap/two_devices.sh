#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two swap devices of equal priority are filled alternately. Equal offsets on both are different
# pages.
# cluster: donors=2 mem=192 disks=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

both_used() {
	cat /proc/swaps
	[ "$(swap_used "$SWAP_DISK")" -gt 4096 ] && [ "$(swap_used "$SWAP_DISK2")" -gt 4096 ]
}

both_have_slabs() {
	cat "$FARSWAP_DEBUG/slabs"
	[ "$(awk 'NR > 1 && $5 > 0 { print $1 }' "$FARSWAP_DEBUG/slabs" | sort -u | wc -l)" -eq 2 ]
}

test_begin 8
[ -b "$SWAP_DISK2" ] || skip_rest "no second disk $SWAP_DISK2"
farswap_up 2
swap_on "$SWAP_DISK" 5
swap_on "$SWAP_DISK2" 5
make_cgroup two 12M
start_load two two -m 24 -p 2 -H "$TMP/two.hold" -n 1200 -u 4 -i 0
check "memory is filled" wait_for 60 load_ready two 2
check "both devices are used" both_used
go_on two
# Pages that went out before the slabs were mapped are on the devices alone.
check "slabs of both devices are remote" wait_for 30 both_have_slabs
check --data "memory contents are right" wait_load two
# Remove one and keep the other.
start_load rest two -m 24 -p 2 -d 120 -i 1
check "a load on both makes progress" wait_for 30 grep -q progress "$TMP/rest.log"
echo 100M >"$CGROUP/two/memory.high"
check "swapoff of one of two devices under load" swapoff "$SWAP_DISK2"
echo 18M >"$CGROUP/two/memory.high"
check --data "memory contents are right then" stop_load rest
stats_show
check "pages went out to donors and came in, no remote bit is left" eval \
	'grew store_remote load_remote && data same load_lost && data no_orphaned_pages'
test_end
