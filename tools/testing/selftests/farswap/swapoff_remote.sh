#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# swapoff fetches all remote pages, and the program that owns them finds them right afterwards.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

TRACE=/sys/kernel/tracing/instances/farswap-swapoff

# traced_swapoff: trace that the kernel notifies the core
traced_swapoff() {
	if mkdir -p "$TRACE" 2>/dev/null && grep -qw function "$TRACE/available_tracers"; then
		echo farswap_swapoff_drain >"$TRACE/set_ftrace_filter" &&
			echo function >"$TRACE/current_tracer" || return 1
	fi
	swapoff "$SWAP_DISK"
}

# was_drained: once, before the extents were freed, when it is still useful
was_drained() {
	if ! grep -qsw function "$TRACE/current_tracer"; then
		echo "no function tracer in this kernel"
		return
	fi
	drained=$(grep -c ' farswap_swapoff_drain <-' "$TRACE/trace")
	echo nop >"$TRACE/current_tracer"
	rmdir "$TRACE"
	echo "drained $drained times"
	[ "$drained" -eq 1 ]
}

test_begin 8
farswap_up 2
swap_on
make_cgroup off 11M
check "memory is filled and goes out to donors" hold_remote off off 2 1000 -m 28 -n 1000
# Pages read by swapoff are charged to their owner.
echo max >"$CGROUP/off/memory.high"
check "swapoff succeeds" traced_swapoff
check "pending backup writes were drained" was_drained
stats_show
check "pages came in from donors" grew load_remote
check "no region is lent" wait_for 90 lent_is -eq 0
swap_on
echo 11M >"$CGROUP/off/memory.high"
go_on off
check --data "memory contents are right, also after the next swapon" wait_load off
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
