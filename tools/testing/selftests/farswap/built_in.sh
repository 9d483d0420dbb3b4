#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Built into the kernel, farswap needs only the kernel's command line. This must be the first test
# after booting: another test would have configured farswap.
# cluster: donors=2 mem=192 disks=1 tree=1 farswap.enabled=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

is_built_in() {
	[ -d "$FARSWAP" ] && ! grep -q '^farswap ' /proc/modules
}

# values NAME...: settings are those of the command line
values() {
	for value_name in "$@"; do
		value_is=$(cat "$FARSWAP/$value_name")
		echo "$value_name=$value_is"
		grep -qw "farswap.$value_name=$value_is" /proc/cmdline || return 1
	done
}

# Counters count since the boot.
took_part() {
	echo "store_remote $(stat_of store_remote), load_remote $(stat_of load_remote)"
	[ "$(stat_of store_remote)" -gt 100 ] && [ "$(stat_of load_remote)" -gt 100 ]
}

test_begin 6
is_built_in || skip_rest "farswap is a module"
check "it is attached" grep -qx 1 "$FARSWAP/attached"
check "settings are those of the command line" values enabled donors slab_mb io_timeout_ms
for donor in $DONORS; do
	donor_start "$donor" || bail "no farswapd on $donor"
done
check "it connects by itself" wait_for 60 donors_live 2
# The first load since the machine was booted.
swap_on
make_cgroup early 24M
set_value "$FARSWAP/hotslab" 0
check --data "memory contents are right" in_cgroup early "$LOAD" -m 64 -n 4000
check "its pages went out to donors and came in" took_part
swapoff -a
check --data "swapoff fetches every remote page" stat_is remote_pages 0
test_end
