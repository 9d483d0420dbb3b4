#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's daemon is killed under load: the load goes on and sees no wrong
# byte; the other donor takes over.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 9
farswap_up 2
swap_on
make_cgroup killed 12M
start_load killed killed -m 24 -p 2 -d 250 -r 70 -w 50 -i 10
check "pages go to donors and come back" pages_go_and_return 2000
victim=$(donor_of_most)
say "killing $victim"
stats_save
check "killed" donor_kill "$victim"
check "it is noticed" wait_for 60 donor_is_not_live "$victim"
check "its slabs are given up" wait_for 30 eval 'regions_lost && grew donor_down'
stats_save
check "the other donor takes pages and gives them back" wait_for 60 grew store_remote load_remote
sleep 2
check "the load still runs" load_runs killed
check --data "memory was right all the time" stop_load killed
stats_show
check --data "no page was lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
