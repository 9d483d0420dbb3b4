# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Swap, cgroups, and background loads that use them. A part of _lib.sh.

cgroup_list=
load_list=

# swap_on [DISK [PRIORITY]]: as a solid-state disk, which gets large folios whole and readahead by
# address; as a rotating disk with ROTATIONAL=1; with only a part of the disk in use with SWAP_KB
swap_on() {
	swap_disk=${1:-$SWAP_DISK}
	[ -b "$swap_disk" ] || bail "no $swap_disk"
	set_value "/sys/block/${swap_disk##*/}/queue/rotational" "${ROTATIONAL:-0}" 2>/dev/null
	# shellcheck disable=SC2086 # nothing, or a number
	mkswap "$swap_disk" $SWAP_KB >/dev/null || bail "mkswap $swap_disk"
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

# make_cgroup NAME LIMIT: sets memory.high, above which tasks reclaim. At memory.max the kernel
# would kill tasks instead of waiting for writeback, which takes long under emulation.
make_cgroup() {
	mkdir -p "$CGROUP/$1" || bail "cgroup $1"
	cgroup_list="$1 $cgroup_list"
	echo "$2" >"$CGROUP/$1/memory.high"
}

remove_cgroup() {
	[ ! -e "$CGROUP/$1/cgroup.kill" ] || echo 1 >"$CGROUP/$1/cgroup.kill"
	wait_for 10 rmdir "$CGROUP/$1" >/dev/null
}

# reclaim NAME: page out as much as possible. The kernel returns EAGAIN if that is below 64 MB.
reclaim() {
	echo 64M >"$CGROUP/$1/memory.reclaim"
} 2>/dev/null

# in_cgroup NAME COMMAND...
in_cgroup() {
	in_group=$1
	shift
	sh -c 'echo $$ >"$0" && exec "$@"' "$CGROUP/$in_group/cgroup.procs" "$@"
}

# start_load NAME CGROUP OPTIONS...: CGROUP may be "-"
start_load() {
	start_name=$1
	start_group=$2
	shift 2
	load_list="$load_list $start_name"
	start_procs=$CGROUP/$start_group/cgroup.procs
	[ "$start_group" != - ] || start_procs=/dev/null
	# Not by in_cgroup: $! must be the load itself, not a shell around it.
	sh -c 'echo $$ >"$0" && exec "$@"' "$start_procs" "$LOAD" "$@" \
		>"$TMP/$start_name.log" 2>&1 3>&- &
	echo $! >"$TMP/$start_name.pid"
}

# load_runs NAME
load_runs() {
	kill -0 "$(cat "$TMP/$1.pid")" 2>/dev/null
}

# wait_load NAME: wait for its end; returns its status
wait_load() {
	wait "$(cat "$TMP/$1.pid")"
	load_status=$?
	cat "$TMP/$1.log"
	return $load_status
}

# stop_load NAME: let it finish and verify all its memory; returns its status
stop_load() {
	kill -TERM "$(cat "$TMP/$1.pid")"
	wait_load "$1"
}

# longest_below NAME MS: no access so far took longer
longest_below() {
	longest=$(sed -n 's/.*longest_ms=\([0-9]*\).*/\1/p' "$TMP/$1.log" | tail -n 1)
	echo "longest access: $longest ms"
	[ "$longest" -lt "$2" ]
}

# load_ready NAME N [again]: N processes have reached the first hold point, or the second
load_ready() {
	ready_wanted=$2
	set -- "$TMP/$1.hold.${3:-ready}."*
	[ -e "$1" ] && [ $# -eq "$ready_wanted" ]
}

# hold_remote NAME CGROUP NR PAGES OPTIONS...: start a load of NR processes and wait at its hold
# point, with its memory paged out, more than PAGES of it to donors. On a busy machine everything
# may go to the device before the slabs are mapped: retry more slowly then. The regions must be
# given back first: the next load gets other slots, whose slabs would find the donors full.
hold_remote() {
	remote_name=$1
	remote_group=$2
	remote_nr=$3
	remote_pages=$4
	shift 4
	remote_slabs=$(stat_of mapped_slabs)
	for remote_try in 1 2 3; do
		if [ $remote_try -gt 1 ]; then
			kill_load "$remote_name"
			wait_for 30 stat_is mapped_slabs "$remote_slabs"
		fi
		rm -f "$TMP/$remote_name.hold".*
		start_load "$remote_name" "$remote_group" -p "$remote_nr" \
			-H "$TMP/$remote_name.hold" -O -i 0 -R $(((remote_try - 1) * 40)) "$@"
		wait_for 90 load_ready "$remote_name" "$remote_nr" || return 1
		echo "try $remote_try: $(stat_of remote_pages) pages are remote"
		stat_above remote_pages "$remote_pages" && return
	done
	return 1
}

# go_on NAME [on]: release the load from the first hold point, or from the second
go_on() {
	: >"$TMP/$1.hold.${2:-go}"
}

kill_load() {
	load_runs "$1" || return
	kill -KILL "$(cat "$TMP/$1.pid")"
	wait "$(cat "$TMP/$1.pid")" 2>/dev/null
}

# no_orphaned_pages: no remote bit outlives its slot. Reclaim first: a page whose writeback
# outlives its owner keeps its slot until then.
no_orphaned_pages() {
	for orphan_group in $cgroup_list; do
		reclaim "$orphan_group"
	done
	wait_for 10 stat_is orphaned_pages 0 && return
	cat "$FARSWAP_DEBUG/slabs"
	return 1
}
