#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Backup writes are made from staging pages, after writeback has ended. Here the device delays
# writes, and later ones overtake them. Pages go out at the network's pace; staged pages are read
# from staging memory; the device never keeps a page older than it should, and no write reaches it
# once swapoff has returned.
# cluster: donors=2 mem=384 disks=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

DISK=/sys/module/farswap_disk/parameters
# Longer than a load takes to page out a megabyte.
HOLD_MS=$((1000 * ${SLOW:-1} * ${SLOW:-1}))

hold() {
	echo "$1" >"$DISK/hold_every" && echo "$2" >"$DISK/hold_ms"
}

# The disk releases all delayed writes at once, so that nothing may be staged between two polls.
stores_run_ahead() {
	stats_save
	wait_for 60 stat_above staged_pages 200 && same store_unstaged &&
		wait_for 60 grew load_staged
}

# Hardly more slots than are in use, so that slots are soon reused.
SWAP_KB=28672

# A pool with a page for each concurrent page-out, and no pool.
pool_is_small() {
	for small_mb in 1 0; do
		set_value "$FARSWAP/staging_mb" "$small_mb" && stats_save &&
			wait_for 60 grew store_unstaged store_remote || return 1
	done
	wait_for 20 stat_is staged_pages 0
}

# Slots are freed and stored again while a write of them is in flight, and every page is read from
# the device.
device_is_right() {
	stats_save
	wait_for 120 grown backup_stale 100 || grown backup_stale 20 || return 1
	right_list=$(cat "$FARSWAP/donors")
	echo 0 >"$FARSWAP/enabled"
	echo >"$FARSWAP/donors"
	data stop_load ahead && grew load_device || return 1
	echo 1 >"$FARSWAP/enabled"
	echo "$right_list" >"$FARSWAP/donors"
	wait_for 30 donors_live 2
}

order_has_changed() {
	echo "delayed writes: $(($(cat "$DISK/held") - order_held))"
	[ "$(cat "$DISK/held")" -gt $((order_held + 30)) ] &&
		grew store_remote store_disabled backup_written backup_stale load_device
}

zswap_wrote_back() {
	awk '$1 == "zswpwb" { print $2 }' /proc/vmstat
}

# zswap stores pages whose older contents it had refused, and writes others back.
zswap_takes() {
	order_has_changed && grew zswap_accepted || return 1
	echo "zswap wrote $(($(zswap_wrote_back) - zswap_before)) pages back"
	[ "$(zswap_wrote_back)" -gt "$zswap_before" ]
}

# order_changes CONDITION: stores go to donors, then to the device alone, with staged writes in
# flight, and every page is read from there. Three times, or until the condition holds or a minute
# has passed.
order_changes() {
	order_list=$(cat "$FARSWAP/donors")
	order_held=$(cat "$DISK/held")
	order_until=$(($(date +%s) + 60))
	stats_save
	for order_round in $(seq 20); do
		[ "$order_round" -le 3 ] || ! "$1" || break
		[ "$(date +%s)" -lt "$order_until" ] || break
		echo "round $order_round"
		echo 0 >"$FARSWAP/enabled"
		echo >"$FARSWAP/donors"
		sleep 1
		echo 1 >"$FARSWAP/enabled"
		echo "$order_list" >"$FARSWAP/donors"
		wait_for 30 donors_live 2 || return 1
		sleep 2
		load_runs order || return 1
	done
	"$1"
}

# The load has exited and freed its slots while writes of them are in flight. The owner may reuse
# the device once swapoff has returned.
swapoff_waits() {
	hold 1 5000
	for going_round in 1 2 3 4 5; do
		start_load going staging -m 40 -p 1 -d 60 -w 80 -i 0
		wait_for 60 stat_above staged_pages 200 || return 1
		kill_load going
		echo "round $going_round, staged: $(stat_of staged_pages)"
		! stat_above staged_pages 50 || break
	done
	stat_above staged_pages 50 || return 1
	swapoff "/dev/farswap-disk" || return 1
	tr '\0' 'x' </dev/zero | dd of="$SWAP_DISK" bs=64k count=448 iflag=fullblock \
		conv=fsync 2>/dev/null || return 1
	sleep 6 # longer than they are held
	echo 1 >/proc/sys/vm/drop_caches
	dd if="$SWAP_DISK" bs=64k count=448 2>/dev/null | tr -d 'x' | wc -c >"$TMP/changed"
	echo "bytes that changed after swapoff: $(cat "$TMP/changed")"
	data [ "$(cat "$TMP/changed")" -eq 0 ]
}

test_begin 12
modprobe farswap-disk "device=$SWAP_DISK" 2>"$TMP/disk" ||
	skip_rest "no module farswap-disk: $(cat "$TMP/disk")"
[ -b "$SWAP_DISK2" ] || skip_rest "no second disk"
farswap_up 2
set_value "$FARSWAP/staging_mb" 16
swap_on /dev/farswap-disk 1
make_cgroup staging 24M
hold 1 "$HOLD_MS"
start_load ahead staging -m 42 -p 2 -d 250 -w 60 -i 0
check "page-outs do not wait for the device, staged pages are read from memory" \
	stores_run_ahead
check "with few or no staging pages, page-outs wait for the device" pool_is_small
set_value "$FARSWAP/staging_mb" 16
# The load would go on, and make all that follows too slow to end in time.
check "late writes of reused slots: the device is right" device_is_right || {
	donors_show
	bail "too few late writes"
}
hold 2 "$HOLD_MS"
start_load order staging -m 42 -p 3 -d 250 -w 60 -u 3 -o 10 -z 3 -c 50 -i 0
check "late and reordered writes, reused slots" \
	order_changes order_has_changed || donors_show
# Slots outlive a page-in only while half of them are free.
swap_on "$SWAP_DISK2"
# A small pool: later kernels also keep incompressible pages there, and the device would get none.
set_value "$ZSWAP/max_pool_percent" 3
[ ! -e "$CGROUP/staging/memory.zswap.max" ] || echo 1M >"$CGROUP/staging/memory.zswap.max"
set_value "$ZSWAP/enabled" Y
zswap_before=$(zswap_wrote_back)
check "zswap stores pages with a backup write in flight" order_changes zswap_takes ||
	donors_show
set_value "$ZSWAP/enabled" N
check --data "memory contents are right" stop_load order
swapoff "$SWAP_DISK2"
check "pending backup writes complete" wait_for 20 stat_is staged_pages 0
check --data "no remote bit outlives its slot" no_orphaned_pages
check "no write reaches the device after swapoff" swapoff_waits
hold 0 100
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no sole copy is lost" stat_is lost 0
check "the disk can be removed" rmmod farswap_disk
test_end
