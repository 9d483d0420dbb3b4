#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Large folios, 64 KiB and 2 MiB, are stored whole, come back page by page, or those of
# 64 KiB whole in a kernel that does so, and may lose a part while they are remote. None of
# their slots keeps its remote bit when it is freed: the kernel frees those without telling
# zswap.
# cluster: donors=2 mem=384 disks=1 zswap.enabled=0
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

TRACE=/sys/kernel/tracing/instances/farswap-test

# trace_io EVENT PAGES: from now on, those of that size that were good
trace_io() {
	echo 0 >"$TRACE/events/enable"
	echo "nr == $2 && error == 0" >"$TRACE/events/farswap/$1/filter" &&
		echo >"$TRACE/trace" && echo 1 >"$TRACE/events/farswap/$1/enable"
}

# traced EVENT PAGES
traced() {
	traced_times=$(grep -c "$1: .*pages=$2 error=0" "$TRACE/trace")
	echo "$1 of $2 pages: $traced_times in the buffer"
	[ "$traced_times" -gt 0 ]
}

# stored_whole PAGES COMMAND...
stored_whole() {
	stored_pages=$1
	shift
	trace_io farswap_store_end "$stored_pages" && data "$@" && traced farswap_store_end "$stored_pages"
}

# A kernel that has ever had zswap doesn't.
comes_back_whole() {
	is_direct && [ ! -e /sys/kernel/debug/zswap ]
}

# come_back COMMAND...: in one read each, or one for each page
come_back() {
	come_pages=1
	! comes_back_whole || come_pages=16
	trace_io farswap_load_end "$come_pages" && data "$@" && traced farswap_load_end "$come_pages"
}

# thp COUNTER
thp() {
	awk -v name="thp_$1" '$1 == name { print $2 }' /proc/vmstat
}

counted_huge() {
	echo "thp_swpout was $huge_before, is $(thp swpout); $(thp fault_alloc) were got, $(thp fault_fallback) not"
	[ "$(thp swpout)" -gt "$huge_before" ]
}

# swapouts FILE NAME: a counter of the kernel's, in a file of that alone or of many
swapouts() {
	awk -v name="$2" 'NF == 1 { print $1 } $1 == name { print $2 }' "$1"
}

counted_by_size() {
	size_now=$(swapouts "$THP/hugepages-64kB/stats/swpout" swpout)
	group_now=$(swapouts "$CGROUP/large/memory.stat" thp_swpout)
	echo "64 KiB folios that were put out: $size_before, then $size_now;" \
		"2 MiB ones of the group: $group_before, then $group_now"
	[ "$size_now" -gt "$size_before" ] && [ "$group_now" -gt "$group_before" ]
}

test_begin 10
[ -e "$THP/hugepages-64kB/enabled" ] || skip_rest "no 64 KiB folios in this kernel"
farswap_up 2
mkdir -p "$TRACE" || skip_rest "no trace instances in this kernel"
swap_on
make_cgroup large 40M
set_value "$THP/enabled" madvise
set_value "$THP/hugepages-64kB/enabled" always
set_value "$THP/hugepages-2048kB/enabled" never
size_before=$(swapouts "$THP/hugepages-64kB/stats/swpout" swpout)
group_before=$(swapouts "$CGROUP/large/memory.stat" thp_swpout)
check "64 KiB folios, partly unmapped, are right, and were stored whole" stored_whole 16 \
	in_cgroup large "$LOAD" -m 56 -p 2 -t huge -n 500 -u 25 -o 25
check "64 KiB folios are right, and come back as they should" come_back \
	in_cgroup large "$LOAD" -m 56 -p 2 -t huge -n 400 -o 25
# So much of it is local that they meet in a folio again and again.
if comes_back_whole; then
	echo 54M >"$CGROUP/large/memory.high"
	check "threads that read the same folios at once find their pages in them" come_back \
		in_cgroup large "$LOAD" -m 72 -t huge -f 3 -T -q -n 19000 -w 0
	echo 40M >"$CGROUP/large/memory.high"
else
	skip_one "none is read as a whole here"
fi
check "pages went to donors and came back" grew store_remote load_remote
check --data "no remote bit outlives its slot" no_orphaned_pages
set_value "$THP/hugepages-64kB/enabled" never
set_value "$THP/hugepages-2048kB/enabled" always
huge_before=$(thp swpout)
check "2 MiB folios, partly unmapped, are right, and were stored whole" stored_whole 512 \
	in_cgroup large "$LOAD" -m 64 -t huge -n 500 -u 25 -o 25 -s 5
check "the kernel counts those" counted_huge
if is_direct; then
	check "it counts them by size and by cgroup" counted_by_size
else
	skip_one "attached: the kernel's function that counts by size can't be called"
fi
rmdir "$TRACE"
stats_show
check --data "no page was lost" same load_lost
check --data "no remote bit outlives its slot after that" no_orphaned_pages
test_end
