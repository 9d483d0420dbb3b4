#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Shared memory (tmpfs pages), of one process and written by several.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

test_begin 5
farswap_up 2
swap_on
make_cgroup shmem 14M
check --data "shared memory is right" \
	in_cgroup shmem "$LOAD" -m 28 -p 2 -t shmem -n 800 -u 4 -z 5 -o 10
check --data "shared memory written by several processes is right" \
	in_cgroup shmem "$LOAD" -m 22 -t shmem -f 2 -n 500 -o 10 -s 3
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
