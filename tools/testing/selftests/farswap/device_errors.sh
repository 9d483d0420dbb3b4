#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The swap device fails every write for a while. Pages that a donor has stay there alone, and move
# when it evicts them; what the device cannot take then stays in staging memory. A page that no
# donor has stays dirty in memory. No wrong byte is ever read.
# cluster: donors=2 mem=192 disks=1 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# shellcheck source=_dm.sh
. "$HERE/_dm.sh"

# Evict regions that have the only copies.
regions_go() {
	sleep 3 # until the copies in staging memory have been given up
	stats_save
	on "$asked" 'farswapctl evict all' && wait_for 20 grew slab_evicted moved
}

detach_is_refused() {
	log_mark
	stats_save
	! echo 0 >"$FARSWAP/attached" 2>/dev/null &&
		log_has 'a swap device fails to write pages that it is to have' &&
		[ "$(cat "$FARSWAP/attached")" = 1 ]
}

# A slab that is being mapped may be given back; all others stay.
refused_at_once() {
	wait_for 30 stat_above mapped_slabs 8 && detach_is_refused &&
		growth_is -le 2 slab_unmapped
}

test_begin 15
command -v dmsetup >/dev/null || skip_rest "no dmsetup"
dm_make >"$TMP/dm" 2>&1 || skip_rest "no device mapper: $(cat "$TMP/dm")"
asked=${DONORS%% *}
# While the device fails, pages in regions that are not given back in time are lost.
patient_donors || bail "no donors"
farswap_up 2
swap_on "$DM_DEVICE"
make_cgroup errors 16M
start_load errors errors -m 28 -p 2 -d 250 -r 50 -w 50 -i 5
check "pages go out to donors and come in" pages_go_and_return 1000
stats_save
check "the device begins to fail writes" dm_fails_writes
check "backup writes fail" wait_for 30 grew backup_failed
check "pages still go out to donors and come in" wait_for 30 grew store_remote load_remote
set_value "$FARSWAP/backup" none
check "no write is pending" wait_for 30 stat_is staged_pages 0
check "a detach is refused before any page is fetched" refused_at_once
set_value "$FARSWAP/backup" disk
check "eviction preserves sole copies" regions_go
check "a detach that would lose pages is refused" detach_is_refused
set_value "$FARSWAP/staging_mb" 0
stats_save
check "without staging, the pages stay dirty" wait_for 30 grew store_device_failed
sleep 2
check "the device works again" dm_works
stats_save
check "pages go out to donors and come in again" wait_for 60 grew store_remote load_remote
check --data "memory contents are right" stop_load errors
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
swapoff "$DM_DEVICE"
check "the device can be removed" dm_end
test_end
