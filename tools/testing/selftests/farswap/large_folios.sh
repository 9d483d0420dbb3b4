#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Large folios, 64 KiB and 2 MiB, are stored whole, come back page by page,
# and may lose a part while they are remote. None of their slots keeps its
# remote bit when it is freed: the kernel frees those without telling zswap.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

SWPOUT=$THP/hugepages-64kB/stats/swpout
large_went_out() {
	large_now=$(cat "$SWPOUT")
	echo "64 KiB folios swapped out whole: $((large_now - large_before))"
	[ "$large_now" -gt "$large_before" ]
}

test_begin 7
[ -e "$THP/hugepages-64kB/enabled" ] || skip_rest "no 64 KiB folios in this kernel"
farswap_up 2
swap_on
make_cgroup large 40M
set_value "$THP/enabled" madvise
set_value "$THP/hugepages-64kB/enabled" always
set_value "$THP/hugepages-2048kB/enabled" never
large_before=$(cat "$SWPOUT" 2>/dev/null || echo 0)
check "64 KiB folios, partly unmapped, are right" \
	in_cgroup large "$LOAD" -m 72 -p 2 -t huge -n 1500 -u 25 -o 25
[ -e "$SWPOUT" ] || SWPOUT=/dev/null
check "64 KiB folios were swapped out whole" large_went_out
check "pages went to donors and came back" grew store_remote load_remote
check "no remote bit outlives its slot" no_remote_bits
set_value "$THP/hugepages-64kB/enabled" never
set_value "$THP/hugepages-2048kB/enabled" always
check "2 MiB folios, partly unmapped, are right" \
	in_cgroup large "$LOAD" -m 64 -t huge -n 1000 -u 25 -o 25 -s 5
stats_show
check "no page was lost" same load_lost
check "no remote bit outlives its slot after that" no_remote_bits
test_end
