#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# swapoff while pages are in remote memory brings all of them home, and the
# program that owns them finds them right afterwards.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 7
farswap_up 2
swap_on
make_cgroup off 16M
check "memory is filled and paged out to donors" hold_remote off off 2 1000 -m 40 -n 1000
# What comes home is charged to the owner.
echo max >"$CGROUP/off/memory.high"
check "swapoff succeeds" swapoff "$SWAP_DISK"
stats_show
check "pages came from donors" grew load_remote
check "no region is left" wait_for 90 lent_is -eq 0
swap_on
echo 16M >"$CGROUP/off/memory.high"
go_on off
check "memory is right, and stays so on the next swap" wait_load off
check "no page was lost" same load_lost
check "no remote bit outlives its slot" no_orphaned_pages
test_end
