# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What every farswap test shares: KTAP output, a known state of the machine
# before and after, donors, swap, cgroups, loads in the background, counters.
# For any POSIX shell; busybox's is the one in the test machines.
#
# A test says test_begin N, then N times check or result, then test_end, which
# adds one result of its own: that the kernel had nothing to complain about.
#
# In the test machines "on ADDRESS COMMAND" runs a shell command on a donor and
# "host poweroff|boot donorN" pulls its plug or starts it again.

HERE=$(cd "$(dirname "$0")" && pwd)
LOAD=$HERE/load
FARSWAP=/sys/kernel/farswap
FARSWAP_DEBUG=/sys/kernel/debug/farswap
CGROUP=/sys/fs/cgroup
ZSWAP=/sys/module/zswap/parameters
# shellcheck disable=SC2034 # for the tests
THP=/sys/kernel/mm/transparent_hugepage

# Where the cluster differs, the environment says so.
CLIENT=${CLIENT:-10.0.0.1}
DONORS=${DONORS:-"10.0.0.2 10.0.0.3"}
SWAP_DISK=${SWAP_DISK:-/dev/vda}
SWAP_DISK2=${SWAP_DISK2:-/dev/vdb}
START_FARSWAPD=${START_FARSWAPD:-donor-start}
KILL_FARSWAPD='pid=$(pidof farswapd) && kill -9 $pid'

KSFT_PASS=0
KSFT_FAIL=1
KSFT_SKIP=4

tap_planned=0
tap_number=0
tap_failed=0
tap_skipped=0
log_marks=0
restore_list=
cgroup_list=
load_list=
donors_touched=

# --- KTAP -----------------------------------------------------------------

# say TEXT...: a diagnostic line
say() {
	echo "# $*"
}

# result STATUS DESCRIPTION: one result; STATUS 0 is good
result() {
	tap_number=$((tap_number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_number $2"
	else
		echo "not ok $tap_number $2"
		tap_failed=$((tap_failed + 1))
	fi
}

# check DESCRIPTION COMMAND...: the result of a command, its output beside it
check() {
	check_what=$1
	shift
	"$@" >"$TMP/check" 2>&1
	check_status=$?
	sed 's/^/# /' "$TMP/check"
	result $check_status "$check_what"
	return $check_status
}

# skip_rest REASON: the results still owed are skipped; ends the test
skip_rest() {
	while [ $((tap_number + 1)) -lt "$tap_planned" ]; do
		skip_one "$@"
	done
	test_end
}

# skip_one REASON: one result is skipped
skip_one() {
	tap_number=$((tap_number + 1))
	tap_skipped=$((tap_skipped + 1))
	echo "ok $tap_number # SKIP $*"
}

# skip_all REASON: before test_begin
skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}

# bail REASON: no use going on
bail() {
	echo "Bail out! $*"
	cleanup
	exit $KSFT_FAIL
}

# --- begin and end --------------------------------------------------------

# test_begin N: N results will follow
test_begin() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	echo "TAP version 13"
	tap_planned=$(($1 + 1))
	echo "1..$tap_planned"
	TMP=$(mktemp -d) || exit $KSFT_FAIL
	test_name=$(basename "$0")
	trap 'cleanup; exit 1' HUP INT TERM
	echo "farswap-selftest: begin $test_name $$" >/dev/kmsg
	log_mark
	mount_if_missing "$CGROUP" cgroup2
	mount_if_missing /sys/kernel/debug debugfs
	mount_if_missing /sys/kernel/tracing tracefs
	echo +memory >"$CGROUP/cgroup.subtree_control"
	swapoff -a 2>/dev/null
	set_value "$ZSWAP/enabled" N
}

# test_end: leave the machine as it was; the last result; exit
test_end() {
	cleanup
	check "no complaint from the kernel" kernel_is_quiet
	[ "$tap_number" -eq "$tap_planned" ] ||
		say "planned $tap_planned results, gave $tap_number"
	say "Totals: pass:$((tap_number - tap_failed - tap_skipped)) fail:$tap_failed" \
		"xfail:0 xpass:0 skip:$tap_skipped error:0"
	rm -rf "$TMP"
	[ "$tap_failed" -eq 0 ] && [ "$tap_number" -eq "$tap_planned" ] || exit $KSFT_FAIL
	[ "$tap_skipped" -lt $((tap_planned - 1)) ] || exit $KSFT_SKIP
	exit $KSFT_PASS
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
	for cleanup_donor in $donors_touched; do
		donor_start "$cleanup_donor"
	done
}

