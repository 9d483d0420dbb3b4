#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The module cannot be taken out while its hooks are in the kernel, can when
# they are not, and can come back.
# Four processors, by one thread: QEMU's threads can't patch code that others run.
# cluster: donors=2 mem=192 disks=1 cpus=4 one_thread=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

unload_refused() {
	! rmmod farswap && [ -d "$FARSWAP" ] && grep -q '^farswap ' /proc/modules
}

# Its counters begin anew.
unload() {
	stat_is load_lost 0 && echo 0 >"$FARSWAP/attached" || return 1
	unload_modules && [ ! -d "$FARSWAP" ] && ! grep -q '^farswap ' /proc/modules
}

# Called directly, farswap is left before the kernel writes to the device.
asleep_in_hook() {
	is_direct || cat /proc/[0-9]*/stack 2>/dev/null | grep -q 'hook_.*farswap'
}

# Tasks wait for a slow disk inside the hook, for longer than all else that detaching
# waits for, and come back to it. The disk is slow for that time only: the requests queued at
# it by then can be minutes of work, all of which detaching would wait for.
unload_waited_for() {
	echo 0 >"$FARSWAP/enabled"
	wait_for 20 stat_is staged_pages 0 || return 1
	host iops "${SWAP_DISK##*/}" 1
	wait_for 60 asleep_in_hook
	asleep_status=$?
	unload &
	unloading=$!
	sleep 5
	host iops "${SWAP_DISK##*/}" 0
	wait "$unloading"
	waited_status=$?
	load_runs unload && modprobe farswap && return $((waited_status | asleep_status))
}

# The functions that the kernel redirects.
enabled_functions() {
	awk '{ print $1 }' /sys/kernel/tracing/enabled_functions
}

no_hook_is_left() {
	! enabled_functions | grep -Fxf "$TMP/hooked"
}

# check_hooks DESCRIPTION COMMAND
check_hooks() {
	if is_direct; then
		skip_one "a kernel that calls farswap has no hooks"
	else
		check "$@"
	fi
}

test_begin 11
farswap_up 2
swap_on
make_cgroup unload 16M
start_load unload unload -m 28 -p 2 -d 250 -i 20
check "pages are remote" wait_for 60 stat_above remote_pages 500
awk '/farswap/ { print $1 }' /sys/kernel/tracing/enabled_functions >"$TMP/hooked"
check_hooks "the kernel says what is hooked" [ -s "$TMP/hooked" ]
check "rmmod is refused while attached" unload_refused
check "detached under load, it can be removed" unload
check_hooks "no hook is left in the kernel" no_hook_is_left
check "it can be loaded again" modprobe farswap
check "and attaches by itself" grep -qx 1 "$FARSWAP/attached"
check "removed again, with tasks asleep in it" unload_waited_for
farswap_up 2
check "pages are remote again" wait_for 60 stat_above remote_pages 500
check --data "memory was right all the time" stop_load unload
stats_show
check --data "no page was lost, no remote bit is left" eval \
	'stat_is load_lost 0 && no_orphaned_pages'
test_end
