#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# All donors are killed at once under load: the device alone serves it, and the donors are used
# again when they are back.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 9
farswap_up 2
swap_on
make_cgroup gone 12M
start_load gone gone -m 24 -p 2 -d 280 -r 70 -w 50 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
for donor in $DONORS; do
	donor_kill "$donor"
done
check "the loss of all donors is detected" wait_for 60 donors_live 0
check "no page is remote" wait_for 30 stat_is remote_pages 0
stats_save
check "pages go out to the device and come in" wait_for 30 grew store_device load_device
check "no page goes out to donors or comes in from them" same store_remote load_remote
for donor in $DONORS; do
	donor_start "$donor"
done
check "restarted donors are in use" wait_for 90 grew store_remote load_remote || donors_show
check --data "memory contents are right" stop_load gone
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
