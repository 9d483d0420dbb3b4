#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Without a donor everything goes to the device and is counted so; the donors file shows it; a
# donor can be added later and removed again.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

donors_are_none() {
	[ -z "$(cat "$FARSWAP/donors")" ] && donors_live 0 &&
		[ "$(awk 'NR > 1' "$FARSWAP_DEBUG/donors" | wc -l)" -eq 0 ]
}

test_begin 9
farswap_up 0
swap_on
make_cgroup none 16M
check "the donors file shows no donor" donors_are_none
check --data "memory contents are right" in_cgroup none "$LOAD" -m 28 -p 2 -n 500 -i 0
check "all pages went out to the device" eval \
	'grew store_device load_device store_no_slab && same store_remote load_remote'
start_load later none -m 28 -p 2 -d 120 -i 1
check "a load runs without a donor" wait_for 40 grep -q progress "$TMP/later.log"
farswap_up 2
check "donors added later are used at once" wait_for 60 stat_above remote_pages 200
echo >"$FARSWAP/donors"
check "removed donors are not used any more" \
	eval 'wait_for 60 stat_is remote_pages 0 && donors_are_none'
check --data "memory contents are right" stop_load later
stats_show
check --data "no page is lost" same load_lost
check --data "no remote bit is left" no_orphaned_pages
test_end
