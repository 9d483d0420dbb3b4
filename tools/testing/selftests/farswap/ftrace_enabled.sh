#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Nobody can switch ftrace off under farswap: its hooks would vanish and pages
# that are only remote with them.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

KNOB=/proc/sys/kernel/ftrace_enabled
refused() {
	! echo 0 >"$KNOB" && [ "$(cat "$KNOB")" = 1 ]
}

test_begin 4
[ -e "$KNOB" ] || skip_rest "no $KNOB"
farswap_up 2
swap_on
make_cgroup ftrace 24M
check "kernel.ftrace_enabled=0 is refused while attached" refused
check "pages still go to donors and are right" in_cgroup ftrace "$LOAD" -m 40 -n 1000
check "there were such pages" grew store_remote load_remote
check "it is allowed when detached" eval \
	'echo 0 >"$FARSWAP/attached" && set_value "$KNOB" 0 && echo 1 >"$KNOB" && echo 1 >"$FARSWAP/attached"'
test_end
