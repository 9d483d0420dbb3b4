#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The pages of a slab whose donor died are read from the device, many at once, and
# written to its new region; so are pages that went to the device though their slab was mapped.
# Meanwhile programs store to its slots, free them and use them again: nothing older than what
# a slot holds is ever read. Here the device holds writes back, and what it reads comes late; the
# donors are memory of this machine.
# cluster: donors=0 mem=384 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

DISK=/sys/module/farswap_disk/parameters

# lose_slabs: a donor's session fails, and is up again at once
lose_slabs() {
	with delay_us 200 fail_every 99 -- slab_lost donor_up
}

all_come_back() {
	stats_save
	lose_slabs && wait_for 30 grown rebuilt 500 && wait_for 90 reads_are_remote 2000
}

# hundredths: hundredths of a second since the boot
hundredths() {
	tr -d . </proc/uptime | cut -d' ' -f1
}

# At the lowest setting, 256 pages a second: never more, however fast the machine. The load, which
# promotes pages that it reads, is frozen except for the moment in which its slabs are mapped.
rebuilt_slowly() {
	slowly_freeze=$CGROUP/rebuild/cgroup.freeze
	set_value "$FARSWAP/repair_mb" 1
	stats_save
	echo 99 >"$RAM/fail_every"
	wait_for 20 grown slab_lost 8 || return 1
	echo 1 >"$slowly_freeze"
	echo 0 >"$RAM/fail_every"
	wait_for 20 donors_live 2 || return 1
	echo 0 >"$slowly_freeze"
	sleep 0.1
	echo 1 >"$slowly_freeze"
	wait_for 30 grew rebuilt || return 1
	slowly_from=$(stat_of rebuilt)
	slowly_begun=$(hundredths)
	sleep 8
	slowly_pages=$(($(stat_of rebuilt) - slowly_from))
	slowly_time=$(($(hundredths) - slowly_begun))
	echo 0 >"$slowly_freeze"
	echo 64 >"$FARSWAP/repair_mb"
	echo "$slowly_pages pages in $slowly_time hundredths of a second"
	# Reads in flight at the start are 32 pages.
	[ "$slowly_pages" -gt 256 ] &&
		[ "$slowly_pages" -le $((slowly_time * 256 / 100 + 32)) ]
}

# strays_come_back: pages that the device got while their slabs were mapped go to the donors too.
# The load stands still, so nobody reads them, which would promote them; and no slab was lost yet,
# which is rebuilt for minutes.
strays_come_back() {
	stray_freeze=$CGROUP/rebuild/cgroup.freeze
	stats_save
	echo 0 >"$FARSWAP/enabled"
	wait_for 20 grown store_disabled 1000
	stray_status=$?
	echo 1 >"$stray_freeze"
	echo 1 >"$FARSWAP/enabled"
	[ $stray_status -ne 0 ] || wait_for 30 grown rebuilt 100
	stray_status=$?
	echo 0 >"$stray_freeze"
	same slab_lost && return $stray_status
}

# Hardly more slots than are in use: they are soon used again.
SWAP_KB=32768

came_to_pass() {
	grown rebuilt 100 && grew store_remote store_disabled store_no_slab backup_stale
}

# For a while stores go to the device alone, which delays them; then slabs are lost whose pages the
# device was to get from staging memory. Many pages are read while newer versions are pending, or,
# where that takes longer, while they are being stored. Whether a copy is stale by then depends on
# chance.
lost_again_and_again() {
	stats_save
	for again_round in 1 2 3 4 5 4 3 2 1 5 4 3; do
		echo "$((400 * again_round))" >"$DISK/hold_ms"
		echo "$((again_round % 2 ? 20 : 200))" >"$DISK/late_ms"
		echo 2 >"$DISK/hold_every"
		echo 0 >"$FARSWAP/enabled"
		sleep 0.5
		echo 1 >"$FARSWAP/enabled"
		again_stored=$(stat_of store_remote)
		wait_for 20 stat_above store_remote "$((again_stored + 500))" || return 1
		again_lost=$(stat_of slab_lost)
		echo 200 >"$RAM/delay_us"
		echo 99 >"$RAM/fail_every"
		wait_for 20 stat_above slab_lost "$((again_lost + 8))" || return 1
		echo 0 >"$RAM/fail_every"
		echo 0 >"$RAM/delay_us"
		wait_for 20 donors_live 2 && sleep 2 && load_runs writers || return 1
		[ "$again_round" -lt 5 ] || ! came_to_pass || break
	done
	echo 0 >"$DISK/late_ms"
	echo 0 >"$DISK/hold_every"
	came_to_pass
}

# Pages of the killed load are still being read.
swapoff_meanwhile() {
	stats_save
	echo 300 >"$DISK/late_ms"
	lose_slabs && wait_for 20 grew rebuilt || return 1
	kill_load last
	swapoff /dev/farswap-disk || return 1
	echo 0 >"$DISK/late_ms"
}

test_begin 14
modprobe farswap-disk "device=$SWAP_DISK" 2>"$TMP/disk" ||
	skip_rest "no module farswap-disk: $(cat "$TMP/disk")"
has_ram || skip_rest "no module farswap-ram"
check "farswap runs over the RAM transport" use_ram || skip_rest "it cannot be used"
swap_on /dev/farswap-disk
make_cgroup rebuild 20M
stats_save
start_load writers rebuild -m 44 -p 2 -d 280 -w 60 -u 3 -o 40 -z 3 -i 0
check "pages go out to donors and come in" pages_go_and_return 2000
check "pages stored without donors go to donors afterwards" strays_come_back
check "slabs are lost repeatedly" lost_again_and_again
check --data "memory contents are right" stop_load writers
check --data "no remote bit outlives its slot" no_orphaned_pages
start_load readers rebuild -m 44 -p 2 -d 250 -r 50 -w 0 -q -i 20
check "new pages go out to donors and come in" pages_go_and_return 2000
check "slabs of a failed donor are rebuilt" all_come_back
check "no faster than repair_mb says" rebuilt_slowly
check --data "memory contents are right" stop_load readers
start_load last rebuild -m 44 -p 2 -d 250 -r 50 -w 0 -q -i 20
check "more pages go out to donors and come in" pages_go_and_return 2000
check "swapoff during a rebuild succeeds" swapoff_meanwhile
stats_show
check --data "no page is lost" eval 'stat_is load_lost 0 && stat_is lost 0'
check "the RDMA transport is back" eval 'rmmod farswap_disk && leave_ram'
test_end
