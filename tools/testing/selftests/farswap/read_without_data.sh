#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's own network stack refuses to send packets; its cable is unplugged. rxe then makes the
# client complete READs as good that brought no data (rdma/io.c): none of them may be used.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

refuse() {
	on "$1" 'tc qdisc add dev eth0 root handle 1: prio &&
		tc qdisc add dev eth0 parent 1:3 handle 30: netem loss 30% &&
		tc filter add dev eth0 parent 1: protocol ip prio 1 u32 \
			match ip protocol 17 0xff match ip dport 4791 0xffff flowid 1:3'
}

refuse_none() {
	on "$1" 'tc qdisc del dev eth0 root'
}

# rxe's queue pair for the CM may be unusable after that: make a new device.
renew() {
	donor_kill "$1"
	on "$1" 'rdma link del r0; rdma link add r0 type rxe netdev eth0'
	donor_start "$1"
}

saw_one() {
	log_has 'READ completed without data'
}

provoke() {
	round=0
	while [ "$round" -lt 30 ]; do
		round=$((round + 1))
		for round_donor in $DONORS; do
			wait_for 5 donor_is_live "$round_donor" || renew "$round_donor"
			refuse "$round_donor" || return 1
			sleep 1
			refuse_none "$round_donor"
			saw_one && break 2
		done
	done
	say "$round rounds"
}

test_begin 8
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
swap_on
make_cgroup refuse 12M
start_load refuse refuse -m 24 -p 2 -d 280 -w 10 -i 10
check "pages go out to donors and come in" pages_go_and_return 1000
log_mark
provoke
if saw_one; then
	result 0 "a READ that completed without data was noticed"
else
	skip_one "rxe completed no READ without data"
fi
unplugged=${DONORS%% *}
renew "$unplugged"
check "a donor is in use" wait_for 60 donor_is_live "$unplugged" || donors_show
host link "$(donor_name "$unplugged")" down
check "the pulled plug is detected" wait_for 60 donor_is_not_live "$unplugged"
# donor_returns.sh tests donors that return under load.
echo 1 >"$CGROUP/refuse/cgroup.freeze"
host link "$(donor_name "$unplugged")" up
for donor in $DONORS; do
	wait_for 10 donor_answers "$donor"
	renew "$donor"
done
check "the donors are in use again" wait_for 60 donors_live 2 || donors_show
echo 0 >"$CGROUP/refuse/cgroup.freeze"
check --data "memory contents are right" stop_load refuse
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
