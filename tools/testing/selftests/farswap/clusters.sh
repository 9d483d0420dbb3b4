#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Slabs are filled one after the other, however the kernel hands out the clusters of a swap device:
# a device with few pages needs few regions.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

FILES=/run/clusters
MB=48

fill() {
	mkdir -p "$FILES" && mount -t tmpfs -o size=64M none "$FILES" &&
		in_cgroup clusters sh -c "dd if=/dev/urandom bs=1M count=$MB 2>/dev/null |
			tee $FILES/data | md5sum >$TMP/written"
}

# Full slabs, one that is partly filled, one that is mapped in advance, and one for other swapped
# pages.
few_are_mapped() {
	slab_mb=$(cat "$FARSWAP/slab_mb")
	mapped=$(stat_of mapped_slabs) most=$((MB / slab_mb + 3))
	say "$mapped slabs of $slab_mb MB are mapped for $(swap_used "$SWAP_DISK") kB, $most suffice"
	[ "$mapped" -gt 2 ] && [ "$mapped" -le "$most" ]
}

all_is_right() {
	md5sum <"$FILES/data" >"$TMP/read" && diff "$TMP/written" "$TMP/read"
}

test_begin 6
farswap_up 2
[ $(($(blockdev --getsize64 "$SWAP_DISK") >> 20)) -ge 512 ] || skip_rest "a small disk"
swap_on
make_cgroup clusters 8M
check "shared memory goes to swap" fill
check "most of it goes out to donors" eval 'grown store_remote 8000'
check "few slabs are mapped" few_are_mapped
check --data "contents of the files are right" all_is_right
umount "$FILES"
stats_show
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
