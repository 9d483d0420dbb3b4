#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=none: a donor has the only copy of a page. While the donor may return, no read of that
# page is given up, and loads that wait for one donor do not delay another's. An operation that
# reads all such pages gives up within seconds if there is no memory to map them.
# cluster: donors=0 mem=384 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

FIRST=10.9.9.2
SECOND=10.9.9.1

one_donor() {
	reload_modules slab_mb=2 donors= hotslab=0 && modprobe farswap-ram regions=30 &&
		echo "$FIRST" >"$FARSWAP/donors" && wait_for 20 donors_live 1
}

# Each read fails and suspends the session, which is resumed.
reads_fail() {
	fail_resumes=$(resumes)
	echo 50 >"$RAM/suspend_ms"
	echo 9 >"$RAM/read_errors"
	go_on failing
	data wait_load failing || return 1
	echo "$(($(resumes) - fail_resumes)) sessions were resumed," \
		"$(cat "$RAM/read_errors") errors are left"
	[ "$(resumes)" -gt $((fail_resumes + 5)) ] && grep -qx 0 "$RAM/read_errors"
}

# For longer than io_timeout_ms.
no_memory() {
	echo 1 >"$RAM/no_memory"
	go_on lacking
	sleep 4
	lack_status=0
	load_runs lacking || lack_status=1
	echo 0 >"$RAM/no_memory"
	data wait_load lacking && return "$lack_status"
}

# begin NAME FILE TEXT: write it in the background
begin() {
	begin_name=$1
	begin_file=$2
	rm -f "$TMP/$begin_name.ended"
	{
		echo "$3" >"$begin_file" && begin_status=0 || begin_status=1
		echo "$begin_status" >"$TMP/$begin_name.ended"
	} 2>/dev/null &
}

# ends_badly NAME: that write has failed
ends_badly() {
	wait_for 60 test -s "$TMP/$1.ended" && ! grep -qx 0 "$TMP/$1.ended"
}

# Sole copies cannot be read for longer than any timeout. The writes fail instead of blocking, and
# farswap stays as it was.
refused_without_memory() {
	echo 1 >"$RAM/no_memory"
	begin detach "$FARSWAP/attached" 0
	ends_badly detach || return 1
	log_has 'no memory for the adapter to read pages that only donors have: still attached' &&
		grep -qx 1 "$FARSWAP/attached" || return 1
	begin donors "$FARSWAP/donors" ""
	ends_badly donors && log_has "donor $FIRST: no memory for the adapter" &&
		grep -qx "$FIRST" "$FARSWAP/donors" && wait_for 20 donors_live 1 &&
		grep -q "^$SWAP_DISK" /proc/swaps
}

detached_with_memory() {
	echo 0 >"$RAM/no_memory"
	begin again "$FARSWAP/attached" 0
	wait_for 60 grep -qx 0 "$TMP/again.ended" && echo 1 >"$FARSWAP/attached" &&
		go_on leaving && data wait_load leaving
}

paused() {
	donor_field_is "$SECOND" state suspect
}

many_wait() {
	stats_save
	echo 2 >"$RAM/pause"
	wait_for 20 paused || return 1
	go_on many
	go_on killed
	wait_for 60 grown load_waited 300
}

# Its pages are on another donor.
other_goes_on() {
	other_resumes=$(resumes)
	echo 1 >"$RAM/read_errors"
	go_on other
	wait_for 60 eval '! load_runs other'
	wait_for 1 eval '! load_runs other' && paused && data wait_load other &&
		[ "$(resumes)" -gt "$other_resumes" ]
}

killed_ends() {
	killed_child=$(awk -v parent="$(cat "$TMP/killed.pid")" '$4 == parent { print $1 }' \
		/proc/[0-9]*/stat 2>/dev/null)
	echo "process $killed_child waits"
	[ -d "/proc/${killed_child:-none}" ] || return 1
	kill_load killed
	wait_for 20 test ! -e "/proc/$killed_child" && paused
}

test_begin 14
has_ram || skip_rest "no module farswap-ram"
check "farswap runs over the RAM transport" one_donor || skip_rest "it cannot be used"
set_value "$FARSWAP/backup" none
set_value "$FARSWAP/grace_ms" 600000
swap_on
make_cgroup waits 64M
hold_remote failing waits 1 1000 -m 6 -n 200
check "a page survives repeated failing reads" reads_fail
echo 0 >"$RAM/suspend_ms"
hold_remote lacking waits 1 1000 -m 6 -n 200
check "a page survives seconds without memory to map it" no_memory
check "one donor has pages" hold_remote other waits 1 1000 -m 6 -n 200
echo 50 >"$RAM/suspend_ms"
echo "$FIRST,$SECOND" >"$FARSWAP/donors"
wait_for 20 donors_live 2
check "two donors have pages" hold_remote many waits 1 3000 -m 12 -n 200 -A
hold_remote killed waits 1 3000 -m 8 -n 4000
check "hundreds of loads wait for the paused donor" many_wait
check "another donor, whose session fails once, serves right data meanwhile" other_goes_on
check "a killed task does not wait for its donor" killed_ends
echo 0 >"$RAM/pause"
check --data "the loads that waited got right data" wait_load many
echo "$FIRST" >"$FARSWAP/donors"
hold_remote leaving waits 1 1000 -m 6 -n 200
check "without memory to map, a detach and a donors line are refused" \
	refused_without_memory
check "no page is lost by that, and a detach with memory succeeds" detached_with_memory
check "farswap attaches again" wait_for 20 donors_live 1
stats_show
check --data "no page is lost" eval 'stat_is load_lost 0 && stat_is lost 0'
swapoff "$SWAP_DISK"
check "the RDMA transport is back" leave_ram
test_end
