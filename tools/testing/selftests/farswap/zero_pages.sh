#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Pages that become all zero are kept in the kernel's zero map, for which
# there is no hook: an older copy stays in remote memory and must never be
# read, and a page that is no longer zero must not be taken for zero.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 4
farswap_up 2
swap_on
make_cgroup zero 24M
check "pages that turn zero and back are right" \
	in_cgroup zero "$LOAD" -m 48 -p 2 -n 3500 -w 70 -z 50 -u 4
stats_show
check "pages went to donors and came back" grew store_remote load_remote
check "no page was lost" same load_lost
check "no remote bit outlives its slot" no_orphaned_pages
test_end
