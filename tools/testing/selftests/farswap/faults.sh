#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The core alone, over the RAM transport (tools/testing/modules), which fails on request: I/O
# completes at once, late, or with an error, is refused, or ends its session; regions are evicted.
# No byte is wrong.
# cluster: donors=0 mem=384 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

suspended() {
	resumes_before=$(resumes)
	with delay_us 200 suspend_ms 300 fail_every 499 -- store_refused load_fallback &&
		echo "$resumes_before sessions resumed before, $(resumes) now" &&
		[ "$(resumes)" -gt "$resumes_before" ] && same slab_lost donor_down
}

suspended_too_long() {
	set_value "$FARSWAP/grace_ms" 200
	with delay_us 200 suspend_ms 1000 fail_every 499 -- donor_down donor_up slab_lost
}

# New replicas are written with all pages, while newer versions are stored.
copies_come_late() {
	stats_save
	echo 200 >"$RAM/delay_us"
	echo 50000 >"$RAM/late_us"
	echo 16 >"$RAM/evict"
	wait_for 40 eval 'grown repaired 150 && grew replica_left replica_mapped store_remote'
	late_status=$?
	echo 0 >"$RAM/late_us"
	echo 0 >"$RAM/delay_us"
	return "$late_status"
}

# Interrupt the detach while it fetches sole copies.
detach_interrupted() {
	stats_save
	echo 200000 >"$RAM/delay_us"
	sh -c 'echo 0 >"$1"' - "$FARSWAP/attached" &
	impatient=$!
	sleep 0.3
	kill -TERM "$impatient"
	sleep 0.5
	echo 0 >"$RAM/delay_us"
	wait "$impatient"
	grep -qx 0 "$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" &&
		wait_for 20 donors_live 2 && wait_for 20 grew store_remote
}

evicts() {
	evict_rounds=0
	while [ "$evict_rounds" -lt 10 ]; do
		evict_rounds=$((evict_rounds + 1))
		echo 4 >"$RAM/evict"
		sleep 0.2
	done
}

evicted() {
	stats_save
	evicts
	wait_for 20 grew slab_evicted slab_mapped store_remote load_remote
}

test_begin 21
has_ram || skip_rest "no module farswap-ram"
check "farswap runs over the RAM transport" use_ram || skip_rest "it cannot be used"
swap_on
make_cgroup faults 20M
stats_save
start_load faults faults -m 44 -p 2 -d 280 -r 50 -w 40 -u 2 -o 5 -z 3 -i 20
check "I/O completes inside its submission" wait_for 40 grew store_remote load_remote
check "I/O is slow" with delay_us 500 -- store_remote load_remote
check "I/O fails" with delay_us 200 keep_session 1 fail_every 31 -- \
	store_write_failed load_fallback
check "I/O fails inside its submission" with keep_session 1 fail_every 31 -- \
	store_write_failed load_fallback
check "I/O is refused" with refuse_every 29 -- store_refused load_fallback
check "sessions fail" with delay_us 200 fail_every 499 -- donor_down donor_up slab_lost
check "sessions that are suspended and resumed" suspended
check "sessions that are suspended and not resumed in time" suspended_too_long
check "all of these at once" with delay_us 300 fail_every 307 refuse_every 211 -- \
	donor_down store_refused store_write_failed load_fallback
check "regions are evicted" evicted
set_value "$FARSWAP/backup" replica
set_value "$FARSWAP/grace_ms" 10000
stats_save
check "pages have two replicas" wait_for 40 grew replica_mapped repaired
check "one replica fails writes or reads" with delay_us 200 keep_session 1 \
	fail_every 31 -- store_partial repaired load_remote
check "both sessions are suspended, alternating" \
	with delay_us 200 suspend_ms 300 fail_every 499 -- \
	store_partial repaired load_remote
check "late replica writes do not overwrite newer stores" copies_come_late
check "regions of either replica are evicted" eval \
	'stats_save; evicts; wait_for 20 grew replica_left replica_mapped'
check "an interrupted detach changes nothing" detach_interrupted
check --data "memory contents are right" stop_load faults
stats_show
check --data "no page is lost" eval 'stat_is load_lost 0 && stat_is lost 0'
check --data "no remote bit outlives its slot" no_orphaned_pages
swapoff "$SWAP_DISK"
check "the RDMA transport is back" leave_ram
test_end
