#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a kernel that can inject faults: farswap's allocations fail, requests and messages cannot be
# posted and completions are bad, while memory is swapped and donors, slabs and farswap itself come
# and go; the disk fails backup writes. No byte is wrong, nothing hangs, and everything works
# afterwards. All kinds, one after the other, or with TURN=NUMBER the one whose turn it is.
# cluster: donors=2 mem=192 disks=1 tree=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

FAULTS=/sys/kernel/debug
KINDS="failslab fail_page_alloc fail_function fail_make_request"
SECONDS_EACH=${SECONDS_EACH:-12}

# text_of MODULE: the first and the last address of its code
text_of() {
	awk -v module="[$1]" '$4 == module && tolower($2) == "t" { print $1 }' /proc/kallsyms |
		sort | sed -n '1p;$p' | tr '\n' ' '
}

# range_of FUNCTION: its first address, and the one after it
range_of() {
	sort /proc/kallsyms |
		awk -v name="$1" '!end && seen && $1 != seen { end = $1 } $3 == name { seen = $1 }
			END { if (end) print seen, end }'
}

# The number of allowed faults; each fault decrements it.
TIMES=1000000

# injected: number of faults since the beginning of this phase
injected() {
	for injected_fault in $KINDS; do
		echo $((TIMES - $(cat "$FAULTS/$injected_fault/times")))
	done | awk '{ sum += $1 } END { print sum }'
}

# inject FAULT ONE_IN
inject() {
	echo 0 >"$FAULTS/$1/task-filter"
	echo 0 >"$FAULTS/$1/verbose"
	echo "$2" >"$FAULTS/$1/interval"
	echo 100 >"$FAULTS/$1/probability"
}

inject_from_now() {
	for inject_fault in $KINDS; do
		echo "$TIMES" >"$FAULTS/$inject_fault/times"
	done
}

inject_no_more() {
	for inject_fault in $KINDS; do
		echo 0 >"$FAULTS/$inject_fault/probability"
	done
	echo >"$FAULTS/fail_function/inject"
}

# inject_allocations FAULT MODULE FUNCTION: fail the module's allocations, but not the function's,
# which warns if it has no memory: SLUB about a cache that it cannot make, vmalloc() about an area.
inject_allocations() {
	inject_within "$1" "$(text_of "$2")" "$3"
}

# inject_pages FUNCTION: fail the page allocations of the function
inject_pages() {
	inject_within fail_page_alloc "$(range_of "$1")" alloc_tagging_slab_alloc_hook
}

