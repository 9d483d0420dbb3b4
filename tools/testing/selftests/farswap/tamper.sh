#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Donors that change pages, over the RAM transport: with protect=encrypt or verify no altered,
# zeroed, exchanged or old page reaches a program, in any backup mode, compressed or not; and
# with encrypt no donor has a page's contents. Evictions, lost donors, replicas and a detach
# with such pages. No byte is wrong.
# cluster: donors=0 mem=384 disks=1 aes=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

SECRET=tidings-of-the-other-side

# protect MODE: with all modules loaded again; the backup is what it was
protect() {
	protect_backup=$(cat "$FARSWAP/backup")
	protect_compress=$(cat "$FARSWAP/compress")
	echo 0 >"$FARSWAP/attached" && rmmod farswap_ram &&
		reload_modules slab_mb=2 donors= hotslab=0 "protect=$1" "backup=$protect_backup" \
			"compress=$protect_compress" && modprobe farswap-ram regions=36 &&
		echo 10.9.9.1,10.9.9.2 >"$FARSWAP/donors" && wait_for 20 donors_live 2
}

default_fits() {
	default_protect=none
	! grep -qw aes /proc/cpuinfo || ! grep -qw pclmulqdq /proc/cpuinfo || default_protect=encrypt
	cat "$FARSWAP/protect"
	[ "$(cat "$FARSWAP/protect")" = "$default_protect" ]
}

refused() {
	log_mark
	echo seal >"$FARSWAP/protect" && return 1
	log_has 'farswap is attached; write 0 to attached first' || return 1
	echo 0 >"$FARSWAP/attached" || return 1
	log_mark
	echo seal >"$FARSWAP/protect" && return 1
	log_has 'protect: "seal" is no good; give none, verify or encrypt' || return 1
	echo none >"$FARSWAP/protect" && echo 1 >"$FARSWAP/attached" &&
		wait_for 20 donors_live 2
}

# Pages of a file in memory, of one text.
hide() {
	mkdir -p "$TMP/shm" && mount -t tmpfs tmpfs "$TMP/shm" || return 1
	in_cgroup secret awk -v "text=$SECRET" -v "file=$TMP/shm/file" \
		'BEGIN { for (i = 0; i < 60000; i++) print text >file }'
	hide_sum=$(md5sum <"$TMP/shm/file")
	reclaim secret
	wait_for 20 stat_above remote_pages 200
	echo "$SECRET" >"$RAM/search"
	hidden=$(cat "$RAM/search")
	echo "$hidden of $(stat_of remote_pages) pages have the text"
	[ "$hide_sum" = "$(md5sum <"$TMP/shm/file")" ]
	hide_status=$?
	umount "$TMP/shm"
	return "$hide_status"
}

donors_read_it() {
	hide && [ "$hidden" -gt 200 ]
}

donors_read_nothing() {
	hide && [ "$hidden" -eq 0 ]
}

# tampered KIND COUNTER...: donors do it, the counters grow, and no page is lost
tampered() {
	tampered_kind=$1
	shift
	with tamper "$tampered_kind" -- load_altered "$@" && same load_lost
}

# kinds "KIND..." COUNTER...
kinds() {
	kinds_all=$1
	shift
	for kind in $kinds_all; do
		tampered "$kind" "$@" || return 1
	done
}

# Each page has two replicas, or one and a copy on the device. One donor flips a bit of each.
one_replica() {
	start_load replica quiet -m 20 -p 1 -H "$TMP/replica.hold" -O -n 200 -i 0
	wait_for 60 load_ready replica 1 || return 1
	stats_save
	echo 1 >"$RAM/tamper_odd"
	echo 1 >"$RAM/tamper"
	go_on replica
	wait_load replica
	replica_status=$?
	echo 0 >"$RAM/tamper"
	echo 0 >"$RAM/tamper_odd"
	[ "$replica_status" = 0 ] && grew load_altered load_remote && same load_lost
}

told_once() {
	[ "$(dmesg | grep -c 'returned a page that is not the one stored')" -le 2 ] &&
		log_has 'donor 10.9.9.[12]: it returned a page that is not the one stored'
}

