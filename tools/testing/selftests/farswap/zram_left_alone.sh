#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Swap that is memory itself (zram) is left alone, and the log says so; a disk
# beside it is served.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

zram_make() {
	modprobe zram num_devices=1 && echo 64M >/sys/block/zram0/disksize
}

zram_gone() {
	swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset && rmmod zram
}

test_begin 8
farswap_up 2
check "a zram device" zram_make || skip_rest "no zram in this kernel"
make_cgroup zram 24M
log_mark
swap_on /dev/zram0 10
check "the log says that it is left alone" log_has farswap zram "left alone"
check --data "memory is right" in_cgroup zram "$LOAD" -m 36 -p 2 -n 1000 -c 50
check "nothing of it went to donors" same store_remote load_remote store_device
swap_on "$SWAP_DISK" 20
check --data "memory is right with a disk above it" in_cgroup zram "$LOAD" -m 40 -p 2 -n 1000 -c 50
check "the disk's pages went to donors" grew store_remote load_remote
check "zram goes" zram_gone
check --data "no page was lost, no remote bit is left" eval 'same load_lost && no_orphaned_pages'
test_end
