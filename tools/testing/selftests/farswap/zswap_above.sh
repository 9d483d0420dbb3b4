#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# zswap above farswap, with a pool so small that a page is sometimes stored by zswap and sometimes
# by a donor. A donor's copy from before zswap stored a newer one must never be read.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

zswpout() {
	awk '$1 == "zswpout" { print $2 }' /proc/vmstat
}

zswap_took_pages() {
	echo "zswap stored $(($(zswpout) - zswpout_before)) pages"
	[ "$(zswpout)" -gt "$zswpout_before" ]
}

# What zswap does not take of this cgroup stays in memory.
stays_here() {
	echo 0 >"$CGROUP/stays/memory.zswap.writeback" || return 1
	stats_save
	in_cgroup stays "$LOAD" -m 10 -p 1 -n 400 -w 60 -s 23 -c 50 -o 100 || return 1
	zswap_took_pages && same store_remote store_device
}

test_begin 7
[ -d "$ZSWAP" ] || skip_rest "no zswap in this kernel"
farswap_up 2
swap_on
make_cgroup zswap 17M
set_value "$ZSWAP/max_pool_percent" 3
set_value "$ZSWAP/enabled" Y
zswpout_before=$(zswpout)
# In half of the pages almost all bytes are zero, so that zswap accepts them.
check --data "memory contents are right with a small pool" \
	in_cgroup zswap "$LOAD" -m 32 -p 2 -n 800 -w 60 -s 21 -c 50
[ ! -e "$CGROUP/zswap/memory.zswap.max" ] || echo 1M >"$CGROUP/zswap/memory.zswap.max"
check --data "memory contents are right with a small cgroup limit" \
	in_cgroup zswap "$LOAD" -m 32 -p 2 -n 1000 -w 60 -s 22 -c 50
stats_show
check "zswap stored pages" zswap_took_pages
check "donors stored pages, zswap newer copies of some" \
	grew store_remote load_remote zswap_accepted
make_cgroup stays max
check "memory.zswap.writeback=0 keeps pages off donors and the device" stays_here
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
