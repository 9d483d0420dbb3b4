#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Donors ask for their memory back, again and again, under load.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

evict_rounds() {
	for evict_round in 1 2 3 4 5 6; do
		evict_before=$(stat_of slab_evicted)
		for evict_donor in $DONORS; do
			on "$evict_donor" 'farswapctl evict all' || return 1
		done
		wait_for 20 stat_above slab_evicted "$evict_before" || return 1
		wait_for 20 stat_above remote_pages 100 || return 1
		echo "round $evict_round: slab_evicted $(stat_of slab_evicted)"
	done
}

test_begin 9
farswap_up 2
swap_on
make_cgroup evict 24M
start_load evict evict -m 48 -p 2 -d 250 -w 50 -i 10
check "pages are remote" wait_for 60 stat_above remote_pages 1000
check "all slabs evicted, and mapped again, time after time" evict_rounds
check "the donors are still in use" donors_live 2
check "no slab was lost over it" same slab_lost donor_down
check "the load still runs" load_runs evict
check "memory was right all the time" stop_load evict
stats_show
check "pages went to donors and came back" grew store_remote load_remote slab_evicted
check "no page was lost" same load_lost
check "no remote bit outlives its slot" no_remote_bits
test_end
