#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a kernel that reads large folios whole: a folio that cannot be read is dropped, and its pages
# are read one by one. Neither a fault nor swapoff sees a folio without its contents, over a
# transport that fails on request.
# cluster: donors=0 mem=384 disks=1 tree=1 zswap.enabled=0
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

TRACE=/sys/kernel/tracing/instances/farswap-test

# loaded COMMAND...: run it with a new load, and verify that; a new one, because small folios do
# not become large again, nor do pages that went out before a slab was mapped
loaded() {
	for loaded_try in 1 2 3; do
		start_load large large -m 48 -p 2 -t huge -d 120 -w 30 -u 2 -o 25 -i 20
		"$@"
		loaded_status=$?
		data stop_load large || return 1
		[ "$loaded_status" -ne 0 ] || break
		echo "try $loaded_try: not seen"
	done
	return "$loaded_status"
}

whole() {
	echo 1 >"$TRACE/events/farswap/farswap_load_end/enable"
	wait_for 40 grep -q "farswap_load_end: .*pages=16 error=0" "$TRACE/trace"
	whole_status=$?
	echo 0 >"$TRACE/events/farswap/farswap_load_end/enable"
	return "$whole_status"
}

# Every few reads fail while swapoff reads all pages.
swapoffs() {
	stats_save
	echo 1 >"$RAM/keep_session"
	echo 200 >"$RAM/delay_us"
	# Pages that swapoff has read are in small folios from then on.
	echo 5 >"$RAM/fail_every"
	wait_for 40 grew load_split
	swapoffs_split=$?
	swapoffs_done=0
	while [ "$swapoffs_split" -eq 0 ] && [ "$swapoffs_done" -lt 3 ]; do
		echo 5 >"$RAM/fail_every"
		sleep 3
		swapoff "$SWAP_DISK" || break
		echo 0 >"$RAM/fail_every"
		swap_on
		sleep 2
		swapoffs_done=$((swapoffs_done + 1))
	done
	echo 0 >"$RAM/fail_every"
	echo 0 >"$RAM/delay_us"
	echo 0 >"$RAM/keep_session"
	echo "swapoff $swapoffs_done times"
	[ "$swapoffs_done" -eq 3 ]
}

test_begin 8
has_ram || skip_rest "no module farswap-ram"
if ! is_direct || [ -e /sys/kernel/debug/zswap ] || [ ! -e "$THP/hugepages-64kB/enabled" ] ||
	! mkdir -p "$TRACE"; then
	skip_rest "large folios are not read whole here"
fi
check "farswap runs over the RAM transport" use_ram || skip_rest "it cannot be used"
set_value "$THP/enabled" madvise
set_value "$THP/hugepages-64kB/enabled" always
set_value "$THP/hugepages-2048kB/enabled" never
swap_on
# Prefetched pages are small folios, and go out as such.
set_value "$FARSWAP/prefetch_pages" 0
make_cgroup large 24M
stats_save
check "64 KiB folios come in whole" loaded whole
rmdir "$TRACE"
check "reads fail" loaded with delay_us 300 keep_session 1 fail_every 7 -- \
	load_split load_remote
check "reads fail inside their submission" loaded with keep_session 1 fail_every 7 -- \
	load_split load_remote
check "swapoff during failing reads" loaded swapoffs
stats_show
check --data "no page is lost" eval 'stat_is load_lost 0 && stat_is lost 0'
check --data "no remote bit outlives its slot" no_orphaned_pages
check "the RDMA transport is back" eval 'swapoff "$SWAP_DISK" && leave_ram'
test_end
