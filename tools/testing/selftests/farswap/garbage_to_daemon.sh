#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A client that sends garbage, breaks the protocol, floods, falls silent or
# reaches for another's memory is shown the door; the daemon lives, and its
# well-behaved clients don't notice.
# cluster: donors=2 mem=192 disks=1
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

# One after the other; "peer" prints the results of its own.
rude() {
	rude_status=0
	for rude_command in "$@"; do
		echo "peer $rude_command"
		# shellcheck disable=SC2086 # words are wanted
		"$PEER" "$target" $rude_command || rude_status=1
	done
	return "$rude_status"
}

test_begin 11
[ -x "$PEER" ] || skip_rest "no peer: it needs librdmacm to be built"
farswap_up 2
daemon_before=$(daemon_pid)
swap_on
make_cgroup rude 24M
start_load rude rude -m 40 -p 2 -d 280 -w 30 -i 20
check "pages go to donors" wait_for 60 stat_above remote_pages 1000
check "another version, another slab size" rude badversion badslab
check "random bytes" rude "garbage 1" "garbage 2" "garbage 3"
check "messages too short, too long, out of order" rude short long outoforder
check "another client's key, another client's session" rude stolenkey data-noauth
check "more requests than were agreed" rude flood
check "a client that dies" rude "die 2"
check "the daemon is the same" same_daemon
check "its other client stayed connected" eval 'donors_live 2 && same donor_down slab_lost'
check "memory was right all the time" stop_load rude
stats_show
check "pages went to donors and came back" grew store_remote load_remote
test_end
