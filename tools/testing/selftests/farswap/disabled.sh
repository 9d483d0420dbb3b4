#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# enabled=0 stops new remote stores; what is remote still comes back; enabled=1
# starts them again.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 8
farswap_up 2
swap_on
make_cgroup disabled 12M
start_load disabled disabled -m 24 -p 2 -d 250 -w 15 -i 10
check "pages go to donors" wait_for 60 grown store_remote 3000
echo 0 >"$FARSWAP/enabled"
sleep 1 # for stores on their way
stats_save
check "pages still come from donors" wait_for 30 grew load_remote
# Many of what donors have an older copy of.
check "while new ones go to the device" wait_for 60 grown store_disabled 3000
check "and none to donors" same store_remote
echo 1 >"$FARSWAP/enabled"
check "enabled again, pages go to donors" wait_for 30 grew store_remote
check --data "memory was right all the time" stop_load disabled
stats_show
check --data "no page was lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