mount_if_missing() {
	grep -q " $1 " /proc/mounts || mount -t "$2" none "$1"
}

# set_value FILE VALUE: until the end of the test. Newest restored first.
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

# wait_for SECONDS COMMAND...: until it succeeds; only its last output is shown
wait_for() {
	wait_until=$(($(uptime_seconds) + $1))
	wait_status=0
	shift
	until "$@" >"$TMP/wait" 2>&1; do
		[ "$(uptime_seconds)" -lt $wait_until ] || {
			wait_status=1
			break
		}
		sleep 0.2
	done
	cat "$TMP/wait"
	return $wait_status
}

uptime_seconds() {
	cut -d. -f1 /proc/uptime
}

# --- kernel log -----------------------------------------------------------

# log_mark: what log_has and log_show look at begins here
log_mark() {
	log_marks=$((log_marks + 1))
	echo "farswap-selftest: mark $$ $log_marks" >/dev/kmsg
}

log_show() {
	dmesg | sed "1,/farswap-selftest: mark $$ $log_marks\$/d"
}

# log_has REGEX...: a line since the last mark has them all
log_has() {
	log_show >"$TMP/log"
	for log_regex in "$@"; do
		grep -E "$log_regex" "$TMP/log" >"$TMP/log.next"
		mv "$TMP/log.next" "$TMP/log"
	done
	[ -s "$TMP/log" ]
}

kernel_is_quiet() {
	dmesg | grep -q "farswap-selftest: begin $test_name $$\$" || {
		echo "the kernel log has wrapped; looking at all of it"
		dmesg >"$TMP/quiet"
	}
	dmesg | sed -n "/farswap-selftest: begin $test_name $$\$/,\$p" >>"$TMP/quiet"
	without_rxe_warning <"$TMP/quiet" >"$TMP/quiet.own"
	! grep -E -A 30 "$COMPLAINTS" "$TMP/quiet.own"
}

# rxe warns of itself when it completes a request as good for want of a reason
# why it failed. What matters is that farswap is not taken in: the data tells.
without_rxe_warning() {
	awk '/\[ cut here \]/ { held = 1; rxe = 0; text = "" }
		held { text = text $0 "\n"; if (/rxe_comp\.c/) rxe = 1 }
		!held
		/end trace/ { if (!rxe) printf "%s", text; held = 0 }
		END { if (held) printf "%s", text }'
}

COMPLAINTS='WARNING:|BUG[: ]|Oops|Call Trace:|general protection|[Kk]ernel panic'
COMPLAINTS="$COMPLAINTS|blocked for more than|soft lockup|hard LOCKUP"
COMPLAINTS="$COMPLAINTS|rcu.*(stall|self-detected)|refcount_t:|UBSAN:|KASAN:"
COMPLAINTS="$COMPLAINTS|page allocation failure|Bad page|(add|del) corruption"
COMPLAINTS="$COMPLAINTS|possible (circular|recursive) locking|suspicious RCU"
COMPLAINTS="$COMPLAINTS|[Oo]ut of memory:|oom-kill:|kmemleak:|Bad swap"
COMPLAINTS="$COMPLAINTS|[Rr]ead-error on swap|[Ww]rite-error on swap"

# --- counters -------------------------------------------------------------

# stat_of NAME: a counter; nothing a comparison accepts where there is none
stat_of() {
	awk -v name="$1" '$1 == name { print $2; found = 1 }
		END { if (!found) print "no-such-counter" }' "$FARSWAP_DEBUG/stats"
}

stats_save() {
	cp "$FARSWAP_DEBUG/stats" "$TMP/stats"
}

