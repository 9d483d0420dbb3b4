#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A slab is mapped once it is busy enough, and not before.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 6
farswap_up 2
echo 1000000 >"$FARSWAP/hotslab"
swap_on
make_cgroup hot 16M
start_load hot hot -m 28 -p 2 -d 250 -i 10
check "pages go out to the device" wait_for 60 grown store_no_slab 3000
check "no slab is mapped while none is hot" same slab_mapped store_remote
echo 20 >"$FARSWAP/hotslab"
check "a hot slab is mapped and used" wait_for 60 grew slab_mapped store_remote
check --data "memory contents are right" stop_load hot
stats_show
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
