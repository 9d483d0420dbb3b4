#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Memory is shared by fork and copied on write while it is remote: each process sees its own writes
# only.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 4
farswap_up 2
# Readahead by slot, not by address.
ROTATIONAL=1
swap_on
make_cgroup cow 40M
check --data "parents and children see only their own writes" \
	in_cgroup cow "$LOAD" -m 36 -p 2 -f 2 -n 1500 -u 4 -o 10 -s 11
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
