#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# When all machines share one donors line, it names each machine to itself. Its own farswapd
# refuses that session, the log reports it once, and the other donors are used.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

other=${DONORS%% *}
self_line="donor $CLIENT: is this machine: not used"

own_start() {
	sh -c "$1 $START_FARSWAPD memory=24M headroom=0 slab=$(cat "$FARSWAP/slab_mb")M"
}

own_stop() {
	sh -c "$KILL_FARSWAPD"
}

own_lends() {
	farswapctl metrics >"$TMP/own" && grep 'regions{state="mapped"}' "$TMP/own" &&
		grep -q 'regions{state="mapped"} [1-9]' "$TMP/own"
}

is_refused() {
	echo "$CLIENT,$other" >"$FARSWAP/donors"
	wait_for 30 donor_is_live "$other" &&
		wait_for 30 donor_field_is "$CLIENT" last_error -40 || return 1
	cat "$FARSWAP_DEBUG/donors"
	donor_field_is "$CLIENT" state connecting
}

# The next attempt comes later than this check.
is_said_once() {
	log_show | grep "$CLIENT"
	grep "is this machine" "$FARSWAP_DEBUG/session_ends"
	[ "$(log_show | grep -c "$self_line; name another machine")" = 1 ] && ! log_has farswap "$CLIENT" "can't connect" &&
		[ "$(donor_field "$CLIENT" downs)" = 0 ] &&
		[ "$(tried_times)" -eq $((${tried:-0} + 1)) ]
}

tried_times() {
	sed -n 's/ is this machine: not used$//p' "$FARSWAP_DEBUG/session_ends"
}

# A reloaded module is still the same machine.
reload_is_refused() {
	echo >"$FARSWAP/donors"
	reload_before=$(cat "$FARSWAP/instance")
	reload_modules && [ "$(cat "$FARSWAP/instance")" != "$reload_before" ] && is_refused
}

# A farswapd that cannot see the module, as in a container, cannot detect it.
unseen_is_used() {
	echo >"$FARSWAP/donors"
	own_stop && own_start "unshare -m sh -c 'mount -t tmpfs none $FARSWAP && \"\$@\"' sh" &&
		echo "$CLIENT" >"$FARSWAP/donors" && wait_for 30 donor_is_live "$CLIENT"
}

test_begin 9
farswap_up 0
check "the module has an instance" grep -Ex '[0-9a-f]{16}' "$FARSWAP/instance"
check "this machine lends, too" own_start
tried=$(tried_times)
log_mark
check "its own farswapd is not used" is_refused
swap_on
make_cgroup self 12M
stats_save
check --data "memory contents are right" in_cgroup self "$LOAD" -m 24 -p 2 -n 1500
check "the other donor serves" grew store_remote load_remote
check "its own farswapd lends nothing" eval '! own_lends'
check "it is logged once and tried once" is_said_once
swapoff "$SWAP_DISK"
check "it is not used after the module was reloaded" reload_is_refused
check "a daemon that cannot see the module is an ordinary donor" unseen_is_used
echo >"$FARSWAP/donors"
own_stop
stats_show
test_end
