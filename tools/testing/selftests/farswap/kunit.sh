#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The KUnit suites, in kernels that build them into farswap and its transport: they run when the
# modules are loaded, and loading waits for them.
# cluster: donors=0 mem=192 disks=1 tree=1 kunit.enable=1 fs.hung=120
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

RESULTS=/sys/kernel/debug/kunit

# suite NAME: all its cases passed, and there are some
suite() {
	cat "$RESULTS/farswap_$1/results" || return 1
	grep -q '^ *ok ' "$RESULTS/farswap_$1/results" &&
		! grep -q 'not ok \|# SKIP' "$RESULTS/farswap_$1/results"
}

SUITES="activity address attempts backup compress donor evict giveway guard latency load"
SUITES="$SUITES mapping noise pack packmap placement poll protect rdma_cm rdma_conn rdma_io"
SUITES="$SUITES rdma_keepalive rdma_message rdma_port rdma_probe rdma_resume sessions slab"
SUITES="$SUITES slabmap staging tail trend window wire"

# Every suite is in the list.
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
check "there are no other suites" no_others
test_end