# stat_delta NAME: its growth since stats_save
stat_delta() {
	stat_before=$(awk -v name="$1" '$1 == name { print $2 }' "$TMP/stats")
	stat_after=$(stat_of "$1")
	case $stat_before/$stat_after in
	/* | *no-such-counter) echo "no-such-counter" ;;
	*) echo $((stat_after - stat_before)) ;;
	esac
}

# grew NAME...: all of these have since stats_save
grew() {
	grew_status=0
	for grew_name in "$@"; do
		grew_by=$(stat_delta "$grew_name")
		echo "$grew_name grew by $grew_by"
		[ "$grew_by" -gt 0 ] || grew_status=1
	done
	return $grew_status
}

# same NAME...: none of these has grown since stats_save
same() {
	same_status=0
	for same_name in "$@"; do
		same_by=$(stat_delta "$same_name")
		echo "$same_name grew by $same_by"
		[ "$same_by" -eq 0 ] || same_status=1
	done
	return $same_status
}

stat_is() {
	[ "$(stat_of "$1")" -eq "$2" ]
}

stat_above() {
	[ "$(stat_of "$1")" -gt "$2" ]
}

stats_show() {
	awk '$2 != 0 { printf "# %s %s\n", $1, $2 }' "$FARSWAP_DEBUG/stats"
}

# grown NAME N: by more than that since stats_save
grown() {
	grown_by=$(stat_delta "$1")
	echo "$1 grew by $grown_by"
	[ "$grown_by" -gt "$2" ]
}

# no_remote_bits: every remote bit has gone with its slot. Say so when no load
# runs any more. A page whose writeback outlived its owner waits for reclaim,
# and each CPU puts up to 64 freed slots aside; so reclaim, and have each CPU
# free others, which were never remote. What may be left are pages of the shell,
# of other programs and of small files in tmpfs: slots still in use, a few of
# all the pages that were stored.
STRAY_PAGES=${STRAY_PAGES:-16}

no_remote_bits() {
	for bits_group in $cgroup_list; do
		echo 64M >"$CGROUP/$bits_group/memory.reclaim"
	done 2>/dev/null
	stat_is remote_pages 0 && return
	echo "$(stat_of remote_pages) remote bits before slots put aside are flushed"
	flush_slots
	wait_for 10 few_remote_bits && return
	cat "$FARSWAP_DEBUG/slabs"
	return 1
}

few_remote_bits() {
	few_used=$(awk 'NR > 1 { used += $4 } END { print int(used / 4) }' /proc/swaps)
	few_remote=$(stat_of remote_pages)
	echo "$few_remote remote bits, $few_used slots in use"
	[ "$few_remote" -le "$STRAY_PAGES" ] && [ "$few_remote" -le "$few_used" ]
}

flush_slots() {
	flush_enabled=$(cat "$FARSWAP/enabled")
	echo 0 >"$FARSWAP/enabled"
	mkdir -p "$CGROUP/flush"
	echo 3M >"$CGROUP/flush/memory.high"
	flush_cpu=0
	while [ -e "/sys/devices/system/cpu/cpu$flush_cpu" ]; do
		in_cgroup flush taskset "$(printf %x $((1 << flush_cpu)))" "$LOAD" -m 6 -i 0
		flush_cpu=$((flush_cpu + 1))
	done
	remove_cgroup flush
	echo "$flush_enabled" >"$FARSWAP/enabled"
}

# --- farswap and donors ---------------------------------------------------

# farswap_up N: loaded, attached, everything at once to the first N donors
farswap_up() {
	[ -d "$FARSWAP" ] || modprobe farswap || skip_rest "no farswap module"
	[ -e "$FARSWAP_DEBUG/stats" ] || bail "no $FARSWAP_DEBUG/stats"
	[ "$(cat "$FARSWAP/attached")" = 1 ] || echo 1 >"$FARSWAP/attached" ||
		bail "cannot attach: $(dmesg | tail -n 3)"
	set_value "$FARSWAP/enabled" 1
	set_value "$FARSWAP/hotslab" 0
	up_list=$(donor_list "$1")
	for up_donor in $(echo "$up_list" | tr , ' '); do
		donor_start "$up_donor" || bail "no farswapd on $up_donor"
	done
	# Anew, so that sessions do not sit out the pause after a failure.
	echo >"$FARSWAP/donors"
	set_value "$FARSWAP/donors" "$up_list"
	if ! wait_for 30 donors_live "$1"; then
		donors_show
		bail "not all donors have become usable"
	fi
	stats_save
}

# unload_modules: when detached
unload_modules() {
	[ ! -d /sys/module/farswap_rdma ] || rmmod farswap_rdma || return 1
	rmmod farswap
}

# donor_list N: the first N as the donors file takes them
donor_list() {
	# shellcheck disable=SC2086 # words are wanted
	echo $DONORS | cut -d' ' -f"1-$1" | tr ' ' ,
}

# donors_show: why donors are not used, from both sides
donors_show() {
	{
		cat "$FARSWAP_DEBUG/donors"
		dmesg | grep farswap | tail -n 10
		rdma res show cm_id
		rdma res show qp
		rdma statistic show link
		for show_donor in $DONORS; do
			echo "$show_donor:"
			on "$show_donor" 'tail -n 10 /run/farswapd.log; farswapctl status;
				rdma res show cm_id; rdma res show qp; rdma statistic show link
				tc qdisc show dev eth0; dmesg | tail -n 5
				echo w >/proc/sysrq-trigger; dmesg | grep -A 12 "task:"'
		done
	} 2>&1 | sed 's/^/# /'
}

# donor_count: donors that can be used now
donor_count() {
	awk 'NR > 1 && $2 == "live"' "$FARSWAP_DEBUG/donors" | wc -l
}

donors_live() {
	[ "$(donor_count)" -eq "$1" ]
}

# donor_is_live ADDRESS
donor_is_live() {
	awk -v a="$1" 'NR > 1 && ($1 == a || index($1, a ":") == 1) && $2 == "live" { f = 1 }
		END { exit !f }' "$FARSWAP_DEBUG/donors"
}

donor_is_not_live() {
	! donor_is_live "$1"
}

# donor_of_most: the address of the donor that holds the most remote pages
donor_of_most() {
	awk 'NR > 1 && $4 != "-" { sub(/:[0-9]*$/, "", $4); sum[$4] += $5 }
		END {
			for (a in sum)
				if (sum[a] > best) {
					best = sum[a]
					most = a
				}
			print most
		}' "$FARSWAP_DEBUG/slabs"
}

# donor_name ADDRESS: what "host" calls it
donor_name() {
	echo "donor$((${1##*.} - 1))"
}

# donor_touch ADDRESS: it will be harmed, and started again at the end
donor_touch() {
	case " $donors_touched " in
	*" $1 "*) ;;
	*) donors_touched="$donors_touched $1" ;;
	esac
}

donor_answers() {
	on "$1" true >/dev/null 2>&1
}

donor_has_daemon() {
	on "$1" 'pidof farswapd' >/dev/null 2>&1
}

# donor_start ADDRESS [KEY=VALUE...]: boot the machine if it is down, then farswapd
donor_start() {
	start_donor=$1
	shift
	if ! wait_for 3 donor_answers "$start_donor"; then
		host boot "$(donor_name "$start_donor")"
		wait_for 60 donor_answers "$start_donor" || return 1
	fi
	donor_has_daemon "$start_donor" || on "$start_donor" "$START_FARSWAPD $*" >/dev/null
	wait_for 20 donor_has_daemon "$start_donor"
}

# Packets are lost where they arrive, for rxe takes a packet that its own machine
# drops for an error. That is also why the qdisc comes before there is traffic:
# while one is added or removed, the device drops what it is to send.

lose_at() {
	if [ "$1" = "$CLIENT" ]; then
		eval "$2"
	else
		on "$1" "$2"
	fi
}

# lose_ready: before there is anything to lose
lose_ready() {
	for lose_machine in $CLIENT $DONORS; do
		lose_at "$lose_machine" 'tc qdisc show dev eth0 | grep -q ingress ||
			tc qdisc add dev eth0 handle ffff: ingress' || return 1
	done
}

# lose FROM TO ONE_IN: of the RDMA packets from one address to the other one in so
# many is lost; not the others', for "on" goes over the same network
lose() {
	lose_action="pass random netrand drop $3"
	[ "$3" -gt 1 ] || lose_action=drop
	lose_at "$2" "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 \
		match ip src $1/32 match ip protocol 17 0xff match ip dport 4791 0xffff \
		action $lose_action"
}

# lose_none TO: no more
lose_none() {
	lose_at "$1" 'tc filter del dev eth0 parent ffff: prio 1'
}

# donor_kill ADDRESS: kill -9 of its daemon
donor_kill() {
	donor_touch "$1"
	on "$1" "$KILL_FARSWAPD"
}

# fake_start MODE: a fakedonor on the first donor's machine, beside its daemon,
# as $fake; what it says goes to a file there
fake_start() {
	fake_host=${DONORS%% *}
	# shellcheck disable=SC2034 # for the tests
	fake=$fake_host:9401
	fake_stop
	on "$fake_host" "setsid $HERE/fakedonor $1 9401 120 >/run/fake.log 2>&1 </dev/null &" &&
		wait_for 10 fake_said ready
}

fake_said() {
	on "$fake_host" 'cat /run/fake.log' | grep "$1" | head -n 3
	on "$fake_host" "grep -q '$1' /run/fake.log"
}

fake_stop() {
	on "$fake_host" 'pid=$(pidof fakedonor) && kill -9 $pid'
}

# --- swap -----------------------------------------------------------------

# swap_on [DISK [PRIORITY]]: as a solid-state disk, which gets large folios
# whole and has readahead by address, or with ROTATIONAL=1 as one that turns.
swap_on() {
	swap_disk=${1:-$SWAP_DISK}
	[ -b "$swap_disk" ] || bail "no $swap_disk"
	set_value "/sys/block/${swap_disk##*/}/queue/rotational" "${ROTATIONAL:-0}" 2>/dev/null
	mkswap "$swap_disk" >/dev/null || bail "mkswap $swap_disk"
	if [ -n "$2" ]; then
		"$HERE/swapon_at" "$2" "$swap_disk"
	else
		swapon "$swap_disk"
	fi || bail "swapon $swap_disk"
}

