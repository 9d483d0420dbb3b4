#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# farswapctl donors sync with a real server of names, dnsmasq, in namespaces of its own.
set -u
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin

if ! command -v dnsmasq >/dev/null; then
	echo "1..0 # SKIP no dnsmasq: run tools/testing/qemu/fetch.sh"
	exit
fi
if [ "${1:-}" != inside ]; then
	map=
	[ "$(id -u)" = 0 ] || map=-r
	# shellcheck disable=SC2086 # none or one
	if ! unshare $map -nm true 2>/dev/null; then
		echo "1..0 # SKIP no namespaces of its own"
		exit
	fi
	# shellcheck disable=SC2086
	exec unshare $map -nm "$0" inside
fi

ctl=$(dirname "$0")/../../../daemon/farswapctl
tmp=$(mktemp -d)
server=
trap 'stop; rm -rf "$tmp"' EXIT
count=0
root=$tmp/root
list=$root/sys/kernel/farswap/donors

# check NAME COMMAND...
check() {
	name=$1
	shift
	count=$((count + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' "$tmp/log" "$tmp/dnsmasq.log"
	fi
}

stop() {
	[ -z "$server" ] || kill "$server"
	[ -z "$server" ] || wait "$server"
	server=
}

# serve RECORD...: options of dnsmasq; other names of .test do not exist
serve() {
	stop
	dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts --user=root \
		--pid-file= --local=/test/ --listen-address=127.0.0.1 --bind-interfaces "$@" \
		>"$tmp/dnsmasq.log" 2>&1 &
	server=$!
	i=0
	until getent ahosts ready.test >/dev/null; do
		[ $((i += 1)) -lt 100 ] || return 1
		sleep 0.1
	done
}

# sync STATUS LIST
sync() {
	"$ctl" --root "$root" donors sync >"$tmp/out" 2>&1
	status=$?
	cat "$tmp/out" "$list"
	[ $status = "$1" ] && [ "$(cat "$list")" = "$2" ]
}

# numbered N FORMAT: the format, printed with 1 to N
numbered() {
	i=0
	while [ $((i += 1)) -le "$1" ]; do
		# shellcheck disable=SC2059 # that is it
		printf "$2\n" $i $i
	done
}

many() {
	numbered 100 "srv-host=_many._tcp.test,donor%d.test,9400,1,1" >"$tmp/many" &&
		numbered 100 "host-record=donor%d.test,10.2.0.%d" >>"$tmp/many" &&
		echo "host-record=ready.test,10.0.0.1" >>"$tmp/many" && serve --conf-file="$tmp/many" ||
		return 1
	echo "srv = _many._tcp.test" >"$root/etc/farswap/donors.d/rack.conf"
	"$ctl" --root "$root" donors sync || return 1
	[ "$(tr , '\n' <"$list" | sort -u | grep -c '^10\.2\.0\.')" = 64 ]
}

ip link set lo up
echo "nameserver 127.0.0.1
options timeout:1 attempts:2" >"$tmp/resolv.conf"
echo "hosts: files dns" >"$tmp/nsswitch.conf"
if ! mount --bind "$tmp/resolv.conf" /etc/resolv.conf ||
	! mount --bind "$tmp/nsswitch.conf" /etc/nsswitch.conf; then
	echo "Bail out! the resolver can't be set up"
	exit 1
fi
mkdir -p "$root/etc/farswap/donors.d" "$root/sys/kernel/farswap" "$root/run"
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
echo 1 >"$root/sys/kernel/farswap/attached"
echo >"$list"
echo "srv = _farswap._tcp.test
donor = rack.test:9500" >"$root/etc/farswap/donors.d/rack.conf"
all="10.0.0.2,10.0.0.3:9401,10.0.0.5:9500,10.0.0.6:9500,fd00::4"
set -- --host-record=ready.test,10.0.0.1 --srv-host=_farswap._tcp.test,donor1.test,9400,1,10 \
	--srv-host=_farswap._tcp.test,donor2.test,9401,2,10 \
	--srv-host=_farswap._tcp.test,absent.test,9400,1,10 --host-record=donor1.test,10.0.0.2,fd00::2

check "the server of names runs" serve "$@" --host-record=donor2.test,10.0.0.3 \
	--srv-host=_farswap._tcp.test,donor3.test,9400,1,0 --host-record=donor3.test,fd00::4 \
	--host-record=rack.test,10.0.0.5 --host-record=rack.test,10.0.0.6
check "SRV records and all addresses of a name are found" sync 0 "$all"
check "the server no longer knows the name of a list" serve --host-record=ready.test,10.0.0.1
check "that changes nothing" sync 1 "$all"
stop
check "nor does a server that is not there" sync 1 "$all"
check "the list lacks two donors" serve "$@" --host-record=donor2.test,10.0.0.3 \
	--host-record=rack.test,10.0.0.6
check "one answer does not remove them" sync 0 "$all"
sync 0 "$all" >/dev/null
check "the third does" sync 0 "10.0.0.2,10.0.0.3:9401,10.0.0.6:9500"
check "64 of 100 are chosen" many
echo "1..$count"
