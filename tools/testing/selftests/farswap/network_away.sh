#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A machine's network goes away for a while, in each possible way, while only donors have the
# pages: the cable is unplugged, the interface goes down, the address is removed, the driver is
# unbound, the RDMA link is removed. When it is back within grace_ms, each session is resumed with
# all pages. AWAY=all runs each way with each duration, otherwise some. WHO: any of client, donor
# and both, separated by commas. WAYS: with AWAY=all, some of the ways, separated by commas.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

WHO=${WHO:-client donor}
ALL_WAYS=unplugged,interface,address,driver,removed
# All ways of one machine take about five minutes.
LOAD_SECONDS=280
[ "$AWAY" != all ] || LOAD_SECONDS=850

# script_of WAY SECONDS WHOSE: an administrator's commands, for the machine that goes away
#
# When virtio_net is unbound, it frees sent packets only after the interface is gone. That waits
# for soft RoCE, which waits for its packets until it gives up after 50 s. farswap makes sure that
# a client has none in flight; a donor's RDMA device is removed first, like that of a real adapter.
# shellcheck disable=SC2016 # expanded there
script_of() {
	echo "seconds=$2"
	echo 'address=$(ip -4 -o addr show eth0 | awk "{ print \$4; exit }")
		mtu=$(cat /sys/class/net/eth0/mtu)
		nic=$(basename "$(readlink -f /sys/class/net/eth0/device)")
		link() { i=0; until rdma link add r0 type rxe netdev eth0 || [ $((i += 1)) -gt 20 ]; do
			sleep 0.1; done; }'
	case $1 in
	interface) echo 'ip link set eth0 down; sleep $seconds; ip link set eth0 up' ;;
	address)
		echo 'ip addr del $address dev eth0; sleep $seconds; ip addr add $address dev eth0'
		;;
	driver)
		[ "$3" = client ] || echo 'rdma link del r0'
		echo 'echo $nic >/sys/bus/virtio/drivers/virtio_net/unbind; sleep $seconds
			echo $nic >/sys/bus/virtio/drivers/virtio_net/bind
			ip link set eth0 mtu $mtu up; ip addr add $address dev eth0; link'
		;;
	removed) echo 'rdma link del r0; sleep $seconds; link' ;;
	# Each time the network comes back only briefly, and sessions begin to connect.
	flapping)
		echo 'for again in 1 2 3; do
			ip link set eth0 down; sleep $seconds
			ip link set eth0 up; sleep 0.$again; done'
		;;
	esac
}

# client_away WAY SECONDS: returns once the network is back
client_away() {
	if [ "$1" = unplugged ]; then
		host link client down
		sleep "$2"
		host link client up
	else
		script_of "$1" "$2" client >"$TMP/away.sh"
		sh "$TMP/away.sh"
	fi
}

# donor_away WAY SECONDS: in the background
donor_away() {
	if [ "$1" = unplugged ]; then
		{
			host link "$(donor_name "$victim")" down
			sleep "$2"
			host link "$(donor_name "$victim")" up
		} &
	else
		script_of "$1" "$2" donor >"$TMP/away.sh"
		on "$victim" "cat >/run/away.sh <<'END'
$(cat "$TMP/away.sh")
END
			setsid sh /run/away.sh >/run/away.log 2>&1 </dev/null &"
	fi
}

# goes_away WHO WAY SECONDS
goes_away() {
	case $1 in
	client) client_away "$2" "$3" ;;
	donor)
		donor_away "$2" "$3"
		sleep "$3"
		;;
	both)
		donor_away "$2" "$3"
		client_away "$2" "$3"
		;;
	esac
	[ "$1" = client ] || wait_for 20 donor_answers "$victim"
}

nothing_lost() {
	data same lost load_lost && same slab_lost && load_runs away
}

