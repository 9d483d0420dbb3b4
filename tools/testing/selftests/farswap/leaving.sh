#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Leaving while only donors have many of the pages: sleep, swapoff and detach fetch them, also
# while a donor dies. No page of a living donor is lost, and a page of a dead one is never read as
# something else.
# cluster: donors=3 mem=384 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

POWER=/sys/power

remote_only() {
	only=$(($(stat_of remote_pages) - $(stat_of backed_pages)))
	echo "$only pages are with donors alone"
	[ "$only" -gt "$1" ]
}

# fill NAME [OPTIONS...]: a load whose memory goes out whole
fill() {
	fill_name=$1
	shift
	hold_remote "$fill_name" leaving 2 4000 -m 26 -n 500 "$@" && wait_for 10 remote_only 4000
}

sleep_brings_home() {
	stats_save
	echo freezer >"$POWER/pm_test" && echo freeze >"$POWER/state" || return 1
	echo none >"$POWER/pm_test"
	grew fetched && data same lost load_lost
}

right() {
	go_on "$1"
	wait_load "$1"
}

detach() {
	echo 0 >"$FARSWAP/attached"
}

# detach_while_donor_dies SECONDS: kill a donor after that time, while its pages are fetched.
# Either all of them are fetched, or some are lost, and farswap stays attached until no program
# needs those.
detach_while_donor_dies() {
	leaving_early=
	stats_save
	leaving_donor=$(donor_of_most)
	donor_touch "$leaving_donor"
	rm -f "$TMP/killed"
	(sleep "$1"; on "$leaving_donor" "$KILL_FARSWAPD"; : >"$TMP/killed") &
	leaving_killer=$!
	if detach 2>"$TMP/detach"; then
		echo "detached"
		[ -e "$TMP/killed" ] || leaving_early=1
		wait "$leaving_killer"
		data same lost || return 1
	else
		cat "$TMP/detach"
		wait "$leaving_killer"
		grew lost || return 1
	fi
	go_on dying
	wait_load dying
	data grep -q ' wrong_bytes=0 ' "$TMP/dying.log" || return 1
	[ "$(cat "$FARSWAP/attached")" = 0 ] || detach
}

# Retry with a shorter pause if the detach was faster than the kill.
detach_beside_a_kill() {
	for beside_pause in 0.3 0.1 0; do
		detach_while_donor_dies "$beside_pause" || return 1
		[ -n "$leaving_early" ] || return 0
		echo "the detach was faster than the kill; retrying"
		echo 1 >"$FARSWAP/attached"
		donor_start "$leaving_donor" && wait_for 30 donors_live 3 && fill dying -L || return 1
	done
	return 1
}

# The kernel frees slots in batches, so slots of a program's last pages are freed late.
lost_with_its_program() {
	echo 1 >"$FARSWAP/attached"
	for program_donor in $(echo "$up_list" | tr , ' '); do
		donor_start "$program_donor" || return 1
	done
	wait_for 30 donors_live 3 && fill program -L || return 1
	stats_save
	for program_donor in $(echo "$up_list" | tr , ' '); do
		donor_touch "$program_donor"
		on "$program_donor" "$KILL_FARSWAPD"
	done
	# Pages that are also in memory are kept, up to all of its 16 MB.
	wait_for 40 donors_live 0 && wait_for 10 grown lost 1000 || return 1
	! detach 2>/dev/null || return 1
	# Its children exit later.
	kill_load program
	wait_for 20 detach
}

test_begin 11
farswap_up 3
swap_on
make_cgroup leaving 16M
set_value "$FARSWAP/backup" none
set_value "$POWER/pm_test" none
check "only donors have the pages" fill sleeper
if grep -qw freeze "$POWER/state" && grep -q freezer "$POWER/pm_test"; then
	check "sleep fetches the pages" sleep_brings_home
else
	skip_one "no freeze in $POWER/state, or no freezer in pm_test"
fi
check --data "memory contents are right" right sleeper
check "only donors have the pages" fill off
check "swapoff fetches the pages" swapoff "$SWAP_DISK"
check --data "memory contents are right" right off
swap_on
check "only donors have the pages" fill dying -L
check "detach while a donor dies: lost pages are counted, none is wrong" \
	detach_beside_a_kill
check "lost pages do not block detaching once their program ends" lost_with_its_program
swapoff -a
check "the modules can be unloaded" unload_modules
check "the modules can be loaded again" \
	eval 'modprobe farswap && wait_for 60 test -e "$FARSWAP_DEBUG/stats"'
test_end