# inject_within FAULT RANGE FUNCTION: fail calls from within the range, but not from the function
inject_within() {
	inject_range=$2
	[ -n "$inject_range" ] || return 1
	echo "0x${inject_range%% *}" >"$FAULTS/$1/require-start"
	inject_range=${inject_range#* }
	echo "0x${inject_range%% *}" >"$FAULTS/$1/require-end"
	echo 32 >"$FAULTS/$1/stacktrace-depth"
	inject_range=$(range_of "$3")
	[ -n "$inject_range" ] || return 1
	echo "0x${inject_range% *}" >"$FAULTS/$1/reject-start"
	echo "0x${inject_range#* }" >"$FAULTS/$1/reject-end"
	echo N >"$FAULTS/$1/ignore-gfp-wait"
	if [ "$1" = fail_page_alloc ]; then
		echo 0 >"$FAULTS/$1/min-order"
		echo N >"$FAULTS/$1/ignore-gfp-highmem"
	fi
	inject "$1" 5
}

# inject_into FUNCTION ERROR ONE_IN
inject_into() {
	echo >"$FAULTS/fail_function/inject"
	echo "$1" >"$FAULTS/fail_function/inject" || return 1
	printf '%#x' "$2" >"$FAULTS/fail_function/$1/retval"
	inject fail_function "$3"
}

# Slabs, donors and farswap itself come and go; each step may fail, but must succeed now and then.
upheaval() {
	evicted=0
	removed=0
	detached=0
	upheaval_end=$(($(date +%s) + SECONDS_EACH))
	while [ "$(date +%s)" -lt "$upheaval_end" ] ||
		{ ! upheaval_was && [ "$(date +%s)" -lt $((upheaval_end + 100)) ]; }; do
		for upheaval_donor in $DONORS; do
			evicted=$((evicted + $(on "$upheaval_donor" "farswapctl evict 2" |
				awk '/^[0-9]+ regions evicted/ { print $1 }') + 0))
		done
		sleep 1
		echo "${DONORS%% *}" >"$FARSWAP/donors" && removed=$((removed + 1))
		sleep 1
		donor_list 2 >"$FARSWAP/donors"
		sleep 2
		echo 0 >"$FARSWAP/attached" && detached=$((detached + 1)) && sleep 1
		echo 1 >"$FARSWAP/attached"
	done 2>/dev/null
	echo "$evicted regions evicted, $removed donor removals, $detached detaches"
	upheaval_was
}

upheaval_was() {
	[ "$evicted" -gt 0 ] && [ "$removed" -gt 0 ] && [ "$detached" -gt 0 ]
}

# through COMMAND...: inject faults by this command, with upheaval
through() {
	inject_from_now
	"$@" || return 1
	upheaval
	through_status=$?
	inject_no_more
	echo "$(injected) faults"
	[ "$through_status" -eq 0 ] && [ "$(injected)" -gt 0 ] && load_runs faulty
}

# copies_fail: the disk fails one backup write in ten
copies_fail() {
	stats_save
	inject_from_now
	inject_range=$(range_of backup_work_fn)
	[ -n "$inject_range" ] || return 1
	echo "0x${inject_range% *}" >"$FAULTS/fail_make_request/require-start"
	echo "0x${inject_range#* }" >"$FAULTS/fail_make_request/require-end"
	echo 32 >"$FAULTS/fail_make_request/stacktrace-depth"
	inject fail_make_request 10
	sleep "$SECONDS_EACH"
	inject_no_more
	echo "$(injected) faults"
	[ "$(injected)" -gt 0 ] && grew backup_failed backup_written && load_runs faulty
}

# memory_fails: one page in ten cannot be read for staging
memory_fails() {
	stats_save
	inject_from_now
	inject_into backup_stage_page -5 10 || return 1
	sleep "$SECONDS_EACH"
	inject_no_more
	echo "$(injected) faults"
	[ "$(injected)" -gt 0 ] && grew store_unreadable store_device store_remote &&
		load_runs faulty
}

# count_allocations 0|1: the kernel counts allocations of farswap's modules, which are reloaded
count_allocations() {
	[ "$counted" != "$1" ] || return 0
	stat_is load_lost "$lost" && echo 0 >"$FARSWAP/attached" && unload_modules || return 1
	echo "$1" >/proc/sys/vm/mem_profiling && modprobe farswap || return 1
	counted=$1
	lost=0
	farswap_up 2
}

# The kernel reports pages and objects that a module leaks.
leaves_nothing() {
	echo "before unloading: $(grep -c '^ *[1-9].* \[farswap\] ' /proc/allocinfo) kinds of allocations"
	grep -q '^ *[1-9].* \[farswap\] ' /proc/allocinfo || return 1
	echo 0 >"$FARSWAP/attached" && unload_modules && ! dmesg | grep 'allocated at module unload'
}

# Reattach: a device for which there was no memory is not served until then.
works_again() {
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" || return 1
	echo >"$FARSWAP/donors"
	donor_list 2 >"$FARSWAP/donors"
	stats_save
	wait_for 60 donors_live 2 && wait_for 60 grew store_remote load_remote
}

# phases: what fails, and how. (Page allocations of the transport are made by the adapter's driver,
# which warns if they fail.)
phases() {
	cat <<-PHASES
	the core has no memory|through inject_allocations failslab farswap __kmem_cache_create_args
	the core has no pages|through inject_allocations fail_page_alloc farswap __kmem_cache_create_args
	the transport has no memory|through inject_allocations failslab farswap_rdma __vmalloc_node_range_noprof
	there are no staging pages|through inject_pages staging_make
	there are no pages for migration|through inject_pages farswap_copy
	posting requests fails|through inject_into io_post -12 200
	completions have errors|through inject_into io_status_errno -5 200
	sending messages fails|through inject_into control_post_send -12 10
	posting receives fails|through inject_into control_post_recv -12 150
	backup writes fail|copies_fail
	pages to stage are unreadable|memory_fails
	PHASES
}

nr_phases=$(phases | wc -l)
first=1
last=$nr_phases
if [ -n "$TURN" ]; then
	first=$((TURN % nr_phases + 1))
	last=$first
fi
test_begin $((4 + 2 * (last - first + 1)))
if [ ! -e "$FAULTS/failslab" ] || [ ! -e "$FAULTS/fail_function" ] || [ ! -e /proc/allocinfo ]; then
	skip_rest "this kernel injects no faults, or does not count what is allocated"
fi
farswap_up 2
lost=$(stat_of load_lost)
counted=$(cat /proc/sys/vm/mem_profiling)
# No fault stays enabled after the test.
for fault in $KINDS; do
	set_value "$FAULTS/$fault/probability" 0
done
swap_on
set_value "/sys/block/${SWAP_DISK##*/}/make-it-fail" 1
make_cgroup faulty 16M
start_load faulty faulty -m 28 -p 2 -w 50 -d 900 -i 30
check "pages go out to donors and come in" wait_for 60 grew store_remote load_remote
phases | sed -n "$first,${last}p" >"$TMP/phases"
while IFS='|' read -r what how; do
	# Allocation profiling warns if it has no memory for its counters.
	case $how in
	*inject_allocations*) count_allocations 0 </dev/null || bail "can't be loaded anew" ;;
	*) count_allocations 1 </dev/null || bail "can't be loaded anew" ;;
	esac
	# shellcheck disable=SC2086 # words are wanted
	check "$what" $how </dev/null
	check "it works again: $what" works_again </dev/null
done <"$TMP/phases"
check --data "memory contents are right" eval 'stop_load faulty && stat_is load_lost "$lost"'
swapoff -a
check "no page is staged or remote" eval \
	'wait_for 10 stat_is staged_pages 0 && data stat_is remote_pages 0'
if [ "$counted" -eq 1 ]; then
	check --data "no page and no object leaks" leaves_nothing
else
	skip_one "what allocations that fail have left is kmemleak's to tell"
fi
test_end
