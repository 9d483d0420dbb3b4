#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Shared memory (tmpfs pages), of one process and written by several.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# own_reads: number of reads of a fault's own page so far
own_reads() {
	farswapctl metrics | awk '$1 == "farswap_latency_seconds_count{kind=\"load_urgent\"}" { print $2 }'
}

# In order, nearly every fault has readahead, which reads 8 pages. All of them are in their turn if
# the fault's own page is not read first.
own_page_is_first() {
	own_before=$(own_reads)
	stats_save
	in_cgroup shmem "$LOAD" -m 28 -t shmem -q -w 0 -n 8000 || return 1
	own_now=$(($(own_reads) - own_before))
	echo "$own_now of $(stat_delta load_remote) pages read are a fault's own"
	[ $((own_now * 12)) -gt "$(stat_delta load_remote)" ]
}

test_begin 6
farswap_up 2
set_value /proc/sys/vm/page-cluster 3
swap_on
make_cgroup shmem 14M
check --data "shared memory is right" \
	in_cgroup shmem "$LOAD" -m 28 -p 2 -t shmem -n 800 -u 4 -z 5 -o 10
check --data "shared memory written by several processes is right" \
	in_cgroup shmem "$LOAD" -m 22 -t shmem -f 2 -n 500 -o 10 -s 3
check "a fault's own page is read first" own_page_is_first
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
