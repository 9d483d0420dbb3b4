#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Folios of 64 KiB: donors have all of their pages, or some, and the swap device the others. Those
# that donors have as a whole come back so, the others page by page, and all are right.
# cluster: donors=2 mem=384 disks=1 tree=1 zswap.enabled=0
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

TRACE=/sys/kernel/tracing/instances/farswap-partly

# come_back PAGES: reads of so many at a time, which were good
come_back() {
	come_times=$(grep -c "farswap_load_end: .*pages=$1 error=0" "$TRACE/trace")
	echo "$come_times reads of $1 pages"
	[ "$come_times" -gt 20 ]
}

test_begin 6
[ -e "$THP/hugepages-64kB/enabled" ] || skip_rest "no 64 KiB folios in this kernel"
is_direct || skip_rest "attached: no large folio is read"
[ ! -e /sys/kernel/debug/zswap ] || skip_rest "zswap was on: no large folio is read any more"
mkdir -p "$TRACE" || skip_rest "no trace instances in this kernel"
farswap_up 2
swap_on
make_cgroup partly 24M
set_value "$THP/enabled" madvise
set_value "$THP/hugepages-64kB/enabled" always
set_value "$THP/hugepages-2048kB/enabled" never
stats_save
# A slow kernel's go to the device instead when they have waited too long for others.
check "donors have 64 KiB folios" hold_remote partly partly 1 $((8000 / ${SLOW:-1})) \
	-m 48 -t huge -n 500 -w 100 || skip_rest "they have too few"
# Pages rewritten now go to the device, in their places among the others.
set_value "$FARSWAP/enabled" 0
echo 1 >"$TRACE/events/farswap/farswap_load_end/enable"
go_on partly
check --data "memory is right" wait_load partly
check "some came from the device" grew load_device
check "whole folios came back whole" come_back 16
check "others page by page" come_back 1
stats_show
check --data "no page was lost" same load_lost
echo 0 >"$TRACE/events/enable"
rmdir "$TRACE"
test_end
