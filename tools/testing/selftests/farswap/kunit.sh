#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# KUnit's suites, where they were built into farswap and its transport: they run when those
# are loaded, and whoever loads them waits.
# cluster: donors=0 mem=192 disks=1 tree=1 kunit.enable=1 fs.hung=120
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

RESULTS=/sys/kernel/debug/kunit

# suite NAME: all its cases were good, and there were some
suite() {
	cat "$RESULTS/farswap_$1/results" || return 1
	grep -q '^ *ok ' "$RESULTS/farswap_$1/results" &&
		! grep -q 'not ok \|# SKIP' "$RESULTS/farswap_$1/results"
}

SUITES="activity address backup copy donor eviction giveway latency placement poll rdma_cm rdma_conn"
SUITES="$SUITES rdma_io rdma_message rdma_resume rdma_session rdma_watch slab slabmap staging trend window wire"

# There is none that isn't looked at.
no_others() {
	for other in "$RESULTS"/farswap_*; do
		echo "$other"
		case " $SUITES " in
		*" ${other##*/farswap_} "*) ;;
		*) return 1 ;;
		esac
	done
}

test_begin $(($(echo "$SUITES" | wc -w) + 1))
farswap_load
modprobe farswap-rdma || bail "no transport"
[ -d "$RESULTS" ] || skip_rest "no KUnit in this kernel"
for name in $SUITES; do
	check --data "$name" suite "$name"
done
check "these are all" no_others
test_end
