#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Before the machine sleeps or hibernates, every page is on the device, and none counts as remote
# afterwards; then swapping continues. The kernel's test mode stops once tasks are frozen, so that
# the machine need not sleep. A hibernation image needs as much memory as is in use.
# cluster: donors=2 mem=384 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

POWER=/sys/power

# sleep_test STATE: check the work of the two notifications, afterwards. No slab is mapped again
# until then, or the system's own pages would be remote at once.
sleep_test() {
	stats_save
	echo 1000000 >"$FARSWAP/hotslab"
	echo "$1" >"$POWER"/state || { dmesg | tail -n 15; return 1; }
	sleep_remote=$(stat_of remote_pages)
	echo "remote_pages $sleep_remote"
	echo 0 >"$FARSWAP/hotslab"
	data [ "$sleep_remote" -eq 0 ]
}

# state_test STATE NAME: 4 results
state_test() {
	if ! grep -qw "$1" "$POWER"/state; then
		# shellcheck disable=SC2034 # one for each result below
		for state_result in 1 2 3 4; do
			skip_one "this kernel has no $1 in $POWER/state"
		done
		return
	fi
	check "$2: pages are remote before" hold_remote "$2" sleep 2 1000 -m 24 -n 1000
	check "$2: no page is remote after" sleep_test "$1"
	stats_save
	go_on "$2"
	check --data "$2: memory contents are right" wait_load "$2"
	check "$2: pages go out to donors again" grew store_remote load_device
}

test_begin 10
[ -e "$POWER"/pm_test ] || skip_rest "no $POWER/pm_test in this kernel"
farswap_up 2
swap_on
make_cgroup sleep 12M
set_value "$POWER"/pm_test freezer
state_test freeze suspend
state_test disk hibernation
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
