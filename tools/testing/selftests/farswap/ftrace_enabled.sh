#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# ftrace cannot be switched off under farswap: its hooks would be gone, and with them all pages
# that are only remote. farswap does not attach while ftrace is off. A kernel that calls farswap
# does not need ftrace.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

KNOB=/proc/sys/kernel/ftrace_enabled
refused() {
	is_direct && set_value "$KNOB" 0 && return
	! echo 0 >"$KNOB" && [ "$(cat "$KNOB")" = 1 ]
}

# In the first round, slabs may not be mapped yet.
pages_go() {
	for pages_round in 1 2 3 4 5; do
		echo "round $pages_round"
		data in_cgroup ftrace "$LOAD" -m 28 -n 300 || return 1
		! grew store_remote load_remote || return 0
	done
	return 1
}

# Linux 7.3 and later do not allow it.
can_be_off() {
	set_value "$KNOB" 0 || ! dmesg | grep -q 'no longer disables ftrace'
}

# While ftrace is off: the log names the setting, and no hook is left behind.
attach_refused() {
	[ "$(cat "$KNOB")" = 0 ] || return 1
	if is_direct; then
		echo 1 >"$FARSWAP/attached" && echo 0 >"$FARSWAP/attached"
		return
	fi
	log_mark
	! echo 1 >"$FARSWAP/attached" && [ "$(cat "$FARSWAP/attached")" = 0 ] || return 1
	! grep farswap /sys/kernel/tracing/enabled_functions || return 1
	log_has farswap 'kernel\.ftrace_enabled'
	refuse_status=$?
	log_show
	return "$refuse_status"
}

attach_again() {
	echo 1 >"$KNOB" && echo 1 >"$FARSWAP/attached" && [ "$(cat "$FARSWAP/attached")" = 1 ] &&
		stats_save && wait_for 30 donors_live 2 &&
		data in_cgroup ftrace "$LOAD" -m 24 -n 100 && grew store_remote load_remote
}

test_begin 5
[ -e "$KNOB" ] || skip_rest "no $KNOB"
farswap_up 2
swap_on
make_cgroup ftrace 16M
check "kernel.ftrace_enabled=0 does not remove the hooks" refused
check "pages still go out to donors, contents are right" pages_go
check "farswap can be detached" eval 'echo 0 >"$FARSWAP/attached"'
if can_be_off; then
	check "attaching without ftrace is refused with a reason" attach_refused
else
	skip_one "this kernel does not let ftrace be switched off"
fi
check "farswap attaches after ftrace is enabled" attach_again
test_end
