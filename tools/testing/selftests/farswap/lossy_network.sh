#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The network loses some, many and all of a donor's packets, alternating, under load: data that has
# not arrived is never used.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

ROUNDS=${ROUNDS:-1}

lose_for_a_second() {
	lose "$1" "$2" "$3" || return 1
	sleep 1
	lose_none "$2"
}

# In each direction: one packet in 20, one in 3, and all.
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
check "pages go out to donors and come in" pages_go_and_return 1000
check "$ROUNDS rounds of loss" rounds
check "the donors are in use again" wait_for 60 donors_live 2 || donors_show
stats_save
check "pages go out to donors and come in again" wait_for 60 grew store_remote load_remote
check --data "memory contents are right" stop_load lossy
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
