#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=none: a donor evicts regions faster than their pages can be saved. A slow disk loses no
# page while there is memory, and stores that wait for the disk do not delay an eviction; only
# pages that are late are lost, and the donor's other regions stay.
# cluster: donors=2 mem=192 disks=1 slab_mb=2 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_dm.sh
. "$HERE/_dm.sh"

# waits MS: use only this donor, with that evict_ms
waits() {
	set_value "$FARSWAP/backup" disk
	echo >"$FARSWAP/donors"
	donor_kill "$asked"
	donor_start "$asked" evict_ms="$1" && echo "$asked" >"$FARSWAP/donors" &&
		wait_for 60 donors_live 1 && set_value "$FARSWAP/backup" none
}

# Pages that cannot be staged at once would take the disk longer than evict_ms. The donor begins
# with regions without pages, if there are any.
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

# fetched_all SECONDS: some pages have been fetched, and fetching has ended
fetched_all() {
	wait_for "$1" eval 'fetched_now=$(stat_delta fetched); sleep 2
		[ "$fetched_now" -gt 0 ] && [ "$(stat_delta fetched)" -eq "$fetched_now" ]'
}

# Slabs have sole copies, and other pages on their way to a disk that takes nothing.
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
	# Whatever has failed, all later checks need the disk.
	dm_works && wait "$stores_evict" || return 1
	cat "$TMP/evict"
	echo "$fetched_now fetched while the disk took nothing"
	echo "fetched $(stat_delta fetched), lost $(stat_delta lost)"
	# Hardly any page waited for the disk.
	[ "$stores_status" -eq 0 ] && [ $((fetched_now * 5)) -ge $(($(stat_delta fetched) * 4)) ] &&
		same lost slab_lost donor_down
}

# The donor begins with regions without pages, if there are any. It gets those with pages in time,
# and the pages that have not arrived are lost.
some_come_late() {
	stats_save
	host delay "$(donor_name "$asked")" $((50 * ${SLOW:-1})) || return 1
	for late_try in 1 2 3; do
		on "$asked" 'farswapctl evict 8' >"$TMP/late"
		cat "$TMP/late"
		wait_for 10 grew lost
		late_status=$?
		[ "$late_status" -ne 0 ] || break
		echo "try $late_try: no page was lost"
	done
	host delay "$(donor_name "$asked")" 0
	echo "fetched $(stat_delta fetched), lost $(stat_delta lost)"
	[ "$late_status" -eq 0 ] && grep -q ' 0 revoked' "$TMP/late"
}

# Pages of eight slabs at most.
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
check "a donor waits twenty seconds" waits $((20000 * ${SLOW:-1})) || donors_show
check "the donor has the only copies" hold_remote slow late 1 4000 -m 30 -n 1000 -L ||
	skip_rest "there are none"
check "a slow disk loses no page while there is memory" slow_disk
go_on slow
check --data "memory contents are right" wait_load slow
waits $((60000 * ${SLOW:-1})) || bail "no donor that waits a minute"
# A page-in from the disk waits as long as the disk.
set_value /proc/sys/kernel/hung_task_timeout_secs $((60 * ${SLOW:-1}))
check "the donor has the only copies, again" hold_remote still late 4 3000 -m 32 -n 600 \
	-w 80 || skip_rest "there are none"
check "stores waiting for the disk do not delay an eviction" stores_wait
check --data "memory contents are right" wait_load still
set_value "$FARSWAP/staging_mb" 1
waits $((2000 * ${SLOW:-1})) || bail "no donor that waits two seconds"
check "the donor has the only copies, a third time" \
	hold_remote late late 1 4000 -m 30 -n 1000 -L || skip_rest "there are none"
check "a distant donor evicts before all pages arrive" some_come_late
check "the donor keeps its other slabs" eval 'same slab_lost donor_down && donors_live 1'
go_on late
check --data "the other pages are right; access to lost ones raises SIGBUS" others_are_right
set_value "$FARSWAP/backup" disk
# Other tests check that no page was ever lost.
check "the modules can be unloaded after pages were lost" \
	eval 'swapoff "$DM_DEVICE" && dm_end && reload_modules'
test_end
