#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The module cannot be removed while its hooks are in the kernel, can be removed when they are not,
# and can be loaded again. One thread emulates the four processors: with a thread each, QEMU cannot
# patch code that others run.
# cluster: donors=2 mem=192 disks=1 cpus=4 one_thread=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

unload_refused() {
	! rmmod farswap && [ -d "$FARSWAP" ] && grep -q '^farswap ' /proc/modules
}

# The counters restart from zero.
unload() {
	stat_is load_lost 0 && echo 0 >"$FARSWAP/attached" || return 1
	unload_modules && [ ! -d "$FARSWAP" ] && ! grep -q '^farswap ' /proc/modules
}

# A kernel that calls farswap directly leaves it before it writes to the device.
asleep_in_hook() {
	is_direct || cat /proc/[0-9]*/stack 2>/dev/null | grep -q 'hook_.*farswap'
}

# Tasks wait for a slow disk inside the hook, for longer than every other wait of a detach, and
# return into it. The disk is slow only for a while: its queue could be minutes of work by then,
# and the detach would wait for all of it.
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

# The functions that ftrace redirects.
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
check "it can be removed after detaching under load" unload
check_hooks "no hook is left in the kernel" no_hook_is_left
check "the module can be loaded again" modprobe farswap
check "it attaches itself" grep -qx 1 "$FARSWAP/attached"
check "removal waits for tasks asleep in the hook" unload_waited_for
farswap_up 2
check "pages are remote again" wait_for 60 stat_above remote_pages 500
check --data "memory contents are right" stop_load unload
stats_show
check --data "no page is lost, no remote bit is left" eval \
	'stat_is load_lost 0 && no_orphaned_pages'
test_end
