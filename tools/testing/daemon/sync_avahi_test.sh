#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# farswapctl donors sync with what a real Avahi finds: a donor announces itself with the file of the
# package, and a client in another network namespace browses.
set -u
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../../..
avahi=$("$top/tools/testing/qemu/fetch.sh" --cache)/avahi
if [ ! -e "$avahi/ready" ] || ! command -v dbus-daemon >/dev/null; then
	echo "1..0 # SKIP no Avahi: run tools/testing/qemu/fetch.sh"
	exit
fi
if [ "${1:-}" != inside ]; then
	map=
	[ "$(id -u)" = 0 ] || map=-r
	# shellcheck disable=SC2086 # none or one
	if ! unshare $map -nmpf --mount-proc true 2>/dev/null; then
		echo "1..0 # SKIP no namespaces of its own"
		exit
	fi
	# All processes end with the namespace.
	# shellcheck disable=SC2086
	exec unshare $map -nmpf --mount-proc "$0" inside
fi

ctl=$top/daemon/farswapctl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
lib=$(dirname "$(find "$avahi/usr/lib" -name 'libavahi-core.so.*' | head -n 1)")
export LD_LIBRARY_PATH="$lib" PATH="$avahi/usr/bin:$avahi/usr/sbin:$PATH"
export DBUS_SYSTEM_BUS_ADDRESS="unix:path=$tmp/bus"
root=$tmp/root
list=$root/sys/kernel/farswap/donors
count=0

# check NAME COMMAND...
check() {
	name=$1
	shift
	count=$((count + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		tail -n 20 "$tmp/log" "$tmp"/*.log | sed 's/^/# /'
	fi
}

# wait_for COMMAND...
wait_for() {
	wait_tries=0
	until "$@" >/dev/null 2>&1; do
		[ $((wait_tries += 1)) -lt 150 ] || return 1
		sleep 0.2
	done
}

# daemon_conf NAME DBUS
daemon_conf() {
	mkdir -p "$tmp/$1/services"
	printf '[server]\nhost-name=%s\nuse-ipv4=yes\nuse-ipv6=yes\nenable-dbus=%s\n' "$1" "$2" \
		>"$tmp/$1/avahi-daemon.conf"
}

# run_avahi NAME COMMAND...: the daemon, with directories of its own, by COMMAND
run_avahi() {
	run_name=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	"$@" unshare -m sh -c 'mkdir -p /etc/avahi /run/avahi-daemon &&
		mount --bind "$0" /etc/avahi && mount -t tmpfs tmpfs /run/avahi-daemon &&
		exec avahi-daemon --no-drop-root --no-chroot --no-rlimits --debug' "$tmp/$run_name" \
		>"$tmp/$run_name.log" 2>&1 &
}

started() {
	wait_for grep -q "Server startup complete" "$tmp/donor.log" &&
		wait_for grep -q "Server startup complete" "$tmp/client.log"
}

browses() {
	avahi-browse --resolve --parsable --terminate _farswap._tcp | tee "$tmp/browsed"
	grep '^=;eth0;IPv4;farswapd.*donor;_farswap._tcp;local;donor.local;10.9.0.2;9400;' "$tmp/browsed"
}

# The donor also has a link-local address of IPv6, which is not a donor of its own.
finds_donor() {
	wait_for has_v6 || return 1
	"$ctl" --root "$root" donors sync || return 1
	cat "$list"
	[ "$(cat "$list")" = 10.9.0.2 ]
}

has_v6() {
	avahi-browse --resolve --parsable --terminate _farswap._tcp | tee "$tmp/browsed"
	grep '^=;eth0;IPv6;farswapd.*donor;_farswap._tcp;local;donor.local;.*;9400;' "$tmp/browsed"
}

# A static donor and Avahi's add up.
adds_up() {
	echo "donor = 10.9.0.7" >"$root/etc/farswap/donors.d/static.conf"
	"$ctl" --root "$root" donors sync || return 1
	cat "$list"
	[ "$(cat "$list")" = 10.9.0.2,10.9.0.7 ]
}

no_daemon() {
	before=$(cat "$list")
	kill "$bus" && wait "$bus"
	"$ctl" --root "$root" donors sync
	[ $? = 1 ] && [ "$(cat "$list")" = "$before" ]
}

cat >"$tmp/bus.conf" <<BUS
<busconfig><type>system</type><listen>unix:path=$tmp/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
<allow user="*"/></policy></busconfig>
BUS
# Avahi wants a user of its own to exist.
for file in passwd group; do
	cp "/etc/$file" "$tmp/$file"
	grep -q '^avahi:' "$tmp/$file" || echo "avahi:x:0:0::/:/bin/false" >>"$tmp/$file"
	mount --bind "$tmp/$file" "/etc/$file"
done
# The donor's network.
unshare -n sleep 1000 &
donor=$!
ip link set lo up
ip link add eth0 type veth peer name eth0 netns "$donor" 2>"$tmp/ip.log" || {
	sleep 1
	ip link add eth0 type veth peer name eth0 netns "$donor"
}
ip address add 10.9.0.1/24 dev eth0
ip link set eth0 up
nsenter -t "$donor" -n sh -c 'ip link set lo up; ip address add 10.9.0.2/24 dev eth0; ip link set eth0 up'
mkdir -p "$root/etc/farswap/donors.d" "$root/sys/kernel/farswap" "$root/run"
echo 1 >"$root/sys/kernel/farswap/attached"
echo >"$list"
echo "avahi = _farswap._tcp" >"$root/etc/farswap/donors.d/avahi.conf"
daemon_conf donor no
cp "$top/daemon/farswap.avahi" "$tmp/donor/services/farswap.service"
daemon_conf client yes
dbus-daemon --config-file="$tmp/bus.conf" --nofork >"$tmp/bus.log" 2>&1 &
bus=$!
wait_for test -S "$tmp/bus"
run_avahi donor nsenter -t "$donor" -n
run_avahi client env

check "a donor and a client have Avahi" started
check "avahi-browse finds the donor by the file of the package" wait_for browses
check "sync takes its addresses" finds_donor
check "a static donor stays beside it" adds_up
check "without Avahi nothing changes" no_daemon
echo "1..$count"
