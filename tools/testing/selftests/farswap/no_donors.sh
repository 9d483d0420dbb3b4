#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Without a donor everything goes to the device, counted as such; the state
# says so; a donor can be added later and taken away again.
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
check "the state says that there is no donor" donors_are_none
check --data "memory is right" in_cgroup none "$LOAD" -m 28 -p 2 -n 500 -i 0
check "all of it went to the device" eval \
	'grew store_device load_device store_no_slab && same store_remote load_remote'
start_load later none -m 28 -p 2 -d 120 -i 1
check "a load runs without a donor" wait_for 40 grep -q progress "$TMP/later.log"
farswap_up 2
check "donors given later are used at once" wait_for 60 stat_above remote_pages 200
echo >"$FARSWAP/donors"
check "donors taken away are left" eval 'wait_for 60 stat_is remote_pages 0 && donors_are_none'
check --data "memory was right all the time" stop_load later
stats_show
check --data "no page was lost" same load_lost
check --data "no remote bit is left" no_orphaned_pages
test_end
