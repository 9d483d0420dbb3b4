#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Pages that are read in order are prefetched and used; others are not prefetched. Nothing is
# prefetched where prefetch_pages or vm.page-cluster says so.
# cluster: donors=1 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

CLUSTER=/proc/sys/vm/page-cluster

# start_remote NAME OPTIONS...: a load with remote memory begins to read
start_remote() {
	remote_load=$1
	shift
	hold_remote "$remote_load" ahead 2 6000 -m 48 -w 0 -d 250 "$@" && go_on "$remote_load" &&
		wait_for 30 reads_go_on
}

# Reads come from donors, from now on.
reads_go_on() {
	stats_save
	sleep 0.5
	grown load_remote 100
}

most_is_of_use() {
	useful_ahead=$(stat_delta prefetched)
	useful_used=$(stat_delta prefetch_used)
	useful_not=$(stat_delta prefetch_unused)
	echo "$useful_ahead read ahead, $useful_used of use, $useful_not not"
	[ "$useful_used" -gt 2000 ] && [ "$useful_not" -lt $((useful_used / 4)) ] &&
		[ $(($(stat_of prefetch_used) + $(stat_of prefetch_unused))) -le \
			$(($(stat_of prefetched) + 300)) ]
}

# nothing_ahead FILE VALUE: with that value pages are read, none prefetched
nothing_ahead() {
	nothing_before=$(cat "$1")
	echo "$2" >"$1"
	# Wait for pending prefetches.
	sleep 0.5
	stats_save
	wait_for 30 grown load_remote 500 && same prefetched
	nothing_status=$?
	echo "$nothing_before" >"$1"
	return "$nothing_status"
}

# At most one page in twenty that is read at random.
hardly_any_ahead() {
	stats_save
	wait_for 60 grown load_remote 1500 || return 1
	[ "$(stat_delta prefetched)" -lt $(($(stat_delta load_remote) / 20)) ]
}

test_begin 9
farswap_up 1
set_value "$CLUSTER" 3
swap_on
make_cgroup ahead 16M
check "all pages are remote and read in order" start_remote in-order -q
check "pages are prefetched and used" wait_for 90 most_is_of_use
check "prefetch_pages=0 stops prefetching" nothing_ahead "$FARSWAP/prefetch_pages" 0
check "vm.page-cluster=0 stops prefetching" nothing_ahead "$CLUSTER" 0
stats_save
check "prefetching starts again" wait_for 30 grown prefetched 100
check --data "memory contents are right" stop_load in-order
check "random access prefetches little" eval 'start_remote at-random && hardly_any_ahead'
check --data "memory contents are right there, too" stop_load at-random
stats_show
check --data "no page is lost" stat_is load_lost 0
test_end
