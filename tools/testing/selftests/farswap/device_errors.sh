#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The swap device fails every write for a time. A page that can't be written
# stays in memory, dirty, whatever the donor said; nothing wrong is ever read.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

sectors=$(cat "/sys/block/${SWAP_DISK##*/}/size" 2>/dev/null)
name=farswap-test

# device_is TARGET...: the rest of a table's line
device_is() {
	dmsetup suspend --noudevsync "$name" && dmsetup reload "$name" --table "0 $sectors $*" &&
		dmsetup resume --noudevsync "$name"
}

device_make() {
	modprobe dm-mod && modprobe dm-flakey || return 1
	dmsetup remove --noudevsync "$name" 2>/dev/null # of a test that was cut short
	dmsetup create --noudevsync "$name" --table "0 $sectors linear $SWAP_DISK 0" || return 1
	device=/dev/dm-$(dmsetup info -c --noheadings -o minor "$name")
	[ -b "$device" ]
}

# There is a line for each write that failed, and only this test wants them.
quiet_but_for_writes() {
	COMPLAINTS=$(echo "$COMPLAINTS" | sed 's/|\[Ww\]rite-error on swap//')
}

test_begin 9
command -v dmsetup >/dev/null || skip_rest "no dmsetup"
device_make >"$TMP/dm" 2>&1 || skip_rest "no device mapper: $(cat "$TMP/dm")"
farswap_up 2
swap_on "$device"
make_cgroup errors 24M
start_load errors errors -m 40 -p 2 -d 250 -w 50 -i 5
check "pages go to donors and come back" eval \
	'wait_for 60 stat_above remote_pages 1000 && wait_for 30 grew store_remote load_remote'
stats_save
check "the device begins to fail writes" device_is flakey "$SWAP_DISK" 0 0 1 1 error_writes
check "stores fail for that" wait_for 30 grew store_device_failed
sleep 2
check "the device works again" device_is linear "$SWAP_DISK" 0
stats_save
check "pages go to donors again and come back" wait_for 60 grew store_remote load_remote
check "memory was right all the time" stop_load errors
stats_show
check "no page was lost" stat_is load_lost 0
check "no remote bit outlives its slot" no_remote_bits
swapoff "$device"
check "the device can go" dmsetup remove --noudevsync "$name"
quiet_but_for_writes
test_end
