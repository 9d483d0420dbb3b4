#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The client's RDMA device is removed while pages are remote and I/O is in flight, and added again.
# The removal does not block, pages come in from the disk, and the donors are used again, including
# sole copies. A donor whose device was removed is used again when it is back, whether it listens
# on all addresses or only on that device's.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

no_donor_is_live() {
	[ "$(donor_count live)" -eq 0 ]
}

device_goes() {
	goes_began=$(uptime_seconds)
	timeout 60 rdma link del r0 || return 1
	goes_took=$(($(uptime_seconds) - goes_began))
	echo "removed in $goes_took s"
	[ "$goes_took" -le 10 ] && wait_for 10 no_donor_is_live
}

device_comes() {
	stats_save
	rdma link add r0 type rxe netdev eth0 && wait_for 60 donors_live 2 &&
		wait_for 60 grew store_remote load_remote
}

# With stores and loads in flight, and while connections are made.
again_and_again() {
	for again in 1 2 3; do
		timeout 60 rdma link del r0 || return 1
		sleep "0.$again"
		rdma link add r0 type rxe netdev eth0 || return 1
		sleep "$((again - 1))"
	done
	wait_for 60 donors_live 2
}

only_donors_have() {
	only_pages=$(($(stat_of remote_pages) - $(stat_of backed_pages)))
	echo "$only_pages pages are with donors alone"
	[ "$only_pages" -gt "$1" ]
}

# The device is back within grace_ms.
device_is_away() {
	set_value "$FARSWAP/backup" none
	wait_for 60 only_donors_have 500 || return 1
	stats_save
	timeout 60 rdma link del r0 || return 1
	sleep 1
	no_donor_is_live && rdma link add r0 type rxe netdev eth0 && wait_for 30 donors_live 2
	away_status=$?
	away_lost=$(stat_delta lost)
	set_value "$FARSWAP/backup" disk
	# Detaching fetches all pages, so that none depends on one donor.
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" && wait_for 60 donors_live 2 ||
		return 1
	echo "$away_lost pages were lost"
	data [ "$away_lost" -eq 0 ] && data same lost load_lost && same slab_lost &&
		[ "$away_status" -eq 0 ]
}

donor_listens() {
	donor_kill "$lost"
	donor_start "$lost" "listen=$lost:9400" && wait_for 60 donors_live 2
}

# As device_is_away(), but for a donor's device. Its rkeys are lost with it, its memory is not.
donor_device_is_away() {
	set_value "$FARSWAP/backup" none
	wait_for 60 only_donors_have 500
	stats_save
	away=$(donor_of_most)
	on "$away" 'timeout 60 rdma link del r0; sleep 1; rdma link add r0 type rxe netdev eth0' &&
		wait_for 30 donors_live 2
	away_status=$?
	away_lost=$(stat_delta lost)
	on "$away" 'tail -n 5 /run/farswapd.log'
	set_value "$FARSWAP/backup" disk
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" && wait_for 60 donors_live 2 ||
		return 1
	echo "$away_lost pages were lost"
	data [ "$away_lost" -eq 0 ] && data same lost load_lost && same slab_lost &&
		[ "$away_status" -eq 0 ]
}

# The removal blocks until farswapd has closed the device.
donor_device_goes() {
	on "$lost" 'timeout 60 rdma link del r0' || return 1
	wait_for 20 donor_is_not_live "$lost" && donor_has_daemon "$lost" &&
		on "$lost" "grep '$1' /run/farswapd.log"
}

donor_device_comes() {
	on "$lost" 'rdma link add r0 type rxe netdev eth0' && wait_for 60 donors_live 2
}

test_begin 14
command -v rdma >/dev/null || skip_rest "no rdma tool"
farswap_up 2
swap_on
make_cgroup removed 12M
start_load removed removed -m 24 -p 2 -d 280 -r 70 -w 20 -i 10
check "pages go out to donors and come in" pages_go_and_return 1000
stats_save
check "the device is removed at once" device_goes
check "its pages come in from the disk" wait_for 20 grown load_device 200
check "a new device is used" device_comes || donors_show
check "repeated removal and addition of the device" again_and_again || donors_show
check "sole copies survive a removal of the client's device" device_is_away || donors_show
lost=${DONORS%% *}
check "no page is lost when a donor's device is removed and added" \
	donor_device_is_away || donors_show
check "farswapd survives the removal of its device" donor_device_goes "r0 was removed"
check "it is in use again when the device is back" donor_device_comes || donors_show
check "a donor that listens on one device survives its removal" eval 'donor_listens &&
	donor_device_goes "device of the listen address was removed"' || donors_show
check "it is in use again when that device is back" donor_device_comes || donors_show
check --data "memory contents are right" stop_load removed
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
