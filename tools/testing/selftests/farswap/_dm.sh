# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# A device on $SWAP_DISK that fails on request: $DM_DEVICE.

DM_NAME=farswap-test
dm_sectors=$(cat "/sys/block/${SWAP_DISK##*/}/size" 2>/dev/null)

dm_make() {
	modprobe dm-mod && modprobe dm-flakey || return 1
	dmsetup remove --noudevsync "$DM_NAME" 2>/dev/null # of a test that was cut short
	dmsetup create --noudevsync "$DM_NAME" --table "0 $dm_sectors linear $SWAP_DISK 0" ||
		return 1
	DM_DEVICE=/dev/dm-$(dmsetup info -c --noheadings -o minor "$DM_NAME")
	[ -b "$DM_DEVICE" ]
}

# dm_hold: the device takes no requests until dm_is; requests wait meanwhile
dm_hold() {
	dmsetup suspend --noudevsync --nolockfs "$DM_NAME"
}

# dm_is TARGET...: load the rest of a table's line; waiting requests go to it, too
dm_is() {
	dm_hold && dmsetup reload "$DM_NAME" --table "0 $dm_sectors $*" &&
		dmsetup resume --noudevsync "$DM_NAME"
}

dm_fails_writes() {
	dm_is flakey "$SWAP_DISK" 0 0 1 1 error_writes
}

dm_works() {
	dm_is linear "$SWAP_DISK" 0
}

# Each failed write logs a line; only such a test expects them.
dm_end() {
	dmsetup remove --noudevsync "$DM_NAME"
	dm_status=$?
	COMPLAINTS=$(echo "$COMPLAINTS" | sed 's/|\[Ww\]rite-error on swap//')
	return "$dm_status"
}
