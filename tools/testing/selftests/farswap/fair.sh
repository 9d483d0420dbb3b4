#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two clients share one donor, and one of them lies, takes all memory that it gets, vanishes or
# knows the other's session: the other keeps its share, its reserve and its session.
# cluster: clients=2 donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

PEER=$HERE/peer
target=${DONORS%% *}
other=${CLIENTS##* }
peers=

# donor_with KEY=VALUE...: restart the donor
donor_with() {
	peers_end
	donor_kill "$target" && donor_start "$target" slab=2M evict_ms=3000 "$@"
}

# here NAME COMMAND: start a peer on this machine
here() {
	here_name=$1
	shift
	"$PEER" "$target" "$@" >"$TMP/$here_name" 2>&1 &
	peers="$peers $!"
}

# there COMMAND: start a peer on the other machine, or replace it
there() {
	there_end
	on "$other" "setsid $PEER $target $* >/run/peer.log 2>&1 </dev/null & echo \$! >/run/peer.pid"
}

there_end() {
	on "$other" "[ ! -e /run/peer.pid ] || kill -9 \$(cat /run/peer.pid) 2>/dev/null
		rm -f /run/peer.pid"
}

there_said() {
	on "$other" "grep '$1' /run/peer.log"
}

peers_end() {
	for peers_one in $peers; do
		kill -9 "$peers_one" 2>/dev/null
	done
	peers=
	there_end
}

# lent_to ADDRESS: number of regions
lent_to() {
	lent_now=$(on "$target" 'farswapctl metrics' |
		awk -v n="farswapd_client_regions{client=\"$1\"}" '$1 == n { print $2 }')
	echo "${lent_now:-0}"
}

# lent_to_is ADDRESS TEST NUMBER
lent_to_is() {
	lent_is_now=$(lent_to "$1")
	echo "$lent_is_now regions are lent to $1"
	test "$lent_is_now" "$2" "$3"
}

# evictions_leave LOW HIGH PEER: each of the two has 20 regions, and 24 are evicted
evictions_leave() {
	donor_with memory=80M && there "$3" 20 && here honest polite 20 &&
		wait_for 30 grep "now evict" "$TMP/honest" && wait_for 30 there_said "now evict" &&
		lent_to_is "$CLIENT" -eq 20 && lent_to_is "$other" -eq 20 || return 1
	leave_nr=0
	while [ $((leave_nr += 1)) -le 24 ]; do
		on "$target" 'farswapctl evict 1' >"$TMP/evicted" || return 1
		grep -q '^1 regions evicted: 1 returned' "$TMP/evicted" || cat "$TMP/evicted"
	done
	lent_to_is "$CLIENT" -ge "$1" && lent_to_is "$CLIENT" -le "$2"
}

# It answers that its regions are busier than any can be.
liar_loses_as_much() {
	evictions_leave 7 9 liar
}

# The weights are 3 and 1, so that of 16 regions 12 are left.
weight_counts() {
	on "$target" "echo 'client = $CLIENT weight=3' >/etc/farswapd.conf"
	evictions_leave 11 13 polite
	weight_status=$?
	on "$target" 'rm -f /etc/farswapd.conf'
	return $weight_status
}

greedy_has_all() {
	donor_with "$@" && there hungry && wait_for 30 lent_to_is "$other" -eq 24
}

# The greedy one never returns a region: its keys are revoked after evict_ms.
reserve_is_got() {
	greedy_has_all memory=48M client_min=16M || return 1
	here wants want 8 && wait_for 60 grep "has 8 regions" "$TMP/wants" &&
		lent_to_is "$CLIENT" -eq 8 && lent_to_is "$other" -le 16
}

limit_holds() {
	donor_with memory=48M client_max=16M && there hungry &&
		wait_for 30 lent_to_is "$other" -eq 8 && sleep 1 &&
		lent_to_is "$other" -eq 8 && "$PEER" "$target" want 8
}

# Half of what it had is its share, which it keeps.
gone_is_taken() {
	donor_with memory=48M || return 1
	on "$other" "$PEER $target vanish 4096"
	lent_to_is "$other" -eq 24 && "$PEER" "$target" want 12
}

session_is_kept() {
	donor_with memory=48M && here victim victim &&
		wait_for 30 grep session "$TMP/victim" || return 1
	on "$other" "$PEER $target takeover $(sed -n 's/^# session //p' "$TMP/victim")" &&
		sleep 1 && lent_to_is "$CLIENT" -eq 1 && ! grep disconnected "$TMP/victim"
}

strangers_are_refused() {
	donor_with memory=48M admit=listed client="$CLIENT" || return 1
	"$PEER" "$target" want 8 || return 1
	on "$other" "$PEER $target want 1"
	donor_metric_is "$target" 'rejects_total{reason="unknown"}' -gt 0 &&
		lent_to_is "$other" -eq 0
}

test_begin 7
[ -x "$PEER" ] || skip_rest "no peer: it needs librdmacm to be built"
check "24 evictions take no more of an honest client than of a liar" liar_loses_as_much
check "a client of three times the weight keeps three times as much" weight_counts
check "a client gets its reserve from one that has taken all" reserve_is_got
check "a client does not get more than its limit" limit_holds
check "memory of a client that has gone is lent before another is refused" gone_is_taken
check "a session is not taken over by another address that knows it" session_is_kept
check "an address that is not listed is refused" strangers_are_refused
peers_end
# The end of the test starts it with its usual options.
donor_kill "$target"
test_end
