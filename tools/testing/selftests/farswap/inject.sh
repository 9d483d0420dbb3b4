#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Forged packets in a connection's place. One with a wrong rkey costs the connection: the session is
# resumed, and pages that only the donor has are still there. One that overwrites a page at the donor
# is noticed if pages are protected. Users who are not root can send neither, and learn nothing that
# would help them, on the client or on a donor.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

INJECT=$HERE/inject
donor=${DONORS%% *}

# forged MODE: a packet is sent while the load waits
forged() {
	"$INJECT" eth0 "$1" 90 >"$TMP/inject" 2>&1 &
	forged_pid=$!
	wait_for 10 listens || return 1
	hold_remote "load_$1" inject 1 500 -m 12 || return 1
	wait "$forged_pid"
	forged_status=$?
	cat "$TMP/inject"
	return $forged_status
}

listens() {
	[ "$(wc -l </proc/net/packet)" -gt 1 ]
}

# Nothing but the connection is lost. It is noticed when the next page goes out.
resumed() {
	start_load more inject -m 12 -p 1 -w 50 -d 200 -r 50 -i 0
	wait_for 90 donor_field_above "$donor" resumes "$resumes" &&
		wait_for 60 donor_is_live "$donor"
	resumed_status=$?
	stop_load more && same slab_lost load_lost && return $resumed_status
}

rest_is_right() {
	go_on "load_$1" && stop_load "load_$1"
}

with_backup() {
	echo "$1" >"$FARSWAP/backup"
}

protect() {
	echo 0 >"$FARSWAP/attached" && echo "$1" >"$FARSWAP/protect" && echo 1 >"$FARSWAP/attached" &&
		wait_for 30 donors_live 1
}

# as_nobody COMMAND: fails as the command does, but not because it can't be tried
as_nobody() {
	busybox su -s /bin/sh nobody -c "$1" >"$TMP/nobody" 2>&1
}

nobody_learns_or_sends() {
	as_nobody 'id -u' && grep -qx 65534 "$TMP/nobody" || return 1
	for nobody_may in "cat $FARSWAP/donors" "echo 0 >$FARSWAP/enabled" \
		"ls $FARSWAP_DEBUG" "cat /sys/module/farswap/parameters/donors" \
		"$INJECT eth0 key 1" "cat /etc/farswap/key" 'cat /proc/kcore'; do
		as_nobody "$nobody_may" && { echo "nobody may: $nobody_may"; return 1; }
		grep -qi 'permission denied\|not permitted\|can.t open' "$TMP/nobody" || {
			cat "$TMP/nobody"
			return 1
		}
	done
}

# A udev rule can set the mode of the devices.
nobody_is_a_client() {
	as_nobody "$HERE/peer $donor want 1"
}

devices_closed() {
	chmod 660 /dev/infiniband/*
	nobody_is_a_client
	closed_status=$?
	cat "$TMP/nobody"
	chmod 666 /dev/infiniband/*
	[ $closed_status -ne 0 ] && grep -q 'no RDMA' "$TMP/nobody"
}

# On a donor it may neither read the memory of farswapd nor give it orders.
donor_is_closed() {
	on "$donor" "cat >/run/nobody.sh <<'END'
pid=\$(pidof farswapd)
farswapctl status
cat /proc/\$pid/maps
cat /proc/\$pid/mem
ls /proc/\$pid/fd
cat /etc/farswap/key
kill \$pid
END
	mkdir -p /etc/farswap && echo x >/etc/farswap/key && chmod 600 /etc/farswap/key
	while read -r line; do
		busybox su -s /bin/sh nobody -c \"pid=\$(pidof farswapd); \$line\" && echo \"may: \$line\"
	done </run/nobody.sh 2>&1 | grep may:
	rm /etc/farswap/key; busybox su -s /bin/sh nobody -c 'id -u'" >"$TMP/donor"
	cat "$TMP/donor"
	grep -qx 65534 "$TMP/donor" && ! grep -q 'may: [^p]' "$TMP/donor"
}

test_begin 10
[ -x "$INJECT" ] || skip_rest "no $INJECT"
farswap_up 1
with_backup none
swap_on
make_cgroup inject 6M
resumes=$(donor_field "$donor" resumes)
check "a forged packet with a wrong rkey is refused" forged key
check "it costs a connection, and no page" resumed
check --data "every page is right" rest_is_right key
with_backup disk
check "pages are protected" protect encrypt
stats_save
check "a forged packet overwrites a page" forged page
check --data "every page is right" rest_is_right page
check "the altered page was noticed" grew load_altered
check "another user learns nothing, and sends nothing" nobody_learns_or_sends
check "nor is one a client if the devices are closed to others" devices_closed
check "nor rules or reads a donor" donor_is_closed
echo 0 >"$FARSWAP/attached"
echo none >"$FARSWAP/protect"
echo 1 >"$FARSWAP/attached"
test_end
