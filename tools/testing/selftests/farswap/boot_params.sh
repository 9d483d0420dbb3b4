#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Each parameter, given at boot or to modprobe, appears in sysfs. With enabled=0 the module does
# not attach.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# modprobe reads this file as the boot command line, with these words added.
more_on_the_command_line() {
	echo "$(cat /proc/cmdline) $*" >"$TMP/cmdline" && mount --bind "$TMP/cmdline" /proc/cmdline
}

# On the kernel's command line: farswap.<name>=<value>.
boot_values_are_there() {
	boot_number=0
	# shellcheck disable=SC2013 # words are wanted
	for boot_word in $(cat /proc/cmdline); do
		case $boot_word in
		farswap.*=*) ;;
		*) continue ;;
		esac
		boot_name=${boot_word#farswap.}
		boot_value=${boot_name#*=}
		boot_name=${boot_name%%=*}
		boot_number=$((boot_number + 1))
		echo "$boot_word: $(cat "$FARSWAP/$boot_name")"
		[ "$(cat "$FARSWAP/$boot_name")" = "$boot_value" ] || return 1
	done
	# slab_mb, io_timeout_ms, donors, enabled, hotslab, grace_ms, poll_us, compress, protect;
	# force, perhaps
	[ "$boot_number" -ge 9 ] && [ "$(cat "$FARSWAP/attached")" = 0 ]
}

given_values_are_there() {
	for given_word in "$@"; do
		given_value=$(cat "$FARSWAP/${given_word%%=*}")
		echo "$given_word: $given_value"
		[ "$given_value" = "${given_word#*=}" ] || return 1
	done
}

given_values() {
	reload_modules "$@" && given_values_are_there "$@"
}

# Donors may be refused for their slab size, but they are tried.
donors_were_given() {
	cat "$FARSWAP_DEBUG/donors"
	[ "$(awk 'NR > 1' "$FARSWAP_DEBUG/donors" | wc -l)" -eq 2 ]
}

test_begin 5
if grep -q 'farswap\.[a-z_]*=' /proc/cmdline; then
	more_on_the_command_line farswap.enabled=0 farswap.hotslab=9 farswap.grace_ms=2345 \
		farswap.poll_us=44 farswap.compress=lz4 farswap.protect=encrypt
	check "values from the boot command line" eval 'reload_modules && boot_values_are_there'
	umount /proc/cmdline
else
	skip_one "no farswap. on the kernel's command line"
fi
check "values given to modprobe" given_values "donors=$(donor_list 2)" slab_mb=8 \
	hotslab=7 poll_us=33 io_timeout_ms=1234 enabled=1
check "the module attaches itself" grep -qx 1 "$FARSWAP/attached"
check "the given donors are listed" donors_were_given
check "the module loads again without values" reload_modules
test_end