# swap_used DISK: KiB
swap_used() {
	awk -v disk="$1" '$1 == disk { print $4 }' /proc/swaps
}

# --- cgroups --------------------------------------------------------------

# make_cgroup NAME LIMIT: memory.high, above which its tasks have to reclaim.
# At memory.max the kernel kills instead of waiting for pages that are being
# written, which under emulation may take a while.
make_cgroup() {
	mkdir -p "$CGROUP/$1" || bail "cgroup $1"
	cgroup_list="$1 $cgroup_list"
	echo "$2" >"$CGROUP/$1/memory.high"
}

remove_cgroup() {
	[ ! -e "$CGROUP/$1/cgroup.kill" ] || echo 1 >"$CGROUP/$1/cgroup.kill"
	wait_for 10 rmdir "$CGROUP/$1" >/dev/null
}

# in_cgroup NAME COMMAND...
in_cgroup() {
	in_group=$1
	shift
	sh -c 'echo $$ >"$0" && exec "$@"' "$CGROUP/$in_group/cgroup.procs" "$@"
}

# --- loads in the background ----------------------------------------------

# start_load NAME CGROUP OPTIONS...: CGROUP may be "-"
start_load() {
	start_name=$1
	start_group=$2
	shift 2
	load_list="$load_list $start_name"
	start_procs=$CGROUP/$start_group/cgroup.procs
	[ "$start_group" != - ] || start_procs=/dev/null
	# Not in_cgroup: $! is to be the load itself, not a shell around it.
	sh -c 'echo $$ >"$0" && exec "$@"' "$start_procs" "$LOAD" "$@" \
		>"$TMP/$start_name.log" 2>&1 &
	echo $! >"$TMP/$start_name.pid"
}

# load_runs NAME
load_runs() {
	kill -0 "$(cat "$TMP/$1.pid")" 2>/dev/null
}

# wait_load NAME: to its end; its status
wait_load() {
	wait "$(cat "$TMP/$1.pid")"
	load_status=$?
	cat "$TMP/$1.log"
	return $load_status
}

# stop_load NAME: have it finish and verify all it has; its status
stop_load() {
	kill -TERM "$(cat "$TMP/$1.pid")"
	wait_load "$1"
}

# load_ready NAME N: N processes are at the hold point
load_ready() {
	# shellcheck disable=SC2012 # names are ours
	[ "$(ls "$TMP/$1.hold.ready."* 2>/dev/null | wc -l)" -eq "$2" ]
}

# go_on NAME: past the hold point
go_on() {
	: >"$TMP/$1.hold.go"
}

kill_load() {
	load_runs "$1" || return
	kill -KILL "$(cat "$TMP/$1.pid")"
	wait "$(cat "$TMP/$1.pid")" 2>/dev/null
}
