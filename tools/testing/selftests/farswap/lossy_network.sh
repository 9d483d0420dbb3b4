#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The network loses some, many and all of a donor's packets, by turns, under
# load: nothing that did not arrive may pass for data. (rxe, the software RDMA
# device, then completes a READ now and then as good whose page it never wrote:
# rdma/io.c.)
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

ROUNDS=${ROUNDS:-5}

# Only RDMA's packets (UDP port 4791): "on" goes over the same network.
lose() {
	on "$1" "tc qdisc add dev eth0 root handle 1: prio &&
		tc qdisc add dev eth0 parent 1:3 handle 30: netem loss $2% &&
		tc filter add dev eth0 parent 1: protocol ip prio 1 u32 \
			match ip protocol 17 0xff match ip dport 4791 0xffff flowid 1:3"
}

lose_none() {
	on "$1" 'tc qdisc del dev eth0 root'
}

rounds() {
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		round=$((round + 1))
		for round_percent in 5 30 100; do
			for round_donor in $DONORS; do
				lose "$round_donor" "$round_percent" || return 1
				sleep 1
				lose_none "$round_donor"
			done
		done
	done
}

test_begin 7
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
swap_on
make_cgroup lossy 24M
start_load lossy lossy -m 48 -p 2 -d 280 -w 30 -i 10
check "pages go to donors and come back" eval \
	'wait_for 60 stat_above remote_pages 1000 && wait_for 30 grew store_remote load_remote'
check "$ROUNDS rounds of loss" rounds
check "the donors are used again" wait_for 60 donors_live 2 || donors_show
stats_save
check "pages go to donors and come back after that" wait_for 60 grew store_remote load_remote
check "memory was right all the time" stop_load lossy
stats_show
check "no page was lost" stat_is load_lost 0
check "no remote bit outlives its slot" no_remote_bits
test_end
