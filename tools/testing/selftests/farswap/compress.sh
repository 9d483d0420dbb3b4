#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compressed pages in packed slabs, over the RAM transport: page-out and page-in, evictions, lost
# and suspended donors, replicas, a donor that returns garbage, zswap above, detach, and a switch
# of the setting while all pages are in use; packed slabs with few pages become one. No byte is wrong.
# cluster: donors=0 mem=384 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

TRACING=/sys/kernel/tracing
ZSWAP=/sys/module/zswap/parameters/enabled

refused() {
	set_value "$FARSWAP/compress" zip 2>/dev/null && return 1
	log_has 'compress: "zip" is no good; give none or lz4' && grep -qx none "$FARSWAP/compress"
}

# Compressible pages take half of a page at most, so all pages take less than pages do.
takes_less() {
	stats_save
	wait_for 60 stat_above packed_pages 1000 || return 1
	units=$(stat_of packed_units)
	pages=$(stat_of packed_pages)
	bytes=$(stat_of packed_bytes)
	echo "$pages compressed pages of $bytes bytes; all packed pages take $units units"
	tool=$(farswapctl status) && echo "$tool" | grep "^packed " &&
		[ "$(stat_of packed_percent)" -lt 88 ] || return 1
	[ "$units" -lt $(($(stat_of remote_pages) * 7)) ] && [ "$bytes" -lt $((pages * 2048)) ] &&
		awk 'NR > 1 && $3 == "mapped" && $NF == 512 { found = 1 } END { exit !found }' \
			"$FARSWAP_DEBUG/slabs"
}

# Each event has the compressed size.
traced() {
	for traced_event in farswap_pack farswap_unpack; do
		echo 1 >"$TRACING/events/farswap/$traced_event/enable" || return 1
	done
	stats_save
	wait_for 20 grown store_packed 100 && wait_for 20 grown load_unpacked 100
	traced_status=$?
	echo 0 >"$TRACING/events/farswap/enable"
	grep -o "farswap_u*n*pack: .*" "$TRACING/trace" >"$TMP/trace"
	echo >"$TRACING/trace"
	tail -n 3 "$TMP/trace"
	[ $traced_status -eq 0 ] &&
		for traced_event in farswap_pack farswap_unpack; do
			[ "$(grep -c "^$traced_event: entry=.* bytes=[1-9][0-9]* good=1" "$TMP/trace")" -ge 90 ] ||
				return 1
		done
}

# The pages of a lost packed slab are read from the device and packed where they were: what is written
# there decompresses to the page.
rebuilt() {
	stats_save
	with delay_us 200 fail_every 99 -- slab_lost donor_up && wait_for 30 grown rebuilt 200 &&
		wait_for 40 grown load_unpacked 300 && same load_bad
}

# Pages that do not compress are sent as they are after a few attempts; others are still compressed.
not_attempted() {
	make_cgroup random 8M
	stats_save
	start_load random random -m 16 -p 1 -c 0 -d 10 -r 50 -w 40
	wait_for 40 grown compress_skipped 1000 && wait_for 20 grew store_packed
	not_attempted_status=$?
	kill_load random
	return "$not_attempted_status"
}

switched_off() {
	set_value "$FARSWAP/compress" none
	sleep 1
	stats_save
	wait_for 40 grew store_remote load_unpacked && same store_packed
}

switched_on() {
	set_value "$FARSWAP/compress" lz4
	stats_save
	wait_for 40 grew store_packed load_unpacked
}

evicted() {
	stats_save
	evict_rounds=0
	while [ "$evict_rounds" -lt 10 ]; do
		evict_rounds=$((evict_rounds + 1))
		echo 4 >"$RAM/evict"
		sleep 0.2
	done
	wait_for 20 grew "$@" store_packed load_unpacked
}

# Again and again: copies between regions read as well, and don't look at what they copy.
gets_garbage() {
	echo "$1" >"$RAM/corrupt" && sleep 0.2 && grew load_bad "$2"
}

# A page that does not decompress is read from the device, or from another region.
# garbage READS COUNTER: so many reads in a row return garbage
garbage() {
	stats_save
	wait_for 40 gets_garbage "$@"
	garbage_status=$?
	echo 0 >"$RAM/corrupt"
	sleep 1
	same load_lost && return "$garbage_status"
}

# All donors are left, and all pages are on the device; then they are packed again.
detached() {
	stats_save
	echo 0 >"$FARSWAP/attached" && stat_is packed_pages 0 &&
		echo 1 >"$FARSWAP/attached" && wait_for 20 donors_live 2 &&
		wait_for 40 grew store_packed load_unpacked
}

