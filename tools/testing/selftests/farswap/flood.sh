#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A machine floods a donor with connect requests that it never completes, more than the donor has
# sessions for: an established session goes on, and another client connects. An emulated farswapd
# refuses some 25 requests a second.
# cluster: clients=2 donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

PEER=$HERE/peer
target=${DONORS%% *}
other=${CLIENTS##* }

flood_start() {
	on "$other" "setsid $PEER $target burst 15 >/run/burst.log 2>&1 </dev/null &
		echo \$! >/run/burst.pid"
	wait_for 30 flood_runs
}

flood_said() {
	on "$other" 'tail -n 1 /run/burst.log'
}

flood_end() {
	on "$other" 'kill $(cat /run/burst.pid)'
}

flood_runs() {
	flood_said
	on "$other" 'tail -n 1 /run/burst.log | awk "{ exit !(\$2 > 100 && \$7 > 0) }"'
}

# Only root of this machine may know its identity.
identity_is_hashed() {
	identity=$(tr -d '\n-' </sys/class/dmi/id/product_uuid | tr A-F a-f)
	on "$target" 'farswapctl status' | grep "^ .*$CLIENT:.* node " >"$TMP/nodes"
	echo "$identity"
	cat "$TMP/nodes"
	[ "${#identity}" -eq 32 ] && [ -s "$TMP/nodes" ] && ! grep -q "node $identity" "$TMP/nodes"
}

# Data of the first client still goes in and out.
session_goes_on() {
	stats_save
	wait_for 60 grown store_remote 200 && wait_for 60 grown load_remote 200 &&
		same donor_down slab_lost
}

bounded() {
	wait_for 20 donor_metric_is "$target" 'rejects_total{reason="busy"}' -gt 0 &&
		donor_metric_is "$target" sessions_half_open -le 4
}

test_begin 9
[ -x "$PEER" ] || skip_rest "no peer: it needs librdmacm to be built"
farswap_up 2
swap_on
make_cgroup flood 16M
start_load flood flood -m 28 -p 2 -d 250 -r 70 -w 30 -i 10
check "pages go out and come in" pages_go_and_return 1500
check "a donor does not learn this machine's own identity" identity_is_hashed
check "another machine sends connect requests without end" flood_start
check "few of its connections are kept" bounded
check "a client connects and gets memory" "$PEER" "$target" want 1
check "an established session goes on" session_goes_on
flood_said
on "$target" 'tail -n 3 /run/farswapd.log; farswapctl status | head -n 20'
flood_end
check "the donors are in use" donors_live 2
check --data "memory contents are right" stop_load flood
stats_show
check "pages went out and came in" grew store_remote load_remote
test_end
