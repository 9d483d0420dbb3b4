#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The function tracer, the graph tracer and return probes on all functions that farswap hooks are
# switched on and off while pages move and a device comes and goes. One thread emulates the four
# processors: with a thread each, QEMU cannot patch code that others run.
# cluster: donors=2 mem=192 disks=2 cpus=4 one_thread=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

TRACE=/sys/kernel/tracing
HOOKED="__swap_writepage swap_read_folio zswap_store zswap_swapon zswap_swapoff
	__folio_lock_or_retry swapin_readahead clear_shadow_from_swap_cache"
# 6.12 allocates large folios only where they can be swapped in, and none once zswap was enabled.
case $(uname -r) in
6.12.*) large= ;;
*) large=__frontswap_has ;;
esac
! is_direct || HOOKED="__frontswap_store __frontswap_load $large __frontswap_poll_lock
	__frontswap_invalidate frontswap_swapon frontswap_swapoff"
# This one exists in both hook modes.
LOADED=$(echo "$HOOKED" | grep -ow -e swap_read_folio -e __frontswap_load)

trace_off() {
	echo nop >"$TRACE"/current_tracer
	echo 0 >"$TRACE"/events/kprobes/enable
	echo >"$TRACE"/set_ftrace_filter
	echo >"$TRACE"/kprobe_events
} 2>/dev/null

# These run during swapon and swapoff.
swap_more() {
	swap_on "$SWAP_DISK2" && swapoff "$SWAP_DISK2"
}

# shellcheck disable=SC2086 # words are wanted
trace_functions() {
	echo $HOOKED | tr ' ' '\n' >"$TRACE"/set_ftrace_filter || return 1
	for trace_round in 1 2; do
		for trace_tracer in function function_graph nop; do
			echo "$trace_tracer" >"$TRACE"/current_tracer || return 1
			echo 1 >"$TRACE"/tracing_on
			sleep 1
		done
		echo "round $trace_round"
	done
	# One at a time, because frequent ones would overwrite the others.
	for trace_function in $HOOKED; do
		echo "$trace_function" >"$TRACE"/set_ftrace_filter &&
			echo function >"$TRACE"/current_tracer && seen "$trace_function" " $trace_function <-" || return 1
		echo nop >"$TRACE"/current_tracer
	done
}

# seen FUNCTION WORDS: it is in the trace while pages move
seen() {
	case $1 in
	*_swapon | *_swapoff) swap_more || return 1 ;;
	esac
	wait_for 30 grep -m 1 "$2" "$TRACE"/trace || {
		echo "not seen: $2"
		return 1
	}
}

all_probed() {
	[ "$(awk '$2 > 0' "$TRACE"/kprobe_profile | wc -l)" -eq "$(wc -l <"$TRACE"/kprobe_events)" ] &&
		grep -q "ret_$LOADED:" "$TRACE"/trace
}

probe_functions() {
	for probe_function in $HOOKED; do
		if ! echo "r:ret_$probe_function $probe_function" >>"$TRACE"/kprobe_events ||
			! echo "p:in_$probe_function $probe_function" >>"$TRACE"/kprobe_events; then
			echo "no probe on $probe_function"
			return 1
		fi
	done
	for probe_round in 1 2; do
		echo 1 >"$TRACE"/events/kprobes/enable || return 1
		swap_more && sleep 1 || return 1
		[ "$probe_round" = 1 ] || wait_for 30 all_probed || {
			cat "$TRACE"/kprobe_profile
			return 1
		}
		echo "round $probe_round: $(grep -c "ret_$LOADED:" "$TRACE"/trace) in the buffer"
		echo 0 >"$TRACE"/events/kprobes/enable
		sleep 0.3
	done
}

detach_traced() {
	echo 1 >"$TRACE"/events/kprobes/enable
	echo function >"$TRACE"/current_tracer
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached"
}

test_begin 7
[ -e "$TRACE"/kprobe_events ] || skip_rest "no kprobe events in this kernel"
grep -q function_graph "$TRACE"/available_tracers || skip_rest "no function graph tracer"
[ -b "$SWAP_DISK2" ] || skip_rest "no second disk $SWAP_DISK2"
farswap_up 2
swap_on
set_value "$TRACE/buffer_size_kb" 256
set_value "$TRACE/tracing_on" 1
make_cgroup trace 16M
start_load trace trace -m 28 -p 2 -d 250 -r 50 -u 10 -i 20
check "pages are remote" wait_for 60 stat_above remote_pages 500
check "function and graph tracer see the hooked functions" trace_functions
check "return probes see the hooked functions" probe_functions
check "detach and attach while traced" detach_traced
trace_off
check --data "memory contents are right" stop_load trace
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no page is lost, no remote bit is left" eval 'same load_lost && no_orphaned_pages'
test_end
