#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's machine is paused under load and resumes later, with all packets it was sent meanwhile.
# Every wait ends within the bound, and no write that was given up reaches memory that is reused.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 11
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
set_value "$FARSWAP/grace_ms" 2000
swap_on
make_cgroup paused 12M
start_load paused paused -m 24 -p 2 -d 280 -r 70 -w 50 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
victim=$(donor_of_most)
say "pausing $victim"
stats_save
log_mark
check "the donor is paused" host pause "$(donor_name "$victim")"
check "the failure is detected" wait_for 60 donor_is_not_live "$victim"
check "the failure is an I/O timeout" \
	log_has "donor $victim: lost: I/O not done within io_timeout_ms"
check "its slabs are lost" wait_for 30 regions_lost
stats_save
check "the other donor serves page-outs and page-ins" wait_for 60 grew store_remote load_remote
host resume "$(donor_name "$victim")"
check "it is in use again when it resumes" wait_for 90 donor_is_live "$victim" || donors_show
sleep 3
check --data "memory contents are right" stop_load paused
check "the longest access is within the bound" longest_below paused $((20000 * ${SLOW:-1}))
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
