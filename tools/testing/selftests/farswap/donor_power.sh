#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's machine loses power under load, so that nobody closes its connections: the load
# continues without a wrong byte; the machine boots and is a donor again.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 10
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
set_value "$FARSWAP/grace_ms" 2000
swap_on
make_cgroup power 12M
start_load power power -m 24 -p 2 -d 280 -r 70 -w 50 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
victim=$(donor_of_most)
say "cutting the power of $victim"
stats_save
donor_touch "$victim"
check "the donor loses power" host poweroff "$(donor_name "$victim")"
check "the failure is detected" wait_for 90 donor_is_not_live "$victim"
check "its slabs are lost" wait_for 30 regions_lost
stats_save
check "the other donor serves page-outs and page-ins" wait_for 60 grew store_remote load_remote
check "the donor's machine boots" donor_start "$victim"
check "it is in use again" wait_for 90 donor_is_live "$victim" || donors_show
check --data "memory contents are right" stop_load power
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
