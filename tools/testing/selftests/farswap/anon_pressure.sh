#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Anonymous memory of several processes, twice the machine's RAM, keeps its
# contents; it goes to donors and comes back from them.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

ram=$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)

test_begin 4
# Under global pressure more of the system itself is swapped out.
STRAY_PAGES=256
farswap_up 2
swap_on
check "memory at twice RAM is right" "$LOAD" -m $((2 * ram)) -p 4 -n 1500 -w 40 -i 10
stats_show
check "pages went to donors and came back" grew store_remote load_remote
check "no page was lost" same load_lost
check "no remote bit outlives its slot" no_remote_bits
test_end
