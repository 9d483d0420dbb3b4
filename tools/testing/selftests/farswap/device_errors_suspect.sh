#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The swap device fails to write staged pages while their donors are suspect. The pages stay in
# staging memory, and are right there when the donors turn out to be dead.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_dm.sh
. "$HERE/_dm.sh"

STAGED=100

# More pages go out, and the device takes none.
pages_wait() {
	dm_hold || return 1
	reclaim both &
	wait_for 30 stat_above staged_pages $((2 * STAGED))
	wait_status=$?
	stat_of staged_pages
	return "$wait_status"
}

all_are() {
	for all_donor in $DONORS; do
		donor_field_is "$all_donor" state "$1" || return 1
	done
}

all_suspect() {
	for all_donor in $DONORS; do
		cut_off "$all_donor" || return 1
	done
	wait_for 60 all_are suspect
}

kept() {
	stat_of staged_pages
	all_are suspect && stat_above staged_pages "$STAGED"
}

are_gone() {
	stats_save
	wait_for 120 eval 'regions_lost && ! all_are suspect'
}

test_begin 13
lose_ready || skip_rest "no ingress qdisc"
command -v dmsetup >/dev/null || skip_rest "no dmsetup"
dm_make >"$TMP/dm" 2>&1 || skip_rest "no device mapper: $(cat "$TMP/dm")"
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
set_value "$FARSWAP/grace_ms" $((20000 * ${SLOW:-1}))
swap_on "$DM_DEVICE"
make_cgroup both 16M
start_load both both -m 28 -p 2 -d 250 -r 60 -w 50 -i 5
check "pages go out to donors and come in" pages_go_and_return 1000
check "page-outs wait for the device" pages_wait
check "the donors become suspect" all_suspect
stats_save
check "the device begins to fail writes" dm_fails_writes
check "writes of the staged pages fail" wait_for 30 grew backup_failed
sleep 2 # for a second attempt
check "pages that only suspect donors have stay staged" kept
check "the donors are lost" are_gone
check "the device works again" dm_works
for donor in $DONORS; do
	heal "$donor"
done
echo 0 >"$FARSWAP/enabled"
check "the kept pages are written" wait_for 60 stat_is staged_pages 0
echo 1 >"$FARSWAP/enabled"
check --data "memory contents are right" stop_load both
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
swapoff "$DM_DEVICE"
check "the device can be removed" dm_end
test_end
