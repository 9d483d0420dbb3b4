#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Large folios of 64 KiB and 2 MiB are stored whole, come in page by page, or whole for 64 KiB if
# the kernel can, and may be partly unmapped while remote. None of their slots keeps its remote bit
# when it is freed: the kernel frees those without notifying zswap.
# cluster: donors=2 mem=384 disks=1 zswap.enabled=0
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

TRACE=/sys/kernel/tracing/instances/farswap-test

# trace_io EVENT PAGES: trace successful I/O of that size from now on
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

# stored_whole PAGES COMMAND...: pages of the command are stored in folios of that size
stored_whole() {
	stored_pages=$1
	shift
	trace_io farswap_store_end "$stored_pages" && data "$@" && traced farswap_store_end "$stored_pages"
}

# A kernel in which zswap was ever enabled does not swap in large folios.
comes_back_whole() {
	is_direct && [ ! -e /sys/kernel/debug/zswap ]
}

# come_back COMMAND...: its folios come in with one read each, or with one for each page
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
	echo "thp_swpout was $huge_before, is $(thp swpout); $(thp fault_alloc) were allocated, $(thp fault_fallback) failed"
	[ "$(thp swpout)" -gt "$huge_before" ]
}

# swapouts FILE NAME: a kernel counter, in a file of its own or one of many
swapouts() {
	awk -v name="$2" 'NF == 1 { print $1 } $1 == name { print $2 }' "$1"
}

counted_by_size() {
	size_now=$(swapouts "$THP/hugepages-64kB/stats/swpout" swpout)
	group_now=$(swapouts "$CGROUP/large/memory.stat" thp_swpout)
	echo "64 KiB folios paged out: $size_before, then $size_now;" \
		"2 MiB folios of the cgroup: $group_before, then $group_now"
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
check "partly unmapped 64 KiB folios are right and stored whole" stored_whole 16 \
	in_cgroup large "$LOAD" -m 56 -p 2 -t huge -n 500 -u 25 -o 25
check "64 KiB folios are right and come in as expected" come_back \
	in_cgroup large "$LOAD" -m 56 -p 2 -t huge -n 400 -o 25
# The limit is high enough that the threads meet in a folio often.
if comes_back_whole; then
	echo 54M >"$CGROUP/large/memory.high"
	check "threads that fault in the same folios at once are right" come_back \
		in_cgroup large "$LOAD" -m 72 -t huge -f 3 -T -q -n 19000 -w 0
	echo 40M >"$CGROUP/large/memory.high"
else
	skip_one "none is read as a whole here"
fi
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no remote bit outlives its slot" no_orphaned_pages
set_value "$THP/hugepages-64kB/enabled" never
set_value "$THP/hugepages-2048kB/enabled" always
huge_before=$(thp swpout)
check "partly unmapped 2 MiB folios are right and stored whole" stored_whole 512 \
	in_cgroup large "$LOAD" -m 64 -t huge -n 500 -u 25 -o 25 -s 5
check "the kernel counts 2 MiB page-outs" counted_huge
if is_direct; then
	check "the kernel counts page-outs by size and by cgroup" counted_by_size
else
	skip_one "attached: the kernel's function that counts by size can't be called"
fi
rmdir "$TRACE"
stats_show
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot then" no_orphaned_pages
test_end
