#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A client that sends garbage, breaks the protocol, floods, falls silent or tries to use another's
# memory is disconnected; the daemon survives, and its other clients are not affected. Clients that
# obey the protocol are served.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

PEER=$HERE/peer
target=${DONORS%% *}

daemon_pid() {
	on "$target" 'pidof farswapd'
}

same_daemon() {
	daemon_now=$(daemon_pid)
	echo "farswapd was $daemon_before, is $daemon_now"
	[ -n "$daemon_now" ] && [ "$daemon_now" = "$daemon_before" ]
}

# One after the other; "peer" prints its own results.
rude() {
	rude_status=0
	for rude_command in "$@"; do
		echo "peer $rude_command"
		# shellcheck disable=SC2086 # words are wanted
		"$PEER" "$target" $rude_command || rude_status=1
	done
	return "$rude_status"
}

# start_peer NAME: in the background, with its output in a file
start_peer() {
	peer_name=$1
	shift
	"$PEER" "$target" "$@" >"$TMP/peer.$peer_name" 2>&1 &
	echo $! >"$TMP/peer.$peer_name.pid"
}

wait_peer() {
	wait "$(cat "$TMP/peer.$1.pid")"
	peer_status=$?
	cat "$TMP/peer.$1"
	return "$peer_status"
}

# Evict three of eight regions. The later ones are busier: the first three must go.
idle_go_first() {
	start_peer polite polite 8
	wait_for 20 grep -q "now evict" "$TMP/peer.polite" &&
		on "$target" "farswapctl evict 3" || return 1
	wait_for 10 grep -q "gave region 2 back" "$TMP/peer.polite" &&
		[ "$(sed -n 's/^# gave region \(.*\) back/\1/p' "$TMP/peer.polite" | sort | tr -d '\n')" = 012 ]
}

# evict_ms_of COUNT: duration of the eviction, ms
evict_ms_of() {
	on "$target" "read -r a b </proc/uptime; farswapctl evict $1 >/dev/null &&
		read -r c d </proc/uptime && echo \"\$a \$c\"" |
		awk '{ print int(($2 - $1) * 1000) }'
}

# A client that does not report the activity of its regions counts as idle after a second, and
# delays one eviction only.
silence_costs_a_second() {
	start_peer taciturn taciturn 24
	wait_for 20 grep -q "now evict" "$TMP/peer.taciturn" || return 1
	first_ms=$(evict_ms_of 1)
	second_ms=$(evict_ms_of 1)
	third_ms=$(evict_ms_of 1)
	echo "$first_ms ms, $second_ms ms, $third_ms ms"
	[ "$first_ms" -ge 900 ] && [ $((2 * second_ms)) -lt "$first_ms" ] &&
		[ $((2 * third_ms)) -lt "$first_ms" ] &&
		wait_for 10 grep -q "gave region" "$TMP/peer.taciturn"
}

gave_all_back() {
	[ "$(grep -c "gave region" "$TMP/peer.$1")" -eq "$2" ]
}

# One client gives its region back, one does so without a message, one's message crosses the
# daemon's, and one never answers: the others do not wait for the last one's deadline.
all_go() {
	for go_name in cross hold; do
		start_peer "$go_name" "$go_name"
		wait_for 20 grep -q "now evict" "$TMP/peer.$go_name" || return 1
	done
	on "$target" "farswapctl evict all" >"$TMP/evict.all" &
	go_evict=$!
	wait_for 3 gave_all_back polite 8 && wait_for 1 gave_all_back taciturn 24 &&
		kill -0 "$go_evict" || return 1
	wait "$go_evict" || return 1
	cat "$TMP/evict.all"
	go_status=0
	for go_name in polite taciturn cross hold; do
		wait_peer "$go_name" || go_status=1
	done
	return "$go_status"
}

# Another user, and one capability, CAP_IPC_LOCK; a filter of system calls.
has_few_rights() {
	on "$target" "grep -E '^(Uid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/\$(pidof farswapd)/status" \
		>"$TMP/rights"
	cat "$TMP/rights"
	grep -q "^Uid:.65534.65534.65534.65534" "$TMP/rights" &&
		grep -q "^CapPrm:.0000000000004000" "$TMP/rights" &&
		grep -q "^CapEff:.0000000000004000" "$TMP/rights" &&
		grep -q "^NoNewPrivs:.1" "$TMP/rights" && grep -q "^Seccomp:.2" "$TMP/rights"
}

# The other client is this machine's module.
full() {
	donor_kill "$target" && donor_start "$target" clients=2 user=65534 &&
		wait_for 60 donor_is_live "$target" || return 1
	has_few_rights || return 1
	rude full
	full_status=$?
	donor_kill "$target" && donor_start "$target" && wait_for 60 donor_is_live "$target" &&
		return "$full_status"
}

silent_ones_are_dropped() {
	wait_peer silent
	silent_status=$?
	wait_peer nopong && return "$silent_status"
}

test_begin 19
[ -x "$PEER" ] || skip_rest "no peer: it needs librdmacm to be built"
# Restart the daemon, which may keep regions of other tests' clients.
donor_kill "$target"
farswap_up 2
daemon_before=$(daemon_pid)
check "memory that is lent again is zero" rude ok
check "a partial eviction gets a client's idle regions" idle_go_first
check "a client that does not report its activity delays one eviction only" \
	silence_costs_a_second
check "a full eviction of clients that answer, cross or stay silent" all_go
# These take long, so they run in the background.
start_peer silent silent
start_peer nopong nopong
swap_on
make_cgroup rude 16M
start_load rude rude -m 28 -p 2 -d 280 -r 70 -w 30 -i 20
check "pages go out to donors" wait_for 60 stat_above remote_pages 1000
check "another version, a later one, another slab size" rude badversion later badslab
check "the donor's log names both" on "$target" '
	grep "has protocol version .* this farswapd version" /run/farswapd.log &&
		grep "its slab_mb is .* set both to the same value" /run/farswapd.log'
check "random bytes" rude "garbage 1" "garbage 2"
check "messages too short, too long, out of order" rude short long outoforder
check "another client's rkey, another client's session" rude stolenkey data-noauth
check "more requests than agreed" rude flood
check "a client that resumes its session" rude resume
check "a client that dies" rude "die 2"
check "no HELLO, no data connection, no PONG" silent_ones_are_dropped
check "the daemon has not restarted" same_daemon
check "its other client stayed connected" eval 'donors_live 2 && same donor_down slab_lost'
check --data "memory contents are right" stop_load rude
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check "a full donor, with few rights, accepts its clients again" full
test_end
