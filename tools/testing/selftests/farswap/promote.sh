#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A page that was stored before its slab was mapped is read from the device once, then written to a
# donor, and comes in from there the next time, without a store in between, and whatever another
# device delays.
# cluster: donors=2 mem=192 disks=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# shellcheck source=_dm.sh
. "$HERE/_dm.sh"

# start_stored NAME OPTIONS...: a load with all its pages on the device alone
start_stored() {
	stored_name=$1
	shift
	echo 0 >"$FARSWAP/enabled"
	sleep 1 # for stores on their way
	stats_save
	start_load "$stored_name" promote -m 20 -p 2 -H "$TMP/$stored_name.hold" -O -d 200 -i 20 "$@"
	wait_for 60 load_ready "$stored_name" 2
	# Page out the rest, too, which would be stored when other pages come in.
	reclaim promote
	grew store_disabled && same store_remote promoted
	stored_status=$?
	echo 1 >"$FARSWAP/enabled"
	stats_save
	go_on "$stored_name"
	return "$stored_status"
}

# A few other pages may be stored.
few_are_stored() {
	! grown store_remote 20 && ! grown store_device 20 && ! grown store_disabled 20
}

# For a while, page-ins come from donors and none from the device.
only_donors_read() {
	stats_save
	sleep 1
	grown load_remote 500 && same load_device
}

# All slabs that are read; other slabs without pages are given back.
all_are_mapped() {
	awk 'NR > 1 && $7 > 0 { $4 == "-" ? bare++ : mapped++ }
		END { print mapped + 0, "slabs mapped,", bare + 0, "not"; exit bare || !mapped }' \
		"$FARSWAP_DEBUG/slabs"
}

# Both processes of the load wait for a page of a mapped slab.
kept_waits() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v load="$(cat "$TMP/kept.pid")" '
		$4 == load && $3 == "D" { waiting++ } END { exit waiting != 2 }'
}

# The device stalls during promotion from it.
one_device_stops() {
	start_stored kept -w 0 -q -r 90 && wait_for 60 grown promoted 200 &&
		wait_for 60 all_are_mapped && dm_hold &&
		wait_for 20 nothing_is_promoted && wait_for 30 kept_waits
}

nothing_is_promoted() {
	stats_save
	sleep 2
	same promoted
}

others_are_promoted() {
	swap_on "$SWAP_DISK2" 10 && start_stored others -w 0 -q && wait_for 60 grown promoted 1000
}

test_begin 14
command -v dmsetup >/dev/null || skip_rest "no dmsetup"
dm_make >"$TMP/dm" 2>&1 || skip_rest "no device mapper: $(cat "$TMP/dm")"
# No page is promoted once zswap has stored one in the module's lifetime.
check "the module is reloaded" reload_modules || skip_rest "no farswap module"
farswap_up 2
swap_on "$DM_DEVICE"
make_cgroup promote 10M
check "pages go out to the device alone" start_stored readers -w 0 -q
check "pages that are read are promoted" wait_for 60 grown promoted 2000
check "they are not stored a second time" few_are_stored
check "then all page-ins come from donors" wait_for 60 only_donors_read
check --data "memory contents are right" stop_load readers
check "memory contents are right with writes during promotion" eval 'start_stored writers -w 10 &&
	wait_for 60 grown promoted 1000 && data stop_load writers'
check "reads of a device stall" one_device_stops
check "pages of another device are promoted meanwhile" others_are_promoted
check "the device works again" dm_works
check --data "memory contents are right" eval 'stop_load kept && stop_load others'
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
swapoff "$DM_DEVICE"
check "the device can be removed" dm_end
test_end
