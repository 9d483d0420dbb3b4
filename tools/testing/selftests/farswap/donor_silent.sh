#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's answers are lost on the wire under load, while it still receives. Every wait ends
# within the bound, no wrong data is read from it, and it is used again once its answers arrive. A
# write that was given up must not reach memory that has been stored again.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 11
lose_ready || skip_rest "no ingress qdisc"
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
set_value "$FARSWAP/grace_ms" 2000
swap_on
make_cgroup silent 12M
start_load silent silent -m 24 -p 2 -d 280 -r 70 -w 50 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
victim=$(donor_of_most)
say "dropping the answers of $victim"
stats_save
log_mark
check "the donor's answers are lost on the wire" lose "$victim" "$CLIENT" 1
check "the failure is detected" wait_for 60 donor_is_not_live "$victim"
check "the failure is an I/O timeout" \
	log_has "donor $victim: lost: I/O not done within io_timeout_ms"
check "its slabs are lost" wait_for 30 regions_lost
stats_save
check "the other donor serves page-outs and page-ins" wait_for 60 grew store_remote load_remote
lose_none "$CLIENT"
check "it is in use again when its answers arrive" \
	wait_for 90 donor_is_live "$victim" || donors_show
sleep 3
check --data "memory contents are right" stop_load silent
check "the longest access is within the bound" longest_below silent $((20000 * ${SLOW:-1}))
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
