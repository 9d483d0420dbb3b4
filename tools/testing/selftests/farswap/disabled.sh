#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# enabled=0 stops new remote stores; remote pages still come in; enabled=1 starts the stores again.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 8
farswap_up 2
swap_on
make_cgroup disabled 12M
start_load disabled disabled -m 24 -p 2 -d 250 -w 15 -i 10
check "pages go out to donors" wait_for 60 grown store_remote 3000
echo 0 >"$FARSWAP/enabled"
sleep 1 # for stores on their way
stats_save
check "pages still come in from donors" wait_for 30 grew load_remote
# Donors have stale copies of many of these pages.
check "new page-outs go to the device" wait_for 60 grown store_disabled 3000
check "no page goes out to donors" same store_remote
echo 1 >"$FARSWAP/enabled"
check "after enabling, pages go out to donors" wait_for 30 grew store_remote
check --data "memory contents are right" stop_load disabled
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
