#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor is drained, lends again, is stopped and started again, under load: it requests all its
# regions first, so that no slab is lost and no byte is wrong. A client that keeps its regions does
# not delay others.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

holds_nothing() {
	donor_metric_is "$victim" held_bytes -eq 0
}

# All regions are back, and the memory belongs to the machine.
drain_victim() {
	on "$victim" 'farswapctl drain' | tee "$TMP/drained"
	grep -qE '^drained: [1-9][0-9]* regions evicted, [1-9][0-9]* returned, 0 revoked$' \
		"$TMP/drained" &&
		donor_metric_is "$victim" draining -eq 1 &&
		donor_metric_is "$victim" free_bytes -eq 0 && holds_nothing &&
		on "$victim" 'farswapctl status' | grep "^memory.*; drained$"
}

# The other donor's slabs are mapped again, and not here.
stays_drained() {
	on "$other" 'farswapctl evict all' && wait_for 20 grown slab_mapped 3 || return 1
	[ ! -x "$HERE/peer" ] || "$HERE/peer" "$victim" drained || return 1
	donor_metric_is "$victim" 'regions{state="mapped"}' -eq 0 && holds_nothing
}

# The other donor's slabs need a place, and there is no third donor.
lends_again() {
	donor_metric_is "$victim" draining -eq 0 && on "$other" 'farswapctl drain' || return 1
	wait_for 20 donor_metric_is "$victim" 'regions{state="mapped"}' -gt 0
	lends_status=$?
	on "$other" 'farswapctl undrain' && return "$lends_status"
}

daemon_ended() {
	! donor_has_daemon "$victim"
}

stop_victim() {
	donor_touch "$victim"
	on "$victim" 'kill -TERM $(pidof farswapd)' && wait_for 9 daemon_ended &&
		on "$victim" 'tail -n 3 /run/farswapd.log'
}

# Slabs came back because they were requested.
all_given_back() {
	grew slab_evicted && same slab_lost load_lost
}

# A client that does not give back its region: the rkey is revoked at evict_ms, with or without
# waiting.
silent_client() {
	"$HERE/peer" "$victim" hold >"$TMP/hold" 2>&1 &
	silent_pid=$!
	wait_for 20 grep -q "now evict" "$TMP/hold" || return 1
	# Long enough for the client, which moves its pages, and shorter than the deadline.
	on "$victim" 'farswapctl drain --timeout 3' >"$TMP/timeout" 2>&1 && return 1
	cat "$TMP/timeout"
	grep -q '^farswapctl: 1 of [0-9]* regions are still lent after 3' "$TMP/timeout" || return 1
	on "$victim" 'farswapctl drain' | tee "$TMP/killed"
	wait "$silent_pid"
	silent_status=$?
	cat "$TMP/hold"
	grep -q '^drained: .*, 1 revoked$' "$TMP/killed" && [ "$silent_status" -eq 0 ]
}

# refused TEXT WORDS...: fails with one line that contains the text
refused() {
	refused_text=$1
	shift
	on "$victim" "farswapctl $*" >"$TMP/refused" 2>&1 && return 1
	cat "$TMP/refused"
	[ "$(wc -l <"$TMP/refused")" -eq 1 ] && grep -q "^farswapctl: .*$refused_text" "$TMP/refused"
}

bad_arguments() {
	refused "range 1-86400 seconds" drain --timeout 0 &&
		refused "range 1-86400 seconds" drain --timeout=5s &&
		refused "needs a value" drain --timeout &&
		refused "not valid for undrain" undrain --timeout 5 &&
		refused "unexpected argument" drain 5 &&
		refused "unknown option" drain --force &&
		refused "unknown command" drian
}

test_begin 15
farswap_up 2
swap_on
make_cgroup drain 12M
start_load drain drain -m 24 -p 2 -d 280 -r 70 -w 50 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
victim=$(donor_of_most)
other=$(donors_but "$victim" | head -n 1)
stats_save
check "a donor is drained" drain_victim
check "its slabs were given back, its session stays" eval \
	'all_given_back && same donor_down && donor_is_live "$victim"'
check "draining it again succeeds" on "$victim" 'farswapctl drain --timeout 5'
stats_save
check "it lends nothing" stays_drained
check "undrain makes it lend again" eval \
	'on "$victim" "farswapctl undrain" && lends_again' || donors_show
check "each bad argument is reported in one line" bad_arguments
if [ -x "$HERE/peer" ]; then
	check "a client that keeps its region does not delay others" silent_client
else
	skip_one "no peer: it needs librdmacm to be built"
fi
check "the donor lends again" eval \
	'on "$victim" "farswapctl undrain" && lends_again' || donors_show
stats_save
check "SIGTERM evicts all regions, then ends the daemon" stop_victim
check "its slabs were given back" all_given_back
check "it starts again and lends" eval \
	'donor_start "$victim" && wait_for 60 donor_is_live "$victim" && lends_again' || donors_show
check --data "memory contents are right" stop_load drain
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
