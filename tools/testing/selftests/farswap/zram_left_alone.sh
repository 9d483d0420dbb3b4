#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Swap that is memory itself (zram) is not served, and the log says so; a disk of higher priority
# is served.
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
check "a zram device can be made" zram_make || skip_rest "no zram in this kernel"
make_cgroup zram 24M
log_mark
swap_on /dev/zram0 10
check "the log says that it is not served" log_has farswap zram "left alone"
check --data "memory contents are right" in_cgroup zram "$LOAD" -m 36 -p 2 -n 1000 -c 50
check "none of its pages went to donors" same store_remote load_remote store_device
swap_on "$SWAP_DISK" 20
check --data "memory contents are right with a disk of higher priority" \
	in_cgroup zram "$LOAD" -m 40 -p 2 -n 1000 -c 50
check "the disk's pages went out to donors" grew store_remote load_remote
check "zram can be removed" zram_gone
check --data "no page is lost, no remote bit is left" eval 'same load_lost && no_orphaned_pages'
test_end
