# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Common code of all farswap tests: KTAP output, a known state of the machine before and after,
# donors, swap, cgroups, background loads, counters. Works in any POSIX shell; the test machines
# have busybox's.
#
# A test calls test_begin N, then check or result N times, then test_end, which adds one result of
# its own: the kernel log has no complaint.
#
# In the test machines, "on ADDRESS COMMAND" runs a shell command on another machine, and "host
# poweroff|boot ADDRESS" cuts its power or boots it.

HERE=$(cd "$(dirname "$0")" && pwd)
LOAD=$HERE/load
FARSWAP=/sys/kernel/farswap
FARSWAP_DEBUG=/sys/kernel/debug/farswap
CGROUP=/sys/fs/cgroup
ZSWAP=/sys/module/zswap/parameters
# shellcheck disable=SC2034 # for the tests
THP=/sys/kernel/mm/transparent_hugepage

# The environment describes the cluster where it differs. SLOW multiplies every timeout.
CLIENT=${CLIENT:-10.0.0.1}
# shellcheck disable=SC2034 # for the tests
CLIENTS=${CLIENTS:-$CLIENT}
DONORS=${DONORS:-"10.0.0.2 10.0.0.3"}
SWAP_DISK=${SWAP_DISK:-/dev/vda}
SWAP_DISK2=${SWAP_DISK2:-/dev/vdb}
START_FARSWAPD=${START_FARSWAPD:-donor-start}
# Wait until the process has exited: it keeps the port in use until then.
GONE='i=0; while kill -0 $pid 2>/dev/null && [ $((i += 1)) -le 200 ]; do sleep 0.05; done'
KILL_FARSWAPD="pid=\$(pidof farswapd) && kill -9 \$pid && { $GONE; }"

restore_list=

# shellcheck source=_tap.sh
. "$HERE/_tap.sh"
# shellcheck source=_log.sh
. "$HERE/_log.sh"
# shellcheck source=_stats.sh
. "$HERE/_stats.sh"
# shellcheck source=_donors.sh
. "$HERE/_donors.sh"
# shellcheck source=_load.sh
. "$HERE/_load.sh"

# test_begin N: announce N results
test_begin() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	ktap_print_header
	ktap_set_plan $(($1 + 1))
	TMP=$(mktemp -d) || exit "$KSFT_FAIL"
	trap 'cleanup; exit 1' HUP INT TERM
	echo "farswap-selftest: begin $test_name $$" >/dev/kmsg
	log_mark
	mount_if_missing "$CGROUP" cgroup2
	mount_if_missing /sys/kernel/debug debugfs
	mount_if_missing /sys/kernel/tracing tracefs
	echo +memory >"$CGROUP/cgroup.subtree_control"
	swapoff -a 2>/dev/null
	# Any write creates zswap's pool, and the kernel then stops swapping large folios in.
	! grep -qsx Y "$ZSWAP/enabled" || set_value "$ZSWAP/enabled" N
}

# test_end: restore the machine, print the last result, exit
test_end() {
	cleanup
	check --data "no complaint from the kernel" kernel_is_quiet
	[ $((KTAP_TESTNO - 1)) -eq "$KSFT_NUM_TESTS" ] ||
		say "planned $KSFT_NUM_TESTS results, gave $((KTAP_TESTNO - 1))"
	rm -rf "$TMP"
	if [ "$KTAP_CNT_FAIL" -eq 0 ] && [ "$KTAP_CNT_SKIP" -eq $((KSFT_NUM_TESTS - 1)) ]; then
		ktap_print_totals
		exit "$KSFT_SKIP"
	fi
	ktap_finished
}

cleanup() {
	trap - HUP INT TERM
	for cleanup_load in $load_list; do
		kill_load "$cleanup_load"
	done
	load_list=
	for cleanup_group in $cgroup_list; do
		remove_cgroup "$cleanup_group"
	done
	cgroup_list=
	swapoff -a 2>/dev/null
	restore_values
	for cleanup_donor in $donors_patient; do
		on "$cleanup_donor" "$KILL_FARSWAPD"
	done
	donors_patient=
	for cleanup_donor in $donors_touched; do
		donor_start "$cleanup_donor"
	done
}

mount_if_missing() {
	grep -q " $1 " /proc/mounts || mount -t "$2" none "$1"
}

# set_value FILE VALUE: until the end of the test. The newest value is restored first.
set_value() {
	[ -e "$1" ] || return 1
	set_old=$(cat "$1") || return 1
	case $set_old in
	*\[*\]*) # the chosen one of several words
		set_old=${set_old#*\[}
		set_old=${set_old%%\]*}
		;;
	esac
	restore_number=$((${restore_number:-0} + 1))
	{
		echo "$1"
		echo "$set_old"
	} >"$TMP/restore.$restore_number"
	restore_list="$restore_number $restore_list"
	echo "$2" >"$1"
}

restore_values() {
	for restore_one in $restore_list; do
		{
			read -r restore_file
			read -r restore_value
		} <"$TMP/restore.$restore_one"
		[ ! -e "$restore_file" ] || echo "$restore_value" >"$restore_file"
	done 2>/dev/null
	restore_list=
}

# wait_for SECONDS COMMAND...: retry until it succeeds; only the last output is shown
wait_for() {
	read -r wait_now _ </proc/uptime
	wait_until=$((${wait_now%.*} + $1 * ${SLOW:-1}))
	wait_status=0
	shift
	until "$@" >"$TMP/wait" 2>&1; do
		read -r wait_now _ </proc/uptime
		[ "${wait_now%.*}" -lt $wait_until ] || {
			wait_status=1
			break
		}
		sleep 0.2
	done
	[ ! -s "$TMP/wait" ] || cat "$TMP/wait"
	return $wait_status
}

uptime_seconds() {
	read -r uptime_now _ </proc/uptime
	echo "${uptime_now%.*}"
}
