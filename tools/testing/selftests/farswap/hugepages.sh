#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor lends from its reserved huge pages first, except those that other programs use, and then
# from ordinary memory. Only ordinary memory is evicted for its programs.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

victim=${DONORS%% *}
# Huge pages of 2 MB, four in a slab. Another program uses a third of them: four slabs are left.
ALL=24
OTHERS=8

meminfo() {
	on "$victim" "awk '/^$1:/ { print \$2 }' /proc/meminfo"
}

reserve() {
	on "$victim" "echo $ALL >/proc/sys/vm/nr_hugepages && mkdir -p /run/huge &&
		mount -t hugetlbfs none /run/huge &&
		fallocate -l $((OTHERS * 2))M /run/huge/others && grep Huge /proc/meminfo" &&
		[ "$(meminfo HugePages_Free)" -eq $((ALL - OTHERS)) ]
}

unreserve() {
	on "$victim" 'umount /run/huge; echo 0 >/proc/sys/vm/nr_hugepages; umount /run/program'
}

free_is() {
	free_now=$(meminfo HugePages_Free)
	echo "$free_now free, $1 expected"
	[ "$free_now" -eq "$1" ]
}

mapped() {
	donor_metric "$victim" 'regions{state="mapped"}'
}

# More regions than the huge pages hold.
mapped_is_above() {
	mapped_now=$(mapped)
	echo "$mapped_now mapped"
	[ "$mapped_now" -gt "$1" ]
}

# A program that takes all memory but half of the headroom of 88 MB.
program_grows() {
	on "$victim" 'mkdir -p /run/program && mount -t tmpfs -o size=95% none /run/program &&
		n=$(awk "/^MemAvailable:/ { print int(\$2 / 1024) - 44 }" /proc/meminfo) &&
		dd if=/dev/zero of=/run/program/all bs=1M count=$n 2>&1'
}

ordinary_is_back() {
	on "$victim" 'farswapctl status'
	[ "$(mapped)" -le $(((ALL - OTHERS) / 4)) ]
}

test_begin 10
farswap_up 2
echo "$victim" >"$FARSWAP/donors"
donor_kill "$victim"
check "huge pages are reserved" reserve || skip_rest "there is no memory for them"
donor_start "$victim" ahead=0 memory=64M
check "the donor is in use" wait_for 30 donors_live 1
swap_on
make_cgroup busy 12M
stats_save
start_load busy busy -m 60 -p 1 -w 20 -d 280 -r 70 -i 10
check "pages go out to it and come in" pages_go_and_return 10000
check "more is lent than the huge pages hold" wait_for 30 mapped_is_above 4
check "all free huge pages are lent" wait_for 10 free_is 0
donor_list 2 >"$FARSWAP/donors"
wait_for 30 donors_live 2
check "a program takes ordinary memory" program_grows
check "the ordinary regions are evicted" wait_for 60 ordinary_is_back
check "regions on huge pages stay" eval 'mapped_is_above 0 && free_is 0'
check --data "memory contents are right" stop_load busy
stats_show
donor_kill "$victim"
check "huge pages are free again when the daemon ends" wait_for 10 free_is $((ALL - OTHERS))
unreserve
test_end