# away WHO WAY SECONDS: no page and no slab is lost, and donors are used as before
away() {
	stats_save
	goes_away "$@"
	wait_for 20 donors_live 2 || return 1
	nothing_lost && stats_save && wait_for 30 grew load_remote store_remote && nothing_lost
}

# Reconnecting with fragmented memory: the transport allocates single pages only.
needs_pages_only() {
	tracing=/sys/kernel/tracing
	event=$tracing/events/kmem/mm_page_alloc
	echo >"$tracing/trace"
	echo 'stacktrace if order > 0' >"$event/trigger" && echo 'order > 0' >"$event/filter" &&
		echo 1 >"$event/enable" && echo 1 >"$tracing/tracing_on" || return 1
	away client interface 0.5
	pages_status=$?
	echo 0 >"$event/enable"
	echo '!stacktrace if order > 0' >"$event/trigger"
	echo 0 >"$event/filter"
	echo "$(grep -c 'stack trace' "$tracing/trace") larger allocations"
	! grep -E 'farswap_rdma_(conn_alloc|control_create)' "$tracing/trace" && return "$pages_status"
}

# A connect request is in flight when the interface goes down, and is retransmitted meanwhile.
away_connecting() {
	# Unbinding the driver has removed the qdisc that drops packets.
	lose_ready && cut_off "$victim" || return 1
	echo >"$FARSWAP/donors"
	donor_list 2 >"$FARSWAP/donors"
	sleep 1
	goes_away client interface 6
	heal "$victim"
	wait_for 20 donors_live 2
}

# All sessions end, and the module can be unloaded, while nothing can be sent.
leave_while_away() {
	ip link set eth0 down
	echo 0 >"$FARSWAP/attached" || return 1
	echo >"$FARSWAP/donors"
	sleep 1
	rmmod farswap_rdma 2>/dev/null && echo "unloaded meanwhile"
	ip link set eth0 up
	unload_modules && farswap_up 2
}

# rows: "WHO WAY SECONDS", one a line. Flapping takes three times as long.
rows() {
	for who in $(echo "$WHO" | tr , ' '); do
		if [ "$AWAY" = all ]; then
			for way in $(echo "${WAYS:-$ALL_WAYS}" | tr , ' '); do
				for time in 0.1 0.5 1 2 4 8; do
					echo "$who $way $time"
				done
			done
			[ -n "$WAYS" ] || for time in 0.1 0.5 1 2; do
				echo "$who flapping $time"
			done
		else
			for row in "unplugged 2" "interface 2" "address 1" "driver 1" "flapping 1"; do
				case $who:$row in
				# The rows of AWAY=all.
				donor:unplugged* | donor:flapping*) ;;
				*) echo "$who $row" ;;
				esac
			done
		fi
	done
}

test_begin $(($(rows | wc -l) + 6))
command -v rdma >/dev/null || skip_rest "no rdma tool"
lose_ready || skip_rest "no ingress qdisc"
farswap_up 2
swap_on
set_value "$FARSWAP/backup" none
set_value "$FARSWAP/grace_ms" $((10000 * ${SLOW:-1}))
make_cgroup away 12M
start_load away away -m 24 -p 2 -d "$LOAD_SECONDS" -r 70 -w 30 -i 10
check "pages go out to donors and come in" pages_go_and_return 1000
victim=$(donor_of_most)
rows >"$TMP/rows"
while read -r who way time; do
	check "no page is lost: $who $way for $time s" away "$who" "$way" "$time" || donors_show
done <"$TMP/rows"
check "reconnecting allocates single pages only, no page is lost" needs_pages_only || donors_show
check --data "memory contents are right" stop_load away
stats_show
check --data "no page is lost" eval 'stat_is lost 0 && stat_is load_lost 0'
set_value "$FARSWAP/backup" disk
swapoff "$SWAP_DISK"
check "a connect request lost with the interface does not stop remote swap" \
	away_connecting || donors_show
check "sessions that end while it is down do not stop remote swap" leave_while_away || donors_show
test_end
