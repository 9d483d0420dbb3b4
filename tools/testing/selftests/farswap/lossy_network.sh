#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The network loses some, many and all of a donor's packets, by turns, under
# load: nothing that did not arrive may pass for data.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

ROUNDS=${ROUNDS:-1}

lose_for_a_second() {
	lose "$1" "$2" "$3" || return 1
	sleep 1
	lose_none "$2"
}

# On the way there, and back: one packet in 20, in 3, and all.
rounds() {
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		round=$((round + 1))
		for round_one_in in 20 3 1; do
			for round_donor in $DONORS; do
				lose_for_a_second "$CLIENT" "$round_donor" "$round_one_in" &&
					lose_for_a_second "$round_donor" "$CLIENT" "$round_one_in" ||
					return 1
			done
		done
	done
}

test_begin 7
lose_ready || skip_rest "no ingress qdisc"
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
swap_on
make_cgroup lossy 12M
start_load lossy lossy -m 24 -p 2 -d 280 -r 70 -w 30 -i 10
check "pages go to donors and come back" pages_go_and_return 1000
check "$ROUNDS rounds of loss" rounds
check "the donors are used again" wait_for 60 donors_live 2 || donors_show
stats_save
check "pages go to donors and come back after that" wait_for 60 grew store_remote load_remote
check --data "memory was right all the time" stop_load lossy
stats_show
check --data "no page was lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
