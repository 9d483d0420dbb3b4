#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A fault polls for its page if that takes less time than poll_us, and sleeps otherwise. This needs
# two processors: on one, the fault would keep the completion from running.
# cluster: donors=0 mem=384 disks=1 cpus=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

# faults_with POLL_US DELAY_US: page-ins with these from now on
faults_with() {
	echo "$1" >"$FARSWAP/poll_us"
	echo "$2" >"$RAM/delay_us"
	# Wait for pending page-ins, so that the average is of new ones.
	sleep 1
	stats_save
	wait_for 30 grown load_remote 500 && grew wait_slept
}

test_begin 10
has_ram || skip_rest "no module farswap-ram"
check "farswap runs over the RAM transport" use_ram || skip_rest "it cannot be used"
set_value "$FARSWAP/poll_us" 0
set_value "$FARSWAP/prefetch_pages" 0
set_value /proc/sys/vm/page-cluster 0
swap_on
make_cgroup polling 20M
stats_save
start_load readers polling -m 44 -p 1 -d 250 -w 0 -q -i 0
check "pages go out to donors and come in" pages_go_and_return 2000
check "faults that may not poll sleep" eval 'faults_with 0 5 && same wait_polled'
check "faults that may poll do" eval 'faults_with 1000 5; wait_for 60 grew wait_polled'
check "faults do not poll for longer I/O" eval 'faults_with 1000 10000 && same wait_polled'
echo 0 >"$RAM/delay_us"
check --data "memory contents are right" stop_load readers
stats_save
start_load shared polling -m 44 -p 1 -t shmem -d 250 -w 0 -i 0
check "shared memory goes out and comes in" pages_go_and_return 2000
check "faults on shared memory poll, too" eval 'faults_with 1000 5; wait_for 60 grew wait_polled'
check --data "contents of shared memory are right" stop_load shared
stats_show
check "the RDMA transport is back" leave_ram
test_end
