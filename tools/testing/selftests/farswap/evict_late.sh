#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=none: a donor wants memory back faster than pages can be saved. A disk that is too
# slow for them costs none, where there is memory, nor do stores that wait for one; and what
# does not come in time is all that is lost: the donor's other regions are not.
# cluster: donors=2 mem=192 disks=1 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_dm.sh
. "$HERE/_dm.sh"

# waits MS: the donor that is asked, alone
waits() {
	set_value "$FARSWAP/backup" disk
	echo >"$FARSWAP/donors"
	donor_kill "$asked"
	donor_start "$asked" evict_ms="$1" && echo "$asked" >"$FARSWAP/donors" &&
		wait_for 60 donors_live 1 && set_value "$FARSWAP/backup" none
}

# For what can't be staged at once the disk would take longer than the donor waits. It begins
# with regions that have no pages, if there are any.
slow_disk() {
	stats_save
	host iops "${SWAP_DISK##*/}" 10 || return 1
	for slow_try in 1 2 3; do
		on "$asked" 'farswapctl evict 8'
		wait_for 30 grown slab_evicted $((7 * slow_try))
		slow_status=$?
		sleep 1
		if [ "$slow_status" -ne 0 ] || grew fetched; then
			break
		fi
	done
	echo "fetched $(stat_delta fetched), lost $(stat_delta lost)"
	host iops "${SWAP_DISK##*/}" 0
	[ "$slow_status" -eq 0 ] && grew fetched && same lost slab_lost donor_down
}

# fetched_all SECONDS: some pages are fetched, and then no more
fetched_all() {
	wait_for "$1" eval 'fetched_now=$(stat_delta fetched); sleep 2
		[ "$fetched_now" -gt 0 ] && [ "$(stat_delta fetched)" -eq "$fetched_now" ]'
}

# Slabs have pages that nobody else has, and others that are on their way to a disk that
# takes nothing.
stores_wait() {
	set_value "$FARSWAP/staging_mb" 0
	set_value "$FARSWAP/backup" disk
	go_on still
	sleep 1
	stats_save
	dm_hold || return 1
	reclaim late &
	fetched_now=0
	wait_for 10 grown store_unstaged 20
	stores_status=$?
	on "$asked" 'farswapctl evict all' >"$TMP/evict" &
	stores_evict=$!
	fetched_all 30 || stores_status=1
	# Whatever has failed: all that follows needs the disk.
	dm_works && wait "$stores_evict" || return 1
	cat "$TMP/evict"
	echo "$fetched_now fetched while the disk took nothing"
	echo "fetched $(stat_delta fetched), lost $(stat_delta lost)"
	# Hardly any had to wait for the disk.
	[ "$stores_status" -eq 0 ] && [ $((fetched_now * 5)) -ge $(($(stat_delta fetched) * 4)) ] &&
		same lost slab_lost donor_down
}

# The donor begins with regions that have no pages, if there are any. Those that have some it
# gets in time, with what is left of them.
some_come_late() {
	stats_save
	host delay "$(donor_name "$asked")" $((50 * ${SLOW:-1})) || return 1
	for late_try in 1 2 3; do
		on "$asked" 'farswapctl evict 8' >"$TMP/late"
		cat "$TMP/late"
		wait_for 10 grew lost
		late_status=$?
		[ "$late_status" -ne 0 ] || break
		echo "try $late_try: in vain"
	done
	host delay "$(donor_name "$asked")" 0
	echo "fetched $(stat_delta fetched), lost $(stat_delta lost)"
	[ "$late_status" -eq 0 ] && grep -q ' 0 revoked' "$TMP/late"
}

# Eight slabs at most.
others_are_right() {
	wait_load late
	late_lost=$(sed -n 's/.* wrong_bytes=0 lost_pages=\([0-9]*\).*/\1/p' "$TMP/late.log" | tail -n 1)
	[ "${late_lost:-0}" -gt 0 ] && [ "$late_lost" -le 4096 ]
}

test_begin 12
patient_donors || bail "no donors"
farswap_up 2
dm_make >"$TMP/dm" 2>&1 || skip_rest "no device mapper: $(cat "$TMP/dm")"
swap_on "$DM_DEVICE"
make_cgroup late 16M
asked=${DONORS%% *}
set_value "$FARSWAP/staging_mb" 1
check "a donor that waits twenty seconds" waits $((20000 * ${SLOW:-1})) || donors_show
check "pages are where nobody else has them" hold_remote slow late 1 4000 -m 30 -n 1000 -L ||
	skip_rest "there are none"
check "a slow disk costs no page if there is memory" slow_disk
go_on slow
check --data "memory is right" wait_load slow
waits $((60000 * ${SLOW:-1})) || bail "no donor that waits a minute"
# A reader of a page on the disk waits with it.
set_value /proc/sys/kernel/hung_task_timeout_secs $((60 * ${SLOW:-1}))
check "pages are where nobody else has them, again" hold_remote still late 4 3000 -m 32 -n 600 \
	-w 80 || skip_rest "there are none"
check "nor do stores that wait for the disk" stores_wait
check --data "memory is right" wait_load still
set_value "$FARSWAP/staging_mb" 1
waits $((2000 * ${SLOW:-1})) || bail "no donor that waits two seconds"
check "and once more" hold_remote late late 1 4000 -m 30 -n 1000 -L || skip_rest "there are none"
check "a donor far away, that waits two seconds, gets its regions, not all pages come" some_come_late
check "it is a donor still, with its other slabs" eval 'same slab_lost donor_down && donors_live 1'
go_on late
check --data "these are right, and who needs what is lost gets SIGBUS" others_are_right
set_value "$FARSWAP/backup" disk
# Other tests look at whether anything was ever lost.
check "what has lost pages can be unloaded" eval 'swapoff "$DM_DEVICE" && dm_end && reload_modules'
test_end
