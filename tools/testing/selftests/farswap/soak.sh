#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Anonymous memory of several processes, twice the machine's RAM, keeps its contents while it is
# read and written at random for SOAK_SECONDS (default 8), after it has been filled and before all
# is verified. By default, huge pages reserve a third of the RAM first. A slow kernel needs more
# memory for itself: there, memory is twice a cgroup's limit.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

whole=${SOAK_SECONDS:-}
SOAK_SECONDS=${SOAK_SECONDS:-8}
group=-
CLUSTER=/proc/sys/vm/page-cluster

# ram_mb: RAM without huge pages
ram_mb() {
	awk '$1 == "MemTotal:" { kb += $2 } $1 == "Hugetlb:" { kb -= $2 }
		END { print int(kb / 1024) }' /proc/meminfo
}

summary() {
	sed -n 's/.*\(wrong_bytes=.*\) lost.*\(longest_ms=[0-9]*\).*/\1 \2/p' "$TMP/soak.log" |
		tail -n 1 | tee "$TMP/summary"
	data grep -q "^wrong_bytes=0 " "$TMP/summary" &&
		[ "$(sed 's/.*longest_ms=//' "$TMP/summary")" -lt 60000 ]
}

# faults_put_out CLUSTER: page-outs happen in faults with that page-cluster
faults_put_out() {
	echo "$1" >"$CLUSTER"
	# Wait for pending faults.
	sleep 0.5
	wait_for 60 stat_above store_in_fault $(($(stat_of store_in_fault) + 20))
}

test_begin 7
farswap_up 2
swap_on
ram=$(ram_mb)
if [ -z "$whole" ] && [ "${SLOW:-1}" -eq 1 ]; then
	set_value /proc/sys/vm/nr_hugepages $((ram / 6))
	ram=$(ram_mb)
fi
if [ "${SLOW:-1}" -gt 1 ] && [ "$ram" -gt 160 ]; then
	ram=160
	group=soak
	make_cgroup soak "${ram}M"
fi
set_value "$CLUSTER" 3
start_load soak "$group" -m $((2 * ram)) -p 4 -d "$SOAK_SECONDS" -w 50 -s "${SOAK_SEED:-1}" -i 10
if [ "$group" = - ]; then
	check "page-outs in a fault do not wait for others" faults_put_out 3
	check "nor without readahead" faults_put_out 0
	echo 3 >"$CLUSTER"
else
	skip_one "memory.high is looked at after a fault"
	skip_one "memory.high is looked at after a fault"
fi
check --data "memory contents are right at twice RAM for $SOAK_SECONDS s" wait_load soak
check "no wrong byte, longest access below a minute" summary
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
