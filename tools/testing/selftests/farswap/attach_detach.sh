#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# farswap attaches to a full swap device, detaches under load with every page fetched or written to
# the device, and attaches again, many times; the load never sees a wrong byte. One thread emulates
# the four processors: with a thread each, QEMU cannot patch code that others run.
# cluster: donors=2 mem=192 disks=1 cpus=4 one_thread=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

ROUNDS=${ROUNDS:-5}

attached_is() {
	[ "$(cat "$FARSWAP/attached")" = "$1" ]
}

# Attached long enough for page-outs, detached long enough for page-ins.
rounds() {
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		round=$((round + 1))
		round_stores=$(stat_of store_remote)
		echo 1 >"$FARSWAP/attached" && attached_is 1 || return 1
		wait_for 30 stat_above store_remote $((round_stores + 300)) || {
			echo "round $round: $(($(stat_of store_remote) - round_stores)) pages went out to donors"
			return 1
		}
		round_pages=$(stat_of remote_pages)
		echo 0 >"$FARSWAP/attached" && attached_is 0 || return 1
		echo "round $round: $round_pages pages were remote, now $(stat_of remote_pages)"
		wait_for 90 lent_is -eq 0 || return 1
		sleep 0.3
	done
}

# An interrupted swapoff fails and leaves the device as it was.
beside_swapoff() {
	stats_save
	host iops "${SWAP_DISK##*/}" 20
	swapoff "$SWAP_DISK" &
	beside_pid=$!
	sleep 1
	beside_status=0
	echo 1 >"$FARSWAP/attached" || beside_status=1
	kill -TERM "$beside_pid" || beside_status=1
	host iops "${SWAP_DISK##*/}" 0
	wait "$beside_pid" && beside_status=1
	[ "$beside_status" -eq 0 ] && wait_for 60 grew store_remote
}

test_begin 8
farswap_up 2
echo 0 >"$FARSWAP/attached"
swap_on
make_cgroup attach 16M
start_load attach attach -m 28 -p 2 -H "$TMP/attach.hold" -d 280 -w 60 -i 20
check "swap is in use before farswap attaches" wait_for 60 load_ready attach 2
check "no page is remote" stat_is remote_pages 0
stats_save
go_on attach
check "attach and detach under load, $ROUNDS times" rounds
check "pages went out to donors and came in" grew store_remote load_remote
check "the load still runs" load_runs attach
check "attaching during a failing swapoff" beside_swapoff
check --data "memory contents are right" stop_load attach
stats_show
check --data "no page is lost, no remote bit is left" eval \
	'stat_is load_lost 0 && no_orphaned_pages'
test_end
