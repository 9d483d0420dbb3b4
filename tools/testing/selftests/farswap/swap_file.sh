#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A swap file with many extents on its disk: backup writes, read again after the donors died, are
# at the right place, and blocks between the extents do not change.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

MOUNT=/run/swap-file
# Sizes of the file system, of the files between the extents, and of the swap file, in MB.
ALL=80
PIECES_KB=128
FILE=32

# Fill the file system and remove every second file: free space is in extents of their size.
in_pieces() {
	mkdir -p "$MOUNT" && mke2fs -b 4096 "$SWAP_DISK" $((ALL * 1024)) &&
		mount -t ext4 "$SWAP_DISK" "$MOUNT" || return 1
	pieces=0
	while dd if=/dev/urandom of="$MOUNT/$pieces" bs=1k count="$PIECES_KB" 2>/dev/null; do
		pieces=$((pieces + 1))
	done
	sync
	# shellcheck disable=SC2046 # words are wanted
	(cd "$MOUNT" && rm "$pieces" $(seq 0 2 $((pieces - 1)))) || return 1
	sync
	echo "$pieces pieces"
	dd if=/dev/zero of="$MOUNT/swap" bs=1M count="$FILE" && chmod 600 "$MOUNT/swap" && sync &&
		neighbours >"$TMP/neighbours"
}

neighbours() {
	(cd "$MOUNT" && md5sum [0-9]*)
}

neighbours_are_whole() {
	echo 3 >/proc/sys/vm/drop_caches
	neighbours | diff "$TMP/neighbours" - && [ "$(wc -l <"$TMP/neighbours")" -gt 100 ]
}

file_on() {
	log_mark
	mkswap "$MOUNT/swap" && swapon "$MOUNT/swap" || return 1
	extents=$(log_show | sed -n 's/.*Adding .* extents:\([0-9]*\) .*/\1/p')
	echo "$extents extents"
	[ "$extents" -gt $((FILE * 1024 / PIECES_KB / 2)) ]
}

backed() {
	grew store_remote load_remote backup_written && stat_is staged_pages 0
}

both_die() {
	stats_save
	for die in $DONORS; do
		donor_kill "$die" || return 1
	done
	wait_for 20 donors_live 0 && wait_for 60 grown load_device 500
}

test_begin 9
modprobe ext4 2>/dev/null || grep -qw ext4 /proc/filesystems || skip_rest "no ext4 in this kernel"
farswap_up 2
check "a fragmented swap file can be made" in_pieces || skip_rest "none could be made"
check "swapon succeeds" file_on
make_cgroup busy 12M
stats_save
start_load busy busy -m 24 -p 2 -w 30 -u 4 -o 20 -d 280 -r 70 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
check "the pages are written to the file, too" wait_for 60 backed
check "both donors die, and the file is read" both_die
for donor in $DONORS; do
	donor_start "$donor"
done
check "its pages are remote again" eval 'wait_for 30 donors_live 2 && stats_save &&
	wait_for 60 grown load_remote 500'
check --data "memory contents are right" stop_load busy
stats_show
check "swapoff succeeds" swapoff "$MOUNT/swap"
check --data "blocks between the extents are unchanged" neighbours_are_whole
umount "$MOUNT"
test_end
