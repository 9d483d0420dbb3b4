#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The network to a donor fails under load. For grace_ms the donor is suspect: its slabs are kept,
# and resumed if the same daemon answers again and still has them. Otherwise they are lost. Neither
# way is a byte wrong, and no access waits.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# The donor is unreachable for some seconds, then has all its pages again.
goes_on() {
	stats_save
	on_before=$(donor_pages "$1")
	cut_off "$1" || return 1
	wait_for 20 donor_field_is "$1" state suspect
	on_status=$?
	[ "$on_status" -eq 0 ] && wait_for 10 grew load_fallback || on_status=1
	sleep "$2"
	on_during=$(donor_pages "$1")
	heal "$1"
	wait_for 30 donor_field_is "$1" state live || on_status=1
	echo "$on_before remote pages before, $on_during during, $(donor_pages "$1") after"
	[ "$on_during" -gt 0 ] && [ "$(donor_pages "$1")" -gt 0 ] && return "$on_status"
}

# The load verifies what it reads there.
reads_there() {
	stats_save
	wait_for 30 grew load_remote
}

no_slab_has_two() {
	! awk 'NR > 1 { print $4 }' "$FARSWAP_DEBUG/slabs" | grep ,
}

# Meanwhile the other donor gets its busy slabs, with all pages that the disk has.
stands_in() {
	stats_save
	cut_off "$1" && wait_for 30 grew stopgap rebuilt && wait_for 90 reads_are_remote 2000 300
	stands_status=$?
	donor_field_is "$1" state suspect || stands_status=1
	heal "$1"
	wait_for 30 donor_is_live "$1" && return "$stands_status"
}

is_lost() {
	stats_save
	cut_off "$1" || return 1
	wait_for 30 eval 'regions_lost && grew donor_down'
	lost_status=$?
	heal "$1"
	wait_for 60 donor_is_live "$1" && return "$lost_status"
}

restarted() {
	restarted_resumes=$(donor_field "$1" resumes)
	stats_save
	donor_kill "$1" && donor_start "$1" || return 1
	wait_for 30 eval 'regions_lost && grew donor_down' && wait_for 60 donor_is_live "$1" &&
		[ "$(donor_field "$1" resumes)" -eq "$restarted_resumes" ]
}

# A suspect donor has no I/O to wait for, and cannot be notified.
detaches() {
	cut_off "$1" && wait_for 20 donor_field_is "$1" state suspect || return 1
	detach_since=$(uptime_seconds)
	detach_status=0
	echo 0 >"$FARSWAP/attached" || detach_status=1
	detach_took=$(($(uptime_seconds) - detach_since))
	heal "$1"
	echo "detached in $detach_took s"
	echo 1 >"$FARSWAP/attached" && wait_for 60 donors_live 2 &&
		[ "$detach_took" -lt 10 ] && return "$detach_status"
}

one_holds_pages() {
	[ "$(donor_pages "$(donor_of_most)")" -gt 200 ]
}

test_begin 18
lose_ready || skip_rest "no ingress qdisc"
farswap_up 1
set_value "$FARSWAP/io_timeout_ms" $((1000 * ${SLOW:-1}))
# A daemon that is connected to from now on keeps slabs for as long.
set_value "$FARSWAP/grace_ms" 120000
swap_on
make_cgroup suspect 12M
start_load suspect suspect -m 24 -p 2 -d 280 -r 70 -w 30 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
# Reads in flight fail when the donor is silent; a hedge would replace them before that.
set_value "$FARSWAP/hedge" 0
# It is the only donor: no other can take over.
victim=$(donor_of_most)
say "cutting off $victim"
stats_save
check "a donor is suspect while silent, and resumed afterwards" goes_on "$victim" 2
check "the transport resumed its session" donor_field_above "$victim" resumes 0
check "no slab is lost by that" same slab_lost donor_down
check "a donor is suspect and resumed again" goes_on "$victim" 1
check "its pages are read there" reads_there "$victim"
set_value "$FARSWAP/hedge" 2
donor_start "${DONORS##* }"
donor_list 2 >"$FARSWAP/donors"
wait_for 60 donors_live 2
check "another donor takes over for a suspect one" stands_in "$(donor_of_most)"
check "one of the two donors gets its region back" wait_for 60 eval \
	'grew replica_left && no_slab_has_two && same slab_lost'
victim=$(donor_of_most)
echo 2000 >"$FARSWAP/grace_ms"
check "a donor silent for longer than grace_ms is lost" is_lost "$victim"
echo 20000 >"$FARSWAP/grace_ms"
# The lost pages are elsewhere now.
check "other donors hold its pages" wait_for 60 one_holds_pages
victim=$(donor_of_most)
check "a restarted daemon has lost them" restarted "$victim"
echo 0 >"$FARSWAP/grace_ms"
check "other donors hold its pages" wait_for 60 one_holds_pages
victim=$(donor_of_most)
suspects=$(donor_field "$victim" suspects)
check "with grace_ms=0, a silent donor is lost" is_lost "$victim"
check "it was never suspect" donor_field_is "$victim" suspects "$suspects"
echo 20000 >"$FARSWAP/grace_ms"
check "other donors hold its pages" wait_for 60 one_holds_pages
check "a detach does not wait for a suspect donor" detaches "$(donor_of_most)"
check "memory contents are right" eval \
	'data stop_load suspect && longest_below suspect 20000'
stats_show
check --data "no page is lost" stat_is load_lost 0
test_end
