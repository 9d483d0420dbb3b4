#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's daemon is killed under load: the load continues without a wrong byte; the other donor
# takes over.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 9
farswap_up 2
swap_on
make_cgroup killed 12M
start_load killed killed -m 24 -p 2 -d 250 -r 70 -w 50 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
victim=$(donor_of_most)
say "killing $victim"
stats_save
check "the donor is killed" donor_kill "$victim"
check "the failure is detected" wait_for 60 donor_is_not_live "$victim"
check "its slabs are lost" wait_for 30 eval 'regions_lost && grew donor_down'
stats_save
check "the other donor serves page-outs and page-ins" wait_for 60 grew store_remote load_remote
sleep 2
check "the load still runs" load_runs killed
check --data "memory contents are right" stop_load killed
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
