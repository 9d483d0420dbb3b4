#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=none: the device gets no copies. Evictions, detaching and failed stores still save every
# page. A page that is in memory when its donor dies is kept; access to a page that only the donor
# had raises SIGBUS and never returns other contents. The same holds for compressed pages.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# writes: number of sectors written to the disk so far
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

# Compressed pages are at donors, and most of them nowhere else.
packed_sole() {
	echo "$(stat_of packed_pages) compressed pages, $(stat_of remote_pages) are at donors," \
		"$(stat_of backed_pages) of them on the disk, too"
	grew store_packed load_unpacked && stat_above packed_pages 1000 &&
		[ $(($(stat_of backed_pages) * 4)) -lt "$(stat_of remote_pages)" ]
}

# With no load running: every remote page is fetched with right contents.
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

# reads_in NAME: release the load to its second hold point, with clean pages in memory
reads_in() {
	go_on "$1" && wait_for 60 load_ready "$1" 1 again
}

# The load fails if a lost page was in memory.
some_were_lost() {
	wait_load dying || return 1
	lost_pages=$(sed -n 's/.* wrong_bytes=0 lost_pages=\([0-9]*\).*/\1/p' "$TMP/dying.log" |
		tail -n 1)
	echo "$lost_pages pages got SIGBUS, $(stat_delta lost) are counted as lost"
	[ "$lost_pages" -gt 0 ] && [ "$lost_pages" -eq "$(stat_delta lost)" ]
}

# The donor is dead, and only memory has the pages.
detach_with_all_in_memory() {
	echo 0 >"$FARSWAP/attached" || return 1
	reclaim none
	echo 1 >"$FARSWAP/attached"
}

flip() {
	for flip_to in disk none disk none; do
		echo "$flip_to" >"$FARSWAP/backup" || return 1
		sleep 1
	done
	load_runs load
}

test_begin 23
# Pages in regions that are not given back in time are lost.
patient_donors || bail "no donors"
farswap_up 2
swap_on
make_cgroup none 16M
set_value "$FARSWAP/backup" none
start_load load none -m 32 -p 2 -d 250 -r 50 -w 50 -u 2 -z 2 -i 0
check "nothing is written to the device" device_is_spared
check "donors have sole copies" unbacked_left
check "eviction moves every page" evict_all
wait_for 30 stat_above remote_pages 500
check "eviction moves every page again" evict_all
check "backup can be switched under load" flip
check --data "memory contents are right" stop_load load
check --data "no page is lost" eval 'stat_is lost 0 && stat_is load_lost 0'

rm "$TMP/load.log"
set_value "$FARSWAP/compress" lz4
stats_save
start_load load none -m 32 -p 2 -c 70 -d 250 -r 50 -w 50 -u 2 -z 2 -i 0
check "donors have sole copies of compressed pages" wait_for 60 packed_sole
check "eviction moves every compressed page" evict_all
check --data "memory contents are right" stop_load load
check --data "no page is lost" eval 'stat_is lost 0 && stat_is load_lost 0'

start_load still none -m 24 -p 1 -c 70 -H "$TMP/still.hold" -O -n 1000 -i 0
wait_for 60 load_ready still 1
check "a detach fetches every page" detach_and_attach
go_on still
check --data "memory contents are right" wait_load still

# These tmpfs pages could be lost, too, as nothing needs them any more.
rm "$TMP/load.log" "$TMP/still.log"
start_load dying none -m 24 -p 1 -c 70 -L -H "$TMP/dying.hold" -O -n 1000 -i 0 -V 25
wait_for 60 load_ready dying 1
reads_in dying
stats_save
donor_kill "$(donor_of_most)"
check "a donor dies with sole copies" wait_for 60 grew slab_lost lost
check "the log reports it" log_has "pages of swap type [0-9]+ had no other copy and are lost"
check "a detach that would lose track of them is refused" detach_is_refused
reclaim none
go_on dying on
check --data "access to lost pages raises SIGBUS; pages in memory are kept" \
	some_were_lost
check "each lost page is counted" grew load_lost

rm "$TMP/dying.log"
set_value "$FARSWAP/compress" none
check "pages go out to the other donor" hold_remote kept none 1 2000 -m 10 -n 1000 -V 100
reads_in kept
stats_save
donor_kill "$(donor_of_most)"
check "it dies, no page in memory is lost" \
	eval 'wait_for 60 grew slab_lost && data same lost'
check "a detach succeeds then" detach_with_all_in_memory
go_on kept on
check --data "memory contents are right" eval 'wait_load kept && same load_lost'
set_value "$FARSWAP/backup" disk
# Unload the modules, because other tests check that no page was ever lost.
check "detaching succeeds" eval 'swapoff "$SWAP_DISK" && reload_modules'
test_end
