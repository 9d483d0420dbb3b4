#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A page that was stored before its slab was mapped is read from the device
# once, written to a donor then, and comes from there the next time, though
# nobody has written to it since; whatever another device still keeps.
# cluster: donors=2 mem=192 disks=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# shellcheck source=_dm.sh
. "$HERE/_dm.sh"

# start_stored NAME OPTIONS...: a load all of whose pages went to the device alone
start_stored() {
	stored_name=$1
	shift
	echo 0 >"$FARSWAP/enabled"
	sleep 1 # for stores on their way
	stats_save
	start_load "$stored_name" promote -m 20 -p 2 -H "$TMP/$stored_name.hold" -O -d 200 -i 20 "$@"
	wait_for 60 load_ready "$stored_name" 2
	# The rest, too: what was never stored will be when something else is read.
	reclaim promote
	grew store_disabled && same store_remote promoted
	stored_status=$?
	echo 1 >"$FARSWAP/enabled"
	stats_save
	go_on "$stored_name"
	return "$stored_status"
}

# A while in which pages come from donors and none from the device.
only_donors_read() {
	stats_save
	sleep 1
	grown load_remote 500 && same load_device
}

# All that are read; those that were and hold no page any more are given back.
all_are_mapped() {
	awk 'NR > 1 && $7 > 0 { $4 == "-" ? bare++ : mapped++ }
		END { print mapped + 0, "slabs mapped,", bare + 0, "not"; exit bare || !mapped }' \
		"$FARSWAP_DEBUG/slabs"
}

# Both processes of the load wait for a page of a slab that is mapped.
kept_waits() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v load="$(cat "$TMP/kept.pid")" '
		$4 == load && $3 == "D" { waiting++ } END { exit waiting != 2 }'
}

# The device stops in the midst of what is promoted from it.
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
# Nothing is promoted any more once zswap took a page in the module's life.
check "a fresh module" reload_modules || skip_rest "no farswap module"
farswap_up 2
swap_on "$DM_DEVICE"
make_cgroup promote 10M
check "pages are stored on the device alone" start_stored readers -w 0 -q
check "read, they are promoted" wait_for 60 grown promoted 2000
check "they were not stored a second time" same store_device store_disabled
check "after that all reads are of donors" wait_for 60 only_donors_read
check --data "memory was right all the time" stop_load readers
check "right when others write to what is being promoted" eval 'start_stored writers -w 10 &&
	wait_for 60 grown promoted 1000 && data stop_load writers'
check "a device stops to give pages" one_device_stops
check "others' pages are promoted meanwhile" others_are_promoted
check "it goes on" dm_works
check --data "memory was right" eval 'stop_load kept && stop_load others'
stats_show
check --data "no page was lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
swapoff "$DM_DEVICE"
check "the device can go" dm_end
test_end
