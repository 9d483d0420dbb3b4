#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=none: the device gets nothing. Evictions still save every page, as do
# detaching and stores that fail; what goes with a donor that dies is lost, and
# who reads it gets SIGBUS, never anything else.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# writes: sectors written to the disk so far
writes() {
	awk -v disk="${SWAP_DISK##*/}" '$3 == disk { print $10 }' /proc/diskstats
}

device_is_spared() {
	stats_save
	spared_writes=$(writes)
	wait_for 60 grown store_remote 1000 || return 1
	spared_writes=$(($(writes) - spared_writes))
	spared_device=$(stat_delta store_device)
	echo "$spared_writes sectors were written, $((spared_device * 8)) of them for" \
		"$spared_device pages that no slab took"
	[ "$spared_writes" -le $((spared_device * 8)) ]
}

evict_all() {
	stats_save
	for evict_donor in $DONORS; do
		on "$evict_donor" 'farswapctl evict all' || return 1
	done
	wait_for 30 grew slab_evicted moved
}

unbacked_left() {
	[ "$(stat_of remote_pages)" -gt "$(stat_of backed_pages)" ]
}

# With nothing running: all that was out is in, and right.
detach_and_attach() {
	stats_save
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" && grew fetched &&
		wait_for 60 donors_live 2
}

detach_is_refused() {
	log_mark
	! echo 0 >"$FARSWAP/attached" 2>/dev/null &&
		log_has "[0-9]+ pages were lost with their donor.*swapoff" &&
		[ "$(cat "$FARSWAP/attached")" = 1 ]
}

some_were_lost() {
	wait_load dying
	grep -q ' wrong_bytes=0 lost_pages=[1-9]' "$TMP/dying.log"
}

flip() {
	for flip_to in disk none disk none; do
		echo "$flip_to" >"$FARSWAP/backup" || return 1
		sleep 1
	done
	load_runs load
}

test_begin 15
# What is not given back in time is lost.
patient_donors || bail "no donors"
farswap_up 2
swap_on
make_cgroup none 16M
set_value "$FARSWAP/backup" none
start_load load none -m 32 -p 2 -d 250 -r 50 -w 50 -u 2 -z 2 -i 0
check "nothing is written to the device" device_is_spared
check "it has not what donors have" unbacked_left
check "evictions move every page" evict_all
wait_for 30 stat_above remote_pages 500
check "and again" evict_all
check "flipping to disk and back under load" flip
check "memory was right" stop_load load
check "nothing was lost" eval 'stat_is lost 0 && stat_is load_lost 0'

start_load still none -m 24 -p 1 -H "$TMP/still.hold" -O -n 1000 -i 0
wait_for 60 load_ready still 1
check "detaching brings every page home" detach_and_attach
go_on still
check "memory is right" wait_load still

start_load dying none -m 24 -p 1 -L -H "$TMP/dying.hold" -O -n 1000 -i 0
wait_for 60 load_ready dying 1
stats_save
donor_kill "$(donor_of_most)"
check "a donor dies with pages that nobody else has" wait_for 60 grew slab_lost lost
check "the log says so" log_has "pages of swap type [0-9]+ had no other copy and are lost"
check "detaching would make them something else, and is refused" detach_is_refused
go_on dying
check "their owner gets SIGBUS, and no wrong byte" some_were_lost
check "each was counted" grew load_lost
set_value "$FARSWAP/backup" disk
# Unloaded, too: other tests look at whether anything was ever lost.
check "now detaching works" eval 'swapoff "$SWAP_DISK" && reload_modules'
test_end
