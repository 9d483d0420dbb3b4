#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a kernel that can inject faults: farswap's allocations fail, requests and messages can't
# be posted and completions are bad, while memory is swapped and donors, slabs and farswap
# itself come and go; the disk fails the writes of copies. No byte is wrong, nothing hangs, and
# all goes on afterwards. One after the other, or with TURN=NUMBER only the one whose turn it is.
# cluster: donors=2 mem=192 disks=1 tree=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

FAULTS=/sys/kernel/debug
KINDS="failslab fail_page_alloc fail_function fail_make_request"
SECONDS_EACH=${SECONDS_EACH:-12}

# text_of MODULE: the first address of its code and the last
text_of() {
	awk -v module="[$1]" '$4 == module && tolower($2) == "t" { print $1 }' /proc/kallsyms |
		sort | sed -n '1p;$p' | tr '\n' ' '
}

# range_of FUNCTION: its first address and the one behind it
range_of() {
	sort /proc/kallsyms |
		awk -v name="$1" '!end && seen && $1 != seen { end = $1 } $3 == name { seen = $1 }
			END { if (end) print seen, end }'
}

# So many may happen; each takes one away.
TIMES=1000000

# injected: all since the beginning of this phase
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

# inject_allocations FAULT MODULE FUNCTION: but for those of the function, which complains if it has
# no memory. SLUB does of a cache that can't be made, and loses its name; vmalloc() of an area.
inject_allocations() {
	inject_within "$1" "$(text_of "$2")" "$3"
}

# inject_pages FUNCTION: those that it allocates
inject_pages() {
	inject_within fail_page_alloc "$(range_of "$1")" alloc_tagging_slab_alloc_hook
}

# inject_within FAULT RANGE FUNCTION: below what is in the range, but not in the function
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

# Slabs, donors and farswap itself come and go; any of it may fail now, but not always.
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
	echo "$evicted regions were evicted; a donor was taken off $removed times, and farswap detached $detached"
	upheaval_was
}

upheaval_was() {
	[ "$evicted" -gt 0 ] && [ "$removed" -gt 0 ] && [ "$detached" -gt 0 ]
}

# through COMMAND...: which brings faults about
through() {
	inject_from_now
	"$@" || return 1
	upheaval
	through_status=$?
	inject_no_more
	echo "$(injected) faults"
	[ "$through_status" -eq 0 ] && [ "$(injected)" -gt 0 ] && load_runs faulty
}

# copies_fail: of ten requests for their writes the disk fails one
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

# memory_fails: of ten pages that are to be staged one can't be read
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

# count_allocations 0|1: has the kernel count those of farswap's modules, which are loaded anew
count_allocations() {
	[ "$counted" != "$1" ] || return 0
	stat_is load_lost "$lost" && echo 0 >"$FARSWAP/attached" && unload_modules || return 1
	echo "$1" >/proc/sys/vm/mem_profiling && modprobe farswap || return 1
	counted=$1
	lost=0
	farswap_up 2
}

# The kernel says what a module leaves, page or object.
leaves_nothing() {
	echo "until then: $(grep -c '^ *[1-9].* \[farswap\] ' /proc/allocinfo) kinds of memory"
	grep -q '^ *[1-9].* \[farswap\] ' /proc/allocinfo || return 1
	echo 0 >"$FARSWAP/attached" && unload_modules && ! dmesg | grep 'allocated at module unload'
}

# Attached anew: a device for which there was no memory is not served until then.
works_again() {
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" || return 1
	echo >"$FARSWAP/donors"
	donor_list 2 >"$FARSWAP/donors"
	stats_save
	wait_for 60 donors_live 2 && wait_for 60 grew store_remote load_remote
}

# phases: what fails, and how. (What the transport's pages are for is the adapter's driver's, and
# that complains.)
phases() {
	cat <<-PHASES
	the core lacks memory|through inject_allocations failslab farswap __kmem_cache_create_args
	the core lacks pages|through inject_allocations fail_page_alloc farswap __kmem_cache_create_args
	the transport lacks memory|through inject_allocations failslab farswap_rdma __vmalloc_node_range_noprof
	there is no page to stage in|through inject_pages staging_make
	there is no page to move slabs by|through inject_pages farswap_mover_alloc
	requests can't be posted|through inject_into io_post -12 200
	completions are bad|through inject_into io_status_errno -5 200
	messages can't be sent|through inject_into control_post_send -12 10
	messages can't be received|through inject_into control_post_recv -12 150
	copies can't be written to the disk|copies_fail
	memory can't be read|memory_fails
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
# Whatever happens, none stays on.
for fault in $KINDS; do
	set_value "$FAULTS/$fault/probability" 0
done
swap_on
set_value "/sys/block/${SWAP_DISK##*/}/make-it-fail" 1
make_cgroup faulty 16M
start_load faulty faulty -m 28 -p 2 -w 50 -d 900 -i 30
check "memory is swapped to donors" wait_for 60 grew store_remote load_remote
phases | sed -n "$first,${last}p" >"$TMP/phases"
while IFS='|' read -r what how; do
	# It complains if it has no memory to count in.
	case $how in
	*inject_allocations*) count_allocations 0 </dev/null || bail "can't be loaded anew" ;;
	*) count_allocations 1 </dev/null || bail "can't be loaded anew" ;;
	esac
	# shellcheck disable=SC2086 # words are wanted
	check "$what" $how </dev/null
	check "it works again: $what" works_again </dev/null
done <"$TMP/phases"
check --data "memory is right" eval 'stop_load faulty && stat_is load_lost "$lost"'
swapoff -a
check "nothing is staged any more, nor remote" eval \
	'wait_for 10 stat_is staged_pages 0 && data stat_is remote_pages 0'
if [ "$counted" -eq 1 ]; then
	check --data "no page and no object is left" leaves_nothing
else
	skip_one "what allocations that fail have left is kmemleak's to tell"
fi
test_end
