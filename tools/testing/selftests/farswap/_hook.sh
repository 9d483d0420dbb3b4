# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Other users of the functions that farswap redirects.

# shellcheck disable=SC2034 # for the tests
REDIRECTED="swap_writepage __swap_writepage swap_read_folio zswap_store zswap_swapon
	zswap_swapoff reenable_swap_slots_cache_unlock __folio_lock_or_retry swapin_readahead
	swap_cluster_readahead"
BPF=$(dirname "$0")/bpf

# bpf_start NAME KIND FUNCTION...
bpf_start() {
	bpf_name=$1
	shift
	"$BPF" "$@" >"$TMP/$bpf_name.bpf" 2>"$TMP/$bpf_name.error" 3>&- &
	echo $! >"$TMP/$bpf_name.pid"
	wait_for 20 grep -q attached "$TMP/$bpf_name.bpf" || {
		cat "$TMP/$bpf_name.error"
		return 1
	}
}

# bpf_stop NAME: returns the status of the program
bpf_stop() {
	kill -TERM "$(cat "$TMP/$1.pid")"
	wait "$(cat "$TMP/$1.pid")" || {
		cat "$TMP/$1.error"
		return 1
	}
}

# bpf_mark NAME: save the call counts for bpf_runs
bpf_mark() {
	cp "$TMP/$1.bpf" "$TMP/$1.mark"
}

# bpf_runs NAME: whether each function was called since bpf_mark
bpf_runs() {
	awk 'NF == 2 && NR == FNR { before[$1] = $2 }
		NF == 2 && NR > FNR && $2 <= before[$1] { print $1, $2; still = 1 }
		END { exit still }' "$TMP/$1.mark" "$TMP/$1.bpf"
}

attach() {
	echo 1 >"$FARSWAP/attached" && [ "$(cat "$FARSWAP/attached")" = 1 ]
}

detach() {
	echo 0 >"$FARSWAP/attached" && [ "$(cat "$FARSWAP/attached")" = 0 ]
}

# pages_go_out: pages go out to donors, while a load runs
pages_go_out() {
	go_out_stores=$(stat_of store_remote)
	wait_for 60 stat_above store_remote $((go_out_stores + 200))
}

# attach_refused REGEX...: attaching is refused with a matching line in the log, and leaves no hook
# behind
attach_refused() {
	log_mark
	! echo 1 >"$FARSWAP/attached" && log_has 'not attached' "$@" &&
		[ "$(cat "$FARSWAP/attached")" = 0 ] &&
		! grep farswap /sys/kernel/tracing/enabled_functions
	refused_status=$?
	log_show
	return "$refused_status"
}
