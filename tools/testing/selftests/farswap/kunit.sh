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

test_begin 16
modprobe farswap || skip_rest "no farswap module"
modprobe farswap-rdma || bail "no transport"
[ -d "$RESULTS" ] || skip_rest "no KUnit in this kernel"
for name in activity address backup donor eviction latency placement poll rdma_io rdma_resume \
	rdma_session slab slabmap trend window wire; do
	check "$name" suite "$name"
done
test_end
