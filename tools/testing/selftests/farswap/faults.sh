#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The core alone, over a transport without a network (tools/testing/modules) that
# fails at will: I/O that ends at once, late, with an error, is refused, takes
# its session with it; regions asked back. No wrong byte over any of it.
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

# Replicas that are made anew are given all their pages, while there are newer ones.
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

# Somebody has had enough of waiting for it, while what only donors have is read.
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
check "farswap over memory of this machine" use_ram || skip_rest "it cannot be used"
swap_on
make_cgroup faults 20M
stats_save
start_load faults faults -m 44 -p 2 -d 280 -r 50 -w 40 -u 2 -o 5 -z 3 -i 20
check "I/O that ends inside its submission" wait_for 40 grew store_remote load_remote
check "I/O that takes its time" with delay_us 500 -- store_remote load_remote
check "I/O that fails" with delay_us 200 keep_session 1 fail_every 31 -- \
	store_write_failed load_fallback
check "I/O that fails inside its submission" with keep_session 1 fail_every 31 -- \
	store_write_failed load_fallback
check "I/O that is refused" with refuse_every 29 -- store_refused load_fallback
check "sessions that fail" with delay_us 200 fail_every 499 -- donor_down donor_up slab_lost
check "sessions that are suspended and go on" suspended
check "sessions that are suspended and don't go on in time" suspended_too_long
check "all of it at once" with delay_us 300 fail_every 307 refuse_every 211 -- \
	donor_down store_refused store_write_failed load_fallback
check "regions asked back" evicted
set_value "$FARSWAP/backup" replica
set_value "$FARSWAP/grace_ms" 10000
stats_save
check "pages at both" wait_for 40 grew replica_mapped repaired
check "one that fails to write them, or to read" with delay_us 200 keep_session 1 \
	fail_every 31 -- store_partial repaired load_remote
check "both suspended by turns" with delay_us 200 suspend_ms 300 fail_every 499 -- \
	store_partial repaired load_remote
check "copies that come late, of pages that were stored to meanwhile" copies_come_late
check "regions asked back of either" eval \
	'stats_save; evicts; wait_for 20 grew replica_left replica_mapped'
check "a detach that is interrupted loses nothing" detach_interrupted
check --data "memory was right all the time" stop_load faults
stats_show
check --data "no page was lost" eval 'stat_is load_lost 0 && stat_is lost 0'
check --data "no remote bit outlives its slot" no_orphaned_pages
swapoff "$SWAP_DISK"
check "back to the network" leave_ram
test_end