zswap_above() {
	[ -w "$ZSWAP" ] || return 0
	stats_save
	echo Y >"$ZSWAP" && wait_for 40 grew zswap_accepted
	zswap_status=$?
	echo N >"$ZSWAP"
	return "$zswap_status"
}

# Many processes page out at the same time, so each packed slab has pages of all; most of them end.
sparse() {
	make_cgroup gone 64M
	make_cgroup keep 64M
	start_load gone gone -m 40 -p 10 -c 100 -O -H "$TMP/gone.hold"
	start_load keep keep -m 6 -p 2 -c 100 -O -H "$TMP/keep.hold" -d 120 -r 60 -w 5
	wait_for 60 load_ready gone 10 && wait_for 60 load_ready keep 2 || return 1
	wait_for 20 stat_above pack_slabs 5 || return 1
	echo 1 >"$CGROUP/gone/cgroup.kill"
	wait_load gone >"$TMP/gone.end"
	echo 2M >"$CGROUP/keep/memory.max" && : >"$TMP/keep.hold.go"
	sparse_slabs=$(stat_of pack_slabs)
	echo "$sparse_slabs packed slabs, $(stat_of packed_units) units in use"
}

# In the end two slabs at most have less than a quarter of their 4096 units in use: one is alone, and
# one may have pages of other processes that were stored while there were two replicas.
less_slabs() {
	less_now=$(stat_of pack_slabs)
	[ "$less_now" -lt "$sparse_slabs" ] &&
		[ $((less_now - 2)) -le $(($(stat_of packed_units) / 1024)) ]
}

test_begin 32
has_ram || skip_rest "no module farswap-ram"
check "farswap runs over the RAM transport" use_ram || skip_rest "it cannot be used"
check "an unknown compressor is refused" refused
set_value "$FARSWAP/compress" lz4
swap_on
make_cgroup compress 20M
stats_save
start_load compress compress -m 44 -p 2 -c 70 -d 280 -r 50 -w 40 -u 2 -o 5 -z 3 -i 20
check "pages are compressed and decompressed, or sent as they are" \
	wait_for 40 grew store_packed load_unpacked store_raw
check "compressed pages take less of a region" takes_less
check "I/O is slow" with delay_us 500 -- store_packed load_unpacked
check "tracepoints report each compressed page" traced
check "I/O fails" with delay_us 200 keep_session 1 fail_every 31 -- \
	store_write_failed load_fallback
check "I/O is refused" with refuse_every 29 -- store_refused load_fallback
check "sessions fail" with delay_us 200 fail_every 499 -- donor_down donor_up slab_lost
check "few pages are attempted where none compress" not_attempted
check "pages that were read from the device are packed" wait_for 40 grew promoted
check --data "pages of lost packed slabs are rebuilt right" rebuilt
check "sessions are suspended and resumed" with delay_us 200 suspend_ms 300 fail_every 499 -- \
	store_refused load_fallback
check "regions are evicted" evicted slab_evicted
check --data "garbage from a donor is never a page: the device is read" garbage 200 load_fallback
stats_save
set_value "$FARSWAP/backup" replica
check "packed pages have two replicas" wait_for 40 grew replica_mapped repaired load_unpacked
check "one replica fails writes or reads" with delay_us 200 keep_session 1 \
	fail_every 31 -- store_partial repaired load_unpacked
# Four in a row may be all that can be read of one page.
check --data "garbage from a donor is never a page: the other replica is read" garbage 3 load_unpacked
check "both sessions are suspended, alternating" \
	with delay_us 200 suspend_ms 300 fail_every 499 -- store_partial repaired load_unpacked
check "regions of either replica are evicted" evicted replica_left replica_mapped
# Slabs that are not packed take regions from here on, so there is no room for all replicas.
check --data "pages stay readable when compression is switched off" switched_off
check "compression is switched on again" switched_on
check "a detach brings all pages to the device" detached
check "zswap takes pages before they are packed" zswap_above
check --data "memory contents are right" stop_load compress
stats_show
check --data "no page is lost" eval 'stat_is load_lost 0 && stat_is lost 0'
set_value "$FARSWAP/backup" disk
check "packed slabs have few pages" sparse
check "their pages move to one slab, though I/O fails" \
	with delay_us 100 keep_session 1 fail_every 9 -- repacked
check "their regions are given back" wait_for 60 less_slabs
check --data "no page that has moved is wrong" stop_load keep
stats_show
check --data "no remote bit outlives its slot" no_orphaned_pages
swapoff "$SWAP_DISK"
check "the RDMA transport is back" leave_ram
test_end
