#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# However the kernel hands out the clusters of a swap device, one slab is filled after the
# other: a little-used device takes little from the donors.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

FILES=/run/clusters
MB=48

fill() {
	mkdir -p "$FILES" && mount -t tmpfs -o size=64M none "$FILES" &&
		in_cgroup clusters sh -c "dd if=/dev/urandom bs=1M count=$MB 2>/dev/null |
			tee $FILES/data | md5sum >$TMP/written"
}

# Full slabs, one begun, one mapped ahead, and one for what else is swapped.
few_are_mapped() {
	slab_mb=$(cat "$FARSWAP/slab_mb")
	mapped=$(stat_of mapped_slabs) most=$((MB / slab_mb + 3))
	say "$mapped slabs of $slab_mb MB are mapped for $(swap_used "$SWAP_DISK") kB, $most would do"
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
check "most of it to donors" eval 'grown store_remote 8000'
check "no more slabs are mapped than that fills" few_are_mapped
check --data "it comes back as it was" all_is_right
umount "$FILES"
stats_show
check --data "no page was lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
