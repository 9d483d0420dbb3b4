#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Donors have all pages of some 64 KiB folios and some pages of others; the swap device has the rest.
# The former are swapped in whole, the latter page by page, and all contents are right.
# cluster: donors=2 mem=384 disks=1 tree=1 zswap.enabled=0
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

TRACE=/sys/kernel/tracing/instances/farswap-partly

# come_back PAGES: successful reads of that size
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
# On a slow kernel, page-outs that have waited too long go to the device.
check "donors have 64 KiB folios" hold_remote partly partly 1 $((8000 / ${SLOW:-1})) \
	-m 48 -t huge -n 500 -w 100 || skip_rest "they have too few"
# Pages that are rewritten now go to the device, into their slots among the others.
set_value "$FARSWAP/enabled" 0
echo 1 >"$TRACE/events/farswap/farswap_load_end/enable"
go_on partly
check --data "memory contents are right" wait_load partly
check "some pages came in from the device" grew load_device
check "folios that donors have whole come in whole" come_back 16
check "other folios come in page by page" come_back 1
stats_show
check --data "no page is lost" same load_lost
echo 0 >"$TRACE/events/enable"
rmdir "$TRACE"
test_end
