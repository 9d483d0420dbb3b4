#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor with another slab size or protocol version is not used; the log names both values; the
# other donor still serves. One daemon with two addresses is one donor.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

slab_size_restart() {
	donor_kill "$odd" && donor_start "$odd" "slab=${other_mb}M"
}

version_refused() {
	fake_start badversion || return 1
	log_mark
	echo "$fake,$(donor_list 2)" >"$FARSWAP/donors"
	wait_for 60 log_has farswap "$fake" \
		'speaks version [0-9]+ of the protocol, this module version [0-9]+' || return 1
	cat "$TMP/log"
	donor_is_not_live "$fake"
}

# A second daemon on that machine: a foreign file at its socket's path stays, and as a service it
# goes on after SIGHUP and obeys SIGTERM.
second_daemon() {
	on "$odd" 'echo keep >/tmp/kept
		! farswapd -n -o control=/tmp/kept -o memory=64M 2>/tmp/second && cat /tmp/second &&
			grep -q "is not a socket" /tmp/second && [ "$(cat /tmp/kept)" = keep ] || exit 1
		farswapd -o control=/run/second.sock -o listen=0.0.0.0:9555 -o memory=64M \
			2>/tmp/second &
		second=$!
		sleep 2 && kill -HUP $second && sleep 1 &&
			farswapctl -s /run/second.sock status >/dev/null &&
			grep "read at start only" /tmp/second
		status=$?
		kill $second && wait $second && exit $status'
}

other_address() {
	on "$odd" "ip addr $1 10.0.0.102/24 dev eth0"
}

twin_is_unused() {
	other_address add && log_mark && echo "$odd,10.0.0.102" >"$FARSWAP/donors" || return 1
	wait_for 60 log_has farswap 'is the same farswapd as'
	twin_status=$?
	cat "$TMP/log" "$FARSWAP_DEBUG/donors"
	donors_live 1 || twin_status=1
	donor_list 2 >"$FARSWAP/donors"
	other_address del
	return "$twin_status"
}

test_begin 11
farswap_up 2
slab_mb=$(cat "$FARSWAP/slab_mb" 2>/dev/null || echo 64)
other_mb=$((slab_mb == 2 ? 4 : slab_mb / 2))
odd=${DONORS%% *}
log_mark
check "a donor has slabs of $other_mb MiB, not $slab_mb" slab_size_restart
check "the log names both sizes" \
	wait_for 60 log_has farswap "$odd" "\\b$slab_mb\\b" "\\b$other_mb\\b"
check "it is not used" donor_is_not_live "$odd"
swap_on
make_cgroup mismatch 16M
check --data "memory contents are right" in_cgroup mismatch "$LOAD" -m 28 -p 2 -n 800
check "the other donor serves" eval 'grew store_remote load_remote && donors_live 1'
check "the donor comes back with the right size" eval \
	'donor_kill "$odd" && donor_start "$odd" && wait_for 90 donor_is_live "$odd"'
if [ -x "$HERE/fakedonor" ]; then
	check "a donor of another version is not used, the log names both" version_refused
	fake_stop
else
	skip_one "no fakedonor: it needs librdmacm to be built"
fi
check "a daemon with two addresses is used once" twin_is_unused
check "a second daemon keeps foreign files and ignores SIGHUP" second_daemon
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