# 4 MiB of seals for a GiB of regions, where the processor has instructions for AES.
seals_are_small() {
	slabs=$(stat_of mapped_slabs)
	seals=$(stat_of seal_bytes)
	each=16
	dmesg | grep -q 'by AES' || each=20
	echo "$seals bytes for $slabs slabs of 2 MiB"
	[ "$seals" -gt 0 ] && [ "$seals" -le $(((slabs + 4) * 512 * each)) ]
}

evicted() {
	stats_save
	evict_rounds=0
	while [ "$evict_rounds" -lt 6 ]; do
		evict_rounds=$((evict_rounds + 1))
		echo 4 >"$RAM/evict"
		sleep 0.2
	done
	wait_for 20 grew "$@" && same load_altered
}

honest() {
	with "$@" && same load_altered
}

detached() {
	stats_save
	echo 0 >"$FARSWAP/attached" && stat_is seal_bytes 0 && echo 1 >"$FARSWAP/attached" &&
		wait_for 20 donors_live 2 && wait_for 40 grew store_remote load_remote &&
		same load_altered
}

# Only donors have the pages, and change each until a reader has got an error.
sole_copies_are_refused() {
	start_load dying quiet -m 20 -p 1 -L -H "$TMP/dying.hold" -O -n 200 -i 0
	wait_for 60 load_ready dying 1 || return 1
	stats_save
	echo 1 >"$RAM/tamper"
	go_on dying
	wait_for 60 grew load_lost
	echo 0 >"$RAM/tamper"
	wait_load dying
	dying_status=$?
	lost_pages=$(sed -n 's/.* wrong_bytes=0 lost_pages=\([0-9]*\).*/\1/p' "$TMP/dying.log" |
		tail -n 1)
	echo "$lost_pages pages got SIGBUS"
	[ "$dying_status" = 0 ] && [ "${lost_pages:-0}" -gt 0 ] && grew load_altered load_lost
}

test_begin 23
has_ram || skip_rest "no module farswap-ram"
check "farswap runs over the RAM transport" use_ram || skip_rest "it cannot be used"
check "pages are encrypted by default if the processor has instructions for AES-GCM" \
	default_fits
check "an unknown protection is refused, and any while attached" refused
swap_on
make_cgroup secret 20M
make_cgroup tamper 13M
set_value "$FARSWAP/backup" none
check "without protection donors have the text of a page" donors_read_it
check "pages are encrypted from now on" protect encrypt
check --data "no page that a donor has is left in the clear" donors_read_nothing
set_value "$FARSWAP/backup" disk
start_load tamper tamper -m 26 -p 2 -d 250 -r 50 -w 40 -u 2 -o 5 -z 3 -i 20
stats_save
check "pages are stored and loaded" wait_for 40 grew store_remote load_remote
check "the memory for seals is bounded" seals_are_small
check --data "a flipped, zeroed or exchanged page is never right: the device is read" \
	kinds '1 2 3' load_fallback
check "the log tells of each donor once" told_once
check --data "sessions fail, and slabs are lost: no page is wrong" \
	honest delay_us 200 fail_every 499 -- donor_down donor_up slab_lost
check --data "sessions are suspended and resumed: no page is wrong" \
	honest delay_us 200 suspend_ms 300 fail_every 499 -- store_refused load_fallback
check --data "regions are evicted: no page is wrong" evicted slab_evicted
set_value "$FARSWAP/compress" lz4
check --data "a compressed page that was changed is never right: the device is read" \
	kinds '1 3' load_fallback
set_value "$FARSWAP/backup" replica
stats_save
check "pages have two replicas" wait_for 40 grew replica_mapped repaired
check --data "regions of replicas are evicted: no page is wrong" evicted replica_left
check --data "a detach brings all pages to the device: no page is wrong" detached
set_value "$FARSWAP/backup" disk
check --data "an old page is never right: the device is read" kinds 4 load_fallback
check --data "memory contents are right" stop_load tamper
stats_show
check --data "no page is lost" eval 'stat_is load_lost 0 && stat_is lost 0'
make_cgroup quiet 12M
set_value "$FARSWAP/compress" none
set_value "$FARSWAP/backup" replica
check --data "a page that one donor has changed is never right: another copy is read" one_replica
set_value "$FARSWAP/backup" none
check --data "a sole copy that was changed raises SIGBUS and is never a wrong page" \
	sole_copies_are_refused
swapoff "$SWAP_DISK"
check "the RDMA transport is back" leave_ram
test_end
