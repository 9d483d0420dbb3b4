#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Donors have IPv6 addresses, a global and a link-local one: pages go out to both and come in, a
# daemon that dies and restarts is used again, and a donor that also has an IPv4 address is the
# same donor.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

first=${DONORS%% *}
second=${DONORS##* }
prefix=fd00:fa:

# Without duplicate address detection, which takes a second.
has_address() {
	ip -6 addr add "${prefix}:1/64" dev eth0 nodad &&
		on "$first" "ip -6 addr add ${prefix}:2/64 dev eth0 nodad"
}

link_local() {
	on "$second" 'ip -6 -o addr show dev eth0 scope link' |
		awk '{ sub("/.*", "", $4); print $4; exit }'
}

listen_start() {
	for listen_donor in $DONORS; do
		donor_kill "$listen_donor" && donor_start "$listen_donor" 'listen=[::]:9400' ||
			return 1
	done
}

both_are_used() {
	echo "$global,$local" >"$FARSWAP/donors" && wait_for 30 donors_live 2
}

client_has_address() {
	on "$first" 'farswapctl status' | grep -F "${prefix}:1"
}

both_have_pages() {
	cat "$FARSWAP_DEBUG/donors"
	[ "$(donor_pages "$global")" -gt 0 ] && [ "$(donor_pages "$local")" -gt 0 ]
}

dies_and_returns() {
	donor_kill "$first" && wait_for 20 donor_is_not_live "$global" &&
		donor_start "$first" 'listen=[::]:9400' && wait_for 30 donor_is_live "$global"
}

same_by_ipv4() {
	log_mark && echo "$global,$local,$first" >"$FARSWAP/donors" &&
		wait_for 30 log_has farswap 'is the same farswapd as' && donors_live 2
}

test_begin 10
farswap_up 2
[ -e /proc/net/if_inet6 ] || skip_rest "no IPv6"
check "each machine has an address" has_address
global="[${prefix}:2]"
local=$(link_local)%eth0
say "$global and $local"
check "the daemons listen on IPv6" listen_start
check "both donors are in use" both_are_used
check "the daemon reports its client's address" client_has_address
swap_on
make_cgroup busy 12M
stats_save
start_load busy busy -m 40 -p 2 -w 30 -d 280 -r 70 -i 0
check "pages go out to it and come in" pages_go_and_return 2000
check "both donors have pages" wait_for 30 both_have_pages
check "one donor dies and is in use again" dies_and_returns
check "the IPv4 address is the same donor" same_by_ipv4
check --data "memory contents are right" stop_load busy
stats_show
check --data "no page is lost" same load_lost
donor_list 2 >"$FARSWAP/donors"
ip -6 addr del "${prefix}:1/64" dev eth0
on "$first" "ip -6 addr del ${prefix}:2/64 dev eth0"
for donor in $DONORS; do
	donor_kill "$donor"
done
test_end
