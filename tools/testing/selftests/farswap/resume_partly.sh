#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor takes regions back from a client that it cannot reach, or that answers too late. The
# session is resumed with all other regions: only sole copies in the few that were taken are lost.
# cluster: donors=1 mem=192 disks=1 slab_mb=2 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

donor=${DONORS%% *}

# restart_with KEY=VALUE: restart the daemon with that setting
restart_with() {
	echo >"$FARSWAP/donors"
	donor_kill "$donor"
	donors_patient=$donor
	donor_start "$donor" "$1" && echo "$donor" >"$FARSWAP/donors" && wait_for 60 donors_live 1
}

# The client cannot be asked.
takes_some() {
	stats_save
	some_resumes=$(donor_field "$donor" resumes)
	some_grace=$(donor_metric "$donor" grace_total)
	some_regions=$((3 + $(empty_slabs "$donor")))
	cut_off "$donor" || return 1
	wait_for 30 donor_field_is "$donor" state suspect &&
		wait_for 30 donor_metric_is "$donor" grace_total -gt "$some_grace" &&
		on "$donor" "farswapctl evict $some_regions"
	some_status=$?
	heal "$donor"
	wait_for 60 donor_field_above "$donor" resumes "$some_resumes" && return $some_status
}

# The donor may have chosen a region that had just been given back.
they_are_lost() {
	wait_for 10 grew slab_lost && growth_is -le "$some_regions" slab_lost && same donor_down
}

# No more pages than those regions had.
others_are_right() {
	wait_load some
	some_lost=$(sed -n 's/.* wrong_bytes=0 lost_pages=\([0-9]*\).*/\1/p' "$TMP/some.log" |
		tail -n 1)
	[ "${some_lost:-0}" -gt 0 ] && [ "$some_lost" -le $((some_regions * 512)) ]
}

# A write in flight when EVICT came arrives after its deadline. Other regions stay, so that the
# session can be resumed.
uses_a_dead_key() {
	stats_save
	dead_resumes=$(donor_field "$donor" resumes)
	host delay "$(donor_name "$donor")" 150 || return 1
	dead_status=1
	for dead_try in $(seq 20); do
		wait_for 30 donor_field_above "$donor" slabs 9 || break
		on "$donor" 'farswapctl evict 8'
		wait_for 3 grep "^[1-9][0-9]* remote access error$" \
			"$FARSWAP_DEBUG/session_ends" && dead_status=0 && break
	done
	host delay "$(donor_name "$donor")" 0
	echo "evicted $dead_try times"
	wait_for 60 donor_field_above "$donor" resumes "$dead_resumes" &&
		wait_for 60 donors_live 1 && same donor_down && return $dead_status
}

test_begin 12
lose_ready || skip_rest "no ingress qdisc"
farswap_up 1
# A daemon that is connected to from now on keeps regions for as long.
set_value "$FARSWAP/grace_ms" 60000
set_value "$FARSWAP/io_timeout_ms" $((1000 * ${SLOW:-1}))
set_value "$FARSWAP/backup" none
swap_on
make_cgroup some 11M
check "the daemon has a long evict_ms" restart_with evict_ms=$((20000 * ${SLOW:-1})) || donors_show
check "the donor has the only copies" hold_remote some some 1 3500 -m 28 -n 1000 -L ||
	skip_rest "there are none"
log_mark
check "regions are taken from an unreachable client" takes_some
check --data "the taken regions are lost, and no others" they_are_lost
check "the log reports it" log_has "has taken [1-9][0-9]* of its regions back meanwhile"
go_on some
check --data "the other pages are right; access to lost ones raises SIGBUS" others_are_right

set_value "$FARSWAP/backup" disk
# Other tests check that no page was ever lost.
check "the modules can be unloaded after pages were lost" \
	eval 'swapoff "$SWAP_DISK" && reload_modules'
farswap_up 1
set_value "$FARSWAP/grace_ms" 60000
check "the daemon has a short evict_ms" restart_with evict_ms=20 || donors_show
swap_on
start_load late some -m 28 -p 2 -d 200 -r 50 -w 50 -i 0
check "pages go out to it and come in" pages_go_and_return 2000
check "a revoked rkey does not end the session" uses_a_dead_key
check --data "memory contents are right" stop_load late
stats_show
check --data "no page is lost" stat_is load_lost 0
test_end
